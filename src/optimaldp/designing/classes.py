"""Classes of datasets that need not be told apart, and the small problem that has one dataset for each class.

A partition into classes of one preference and one given row (or none) makes a small problem: classes are joined by every
promise that some arc between them makes. What is private there is private on the graph, one row for each class.

*Stable* classes (colour refinement: for each level every dataset of a class has equally many arcs to each other class, and so
from each, because every edge is an arc in both directions) lose nothing: averaging a mechanism over the datasets of a class
keeps it private, so what nothing dominates on the classes nothing dominates on the graph. Other partitions, by the distance to
the boundary, are what large graphs are left with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from optimaldp.graphs import DatasetGraph, Preferences, boundary, distances
from optimaldp.graphs.names import NumberNames
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import SharedRows
from optimaldp.mechanisms.certificate import EventConstraint
from optimaldp.privacy import ApproximateDP, Bound

Labels = npt.NDArray[np.int32]

_MOST_VISITS = 40_000_000  # of arcs while classes are refined: a few seconds
_CLOSE = 1e-12  # epsilons closer than this are compared exactly


@dataclass(frozen=True, eq=False)
class Classes:
    """The class of each dataset (numbered from 0), how many datasets each has, and whether the partition is stable."""

    of: Labels
    sizes: npt.NDArray[np.int64]
    stable: bool

    @staticmethod
    def number(labels: npt.NDArray[np.int64], *, stable: bool) -> Classes:
        """Classes of equal labels, in the order of their first datasets."""
        _, first, of = np.unique(labels, return_index=True, return_inverse=True)
        rank = np.empty(len(first), dtype=np.int32)
        rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        numbered = rank[of]
        return Classes(numbered, np.bincount(numbered), stable)

    def __len__(self) -> int:
        return len(self.sizes)

    def firsts(self) -> npt.NDArray[np.int64]:
        """The first dataset of each class."""
        return np.unique(self.of, return_index=True)[1]


def partitions(problem: Problem, most_stable: int, most: int) -> Iterator[Classes]:
    """The stable classes if they are at most *most_stable*; otherwise partitions of at most *most* classes, finer ones first.

    None, if there are more preferences and given rows than that.
    """
    start = _start(problem)
    stable = _refined(problem.graph, start, most_stable)
    if stable is not None:
        yield stable
        return
    coarse = Classes.number(start, stable=False)
    if len(coarse) > most:
        return
    layers = distances(problem.graph, problem.preferences).astype(np.int64)
    crossing = _crossing_levels(problem)
    deepest = int(layers.max(initial=0)) + 2
    for labels in (crossing, np.zeros_like(start)):
        for cap in _depths(deepest):
            # Beyond the cap, and where no boundary is reached, everybody of a preference is alike.
            layer = np.where((layers < 0) | (layers > cap), cap, layers)
            joined = (start * (int(labels.max()) + 1) + labels) * (cap + 1) + layer
            if len(np.unique(joined)) <= most:
                yield Classes.number(joined, stable=False)
                break
    yield coarse


def _depths(deepest: int) -> list[int]:
    """How many layers are tried: all, then half as many, and so on."""
    depths = []
    while deepest > 0:
        depths.append(deepest)
        deepest //= 2
    return depths


def _start(problem: Problem) -> npt.NDArray[np.int64]:
    """Datasets by preference and given row."""
    given = np.zeros(len(problem.graph), dtype=np.int64)
    if problem.fixed:
        shared = SharedRows.from_rows(list(problem.fixed.values()))
        given[list(problem.fixed)] = 1 + shared.of
    return problem.preferences.of.astype(np.int64) * (int(given.max()) + 1) + given


def _refined(graph: DatasetGraph, start: npt.NDArray[np.int64], most: int) -> Classes | None:
    """The coarsest stable partition that refines *start*; ``None`` if it has more than *most* classes or is found too late.

    The arcs of two datasets are told apart by the sum of their hashes. Should two different sums ever be equal, the referee,
    which counts arcs, refuses the proof.
    """
    tails, arcs = graph.arcs.tails(), graph.arcs
    label = np.unique(start, return_inverse=True)[1]
    kinds = max(1, len(graph.arc_levels))
    visits, count = 0, int(label.max()) + 1
    while count <= most and visits <= _MOST_VISITS:
        if not len(tails):
            return Classes.number(label, stable=True)
        seen = _hashed(label[arcs.heads].astype(np.uint64) * np.uint64(kinds) + arcs.levels.astype(np.uint64))
        sums = np.zeros(len(graph), dtype=np.uint64)
        np.add.at(sums, tails, seen)
        label = np.unique(np.stack([label.astype(np.uint64), sums]), axis=1, return_inverse=True)[1].reshape(-1)
        finer = int(label.max()) + 1
        if finer == count:
            return Classes.number(label, stable=True)
        visits, count = visits + len(tails) + 10 * len(graph), finer
    return None


def _hashed(codes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Sixty-four bits that look random for each code (the finaliser of splitmix)."""
    with np.errstate(over="ignore"):
        x = codes + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


def _crossing_levels(problem: Problem) -> npt.NDArray[np.int64]:
    """A number for the set of levels by which each dataset touches other preferences; 0 inside."""
    graph, of = problem.graph, problem.preferences.of
    tails, arcs = graph.arcs.tails(), graph.arcs
    crossing = of[tails] != of[arcs.heads]
    pairs = np.unique(np.stack([tails[crossing], arcs.levels[crossing]]), axis=1)
    sums = np.zeros(len(graph), dtype=np.uint64)
    np.add.at(sums, pairs[0], _hashed(pairs[1].astype(np.uint64)))
    numbers: npt.NDArray[np.int64] = np.unique(sums, return_inverse=True)[1].reshape(-1)
    return np.where(boundary(graph, problem.preferences), numbers + 1, 0)


