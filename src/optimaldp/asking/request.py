"""What is asked, and of whom: everything public about a release, in one value that is settled before any data is read."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from optimaldp.errors import QuestionError
from optimaldp.laws.prior import Prior
from optimaldp.laws.setting import Aim, AnyAim, Setting
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours
from optimaldp.questions.base import Question
from optimaldp.questions.literals import answer_text
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
    tally: Tally | KeyTally = field(init=False, repr=False, compare=False)
    """Which counts of people it needs: those of the question, in every group."""

    def __post_init__(self) -> None:
        """Refuse what does not go together, as far as that shows without a table."""
        people, question, tally = self.people, self.question, self.question.tally
        if people.where is not None and people.unit is None and question.where_is_among and question.among is None:
            rule = "would not leave anybody out: whoever it does not hold for is still one of the people"
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
        if people.levels is not None and not by_substitution:
            rule = "is not proven for personal levels"
            raise QuestionError("neighbours", str(self.neighbours), rule, "use 'substitution'")
        if self.groups is not None:
            if isinstance(tally, KeyTally):
                raise QuestionError("by", self.groups.column, f"does not go with {question}", "ask it without groups")
            tally = Tally((Options(self.groups.column, self.groups.listed), *tally.readings))
        vars(self).update(tally=tally)

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
            "by": None if self.groups is None else f"{self.groups.column} {list(self.groups.names)}",
            "groups": "public" if self.public_groups else None,
        }
        return str(self.question) + "".join(f" | {name}: {value}" for name, value in parts.items() if value is not None)

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


def _with_among(question: Question, condition: str) -> str:
    text = str(question)
    end = text.rindex(")")
    return f"{text[:end]} among {condition}{text[end:]}"
