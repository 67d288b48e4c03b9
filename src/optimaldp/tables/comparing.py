"""Comparisons and functions of typed terms: both sides must be of one kind, and that is checked by type alone."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables import terms
from optimaldp.tables.celltext import Meaning
from optimaldp.tables.engines import writer
from optimaldp.tables.schema import Kind, kind_words
from optimaldp.tables.terms import Term, literal_term, real

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def sides(left: Term, right: Term, text: str) -> tuple[Term, Term]:
    """Two terms made comparable: whole numbers stay exact, text becomes a date beside a date, all else must agree."""
    left, right = read_beside(left, right, text), read_beside(right, left, text)
    left, right = _beside(left, right), _beside(right, left)
    if left.kind == right.kind:
        return left, right
    if {left.kind, right.kind} == {"whole", "real"}:
        return real(left), real(right)
    mixed = f"compares {kind_words(left.kind)} with {kind_words(right.kind)}"
    declared = "--type age=number, or types={'age': 'number'}"
    remedy = f"text goes into single quotes, numbers do not; text that holds numbers is declared: {declared}"
    if {left.kind, right.kind} == {"text", "truth"}:
        remedy = "text goes into single quotes, and true and false in a CSV are text"
    raise QuestionError("predicate", text, mixed, remedy)


_MEANINGS: dict[Kind, Meaning] = {
    "whole": "number",
    "real": "number",
    "text": "text",
    "truth": "truth",
    "date": "date",
    "time": "time",
}


def read_beside(term: Term, other: Term, text: str) -> Term:
    """Open text as the kind of what is written beside it: a number, a quoted text, a date, true or false."""
    if not term.open:
        return term
    if other.open or not other.constant:
        rule = "compares columns, and nothing says how the cells of a column without a type are read"
        raise QuestionError("predicate", text, rule, _DECLARE)
    return terms.read_as(term, _MEANINGS[other.kind])


_DECLARE = "declare types, for example --type age=number, or types={'age': 'number'}"


def _beside(term: Term, other: Term) -> Term:
    """A text literal beside a date or time is one; so is a date literal beside a time."""
    if term.literal is None or other.kind not in ("date", "time"):
        return term
    if term.kind == "text" or (term.kind == "date" and other.kind == "time"):
        return moment(term, other.kind, zoned=other.zoned)
    return term


def moment(term: Term, kind: Kind, *, zoned: bool = False) -> Term:
    """A literal as a date or a point in time; beside a column with a time zone it is UTC."""
    text = str(term.literal)
    try:
        value = datetime.datetime.fromisoformat(text)
        day = datetime.date.fromisoformat(text) if kind == "date" else None
    except ValueError:
        remedy = "write dates as 2024-01-31 and times as 2024-01-31 12:00:00"
        raise QuestionError("predicate", text, "is not a date or a point in time", remedy) from None
    if value.tzinfo is not None:
        raise QuestionError("predicate", text, "names a time zone", "leave it out: times are compared as UTC")
    if day is not None:
        return literal_term(kind, day, "date", term.text)
    if zoned:
        return literal_term(kind, value.replace(tzinfo=datetime.UTC), "timestamp('UTC')", term.text)
    return literal_term(kind, value, "timestamp", term.text)


def moment_literal(when: datetime.date, beside: object, *, zoned: bool = False) -> Any:
    """A date or a point in time that the caller wrote, as an expression."""
    kind: Kind = "time" if isinstance(when, datetime.datetime) else "date"
    return moment(literal_term("text", when.isoformat(), "string", when.isoformat()), kind, zoned=zoned).build(beside)


def compare(symbol: str, left: Term, right: Term, text: str) -> Term:
    if left.kind == "truth" and symbol not in ("=", "<>"):
        raise QuestionError("predicate", text, "puts true and false into an order", "use = or <>")
    apply = _OPERATORS[symbol]
    return Term("truth", lambda table: apply(left.build(table), right.build(table)), text)


def joined(word: str, parts: list[Term], text: str) -> Term:
    """And or or of many parts, as a balanced tree: a list of a thousand must not nest a thousand deep."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    left, right = joined(word, parts[:middle], text), joined(word, parts[middle:], text)
    combine = operator.and_ if word == "and" else operator.or_
    return Term("truth", lambda table: combine(left.build(table), right.build(table)), text)


