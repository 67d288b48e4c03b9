"""Where to draw the datasets of a graph: by their coordinates if they have some, else by their distances; never by chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.extras import requiring
from optimaldp.graphs import DatasetGraph
from optimaldp.graphs.names import ProductNames, RowNames

Points = npt.NDArray[np.float64]
LAYOUTS = ("auto", "line", "ring", "cube", "layers", "grid", "triangle", "distances")


def positions(graph: DatasetGraph, layout: str = "auto") -> Points:
    """One point per dataset, in a box of about 1 × 1."""
    chosen = _choose(graph) if layout == "auto" else layout
    if chosen not in LAYOUTS:
        raise GraphError("layout", layout, "is not a layout", f"use one of {', '.join(LAYOUTS)}")
    points = {
        "line": _line,
        "ring": _ring,
        "cube": _cube,
        "layers": _layers,
        "grid": _grid,
        "triangle": _triangle,
        "distances": _by_distances,
    }[chosen](graph)
    return _into_box(points)


def _choose(graph: DatasetGraph) -> str:
    names = graph.names
    if _walk(graph) is not None:
        return "ring" if _is_ring(graph) else "line"
    if isinstance(names, ProductNames) and set(names.shape) <= {2}:
        return "cube" if len(names.shape) <= 3 else "layers"
    if isinstance(names, ProductNames) and len(names.shape) == 2 and _is_grid(graph, names):
        return "grid"
    if isinstance(names, RowNames) and names.table.shape[1] == 3:
        return "triangle"
    return "distances"


def _pairs(graph: DatasetGraph) -> npt.NDArray[np.int64]:
    """The pairs of neighbours, each once."""
    ends = np.stack([graph.tails, graph.heads], axis=1).astype(np.int64)
    return np.unique(np.sort(ends, axis=1), axis=0)


def _is_ring(graph: DatasetGraph) -> bool:
    return len(_pairs(graph)) == len(graph) > 2


def _is_grid(graph: DatasetGraph, names: ProductNames) -> bool:
    rows = names.coordinates()
    return bool((np.abs(rows[graph.tails] - rows[graph.heads]).sum(axis=1) == 1).all())


def _walk(graph: DatasetGraph) -> list[int] | None:
    """The datasets in the order in which a path or ring passes them; ``None`` if the graph is neither."""
    pairs, count = _pairs(graph), len(graph)
    degrees = np.bincount(pairs.ravel(), minlength=count)
    if degrees.max(initial=0) > 2 or len(pairs) < count - 1:
        return None
    near: list[list[int]] = [[] for _ in range(count)]
    for u, v in pairs.tolist():
        near[u].append(v)
        near[v].append(u)
    order, placed = [int(np.argmin(degrees))], {int(np.argmin(degrees))}
    while following := [v for v in near[order[-1]] if v not in placed]:
        order.append(following[0])
        placed.add(following[0])
    return order if len(order) == count else None


def _walk_or_refuse(graph: DatasetGraph, layout: str) -> list[int]:
    order = _walk(graph)
    if order is None:
        raise GraphError("layout", layout, "does not fit this graph: it is no path and no ring", "use 'distances'")
    return order


def _line(graph: DatasetGraph) -> Points:
    order = _walk_or_refuse(graph, "line")
    points = np.zeros((len(graph), 2))
    points[order, 0] = np.arange(len(graph))
    return points


def _ring(graph: DatasetGraph) -> Points:
    angle = np.zeros(len(graph))
    angle[_walk_or_refuse(graph, "ring")] = np.pi / 2 - 2 * np.pi * np.arange(len(graph)) / len(graph)
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _coordinates(graph: DatasetGraph, layout: str) -> npt.NDArray[np.int32]:
    if not isinstance(graph.names, (ProductNames, RowNames)):
        raise GraphError("layout", layout, "does not fit this graph: it has no coordinates", "use 'distances'")
    return graph.names.coordinates()


def _cube(graph: DatasetGraph) -> Points:
    """A drawing of the cube: each part moves in a direction of its own."""
    rows = _coordinates(graph, "cube")
    angle = np.array([0.0, np.pi / 2, np.pi / 5.2])[np.arange(rows.shape[1]) % 3] + np.arange(rows.shape[1]) // 3 * 0.45
    length = np.where(np.arange(rows.shape[1]) % 3 == 2, 0.55, 1.0) / (1 + np.arange(rows.shape[1]) // 3)
    steps = np.stack([np.cos(angle), np.sin(angle)], axis=1) * length[:, None]
    return np.asarray(rows @ steps, dtype=np.float64)


def _layers(graph: DatasetGraph) -> Points:
    """From left to right by the sum of coordinates (how many voted no), each layer from top to bottom."""
    layer = _coordinates(graph, "layers").sum(axis=1)
    points = np.zeros((len(graph), 2))
    for one in np.unique(layer):
        inside = np.flatnonzero(layer == one)
        points[inside, 0] = one
        points[inside, 1] = -(np.arange(len(inside)) + 0.5) / len(inside)
    points[:, 1] *= max(1, int(layer.max()))
    return points


def _grid(graph: DatasetGraph) -> Points:
    rows = _coordinates(graph, "grid")
    if rows.shape[1] != 2:
        raise GraphError("layout", "grid", f"does not fit a graph of {rows.shape[1]} coordinates", "use 'distances'")
    return rows.astype(np.float64)


def _triangle(graph: DatasetGraph) -> Points:
    """Histograms of three bins as points of a triangle."""
    rows = _coordinates(graph, "triangle")
    if rows.shape[1] != 3:
        raise GraphError(
            "layout", "triangle", f"does not fit a graph of {rows.shape[1]} coordinates", "it is for three bins"
        )
    corners = np.array([[0.5, np.sqrt(0.75)], [0.0, 0.0], [1.0, 0.0]])
    return np.asarray(rows @ corners, dtype=np.float64)


def _by_distances(graph: DatasetGraph, *, rounds: int = 200) -> Points:
    """Points whose distances resemble the steps between datasets: least squares by majorisation, from a fixed start."""
    wanted = _step_counts(graph)
    points = _spectral_start(wanted)
    weights = np.where(wanted > 0, wanted, 1.0) ** -2.0
    np.fill_diagonal(weights, 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    inverse = np.linalg.pinv(laplacian)
    for _ in range(rounds if len(graph) > 1 else 0):
        apart = np.linalg.norm(points[:, None] - points[None], axis=2)
        pull = np.divide(-weights * wanted, apart, out=np.zeros_like(apart), where=apart > 1e-12)
        np.fill_diagonal(pull, -pull.sum(axis=1))
        points = inverse @ (pull @ points)
    return points


def _step_counts(graph: DatasetGraph) -> Points:
    with requiring("scipy"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import shortest_path

    ones = np.ones(graph.edge_count, dtype=np.int32)
    matrix = csr_array((ones, (graph.tails, graph.heads)), shape=(len(graph), len(graph)))
    steps: Points = shortest_path(matrix, directed=False, unweighted=True)
    reached = np.where(np.isfinite(steps), steps, 0)
    # Components that are not connected stand beside each other.
    return np.where(np.isfinite(steps), steps, reached.max() / 2 + 2)


def _spectral_start(wanted: Points) -> Points:
    """Classical scaling, which lays a path along a line and a ring around a circle."""
    count = len(wanted)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ wanted**2 @ centre)
    chosen = np.zeros((count, 2))
    best = np.argsort(values)[::-1][:2]
    chosen[:, : len(best)] = vectors[:, best] * np.sqrt(np.maximum(values[best], 0))
    # Datasets that look alike from everywhere would coincide for ever: set them a little apart, always in the same way.
    angle = np.arange(count) * 2.399963
    return chosen + 0.05 * np.stack([np.cos(angle), np.sin(angle)], axis=1)


def _into_box(points: Any) -> Points:
    low, high = points.min(axis=0), points.max(axis=0)
    scale = float((high - low).max()) or 1.0
    return np.asarray((points - (low + high) / 2) / scale + 0.5, dtype=np.float64)
