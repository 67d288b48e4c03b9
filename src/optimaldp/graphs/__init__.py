"""Graphs of datasets, preferences, regions and boundaries, morphisms, and the families that papers and tables use."""

from optimaldp.graphs.boundary_graph import BoundaryGraph, boundary_graph, is_boundary_morphism
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.families.metric import line_metric, metric
from optimaldp.graphs.families.paths import clique, line, ring
from optimaldp.graphs.families.products import (
    coordinates,
    grid,
    group_counts,
    histogram_lattice,
    hot_deciding_vote,
    hypercube,
    majority,
    majority_of_participants,
    participation,
    product,
    values,
    votes,
    with_hot_edges,
)
from optimaldp.graphs.morphisms import BrokenEdge, Morphism, PullBack, find_broken_edge, morphism
from optimaldp.graphs.names import FunctionNames, NumberNames
from optimaldp.graphs.preferences import Preferences
from optimaldp.graphs.quotient import counts, orbits, quotient
from optimaldp.graphs.readers import from_arrays, from_networkx, from_sparse, to_networkx
from optimaldp.graphs.regions import (
    boundary,
    components,
    components_without_boundary,
    crossing_edges,
    distances,
    interior,
    regions,
    touching,
)

__all__ = [
    "BoundaryGraph",
    "BrokenEdge",
    "DatasetGraph",
    "FunctionNames",
    "Morphism",
    "NumberNames",
    "Preferences",
    "PullBack",
    "boundary",
    "boundary_graph",
    "clique",
    "components",
    "components_without_boundary",
    "coordinates",
    "counts",
    "crossing_edges",
    "distances",
    "find_broken_edge",
    "from_arrays",
    "from_networkx",
    "from_sparse",
    "grid",
    "group_counts",
    "histogram_lattice",
    "hot_deciding_vote",
    "hypercube",
    "interior",
    "is_boundary_morphism",
    "line",
    "line_metric",
    "majority",
    "majority_of_participants",
    "metric",
    "morphism",
    "orbits",
    "participation",
    "product",
    "quotient",
    "regions",
    "ring",
    "to_networkx",
    "touching",
    "values",
    "votes",
    "with_hot_edges",
]
