"""Weak duality by hand, in exact arithmetic: what multipliers of promises prove about every private mechanism.

With multipliers ``y_c >= 0``, every private mechanism P has

    target(P)  <=  target(P) + sum_c y_c (e^epsilon P_tail(T) + delta - P_head(T)).

Sort the right-hand side by datasets: those that are given are constants, and a free row, which sums to one and has nothing
negative, contributes at most the largest of its coefficients. No equation has to hold, so rounded multipliers prove something,
too. An irrational ``e^epsilon`` is rounded up, which only weakens the bound.

Four uses: a bound on one prefix sum (:func:`proven_bound`), a mechanism that nothing dominates (:func:`weighing_gap`), given
values that no private mechanism has, and single maxima that none has together (:func:`examine_impossibility`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from optimaldp.certify.core.closeness import enclosure
from optimaldp.certify.graphs.given import GivenRows
from optimaldp.certify.graphs.privacy import check_privacy
from optimaldp.errors import CertificateError
from optimaldp.graphs.dataset_graph import DatasetGraph, PlainLevels
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism, SharedRows
from optimaldp.mechanisms.certificate import INFEASIBLE, DualProof, EventConstraint, Impossibility, Multiplier, Weighing
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.balls import Rational, fraction, rational

Given = Callable[[int], Row | None]
Coefficients = Mapping[int, list[Rational]]  # of a linear function of the rows, by dataset

_BITS = 192
_EQUAL = Bound(Epsilon.read(0), Fraction(0))
_ZERO = rational(0)
_FLOAT_ERROR = 1e-9  # more than an epsilon as a float is wrong by


class HeldPromises:
    """What holds between neighbours: for an arc from tail to head the bounds on the head in terms of the tail."""

    def __init__(self, graph: DatasetGraph) -> None:
        self._arcs, self._levels = graph.arcs, graph.arc_levels

    def between(self, tail: int, head: int) -> list[Bound]:
        """The bounds of every arc from *tail* to *head*."""
        arcs = slice(int(self._arcs.first[tail]), int(self._arcs.first[tail + 1]))
        kinds = self._arcs.levels[arcs][self._arcs.heads[arcs] == head]
        return [bound for kind in kinds.tolist() for bound in _forward(self._levels[kind])]


def _forward(level: Level) -> tuple[Bound, ...]:
    if isinstance(level, ApproximateDP):
        return level.forward
    # Nothing may differ at mu = 0, which is epsilon 0; other Gaussian levels are no linear inequalities.
    return (_EQUAL,) if isinstance(level, GaussianDP) and level.mu == 0 else ()


def proven_bound(proof: DualProof, held: HeldPromises, answers: int, given: Given) -> Fraction:
    """What the multipliers prove: no private mechanism gives the proof's event more than this at its vertex."""
    target = {proof.vertex: [rational(int(answer in proof.event)) for answer in range(answers)]}
    return fraction(most_of(target, proof.multipliers, held, answers, given))


def most_of(
    target: Coefficients, multipliers: Iterable[Multiplier], held: HeldPromises, answers: int, given: Given
) -> Rational:
    """No private mechanism with the given rows has a larger *target* than this."""
    weight: dict[int, list[Rational]] = defaultdict(lambda: [_ZERO] * answers)
    weight.update({vertex: list(row) for vertex, row in target.items()})
    constant = _ZERO
    for constraint, multiplier in multipliers:
        bound = _promise(constraint, held)
        times = _not_negative(multiplier)
        constant += times * rational(bound.delta)
        _add_promise(weight, constraint, times * _ratio_above(bound), times)
    return constant + sum((_most(row, given(vertex)) for vertex, row in weight.items()), _ZERO)


def _add_promise(
    weight: dict[int, list[Rational]], constraint: EventConstraint, at_tail: Rational, at_head: Rational
) -> None:
    for answer in constraint.event:
        weight[constraint.tail][answer] += at_tail
        weight[constraint.head][answer] -= at_head


def _ratio_above(bound: Bound) -> Rational:
    return rational(enclosure(bound.epsilon, _BITS)[1])  # from above: a larger ratio only weakens the bound


def _not_negative(multiplier: Fraction) -> Rational:
    if multiplier < 0:
        raise CertificateError("multiplier", str(multiplier), "is negative", "inequalities add up only if it is not")
    return rational(multiplier)


def _most(weights: list[Rational], row: Row | None) -> Rational:
    if row is None:
        # Not the positive part: the row sums to one, so a largest coefficient below 0 lowers the bound.
        return max(weights)
    return sum((w * rational(p) for w, p in zip(weights, row)), _ZERO)


def _promise(constraint: EventConstraint, held: HeldPromises) -> Bound:
    between = (constraint.tail, constraint.head)
    available = [bound for bound in held.between(*between) if not bound.epsilon.infinite]
    if not available:
        raise CertificateError("constraint", between, "uses a promise between datasets that made none")
    named = constraint.bound
    if named is not None:
        if not any(_implies(bound, named) for bound in available):
            raise CertificateError("constraint", str(named), "is stricter than what holds between these datasets")
        return named
    strictest = [bound for bound in available if all(_implies(bound, other) for other in available)]
    if not strictest:
        raise CertificateError("constraint", between, "does not say which of several promises it uses")
    return strictest[0]


