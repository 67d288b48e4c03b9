"""Dataset graphs from what people have: arrays, scipy sparse matrices and networkx graphs; and back to networkx."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.extras import requiring
from optimaldp.graphs.dataset_graph import DatasetGraph, levels_from_arrays, number_levels, read_edge_level
from optimaldp.graphs.morphisms import HasRows
from optimaldp.graphs.names import FunctionNames, NumberNames
from optimaldp.graphs.problem import Preferences
from optimaldp.privacy import ApproximateDP, Level, directed
from optimaldp.privacy import level as make_level

Names = Sequence[str] | Callable[[int], str] | None
ReadEdge = tuple[int, int, Level | None]  # tail, head, level


def from_arrays(
    tails: object,
    heads: object,
    *,
    size: int | None = None,
    names: Names = None,
    level: object = None,
    epsilon: object = None,
    delta: object = 0,
) -> DatasetGraph:
    """A graph from two arrays of dataset numbers, with one *level*, or an *epsilon* and *delta* per edge, or none yet.

    *names* is a sequence, or a function that is asked for names when they are needed; without it datasets are called by
    their number. There is no Python loop over edges or datasets. Floats are read by their shortest decimal.

    >>> from_arrays([0, 1], [1, 2], epsilon=[0.1, 0.2], delta=1e-6).edges()[1]
    ('1', '2', ApproximateDP((0.2, 1e-06)-DP))
    """
    ends = np.asarray(tails), np.asarray(heads)
    count = _count(ends, size, names)
    listed = _names(names, count)
    if epsilon is None:
        graph = DatasetGraph(listed, *ends)
        return graph if level is None else graph.with_level(level)
    if level is not None:
        raise GraphError("epsilon", epsilon, "was given together with level", "give one of them")
    levels, which = levels_from_arrays(epsilon, delta, len(ends[0]))
    return DatasetGraph(listed, *ends, levels=levels, level_of_edge=which)


def _count(ends: tuple[npt.NDArray[Any], npt.NDArray[Any]], size: int | None, names: Names) -> int:
    if size is not None:
        return size
    if names is not None and not callable(names):
        return len(names)
    return 1 + max((int(end.max()) for end in ends if end.size), default=-1)


def _names(names: Names, count: int) -> Sequence[str]:
    if names is None:
        return NumberNames(count)
    if callable(names):
        return FunctionNames(count, names)
    if len(names) != count:
        raise GraphError("names", len(names), f"names do not fit {count} datasets")
    return names


def from_sparse(
    matrix: Any,
    *,
    names: Names = None,
    level: Any = None,
    entries: Literal["edges", "epsilon"] = "edges",
    delta: Any = 0,
) -> DatasetGraph:
    """A graph from a scipy sparse matrix: an entry that is stored is an edge, in either triangle or in both.

    With ``entries="epsilon"`` each entry is the epsilon of its edge (at the given *delta*), so a stored 0 is an edge of
    epsilon 0; the two triangles must then agree.

    >>> from scipy.sparse import csr_array
    >>> from_sparse(csr_array([[0, 0.5], [0.5, 0]]), entries="epsilon")
    DatasetGraph(2 datasets, 1 edges, (0.5, 0)-DP)
    """
    if not hasattr(matrix, "tocoo") or matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = getattr(matrix, "shape", type(matrix).__name__)
        raise GraphError("matrix", shape, "is not a square sparse matrix", "one row and column per dataset")
    if entries not in ("edges", "epsilon"):
        raise GraphError("entries", entries, "is not a meaning of entries", "write 'edges' or 'epsilon'")
    tails, heads, weights = _one_triangle(matrix.tocoo())
    listed = _names(names, matrix.shape[0])
    if entries == "edges":
        return from_arrays(tails, heads, names=listed, level=level)
    _refuse_disagreement(tails, heads, listed)
    return from_arrays(tails, heads, names=listed, level=level, epsilon=weights, delta=delta)


def _one_triangle(matrix: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """Each (pair, entry) once, whichever triangle it was stored in; sorted by pair."""
    low, high = np.minimum(matrix.row, matrix.col), np.maximum(matrix.row, matrix.col)
    order = np.lexsort((matrix.data, high, low))
    low, high, weights = low[order], high[order], matrix.data[order]
    again = (np.diff(low) == 0) & (np.diff(high) == 0) & (weights[1:] == weights[:-1])
    keep = np.r_[True, ~again][: len(low)]
    return low[keep], high[keep], weights[keep]


def _refuse_disagreement(tails: npt.NDArray[Any], heads: npt.NDArray[Any], names: Sequence[str]) -> None:
    if (twice := np.flatnonzero((np.diff(tails) == 0) & (np.diff(heads) == 0))).size:
        pair = (names[int(tails[twice[0]])], names[int(heads[twice[0]])])
        raise GraphError(
            "matrix", pair, "has two different epsilons", "make it symmetric, or use directed levels on edges"
        )


def from_networkx(graph: Any, *, level: Any = None) -> DatasetGraph:
    """A graph from networkx. Edges may have ``level`` or ``epsilon`` and ``delta``; *level* serves those that have neither.

    Datasets are named by the text of their nodes, and designs on the graph take and give back the nodes themselves. Parallel
    edges of a multigraph all hold. In a directed graph an arc limits its head by
    its tail, and where the arc back is missing nothing is promised in that direction.

    >>> import networkx as nx
    >>> from_networkx(nx.cycle_graph(5), level="ln(2)")
    DatasetGraph(5 datasets, 5 edges, (ln(2), 0)-DP)
    """
    nodes = list(graph.nodes)
    names = [str(node) for node in nodes]
    if len(set(names)) < len(names):  # such as 1 and "1"
        names = [repr(node) for node in nodes]
    number = {node: i for i, node in enumerate(graph.nodes)}
    rows = [(number[u], number[v], _edge_level(u, v, data, level)) for u, v, data in graph.edges(data=True)]
    _refuse_gaps(rows, names)
    if graph.is_directed():
        rows = _join_arcs(rows)
    levels, which = number_levels([one for *_, one in rows if one is not None])
    tails, heads = [u for u, _, _ in rows], [v for _, v, _ in rows]
    own = None if names == nodes else nodes
    return DatasetGraph(names, tails, heads, levels=levels, level_of_edge=which if levels else None, nodes=own)


def read_graph(graph: Any, *, has_level: bool) -> DatasetGraph:
    """A dataset graph as it is, or from networkx, or from a scipy sparse matrix, whose datasets are then whole numbers.

    The entries of a matrix are the epsilons of its edges, unless one level is given for all edges (*has_level*).
    """
    if isinstance(graph, DatasetGraph):
        return graph
    if hasattr(graph, "is_directed") and hasattr(graph, "nodes"):
        return from_networkx(graph)
    if hasattr(graph, "tocoo"):
        made = from_sparse(graph, entries="edges" if has_level else "epsilon")
        return DatasetGraph(
            made.names,
            made.tails,
            made.heads,
            levels=made.levels,
            level_of_edge=made.level_of_edge,
            nodes=range(len(made)),
        )
    raise GraphError(
        "graph",
        type(graph).__name__,
        "is no graph of datasets",
        "give a DatasetGraph, a networkx graph or a sparse matrix",
    )


def _refuse_gaps(rows: list[ReadEdge], names: Sequence[str]) -> None:
    bare = [row for row in rows if row[2] is None]
    if bare and len(bare) < len(rows):
        pair = (names[bare[0][0]], names[bare[0][1]])
        raise GraphError("edges", pair, "has no privacy level", "give a default level")


def _edge_level(u: object, v: object, data: Mapping[str, Any], default: object) -> Level | None:
    if "level" in data:
        return read_edge_level(data["level"])
    if "epsilon" in data:
        return make_level(data["epsilon"], data.get("delta", 0))
    if "delta" in data:
        raise GraphError("edges", (str(u), str(v)), "has a delta but no epsilon", "give both")
    return None if default is None else read_edge_level(default)


def _join_arcs(rows: list[ReadEdge]) -> list[ReadEdge]:
    """Arcs as edges. Two arcs that agree are one edge; others promise nothing backwards, and parallel edges all hold."""
    ahead: dict[tuple[int, int], list[Level]] = {}
    for u, v, one in rows:
        ahead.setdefault((u, v), []).extend([one] if one is not None else [])
    edges: list[ReadEdge] = []
    for (u, v), levels in ahead.items():
        if not levels:  # no levels yet: arcs only say who are neighbours
            edges += [(u, v, None)] if u < v or (v, u) not in ahead else []
        elif levels == ahead.get((v, u)) and all(one.reversed() == one for one in levels):
            edges += [(u, v, one) for one in levels if u < v]
        else:
            edges += [(u, v, directed(forward=one, backward=make_level("inf", 1))) for one in levels]
    return edges


def to_networkx(
    graph: DatasetGraph, *, mechanism: HasRows | None = None, preferences: Preferences | None = None
) -> Any:
    """The graph for networkx: a ``Graph``, or a ``MultiGraph`` where edges are parallel.

    Edges have ``epsilon`` and ``delta`` (as text, exactly) where the level is one pair, else ``level``. Nodes have
    ``prefers`` and ``probabilities`` where *preferences* and a *mechanism* (anything with ``row(name)``) are given.

    >>> from optimaldp.graphs import votes
    >>> to_networkx(votes(2, level="ln(2)")).edges["11", "12"]
    {'epsilon': 'ln(2)', 'delta': '0'}
    """
    with requiring("networkx"):
        import networkx

    made = networkx.MultiGraph() if _has_parallel_edges(graph) else networkx.Graph()
    names = list(graph.nodes)
    for vertex, name in enumerate(names):
        made.add_node(name)
        if preferences is not None:
            made.nodes[name]["prefers"] = preferences.words(vertex)
        if mechanism is not None:
            made.nodes[name]["probabilities"] = mechanism.row(graph.names[vertex])
    for u, v, k in zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist()):
        # networkx lists an edge from its earlier node on, so a directed level must be written in that direction.
        attributes = _attributes(graph.levels[k] if u < v else graph.levels[k].reversed()) if graph.levels else {}
        made.add_edge(names[min(u, v)], names[max(u, v)], **attributes)
    return made


def _attributes(level: Level) -> dict[str, Any]:
    if isinstance(level, ApproximateDP) and level.is_single:
        return {"epsilon": str(level.epsilon), "delta": str(level.delta)}
    return {"level": level}


def _has_parallel_edges(graph: DatasetGraph) -> bool:
    low, high = np.minimum(graph.tails, graph.heads), np.maximum(graph.tails, graph.heads)
    return len(np.unique(low.astype(np.int64) * len(graph) + high)) < graph.edge_count
