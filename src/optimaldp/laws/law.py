"""The law of one answer: what is drawn is what it says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.prior import WORD, Prior, read_prior
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource, choose_by_ends


@dataclass(frozen=True)
class Law:
    """Probabilities of finitely many answers along a drawing order, or the sums of them.

    Numbers are ``Fraction`` at a rational level and balls elsewhere, at the precision of the moment. The likeliest answer stands
    last and takes what the others leave, so that the sums are sums of small numbers and none of them is lost by subtracting.

    >>> from fractions import Fraction
    >>> Law((1, 0), row=lambda: [Fraction(1, 4)]).probabilities()
    [Fraction(3, 4), Fraction(1, 4)]
    """

    order: Sequence[int]
    """Which answer stands at each place."""
    row: Callable[[], Sequence[Number]] | None = None
    """The probabilities at all places, or at all but the last, which then takes what they leave."""
    sums: Callable[[int], Number] | None = None
    """Where there are very many answers: the probability of the places 0 to i, instead of the row."""

    @property
    def size(self) -> int:
        return len(self.order)

    def probabilities(self) -> list[Number]:
        """The probability of each answer, in the answers' own order."""
        size = len(self.order)
        if size == 1:
            return [Fraction(1)]
        if self.row is not None:
            along = list(self.row())
            along += [1 - sum(along[1:], start=along[0])] if len(along) < size else []
        else:
            assert self.sums is not None
            ends = [self.sums(place) for place in range(size - 1)]
            along = [ends[0], *(after - before for before, after in pairwise(ends)), 1 - ends[-1]]
        by_answer = dict(zip(self.order, along))
        return [by_answer[answer] for answer in range(size)]

    def draw(self, source: BitSource) -> int:
        """An answer with exactly these probabilities."""
        size = len(self.order)
        return self.order[choose_by_ends(self.ends, size, source) if size > 1 else 0]

    def ends(self) -> Callable[[int], Ball]:
        """The sums of the places 0 to i, as balls at the precision of the moment: of a row all at once."""
        if self.row is not None:
            return list(accumulate(map(ball, self.row()[: len(self.order) - 1]))).__getitem__
        sums = self.sums
        assert sums is not None
        return lambda place: ball(sums(place))


def law_of(probabilities: Callable[[], Sequence[Number]], last: int, size: int) -> Law:
    """A law from its probabilities; *last* is the answer that takes what the others leave."""
    order = (*(answer for answer in range(size) if answer != last), last)

    def row() -> list[Number]:
        whole = probabilities()
        return [whole[answer] for answer in order[:-1]]

    return Law(order, row)


def certain(answer: int, size: int) -> Law:
    """The law of an answer that is the same in every neighbouring table."""
    others = [place for place in range(size) if place != answer]
    return Law((*others, answer), lambda: [Fraction(0)] * len(others))


# Everything public that decides how a question is answered: settled before any data is read, or public by declaration.


Cells = Mapping[int, int]
"""People by cell of a tally: only the occupied cells."""


class Loss(StrEnum):
    """What a wrong number costs: its distance, the square of it, or one for not being exact."""

    ABSOLUTE = "absolute"
    SQUARED = "squared"
    EXACT = "exact"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        raise QuestionError("loss", value, "is not a loss", "write 'absolute', 'squared' or 'exact'")


class Aim(StrEnum):
    """What a mechanism for people with levels of their own is good at."""

    TYPICAL = "typical"
    EVERY_TABLE = "every-table"


AnyAim = Aim | Prior
"""The least error at every table, nearly the least on average, or the least on average over a prior."""
AimLike = str | Aim | Prior | Mapping[str, Any]
"""An aim as people write it: ``"typical"``, ``"every table"``, ``{"prior": 0.5}`` or ``"prior: 0.5"``."""


def read_aim(value: AimLike) -> AnyAim:
    """Read an aim from its name or its prior."""
    if isinstance(value, (Prior, Mapping)) or str(value).partition(":")[0].strip() == WORD:
        return read_prior(value)
    try:
        return Aim(str(value).replace(" ", "-"))
    except ValueError:
        rule = "is not an aim for people with levels of their own"
        remedy = "write 'typical', 'every table', or {\"prior\": 0.5} for a small table"
        raise LevelError("aim", value, rule, remedy) from None


@dataclass(frozen=True)
class Setting:
    """A level, the neighbours, the number of people where it is public, and people's own levels where they have them."""

    level: ApproximateDP
    neighbours: Neighbours
    people: int | None = None
    """The public number of people, under substitution."""
    levels: tuple[tuple[Epsilon, int], ...] = ()
    """Each level that people have, in rising order, with how many have it; none of them above the level's epsilon."""
    aim: AnyAim = Aim.TYPICAL
    public_groups: bool = False
    """Whether the two groups of a comparison are declared public."""
    groups: int = 0
    """How many private groups are answered by one draw; 0 where each answer is drawn by itself."""
    groups_per_person: int = 1
    """In how many of these groups one person may be."""

    def __post_init__(self) -> None:
        """Drop delta where nobody's own epsilon is above 0: people who are promised epsilon = 0 are charged no delta either."""
        if self.level.delta and self.levels and self.levels[-1][0].is_zero:
            object.__setattr__(self, "level", approximate(self.level.epsilon))

    def at(self, level: ApproximateDP) -> Setting:
        return replace(self, level=level)

    @property
    def personal(self) -> bool:
        """Whether people's levels really differ from the one of the release."""
        return any(epsilon != self.level.epsilon for epsilon, _ in self.levels)


@dataclass(frozen=True, repr=False)
class Table:
    """What a mechanism sees of a table. Private: it must never be shown, logged or put into an error."""

    cells: Cells
    by_level: tuple[tuple[Epsilon, Cells], ...] = field(default=())

    @property
    def people(self) -> int:
        return sum(self.cells.values())

    def dense(self, size: int) -> tuple[int, ...]:
        return tuple(self.cells.get(cell, 0) for cell in range(size))

    def __repr__(self) -> str:
        return "Table(private)"
