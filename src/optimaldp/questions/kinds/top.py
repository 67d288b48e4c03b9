"""Which k options do most people have, in order?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from optimaldp.distances.ranking import true_ranking
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Law, Setting, Table
from optimaldp.laws.options import TopLaw, TopMode
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Ball, precision
from optimaldp.privacy.numbers import is_whole
from optimaldp.questions.accuracy import Accuracy
from optimaldp.questions.base import Spec
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.kinds.of_options import OfOptions
from optimaldp.questions.literals import check_among, check_column, check_options
from optimaldp.questions.mechanism import Answer, QuestionMechanism, all_different
from optimaldp.questions.sheets import AMONG, COLUMN, OPTIONS, Blank, Sheet
from optimaldp.questions.words import asked_of, column_words
from optimaldp.sampling import BitSource
from optimaldp.tables.tally import Option


@dataclass(frozen=True, repr=False)
class Top(OfOptions[list[str]]):
    """Which *size* options do most people have, the leader first? A tie goes to the option that was named first."""

    size: int = 1

    def truth(self, counts: tuple[int, ...]) -> int:
        """The place of the true list when all lists are written in the order of the options."""
        remaining, place = list(range(len(counts) - 1)), 0
        for drawn, option in enumerate(true_ranking(counts[:-1], self.size)):
            place += remaining.index(option) * math.perm(len(remaining) - 1, self.size - drawn - 1)
            remaining.remove(option)
        return place

    def flips(self, counts: tuple[int, ...], neighbours: Neighbours) -> Moves:
        """The cheapest change of places: between two neighbours on the list, or of the last with the best of the others."""
        votes = counts[:-1]
        order = true_ranking(votes, len(votes))
        pairs = list(pairwise(order[: self.size + 1]))
        if not pairs or (neighbours is Neighbours.SUBSTITUTION and sum(counts) == 0):
            return math.inf
        leads = [(votes[first] - votes[second], first < second) for first, second in pairs]
        if neighbours is Neighbours.ADD_REMOVE:
            return min(lead + before for lead, before in leads)
        return min(lead // 2 + 1 if before else (lead + 1) // 2 for lead, before in leads)

    def law(self, setting: Setting) -> TopLaw:
        return TopLaw(len(self.known_options()), self.size, setting.level.epsilon, setting.neighbours)

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if setting.personal:
            raise QuestionError("levels", str(self), "cannot honour personal levels", "ask for the winner instead")
        return Leading(self, setting, self.law(setting))

    def published_mechanism(self, setting: Setting, document: Mapping[str, Any]) -> QuestionMechanism:
        made = self.mechanism(setting)
        assert isinstance(made, Leading)
        version = document.get("law", 1)
        if version == 1 and not isinstance(version, bool) and made.chosen.mode is TopMode.SHORTFALL:
            return replace(made, chosen=replace(made.chosen, forced=TopMode.PEELING))
        return made

    def accuracy(self, setting: Setting) -> Accuracy:
        return _accuracy(self.law(setting))

    def spec(self) -> Spec:
        options = len(self.known_options())
        return {"kind": "top", "options": options, "size": self.size, "among": self.among is not None}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (
            "a tie goes to the option named first",
            "people without one of these options vote for nobody and are protected like everybody else",
        )

    def words(self) -> str:
        which = "value is" if self.size == 1 else f"{self.size} values are"
        asked = f"which {which} the most frequent in {column_words(self.column)}, the leader first{self._values()}?"
        return asked_of(self.among, asked)

    def __str__(self) -> str:
        return self._text("top", str(self.size))


def _accuracy(law: TopLaw) -> Accuracy:
    def error(margin: int) -> Ball:
        with precision(128):
            return law.most_wrong(margin)

    return Accuracy(error, tuple, ("an upper bound: at every table with this margin the error is at most this",))


@dataclass(frozen=True)
class Leading(QuestionMechanism):
    """Permute-and-flip on all lists by their signed distance, or by their signed shortfall where there are very many."""

    chosen: TopLaw

    name = "leading options"
    uses_delta = False
    listed = False

    def law(self, table: Table) -> Law:
        raise QuestionError("question", str(self.question), "has too many answers to list", "draw one")

    def draw(self, table: Table, source: BitSource) -> Answer:
        counts = self.question.fold(table.cells)[:-1]
        return [self.answers[option] for option in self.chosen.draw(counts, source)]

    def possible(self, answer: object) -> bool:
        listed = isinstance(answer, (list, tuple)) and all_different(answer, (str,)) and set(answer) <= {*self.answers}
        return listed and len(answer) == self.question.spec()["size"]  # type: ignore[arg-type]

    def reliability(self) -> str:
        return _accuracy(self.chosen).sentence()

    @property
    def proof(self) -> str:
        return self.chosen.proof

    def parameters(self) -> dict[str, Any]:
        """Version 1 of the law drew one leader after the other where there are very many lists."""
        return {"law": 2} if self.chosen.mode is TopMode.SHORTFALL else {}


def top(column: str, size: int, options: Iterable[Option] | None = None, *, among: str | None = None) -> Top:
    """Which *size* of the public *options* do most people have in *column*, the leader first?

    *among*: ask only people with this condition.

    >>> str(top("vote", 2, ["Clinton", "Dole", "Perot"]))
    "top(vote, 2, ['Clinton', 'Dole', 'Perot'])"
    """
    known = check_options(options)
    if not is_whole(size, 1) or (known is not None and size > len(known)):
        raise QuestionError(
            "k", size, "is not a number of leaders", "write a whole number, at most that of the options"
        )
    return Top(check_column(column), known, check_among(among), size)


def _read(call: Call) -> Any:
    call.only(arguments=range(2, 4))
    if not call.arguments[1].isdigit():
        raise call.error("does not say how many leaders are wanted")
    return top(call.column(), int(call.arguments[1]), call.options(2), among=call.among)


FORMS = [Form("top", "top(vote, 3, ['a', 'b', 'c', 'd'])", _read)]

SHEETS = [
    Sheet(
        "top",
        "Which options are the most frequent?",
        "top({column}, {size}, {options}{among})",
        (COLUMN, Blank("size", "number", "How many of them", sample="2", start="3"), OPTIONS, AMONG),
        order=32,
    )
]
