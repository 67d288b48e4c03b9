"""Three answers and more, the boundary chosen so that nothing dominates the result: the rule ``raised``.

On classes of datasets (:mod:`optimaldp.designing.classes`) three linear programs, one after the other: the least favourite
becomes as likely as possible, then the sum of the favourites, then the sum of all prefix sums, each among the mechanisms that
keep what was reached; a class counts as often as it has datasets. Whatever dominated the result would have a larger sum, so
nothing does.

The multipliers of the last program are the proof. The least favourite and the sum of favourites are sums of prefix sums
themselves, so their multipliers are weights; every prefix sum has a weight of at least 1, because the last objective counts it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.designing.classes import ArcCounts, Classes, class_problem, partitions
from optimaldp.designing.closeness import nearest_private
from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.homogeneous import is_plain
from optimaldp.designing.impossible import is_linear
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.rational import round_down
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, components
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Certificate, Claimed, SharedRows
from optimaldp.mechanisms.certificate import Multiplier, Weighing, Weights
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, Level
from optimaldp.programs.exact import Solution, Terms

MOST_CLASSES = 1500  # of a program that is solved in seconds
_MOST_COARSE = 240  # of a program that is solved at once, for graphs that have more stable classes than that
_EXACT_COLUMNS = 900  # free probabilities that are decided in rationals, if every e^epsilon is one
_EXACT_IRRATIONAL, _EXACT_SHORT = 150, 400  # the same for irrational levels: as they are, and rounded to short ratios
_MARGIN = Fraction(1, 10**11)  # what floats found is not asked for to the last digit
_SHORT_BITS = 48  # of an irrational e^epsilon in a program that would be too long with all of them
_DIGITS = 10**12  # multipliers that floats found are rounded to parts of this


@dataclass(frozen=True)
class _Raised:
    """The rows of the classes, and the multipliers of the last program: of favourites, of all of them, of promises."""

    rows: list[Row]
    favourites: dict[int, Fraction]
    all_favourites: Fraction
    promises: tuple[Multiplier, ...]
    exact: bool


def design_raised(problem: Problem) -> Outcome | None:
    """A private mechanism that nothing dominates; on graphs with too many classes, nothing that treats coarser classes alike.

    ``None`` where one row for each preference and closed forms do better than coarse classes (one level on a large graph), and
    where a promise is no linear inequality.
    """
    if not is_linear(problem):
        return None
    for classes in partitions(problem, MOST_CLASSES, _MOST_COARSE):
        if not classes.stable and is_plain(problem.graph):
            return None
        small = class_problem(problem, classes)
        found = _raise(small, classes)
        if found is not None:
            return _outcome(problem, classes, found)
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
    claim = Claimed.UNDOMINATED if classes.stable else Claimed.WITHIN_CLASSES
    given = np.zeros(len(problem.graph), dtype=bool)
    given[list(problem.fixed)] = True
    certificate = Certificate(given, (), statement=claim.words, claim=claim, weighing=weighing)
    status = Status.OPTIMAL if classes.stable else None
    return Outcome(status, Route.LINEAR_PROGRAM, pulled_back, certificate, exact=found.exact)


def _raise(small: Problem, classes: Classes) -> _Raised | None:
    """The three programs on the classes; ``None`` if no private mechanism treats the classes alike."""
    q = len(small.answers)
    used, nominal, exact_columns = small, dict[Bound, Bound](), _EXACT_COLUMNS
    if not all(level.is_rational for level in small.graph.levels):
        exact_columns = _EXACT_SHORT
        if len(classes) * q > _EXACT_IRRATIONAL:
            used, nominal = _with_short_levels(small)
    program = EventProgram(used, exact_columns=exact_columns)
    share = [Fraction(int(size), int(classes.sizes.sum())) for size in classes.sizes]
    free = [number for number in range(len(classes)) if number not in small.fixed]
    order = small.preferences.order
    favourites: list[Terms] = [program.prefix(number, order(number)[:1])[0] for number in free]
    prefixes = [program.prefix(number, order(number)[:k])[0] for number in free for k in range(1, q)]
    least, tops = program.add_least((number, order(number)[:1]) for number in free)
    best: Solution | None = None
    reached: Terms | None = None
    asked: list[int] = []
    for objective in (
        least,
        _weighted(favourites, [share[number] for number in free]),
        _weighted(prefixes, [share[number] for number in free for _ in range(1, q)]),
    ):
        if reached is not None and best is not None:
            asked.append(program.require_terms(reached, best.value if best.exact else best.value - _MARGIN))
        best, reached = program.maximise(objective), objective
        if best is None:
            return None
    assert best is not None
    rows = program.rows(best.point)
    if not best.exact:
        mended = nearest_private(small, _equal_where_promised(small, rows), program.interior)
        if mended is None:
            return None
        rows = mended
    size = int(classes.sizes.sum())
    multipliers = {index: size * weight for index, weight in best.multipliers.items()}
    own = {number: multipliers.get(index, Fraction(0)) for number, index in zip(free, tops)}
    promises = tuple(
        (replace(promise, bound=nominal.get(promise.bound, promise.bound) if promise.bound else None), size * weight)
        for promise, weight in program.promise_multipliers(best)
    )
    return _Raised(rows, own, best.multipliers.get(asked[1], Fraction(0)), promises, best.exact)


def _with_short_levels(small: Problem) -> tuple[Problem, dict[Bound, Bound]]:
    """The same problem at levels that are a hair stricter and have a short ``e^epsilon``, and what each promise stands for."""
    nominal: dict[Bound, Bound] = {}

    def shortened(bound: Bound) -> Bound:
        if bound.epsilon.exact_ratio is not None:
            return bound
        ratio = max(Fraction(1), round_down(bound.epsilon.ratio_below(bits=_SHORT_BITS), _SHORT_BITS))
        short = Bound(Epsilon(Fraction(0), ratio), bound.delta)
        nominal.setdefault(short, bound)
        return short

    graph, levels = small.graph, []
    for level in graph.levels:
        assert isinstance(level, ApproximateDP)
        levels.append(ApproximateDP(*(tuple(map(shortened, bounds)) for bounds in (level.forward, level.backward))))
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


def _weighted(prefixes: list[Terms], shares: list[Fraction]) -> Terms:
    total: Terms = {}
    for terms, share in zip(prefixes, shares):
        for column, c in terms.items():
            total[column] = total.get(column, Fraction(0)) + share * c
    return total


def _weighing(problem: Problem, classes: Classes, found: _Raised) -> Weighing:
    """The proof: for each dataset, where the classes are stable, and otherwise for each class."""
    weights: Weights = {}
    for number, own in found.favourites.items():
        size = Fraction(int(classes.sizes[number]))
        per = size if classes.stable else Fraction(1)
        for k in range(1, len(problem.answers)):
            weight = size + (size * found.all_favourites + own if k == 1 else 0)
            weights[number, k] = max(Fraction(1), _rounded(weight / per, found.exact))
    counts = ArcCounts(problem.graph, classes) if classes.stable else None
    promises = []
    for promise, multiplier in found.promises:
        times = _rounded(multiplier / (counts.holding(promise) if counts is not None else 1), found.exact)
        if times > 0:
            promises.append((promise, times))
    alone = classes.stable and len(classes) == len(problem.graph)
    return Weighing(weights, tuple(promises), None if alone else classes.of, within=not classes.stable)


def _rounded(number: Fraction, exact: bool) -> Fraction:
    return number if exact else Fraction(round(number * _DIGITS), _DIGITS)
