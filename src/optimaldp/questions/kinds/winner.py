"""Which of several options do most people have?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from optimaldp.laws.law import Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours
from optimaldp.questions.accuracy import Accuracy
from optimaldp.questions.base import Spec
from optimaldp.questions.electing import Electing, WeightedElecting, of_winner
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.kinds.of_options import OfOptions
from optimaldp.questions.literals import check_among, check_column, check_options
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.sheets import AMONG, COLUMN, OPTIONS, Sheet
from optimaldp.questions.words import asked_of, column_words
from optimaldp.tables.tally import Option


@dataclass(frozen=True, repr=False)
class Winner(OfOptions[str]):
    """Which option do most people have? A tie goes to the option that was named first."""

    def truth(self, counts: tuple[int, ...]) -> int:
        votes = counts[:-1]
        return votes.index(max(votes))

    def flips(self, counts: tuple[int, ...], neighbours: Neighbours) -> Moves:
        votes = counts[:-1]
        winner = votes.index(max(votes))
        if len(votes) == 1 or (neighbours is Neighbours.SUBSTITUTION and sum(counts) == 0):
            return math.inf
        leads = [(votes[winner] - votes[j], winner < j) for j in range(len(votes)) if j != winner]
        if neighbours is Neighbours.ADD_REMOVE:
            return min(lead + before for lead, before in leads)
        # With no votes at all somebody from outside changes the tie that the first option wins: one move, as the formula says.
        return min(lead // 2 + 1 if before else (lead + 1) // 2 for lead, before in leads)

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        return (WeightedElecting if setting.personal else Electing)(self, setting)

    aims_agree = True

    def opposite_places(self) -> tuple[int, int, str] | None:
        return (0, 1, "two options lead, nobody else has a vote") if len(self.known_options()) > 1 else None

    def accuracy(self, setting: Setting) -> Accuracy:
        return of_winner(self, setting)

    def spec(self) -> Spec:
        return {"kind": "winner", "options": len(self.known_options()), "among": self.among is not None}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (
            "a tie goes to the option named first",
            "people without one of these options vote for nobody and are protected like everybody else",
        )

    def words(self) -> str:
        return asked_of(self.among, f"which value of {column_words(self.column)} is the most frequent{self._values()}?")

    def __str__(self) -> str:
        return self._text("winner")


def winner(column: str, options: Iterable[Option] | None = None, *, among: str | None = None) -> Winner:
    """Which of the public *options* do most people have in *column*?

    Leave the options out only where the column's type lists them (boolean, enum): they are never taken from the data.
    *among*: ask only people with this condition.

    >>> str(winner("vote", ["Clinton", "Dole"]))
    "winner(vote, ['Clinton', 'Dole'])"
    """
    return Winner(check_column(column), check_options(options), check_among(among))


def _read(call: Call) -> Any:
    call.only(arguments=range(1, 3))
    return winner(call.column(), call.options(1), among=call.among)


FORMS = [Form("winner", "winner(vote, ['a', 'b', 'c'])", _read)]

SHEETS = [
    Sheet(
        "winner",
        "Which of several options wins?",
        "winner({column}, {options}{among})",
        (COLUMN, OPTIONS, AMONG),
        order=30,
    )
]
