"""Everything that can be said with a question, declared once.

An :class:`Ask` is what the user wrote. Every field says what it means and how it is written as text (the command line), as JSON
(release documents, plan files, the studio) and in Python. Signatures, options, forms and documents are made from this list or
compared with it by one test, so no place can forget a field.

This module is imported for a page of help: what is heavy is imported where it is used.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Required, TypedDict, TypeVar, cast

from optimaldp.errors import InputError, QuestionError

if TYPE_CHECKING:
    from decimal import Decimal
    from fractions import Fraction

    from optimaldp.asking.request import Groups, Request
    from optimaldp.laws.law import AimLike
    from optimaldp.ledger import Ledger
    from optimaldp.privacy import Epsilon, Neighbours
    from optimaldp.questions.base import Question
    from optimaldp.tables import Description
    from optimaldp.tables.tally import Option, People

    Asked = Question | str
    LevelLike = str | int | float | Fraction | Decimal | Epsilon
    """A privacy parameter as people write it: ``0.5``, ``"ln(2)"``, ``Fraction(1, 2)``."""

Made = TypeVar("Made", bound=Callable[..., Any])

MEANING = 2
"""Which meaning of questions an answer has. Version 0.2 wrote none and meant 1; an answer is never replayed under another."""


# How a value is written.


@dataclass(frozen=True)
class OptionForm:
    """How the values of a field are written: as text, and as JSON."""

    words: str
    """What a value is, for an error message: "a text"."""
    schema: Mapping[str, Any] = field(compare=False)
    """What a value is, as JSON Schema."""
    is_json: Callable[[Any], bool]
    """Whether a JSON value (not null) has this form."""
    read: Callable[[str], Any] = str
    """The value from the text that was typed."""
    repeated: bool = False
    """Whether the option may be given several times; then *read* takes the list of texts."""
    switch: bool = False
    """Whether the option takes no text: its presence says yes."""


def read_pairs(texts: Sequence[str]) -> dict[str, str]:
    """``column=value``, once for each column; quotes around a value are the shell's.

    >>> read_pairs(["cost=number 1,234.5", "day='date %d/%m/%Y'"])
    {'cost': 'number 1,234.5', 'day': 'date %d/%m/%Y'}
    """
    pairs = [text.partition("=") for text in texts]
    declared = {name.strip(): value.strip().strip("\"'") for name, equals, value in pairs if equals}
    if len(declared) < len(texts) or not all(declared):
        rule = "does not say column=value once for each column"
        raise InputError("type", list(texts), rule, "write --type age=number")
    return declared


def read_rules(texts: Sequence[str]) -> str | dict[str, str]:
    """One rule for all (``mean``), or one for each column (``cost=sum``)."""
    if len(texts) == 1 and "=" not in texts[0]:
        return texts[0].strip()
    if not all("=" in text for text in texts):
        rule = "mixes one rule for everything with rules for single columns"
        raise InputError("reduce", list(texts), rule, "write --reduce mean, or --reduce cost=sum for each column")
    return read_pairs(texts)


def read_group_list(text: str) -> list[Any]:
    """``a,b,c``, or a list as in a question."""
    if text.strip().startswith("["):
        from optimaldp.questions.literals import read_list, read_option

        return [
            read_group_list(part) if part.startswith("[") else read_option(part) for part in read_list(text.strip())
        ]
    return [part.strip() for part in text.split(",") if part.strip()]


def _read_whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InputError("groups-per-person", text, "is not a whole number", "write --groups-per-person 3") from None


def _is_pairs(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(part, str) for pair in value.items() for part in pair)


def _are_columns(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value))


def _is_number(value: object) -> bool:
    return not isinstance(value, (bool, list, tuple, Mapping))


def _is_part(value: object) -> bool:
    if isinstance(value, Mapping):
        named = set(value) == {"column", "value"} and isinstance(value["column"], str)
        return named and isinstance(value["value"], (str, int))
    return isinstance(value, (str, int)) and not isinstance(value, bool)


TEXT = OptionForm("a text", {"type": "string"}, lambda value: isinstance(value, str))
LEVEL = OptionForm("a number", {"type": ["number", "string"]}, _is_number)
SWITCH = OptionForm("true or false", {"type": "boolean"}, lambda value: isinstance(value, bool), switch=True)
WHOLE = OptionForm(
    "a whole number",
    {"type": "integer"},
    lambda value: isinstance(value, int) and not isinstance(value, bool),
    _read_whole,
)
LIST = OptionForm("a list", {"type": "array"}, lambda value: isinstance(value, (list, tuple)), read_group_list)
_TEXTS = {"additionalProperties": {"type": "string"}}
PAIRS = OptionForm(
    "an object of texts",
    {"type": "object", **_TEXTS},
    _is_pairs,
    cast("Callable[[str], Any]", read_pairs),
    repeated=True,
)
RULES = OptionForm(
    "a text or an object of texts",
    {"type": ["string", "object"], **_TEXTS},
    lambda value: isinstance(value, str) or _is_pairs(value),
    cast("Callable[[str], Any]", read_rules),
    repeated=True,
)
AIM = OptionForm("a text or an object", {"type": ["string", "object"]}, lambda value: isinstance(value, (str, Mapping)))
COLUMNS = OptionForm("a column or a list of columns", {"type": ["string", "array"]}, _are_columns)
PART = OptionForm("a value, or a column and a value", {"type": ["string", "integer", "object"]}, _is_part)


@dataclass(frozen=True)
class Meaning:
    """What a field of :class:`Ask` is: in words, as it is written, and where it belongs."""

    words: str
    form: OptionForm = TEXT
    flag: str = ""
    """The option of the command line, where it is not the field's own name."""
    key: str = ""
    """The key in documents, where it is not the field's own name."""
    of_table: bool = False
    """Whether it is said once for a table (the top of a plan, a ledger) and not for each question."""


