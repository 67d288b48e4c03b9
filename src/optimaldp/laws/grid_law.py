"""Yes or no by a table of numbers: one probability for each way in which people of each level can say yes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from optimaldp.errors import InputError
from optimaldp.laws.prior import Point
from optimaldp.privacy.numbers import fraction_text, read_number, read_probability

_ANSWERS = ("yes", "no")


@dataclass(frozen=True)
class Multiplier:
    """Of one privacy constraint: ``P(answer at head) <= e^epsilon P(answer at tail) + delta``."""

    tail: Point
    head: Point
    answer: int
    weight: Fraction


@dataclass(frozen=True)
class GridLaw:
    """P(yes) at every point of a grid of counts, and the multipliers that prove how good it is on average. All public."""

    yes: tuple[tuple[Point, Fraction], ...]
    multipliers: tuple[Multiplier, ...]
    average_error: Fraction

    @cached_property
    def _at(self) -> dict[Point, Fraction]:
        return dict(self.yes)

    def at(self, point: Point) -> Fraction:
        """P(yes) where so many of each level say yes. Of private counts it is private."""
        return self._at[point]

    def to_document(self) -> dict[str, Any]:
        return {
            "average_error": fraction_text(self.average_error),
            "yes": {_name(point): fraction_text(chance) for point, chance in self.yes},
            "multipliers": [
                [_name(one.tail), _name(one.head), _ANSWERS[one.answer], fraction_text(one.weight)]
                for one in self.multipliers
            ],
        }

    @staticmethod
    def read(document: Mapping[str, Any]) -> GridLaw:
        """Read what :meth:`to_document` wrote; nothing in it is believed before the referee has examined it."""
        try:
            yes = tuple((_point(name), _chance(value)) for name, value in document["yes"].items())
            multipliers = tuple(
                Multiplier(_point(tail), _point(head), _ANSWERS.index(answer), read_number(weight, name="multipliers"))
                for tail, head, answer, weight in document["multipliers"]
            )
            return GridLaw(yes, multipliers, _chance(document["average_error"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            rule = "has no readable table of probabilities with its multipliers"
            raise InputError("mechanism", "the document", rule, "give a file that release --json wrote") from None


def _name(point: Point) -> str:
    return ",".join(map(str, point))


def _point(name: str) -> Point:
    return tuple(int(part) for part in name.split(","))


def _chance(value: object) -> Fraction:
    return read_probability(value, name="yes")
