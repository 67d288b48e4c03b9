"""Three answers and more, the boundary chosen so that nothing dominates the result: the rule ``raised``.

On classes of datasets three linear programs, one after the other: the least favourite
becomes as likely as possible, then the sum of the favourites, then the sum of all prefix sums, each among the mechanisms that
keep what was reached; a class counts as often as it has datasets. Whatever dominated the result would have a larger sum, so
nothing does.

The multipliers of the last program are the proof. The least favourite and the sum of favourites are sums of prefix sums
themselves, so their multipliers are weights; every prefix sum has a weight of at least 1, because the last objective counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt

from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.homogeneous import is_plain
from optimaldp.designing.impossibility import forbid_impossible, is_endless, is_linear, is_unattained
from optimaldp.designing.result import Outcome, Route, Status
from optimaldp.designing.steps import HAIRS, is_private, nearest_private, repaired, round_down
from optimaldp.errors import CertificateError, ProblemError
from optimaldp.graphs import DatasetGraph, Preferences, boundary, components, crossing_edges, distances
from optimaldp.graphs.dataset_graph import PlainLevels, sample_levels
from optimaldp.graphs.names import NumberNames
from optimaldp.graphs.problem import UNDOMINATED, Problem
from optimaldp.mechanisms import Certificate, Claimed, SharedRows
from optimaldp.mechanisms.certificate import EventConstraint, Multiplier, Weighing, Weights
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.epsilon import INFINITE
from optimaldp.programs.linear import Solution, Terms

# Classes of datasets that need not be told apart, and the small problem that has one dataset for each class.
#
# A partition into classes of one preference and one given row (or none) makes a small problem: classes are joined by every
# promise that some arc between them makes. What is private there is private on the graph, one row for each class.
#
# *Stable* classes (colour refinement: for each level every dataset of a class has equally many arcs to each other class, and so
# from each, because every edge is an arc in both directions) lose nothing: averaging a mechanism over the datasets of a class
# keeps it private, so what nothing dominates on the classes nothing dominates on the graph. Other partitions, by the distance to
# the boundary, are what large graphs are left with.


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


def partitions(
    problem: Problem, most_stable: int, most: int, labels: npt.NDArray[np.int64] | None = None
) -> Iterator[Classes]:
    """The stable classes if they are at most *most_stable*; otherwise partitions of at most *most* classes, finer ones first.

    Datasets with different *labels* are never in one class. None, if there are more preferences and given rows than that.
    """
    start = _start(problem)
    if labels is not None:
        start = start * (int(labels.max(initial=0)) + 1) + labels
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
    for kinds in (crossing, np.zeros_like(start)):
        for cap in _depths(deepest):
            # Beyond the cap, and where no boundary is reached, everybody of a preference is alike.
            layer = np.where((layers < 0) | (layers > cap), cap, layers)
            joined = (start * (int(kinds.max()) + 1) + kinds) * (cap + 1) + layer
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
    bounds, kind_of, epsilon, delta = _promises(graph)
    arcs = graph.arcs
    tails, heads = classes.of[arcs.tails()].astype(np.int64), classes.of[arcs.heads]
    code = tails * len(classes) + heads
    # Of an arc with several promises each is one entry.
    many = np.diff(kind_of)[arcs.levels]
    place = np.repeat(kind_of[:-1][arcs.levels] - np.cumsum(many) + many, many) + np.arange(int(many.sum()))
    code = np.repeat(np.where(tails == heads, -1, code), many)
    pairs = np.unique(np.stack([code[code >= 0], place[code >= 0]]), axis=1)
    strictest: dict[tuple[int, int], tuple[Bound, ...]] = {}
    for one, places in _groups(pairs[0], pairs[1], epsilon, delta):
        strictest[divmod(one, len(classes))] = _without_implied([bounds(place) for place in places])
    return strictest


Promises = tuple[
    Callable[[int], Bound], npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]
]  # by number, where those of each level begin, epsilon and delta as floats


def _promises(graph: DatasetGraph) -> Promises:
    """The promises of every level of an arc, one after the other; of plain levels none is made before it is asked for."""
    levels = graph.arc_levels
    if isinstance(levels, PlainLevels):
        return lambda number: _forward(levels[number])[0], np.arange(len(levels) + 1), levels.epsilon, levels.delta
    bounds = [bound for level in levels for bound in _forward(level)]
    starts = np.cumsum([0, *(len(_forward(level)) for level in levels)])
    return (
        bounds.__getitem__,
        starts,
        np.array([float(bound.epsilon) for bound in bounds]),
        np.array([float(bound.delta) for bound in bounds]),
    )


def _forward(level: Level) -> tuple[Bound, ...]:
    assert isinstance(level, ApproximateDP)
    return level.forward


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


# A boundary that nothing dominates: the default for three answers and more (theory 2.4).
#
# One row for each preference, private where regions touch: first the least favourite among all preferences becomes as likely
# as possible, then the sum of all favourites, then the sum of all prefix sums. Whatever dominated the result would be larger in
# one of the three, so nothing does. (The last sum alone would do for that, but it may leave somebody's favourite with
# probability 0. Randomised response, which treats all answers but the favourite alike, is dominated in simple cases: for the
# orders a>b>c and b>a>c it wastes probability on c.) The mean over all relabellings of the answers that leave the problem as
# it is has the same values, so what is symmetric is treated alike.


_MOST_RELABELLED = 6  # answers: 720 relabellings are looked at, more would take longer than the program itself
_ROUNDING_MARGIN = Fraction(1, 10**9)
_SAME_ROW_GAP = Fraction(
    1, 10**6
)  # rows that a rule chose in floating point may differ by less from one machine to another

Touching = dict[
    tuple[int, int], frozenset[Level]
]  # (preference, preference) -> what holds from the first to the second


def with_chosen_boundary(problem: Problem) -> Problem:
    """The same problem with the rows that the rule ``undominated`` chooses; other rules choose as they are solved."""
    if problem.boundary != UNDOMINATED:
        return problem
    return Problem(problem.graph, problem.preferences, {}, undominated_boundary(problem), rule=UNDOMINATED)


def with_confirmed_rule(problem: Problem) -> Problem:
    """The same problem; a rule that a file names for the rows of its boundary must choose them when asked again."""
    if problem.rule is None:
        return problem
    asked = Problem(problem.graph, problem.preferences, {}, problem.rule)
    again = with_chosen_boundary(asked).boundary if problem.rule == UNDOMINATED else None
    rows = problem.boundary
    same = (
        isinstance(rows, Mapping)
        and isinstance(again, Mapping)
        and again.keys() == rows.keys()
        and all(abs(p - q) <= _SAME_ROW_GAP for number, row in again.items() for p, q in zip(row, rows[number]))
    )
    if not same:
        raise CertificateError(
            "rule", problem.rule, "did not choose the rows of this boundary", "leave the rule out, or the rows"
        )
    return problem


def undominated_boundary(problem: Problem) -> dict[int, Row]:
    """A row for each preference that has a boundary."""
    graph, preferences = problem.graph, problem.preferences
    heads = np.unique(preferences.of[boundary(graph, preferences)]).tolist()
    if not heads:
        return {}
    touching = _touching(problem)
    program = EventProgram(_head_problem(preferences, heads, touching))
    q = len(problem.answers)
    orders = [preferences.orders[number] for number in heads]
    favourites = [(place, order[:1]) for place, order in enumerate(orders)]
    events = [(place, tuple(sorted(order[:k]))) for place, order in enumerate(orders) for k in range(1, q)]
    best: Solution | None = None
    for objective in (program.add_least(favourites)[0], program.sum_of(favourites), program.sum_of(events)):
        best = program.maximise(objective)
        assert best is not None, "the uniform row is always private"
        # What floats found is not to be asked for to the last digit.
        program.require_terms(objective, best.value if best.exact else best.value - _ROUNDING_MARGIN)
    assert best is not None
    rows = (
        program.rows(best.point)
        if best.exact
        else repaired(program.problem, program.rows(best.point), program.interior)
    )
    _refuse_unattained(program.problem, rows)
    return _symmetric(preferences, dict(zip(heads, rows)), touching)


def _refuse_unattained(heads: Problem, rows: list[Row]) -> None:
    if is_unattained(heads, rows, exact=False):
        levels = ", ".join(str(level) for level in heads.graph.levels if "inf" in str(level))
        raise ProblemError(
            "boundary",
            UNDOMINATED,
            f"has no largest value at {levels}: any probability below 1 is allowed",
            "give the rows of the boundary, or fix the values on that edge",
        )


def _touching(problem: Problem) -> Touching:
    graph, of = problem.graph, problem.preferences.of
    crossing = np.flatnonzero(crossing_edges(graph, problem.preferences))
    codes = np.unique(
        np.stack([of[graph.tails[crossing]], of[graph.heads[crossing]], graph.level_of_edge[crossing]], axis=1), axis=0
    )
    levels_between: dict[tuple[int, int], set[Level]] = {}
    for a, b, k in codes.tolist():
        levels_between.setdefault((a, b), set()).add(graph.levels[k])
        levels_between.setdefault((b, a), set()).add(graph.levels[k].reversed())
    return {pair: frozenset(levels) for pair, levels in levels_between.items()}


def _head_problem(preferences: Preferences, heads: list[int], touching: Touching) -> Problem:
    """One dataset for each preference, joined where regions touch."""
    names = [str(number) for number in heads]
    edges = [(str(a), str(b), level) for (a, b), levels in touching.items() if a < b for level in levels]
    of = np.array(heads, dtype=np.int32)
    graph = DatasetGraph.from_edges(names, edges)
    return Problem(graph, Preferences(preferences.answers, preferences.orders, of))


def _symmetric(preferences: Preferences, rows: dict[int, Row], touching: Touching) -> dict[int, Row]:
    """The mean over the relabellings of the answers that carry preferences and their contacts to themselves."""
    q = len(preferences.answers)
    total = {number: [Fraction(0)] * q for number in rows}
    count = 0
    for relabelled, onto in _relabellings(preferences, list(rows), touching):
        count += 1
        for number, row in rows.items():
            for answer, p in enumerate(row):
                total[onto[number]][relabelled[answer]] += p
    return {number: tuple(p / count for p in row) for number, row in total.items()}


def _relabellings(
    preferences: Preferences, heads: list[int], touching: Touching
) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
    q, number_of = len(preferences.answers), {preferences.orders[k]: k for k in heads}
    candidates = permutations(range(q)) if q <= _MOST_RELABELLED else iter([tuple(range(q))])
    for relabelled in candidates:
        images = {k: number_of.get(tuple(relabelled[a] for a in preferences.orders[k])) for k in heads}
        onto = {k: image for k, image in images.items() if image is not None}
        if len(onto) == len(heads) and all(
            touching.get((onto[a], onto[b])) == levels for (a, b), levels in touching.items()
        ):
            yield relabelled, onto


# Three answers and more, the boundary chosen so that nothing dominates the result: the rule ``raised``.
#
# On classes of datasets (:mod:`optimaldp.designing.raised`) three linear programs, one after the other: the least favourite
# becomes as likely as possible, then the sum of the favourites, then the sum of all prefix sums, each among the mechanisms that
# keep what was reached; a class counts as often as it has datasets. Whatever dominated the result would have a larger sum, so
# nothing does.
#
# The multipliers of the last program are the proof. The least favourite and the sum of favourites are sums of prefix sums
# themselves, so their multipliers are weights; every prefix sum has a weight of at least 1, because the last objective counts it.


MOST_CLASSES = 1500  # of a program that is solved in seconds
_MOST_COARSE = 240  # of a program that is solved at once, for graphs that have more stable classes than that
_EXACT_COLUMNS = 900  # free probabilities that are decided in rationals, if every e^epsilon is one
_EXACT_IRRATIONAL, _EXACT_SHORT = 150, 400  # the same for irrational levels: as they are, and rounded to short ratios
_MARGIN = Fraction(1, 10**11)  # what floats found is not asked for to the last digit
_SHORT_BITS = 48  # of an irrational e^epsilon in a program that would be too long with all of them
_DIGITS = 10**12  # multipliers that floats found are rounded to parts of this


@dataclass(frozen=True)
class Wish:
    """What the datasets count for: the mass of each (a prior), and what each of its prefix sums is worth."""

    masses: tuple[Fraction, ...]
    worth: tuple[Fraction, ...]  # of the most wanted answer, of the two most wanted ones, ...

    def labels(self) -> npt.NDArray[np.int64]:
        """A number for each different mass, by dataset: datasets of one class count alike."""
        number = {mass: k for k, mass in enumerate(dict.fromkeys(self.masses))}
        return np.array([number[mass] for mass in self.masses], dtype=np.int64)

    def on(self, classes: Classes) -> Weights:
        """The worth of each prefix sum of each class: its datasets count together."""
        total = [Fraction(0)] * len(classes)
        for number, mass in zip(classes.of.tolist(), self.masses):
            total[number] += mass
        return {(c, k): mass * worth for c, mass in enumerate(total) for k, worth in enumerate(self.worth, start=1)}


@dataclass(frozen=True)
class _Raised:
    """The rows of the classes, and the proof: weights of their prefix sums, multipliers of promises."""

    rows: list[Row]
    weights: Weights
    promises: tuple[Multiplier, ...]
    exact: bool


def design_raised(problem: Problem, wish: Wish | None = None) -> Outcome | None:
    """A private mechanism that nothing dominates; on graphs with too many classes, nothing that treats coarser classes alike.

    With a *wish* its value becomes as large as possible before anything else, and the least favourite is not looked at.
    Where epsilon is infinite, what nothing attains is approached, and the gap says how near. ``None`` where one row for each
    preference and closed forms do better than coarse classes (one level on a large graph), and with a Gaussian level.
    """
    if any(isinstance(level, GaussianDP) for level in sample_levels(problem.graph.levels)):
        return None
    for classes in partitions(problem, MOST_CLASSES, _MOST_COARSE, None if wish is None else wish.labels()):
        if not classes.stable and is_plain(problem.graph):
            return None
        small = class_problem(problem, classes)
        found = _raise(small, classes, wish)
        if found is not None:
            return _outcome(problem, classes, found)
    if wish is not None:
        return None
    if problem.fixed:
        raise ProblemError(
            "fixed",
            f"{len(problem.fixed)} datasets",
            f"with their preferences are more than {MOST_CLASSES} classes of datasets, or classes that cannot be treated alike",
            "fix fewer datasets, or the whole boundary",
        )
    favourites = Classes.number(problem.preferences.favourites.astype(np.int64), stable=False)
    found, q = _raise(class_problem(problem, favourites), favourites), len(problem.answers)
    rows = [(Fraction(1, q),) * q] * len(favourites) if found is None else found.rows
    reason = f"more than {_MOST_COARSE} preferences: the mechanism looks at the favourite answer alone, and nothing is claimed"
    shared = SharedRows(tuple(rows), favourites.of)
    return Outcome(None, Route.LINEAR_PROGRAM, shared, witness={"reason": reason}, exact=False)


def _outcome(problem: Problem, classes: Classes, found: _Raised) -> Outcome:
    rows = SharedRows.from_rows(found.rows)
    pulled_back = SharedRows(rows.rows, rows.of[classes.of])
    weighing = _weighing(problem, classes, found)
    status = Status.OPTIMAL if classes.stable else None
    return Outcome(
        status, Route.LINEAR_PROGRAM, pulled_back, weighing_certificate(problem, weighing), exact=found.exact
    )


def weighing_certificate(problem: Problem, weighing: Weighing) -> Certificate:
    """What a weighing proves: nothing dominates the mechanism, or nothing that treats the classes alike does."""
    claim = Claimed.WITHIN_CLASSES if weighing.within else Claimed.UNDOMINATED
    return Certificate(problem.fixed_mask(), (), statement=claim.words, claim=claim, weighing=weighing)


def _raise(small: Problem, classes: Classes, wish: Wish | None = None) -> _Raised | None:
    """One program for each stage, on the classes; ``None`` if no private mechanism treats the classes alike."""
    rational = all(level.is_rational for level in small.graph.levels)
    short = not rational and len(classes) * len(small.answers) > _EXACT_IRRATIONAL
    used, nominal = _for_program(small, short=short)
    program = EventProgram(used, exact_columns=_EXACT_COLUMNS if rational else _EXACT_SHORT)
    if forbid_impossible(program) is not None:
        return None
    stages = _Stages(program, small, classes, wish)
    best = stages.solve()
    if best is None:
        return None
    rows = program.rows(best.point)
    if not best.exact or not (is_linear(small) or is_private(small, rows)):
        hairs = HAIRS if best.exact else ()
        mended = nearest_private(small, _equal_where_promised(small, rows), program.interior, hairs)
        if mended is None:
            return None
        rows = mended
    size = int(classes.sizes.sum())
    promises = tuple(
        (replace(promise, bound=nominal.get(promise.bound, promise.bound) if promise.bound else None), size * weight)
        for promise, weight in program.promise_multipliers(best)
    )
    return _Raised(rows, stages.weights(best), promises, best.exact)


class _Stages:
    """What is raised one after the other: the least favourite and all favourites, or a wish; then the sum of all prefix sums."""

    def __init__(self, program: EventProgram, small: Problem, classes: Classes, wish: Wish | None) -> None:
        self._program, self._order, self._size = program, small.preferences.order, int(classes.sizes.sum())
        share = [Fraction(int(size), self._size) for size in classes.sizes]
        self._free = [number for number in range(len(classes)) if number not in small.fixed]
        prefixes = {(number, k): share[number] for number in self._free for k in range(1, len(small.answers))}
        favourites = {(number, 1): share[number] for number in self._free}
        self._wished = [favourites if wish is None else self._of_free(wish.on(classes)), prefixes]
        self._with_least = wish is None
        self._tops, self._asked = range(0), list[int]()

    def _of_free(self, weights: Weights) -> Weights:
        return {(number, k): weight for (number, k), weight in weights.items() if number in set(self._free)}

    def solve(self) -> Solution | None:
        """The last program's solution; each program keeps what those before it reached."""
        best, objectives = None, [self._terms(weights) for weights in self._wished]
        if self._with_least:
            least, self._tops = self._program.add_least((v, self._order(v)[:1]) for v in self._free)
            objectives.insert(0, least)
        for place, objective in enumerate(objectives):
            best = self._program.maximise(objective)
            if best is None or place == len(objectives) - 1:
                break
            reached = best.value if best.exact else best.value - _MARGIN
            self._asked.append(self._program.require_terms(objective, reached))
        return best

    def _terms(self, weights: Weights) -> Terms:
        total: Terms = {}
        for (number, k), weight in weights.items():
            for column, c in self._program.prefix(number, self._order(number)[:k])[0].items():
                total[column] = total.get(column, Fraction(0)) + weight * c
        return total

    def weights(self, best: Solution) -> Weights:
        """What each prefix sum of a class weighs in the last program: by itself, and by what was to be kept."""
        kept = [best.multipliers.get(self._asked[-1], Fraction(0)), Fraction(1)]
        total: Weights = {}
        for times, weights in zip(kept, self._wished):
            for prefix, weight in weights.items():
                total[prefix] = total.get(prefix, Fraction(0)) + self._size * times * weight
        for number, index in zip(self._free, self._tops):
            total[number, 1] += self._size * best.multipliers.get(index, Fraction(0))
        return total


