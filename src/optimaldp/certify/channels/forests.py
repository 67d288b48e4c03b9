"""Bounds by a potential of either sign, where no edges close a ring.

For any λ let ``v_z`` be the least of ``Σ λ_y φ(y)`` over all φ that keep every factor and have ``φ(z) = 1``. A private channel
has such columns, so ``v >= π`` proves ``Σ_z π_z M[z,z] <= Σ_z v_z M[z,z] <= Σ_z Σ_y λ_y M[y,z] = Σλ``. Where v falls short,
λ is raised by the largest shortfall everywhere, which raises v by at least as much, or it is stretched: the better of both.
On a tree the least is found branch by branch: a branch that sums to c at its own end of an edge gives ``c/x`` to the other end
if c is not negative, and takes ``x·c`` if it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.certify.channels.bound import EXACT_ANSWERS, UtilityBound
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.reading import AnswerPair

_Number = Fraction | float


@dataclass(frozen=True)
class _Arithmetic:
    """Sums and shares that are never too large: rationals exactly, floats rounded down after every operation."""

    read: Callable[[Fraction], _Number]
    total: Callable[[Sequence[_Number]], _Number]
    passed: Callable[[_Number, Fraction], _Number]
    """What a branch gives to the other end of an edge with this factor."""


def _exactly() -> _Arithmetic:
    def passed(value: _Number, factor: Fraction) -> _Number:
        return value / factor if value >= 0 else value * factor

    return _Arithmetic(Fraction, lambda values: sum((Fraction(value) for value in values), Fraction(0)), passed)


def _rounded_down() -> _Arithmetic:
    def down(value: float) -> float:
        return math.nextafter(value, -math.inf)

    def passed(value: _Number, factor: Fraction) -> _Number:
        above = math.nextafter(float(factor), math.inf)
        return down(float(value) / above if value >= 0 else float(value) * above)

    return _Arithmetic(lambda number: down(float(number)), lambda values: down(math.fsum(values)), passed)


def is_forest(size: int, edges: list[AnswerPair]) -> bool:
    """Whether no edges close a ring."""
    parent = list(range(size))

    def root(y: int) -> int:
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = parent[y]
        return y

    for edge in edges:
        one, other = root(edge.one), root(edge.other)
        if one == other:
            return False
        parent[one] = other
    return True


def by_signed_potential(
    potential: list[Fraction], edges: list[AnswerPair], factors: Factors, masses: tuple[Fraction, ...]
) -> UtilityBound:
    """What λ proves after it was raised or stretched until ``v >= π``."""
    arithmetic = _exactly() if len(masses) <= EXACT_ANSWERS else _rounded_down()
    least = [Fraction(value) for value in _least_sums(potential, edges, factors, arithmetic)]
    total = sum(potential, Fraction(0))
    shortfall = max(mass - value for value, mass in zip(least, masses))
    bounds = [Fraction(1), total + len(masses) * max(shortfall, Fraction(0))]
    if all(value > 0 or value == mass == 0 for value, mass in zip(least, masses)):
        bounds.append(max(mass / value for value, mass in zip(least, masses) if value) * total)
    return UtilityBound(min(bounds), "a potential that covers the prior along every branch")


def _least_sums(
    potential: list[Fraction], edges: list[AnswerPair], factors: Factors, arithmetic: _Arithmetic
) -> list[_Number]:
    """``v_z`` for every z: branches are added up towards a root, then from the root outwards."""
    size = len(potential)
    own = [arithmetic.read(value) for value in potential]
    neighbours: list[dict[int, Fraction]] = [{} for _ in range(size)]
    for edge in edges:
        neighbours[edge.one][edge.other] = neighbours[edge.other][edge.one] = factors.between(edge.length)[1]
    order, parent = _outwards(neighbours)
    received: list[dict[int, _Number]] = [{} for _ in range(size)]
    for y in reversed(order):
        if parent[y] >= 0:
            branch = arithmetic.total([own[y], *received[y].values()])
            received[parent[y]][y] = arithmetic.passed(branch, neighbours[y][parent[y]])
    for y in order:
        # fsum rounds once, so that a branch and its negative cancel wholly: nothing is lost by taking a child's out again.
        everything = [own[y], *received[y].values()]
        for child, factor in neighbours[y].items():
            if parent[child] == y:
                rest = arithmetic.total([*everything, -received[y][child]])  # all branches but the child's own
                received[child][y] = arithmetic.passed(rest, factor)
    return [arithmetic.total([own[y], *received[y].values()]) for y in range(size)]


def _outwards(neighbours: list[dict[int, Fraction]]) -> tuple[list[int], list[int]]:
    """Every answer after its parent; the parent of a root is −1."""
    parent = [-2] * len(neighbours)
    order: list[int] = []
    for root in range(len(neighbours)):
        if parent[root] != -2:
            continue
        parent[root] = -1
        part = [root]
        for y in part:  # grows while it is walked
            for near in neighbours[y]:
                if parent[near] == -2:
                    parent[near] = y
                    part.append(near)
        order += part
    return order, parent
