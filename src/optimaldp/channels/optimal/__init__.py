"""The most useful private channel on a graph, with its proof; the channels of the literature to compare it with."""

from optimaldp.channels.optimal.result import OptimalMechanism, optimal_mechanism

__all__ = ["OptimalMechanism", "optimal_mechanism"]
