"""Two groups whose members are public, such as the arms of a trial: the difference of shares or means is a plain sum.

A person of A moves it by at most ``1/n_A``, one of B by ``1/n_B``: larger steps first. The sizes are public, so neighbours
replace a record inside a group. Multiplied out with both sizes, an empty group gives 0 on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.distances.ladder import Moves, Rung, rounded_up, signed_distance
from optimaldp.distances.two_groups import check_margin

Heights = Mapping[int, int]
"""{height: people} of one group; heights are whole numbers from 0 to the highest."""


@dataclass(frozen=True)
class GroupDifference:
    """``average height in A <comparison> average height in B + margin``, heights from 0 to *highest*.

    >>> trial = GroupDifference(">", Fraction(0), 1)  # a share: 1 for yes, 0 for no
    >>> trial.holds({1: 60, 0: 40}, {1: 30, 0: 20}), trial.flips({1: 60, 0: 40}, {1: 30, 0: 20})
    (False, 1)
    """

    comparison: str
    margin: Fraction
    highest: int

    def __post_init__(self) -> None:
        check_margin(self.comparison, Fraction(self.margin) / self.highest)

    def holds(self, first: Heights, second: Heights) -> bool:
        """The true answer."""
        return (self._double_excess(first, second) > 0) is self._asks_for_more

    def signed(self, first: Heights, second: Heights) -> Fraction | float:
        """The signed fractional distance: positive for yes, never 0; replacing one person moves it by at most 1."""
        down, up = self._rungs(first, second)
        above = signed_distance(self._double_excess(first, second), down, up)
        return above if self._asks_for_more else -above

    def flips(self, first: Heights, second: Heights) -> Moves:
        """The least number of replacements that change the answer."""
        return rounded_up(self.signed(first, second))

    @property
    def _asks_for_more(self) -> bool:
        return self.comparison in (">=", ">")

    def _weights(self, first: Heights, second: Heights) -> tuple[int, int, int]:
        """What one unit of height weighs in A and in B, and the margin, in the largest unit that makes all three whole.

        Only public numbers: which heights occur must not decide the unit, because half of it decides how W is shifted.
        """
        margin = Fraction(self.margin)
        n_first, n_second = sum(first.values()), sum(second.values())
        numbers = (
            margin.denominator * n_second,
            margin.denominator * n_first,
            margin.numerator * n_first * n_second,
        )
        unit = math.gcd(*numbers) or 1
        return numbers[0] // unit, numbers[1] // unit, numbers[2] // unit

    def _double_excess(self, first: Heights, second: Heights) -> int:
        weight_first, weight_second, margin = self._weights(first, second)
        excess = weight_first * _total(first) - weight_second * _total(second) - margin
        return 2 * excess + (1 if self.comparison in (">=", "<") else -1)

    def _rungs(self, first: Heights, second: Heights) -> tuple[list[Rung], list[Rung]]:
        weight_first, weight_second, _ = self._weights(first, second)

        def fall(group: Heights, weight: int) -> list[Rung]:
            return [(weight * height, people) for height, people in group.items()]

        def rise(group: Heights, weight: int) -> list[Rung]:
            return [(weight * (self.highest - height), people) for height, people in group.items()]

        down = fall(first, weight_first) + rise(second, weight_second)
        return down, rise(first, weight_first) + fall(second, weight_second)


def _total(group: Heights) -> int:
    return sum(height * people for height, people in group.items())


def public_share_difference(comparison: str, margin: Fraction) -> GroupDifference:
    """``share among A <comparison> share among B + margin``: heights are 1 for yes and 0 for no."""
    return GroupDifference(comparison, Fraction(margin), 1)


def public_mean_difference(comparison: str, margin: Fraction, *, positions: int, step: Fraction) -> GroupDifference:
    """``mean among A <comparison> mean among B + margin`` on a grid of *positions* values that are *step* apart.

    Heights are twice the position on the grid, so that :func:`heights` has room for people without a value in the middle.
    """
    return GroupDifference(comparison, 2 * Fraction(margin) / Fraction(step), 2 * (positions - 1))


def heights(counts: Mapping[int, int], without_value: int, *, positions: int) -> dict[int, int]:
    """{position: people} of one group as the heights of :func:`public_mean_difference`.

    There is no bound to compare with, so a person without a value counts as the middle of the range: a public choice that
    favours neither group, and every group keeps its public size.
    """
    raised = {2 * position: people for position, people in counts.items() if people}
    if without_value:
        raised[positions - 1] = raised.get(positions - 1, 0) + without_value
    return raised
