"""Regions, boundaries and distances: where a dataset stands with respect to those that want something else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.preferences import Preferences

UNREACHED = -1  # the distance of a dataset whose component has no boundary


def crossing_edges(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which edges join datasets of different preference."""
    crossing: npt.NDArray[np.bool_] = preferences.of[graph.tails] != preferences.of[graph.heads]
    return crossing


def boundary(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which datasets have a neighbour of another preference."""
    crossing = crossing_edges(graph, preferences)
    mask = np.zeros(len(graph), dtype=bool)
    mask[graph.tails[crossing]] = True
    mask[graph.heads[crossing]] = True
    return mask


def distances(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.int32]:
    """Steps to the own boundary inside the own region; :data:`UNREACHED` where no boundary can be reached.

    It equals (distance to the nearest dataset of another preference) - 1.
    """
    from optimaldp.kernels.search import breadth_first

    mask = boundary(graph, preferences)
    return breadth_first(graph.arcs.first, graph.arcs.heads, preferences.of, mask)
