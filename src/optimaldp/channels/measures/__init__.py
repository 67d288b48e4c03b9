"""What a channel tells an attacker and an analyst: vulnerabilities, entropies, capacities, privacy."""

from optimaldp.channels.measures.audits import Audit, audit, audit_mechanism
from optimaldp.channels.measures.bounds import (
    LeakageBound,
    border_utility_bound,
    database_bound,
    gain_bound,
    improved_range_factor,
    individual_bound,
    proposition_2,
    range_bound,
)
from optimaldp.channels.measures.capacities import GainCapacity, additive_capacity, capacity_over_gains, gain_capacity
from optimaldp.channels.measures.capacity import Capacity, shannon_capacity
from optimaldp.channels.measures.entropies import (
    conditional_entropy,
    guessing_entropy,
    mutual_information,
    posterior_guessing_entropy,
    renyi_entropy,
    shannon_entropy,
)
from optimaldp.channels.measures.gains import (
    additive_gain_leakage,
    gain_leakage,
    identity_gain,
    posterior_gain,
    prior_gain,
    remap,
)
from optimaldp.channels.measures.individual import IndividualLeakage, individual_leakage
from optimaldp.channels.measures.max_case import MaxCaseRefinement, max_case_refinement
from optimaldp.channels.measures.orders import (
    alpha_leakage,
    arimoto_information,
    maximal_alpha_leakage,
    sibson_information,
)
from optimaldp.channels.measures.priors import joint
from optimaldp.channels.measures.privacy import LeastEpsilon, least_epsilon
from optimaldp.channels.measures.profile import PrivacyProfile, privacy_profile
from optimaldp.channels.measures.refining import Refinement, refinement
from optimaldp.channels.measures.report import LeakageReport, explain_epsilon, leakage_report
from optimaldp.channels.measures.samples import LeakageEstimate, estimate_leakage
from optimaldp.channels.measures.vulnerability import (
    additive_leakage,
    bayes_risk,
    column_maxima_sum,
    conditional_min_entropy,
    max_case_leakage,
    max_case_vulnerability,
    min_capacity,
    min_entropy,
    min_entropy_leakage,
    multiplicative_leakage,
    posterior_vulnerability,
    prior_vulnerability,
)

__all__ = [
    "Audit",
    "Capacity",
    "GainCapacity",
    "IndividualLeakage",
    "LeakageBound",
    "LeakageEstimate",
    "LeakageReport",
    "LeastEpsilon",
    "MaxCaseRefinement",
    "PrivacyProfile",
    "Refinement",
    "additive_capacity",
    "additive_gain_leakage",
    "additive_leakage",
    "alpha_leakage",
    "arimoto_information",
    "audit",
    "audit_mechanism",
    "bayes_risk",
    "border_utility_bound",
    "capacity_over_gains",
    "column_maxima_sum",
    "conditional_entropy",
    "conditional_min_entropy",
    "database_bound",
    "estimate_leakage",
    "explain_epsilon",
    "gain_bound",
    "gain_capacity",
    "gain_leakage",
    "guessing_entropy",
    "identity_gain",
    "improved_range_factor",
    "individual_bound",
    "individual_leakage",
    "joint",
    "leakage_report",
    "least_epsilon",
    "max_case_leakage",
    "max_case_refinement",
    "max_case_vulnerability",
    "maximal_alpha_leakage",
    "min_capacity",
    "min_entropy",
    "min_entropy_leakage",
    "multiplicative_leakage",
    "mutual_information",
    "posterior_gain",
    "posterior_guessing_entropy",
    "posterior_vulnerability",
    "prior_gain",
    "prior_vulnerability",
    "privacy_profile",
    "proposition_2",
    "range_bound",
    "refinement",
    "remap",
    "renyi_entropy",
    "shannon_capacity",
    "shannon_entropy",
    "sibson_information",
]