def _implies(strict: Bound, loose: Bound) -> bool:
    return strict.epsilon <= loose.epsilon and strict.delta <= loose.delta


# A mechanism that nothing dominates.


def weighing_gap(mechanism: Mechanism, proof: Weighing, allowed: GivenRows) -> Fraction:
    """By how much at most a private mechanism that dominates this one could have more, at any prefix sum.

    Dominating and private mechanisms have a weighted sum between that of *mechanism* and the bound U of the multipliers; every
    weight is at least 1, so no prefix sum gains more than the difference. *mechanism* itself must be private. Raises
    :class:`CertificateError` where the proof is none.
    """
    quotient = _Classes(mechanism, proof, allowed)
    weight = quotient.target()
    value = quotient.value(weight)
    constant = _ZERO
    for constraint, multiplier in proof.multipliers:
        times, bound = _not_negative(multiplier), constraint.bound
        if bound is None or bound.epsilon.infinite:
            raise CertificateError("constraint", str(bound), "is not a promise with a finite epsilon")
        arcs, ahead, back = quotient.arcs(constraint.tail, constraint.head, bound)
        constant += times * arcs * rational(bound.delta)
        _add_promise(weight, constraint, times * ahead * _ratio_above(bound), times * back)
    most = constant + sum((quotient.size(c) * _most(row, quotient.given(c)) for c, row in weight.items()), _ZERO)
    return fraction(most - value)


def _least_epsilons(levels: Sequence[Level]) -> npt.NDArray[np.float64]:
    if isinstance(levels, PlainLevels):
        return levels.epsilon
    return np.array([min((float(b.epsilon) for b in _forward(level)), default=math.inf) for level in levels])


class _Classes:
    """The classes of a proof, and what is alike in each: preference, given row, and the number of arcs of each promise.

    Without classes every dataset is one by itself.
    """

    def __init__(self, mechanism: Mechanism, proof: Weighing, allowed: GivenRows) -> None:
        self._mechanism, self._proof, self._allowed = mechanism, proof, allowed
        graph = mechanism.graph
        own = np.arange(len(graph), dtype=np.int32)
        self._of = own if proof.classes is None else proof.classes
        if len(self._of) != len(graph):
            raise CertificateError("classes", len(self._of), f"numbers do not fit {len(graph)} datasets")
        self._sizes = np.bincount(self._of)
        _, self._first = np.unique(self._of, return_index=True)
        for what, values in (("preference", mechanism.preferences.of), ("given row", allowed.of)):
            differs = np.flatnonzero(values != values[self._first[self._of]])
            if differs.size:
                name = graph.names[int(differs[0])]
                raise CertificateError("classes", name, f"has another {what} than the first dataset of its class")
        self._sort_arcs(graph)

    def _sort_arcs(self, graph: DatasetGraph) -> None:
        tails, heads = self._of[graph.arcs.tails()], self._of[graph.arcs.heads]
        code = tails.astype(np.int64) * len(self._sizes) + heads
        self._order = np.argsort(code, kind="stable")
        self._codes, self._tails = code[self._order], graph.arcs.tails()[self._order]
        self._heads, self._kinds = graph.arcs.heads[self._order], graph.arcs.levels[self._order]
        self._levels = graph.arc_levels
        # A first look in floats: with as many levels as edges few can make the promise that is asked for.
        self._least_epsilon = _least_epsilons(self._levels)

    def target(self) -> dict[int, list[Rational]]:
        """The weighted prefix sums of the free classes as coefficients of single answers."""
        preferences, weights = self._mechanism.preferences, self._proof.weights
        q, target = (
            len(preferences.answers),
            defaultdict[int, list[Rational]](lambda: [_ZERO] * len(preferences.answers)),
        )
        for number, first in enumerate(self._first.tolist()):
            if self._allowed.row(first) is not None:
                continue
            own = [weights.get((number, k)) for k in range(1, q)]
            if any(weight is None or weight < 1 for weight in own):
                name = self._mechanism.graph.names[first]
                least = next(weight for weight in own if weight is None or weight < 1)
                raise CertificateError("weights", least, f"is not a weight of at least 1 for {name!r}")
            order = preferences.order(first)
            # The k-th answer counts in every prefix sum from the k-th on.
            sums = list(accumulate(rational(weight) for weight in reversed(own) if weight is not None))[::-1]
            for answer, total in zip(order, sums):
                target[number][answer] = total
        return target

    def value(self, target: Coefficients) -> Rational:
        """The weighted sum of the mechanism itself; classes whose datasets differ are counted dataset by dataset."""
        rows = self._mechanism.rows
        shared = rows if isinstance(rows, SharedRows) else SharedRows.from_rows([rows.row(v) for v in range(len(rows))])
        pairs, count = np.unique(np.stack([self._of, shared.of]), axis=1, return_counts=True)
        if self._proof.within and pairs.shape[1] > len(self._sizes):
            raise CertificateError(
                "classes", len(self._sizes), "are fewer than the rows: a class has two different rows"
            )
        total = _ZERO
        for number, row, times in zip(pairs[0].tolist(), pairs[1].tolist(), count.tolist()):
            if number in target:
                total += (1 if self._proof.within else times) * _most(list(target[number]), shared.rows[row])
        return total

    def arcs(self, tail: int, head: int, bound: Bound) -> tuple[int, int, int]:
        """How many arcs from one class to the other promise *bound*: in all, from each tail, to each head."""
        code = tail * len(self._sizes) + head
        low, high = np.searchsorted(self._codes, (code, code + 1))
        kinds = self._kinds[low:high]
        near = np.unique(kinds[self._least_epsilon[kinds] <= float(bound.epsilon) + _FLOAT_ERROR])
        holding = [kind for kind in near.tolist() if any(_implies(b, bound) for b in self._finite(kind))]
        kept = np.flatnonzero(np.isin(kinds, holding)) + low
        if not kept.size:
            names = [self._mechanism.graph.names[int(self._first[c])] for c in (tail, head)]
            raise CertificateError("constraint", str(bound), f"is not promised between {names[0]!r} and {names[1]!r}")
        if self._proof.within or self._proof.classes is None:  # one promise, however many parallel edges make it
            return 1, 1, 1
        return len(kept), self._evenly(self._tails[kept], tail), self._evenly(self._heads[kept], head)

    def _finite(self, kind: int) -> list[Bound]:
        return [bound for bound in _forward(self._levels[kind]) if not bound.epsilon.infinite]

    def _evenly(self, ends: npt.NDArray[np.int32], number: int) -> int:
        """The number of arcs at each dataset of a class, which must be the same for all."""
        counts = np.bincount(np.unique(ends, return_inverse=True)[1])
        if len(counts) != self._sizes[number] or counts.min() != counts.max():
            name = self._mechanism.graph.names[int(self._first[number])]
            raise CertificateError("classes", name, "is in a class whose datasets do not have equally many such arcs")
        return int(counts[0])

    def size(self, number: int) -> int:
        return 1 if self._proof.within else int(self._sizes[number])

    def given(self, number: int) -> Row | None:
        return self._allowed.row(int(self._first[number]))


