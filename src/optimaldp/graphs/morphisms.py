"""Maps between graphs: morphisms, quotients, and the boundary graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.extras import requiring
from optimaldp.graphs.dataset_graph import DatasetGraph, Indices, first_of_each
from optimaldp.graphs.names import LazyNames, NumberNames, ProductNames, RowNames
from optimaldp.graphs.problem import UNREACHED, Preferences, distances
from optimaldp.graphs.products import YES, compositions, ranks
from optimaldp.privacy import ApproximateDP, Level, all_of

# Morphisms: maps between dataset graphs that carry private mechanisms back (000, Definition 3 and Theorem 1).


class HasRows(Protocol):
    """Any mechanism: it gives each dataset's probabilities by name."""

    def row(self, name: str) -> Any: ...


@dataclass(frozen=True)
class BrokenEdge:
    """An edge that a map does not respect, and why."""

    edge: tuple[str, str]
    image: tuple[str, str]
    reason: str

    def __str__(self) -> str:
        return f"the edge {self.edge[0]} - {self.edge[1]} goes to {self.image[0]} - {self.image[1]}, {self.reason}"


@dataclass(frozen=True, eq=False)
class Morphism:
    """A map of datasets that sends every edge to an edge that is at least as strict, or to a single dataset.

    **Guarantee.** The pullback of a mechanism that is private on *target* is private on *source*, edge by edge. Checked when
    made: a map that is no morphism is refused by a :class:`GraphError` that names an edge.

    ``of`` holds for each dataset of *source* the number of its image.
    """

    source: DatasetGraph
    target: DatasetGraph
    of: Indices

    def __post_init__(self) -> None:
        if len(self.of) != len(self.source):
            raise GraphError("map", len(self.of), f"images do not fit {len(self.source)} datasets", "map every dataset")
        if len(self.of) and not 0 <= int(self.of.min()) <= int(self.of.max()) < len(self.target):
            raise GraphError("map", int(self.of.max()), f"is not one of the {len(self.target)} datasets of the target")
        if (broken := find_broken_edge(self.source, self.target, self.of)) is not None:
            raise GraphError("map", broken.edge, f"is an edge that breaks it: {broken}", "that is no morphism")

    def __call__(self, name: str) -> str:
        return self.target.names[int(self.of[self.source.number(name)])]

    def then(self, other: Morphism) -> Morphism:
        """First this map, then *other*."""
        if other.source is not self.target and list(other.source.names) != list(self.target.names):
            raise GraphError("map", other, "does not start where this one ends", "compose maps that meet")
        return Morphism(self.source, other.target, other.of[self.of])

    def find_changed_preference(self, before: Preferences, after: Preferences) -> str | None:
        """A dataset that wants something else than its image, or ``None`` if preferences are preserved."""
        same = np.array([[a == b for b in _words(after)] for a in _words(before)], dtype=bool)
        changed = np.flatnonzero(~same[before.of, after.of[self.of]])
        return self.source.names[int(changed[0])] if changed.size else None

    def preserves(self, before: Preferences, after: Preferences) -> bool:
        """Whether every dataset wants the same as its image."""
        return self.find_changed_preference(before, after) is None

    def pull_back(self, mechanism: HasRows) -> PullBack:
        """The mechanism that answers for each dataset as *mechanism* does for its image."""
        return PullBack(self, mechanism)

    def push_preferences(self, preferences: Preferences) -> Preferences:
        """What the images want, when datasets with the same image agree; an error names two that do not."""
        pushed = np.full(len(self.target), -1, dtype=np.int32)
        pushed[self.of] = preferences.of
        if (split := np.flatnonzero(pushed[self.of] != preferences.of)).size:
            one = int(split[0])
            kept = (self.of == self.of[one]) & (preferences.of == pushed[self.of[one]])
            pair = (self.source.names[one], self.source.names[int(np.argmax(kept))])
            raise GraphError("map", pair, "go to the same dataset but want different answers", "map them apart")
        if (missed := np.flatnonzero(pushed < 0)).size:
            name = self.target.names[int(missed[0])]
            raise GraphError("map", name, "is the image of no dataset", "give its preference yourself")
        return Preferences(preferences.answers, preferences.orders, pushed)

    def __repr__(self) -> str:
        return f"Morphism({len(self.source)} datasets to {len(self.target)})"


@dataclass(frozen=True, eq=False)
class PullBack:
    """A mechanism on the source of a morphism, read from one on its target (000, Theorem 1)."""

    morphism: Morphism
    mechanism: HasRows

    def row(self, name: str) -> Any:
        """The probabilities at *name*: those at its image."""
        return self.mechanism.row(self.morphism(name))

    def rows(self) -> Iterator[tuple[str, Any]]:
        """Every dataset with its probabilities; each row of the target is read once."""
        known: dict[int, Any] = {}
        for name, image in zip(self.morphism.source.names, self.morphism.of.tolist()):
            if image not in known:
                known[image] = self.mechanism.row(self.morphism.target.names[image])
            yield name, known[image]

    def __repr__(self) -> str:
        return f"PullBack({self.morphism!r})"