def _for_program(small: Problem, *, short: bool) -> tuple[Problem, dict[Bound, Bound]]:
    """The same problem at levels that a program can hold, and what each shortened promise stands for.

    A huge epsilon becomes an infinite one, which rows without a 0 keep. With *short* an irrational ``e^epsilon`` becomes a short
    ratio a hair below.
    """
    nominal: dict[Bound, Bound] = {}

    def held(bound: Bound) -> Bound:
        if is_endless(bound):
            return Bound(INFINITE, bound.delta)
        if not short or bound.epsilon.exact_ratio is not None:
            return bound
        ratio = max(Fraction(1), round_down(bound.epsilon.ratio_below(bits=_SHORT_BITS), _SHORT_BITS))
        brief = Bound(Epsilon(Fraction(0), ratio), bound.delta)
        nominal.setdefault(brief, bound)
        return brief

    if not short and is_linear(small):
        return small, nominal
    graph, levels = small.graph, []
    for level in graph.levels:
        assert isinstance(level, ApproximateDP)
        levels.append(ApproximateDP(*(tuple(map(held, bounds)) for bounds in (level.forward, level.backward))))
    return replace(small, graph=graph.with_levels(levels, graph.level_of_edge)), nominal


def _equal_where_promised(small: Problem, rows: list[Row]) -> list[Row]:
    """The same rows, the mean of those that must be equal (epsilon 0 and delta 0): between them rounding has no room."""
    graph = small.graph
    equal: npt.NDArray[np.bool_] = np.array([_is_equality(level) for level in graph.levels], dtype=np.bool_)
    kept = equal[graph.level_of_edge] if graph.edge_count else np.zeros(0, dtype=bool)
    if not kept.any():
        return rows
    joined = DatasetGraph(graph.names, graph.tails[kept], graph.heads[kept], levels=[graph.levels[0]])
    part = components(joined)
    means: dict[int, Row] = {}
    for number in np.unique(part).tolist():
        members = np.flatnonzero(part == number).tolist()
        given = [small.fixed[v] for v in members if v in small.fixed]
        own = given[:1] or [rows[v] for v in members]
        means[number] = tuple(sum(each, Fraction(0)) / len(own) for each in zip(*own))
    return [means[number] for number in part.tolist()]


def _is_equality(level: Level) -> bool:
    return isinstance(level, ApproximateDP) and any(b.epsilon.is_zero and b.delta == 0 for b in level.bounds)


def _weighing(problem: Problem, classes: Classes, found: _Raised) -> Weighing:
    """The proof: for each dataset, where the classes are stable, and otherwise for each class."""
    weights: Weights = {}
    for (number, k), weight in found.weights.items():
        per = int(classes.sizes[number]) if classes.stable else 1
        weights[number, k] = max(Fraction(1), _rounded(weight / per, found.exact))
    alone = classes.stable and len(classes) == len(problem.graph)
    counts = ArcCounts(problem.graph, classes) if classes.stable and not alone else None
    promises = []
    for promise, multiplier in found.promises:
        times = _rounded(multiplier / (counts.holding(promise) if counts is not None else 1), found.exact)
        if times > 0:
            promises.append((promise, times))
    return Weighing(weights, tuple(promises), None if alone else classes.of, within=not classes.stable)


def _rounded(number: Fraction, exact: bool) -> Fraction:
    return number if exact else Fraction(round(number * _DIGITS), _DIGITS)
