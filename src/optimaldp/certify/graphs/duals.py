"""Checking an LP dual: weak duality by hand, in exact arithmetic.

With multipliers ``y_c >= 0``, every private mechanism P has

    P_v(S)  <=  P_v(S) + sum_c y_c (e^epsilon P_tail(T) + delta - P_head(T)).

Sort the right-hand side by datasets: those that are given are constants, and a free row, which sums to one and has nothing
negative, contributes at most the largest of its coefficients.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction

from optimaldp.certify.closeness import enclosure
from optimaldp.errors import CertificateError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.mechanisms.certificate import DualProof, EventConstraint
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP

Promises = dict[tuple[int, int], list[Bound]]
_BITS = 192
_EQUAL = Bound(Epsilon.read(0), Fraction(0))


def promises(graph: DatasetGraph) -> Promises:
    """For each ordered pair of neighbours (tail, head) the bounds that hold on the head in terms of the tail."""
    by_arc: Promises = defaultdict(list)
    ends = zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist())
    for tail, head, number in ends:
        level = graph.levels[number]
        if isinstance(level, ApproximateDP):
            by_arc[tail, head] += level.forward
            by_arc[head, tail] += level.backward
        elif isinstance(level, GaussianDP) and level.mu == 0:
            # Nothing may differ, which is epsilon 0; other Gaussian levels are no linear inequalities.
            by_arc[tail, head].append(_EQUAL)
            by_arc[head, tail].append(_EQUAL)
    return by_arc


def proven_bound(proof: DualProof, held: Promises, answers: int, given: Callable[[int], Row | None]) -> Fraction:
    """What the multipliers prove: no private mechanism gives the proof's event more than this at its vertex."""
    weight: dict[int, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * answers)
    for answer in proof.event:
        weight[proof.vertex][answer] += 1
    constant = Fraction(0)
    for constraint, multiplier in proof.multipliers:
        if multiplier < 0:
            raise CertificateError(
                "multiplier", str(multiplier), "is negative", "inequalities add up only if it is not"
            )
        bound = _promise(constraint, held)
        constant += multiplier * bound.delta
        ratio = enclosure(bound.epsilon, _BITS)[1]  # from above: a larger ratio only weakens the bound
        for answer in constraint.event:
            weight[constraint.tail][answer] += multiplier * ratio
            weight[constraint.head][answer] -= multiplier
    return constant + sum((_most(row, given(vertex)) for vertex, row in weight.items()), Fraction(0))


def _most(weights: list[Fraction], row: Row | None) -> Fraction:
    if row is None:
        # Not the positive part: the row sums to one, so a largest coefficient below 0 lowers the bound.
        return max(weights)
    return sum((w * p for w, p in zip(weights, row)), Fraction(0))


def _promise(constraint: EventConstraint, held: Promises) -> Bound:
    between = (constraint.tail, constraint.head)
    available = [bound for bound in held.get(between, []) if not bound.epsilon.infinite]
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