def morphism(
    source: DatasetGraph, target: DatasetGraph, mapping: Mapping[str, str] | Callable[[str], str] | npt.NDArray[Any]
) -> Morphism:
    """Make a morphism from a mapping of names, a function of names, or an array of vertex numbers.

    >>> from optimaldp.graphs import line, votes
    >>> morphism(votes(3), line(4), lambda name: str(name.count("1")))
    Morphism(8 datasets to 4)
    """
    if isinstance(mapping, np.ndarray):
        if mapping.dtype.kind not in "iu":
            raise GraphError("map", mapping.dtype, "is not an array of dataset numbers")
        return Morphism(source, target, np.ascontiguousarray(mapping, dtype=np.int32))
    images = (_image(mapping, name, target) for name in source.names)
    return Morphism(source, target, np.fromiter(images, dtype=np.int32, count=len(source)))


def _image(mapping: Mapping[str, str] | Callable[[str], str], name: str, target: DatasetGraph) -> int:
    if callable(mapping):
        return target.number(mapping(name))
    if name not in mapping:
        raise GraphError("map", name, "has no image", "map every dataset")
    return target.number(mapping[name])


def _words(preferences: Preferences) -> list[tuple[str, ...]]:
    return [tuple(preferences.answers[a] for a in order) for order in preferences.orders]


def find_broken_edge(source: DatasetGraph, target: DatasetGraph, of: Indices) -> BrokenEdge | None:
    """The first edge of *source* that lands neither on a point nor on edges of *target* that are at least as strict.

    Where one of the graphs has no levels yet, only neighbours are compared. There is no Python loop over edges.
    """
    edges = _different_images(source, target, of)
    tails, heads = of[source.tails[edges]], of[source.heads[edges]]
    keys, levels = _sorted_arcs(target)
    wanted = tails.astype(np.int64) * len(target) + heads
    low, high = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
    if (missing := np.flatnonzero(low == high)).size:
        return _broken(source, target, of, int(edges[missing[0]]), "which is no edge")
    if not (source.levels and target.levels):
        return None
    own = source.level_of_edge[edges]
    looser = _looser(source.levels, target.arc_levels, own, levels, low, high)
    if looser is None:
        return None
    edge = int(edges[looser])
    reason = f"whose promise is weaker than {source.levels[int(source.level_of_edge[edge])]}"
    return _broken(source, target, of, edge, reason)


def _different_images(source: DatasetGraph, target: DatasetGraph, of: Indices) -> npt.NDArray[np.int64]:
    """One edge, the first, for each pair of image and level; those that go to a point are left out."""
    tails, heads = of[source.tails].astype(np.int64), of[source.heads]
    kinds = max(1, len(source.levels))
    _, edges = first_of_each((tails * len(target) + heads) * kinds + source.level_of_edge, len(target) ** 2 * kinds)
    edges = np.sort(edges)
    different: npt.NDArray[np.bool_] = of[source.tails[edges]] != of[source.heads[edges]]
    return edges[different]


def _looser(
    wanted: tuple[Level, ...], offered: tuple[Level, ...], own: Indices, levels: Indices, low: Any, high: Any
) -> int | None:
    """The first edge whose level is not implied by all the levels ``low : high`` of its image together."""
    implied = np.array([[one.implies(need) for one in offered] for need in wanted], dtype=bool)
    unsure = np.flatnonzero(~implied[own, levels[low]])
    for edge in unsure.tolist():  # parallel edges, or a failure
        together = [offered[k] for k in levels[int(low[edge]) : int(high[edge])].tolist()]
        if not imply_together(together, wanted[int(own[edge])]):
            return int(edge)
    return None


def imply_together(offered: list[Level], wanted: Level) -> bool:
    """Whether parallel edges of levels *offered* promise at least *wanted*."""
    if any(one.implies(wanted) for one in offered):
        return True
    plain = [one for one in offered if isinstance(one, ApproximateDP)]
    return bool(plain) and all_of(*plain).implies(wanted)


def _sorted_arcs(graph: DatasetGraph) -> tuple[npt.NDArray[np.int64], Indices]:
    arcs = graph.arcs
    keys = arcs.tails().astype(np.int64) * len(graph) + arcs.heads
    order = np.argsort(keys, kind="stable")
    return keys[order], arcs.levels[order]


def _broken(source: DatasetGraph, target: DatasetGraph, of: Indices, edge: int, reason: str) -> BrokenEdge:
    ends = int(source.tails[edge]), int(source.heads[edge])
    return BrokenEdge(
        (source.names[ends[0]], source.names[ends[1]]),
        (target.names[int(of[ends[0]])], target.names[int(of[ends[1]])]),
        reason,
    )


