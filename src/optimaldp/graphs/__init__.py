"""Graphs of datasets, preferences, regions and boundaries, morphisms, and the families that papers and tables use."""

from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.families.paths import clique, line, ring
from optimaldp.graphs.families.products import coordinates, grid, group_counts, hypercube, product, values, votes
from optimaldp.graphs.families.truths import majority, majority_of_participants
from optimaldp.graphs.names import FunctionNames, NumberNames
from optimaldp.graphs.preferences import Preferences
from optimaldp.graphs.regions import boundary, crossing_edges, distances

__all__ = [
    "DatasetGraph",
    "FunctionNames",
    "NumberNames",
    "Preferences",
    "boundary",
    "clique",
    "coordinates",
    "crossing_edges",
    "distances",
    "grid",
    "group_counts",
    "hypercube",
    "line",
    "majority",
    "majority_of_participants",
    "product",
    "ring",
    "values",
    "votes",
]
