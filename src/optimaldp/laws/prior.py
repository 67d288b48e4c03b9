"""A public prior over who says yes: what an average is taken over, where people have levels of their own.

Two forms. A chance: everybody says yes independently with it. A list: how likely it is that nobody, one, two, ... everybody says
yes; given how many, every choice of who is equally likely. Both are public, and neither has anything to do with privacy, which
holds whatever is true.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import comb, prod
from typing import Any

from optimaldp.errors import LevelError
from optimaldp.privacy.numbers import fraction_text, read_probability

Point = tuple[int, ...]
"""How many people of each level say yes, the strictest level first."""

WORD = "prior"
_REMEDY = 'write {"prior": 0.5}, the chance of a yes, or {"prior": [...]} with one probability for each number of yes'


@dataclass(frozen=True)
class Prior:
    """The aim to be right as often as possible on average over this prior.

    >>> str(read_prior({"prior": 0.25})), str(read_prior("prior: [1/4, 1/2, 1/4]"))
    ('prior: 0.25', 'prior: [0.25, 0.5, 0.25]')
    """

    chance: Fraction | None
    by_total: tuple[Fraction, ...] = ()
    """Instead of the chance: how likely each number of yes is, from nobody to everybody."""

    def __str__(self) -> str:
        if self.chance is not None:
            return f"{WORD}: {fraction_text(self.chance)}"
        return f"{WORD}: [{', '.join(map(fraction_text, self.by_total))}]"

    @property
    def words(self) -> str:
        """Over which votes an average is taken."""
        if self.chance is None:
            return "votes with the given prior of how many say yes"
        return f"votes in which everybody says yes independently with chance {fraction_text(self.chance)}"

    def weights(self, sizes: Sequence[int]) -> dict[Point, Fraction]:
        """How likely each point of the grid of counts is, for so many people of each level.

        >>> read_prior({"prior": [0, 1, 0]}).weights([1, 1])
        {(0, 0): Fraction(0, 1), (0, 1): Fraction(1, 2), (1, 0): Fraction(1, 2), (1, 1): Fraction(0, 1)}
        """
        people = sum(sizes)
        if self.chance is None and len(self.by_total) != people + 1:
            rule = f"lists {len(self.by_total)} probabilities, and {people} people can say yes in {people + 1} numbers"
            raise LevelError("aim", str(self), rule, "list one for each number of yes, from nobody to everybody")
        return {point: self._chance_of(point, sizes, people) for point in grid(sizes)}

    def _chance_of(self, point: Point, sizes: Sequence[int], people: int) -> Fraction:
        yes, ways = sum(point), prod(comb(size, count) for size, count in zip(sizes, point))
        if self.chance is None:
            return self.by_total[yes] * Fraction(ways, comb(people, yes))
        return ways * self.chance**yes * (1 - self.chance) ** (people - yes)


def grid(sizes: Sequence[int]) -> Iterator[Point]:
    """Every way in which so many people of each level can say yes."""
    return product(*(range(size + 1) for size in sizes))


def read_prior(value: str | Mapping[str, Any] | Prior) -> Prior:
    """Read ``{"prior": 0.3}``, ``{"prior": [0.25, 0.5, 0.25]}``, or the same as text: ``prior: 0.3``."""
    if isinstance(value, Prior):
        return value
    content = _from_text(value) if isinstance(value, str) else _content(value)
    if isinstance(content, (list, tuple)):
        listed = tuple(_probability(one, value) for one in content)
        if sum(listed) != 1:
            raise LevelError("aim", value, "is a prior whose probabilities do not add up to 1", _REMEDY)
        return Prior(None, listed)
    return Prior(_probability(content, value))


def _from_text(text: str) -> Any:
    content = text.partition(":")[2].strip()
    if content.startswith("[") and content.endswith("]"):
        return content[1:-1].split(",")
    return content


def _content(value: Mapping[str, Any]) -> Any:
    if set(value) != {WORD}:
        raise LevelError("aim", dict(value), "is not an aim for people with levels of their own", _REMEDY)
    return value[WORD]


def _probability(number: object, value: object) -> Fraction:
    try:
        return read_probability(number, name="aim", error=LevelError)
    except LevelError:
        raise LevelError("aim", value, f"has {number!r} where a probability is needed", _REMEDY) from None
