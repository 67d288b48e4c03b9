"""Up to three thresholds at once: "yes" if all of them hold, or if any does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from optimaldp.distances.several import (
    Clause,
    all_hold,
    any_holds,
    chain_flips_of_all,
    chain_flips_of_any,
    flips_of_all,
    flips_of_any,
)
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Cells, Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours
from optimaldp.questions.accuracy import Accuracy, at_distance
from optimaldp.questions.base import NULL_NOTE, YES_NO, Question, Spec, counts_for
from optimaldp.questions.forms import Form
from optimaldp.questions.kinds.threshold import Threshold
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism
from optimaldp.questions.sheets import AMONG, CONDITION, RELATION, Blank, Sheet
from optimaldp.questions.words import inside
from optimaldp.tables.tally import Condition

MOST_JOINED = 3


@dataclass(frozen=True, repr=False)
class Several(Question[str]):
    """Two or three thresholds joined by one word, ``and`` or ``or``."""

    word: str
    thresholds: tuple[Threshold, ...]

    @cached_property
    def _conditions(self) -> tuple[str, ...]:
        """The different conditions that are read of each person, in their order."""
        texts = [text for one in self.thresholds for text in (one.readings[0].text, one.among) if text is not None]
        return tuple(dict.fromkeys(texts))

    @property
    def readings(self) -> tuple[Condition, ...]:
        return tuple(map(Condition, self._conditions))

    answers = YES_NO

    @cached_property
    def _parts(self) -> tuple[Clause, ...]:
        return tuple(Clause(one.condition, one.among is not None) for one in self.thresholds)

    def fold(self, cells: Cells) -> tuple[int, ...]:
        """People by the combination of what each threshold sees of them: yes, no, or outside."""
        folded = [0] * math.prod(self._kinds)
        for cell, people in cells.items():
            folded[self._combinations[cell]] += people
        return tuple(folded)

    @cached_property
    def _kinds(self) -> tuple[int, ...]:
        return tuple(2 if one.among is None else 3 for one in self.thresholds)

    @cached_property
    def _combinations(self) -> tuple[int, ...]:
        """The combination of each cell of the tally."""
        return tuple(map(self._combination, range(1 << len(self._conditions))))

    def _combination(self, cell: int) -> int:
        last = len(self._conditions) - 1
        holds = {text: (cell >> (last - place)) & 1 == 0 for place, text in enumerate(self._conditions)}
        number = 0
        for one, kinds in zip(self.thresholds, self._kinds):
            outside = one.among is not None and not holds[one.among]
            number = number * kinds + (2 if outside else 0 if holds[one.readings[0].text] else 1)
        return number

    def read_counts(self, counts: Sequence[int]) -> tuple[int, ...]:
        return counts_for(self, counts, wanted=math.prod(self._kinds))

    def truth(self, counts: tuple[int, ...]) -> int:
        return 0 if (all_hold if self.word == "and" else any_holds)(self._parts, counts) else 1

    def flips(self, counts: tuple[int, ...], neighbours: Neighbours) -> Moves:
        return (flips_of_all if self.word == "and" else flips_of_any)(self._parts, counts, neighbours)

    def distance(self, counts: tuple[int, ...], neighbours: Neighbours) -> Moves:
        """People may be moved in part: quick at any size, never above the flips, and one move changes it by at most one."""
        return (chain_flips_of_all if self.word == "and" else chain_flips_of_any)(self._parts, counts, neighbours)

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if setting.personal:
            remedy = "ask the thresholds one by one"
            raise QuestionError("levels", str(self), "joins thresholds, which cannot honour personal levels", remedy)
        return AtDistance(self, setting)

    def accuracy(self, setting: Setting) -> Accuracy:
        return at_distance(self, setting)

    def spec(self) -> Spec:
        return {
            "kind": "several",
            "word": self.word,
            "thresholds": [
                one.spec()
                | {
                    "reads": self._conditions.index(one.readings[0].text),
                    "asks": None if one.among is None else self._conditions.index(one.among),
                }
                for one in self.thresholds
            ],
        }

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return NULL_NOTE, "every combination of the conditions is treated as possible, which can only protect more"

    def __bool__(self) -> bool:
        return bool(self.thresholds[0])

    def words(self) -> str:
        first, *others = (one.words() for one in self.thresholds)
        return f"{first.removesuffix('?')}{''.join(f', {self.word} {inside(one)}' for one in others)}?"

    def __str__(self) -> str:
        return f" {self.word} ".join(map(str, self.thresholds))


def joined_by(word: str, questions: Sequence[Question]) -> Several:
    """The thresholds of *questions* joined by one word; what is joined already is taken apart."""
    parts: list[Threshold] = []
    for question in questions:
        if isinstance(question, Several) and question.word != word:
            raise QuestionError("question", str(question), "mixes and with or", "join thresholds by one of them only")
        parts.extend(question.thresholds if isinstance(question, Several) else [_threshold(question)])
    if len(parts) > MOST_JOINED:
        remedy = "ask the others by themselves"
        raise QuestionError("question", " ".join(map(str, parts)), f"joins more than {MOST_JOINED} thresholds", remedy)
    return Several(word, tuple(parts))


def _threshold(question: Question) -> Threshold:
    if not isinstance(question, Threshold):
        remedy = "only counts, shares and majorities can be joined"
        raise QuestionError("question", str(question), "cannot be joined with another question", remedy)
    return question


FORMS: list[Form] = []

SHEETS = [
    Sheet(
        "several",
        "Do several of these hold, or one of them?",
        "{quantity}({condition}{among}) {relation} {bound}",
        (
            Blank(
                "quantity",
                "choice",
                "What is counted",
                sample="share",
                start="share",
                choices=(("share", "share of people"), ("count", "number of people")),
            ),
            CONDITION,
            RELATION,
            Blank("bound", "number", "Bound", "0.3 is 30 %", sample="0.3"),
            AMONG,
        ),
        order=25,
        joined=("and", "or"),
        most=MOST_JOINED,
    )
]