def _means(words: str, form: OptionForm = TEXT, **more: Any) -> dict[str, Meaning]:
    return {"meaning": Meaning(words, form, **more)}


# What is said.


@dataclass(frozen=True)
class Ask:
    """A question with everything that can be said about it, as the user wrote it."""

    question: Asked = field(metadata=_means("The question, for example \"share(smokes = 'yes') >= 0.3\"."))
    epsilon: LevelLike = field(metadata=_means("The privacy level: 0.5, 'ln(2)'. There is no default.", LEVEL))
    delta: LevelLike = field(default=0, metadata=_means("The delta of the level.", LEVEL))
    neighbours: str | Neighbours | None = field(
        default=None,
        metadata=_means(
            "substitution (the default): one record is replaced, the number of people is public; "
            "add-remove: one person more or less.",
            of_table=True,
        ),
    )
    unit: str | None = field(
        default=None,
        metadata=_means(
            "The column that identifies a person. Without it, each row is one person. "
            'A list limits a person in time: \'["patient_id", "month(admitted)"]\'.',
            of_table=True,
        ),
    )
    reduce: str | Mapping[str, str] | None = field(
        default=None,
        metadata=_means(
            "How the rows of a person become one value: any, all, most-frequent, first, mean, ...; or for single columns: "
            "cost=sum, ward=most-frequent.",
            RULES,
        ),
    )
    reduce_order: str | None = field(
        default=None, metadata=_means("The column whose order 'first' and 'last' follow.", key="order")
    )
    where: str | None = field(
        default=None, metadata=_means("Use only the rows with this SQL condition; it filters rows, not people.")
    )
    by: str | Sequence[str] | None = field(
        default=None,
        metadata=_means(
            'Answer once for each public group: the column of the groups, or several as \'["ward", "sex"]\'.', COLUMNS
        ),
    )
    groups: Iterable[Option] | Iterable[Iterable[Option]] | None = field(
        default=None,
        metadata=_means(
            "The groups of 'by': a,b,c or ['a', 'b']; '(other)' is everyone else; a list for each of several columns.",
            LIST,
        ),
    )
    public_groups: bool = field(
        default=False,
        metadata=_means(
            "Declare that it is public who is in which group (of 'by', or of two compared groups).", SWITCH
        ),
    )
    groups_per_person: int | None = field(
        default=None, metadata=_means("In how many groups of 'by' one person may be counted.", WHOLE)
    )
    levels: str | None = field(default=None, metadata=_means("A public column with each person's own epsilon."))
    aim: AimLike | None = field(
        default=None,
        metadata=_means(
            "With 'levels': 'typical' (small average error), 'every table' (least worst error) or, for small tables, "
            "'prior: 0.5' (least average error over votes in which everyone says yes with this chance).",
            AIM,
        ),
    )
    part: str | int | Mapping[str, Any] | None = field(
        default=None,
        metadata=_means("Ask and charge only this part: a value of the column by which the ledger has parts.", PART),
    )
    types: Mapping[str, str] | None = field(
        default=None,
        metadata=_means(
            "How the cells of a CSV column are read: age=number, cost='number 1,234.5', day='date %d/%m/%Y'.",
            PAIRS,
            flag="type",
            of_table=True,
        ),
    )
    delimiter: str | None = field(
        default=None,
        metadata=_means(
            "What separates the fields of a CSV. Without it, whatever its first line uses most.", of_table=True
        ),
    )
    encoding: str | None = field(
        default=None, metadata=_means("The encoding of a CSV, for example latin-1. Without it, UTF-8.", of_table=True)
    )
    description: Any = field(
        default=None,
        metadata=_means(
            "The description of the table (NAME.datapackage.json), where the source itself is not one.", of_table=True
        ),
    )

    def __post_init__(self) -> None:
        if self.groups is not None and not isinstance(self.groups, (str, tuple)):
            lists = tuple(tuple(one) if isinstance(one, list) else one for one in self.groups)
            object.__setattr__(self, "groups", lists)
        for name in ("unit", "by"):
            said = getattr(self, name)
            if said is not None and (not isinstance(said, str) or said.startswith("[")):
                from optimaldp.privacy.units import canonical_unit, unit_text

                if name == "by" and _are_columns(said) and said and not isinstance(said, str):
                    said = unit_text(list(said))
                object.__setattr__(self, name, canonical_unit(said) if isinstance(said, str) else said)

    def described(self, description: Description | None) -> Ask:
        """With what the description of the table says, where the question does not say it itself.

        Who is a person cannot be said in two ways. Parts, public groups and levels need a column that the description calls
        public.
        """
        if description is None:
            return self
        person = self.unit
        if description.says_person:
            person = description.unit
            if self.unit is not None and self.unit != person:
                rule = f"is not the person of the description, which is {person or 'each row'}"
                raise QuestionError("unit", self.unit, rule, "leave the unit out, or change the description")
            _check_limited(person, self.neighbours or description.neighbours)
        self._require_public(description)
        from optimaldp.questions.forms import described_text

        question = self.question
        if isinstance(question, str):
            question = described_text(question, description)
        # Who says in how many groups a person may be wants no rule that puts them into one.
        told = {name: rule for name, rule in description.reduce.items() if not self._several(name)}
        rules = told | dict(self.reduce) if isinstance(self.reduce, Mapping) else self.reduce
        return replace(
            self,
            question=question,
            unit=person,
            neighbours=self.neighbours or description.neighbours,
            reduce=told or None if rules is None and person is not None else rules,
            reduce_order=description.reduce_order
            if self.reduce_order is None and person is not None
            else self.reduce_order,
            delimiter=description.delimiter,
            encoding=description.encoding,
            description=description.hash,
        )

    @property
    def columns_of_groups(self) -> tuple[str, ...]:
        """The columns of *by*."""
        from optimaldp.privacy.units import unit_columns

        if self.by is not None and not isinstance(self.by, str):
            remedy = "name one column, or several as by=['ward', 'sex']"
            raise QuestionError("by", self.by, "is not the name of a column", remedy)
        columns = unit_columns(self.by)
        if len(set(columns)) < len(columns):
            raise QuestionError("by", self.by, "names a column twice", "name each column once")
        return columns

    def _several(self, column: str) -> bool:
        return self.groups_per_person is not None and column == self.by

    def _require_public(self, description: Description) -> None:
        """Who is in which group may be treated as public only where the description says that it is."""
        part = self.part["column"] if isinstance(self.part, Mapping) else None
        groups = self.columns_of_groups if self.public_groups else ()
        named = [("levels", self.levels), ("part", part), *(("by", column) for column in groups)]
        for name, column in named:
            if column is not None and column not in description.public:
                rule = "is not a column that the description calls public"
                raise QuestionError(name, column, rule, 'add it to "public" in the description, if anybody may know it')

    def completed(self, ledger: Ledger) -> Ask:
        """With the ledger's own unit, neighbours and reading where nothing else was said, and its part by column and value."""
        opening = ledger.opening
        part = self.part
        if part is not None and not isinstance(part, Mapping):
            declared = ledger.part(part)
            part = {"column": str(declared.column), "value": declared.value}
        return replace(
            self,
            unit=opening.unit if self.unit is None else self.unit,
            neighbours=self.neighbours or opening.neighbours,
            part=part,
            **self.remembered(opening.settings),
        )

    def remembered(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """How the cells are read: as was said, or as a ledger or plan remembers it. A description is named, never remembered."""
        said = {name: getattr(self, name) for name in READING_FIELDS}
        if self.description is None:
            said |= {name: settings.get(name) for name in said if said[name] is None and name != "description"}
        return said

    @property
    def reading(self) -> dict[str, Any]:
        """What :func:`~optimaldp.tables.open_source` takes: how the cells of a file are read."""
        return {name: getattr(self, name) for name in READING_FIELDS}

    def people(self) -> People:
        """Who counts as a person, and whose rows are used."""
        from optimaldp.privacy import Neighbours
        from optimaldp.privacy.units import unit_columns
        from optimaldp.tables.tally import People

        part, relation = self.part, Neighbours(self.neighbours or Neighbours.SUBSTITUTION)
        if self.levels is not None and relation is not Neighbours.SUBSTITUTION:
            # Which levels occur, and how many people have each, is written into documents and ledgers.
            rule = "is not proven for personal levels"
            raise QuestionError("neighbours", str(relation), rule, "use 'substitution'")
        if part is None:
            declared = None
        elif isinstance(part, Mapping):
            declared = part["column"], part["value"]
            if relation is not Neighbours.SUBSTITUTION:
                rule = (
                    "cannot be charged alone under add-remove: the charge would show whether somebody is in it at all"
                )
                raise QuestionError("part", str(declared[1]), rule, "ask without a part")
        else:
            rule = "means nothing without a ledger that declares it"
            raise QuestionError("part", str(part), rule, "ask without a part, or name the ledger")
        _check_limited(self.unit, relation)
        unit, *within = unit_columns(self.unit) or (None,)
        rules = self.reduce, self.reduce_order
        return People(
            unit, *rules, self.where, declared, self.levels, self.groups_per_person, tuple(filter(None, within))
        )

    def request(self) -> Request:
        """What was written, read and checked as far as that is possible without a table."""
        from optimaldp.asking.request import Request, read_release_level
        from optimaldp.laws.law import read_aim
        from optimaldp.privacy import Neighbours
        from optimaldp.questions.base import as_question

        people = self.people()
        if self.levels is None and self.aim is not None:
            raise QuestionError("aim", str(self.aim), "goes with levels", "name the column of people's own levels")
        question = as_question(self.question)
        return Request(
            question,
            read_release_level(self.epsilon, self.delta),
            Neighbours(self.neighbours or Neighbours.SUBSTITUTION),
            people,
            None if self.by is None and self.groups is None else self._read_groups(),
            question.default_aim if self.aim is None else read_aim(self.aim),
            self.public_groups,
            self,
        )

    def _read_groups(self) -> Groups:
        from optimaldp.asking.request import Groups

        columns = self.columns_of_groups
        if not columns or self.groups is None:
            remedy = "write by='ward', groups=['a', 'b'], or --by ward --groups a,b: the groups are public"
            raise QuestionError("by", self.by, "goes with groups, the list of its public values", remedy)
        lists = _lists_of_groups(columns, self.groups)
        groups = Groups(columns, lists, self.public_groups, self.groups_per_person)
        if len(set(groups.names)) < len(groups.names):
            rule = "have two groups of one name, such as 'a, b' with 'c' and 'a' with 'b, c'"
            raise QuestionError("groups", groups.written, rule, "ask one column at a time")
        return groups


def _lists_of_groups(columns: Sequence[str], groups: Any) -> tuple[tuple[Option, ...], ...]:
    """The public values of each column."""
    from optimaldp.asking.request import OTHER
    from optimaldp.questions.literals import check_options

    said = (groups,) if len(columns) == 1 else tuple(groups)
    if len(said) != len(columns) or (len(columns) > 1 and any(isinstance(one, (str, int)) for one in said)):
        remedy = "write by=['ward', 'sex'], groups=[['a', 'b'], ['f', 'm']]"
        raise QuestionError("groups", groups, f"is not a list of values for each of {', '.join(columns)}", remedy)
    lists = tuple(check_options(one) or () for one in said)
    for listed in lists:
        if set(listed) == {OTHER}:
            raise QuestionError("groups", list(listed), "names no value", "name at least one group")
    return lists


def _check_limited(unit: str | None, neighbours: str | Neighbours | None) -> None:
    """How many months people have is private, so a person who is limited in time needs add-remove."""
    from optimaldp.privacy import Neighbours
    from optimaldp.privacy.units import limited_unit

    limited = limited_unit(unit)
    if limited is not None and Neighbours(neighbours or Neighbours.SUBSTITUTION) is not Neighbours.ADD_REMOVE:
        rule = f"protects one {limited.record}, which needs add-remove neighbours: how many there are is private"
        raise QuestionError("unit", unit, rule, "use neighbours='add-remove'")


FIELDS: dict[str, Field[Any]] = {one.name: one for one in fields(Ask)}
"""Every field of :class:`Ask` by its name, in order."""
READING_FIELDS = ("types", "delimiter", "encoding", "description")
"""What decides how a cell is read, and nothing else."""


def meaning_of(name: str) -> Meaning:
    """What the field of this name is."""
    meaning: Meaning = FIELDS[name].metadata["meaning"]
    return meaning


def key_of(name: str) -> str:
    """The key of a field in documents."""
    return meaning_of(name).key or name


class AskOptionsOfAll(TypedDict, total=False):
    """The fields of :class:`Ask` beside the question and *by*, for readers of types: *by* decides what the answer is."""

    epsilon: Required[LevelLike]
    delta: LevelLike
    neighbours: str | Neighbours | None
    unit: str | None
    reduce: str | Mapping[str, str] | None
    reduce_order: str | None
    where: str | None
    groups: Iterable[Option] | Iterable[Iterable[Option]] | None
    public_groups: bool
    groups_per_person: int | None
    levels: str | None
    aim: AimLike | None
    part: str | int | None
    types: Mapping[str, str] | None
    delimiter: str | None
    encoding: str | None
    description: str | os.PathLike[str] | None


class AskOptions(AskOptionsOfAll, total=False):
    """The fields of :class:`Ask` beside the question, for readers of types."""

    by: str | Sequence[str] | None


class ReleaseOptionsOfAll(AskOptionsOfAll, total=False):
    """The options of a release but *by*: those of :class:`Ask`, who pays, and when the answer is given."""

    ledger: Ledger | str | os.PathLike[str] | None
    answer_after: float | None


class ReleaseOptions(ReleaseOptionsOfAll, total=False):
    """All options of a release."""

    by: str | Sequence[str] | None


# Made from the list.


def takes_options(*without: str) -> Callable[[Made], Made]:
    """For a function whose ``**options`` are the fields of :class:`Ask`: its signature lists them."""

    def decorate(function: Made) -> Made:
        own = list(inspect.signature(function).parameters.values())
        taken = {one.name for one in own} | {"question", *without}
        options = [_parameter(one) for name, one in FIELDS.items() if name not in taken]
        before = [one for one in own if one.kind is not one.VAR_KEYWORD]
        shown = inspect.Signature(sorted([*before, *options], key=lambda one: (one.kind, one.default is not one.empty)))
        function.__signature__ = shown  # type: ignore[attr-defined]
        return function

    return decorate


def _parameter(one: Field[Any]) -> inspect.Parameter:
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=one.type)


def from_json(said: Mapping[str, Any], *, remedy: str, keys: bool = True) -> Ask:
    """An :class:`Ask` from the keys of a document, or from its own names; a value of another form is refused by its name."""
    values = {}
    for name in FIELDS:
        key = key_of(name) if keys else name
        value = said.get(key)
        if value is None:
            continue
        if not meaning_of(name).form.is_json(value):
            raise InputError(key, value, f"is not {meaning_of(name).form.words}", remedy)
        values[name] = value
    return Ask(**values)