# Impossibility.


@dataclass(frozen=True)
class ImpossibilityCheck:
    """Whether a proof of impossibility holds, and by how much; or why it does not."""

    proven: bool
    margin: Fraction | None
    reason: str


def examine_impossibility(problem: Problem, proof: Impossibility) -> ImpossibilityCheck:
    """Whether the multipliers prove that no private mechanism, or no greatest one, has the given rows of *problem*.

    **Guarantee.** ``proven`` is true only if every promise that is used holds between its datasets, and the sum of the promises
    excludes what the proof says, with ``e^epsilon`` rounded up. For no-optimum every stored mechanism has the given rows and
    is private, which is decided exactly.
    """
    try:
        return _examined(problem, proof)
    except CertificateError as error:
        return ImpossibilityCheck(False, None, f"witness rejected: {error}")


def _examined(problem: Problem, proof: Impossibility) -> ImpossibilityCheck:
    q, held, given = len(problem.answers), HeldPromises(problem.graph), problem.given_rows()
    if proof.kind == INFEASIBLE:
        margin = -fraction(most_of({}, proof.multipliers, held, q, given.get))
        if margin <= 0:
            return ImpossibilityCheck(False, None, "the promises times their multipliers do not add up to less than 0")
        return ImpossibilityCheck(True, margin, "no private mechanism has the given values: the promises exclude it")
    for number, rows in enumerate(proof.mechanisms):
        _require_private(problem, given, rows, f"mechanisms[{number}]")
    target: dict[int, list[Rational]] = defaultdict(lambda: [_ZERO] * q)
    attained = _ZERO
    for vertex, k, times in proof.wanted:
        event = problem.preferences.order(vertex)[:k]
        attained += _not_negative(times) * max(
            sum((rational(rows[vertex][a]) for a in event), _ZERO) for rows in proof.mechanisms
        )
        for answer in event:
            target[vertex][answer] += rational(times)
    margin = fraction(attained - most_of(target, proof.multipliers, held, q, given.get))
    if margin <= 0:
        return ImpossibilityCheck(
            False, None, "the multipliers do not exclude that one mechanism has all that is wanted"
        )
    return ImpossibilityCheck(
        True, margin, "no private mechanism is greatest: what is wanted can be had one by one, but not together"
    )


def _require_private(problem: Problem, given: Mapping[int, Row], rows: tuple[Row, ...], name: str) -> None:
    for vertex, row in given.items():
        if rows[vertex] != row:
            raise CertificateError(name, problem.graph.names[vertex], "does not have its given row")
    mechanism = Mechanism(problem.graph, problem.preferences, SharedRows.from_rows(list(rows)))
    finding = check_privacy(mechanism)
    if not finding.private:
        raise CertificateError(name, finding.reason, "is why it is not private")
