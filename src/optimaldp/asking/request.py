"""What is read from an :class:`~optimaldp.asking.ask.Ask`: everything public about a release, before any data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any

from optimaldp.asking.ask import FIELDS, READING_FIELDS, Ask
from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.law import Aim, AnyAim, Setting
from optimaldp.laws.prior import Prior
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy import level as read_level
from optimaldp.privacy.levels import level_of_each_group
from optimaldp.privacy.numbers import fraction_text, is_whole
from optimaldp.privacy.units import Limited, limited_unit, protected_words, unit_text
from optimaldp.questions.base import Question
from optimaldp.questions.literals import answer_text
from optimaldp.tables.schema import Schema
from optimaldp.tables.tally import KeyTally, Option, Options, People, Tally

OTHER = "(other)"
MOST_GROUPS_EACH = 1000  # of one person: a level that more groups share answers nothing
_SMALLEST_BITS = 200  # 2^-200 is 6e-61: nobody means less
_LARGEST_EPSILON = 1000  # e^1000 has 435 digits, and the referee's exact sums multiply it


def read_release_level(epsilon: object, delta: object = 0) -> ApproximateDP:
    """A level that a release can promise: a finite epsilon, and a delta below 1."""
    made = read_level(epsilon, delta)
    if not isinstance(made, ApproximateDP) or not made.is_single:
        raise LevelError("epsilon", str(made), "is not a single (epsilon, delta)", "write epsilon=1, delta=1e-6")
    if made.epsilon.infinite:
        raise LevelError("epsilon", "inf", "promises nothing", "a release needs a finite epsilon")
    # The whole number above it settles nearly all cases; only who is near the limit is looked at closely.
    if made.epsilon.ceiling > _LARGEST_EPSILON and float(made.epsilon) > _LARGEST_EPSILON:
        raise LevelError(
            "epsilon", str(epsilon), "is too large to mean privacy", f"a release takes at most {_LARGEST_EPSILON}"
        )
    below_one = made.delta.denominator.bit_length() - made.delta.numerator.bit_length() if made.delta else 0
    for name, zeros in (("epsilon", 0 if made.epsilon.is_zero else made.epsilon.leading_zeros), ("delta", below_one)):
        if zeros > _SMALLEST_BITS:
            raise LevelError(name, f"2^-{zeros}", "is too small to be told from 0 in reasonable time", "write 0")
    if made.delta >= 1:
        raise LevelError("delta", fraction_text(made.delta), "promises nothing", "a release needs a delta below 1")
    return made


@dataclass(frozen=True)
class Groups:
    """One answer for each public group: a value of a column, or one value of each of several columns."""

    columns: tuple[str, ...]
    lists: tuple[tuple[Option, ...], ...]
    """The public values of each column."""
    public: bool = False
    """Whether it is declared public who is in which group."""
    most: int | None = None
    """In how many groups one person may be counted, where that was said."""

    @property
    def per_person(self) -> int:
        """In how many groups one person can be: never more than there are values, and "(other)" is for people in none."""
        return 1 if self.most is None else min(self.most, len(self.listed[0]))

    @property
    def column(self) -> str:
        """The column, or all of them as one text."""
        return unit_text(self.columns)

    @property
    def values(self) -> tuple[tuple[Option, ...], ...]:
        """The groups: one value of each column."""
        return tuple(product(*self.lists))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(", ".join(map(answer_text, value)) for value in self.values)

    @property
    def written(self) -> list[Any]:
        """The values as documents keep them: texts, in a list of their own for each of several columns."""
        lists = [[answer_text(option) for option in options] for options in self.lists]
        return lists[0] if len(lists) == 1 else lists

    @property
    def text(self) -> str:
        """The columns with their groups, as a ledger remembers them."""
        each = "" if self.most is None else f", at most {self.most} for each person"
        return f"{self.column} {self.written}{each}"

    @property
    def listed(self) -> tuple[tuple[Option, ...], ...]:
        """The values that each column is compared with; "(other)" is everybody whom none of them lists."""
        listed = tuple(tuple(value for value in options if value != OTHER) for options in self.lists)
        # Where groups compete for a person, equal ones by the bytes of their names: the first of the reading come first.
        return listed if self.most is None else tuple(tuple(sorted(options, key=_bytes_of)) for options in listed)

    def place(self, value: Sequence[Option]) -> int:
        """The place of a group among all combinations of places, where each column has one more for everybody else."""
        place = 0
        for option, listed in zip(value, self.listed, strict=True):
            place = place * (len(listed) + 1) + (len(listed) if option == OTHER else listed.index(option))
        return place


@dataclass(frozen=True)
class Request:
    """A question, a level, the neighbours, and who counts as a person and is asked."""

    question: Question
    level: ApproximateDP
    neighbours: Neighbours
    people: People = field(default_factory=People)
    groups: Groups | None = None
    aim: AnyAim = Aim.TYPICAL
    public_groups: bool = False
    ask: Ask = field(default=Ask("", 0), repr=False, compare=False)
    """What it was read from."""
    described: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    """The description by which the table is read, as documents hold it."""

    def __post_init__(self) -> None:
        """Refuse what does not go together, as far as that shows without a table."""
        people, question = self.people, self.question
        if people.where is not None and people.unit is None and question.where_is_among and question.among is None:
            rule = "would not leave anybody out: people it does not hold for still count as people"
            remedy = f"to ask only some of them write {_with_among(question, people.where)}"
            raise QuestionError("where", people.where, rule, remedy)
        by_substitution = self.neighbours is Neighbours.SUBSTITUTION
        if question.needs_a_filter and by_substitution and people.where is None and self.groups is None:
            rule = "asks for the number of people, which is public under substitution"
            raise QuestionError("question", str(question), rule, "add where, among or by, or use add-remove")
        if isinstance(self.aim, Prior) and not question.takes_prior:
            remedy = "ask a count, share, majority, any or all of everybody, or use the aim 'typical' or 'every table'"
            rule = f"is an aim for yes and no about everybody, which {question} is not"
            raise QuestionError("aim", str(self.aim), rule, remedy)
        if people.levels is not None and self.groups is not None:
            raise QuestionError("by", self.groups.column, "does not go with levels", "ask for one of them")
        if self.groups is not None and isinstance(question.tally, KeyTally):
            raise QuestionError("by", self.groups.column, f"does not go with {question}", "ask it without groups")
        if people.groups_per_person is not None:
            self._check_groups_per_person(people.groups_per_person)

    def _check_groups_per_person(self, most: object) -> None:
        if self.groups is None:
            remedy = "name the groups (by='ward', groups=['a', 'b']), or leave it out"
            raise QuestionError("groups_per_person", most, "goes with groups", remedy)
        if not is_whole(most, 1, MOST_GROUPS_EACH):
            rule = f"is not a whole number from 1 to {MOST_GROUPS_EACH}"
            raise QuestionError("groups_per_person", most, rule, "say in how many groups one person may be counted")
        if self.people.unit is None:
            rule = "needs a unit: without one each row is a person, who is in one group"
            raise QuestionError(
                "groups_per_person", most, rule, "name the column that identifies a person, or leave it out"
            )
        if self.public_groups:
            rule = "does not go with public groups: where it is public who is in which group, each person is in one"
            raise QuestionError("groups_per_person", most, rule, "leave one of the two out")
        if len(self.groups.columns) > 1:
            rule = "needs groups of one column"
            raise QuestionError("groups_per_person", most, rule, "name one column in by, or leave it out")
        if (rule_of_group := self.people.by_column.get(self.groups.column)) is not None:
            rule = f"does not go with {self.groups.column}={rule_of_group}, which puts each person into one group"
            raise QuestionError("groups_per_person", most, rule, "leave one of the two out")

    @cached_property
    def tally(self) -> Tally | KeyTally:
        """Which counts of people it needs: those of the question, in every group."""
        own = self.question.tally
        if self.groups is None or isinstance(own, KeyTally):
            return own
        groups = map(Options, self.groups.columns, self.groups.listed)
        return Tally((*groups, *own.readings), own.summed)

    def settled(self, schema: Schema) -> Request:
        """The request about a table with these columns: what their types alone decide is decided. No row is looked at."""
        people = self.people
        own_rows = people.unit is None and people.where is None and people.levels is None
        return replace(self, question=self.question.settled(schema, everybody_has_a_row=own_rows))

    @property
    def text(self) -> str:
        """The question with all that changes its meaning: what a ledger remembers."""
        people = self.people
        parts = {
            "where": people.where,
            "reduce": people.reduce,
            "order": people.reduce_order,
            "levels": people.levels,
            "aim": None if people.levels is None or self.aim is Aim.TYPICAL else str(self.aim),
            "by": None if self.groups is None else self.groups.text,
            "groups": "public" if self.public_groups else None,
        }
        return str(self.question) + "".join(f" | {name}: {value}" for name, value in parts.items() if value is not None)

    def said(self) -> dict[str, Any]:
        """Every field of the :class:`Ask` as it was understood, as JSON values: what a document says of the request."""
        people, groups = self.people, self.groups
        read: dict[str, Any] = {
            "question": str(self.question),
            "epsilon": str(self.level.epsilon),
            "delta": fraction_text(self.level.delta),
            "neighbours": str(self.neighbours),
            "unit": people.unit_text,
            "reduce": people.reduce,
            "reduce_order": people.reduce_order,
            "where": people.where,
            "by": None if groups is None else groups.column,
            "groups": None if groups is None else groups.written,
            "public_groups": self.public_groups or None,
            "groups_per_person": self.ask.groups_per_person,
            "levels": people.levels,
            "aim": None if people.levels is None else str(self.aim),
            "part": None if people.part is None else {"column": people.part[0], "value": people.part[1]},
            **self.reading,
        }
        return {name: read[name] for name in FIELDS}

    @property
    def reading(self) -> dict[str, Any]:
        """How the cells of a file were read, as JSON values."""
        said = {name: getattr(self.ask, name) for name in READING_FIELDS}
        return said | {"types": None if said["types"] is None else dict(said["types"])}

    @property
    def public(self) -> tuple[str, ...]:
        """What is treated as public, so that a record is only ever replaced by another that agrees in it."""
        part = [] if self.people.part is None else [self.people.part[0]]
        compared = ("the two groups that are compared",)
        groups = (self.groups.columns if self.groups else compared) if self.public_groups else ()
        levels = [] if self.people.levels is None else [self.people.levels]
        return tuple(dict.fromkeys([*part, *groups, *levels]))

    def neighbours_words(self) -> str:
        """Which tables are neighbours, in words, with what is public."""
        return self.neighbours.within(self.public, self.limited)

    @property
    def limited(self) -> Limited | None:
        """How a person is limited in time, where the unit says so."""
        return limited_unit(self.people.unit_text)

    def setting(self, people: int, levels: tuple[tuple[Epsilon, int], ...] = ()) -> Setting:
        """The setting of the whole question; the number of people is public under substitution alone."""
        known = people if self.neighbours is Neighbours.SUBSTITUTION else None
        return Setting(self.level, self.neighbours, known, levels, self.aim, self.public_groups)

    def protected(self) -> str:
        """Who is protected, in words."""
        limited = self.limited
        return protected_words(self.people.unit_text) if limited is None else limited.words(self.level)

    def reduction(self) -> str | None:
        """How the rows of a person became one record, in words."""
        if self.people.unit is None:
            return None
        rules = self.people.rules(self.tally)
        several = self.people.groups_per_person is not None
        rules = tuple(dict.fromkeys(rules[1:] if several else rules))
        order = f" by {self.people.reduce_order}" if self.people.reduce_order else ""
        whose = "a person in a group" if several else "a person"
        return f"the rows of {whose} become one value by: {', '.join(rules)}{order}"

    def several_groups(self) -> str | None:
        """How many groups a person is in, by which rule, and what that costs, in words."""
        if self.groups is None or self.groups.most is None:
            return None
        parts = self.groups.per_person * (2 if self.neighbours is Neighbours.SUBSTITUTION else 1)
        shared = (
            "all groups share one draw"
            if setting_inside(self).groups
            else f"each group is answered at 1/{parts} of epsilon"
        )
        return (
            f"each person counts in at most {self.groups.most} of the listed groups: those with most of the person's rows, "
            f"equal ones by the bytes of their names; {shared}, so that all groups together cost {self.level}"
        )

    def all_groups(self) -> str | None:
        """How far off the numbers of all groups are at once, in words; ``None`` where that is not known."""
        if self.groups is None:
            return None
        return self.question.groups_sentence(setting_inside(self), len(self.groups.values)) or None

    def notes(self) -> list[str]:
        """What a reader must know about who was counted."""
        more = []
        if self.people.where is not None:
            more.append(f"where filters rows, not people: without a row with {self.people.where} a person still counts")
        more += [text for text in (self.several_groups(), self.reduction(), self.all_groups()) if text is not None]
        return [*self.question.notes(self.neighbours), *more]


def _bytes_of(value: Option) -> bytes:
    return answer_text(value).encode("utf-8", "surrogatepass")


def _with_among(question: Question, condition: str) -> str:
    text = str(question)
    end = text.rindex(")")
    return f"{text[:end]} among {condition}{text[end:]}"


def setting_inside(request: Request, people: int | None = None) -> Setting:
    """At which setting each group is answered when all groups together are one spend.

    Inside a private group people come and go; inside a public one a record is replaced, and its size is public. Numbers of
    private groups may be drawn together, at the whole level.
    """
    assert request.groups is not None
    level, groups = request.level, request.groups
    if request.neighbours is Neighbours.SUBSTITUTION and not groups.public:
        whole = Setting(level, request.neighbours, groups=len(groups.values), groups_per_person=groups.per_person)
        if request.question.joins_groups(whole):
            return whole
    each = level_of_each_group(
        level.epsilon,
        level.delta,
        request.neighbours,
        public_groups=groups.public,
        per_person=groups.per_person,
    )
    known = people if each.neighbours is Neighbours.SUBSTITUTION else None
    return Setting(approximate(each.epsilon, each.delta), each.neighbours, known)
