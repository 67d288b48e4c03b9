"""What a question about a sum means: what a record of each cell adds, and with what the sum is compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Table = tuple[int, ...]
"""How many people fall into each cell."""


@dataclass(frozen=True)
class Inequality:
    """``sum of adds[cell] * people[cell]  <comparison>  bound``."""

    adds: tuple[Fraction, ...]
    comparison: str
    bound: Fraction

    def total(self, table: Sequence[int]) -> Fraction:
        return sum((add * people for add, people in zip(self.adds, table)), Fraction(0))

    def holds(self, table: Sequence[int]) -> bool:
        total = self.total(table)
        if self.comparison == ">=":
            return total >= self.bound
        if self.comparison == ">":
            return total > self.bound
        if self.comparison == "<=":
            return total <= self.bound
        if self.comparison == "<":
            return total < self.bound
        raise ValueError(f"{self.comparison!r} is not a comparison")

    @property
    def asks_for_more(self) -> bool:
        return self.comparison in (">=", ">")


def count_of(comparison: str, bound: Fraction, *, outside: bool = False) -> Inequality:
    """Cells (yes, no), or (yes, no, outside)."""
    return Inequality((Fraction(1), Fraction(0), Fraction(0))[: 3 if outside else 2], comparison, Fraction(bound))


def share_of(comparison: str, bound: Fraction, *, outside: bool = False) -> Inequality:
    """``yes / (yes + no) <comparison> bound``, times the number of those who are asked."""
    adds = (1 - Fraction(bound), -Fraction(bound), Fraction(0))
    return Inequality(adds[: 3 if outside else 2], comparison, Fraction(0))


def mean_of(comparison: str, bound: Fraction, values: Sequence[Fraction]) -> Inequality:
    """One cell for each value in rising order, and a last one for people without a value, who add nothing."""
    adds = (*(Fraction(value) - bound for value in values), Fraction(0))
    return Inequality(adds, comparison, Fraction(0))
