"""Questions about the public options of a column: which of two leads, which wins, and the whole histogram."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours
from optimaldp.questions.base import Question
from optimaldp.questions.conditions import Moves
from optimaldp.questions.literals import answer_text, check_column, check_options, write_column, write_option
from optimaldp.tables.tally import Option, Options, Tally

EVERYONE_ELSE = "(everyone else)"
_LEFT_OUT = "persons without one of these options are left out"


@dataclass(frozen=True, repr=False)
class Compare(Question):
    """Which of two options do more persons have? A tie goes to the second.

    >>> compare("vote", "Clinton", "Dole").flips((5, 2, 9), Neighbours.SUBSTITUTION)
    2
    """

    column: str
    first: Option
    second: Option
    leaves_out_allowed = True

    @property
    def tally(self) -> Tally:
        return Tally((Options(self.column, (self.first, self.second)),))

    @property
    def answers(self) -> tuple[str, ...]:
        return answer_text(self.first), answer_text(self.second)

    def size(self) -> int:
        return 3

    def truth(self, counts: Sequence[int]) -> int:
        first, second, _ = self.cells(counts)
        return 0 if first > second else 1

    def flips(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        first, second, others = self.cells(counts)
        lead = first - second
        if neighbours is Neighbours.ADD_REMOVE:
            return lead if lead > 0 else 1 - lead
        if first + second + others == 0:
            return math.inf
        return (lead + 1) // 2 if lead > 0 else -lead // 2 + 1

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (
            f"a tie goes to {answer_text(self.second)}",
            "persons with another value or none count for neither and are protected",
        )

    def __str__(self) -> str:
        return f"compare({write_column(self.column)}, {write_option(self.first)}, {write_option(self.second)})"


@dataclass(frozen=True, repr=False)
class _OfOptions(Question):
    column: str
    options: tuple[Option, ...] | None
    leaves_out_allowed = True

    @property
    def tally(self) -> Tally:
        return Tally((Options(self.column, self.options),))

    def size(self) -> int:
        return len(self.known_options()) + 1

    def with_options(self, options: tuple[Option, ...]) -> Question:
        return replace(self, options=check_options(options))

    def known_options(self) -> tuple[Option, ...]:
        if self.options is None:
            raise QuestionError("options", None, f"is needed by {self}", "write the options out: they are public")
        return self.options

    def _text(self, word: str) -> str:
        column = write_column(self.column)
        if self.options is None:
            return f"{word}({column})"
        return f"{word}({column}, [{', '.join(map(write_option, self.options))}])"


@dataclass(frozen=True, repr=False)
class Winner(_OfOptions):
    """Which option do most persons have? A tie goes to the option that was named first."""

    @property
    def answers(self) -> tuple[str, ...] | None:
        return None if self.options is None else tuple(map(answer_text, self.options))

    def truth(self, counts: Sequence[int]) -> int:
        votes = self.cells(counts)[:-1]
        return votes.index(max(votes))

    def flips(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        votes = self.cells(counts)[:-1]
        winner = votes.index(max(votes))
        if neighbours is Neighbours.SUBSTITUTION and sum(votes) == 0:
            return math.inf
        leads = [(votes[winner] - votes[j], winner < j) for j in range(len(votes)) if j != winner]
        if neighbours is Neighbours.ADD_REMOVE:
            return min((lead + before for lead, before in leads), default=math.inf)
        return min((lead // 2 + 1 if before else (lead + 1) // 2 for lead, before in leads), default=math.inf)

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        tie = "a tie goes to the option named first"
        if neighbours is Neighbours.ADD_REMOVE:
            return tie, f"{_LEFT_OUT} and are protected: adding or removing one changes nothing"
        return tie, f"{_LEFT_OUT}; that they are left out is treated as public"

    def __str__(self) -> str:
        return self._text("winner")


@dataclass(frozen=True, repr=False)
class Histogram(_OfOptions):
    """How many persons have each option: the whole histogram, with everybody else as one more protected bin."""

    @property
    def answers(self) -> tuple[str, ...] | None:
        return None if self.options is None else (*map(answer_text, self.options), EVERYONE_ELSE)

    def truth(self, counts: Sequence[int]) -> int:
        raise QuestionError("question", str(self), "has no single true answer")

    def flips(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        raise QuestionError("question", str(self), "has no flips", "a histogram changes with every person")

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (
            f"persons without one of these options are counted in the last bin, {EVERYONE_ELSE}, and are protected",
        )

    def __str__(self) -> str:
        return self._text("histogram")


def compare(column: str, first: Option, second: Option) -> Compare:
    """Do more persons have *first* in *column* than *second*? A tie goes to *second*."""
    check_options((first, second))
    return Compare(check_column(column), first, second)


def winner(column: str, options: Iterable[Option] | None = None) -> Winner:
    """Which of the public *options* do most persons have in *column*?

    Leave the options out only where the column's type lists them (boolean, enum): they are never taken from the data.
    """
    return Winner(check_column(column), check_options(options))


def histogram(column: str, options: Iterable[Option] | None = None) -> Histogram:
    """How many persons have each of the public *options* in *column*?"""
    checked = check_options(options)
    if checked is not None and EVERYONE_ELSE in checked:
        raise QuestionError("option", EVERYONE_ELSE, "is the name of the last bin", "rename the option")
    return Histogram(check_column(column), checked)
