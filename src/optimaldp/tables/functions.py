"""Functions of typed terms: lists, patterns, text, dates, the first value that is known."""

from __future__ import annotations

from dataclasses import replace

from optimaldp.errors import QuestionError
from optimaldp.tables import terms
from optimaldp.tables.canonical import Kind
from optimaldp.tables.schema import WORDS
from optimaldp.tables.sql import SqlTable, Value
from optimaldp.tables.terms import Build, Term, read_as, sides


def among(value: Term, items: list[Term], text: str) -> Term:
    """Whether a value is one of several literals."""
    if any(item.literal is None for item in items):
        raise QuestionError("predicate", text, "lists something else than literals after IN")
    for item in items:
        terms.check_listed(value, item)
    pairs = [sides(value, item, text) for item in items]
    if value.open and len({left.kind for left, _ in pairs}) > 1:
        raise QuestionError(
            "predicate", text, "lists several kinds of values after IN", "list numbers only, or texts only"
        )
    if any(left.kind == "real" for left, _ in pairs):
        pairs = [(read_as(left, "real"), read_as(right, "real")) for left, right in pairs]
    left, literals = pairs[0][0], [right for _, right in pairs]
    if len(literals) > terms.MANY and terms.can_list(left.kind, left.largest):
        return _among_many(left, literals, text)
    return Term("truth", lambda table: left.build(table).isin([literal.build(table) for literal in literals]), text)


def _among_many(value: Term, literals: list[Term], text: str) -> Term:
    listed = tuple(literal.literal for literal in literals)

    def build(table: SqlTable) -> Value:
        one = value.build(table)
        return table.dialect.cases((one.notnull(), one.among(listed)))

    return Term("truth", build, text)


def like(value: Term, pattern: Term, text: str) -> Term:
    """Text that matches a pattern of ``%`` and ``_``."""
    _needs("text", value, text)
    if not isinstance(pattern.literal, str):
        raise QuestionError("predicate", text, "has a pattern that is not written out", "write LIKE 'a%'")
    if "\\" in pattern.literal:
        # Engines disagree on what a backslash in a pattern means.
        raise QuestionError("predicate", text, "has a backslash in its pattern", "use % and _ only")
    return Term("truth", lambda table: value.build(table).like(pattern.build(table)), text)


def text_function(name: str, value: Term, text: str) -> Term:
    _needs("text", value, text)
    return Term("text", lambda table: getattr(value.build(table), name)(), text)


def length(value: Term, text: str) -> Term:
    _needs("text", value, text)
    return Term("whole", lambda table: value.build(table).length(), text, 2.0**31, 1.0)


def date_part(part: str, value: Term, text: str) -> Term:
    """Year, month or day of a date; NULL for dates outside the years 1 to 9999, where engines disagree or fail."""
    value = read_as(value, "time")
    if value.kind not in ("date", "time") or value.literal is not None:
        raise QuestionError("predicate", text, "needs a column of dates")
    if value.zoned:
        raise QuestionError("predicate", text, "depends on a time zone", "compare with points in time instead")

    return Term("whole", lambda table: _days(value, table).date_part(part), text, 9999.0, 1.0)


def period(name: str, value: Term, text: str) -> Build:
    """Which day, week (from Monday on), month or year a date is in, numbered through all years."""
    if value.kind not in ("date", "time"):
        raise QuestionError(
            "unit", text, f"needs a column of dates, not of {WORDS[value.kind]}", "name a column of dates"
        )
    if value.zoned:
        raise QuestionError("unit", text, "depends on a time zone", "name a column of dates")

    def build(table: SqlTable) -> Value:
        days = _days(value, table)
        if name == "day":
            return days
        if name == "week":
            return (days + _ERA) // 7  # the first day of the year 1 was a Monday
        year = days.date_part("year")
        return year if name == "year" else year * 12 + days.date_part("month")

    return build


def _days(value: Term, table: SqlTable) -> Value:
    """A date or a point in time as a number of days."""
    when = value.build(table)
    if value.kind == "time":
        when = (when + _ERA * _DAY) // _DAY - _ERA  # above zero, where every engine divides alike
    return when


_DAY, _ERA = 86_400_000_000, 719_162


def first_known(parts: list[Term], text: str) -> Term:
    """COALESCE: the first value that is not NULL."""
    written = next((part for part in parts if part.constant), None)
    if written is not None:
        parts = [read_as(part, written.kind) for part in parts]
    kinds = {part.kind for part in parts}
    if kinds == {"whole", "real"}:
        parts = [read_as(part, "real") for part in parts]
    elif len(kinds) > 1:
        raise QuestionError("predicate", text, "mixes kinds of values", "give one kind to COALESCE")
    bounds = max(part.largest for part in parts), min(part.smallest for part in parts)

    def build(table: SqlTable) -> Value:
        return table.dialect.coalesce(*(part.build(table) for part in parts))

    first = replace(parts[0], open=all(part.open for part in parts), constant=all(part.constant for part in parts))
    return replace(first, build=build, text=text, literal=None, listed=None, largest=bounds[0], smallest=bounds[1])


def _needs(kind: Kind, value: Term, text: str) -> None:
    if value.kind != kind:
        raise QuestionError("predicate", text, f"needs {WORDS[kind]}, not {WORDS[value.kind]}")
