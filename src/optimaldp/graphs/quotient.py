"""Quotients: datasets that need not be told apart become one, for example voters become counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.extras import requiring
from optimaldp.graphs.dataset_graph import DatasetGraph, Indices
from optimaldp.graphs.distinct import first_of_each
from optimaldp.graphs.families.products import YES, compositions, ranks
from optimaldp.graphs.morphisms import Morphism, imply_together, morphism
from optimaldp.graphs.names import LazyNames, NumberNames, ProductNames, RowNames
from optimaldp.privacy import Level

Labels = Callable[[str], Any] | Mapping[str, Any] | npt.NDArray[Any]


def quotient(graph: DatasetGraph, labels: Labels, *, names: Sequence[str] | None = None) -> Morphism:
    """Merge datasets of equal label; returns the morphism onto the quotient graph.

    An edge of the quotient carries every level of the edges that fall on it (parallel edges: all of them hold; those that
    others imply are dropped), so the map is a morphism by construction, and mechanisms on the quotient pull back.

    *labels* is a function of names, a mapping, or an array; *names* names the classes in the order of their labels.

    **Guarantee.** Private on the quotient implies private on *graph*. The best mechanism of the quotient is the best one that
    treats merged datasets alike; it is the best of all when the classes are orbits of a symmetry (averaging loses nothing)
    and the preferences and fixed values agree on them.

    >>> from optimaldp.graphs import votes
    >>> quotient(votes(3), lambda name: name.count("1")).target
    DatasetGraph(4 datasets, 3 edges, no level yet)
    """
    labelled, of = _read_labels(graph, labels)
    classes = [str(one) for one in labelled] if names is None else names
    if len(classes) != len(labelled):
        raise GraphError("names", len(classes), f"names do not fit {len(labelled)} classes")
    return merge(graph, classes, of.astype(np.int32))


def merge(graph: DatasetGraph, names: Sequence[str], of: Indices) -> Morphism:
    """Merge datasets by arrays: dataset v becomes number ``of[v]`` of the classes *names*."""
    tails, heads = of[graph.tails], of[graph.heads]
    kept = tails != heads
    tails, heads, levels = tails[kept], heads[kept], graph.level_of_edge[kept]
    swap = tails > heads
    levels = np.where(swap, graph._backward_levels()[levels], levels)
    tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    kinds = max(1, len(graph.arc_levels))
    codes = (tails.astype(np.int64) * len(names) + heads) * kinds + levels
    _, first = first_of_each(codes, len(names) ** 2 * kinds)
    tails, heads, levels = tails[first], heads[first], levels[first]
    needed = _needed(tails, heads, levels, graph.arc_levels)
    used, number = np.unique(levels[needed], return_inverse=True)
    target = DatasetGraph(
        names,
        tails[needed],
        heads[needed],
        levels=[graph.arc_levels[k] for k in used.tolist()] if graph.levels else (),
        level_of_edge=number,
    )
    return Morphism(graph, target, of)


def _needed(tails: Indices, heads: Indices, levels: Indices, known: tuple[Level, ...]) -> npt.NDArray[np.bool_]:
    """Which of the sorted parallel edges are not implied by another one."""
    starts = (
        np.flatnonzero(np.r_[True, (np.diff(tails) != 0) | (np.diff(heads) != 0)]) if len(tails) else np.zeros(0, int)
    )
    ends = np.r_[starts[1:], len(tails)]
    needed = np.ones(len(tails), dtype=bool)
    decided: dict[tuple[int, ...], list[bool]] = {}
    for start, end in zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist()):
        group = tuple(levels[start:end].tolist())
        if group not in decided:
            decided[group] = _strictest([known[k] for k in group])
        needed[start:end] = decided[group]
    return needed


def _strictest(levels: list[Level]) -> list[bool]:
    """Which levels the others, as far as they stay, do not imply together."""
    kept = [True] * len(levels)
    for i, one in enumerate(levels):
        others = [other for j, other in enumerate(levels) if j != i and kept[j]]
        kept[i] = not imply_together(others, one)
    return kept


def _read_labels(graph: DatasetGraph, labels: Labels) -> tuple[Any, npt.NDArray[Any]]:
    if isinstance(labels, np.ndarray):
        if labels.shape != (len(graph),):
            raise GraphError("labels", labels.shape, f"do not fit {len(graph)} datasets", "give one label per dataset")
        labelled, of = np.unique(labels, return_inverse=True)
        return labelled.tolist(), of
    if isinstance(labels, Mapping) and (missing := next((n for n in graph.names if n not in labels), None)) is not None:
        raise GraphError("labels", missing, "has no label", "label every dataset")
    label_of_each = [labels(name) if callable(labels) else labels[name] for name in graph.names]
    ordered = _in_order(set(label_of_each))
    number = {label: i for i, label in enumerate(ordered)}
    return ordered, np.array([number[label] for label in label_of_each])


def _in_order(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:  # labels of different kinds
        return sorted(labels, key=str)


def counts(graph: DatasetGraph) -> Morphism:
    """Forget who is who: votes become the number of yes votes, values the histogram of values.

    The classes are the orbits of all permutations of the people, so nothing is lost when all people have the same level
    (with personal levels the quotient has to promise the strictest of them to everybody).

    >>> from optimaldp.graphs import votes
    >>> counts(votes(3, level="ln(2)"))("112")
    '2'
    """
    names = graph.names
    if not isinstance(names, ProductNames) or any(tuple(part) != tuple(names.parts[0]) for part in names.parts):
        raise GraphError("graph", graph, "has no people with the same values", "use quotient with labels of your own")
    symbols, persons = tuple(names.parts[0]), len(names.parts)
    if len(symbols) == 2:
        # Votes count those for yes; bits and other pairs count the second symbol, so that '0' is nobody.
        return merge(graph, NumberNames(persons + 1), names.occurrences(0 if symbols[0] == YES else 1))
    table = np.stack([names.occurrences(digit) for digit in range(len(symbols))], axis=1)
    return merge(graph, RowNames(compositions(len(symbols), persons)), ranks(table).astype(np.int32))


def orbits(graph: DatasetGraph, *symmetries: Mapping[str, str] | Callable[[str], str] | npt.NDArray[Any]) -> Morphism:
    """Merge datasets that symmetries of the graph carry to each other; each is checked to be one, levels included.

    >>> from optimaldp.graphs import votes
    >>> orbits(votes(3), lambda name: name[1:] + name[:1]).target
    DatasetGraph(4 datasets, 3 edges, no level yet)
    """
    with requiring("scipy"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

    everyone = np.arange(len(graph), dtype=np.int32)
    maps = [_symmetry(graph, one) for one in symmetries] or [everyone]
    ends = np.tile(everyone, len(maps)), np.concatenate(maps)
    matrix = csr_array((np.ones(len(ends[0]), dtype=np.int32), ends), shape=(len(graph), len(graph)))
    of = connected_components(matrix, directed=False)[1]
    _, first = np.unique(of, return_index=True)
    return merge(graph, _Chosen(graph.names, first), of.astype(np.int32))


class _Chosen(LazyNames):
    """Some of the names of another sequence: an orbit is called like its first dataset."""

    def __init__(self, names: Sequence[str], chosen: npt.NDArray[np.int64]) -> None:
        self.names, self.chosen = names, chosen

    def __len__(self) -> int:
        return len(self.chosen)

    def name(self, number: int) -> str:
        return self.names[int(self.chosen[number])]


def _symmetry(graph: DatasetGraph, mapping: Any) -> Indices:
    of = morphism(graph, graph, mapping).of
    if (np.bincount(of, minlength=len(graph)) != 1).any():
        twice = graph.names[int(np.argmax(np.bincount(of, minlength=len(graph))))]
        raise GraphError("symmetries", twice, "is the image of two datasets", "a symmetry is a permutation")
    # Its inverse is one of its powers, and so a morphism too: nothing is left to check.
    return of
