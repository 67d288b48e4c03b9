"""Mechanisms as channels: what they leak, how useful they are, and which is best on a graph of answers."""

from optimaldp.channels.channel import Channel
from optimaldp.channels.composition import after_query, decompose, hidden_choice, posteriors, visible_choice
from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.graphs.databases import ABSENT, Databases
from optimaldp.channels.graphs.folds import Fold, count, histogram, largest, plurality, total
from optimaldp.channels.graphs.induced import induced_graph
from optimaldp.channels.measures.audits import Audit, audit, audit_mechanism
from optimaldp.channels.measures.bounds import (
    LeakageBound,
    border_utility_bound,
    database_bound,
    gain_bound,
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
from optimaldp.channels.measures.gains import additive_gain_leakage, gain_leakage, posterior_gain, prior_gain, remap
from optimaldp.channels.measures.individual import IndividualLeakage, individual_leakage
from optimaldp.channels.measures.max_case import MaxCaseRefinement, max_case_refinement
from optimaldp.channels.measures.orders import (
    alpha_leakage,
    arimoto_information,
    maximal_alpha_leakage,
    sibson_information,
)
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
from optimaldp.channels.optimal.comparison import Comparison, compare_with_all
from optimaldp.channels.optimal.extremal import extremal_channel
from optimaldp.channels.optimal.mechanism import optimal_mechanism
from optimaldp.channels.optimal.result import OptimalMechanism
from optimaldp.channels.optimal.ring import RingProfile, ring_profile
from optimaldp.channels.optimal.transformations import average_over, doubled_even_ring, equal_diagonal, square

__all__ = [
    "ABSENT",
    "AnswerGraph",
    "Audit",
    "Capacity",
    "Channel",
    "Comparison",
    "Databases",
    "Fold",
    "GainCapacity",
    "IndividualLeakage",
    "LeakageBound",
    "LeakageEstimate",
    "LeakageReport",
    "LeastEpsilon",
    "MaxCaseRefinement",
    "OptimalMechanism",
    "PrivacyProfile",
    "Refinement",
    "RingProfile",
    "additive_capacity",
    "additive_gain_leakage",
    "additive_leakage",
    "after_query",
    "alpha_leakage",
    "arimoto_information",
    "audit",
    "audit_mechanism",
    "average_over",
    "bayes_risk",
    "border_utility_bound",
    "capacity_over_gains",
    "column_maxima_sum",
    "compare_with_all",
    "conditional_entropy",
    "conditional_min_entropy",
    "count",
    "database_bound",
    "decompose",
    "doubled_even_ring",
    "equal_diagonal",
    "estimate_leakage",
    "explain_epsilon",
    "extremal_channel",
    "gain_bound",
    "gain_capacity",
    "gain_leakage",
    "guessing_entropy",
    "hidden_choice",
    "histogram",
    "individual_bound",
    "individual_leakage",
    "induced_graph",
    "largest",
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
    "optimal_mechanism",
    "plurality",
    "posterior_gain",
    "posterior_guessing_entropy",
    "posterior_vulnerability",
    "posteriors",
    "prior_gain",
    "prior_vulnerability",
    "privacy_profile",
    "proposition_2",
    "range_bound",
    "refinement",
    "remap",
    "renyi_entropy",
    "ring_profile",
    "shannon_capacity",
    "shannon_entropy",
    "sibson_information",
    "square",
    "total",
    "visible_choice",
]
