"""Yes/no questions about how many people satisfy a condition: count, share, majority, any, all."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from optimaldp.distances.linear import LinearCondition, count_condition, share_condition
from optimaldp.errors import QuestionError
from optimaldp.laws.crossing import Family, mean_family
from optimaldp.laws.law import Aim, Cells, Setting
from optimaldp.laws.prior import Prior
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours, read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.accuracy import Accuracy, Rival, at_distance, noise_on_count, noise_on_excess
from optimaldp.questions.base import NULL_NOTE, YES_NO, Question, Spec, among_text, counts_for
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.literals import check_among, check_predicate
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism
from optimaldp.questions.numbers import (
    PLAIN,
    Crossed,
    Linear,
    NumberOptions,
    Quantity,
    Shifted,
    Summed,
    chosen_gap,
    split_options,
)
from optimaldp.questions.sheets import AMONG, CONDITION, RELATION, Blank, Sheet
from optimaldp.questions.words import AT_LEAST, asked_of, people_who, percent
from optimaldp.results import Given
from optimaldp.tables.tally import EVERY_RECORD, Condition

ThreeCounts = tuple[int, int, int]
"""(yes, no, outside)."""

UNNAMED = "a condition"
"""Stands for any condition where counts alone matter."""


@dataclass(frozen=True, repr=False)
class Threshold(Question[str]):
    """``count(predicate) >= bound`` and its relatives: answer "yes" or "no".

    >>> question = share("smokes = 'yes'") >= 0.3
    >>> str(question), question.flips((30, 70, 0), Neighbours.SUBSTITUTION)
    ("share(smokes = 'yes') >= 0.3", 1)
    """

    quantity: str
    predicate: str
    comparison: str
    bound: Fraction
    among: str | None = None
    name: str = ""
    """``majority``, ``any`` or ``all`` when it was asked in that word."""

    answers = YES_NO

    @property
    def readings(self) -> tuple[Condition, ...]:
        return (Condition(self.predicate),)

    @cached_property  # a release and its referee ask for it again and again
    def condition(self) -> LinearCondition:
        make = count_condition if self.quantity == "count" else share_condition
        return make(self.comparison, self.bound)

    @property
    def where_is_among(self) -> bool:  # type: ignore[override]
        return self.quantity == "share"

    @property
    def needs_a_filter(self) -> bool:  # type: ignore[override]
        return self.predicate == EVERY_RECORD and self.among is None

    @property
    def takes_prior(self) -> bool:  # type: ignore[override]
        return self.among is None

    def fold(self, cells: Cells) -> ThreeCounts:
        return _folded(cells, self.among)

    def read_counts(self, counts: Sequence[int]) -> ThreeCounts:
        yes, no, outside = counts_for(self, counts, wanted=3, least=2 if self.among is None else 3)
        return yes, no, outside

    def truth(self, counts: ThreeCounts) -> int:
        yes, no, _ = counts
        return 0 if self.condition.holds(yes, no) else 1

    def flips(self, counts: ThreeCounts, neighbours: Neighbours) -> Moves:
        return self.condition.flips(*counts, neighbours)

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if not setting.personal and not (isinstance(setting.aim, Prior) and setting.levels):
            return AtDistance(self, setting)
        from optimaldp.questions import personal

        return personal.threshold_votes(self, setting, among=self.among is not None)

    def published_mechanism(self, setting: Setting, document: Mapping[str, Any]) -> QuestionMechanism:
        from optimaldp.questions import personal

        if isinstance(setting.aim, Prior) and document.get("name") == personal.PriorVotes.name and self.takes_prior:
            return personal.PriorVotes.published(self, setting, document)
        if setting.personal and self.among is None and isinstance(setting.aim, Aim):
            return personal.published_about_everybody(self, setting, document)
        return self.mechanism(setting)

    def opposite_places(self) -> tuple[int, int, str]:
        return 0, 1, ""

    def accuracy(self, setting: Setting) -> Accuracy:
        return at_distance(self, setting)

    def noise_rival(self, setting: Setting) -> Rival:
        epsilon = float(setting.level.epsilon)
        if self.quantity == "share" and setting.neighbours is Neighbours.ADD_REMOVE:
            return noise_on_excess(epsilon, self.bound)
        return noise_on_count(epsilon)

    def spec(self) -> Spec:
        return {
            "kind": self.quantity,
            "comparison": self.comparison,
            "bound": self.bound,
            "among": self.among is not None,
        }

    @property
    def unnamed(self) -> Threshold:
        return replace(self, predicate=UNNAMED, among=None if self.among is None else UNNAMED, name="")

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return _notes(self.among)

    def __bool__(self) -> bool:
        remedy = "combine questions with & and |, not with 'and' and 'or'"
        raise QuestionError("question", str(self), "has no answer before it is released", remedy)

    def words(self) -> str:
        than = AT_LEAST[self.comparison]
        if self.quantity == "share":
            bound = f"{'equal to' if self.name == 'all' else than} {percent(self.bound)}"
            return asked_of(self.among, f"is the share of {_those(self.predicate, self.among)} {bound}?")
        if self.name == "any":
            return asked_of(self.among, f"are there any {_those(self.predicate, None)}?")
        bound = f"{'fewer than' if self.comparison == '<' else than} {fraction_text(self.bound)}"
        return asked_of(self.among, f"are there {bound} {_those(self.predicate, None)}?")

    def __str__(self) -> str:
        inside = f"{self.predicate}{among_text(self.among)}"
        if self.name:
            return f"{self.name}({inside})"
        return f"{self.quantity}({inside}) {self.comparison} {fraction_text(self.bound)}"


def _folded(cells: Cells, among: str | None) -> ThreeCounts:
    if among is None:
        return cells.get(0, 0), cells.get(1, 0), 0
    return cells.get(0, 0), cells.get(2, 0), cells.get(1, 0) + cells.get(3, 0)


def _those(predicate: str, among: str | None) -> str:
    """Whom a sentence is about: people, or those of them who were named before."""
    noun = "people" if among is None else "those"
    return noun if predicate == EVERY_RECORD else people_who(predicate, noun)


def _notes(among: str | None) -> tuple[str, ...]:
    if among is None:
        return (NULL_NOTE,)
    return NULL_NOTE, "who is among those asked is private: everybody is protected, inside or outside"


@dataclass(frozen=True, repr=False)
class PeopleWho(Summed[Given], Crossed[Given]):
    """``count(predicate)`` or ``share(predicate)``: how many people, or which part of them. A question, or to be compared.

    >>> str(count("smokes = 'yes'")), str(share("smokes = 'yes'", among="age >= 18", interval=True))
    ("count(smokes = 'yes')", "share(smokes = 'yes', interval=true among age >= 18)")
    """

    quantity: str
    predicate: str
    among: str | None = None
    said: NumberOptions = PLAIN

    @property
    def readings(self) -> tuple[Condition, ...]:
        return (Condition(self.predicate),)

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return self.quantity == "count"

    @property
    def where_is_among(self) -> bool:  # type: ignore[override]
        return self.quantity == "share"

    @property
    def needs_a_filter(self) -> bool:  # type: ignore[override]
        return self.predicate == EVERY_RECORD and self.among is None

    @property
    def unit_words(self) -> str:  # type: ignore[override]
        return "people" if self.whole else ""

    @property
    def in_percent(self) -> tuple[str, str] | None:  # type: ignore[override]
        return None if self.whole else (" %", " points")

    @property
    def counts_people(self) -> bool:  # type: ignore[override]
        return self.whole or self.among is None

    def fold(self, cells: Cells) -> ThreeCounts:
        return _folded(cells, self.among)

    def read_counts(self, counts: Sequence[int]) -> ThreeCounts:
        yes, no, outside = counts_for(self, counts, wanted=3, least=2 if self.among is None else 3)
        return yes, no, outside

    def total(self, counts: ThreeCounts) -> int:
        return counts[0]

    def linear(self, setting: Setting, sizes: tuple[int, ...] = ()) -> Linear | None:
        people, zero = setting.people, Fraction(0)
        if self.whole:
            return Linear(1, low=zero, high=None if people is None else Fraction(people))
        if self.among is not None or not people:  # the number of people who are asked is private
            return None
        return Linear(1, Fraction(1, people), low=zero, high=Fraction(1))

    def family(self, setting: Setting) -> Family:
        low, high = self.value_range
        gap = chosen_gap(low, high, self.said, setting)
        return mean_family(low, high, gap, replaced=setting.neighbours is Neighbours.SUBSTITUTION)

    def sums(self, counts: ThreeCounts) -> tuple[Fraction, Fraction]:
        return Fraction(counts[0] + counts[1]), Fraction(counts[0])

    def compared(self, comparison: str, bound: object) -> Question[str]:
        if isinstance(bound, (Quantity, Shifted)):
            from optimaldp.questions.kinds.two_groups import two_groups

            return two_groups(self, comparison, bound)
        number = read_number(bound, name=f"bound of {self.quantity}", error=QuestionError)
        if self.quantity == "share" and not 0 <= number <= 1:
            remedy = "a share lies between 0 and 1: write 0.3 for 30 percent"
            raise QuestionError("share", bound, "is not a share", remedy)
        return Threshold(self.quantity, self.predicate, comparison, number, self.among)

    def spec(self) -> Spec:
        return {"kind": "number", "of": self.quantity, "among": self.among is not None}

    @property
    def unnamed(self) -> PeopleWho[Given]:
        return replace(self, predicate=UNNAMED, among=None if self.among is None else UNNAMED)

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return _notes(self.among)[1 if self.predicate == EVERY_RECORD else 0 :]

    def words(self) -> str:
        if self.whole:
            inside = "" if self.predicate == EVERY_RECORD else people_who(self.predicate, "")
            plain = inside.startswith(" who ") and inside.count(" who") == 1  # one verb needs no "are there who"
            asked = f"people{inside.removeprefix(' who')}" if plain else f"people are there{inside}"
            return asked_of(self.among, f"how many {asked}?")
        return asked_of(self.among, f"what is the share of {_those(self.predicate, self.among)}?")

    def __str__(self) -> str:
        return f"{self.quantity}({', '.join([self.predicate, *self.said.texts()])}{among_text(self.among)})"


def count(
    predicate: str,
    *,
    among: str | None = None,
    prior: object = None,
    loss: str | None = None,
    output: str | None = None,
    confidence: object = None,
    largest_error: bool | None = None,
) -> PeopleWho[int]:
    """How many people satisfy *predicate*? Ask for the number, or compare it: ``count("age > 3") >= 100``; ``"*"`` is everybody.

    *prior*: a public belief (``"uniform"``, ``"binomial(0.3)"``, a weight for each count), with which the answer has the least
    expected *loss* (``"absolute"``, ``"squared"``, ``"exact"``). *output*: ``"in range"`` or ``"unbiased"`` (for further
    arithmetic). *confidence*: how often the interval holds the truth, 0.95 if not given. *largest_error*: spend delta so that
    the answer is never off by more than a known number. *among*: count only people with this condition.

    >>> str(count("age >= 65", among="sex = 'f'") >= 100)
    "count(age >= 65 among sex = 'f') >= 100"
    """
    checked = (
        EVERY_RECORD if isinstance(predicate, str) and predicate.strip() == EVERY_RECORD else check_predicate(predicate)
    )
    options = NumberOptions.read(
        prior=prior, loss=loss, output=output, confidence=confidence, largest_error=largest_error
    )
    return PeopleWho("count", checked, check_among(among), options)


def share(
    predicate: str,
    *,
    among: str | None = None,
    grid: object = None,
    interval: bool | None = None,
    prior: object = None,
    loss: str | None = None,
    output: str | None = None,
    confidence: object = None,
    largest_error: bool | None = None,
) -> PeopleWho[float]:
    """Which share of people satisfies *predicate*? Ask for the number, or compare it: ``share("smokes = 'yes'") >= 0.3``.

    *among*: only people with this condition are asked; who they are is private, and *grid* is then the public step of answers.
    *interval*: spend a tenth of epsilon on an interval, where the number of people asked is private. *prior*, *loss*,
    *output*, *confidence* and *largest_error* as in :func:`count`.

    >>> str(share("smokes = 'yes'") >= 0.3)
    "share(smokes = 'yes') >= 0.3"
    """
    options = NumberOptions.read(
        grid=grid,
        interval=interval,
        prior=prior,
        loss=loss,
        output=output,
        confidence=confidence,
        largest_error=largest_error,
    )
    return PeopleWho("share", check_predicate(predicate), check_among(among), options)


def majority(predicate: str, *, among: str | None = None) -> Threshold:
    """Do more people satisfy *predicate* than not? A tie is "no". *among*: ask only people with this condition.

    >>> str(majority("smokes = 'yes'"))
    "majority(smokes = 'yes')"
    """
    return Threshold("share", check_predicate(predicate), ">", Fraction(1, 2), check_among(among), "majority")


def any_(predicate: str, *, among: str | None = None) -> Threshold:
    """Does anybody satisfy *predicate*? *among*: ask only people with this condition.

    >>> str(any_("age > 110"))
    'any(age > 110)'
    """
    return Threshold("count", check_predicate(predicate), ">=", Fraction(1), check_among(among), "any")


def all_(predicate: str, *, among: str | None = None) -> Threshold:
    """Does everybody satisfy *predicate*? A table without people says "yes". *among*: ask only people with this condition.

    >>> str(all_("age >= 18"))
    'all(age >= 18)'
    """
    return Threshold("share", check_predicate(predicate), ">=", Fraction(1), check_among(among), "all")


def _form(word: str, example: str, make: Any) -> Form:
    def read(call: Call) -> Any:
        return make(call.inside, among=call.among)

    return Form(word, example, read, condition=True)


def _number_form(word: str, example: str, make: Any) -> Form:
    def read(call: Call) -> Any:
        condition, said = split_options(call)
        replace(call, named=said).only(arguments=range(1), named=tuple(inspect.signature(make).parameters))
        return make(condition, among=call.among, **said)

    return Form(word, example, read, condition=True)


FORMS = [
    _number_form("count", "count(age >= 65) >= 100", count),
    _number_form("share", "share(smokes = 'yes' among age >= 18) >= 0.3", share),
    _form("majority", "majority(smokes = 'yes')", majority),
    _form("any", "any(age > 110)", any_),
    _form("all", "all(age >= 18)", all_),
]

_PEOPLE = Blank("bound", "number", "People", sample="100", start="100")
SHEETS = [
    Sheet("how-many", "How many people …?", "count({condition}{among})", (CONDITION, AMONG), order=1),
    Sheet("which-share", "What share of people …?", "share({condition}{among})", (CONDITION, AMONG), order=2),
    Sheet(
        "share",
        "Do at least … % of people …?",
        "share({condition}{among}) {relation} {bound}",
        (CONDITION, RELATION, Blank("bound", "percent", "Percent", sample="0.3", start="30"), AMONG),
        order=20,
    ),
    Sheet("majority", "Do most people …?", "majority({condition}{among})", (CONDITION, AMONG), order=21),
    Sheet(
        "count",
        "Do at least … people …?",
        "count({condition}{among}) {relation} {bound}",
        (CONDITION, RELATION, _PEOPLE, AMONG),
        order=22,
    ),
    Sheet(
        "everybody",
        "Are there at least … people?",
        "count(*{among}) {relation} {bound}",
        (RELATION, Blank("bound", "number", "People", sample="11", start="11"), AMONG),
        order=23,
        note="How many people there are is public under substitution: name groups under More, or say among whom.",
    ),
    Sheet("any", "Is there anybody who …?", "any({condition}{among})", (CONDITION, AMONG), order=26),
    Sheet("all", "Does everybody …?", "all({condition}{among})", (CONDITION, AMONG), order=27),
]