# Quotients: datasets that need not be told apart become one, for example voters become counts.


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


# The boundary graph: all that matters of a graph when one boundary distribution per preference is given.
#
# For each preference that occurs a chain ``(c, 0), (c, 1), …`` by the distance to the own boundary, and the heads
# joined where regions touch (001, Definition 8; 000, Definition 7 for two answers; errata 000-15 and 001-11 for
# components without boundary).


FAR = "∞"  # written for the distance of datasets that no boundary can be reached from


@dataclass(frozen=True, eq=False)
class BoundaryGraph:
    """The boundary graph, what its vertices want, and the boundary morphism ``d -> (f(d), dist(d, own boundary))``.

    ``order`` and ``distance`` say for each vertex of *graph* which order of answers it belongs to and how far it is from
    the head of its chain (:data:`optimaldp.graphs.problem.UNREACHED` for the point of components without a boundary).
    """

    morphism: Morphism
    preferences: Preferences
    order: npt.NDArray[np.int32]
    distance: npt.NDArray[np.int32]

    @property
    def graph(self) -> DatasetGraph:
        return self.morphism.target

    @cached_property
    def heads(self) -> npt.NDArray[np.int64]:
        """The vertices at distance 0: those whose distribution has to be chosen."""
        return np.flatnonzero(self.distance == 0)

    def chain_lengths(self) -> dict[tuple[str, ...], int]:
        """How many vertices the chain of each preference has: 1 + the largest distance; 0 for one that has no boundary."""
        lengths: dict[tuple[str, ...], int] = {}
        for vertex, (order, distance) in enumerate(zip(self.order.tolist(), self.distance.tolist())):
            ranking = tuple(self.preferences.answers[a] for a in self.preferences.orders[order])
            assert self.preferences.of[vertex] == order
            lengths[ranking] = max(lengths.get(ranking, 0), distance + 1)
        return lengths

    def __repr__(self) -> str:
        chains = ", ".join(f"{'>'.join(ranking)}: {length}" for ranking, length in self.chain_lengths().items())
        return f"BoundaryGraph({len(self.morphism.source)} datasets to {len(self.graph)}, chains {chains})"


def boundary_graph(graph: DatasetGraph, preferences: Preferences) -> BoundaryGraph:
    """The boundary graph and boundary morphism, for any number of answers.

    Its edges carry the levels of the edges that fall on them, so that it is a morphism for any levels. The pullback of its
    optimum is the optimum of *graph* when there is one level, or levels depend on the distance only (001, Theorem 3).

    >>> from optimaldp.graphs import majority, votes
    >>> graph = votes(3, level="ln(2)")
    >>> boundary_graph(graph, Preferences.read(graph, majority))
    BoundaryGraph(8 datasets to 4, chains yes>no: 2, no>yes: 2)
    """
    distance = distances(graph, preferences)
    longest = int(distance.max(initial=0)) + 2
    # One code per (preference, distance), with the point at infinity behind the chain.
    place = np.where(distance == UNREACHED, longest - 1, distance).astype(np.int64)
    codes, of = np.unique(preferences.of.astype(np.int64) * longest + place, return_inverse=True)
    order, step = (codes // longest).astype(np.int32), (codes % longest).astype(np.int32)
    step[step == longest - 1] = UNREACHED
    onto = merge(graph, _names(preferences, order, step), of.reshape(-1).astype(np.int32))
    return BoundaryGraph(onto, Preferences(preferences.answers, preferences.orders, order), order, step)


def _names(preferences: Preferences, order: npt.NDArray[np.int32], distance: npt.NDArray[np.int32]) -> Sequence[str]:
    answers = preferences.answers
    joiner = ">" if not any(">" in answer for answer in answers) else " then "  # names must stay unique
    texts = [joiner.join(answers[a] for a in one) for one in preferences.orders]
    steps = (FAR if one == UNREACHED else str(one) for one in distance.tolist())
    return [f"({texts[k]}, {step})" for k, step in zip(order.tolist(), steps)]


def is_boundary_morphism(onto: Morphism, before: Preferences, after: Preferences) -> bool:
    """Whether a morphism is the boundary morphism up to names.

    That is: it preserves preferences and the distance to the own boundary, datasets share an image exactly when they share
    both, and every vertex of the target is an image.
    """
    if not onto.preserves(before, after):
        return False
    far = distances(onto.source, before).astype(np.int64)
    if not np.array_equal(far, distances(onto.target, after)[onto.of]):
        return False
    classes = len(np.unique(before.of.astype(np.int64) * (int(far.max(initial=0)) + 2) + far + 1))
    return classes == len(np.unique(onto.of)) == len(onto.target)
