"""Hot edges: pairs of neighbours that need more protection than the rest (003, Fig. 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.edge_levels import read_edge_level
from optimaldp.graphs.families.paths import read_size
from optimaldp.graphs.families.products import votes
from optimaldp.graphs.families.truths import majority

Which = Callable[[str, str], bool] | Iterable[tuple[str, str]] | npt.NDArray[np.bool_]


def with_hot_edges(graph: DatasetGraph, which: Which, *, level: object) -> DatasetGraph:
    """The same graph with another level on some edges: pairs of names, a mask over the edges, or a rule on two names.

    >>> from optimaldp.graphs import line
    >>> with_hot_edges(line(3, level=1), [("1", "0")], level=0.5).edges()[0]
    ('0', '1', ApproximateDP((0.5, 0)-DP))
    """
    if not graph.has_levels:
        raise GraphError("graph", graph, "has no privacy levels yet", "set the usual level first, by with_level")
    mask = _mask(graph, which)
    hot = np.where(mask, np.int32(len(graph.levels)), graph.level_of_edge)
    return graph.with_levels([*graph.levels, read_edge_level(level)], hot)


def hot_deciding_vote(persons: int = 3, *, person: int = 1, level: object, hot: object) -> DatasetGraph:
    """Votes in which one person's vote is better protected, but only where it decides the majority (003, Fig. 1).

    For three people and the first of them these are the edges 121 - 221 and 112 - 212.
    """
    index = read_size(person, 1, field="person") - 1
    graph = votes(persons, level=level)
    if index >= persons:
        raise GraphError("person", person, f"is not one of {persons} people")
    truth = majority.preferences(graph)
    assert truth is not None
    # Votes are the bits of a dataset's number, the first person's the highest.
    own = (graph.tails ^ graph.heads) == 1 << (persons - 1 - index)
    return with_hot_edges(graph, own & (truth.of[graph.tails] != truth.of[graph.heads]), level=hot)


def _mask(graph: DatasetGraph, which: Which) -> npt.NDArray[np.bool_]:
    if isinstance(which, np.ndarray):
        if which.dtype != np.bool_ or which.shape != (graph.edge_count,):
            raise GraphError("which", which, f"is not a mask over {graph.edge_count} edges")
        return which
    if callable(which):
        names = graph.names
        chosen = (which(names[u], names[v]) for u, v in zip(graph.tails.tolist(), graph.heads.tolist()))
        return np.fromiter(chosen, dtype=bool, count=graph.edge_count)
    return _mask_of_pairs(graph, list(which))


def _mask_of_pairs(graph: DatasetGraph, pairs: list[tuple[str, str]]) -> npt.NDArray[np.bool_]:
    ends = np.sort(np.stack([graph.tails, graph.heads], axis=1).astype(np.int64), axis=1)
    keys = ends[:, 0] * len(graph) + ends[:, 1]
    wanted = []
    for u, v in pairs:
        low, high = sorted((graph.number(u), graph.number(v)))
        wanted.append(low * len(graph) + high)
    for pair, is_edge in zip(pairs, np.isin(wanted, keys).tolist()):
        if not is_edge:
            raise GraphError("which", tuple(pair), "is not an edge of the graph", "only neighbours have a level")
    return np.isin(keys, wanted)
