"""Mechanisms as channels: what they leak, how useful they are, and which is best on a graph of answers."""

from optimaldp.channels.channel import Channel
from optimaldp.channels.composition import after_query, decompose, posteriors
from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.graphs.databases import ABSENT, Databases
from optimaldp.channels.graphs.folds import Fold, count, histogram, largest, plurality, total
from optimaldp.channels.graphs.induced import induced_graph
from optimaldp.channels.measures.audits import Audit, audit, audit_mechanism
from optimaldp.channels.measures.bounds import (
    LeakageBound,
    database_bound,
    gain_bound,
    individual_bound,
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
from optimaldp.channels.measures.privacy import LeastEpsilon, least_epsilon
from optimaldp.channels.measures.refining import Refinement, refinement
from optimaldp.channels.measures.report import LeakageReport, explain_epsilon, leakage_report
from optimaldp.channels.measures.vulnerability import (
    additive_gain_leakage,
    bayes_risk,
    column_maxima_sum,
    conditional_min_entropy,
    gain_leakage,
    min_capacity,
    min_entropy,
    min_entropy_leakage,
    posterior_gain,
    posterior_vulnerability,
    prior_gain,
    prior_vulnerability,
    remap,
)
from optimaldp.channels.optimal.comparison import Comparison, compare_with_all
from optimaldp.channels.optimal.extremal import extremal_channel
from optimaldp.channels.optimal.mechanism import OptimalMechanism, optimal_mechanism
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
    "IndividualLeakage",
    "LeakageBound",
    "LeakageReport",
    "LeastEpsilon",
    "OptimalMechanism",
    "Refinement",
    "RingProfile",
    "additive_gain_leakage",
    "after_query",
    "audit",
    "audit_mechanism",
    "average_over",
    "bayes_risk",
    "column_maxima_sum",
    "compare_with_all",
    "conditional_entropy",
    "conditional_min_entropy",
    "count",
    "database_bound",
    "decompose",
    "doubled_even_ring",
    "equal_diagonal",
    "explain_epsilon",
    "extremal_channel",
    "gain_bound",
    "gain_leakage",
    "guessing_entropy",
    "histogram",
    "individual_bound",
    "individual_leakage",
    "induced_graph",
    "largest",
    "leakage_report",
    "least_epsilon",
    "min_capacity",
    "min_entropy",
    "min_entropy_leakage",
    "mutual_information",
    "optimal_mechanism",
    "plurality",
    "posterior_gain",
    "posterior_guessing_entropy",
    "posterior_vulnerability",
    "posteriors",
    "prior_gain",
    "prior_vulnerability",
    "proposition_2",
    "range_bound",
    "refinement",
    "remap",
    "renyi_entropy",
    "ring_profile",
    "shannon_capacity",
    "shannon_entropy",
    "square",
    "total",
]
