"""Which of two options do more people have?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Aim, Cells, Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours
from optimaldp.questions.accuracy import Accuracy, Rival, at_distance, noise_on_lead
from optimaldp.questions.base import Question, Spec, among_text, counts_for, outside_last
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.literals import (
    answer_text,
    check_among,
    check_column,
    check_options,
    read_option,
    write_column,
    write_option,
)
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism
from optimaldp.questions.personal import Balanced, WeightedVotes
from optimaldp.questions.sheets import AMONG, COLUMN, Blank, Sheet
from optimaldp.questions.words import asked_of, column_words
from optimaldp.tables.tally import Option, Options

ThreeCounts = tuple[int, int, int]
"""(first, second, everybody else)."""


@dataclass(frozen=True, repr=False)
class Compare(Question[str]):
    """Which of two options do more people have? A tie goes to the second.

    >>> compare("vote", "Clinton", "Dole").flips((5, 2, 9), Neighbours.SUBSTITUTION)
    2
    """

    column: str
    first: Option
    second: Option
    among: str | None = None

    @property
    def readings(self) -> tuple[Options, ...]:
        return (Options(self.column, (self.first, self.second)),)

    @property
    def answers(self) -> tuple[str, ...]:
        return answer_text(self.first), answer_text(self.second)

    def fold(self, cells: Cells) -> ThreeCounts:
        own = outside_last(cells, 3, self.among)
        return own.get(0, 0), own.get(1, 0), own.get(2, 0)

    def read_counts(self, counts: Sequence[int]) -> ThreeCounts:
        first, second, others = counts_for(self, counts, wanted=3, least=2)
        return first, second, others

    def truth(self, counts: ThreeCounts) -> int:
        return 0 if counts[0] > counts[1] else 1

    def flips(self, counts: ThreeCounts, neighbours: Neighbours) -> Moves:
        lead = counts[0] - counts[1]
        if neighbours is Neighbours.ADD_REMOVE:
            return lead if lead > 0 else 1 - lead
        if sum(counts) == 0:
            return math.inf
        # A replaced person of the leader's moves the lead by two; in a tie without voters somebody else comes, by one.
        return (lead + 1) // 2 if lead > 0 else -lead // 2 + 1

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if not setting.personal:
            return AtDistance(self, setting)
        return (WeightedVotes if setting.aim is Aim.TYPICAL else Balanced)(self, setting)

    def opposite_places(self) -> tuple[int, int, str]:
        return 0, 1, "everybody has one of the two options"

    def accuracy(self, setting: Setting) -> Accuracy:
        return at_distance(self, setting)

    def noise_rival(self, setting: Setting) -> Rival:
        return noise_on_lead(float(setting.level.epsilon), setting.neighbours)

    def spec(self) -> Spec:
        return {"kind": "compare", "among": self.among is not None}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (
            f"a tie goes to {answer_text(self.second)}",
            "people with another value or none count for neither and are protected",
        )

    def words(self) -> str:
        two = f"{answer_text(self.first)} or {answer_text(self.second)}"
        return asked_of(self.among, f"which value of {column_words(self.column)} is more frequent, {two}?")

    def __str__(self) -> str:
        options = f"{write_option(self.first)}, {write_option(self.second)}"
        return f"compare({write_column(self.column)}, {options}{among_text(self.among)})"


def compare(
    column: str, first: Option | None = None, second: Option | None = None, *, among: str | None = None
) -> Compare:
    """Do more people have *first* in *column* than *second*? A tie goes to *second*.

    *among*: ask only people with this condition.

    >>> str(compare("vote", "Clinton", "Dole"))
    "compare(vote, 'Clinton', 'Dole')"
    """
    if first is None or second is None:
        rule, remedy = "is not compared in two of its values", "name both: compare('vote', 'a', 'b')"
        raise QuestionError("compare", column, rule, remedy)
    check_options((first, second))
    return Compare(check_column(column), first, second, check_among(among))


def _read(call: Call) -> Compare:
    call.only(arguments=range(3, 4))
    return compare(call.column(), read_option(call.arguments[1]), read_option(call.arguments[2]), among=call.among)


FORMS = [Form("compare", "compare(vote, 'a', 'b')", _read)]

SHEETS = [
    Sheet(
        "compare",
        "Which of two options leads?",
        "compare({column}, {first}, {second}{among})",
        (
            COLUMN,
            Blank("first", "option", "First option", sample="'a'"),
            Blank("second", "option", "Second option", "a tie is its", sample="'b'"),
            AMONG,
        ),
        order=31,
    )
]
