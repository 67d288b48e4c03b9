"""The public description of a table: how its cells are written, who is a person, which values there are.

A description is a Data Package descriptor (Frictionless Data, Table Schema) as JSON or TOML, with our own key ``optimaldp``.
It is data: read once, checked, frozen and hashed. Keys that we do not know are kept and change nothing but the hash; a key that
would change how a cell is read and that we do not follow is refused.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from optimaldp.errors import TableError
from optimaldp.privacy.units import period_of, unit_text
from optimaldp.tables.canonical import Kind
from optimaldp.tables.declaring import check_form, declared_moment
from optimaldp.tables.schema import Cell, ColumnType, Meaning, Schema, of_cell
from optimaldp.tables.source import Source
from optimaldp.tables.tally import Edge, Option
from optimaldp.tables.versions import read_as

ENDINGS = (".datapackage.json", ".datapackage.toml", "datapackage.json", "datapackage.toml")
NUMBER_RULES = ("sum", "mean", "median", "min", "max", "count", "first", "last")
CATEGORY_RULES = ("most-frequent", "first", "last")
_CONDITION_RULES = ("any", "all", "most")
_TYPES: dict[str, Meaning] = {
    "string": "text",
    "integer": "whole",
    "year": "whole",
    "number": "number",
    "boolean": "truth",
    "date": "date",
    "datetime": "time",
    "any": "open",
}
_UNREAD = ("object", "array", "list", "time", "yearmonth", "duration", "geopoint", "geojson", "binary")
_TRUE, _FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
_NEIGHBOURS = ("substitution", "add-remove")
# What a dialect may say beside its delimiter: only what our reader does anyway.
_DIALECT: dict[str, tuple[object, ...]] = {
    "quoteChar": ('"',),
    "doubleQuote": (True,),
    "header": (True,),
    "headerRows": ([1],),
    "skipInitialSpace": (False,),
    "commentChar": (None, ""),
    "commentRows": ([],),
    "escapeChar": (None, ""),
    "nullSequence": (None, ""),
    "lineTerminator": ("\n", "\r\n"),
}
_SIZES: dict[Meaning, tuple[Kind, ...]] = {
    "number": ("whole", "real"),
    "whole": ("whole", "real"),
    "text": ("text",),
    "truth": ("truth",),
    "date": ("date",),
    "time": ("time",),
}
"""Columns of which stored kinds a described type fits, where the source has types of its own."""


@dataclass(frozen=True)
class Field:
    """One described column: how a cell is written, and which values are public."""

    name: str
    type: str
    cell: Cell | None
    """How a cell of text is read; None for a type that no question can use."""
    options: tuple[Option, ...] | None = None
    low: Edge | None = None
    high: Edge | None = None
    step: Fraction | None = None
    required: bool = False
    """Whether a violating cell is read as *otherwise*, so that nobody is without a value."""

    @property
    def steps(self) -> tuple[Fraction, Fraction, Fraction] | None:
        """The range and the step of a number, where both are said; whole numbers have the step 1 by themselves."""
        step = self.step or (Fraction(1) if self.type in ("integer", "year") else None)
        if step is None or not isinstance(self.low, Fraction) or not isinstance(self.high, Fraction):
            return None
        return self.low, self.high, step

    @property
    def otherwise(self) -> Option | Edge | None:
        """What a cell is read as that is missing though it is required: the first option, or the minimum."""
        if not self.required:
            return None
        return self.options[0] if self.options else self.low

    def shown(self) -> dict[str, Any]:
        """The column as JSON, without what is not said of it."""
        said = {"options": self.options, "minimum": self.low, "maximum": self.high, "step": self.step}
        public = {name: _as_json(value) for name, value in said.items() if value is not None}
        return {"name": self.name, "type": self.type, **public, "required": self.required}

    def column(self, stored: ColumnType) -> ColumnType:
        """The type of the described column, from its stored one."""
        cell = self.cell
        if cell is None:
            return ColumnType("other", self.type)
        if stored.kind == "text":
            made = of_cell(replace(cell, otherwise=self.otherwise, only=self.options if self.required else None))
        elif cell.meaning == "open" or stored.kind in _SIZES[cell.meaning]:
            made = stored
        else:
            rule = f"is described as {self.type}, but the table's column holds {stored.words}"
            raise TableError("description", self.name, rule, "describe it as it is stored")
        options = self.options if self.options is not None else made.options
        return replace(made, options=options, required=made.required or self.otherwise is not None, field=self)


@dataclass(frozen=True)
class Description:
    """A public description of one table: frozen, checked against itself, with a hash.

    **Guarantee.** Nothing in it was computed from the data by this library; what it says is what its author typed or accepted.
    """

    name: str
    path: str
    """Where the table is: a path (made absolute from the place of the file) or a URL."""
    fields: tuple[Field, ...]
    encoding: str | None = None
    delimiter: str | None = None
    person: str | tuple[str, ...] | None = None
    """The column that names a person (several: a person limited in time); None if each row is a person, or if nothing is said."""
    says_person: bool = False
    """Whether the description says who is a person at all; ``"person": null`` says that each row is one."""
    neighbours: Literal["substitution", "add-remove"] | None = None
    reviewed: bool = False
    reduce: Mapping[str, str] = field(default_factory=dict)
    reduce_order: str | None = None
    public: tuple[str, ...] = ()
    """Columns whose values anybody may know: it permits parts, public groups and levels on them."""
    document: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    """The descriptor as it was written, with every key."""
    hash: str = ""
    file: str | None = field(default=None, compare=False)
    """The file that it was read from."""

    def __repr__(self) -> str:
        state = "reviewed" if self.reviewed else "not reviewed"
        return f"Description({self.name!r}, {len(self.fields)} fields, {state}, {self.hash[:12]})"

    def shown(self) -> dict[str, Any]:
        """What anybody may know of the table, as JSON: its columns with their public values, and who counts as a person."""
        person = list(self.person) if isinstance(self.person, tuple) else self.person
        return {
            "columns": [one.shown() for one in self.fields],
            "person": person,
            "neighbours": self.neighbours,
            "public": list(self.public),
            "reduce": dict(self.reduce),
            "hash": self.hash,
        }

    def published(self) -> dict[str, Any]:
        """The descriptor as documents of releases hold it: without the place of the table, which can be a URL with a password."""
        resource = _resource(self.document, _mapping("optimaldp", self.document.get("optimaldp", {})))
        bare = {name: value for name, value in resource.items() if name != "path"}
        told: dict[str, Any] = _written({**self.document, "resources": [bare]})
        return told

    def need_review(self) -> None:
        """Refuse a description that nobody has reviewed: nothing is released with it."""
        if not self.reviewed:
            remedy = f"check it with: optimaldp describe {self.file or 'NAME.datapackage.json'} --check, then --accept"
            raise TableError(
                "description", self.file or self.name, "is not reviewed, so nothing is released with it", remedy
            )

    def find(self, column: str) -> Field | None:
        """The field of that name."""
        return next((one for one in self.fields if one.name == column), None)

    def apply(self, source: Source) -> Source:
        """The source read as described; refused, before a record is read, where the description does not fit the table."""
        known = {name: (name, stored) for name, stored in source.schema.columns}
        columns = dict(source.schema.columns)
        for one in self.fields:
            if one.name not in known:
                remedy = f"the columns are {', '.join(list(columns)[:20])}{' …' if len(columns) > 20 else ''}"
                raise TableError("description", one.name, f"is not a column of {source.label}", remedy)
            stored = columns[one.name]
            if stored.kind == "text" and one.cell is not None:
                check_form(source, one.name, one.cell, "description")
            columns[one.name] = one.column(stored)
        for word, named in self._named_columns():
            if named not in columns:
                raise TableError("description", named, f"is named by {word} but is not a column of {source.label}")

        def version() -> str | None:
            token = source.version()
            return None if token is None else read_as(token, self.hash)

        return replace(source, schema=Schema(tuple(columns.items())), version=version, description=self)

    @property
    def unit(self) -> str | None:
        """Who is one person, as ledgers and documents keep it."""
        return unit_text(self.person) if isinstance(self.person, tuple) else self.person

    def _named_columns(self) -> list[tuple[str, str]]:
        people = (self.person,) if isinstance(self.person, str) else self.person or ()
        named = [("person", period_of(name)[1] if place else name) for place, name in enumerate(people)]
        named += [("public", name) for name in self.public]
        order = [] if self.reduce_order is None else [("reduce_order", self.reduce_order)]
        return named + [("reduce", name) for name in self.reduce] + order


def _as_json(value: Any) -> Any:
    """Values and edges as JSON has them: whole numbers and truths as they are, anything else as its text."""
    if isinstance(value, tuple):
        return [_as_json(one) for one in value]
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value if isinstance(value, (bool, int, str)) else str(value)


def _written(value: Any) -> Any:
    """A value of a descriptor as JSON writes it."""
    if isinstance(value, Mapping):
        return {str(key): _written(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(one) for one in value]
    if isinstance(value, Decimal):
        if not value.is_finite() or not _is_small(value):
            return str(value)
        return int(value) if value == value.to_integral_value() else float(value)
    return value.isoformat() if isinstance(value, datetime.date) else value


def published_reading(document: Mapping[str, Any]) -> Description:
    """The description that stands in the document of a release, without the place of the table."""
    whole = _mapping("described", document)
    resource = _mapping("described", _resource(whole, _mapping("optimaldp", whole.get("optimaldp", {}))))
    return parse_description({**whole, "resources": [{**resource, "path": "table.csv"}]})


def is_description(path: str) -> bool:
    """Whether a path is named like a description."""
    return path.lower().endswith(ENDINGS)


def public_schema(opened: Source) -> dict[str, Any]:
    """What anybody may know of a table: its description, or the names and types of its columns where nobody wrote one."""
    if opened.description is not None:
        return opened.description.shown()
    return {"columns": [{"name": name, "type": column.words} for name, column in opened.schema.columns]}


def is_described(source: object) -> bool:
    """Whether a source is a description of a table, or the path of one."""
    if isinstance(source, (str, os.PathLike)):
        return is_description(os.fsdecode(source))
    return isinstance(source, Description) or getattr(source, "description", None) is not None


def read_description(path: str | os.PathLike[str]) -> Description:
    """Read NAME.datapackage.json or NAME.datapackage.toml; a relative path of the table starts at the folder of the file."""
    file = os.fspath(path)
    try:
        with open(file, "rb") as opened:
            text = opened.read().decode("utf-8-sig")
    except FileNotFoundError:
        raise TableError("description", file, "does not exist", "make one with: optimaldp describe TABLE") from None
    except (OSError, UnicodeError):
        raise TableError("description", file, "cannot be read as UTF-8 text") from None
    try:
        document = tomllib.loads(text) if file.lower().endswith(".toml") else json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError, ArithmeticError):
        raise TableError("description", file, "is neither JSON nor TOML as its name says") from None
    return parse_description(document, file=file)


def parse_description(document: object, *, file: str | None = None) -> Description:
    """A description from the keys of a Data Package descriptor.

    >>> fields = [{"name": "cost", "type": "number", "decimalChar": ",", "constraints": {"minimum": 0, "maximum": 50}}]
    >>> made = parse_description({"resources": [{"path": "p.csv", "schema": {"fields": fields}}], "optimaldp": {"person": None}})
    >>> made.find("cost").high, made.says_person, made.reviewed
    (Fraction(50, 1), True, False)
    """
    whole = _mapping("description", document)
    own = _mapping("optimaldp", whole.get("optimaldp", {}))
    resource = _resource(whole, own)
    schema = _mapping("schema", resource.get("schema", {}))
    missing = _words("missingValues", schema.get("missingValues", [""]))
    steps = _mapping("step", own.get("step", {}))
    fields = tuple(_field(one, missing, steps) for one in _listed("fields", schema.get("fields", [])))
    names = [one.name for one in fields]
    if not fields or len(set(names)) < len(names):
        raise _wrong("fields", names, "name no column, or one twice", "list every described column once")
    for name in steps:
        if name not in names:
            raise _wrong("step", name, "is not a described column")
    person, says_person = _person(own)
    neighbours = own.get("neighbours")
    if neighbours is not None and neighbours not in _NEIGHBOURS:
        raise _wrong("neighbours", neighbours, "are neither substitution nor add-remove")
    if isinstance(person, tuple) and neighbours != "add-remove":
        rule = (
            "do not go with a person of several columns, who is limited in time: how many months there are is private"
        )
        raise _wrong("neighbours", neighbours, rule, 'write "neighbours": "add-remove"')
    reviewed = own.get("reviewed", False)
    if not isinstance(reviewed, bool):
        raise _wrong("reviewed", reviewed, "is neither true nor false")
    dialect = _dialect(resource.get("dialect", {}))
    order = own.get("reduce_order")
    return Description(
        name=str(whole.get("name") or resource.get("name") or "table"),
        path=_located(resource, file),
        fields=fields,
        encoding=_encoding(resource),
        delimiter=dialect,
        person=person,
        says_person=says_person,
        neighbours=neighbours,
        reviewed=reviewed,
        reduce=_reduce(own, fields),
        reduce_order=_optional_text("reduce_order", order),
        public=tuple(_words("public", own.get("public", []))),
        document=whole,
        hash=description_hash(whole),
        file=file,
    )


def description_hash(document: Mapping[str, object]) -> str:
    """The hash of a descriptor: the same for the same keys and values, in whatever order and format they are written."""
    return hashlib.sha256(json.dumps(_plain(document), sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float, Decimal)):
        number = Decimal(str(value))
        return str(Fraction(number)) if number.is_finite() and _is_small(number) else str(number)
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


def _resource(whole: Mapping[str, Any], own: Mapping[str, Any]) -> Mapping[str, Any]:
    resources = [_mapping("resources", one) for one in _listed("resources", whole.get("resources", []))]
    wanted = own.get("resource")
    chosen = [one for one in resources if wanted is None or one.get("name") == wanted]
    if len(chosen) != 1:
        names = [one.get("name") for one in resources]
        remedy = 'describe one table, or say which: "optimaldp": {"resource": "NAME"}'
        raise _wrong("resources", names, "do not say which one table is described", remedy)
    return chosen[0]


def _located(resource: Mapping[str, Any], file: str | None) -> str:
    path = resource.get("path")
    if not isinstance(path, str) or not path:
        remedy = "write the path or the URL of one table; several files are a folder or glob:folder/*.csv"
        raise _wrong("path", path, "does not say where the table is", remedy)
    if is_description(path):
        raise _wrong("path", path, "is a description itself", "write the path of the table")
    if "://" in path or path.startswith("glob:") or os.path.isabs(path) or file is None:
        return path
    return os.path.join(os.path.dirname(file), path)


def _encoding(resource: Mapping[str, Any]) -> str | None:
    """The declared encoding; None for UTF-8, which files other than CSV have anyway."""
    name = _optional_text("encoding", resource.get("encoding"))
    return None if name is None or name.lower().replace("-", "") == "utf8" else name


def _dialect(given: object) -> str | None:
    dialect = _mapping("dialect", given)
    for key, value in dialect.items():
        if key in _DIALECT and value not in _DIALECT[key]:
            raise _wrong(f"dialect.{key}", value, "is not how a CSV is read here", "convert the file, or leave it out")
    return _optional_text("delimiter", dialect.get("delimiter"))


def _person(own: Mapping[str, Any]) -> tuple[str | tuple[str, ...] | None, bool]:
    """Who is a person, and whether anything is said; TOML, which has no null, writes false."""
    if "person" not in own:
        return None, False
    person = own["person"]
    if person is None or person is False:
        return None, True
    if isinstance(person, str) and person:
        return person, True
    columns = tuple(_words("person", person))
    if len(columns) < 2 or len(set(columns)) < len(columns):
        raise _wrong("person", person, "is neither null nor a column nor a list of columns")
    return columns, True


def _reduce(own: Mapping[str, Any], fields: tuple[Field, ...]) -> dict[str, str]:
    rules = _mapping("reduce", own.get("reduce", {}))
    known = {one.name: one for one in fields}
    for column, rule in rules.items():
        if column not in known:
            raise _wrong("reduce", column, "is not a described column")
        numeric = known[column].type in ("number", "integer", "year", "date", "datetime")
        fitting = NUMBER_RULES if numeric else CATEGORY_RULES
        truth = known[column].type == "boolean"
        if rule not in fitting and not (truth and rule in _CONDITION_RULES):
            raise _wrong(
                f"reduce.{column}", rule, "is not a rule for this column", f"the rules are {', '.join(fitting)}"
            )
    return dict(rules)


def _field(given: object, missing: Sequence[str], steps: Mapping[str, Any]) -> Field:
    one = _mapping("fields", given)
    name, kind = one.get("name"), one.get("type", "any")
    if not isinstance(name, str) or not name:
        raise _wrong("fields", name, "is not the name of a column")
    if not isinstance(kind, str) or (kind not in _TYPES and kind not in _UNREAD):
        raise _wrong(f"type of {name}", kind, "is not a type", f"the types are {', '.join(_TYPES)}")
    limits = _mapping(f"constraints of {name}", one.get("constraints", {}))
    own_missing = _words(f"missingValues of {name}", one["missingValues"]) if "missingValues" in one else missing
    cell = (
        None
        if kind in _UNREAD
        else replace(_cell(name, kind, one), missing=tuple(text for text in own_missing if text))
    )
    options = _options(name, kind, limits)
    low, high = (_limit(name, kind, word, limits.get(word)) for word in ("minimum", "maximum"))
    if low is not None and high is not None and low >= high:  # type: ignore[operator]  # both numbers, or both dates
        raise _wrong(f"constraints of {name}", f"{low} to {high}", "do not rise")
    step = None if name not in steps else _number(f"step.{name}", steps[name])
    if step is not None and step <= 0:
        raise _wrong(f"step.{name}", str(step), "is not above 0")
    required = limits.get("required", False)
    if not isinstance(required, bool):
        raise _wrong(f"constraints.required of {name}", required, "is neither true nor false")
    # Without a value to read a violating cell as, "required" is a hope: a person can still be without one.
    return Field(name, kind, cell, options, low, high, step, required and (options is not None or low is not None))


def _cell(name: str, kind: str, one: Mapping[str, Any]) -> Cell:
    meaning, form = _TYPES[kind], one.get("format", "default")
    if kind in ("number", "integer"):
        if one.get("bareNumber", True) is not True:
            raise _wrong(f"bareNumber of {name}", one["bareNumber"], "is not how a number is read here")
        group, point = one.get("groupChar", ""), one.get("decimalChar", ".")
        marks = (group or "", point)
        signs = set('+-0123456789eE"\n\r')
        if (
            not all(isinstance(mark, str) and len(mark) <= 1 and mark not in signs for mark in marks)
            or marks[0] == point
        ):
            rule = "are not one mark between thousands and another one before decimals"
            raise _wrong(f"groupChar and decimalChar of {name}", list(marks), rule)
        return Cell(meaning, () if marks == ("", ".") else marks)
    if kind == "boolean":
        yes = tuple(_words(f"trueValues of {name}", one.get("trueValues", _TRUE)))
        no = tuple(_words(f"falseValues of {name}", one.get("falseValues", _FALSE)))
        if set(yes) & set(no) or not yes or not no:
            raise _wrong(f"trueValues of {name}", list(yes), "are empty or among the falseValues")
        return Cell(meaning, words=(yes, no))
    if meaning in ("date", "time") and form not in ("default", "", None):
        if form == "any" or not isinstance(form, str):
            remedy = "write for example %d.%m.%Y"
            raise _wrong(f"format of {name}", form, "does not say how a date is written", remedy)
        return Cell(meaning, (declared_moment(name, meaning, form.removeprefix("fmt:")),))
    return Cell(meaning)


def _options(name: str, kind: str, limits: Mapping[str, Any]) -> tuple[Option, ...] | None:
    if kind == "boolean":
        return (False, True)
    if "enum" not in limits:
        return None
    values = _listed(f"enum of {name}", limits["enum"])
    fitting: type = int if kind in ("integer", "year") else str
    for value in values:
        if not isinstance(value, fitting) or isinstance(value, bool):
            raise _wrong(f"enum of {name}", str(value), f"does not fit the type {kind}")
    if not values or len(set(values)) < len(values):
        raise _wrong(f"enum of {name}", str(values), "lists nothing, or something twice")
    return tuple(values)


def _limit(name: str, kind: str, word: str, value: object) -> Edge | None:
    if value is None:
        return None
    place = f"{word} of {name}"
    if kind in ("number", "integer", "year"):
        return _number(place, value)
    if kind in ("date", "datetime"):
        try:
            text = value.isoformat() if isinstance(value, datetime.date) else str(value)
            return (datetime.date if kind == "date" else datetime.datetime).fromisoformat(text)
        except ValueError:
            raise _wrong(place, str(value), "is not a date such as 2024-01-31") from None
    raise _wrong(place, str(value), f"does not fit the type {kind}")


def _number(place: str, value: object) -> Fraction:
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
            raise ValueError
        text = str(value)
        small = "/" in text or _is_small(Decimal(text))
        number = Fraction(text) if small else None
    except (ValueError, ArithmeticError):
        raise _wrong(place, str(value), "is not a number") from None
    if number is None:
        raise _wrong(place, text, f"has more than {_MOST_DIGITS} digits")
    return number


_MOST_DIGITS = 400  # more than a double knows


def _is_small(number: Decimal) -> bool:
    """Whether a number can be written out: a few letters may stand for a thousand million digits."""
    return abs(number.adjusted()) <= _MOST_DIGITS


def _mapping(place: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(place, type(value).__name__, "is not an object of keys and values")
    return value


def _listed(place: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(place, type(value).__name__, "is not a list")
    return value


def _words(place: str, value: object) -> list[str]:
    """A list of texts; since Table Schema 2 a missing value may be an object with its label."""
    given = value if isinstance(value, (list, tuple)) else [value]
    texts = [one.get("value") if isinstance(one, Mapping) else one for one in given]
    if not all(isinstance(text, str) for text in texts):
        raise _wrong(place, str(value), "is not a list of texts")
    return texts  # type: ignore[return-value]  # all of them are texts, as checked


def _optional_text(place: str, value: object) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise _wrong(place, str(value), "is not a text")


def _wrong(place: str, value: object, rule: str, remedy: str = "") -> TableError:
    return TableError(f"description: {place}", value, rule, remedy)
