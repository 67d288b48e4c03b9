"""Regions, boundaries and distances: where a dataset stands with respect to those that want something else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optimaldp.errors import ProblemError
from optimaldp.extras import requiring
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.preferences import Preferences
from optimaldp.kernels.graph_loops import breadth_first

UNREACHED = -1  # the distance of a dataset whose component has no boundary


def crossing_edges(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which edges join datasets of different preference."""
    if len(graph) != len(preferences):
        rule = f"do not fit a graph of {len(graph)} datasets"
        raise ProblemError("prefers", f"preferences of {len(preferences)}", rule, "give one preference per dataset")
    crossing: npt.NDArray[np.bool_] = preferences.of[graph.tails] != preferences.of[graph.heads]
    return crossing


def boundary(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which datasets have a neighbour of another preference."""
    crossing = crossing_edges(graph, preferences)
    mask = np.zeros(len(graph), dtype=bool)
    mask[graph.tails[crossing]] = True
    mask[graph.heads[crossing]] = True
    return mask


def interior(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which datasets have only neighbours of their own preference (000, Definition 4)."""
    return ~boundary(graph, preferences)


def distances(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.int32]:
    """Steps to the own boundary inside the own region; :data:`UNREACHED` where no boundary can be reached.

    It equals (distance to the nearest dataset of another preference) - 1: the introduction of 000 forgets the - 1
    (erratum 000-1), which would break privacy.

    >>> from optimaldp.graphs import line
    >>> distances(line(5), Preferences.of_truth(["yes", "no"], [0, 0, 0, 1, 1])).tolist()
    [2, 1, 0, 0, 1]
    """
    mask = boundary(graph, preferences)
    return breadth_first(graph.arcs.first, graph.arcs.heads, preferences.of, mask)


def regions(graph: DatasetGraph, preferences: Preferences) -> dict[tuple[str, ...], npt.NDArray[np.int64]]:
    """The datasets of each preference that occurs, by their numbers.

    >>> from optimaldp.graphs import line
    >>> truth = Preferences.of_truth(["yes", "no"], [0, 1, 1])
    >>> {order[0]: where.tolist() for order, where in regions(line(3), truth).items()}
    {'yes': [0], 'no': [1, 2]}
    """
    crossing_edges(graph, preferences)  # refuses preferences of another graph
    rankings = [tuple(preferences.answers[a] for a in order) for order in preferences.orders]
    occurring = np.unique(preferences.of).tolist()
    return {rankings[k]: np.flatnonzero(preferences.of == k) for k in occurring}


def touching(graph: DatasetGraph, preferences: Preferences) -> set[tuple[int, int]]:
    """Which preferences, by the numbers of their orders (the smaller first), meet along an edge."""
    crossing = crossing_edges(graph, preferences)
    ends = np.stack([preferences.of[graph.tails[crossing]], preferences.of[graph.heads[crossing]]], axis=1)
    return {(low, high) for low, high in np.unique(np.sort(ends, axis=1), axis=0).tolist()}


def components(graph: DatasetGraph) -> npt.NDArray[np.int32]:
    """For each dataset the number of its connected component."""
    with requiring("scipy"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

    ones = np.ones(graph.edge_count, dtype=np.int32)
    matrix = csr_array((ones, (graph.tails, graph.heads)), shape=(len(graph), len(graph)))
    labels: npt.NDArray[np.int32] = connected_components(matrix, directed=False)[1]
    return labels


def components_without_boundary(graph: DatasetGraph, preferences: Preferences) -> list[npt.NDArray[np.int64]]:
    """The components in which all datasets want the same, each by the numbers of its datasets.

    Nothing there has to be hidden: the optimum gives the favourite with probability 1 at any level (errata 000-15, 001-11).
    """
    labels = components(graph)
    mixed = np.zeros(int(labels.max()) + 1, dtype=bool)
    mixed[labels[boundary(graph, preferences)]] = True
    uniform = np.flatnonzero(~mixed[labels])
    uniform = uniform[np.argsort(labels[uniform], kind="stable")]
    cuts = np.flatnonzero(np.diff(labels[uniform])) + 1
    return list(np.split(uniform, cuts)) if uniform.size else []
