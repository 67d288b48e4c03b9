"""What is asked, and of whom: everything public about a release, in one value that is settled before any data is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from optimaldp.asking.promise import read_release_level
from optimaldp.errors import QuestionError
from optimaldp.laws.prior import Prior
from optimaldp.laws.setting import Aim, AimLike, AnyAim, Setting, read_aim
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.literals import answer_text, check_options
from optimaldp.tables.schema import Schema
from optimaldp.tables.tally import KeyTally, Option, Options, People, Tally

OTHER = "(other)"


@dataclass(frozen=True)
class Groups:
    """One answer for each public group: the values of a column."""

    column: str
    values: tuple[Option, ...]
    public: bool = False
    """Whether it is declared public who is in which group."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(answer_text, self.values))

    @property
    def listed(self) -> tuple[Option, ...]:
        """The values that the column is compared with; "(other)" is everybody whom none of them lists."""
        return tuple(value for value in self.values if value != OTHER)

    def place(self, value: Option) -> int:
        return len(self.listed) if value == OTHER else self.listed.index(value)


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

    @property
    def tally(self) -> Tally | KeyTally:
        own = self.question.tally
        if self.groups is None:
            return own
        if isinstance(own, KeyTally):
            raise QuestionError("by", self.groups.column, f"does not go with {self.question}", "ask it without groups")
        return Tally((Options(self.groups.column, self.groups.listed), *own.readings))

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
            "by": None if self.groups is None else f"{self.groups.column} {list(self.groups.names)}",
            "groups": "public" if self.public_groups else None,
        }
        return str(self.question) + "".join(f" | {name}: {value}" for name, value in parts.items() if value is not None)

    def settled(self, schema: Schema) -> Request:
        """The request about a table with these columns: what their types alone decide is decided. No row is looked at."""
        people = self.people
        own_rows = people.unit is None and people.where is None and people.levels is None
        question = self.question.settled(schema, everybody_has_a_row=own_rows)
        return self if question is self.question else replace(self, question=question)

    def setting(self, people: int, levels: tuple[tuple[Epsilon, int], ...] = ()) -> Setting:
        """The setting of the whole question; the number of people is public under substitution alone."""
        known = people if self.neighbours is Neighbours.SUBSTITUTION else None
        return Setting(self.level, self.neighbours, known, levels, self.aim, self.public_groups)

    def protected(self) -> str:
        """Who is protected, in words."""
        unit = self.people.unit
        return "each row counts as one person" if unit is None else f"each value of {unit} is one person"

    def reduction(self) -> str | None:
        """How the rows of a person became one record, in words."""
        if self.people.unit is None:
            return None
        rules = dict.fromkeys(self.people.rules(self.tally))
        order = f" by {self.people.reduce_order}" if self.people.reduce_order else ""
        return f"the rows of a person become one value by: {', '.join(rules)}{order}"

    def notes(self) -> list[str]:
        """What a reader must know about who was counted."""
        more = []
        if self.people.where is not None:
            more.append(f"only rows with {self.people.where} speak for their person, who is counted all the same")
        if (reduction := self.reduction()) is not None:
            more.append(reduction)
        return [*self.question.notes(self.neighbours), *more]


def read_request(
    question: Question | str,
    *,
    epsilon: object,
    delta: object = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
    people: People | None = None,
    by: str | None = None,
    groups: Iterable[Option] | None = None,
    public_groups: bool = False,
    aim: AimLike | None = None,
) -> Request:
    """A request from what a user wrote, checked as far as that is possible without a table."""
    people = people or People()
    made = Request(
        as_question(question),
        read_release_level(epsilon, delta),
        Neighbours(neighbours),
        people,
        None if by is None and groups is None else _read_groups(by, groups, public_groups),
        read_aim(aim),
        public_groups,
    )
    _check(made, aim)
    return made


def _read_groups(by: str | None, groups: Iterable[Option] | None, public: bool) -> Groups:
    if by is None or groups is None:
        remedy = "write by='ward', groups=['a', 'b'], or --by ward --groups a,b: the groups are public"
        raise QuestionError("by", by, "goes with groups, the list of its public values", remedy)
    listed = check_options(groups)
    assert listed is not None
    if set(listed) == {OTHER}:
        raise QuestionError("groups", list(listed), "names no value", "name at least one group")
    return Groups(by, listed, public)


def _check(request: Request, aim: object) -> None:
    people, question = request.people, request.question
    if people.where is not None and people.unit is None and question.where_is_among and question.among is None:
        rule = "would not leave anybody out: whoever it does not hold for is still one of the people"
        remedy = f"to ask only some of them write {_with_among(question, people.where)}"
        raise QuestionError("where", people.where, rule, remedy)
    whole = people.where is None and request.groups is None
    if question.needs_a_filter and whole and request.neighbours is Neighbours.SUBSTITUTION:
        rule = "asks for the number of people, which is public under substitution"
        raise QuestionError("question", str(question), rule, "add where, among or by, or use add-remove")
    if people.levels is None and aim is not None:
        raise QuestionError("aim", str(aim), "goes with levels", "name the column of people's own levels")
    if isinstance(request.aim, Prior) and not question.takes_prior:
        remedy = "ask a count, share, majority, any or all of everybody, or use the aim 'typical' or 'every table'"
        rule = f"is an aim for yes and no about everybody, which {question} is not"
        raise QuestionError("aim", str(request.aim), rule, remedy)
    if people.levels is not None and request.groups is not None:
        raise QuestionError("by", request.groups.column, "does not go with levels", "ask for one of them")
    if people.levels is not None and request.neighbours is not Neighbours.SUBSTITUTION:
        remedy = "use 'substitution'"
        raise QuestionError("neighbours", str(request.neighbours), "is not proven for personal levels", remedy)


def _with_among(question: Question, condition: str) -> str:
    text = str(question)
    end = text.rindex(")")
    return f"{text[:end]} among {condition}{text[end:]}"
