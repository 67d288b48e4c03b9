"""Types that are declared for columns of text: what is written, and what the cells of the column mean by it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from optimaldp.errors import TableError
from optimaldp.tables.canonical import portable_form
from optimaldp.tables.schema import Cell, ColumnType, Meaning, Schema, of_cell
from optimaldp.tables.source import Source
from optimaldp.tables.versions import read_as

_DIRECTIVES = frozenset("aAbBdmyYHIMSfpj%")


def declare(source: Source, types: Mapping[str, str]) -> Source:
    """Say what the cells of some text columns mean; a cell that does not fit is NULL, and nothing else depends on it."""
    declared: dict[str, ColumnType] = {}
    for written, kind in types.items():
        name, column = source.schema.find(written, field="types")
        cell = read_declaration(name, kind)
        if column.kind != "text":
            raise TableError("types", name, f"holds {column.words} already", "declare types for columns of text only")
        check_form(source, name, cell, "types")
        declared[name] = of_cell(cell)
    columns = tuple((name, declared.get(name, column)) for name, column in source.schema.columns)

    def version() -> str | None:
        token = source.version()
        return None if token is None else read_as(token, sorted(types.items()))

    return replace(source, schema=Schema(columns), version=version)


def check_form(source: Source, name: str, cell: Cell, field: str) -> None:
    """Refuse a form of dates that only DuckDB could read from text."""
    if cell.meaning not in ("date", "time") or not cell.form or source.engine.dialect.name == "duckdb":
        return
    if not portable_form(cell.form[0]):
        rule = f"cannot be read from the text of column {name} in this database"
        remedy = "use %Y, %m, %d, %H, %M, %S and %f, or give the column a type there"
        raise TableError(field, cell.form[0], rule, remedy)


def read_declaration(name: str, written: str) -> Cell:
    """A declared type: ``number``, ``number 1.234,5``, ``whole``, ``date``, ``date %d/%m/%Y``, ``time``, ``yes/no``, ``text``.

    >>> read_declaration("cost", "number 1,234.5").form
    (',', '.')
    """
    word, _, form = str(written).strip().partition(" ")
    word, form = _OLD_NAMES.get(word.lower(), word.lower()), form.strip()
    if word in ("text", "whole") and not form:
        return Cell("text" if word == "text" else "whole")
    if word == "number":
        return Cell("number", _number_form(name, form)) if form else Cell("number")
    if word in ("date", "time"):
        meaning: Meaning = "date" if word == "date" else "time"
        return Cell(meaning, (declared_moment(name, meaning, form),)) if form else Cell(meaning)
    yes, slash, no = str(written).strip().partition("/")
    if slash and yes and no and yes.lower() != no.lower():
        return Cell("truth", (yes, no))
    raise TableError("types", written, f"is not a type for column {name}", _EXAMPLES)


_EXAMPLES = "write number, number 1,234.5, number 1.234,5, whole, text, date, date %d/%m/%Y, time or true/false"
# What a type was called before questions read cells.
_OLD_NAMES = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "integer", "int"), "whole"),
    **dict.fromkeys(("float32", "float64", "double", "float", "decimal"), "number"),
    **dict.fromkeys(("string", "varchar"), "text"),
    **dict.fromkeys(("timestamp", "datetime"), "time"),
    **dict.fromkeys(("boolean", "bool"), "true/false"),
}


def _number_form(name: str, example: str) -> tuple[str, str]:
    """The marks of an example such as ``1,234.5``: between thousands, and before decimals."""
    matched = re.fullmatch(r"1(?P<thousands>[^0-9]?)234(?:(?P<decimal>[.,])5+)?", example)
    marks = (matched["thousands"], matched["decimal"] or ".") if matched else ("", "")
    if matched is None or marks[0] == marks[1] or marks[0] in ("+", "-"):
        rule = f"is not an example of how a number in column {name} is written"
        raise TableError("types", example, rule, "write 1,234.5 or 1.234,5 or 1234,5 or 1 234,5")
    return marks


def declared_moment(name: str, meaning: Meaning, form: str) -> str:
    """A format of dates or times in which a whole date can be written."""
    used = re.findall(r"%-?(.)", form)
    enough = {"y", "Y"} & set(used) and ("j" in used or (set(used) & {"m", "b", "B"} and "d" in used))
    if not enough or not set(used) <= _DIRECTIVES or form.endswith("%"):
        remedy = "write for example %d/%m/%Y or %Y-%m-%d %H:%M:%S; day, month and year are needed"
        raise TableError("types", form, f"is not a format of a {meaning} for column {name}", remedy)
    return form