def class_problem(problem: Problem, classes: Classes) -> Problem:
    """One dataset for each class, joined by the strictest promises of the arcs between them."""
    first = classes.firsts()
    preferences = problem.preferences
    fixed = {number: problem.fixed[v] for number, v in enumerate(first.tolist()) if v in problem.fixed}
    wanted = Preferences(preferences.answers, preferences.orders, preferences.of[first])
    edges = list(_class_edges(problem.graph, classes))
    tails, heads = [tail for tail, _, _ in edges], [head for _, head, _ in edges]
    levels = list(dict.fromkeys(level for _, _, level in edges))
    number = {level: k for k, level in enumerate(levels)}
    of_edge = [number[level] for _, _, level in edges]
    graph = DatasetGraph(NumberNames(len(classes)), tails, heads, levels=levels, level_of_edge=of_edge or None)
    return Problem(graph, wanted, fixed)


def _class_edges(graph: DatasetGraph, classes: Classes) -> Iterator[tuple[int, int, ApproximateDP]]:
    strictest = _strictest_promises(graph, classes)
    for (tail, head), ahead in strictest.items():
        if tail < head:
            yield tail, head, ApproximateDP(ahead, strictest[head, tail])


def _strictest_promises(graph: DatasetGraph, classes: Classes) -> dict[tuple[int, int], tuple[Bound, ...]]:
    """For each ordered pair of classes the promises of the arcs between them that no other one implies."""
    bounds, kind_of = _promises(graph)
    arcs = graph.arcs
    tails, heads = classes.of[arcs.tails()].astype(np.int64), classes.of[arcs.heads]
    code = tails * len(classes) + heads
    # Of an arc with several promises each is one entry.
    many = np.diff(kind_of)[arcs.levels]
    place = np.repeat(kind_of[:-1][arcs.levels] - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
    code = np.repeat(np.where(tails == heads, -1, code), many)
    pairs = np.unique(np.stack([code[code >= 0], place[code >= 0]]), axis=1)
    epsilon, delta = np.array([float(b.epsilon) for b in bounds]), np.array([float(b.delta) for b in bounds])
    strictest: dict[tuple[int, int], tuple[Bound, ...]] = {}
    for one, places in _groups(pairs[0], pairs[1], epsilon, delta):
        kept = _without_implied([bounds[place] for place in places])
        strictest[divmod(one, len(classes))] = kept
    return strictest


def _promises(graph: DatasetGraph) -> tuple[list[Bound], npt.NDArray[np.int64]]:
    """The promises of every level of an arc, one after the other, and where those of each level begin."""
    bounds: list[Bound] = []
    starts = [0]
    for level in graph.arc_levels:
        assert isinstance(level, ApproximateDP)
        bounds += level.forward
        starts.append(len(bounds))
    return bounds, np.array(starts, dtype=np.int64)


def _groups(
    code: npt.NDArray[np.int64],
    place: npt.NDArray[np.int64],
    epsilon: npt.NDArray[np.float64],
    delta: npt.NDArray[np.float64],
) -> Iterator[tuple[int, list[int]]]:
    """For each code its promises, without those that a clearly smaller epsilon with as small a delta implies."""
    order = np.lexsort((epsilon[place], code))
    code, place = code[order], place[order]
    starts = np.flatnonzero(np.r_[True, code[1:] != code[:-1]]) if len(code) else np.zeros(0, dtype=np.int64)
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(code)]):
        mine = place[start:end]
        if len(mine) > 1:
            least = np.r_[np.inf, np.minimum.accumulate(delta[mine])]
            smaller = np.searchsorted(epsilon[mine], epsilon[mine] - _CLOSE)
            mine = mine[delta[mine] < least[smaller]]
        yield int(code[start]), mine.tolist()


def _without_implied(bounds: list[Bound]) -> tuple[Bound, ...]:
    kept: list[Bound] = []
    for bound in sorted(bounds, key=lambda b: (b.epsilon, b.delta)):
        if not kept or bound.delta < kept[-1].delta:
            kept.append(bound)
    return tuple(kept)


class ArcCounts:
    """How many arcs from one class to another make a promise."""

    def __init__(self, graph: DatasetGraph, classes: Classes) -> None:
        arcs = graph.arcs
        code = classes.of[arcs.tails()].astype(np.int64) * len(classes) + classes.of[arcs.heads]
        order = np.argsort(code, kind="stable")
        self._code, self._kind, self._count = code[order], arcs.levels[order], len(classes)
        self._levels = graph.arc_levels

    def holding(self, promise: EventConstraint) -> int:
        """The number of arcs whose level has a promise that is at least as strict."""
        bound, code = promise.bound, promise.tail * self._count + promise.head
        assert bound is not None
        low, high = np.searchsorted(self._code, (code, code + 1))
        kinds, counts = np.unique(self._kind[low:high], return_counts=True)
        return sum(count for kind, count in zip(kinds.tolist(), counts.tolist()) if self._holds(kind, bound))

    def _holds(self, kind: int, bound: Bound) -> bool:
        level = self._levels[kind]
        assert isinstance(level, ApproximateDP)
        return any(one.epsilon <= bound.epsilon and one.delta <= bound.delta for one in level.forward)
