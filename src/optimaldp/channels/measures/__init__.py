"""What a channel tells an attacker and an analyst: vulnerabilities, entropies, capacities, privacy."""

from optimaldp.channels.measures.audits import Audit, audit, audit_mechanism
from optimaldp.channels.measures.bounds import (
    LeakageBound,
    border_utility_bound,
    database_bound,
    gain_bound,
    improved_range_factor,
    individual_bound,
    printed_individual_bound,
    proposition_2,
    range_bound,
)
from optimaldp.channels.measures.capacity import Capacity, shannon_capacity
from optimaldp.channels.measures.entropies import (
    conditional_entropy,
    guessing_entropy,
    mutual_information,
    posterior_guessing_entropy,
    renyi_entropy,
    shannon_entropy,
)
from optimaldp.channels.measures.individual import IndividualLeakage, individual_leakage
from optimaldp.channels.measures.priors import joint
from optimaldp.channels.measures.privacy import LeastEpsilon, least_epsilon
from optimaldp.channels.measures.refining import Refinement, refinement
from optimaldp.channels.measures.report import LeakageReport, explain_epsilon, leakage_report
from optimaldp.channels.measures.vulnerability import (
    additive_gain_leakage,
    bayes_risk,
    column_maxima_sum,
    conditional_min_entropy,
    gain_leakage,
    identity_gain,
    min_capacity,
    min_entropy,
    min_entropy_leakage,
    multiplicative_leakage,
    posterior_gain,
    posterior_vulnerability,
    prior_gain,
    prior_vulnerability,
    remap,
)

__all__ = [
    "Audit",
    "Capacity",
    "IndividualLeakage",
    "LeakageBound",
    "LeakageReport",
    "LeastEpsilon",
    "Refinement",
    "additive_gain_leakage",
    "audit",
    "audit_mechanism",
    "bayes_risk",
    "border_utility_bound",
    "column_maxima_sum",
    "conditional_entropy",
    "conditional_min_entropy",
    "database_bound",
    "explain_epsilon",
    "gain_bound",
    "gain_leakage",
    "guessing_entropy",
    "identity_gain",
    "improved_range_factor",
    "individual_bound",
    "individual_leakage",
    "joint",
    "leakage_report",
    "least_epsilon",
    "min_capacity",
    "min_entropy",
    "min_entropy_leakage",
    "multiplicative_leakage",
    "mutual_information",
    "posterior_gain",
    "posterior_guessing_entropy",
    "posterior_vulnerability",
    "printed_individual_bound",
    "prior_gain",
    "prior_vulnerability",
    "proposition_2",
    "range_bound",
    "refinement",
    "remap",
    "renyi_entropy",
    "shannon_capacity",
    "shannon_entropy",
]
