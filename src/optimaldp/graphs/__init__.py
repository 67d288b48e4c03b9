"""Graphs of datasets, preferences, regions and boundaries, morphisms, and the families that papers and tables use."""

from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.preferences import Preferences
from optimaldp.graphs.regions import boundary, crossing_edges, distances

__all__ = ["DatasetGraph", "Preferences", "boundary", "crossing_edges", "distances"]