def among(value: Term, items: list[Term], text: str) -> Term:
    """Whether a value is one of several literals."""
    if any(item.literal is None for item in items):
        raise QuestionError("predicate", text, "lists something else than literals after IN")
    pairs = [sides(value, item, text) for item in items]
    if value.open and len({left.kind for left, _ in pairs}) > 1:
        raise QuestionError(
            "predicate", text, "lists several kinds of values after IN", "list numbers only, or texts only"
        )
    if any(left.kind == "real" for left, _ in pairs):
        pairs = [(real(left), real(right)) for left, right in pairs]
    left, literals = pairs[0][0], [right for _, right in pairs]
    if len(literals) > terms.MANY and terms.can_list(left.kind, left.largest):
        return _among_many(left, literals, text)
    return Term("truth", lambda table: left.build(table).isin([literal.build(table) for literal in literals]), text)


def _among_many(value: Term, literals: list[Term], text: str) -> Term:
    wide = terms.long(value) if value.kind == "whole" else value

    def build(table: object) -> Any:
        write = writer(table)
        one = wide.build(table)
        listed = terms.listing(value.kind, [literal.literal for literal in literals], one)
        return write.cases((one.notnull(), listed.contains(one)))

    return Term("truth", build, text)


def like(value: Term, pattern: Term, text: str) -> Term:
    """Text that matches a pattern of ``%`` and ``_``."""
    _needs("text", value, text)
    if not isinstance(pattern.literal, str):
        raise QuestionError("predicate", text, "has a pattern that is not written out", "write LIKE 'a%'")
    if "\\" in pattern.literal:
        # Engines disagree on what a backslash in a pattern means.
        raise QuestionError("predicate", text, "has a backslash in its pattern", "use % and _ only")
    return Term("truth", lambda table: value.build(table).like(pattern.literal), text)


def text_function(name: str, value: Term, text: str) -> Term:
    _needs("text", value, text)
    return Term("text", lambda table: getattr(value.build(table), name)(), text)


def length(value: Term, text: str) -> Term:
    _needs("text", value, text)
    return Term("whole", lambda table: value.build(table).length(), text, 2.0**31, 1.0)


def date_part(part: str, value: Term, text: str) -> Term:
    """Year, month or day of a date; NULL for dates outside the years 1 to 9999, where engines disagree or fail."""
    value = terms.read_as(value, "time")
    if value.kind not in ("date", "time") or value.literal is not None:
        raise QuestionError("predicate", text, "needs a column of dates")
    if value.zoned:
        raise QuestionError("predicate", text, "depends on a time zone", "compare with points in time instead")

    def build(table: object) -> Any:
        write = writer(table)
        when = value.build(table)
        first, last = _calendar(value.kind, table)
        return write.cases((when.between(first, last), getattr(when, part)().cast("int64")))

    return Term("whole", build, text, 9999.0, 1.0)


def _calendar(kind: Kind, beside: object) -> tuple[Any, Any]:
    write = writer(beside)
    first, last = datetime.date(1, 1, 1), datetime.date(9999, 12, 31)
    if kind == "date":
        return write.literal(first), write.literal(last)
    low, high = (datetime.datetime(day.year, day.month, day.day) for day in (first, last))
    return write.literal(low, type="timestamp"), write.literal(high, type="timestamp")


def first_known(parts: list[Term], text: str) -> Term:
    """COALESCE: the first value that is not NULL."""
    written = next((part for part in parts if part.constant), None)
    if written is not None:
        parts = [read_beside(part, written, text) for part in parts]
    kinds = {part.kind for part in parts}
    if kinds == {"whole", "real"}:
        parts = [real(part) for part in parts]
    elif len(kinds) > 1:
        raise QuestionError("predicate", text, "mixes kinds of values", "give one kind to COALESCE")
    bounds = max(part.largest for part in parts), min(part.smallest for part in parts)

    def build(table: object) -> Any:
        return writer(table).coalesce(*(part.build(table) for part in parts))

    first = replace(parts[0], open=all(part.open for part in parts), constant=all(part.constant for part in parts))
    return replace(first, build=build, text=text, literal=None, largest=bounds[0], smallest=bounds[1])


def _needs(kind: Kind, value: Term, text: str) -> None:
    if value.kind != kind:
        raise QuestionError("predicate", text, f"needs {kind_words(kind)}, not {kind_words(value.kind)}")
