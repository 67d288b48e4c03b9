"""How a cell of text is understood: as a number, a date, a point in time or a truth value. What does not fit is NULL, alone.

A CSV has no types, and its rows must not decide any. So a column of text is *open*: the question says how a cell is read, by what
it is compared with; or a type is declared for it.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from typing import TYPE_CHECKING, Any, Literal

from optimaldp.errors import TableError
from optimaldp.tables.engines import engine_name, parsed_moment, writer

if TYPE_CHECKING:
    from optimaldp.tables.schema import Kind

Meaning = Literal["open", "text", "number", "whole", "date", "time", "truth"]

KINDS: dict[Meaning, Kind] = {
    "open": "text",
    "text": "text",
    "number": "real",
    "whole": "whole",
    "date": "date",
    "time": "time",
    "truth": "truth",
}
_EXPONENT = "([eE][+-]?[0-9]+)?"
_NUMBER = f"^[+-]?[0-9]+([.][0-9]+)?{_EXPONENT}$"
_WHOLE = "^[+-]?[0-9]+$"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_DATE = f"^{_DAY}$"
_TIME = f"^{_DAY}([ T][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]{{1,6}})?)?)?$"
# Servers have no cast that gives NULL: there only what surely fits is cast.
_SURE_NUMBER = "^[+-]?[0-9]{1,90}([.][0-9]{1,90})?([eE][+-]?[0-9]{1,2})?$"
_SURE_WHOLE = "^[+-]?[0-9]{1,18}$"
_DIRECTIVES = frozenset("aAbBdmyYHIMSfpj%")


@dataclass(frozen=True)
class Cell:
    """What the cells of a column of text mean, and how they are written."""

    meaning: Meaning
    form: tuple[str, ...] = ()
    """Numbers: the marks of thousands and of decimals. Dates and times: the format. Truth: the words for true and false."""

    def value(self, text: object) -> Any:
        """The cells as values; NULL where a cell does not fit."""
        if self.meaning in ("open", "text"):
            return text
        if self.meaning == "truth":
            return _truth(text, *(self.form or ("true", "false")))
        if self.meaning in ("number", "whole"):
            return self._number(text)
        return self._moment(text)

    def _number(self, text: Any) -> Any:
        write = writer(text)
        whole, engine = self.meaning == "whole", engine_name(text)
        if self.form:
            text = _plain_number(text, *self.form)
        dtype = "int64" if whole else "float64"
        if engine == "duckdb":
            return write.cases((text.re_search(_WHOLE if whole else _NUMBER), text.try_cast(dtype)))
        return write.cases((text.re_search(_SURE_WHOLE if whole else _SURE_NUMBER), text.cast(dtype)))

    def _moment(self, text: Any) -> Any:
        write = writer(text)
        if self.form:
            return parsed_moment(text, self.form[0]).cast("date" if self.meaning == "date" else "timestamp")
        if self.meaning == "date":
            return write.cases((text.re_search(_DATE), text.try_cast("date")))
        return write.cases((text.re_search(_TIME), text.try_cast("timestamp")))


def _truth(text: Any, yes: str, no: str) -> Any:
    write = writer(text)
    lowered = text.lower()
    return write.cases((lowered == yes.lower(), True), (lowered == no.lower(), False))


def _plain_number(text: Any, thousands: str, decimal: str) -> Any:
    """A number with marks between thousands and its own decimal mark, as one without; NULL where it is neither."""
    write = writer(text)
    group, point = re.escape(thousands), re.escape(decimal)
    grouped = f"[0-9]{{1,3}}({group}[0-9]{{3}})+|" if thousands else ""
    pattern = f"^[+-]?({grouped}[0-9]+)({point}[0-9]+)?{_EXPONENT}$"
    plain = text.replace(thousands, "") if thousands else text
    plain = plain if decimal == "." else plain.replace(decimal, ".")
    return write.cases((text.re_search(pattern), plain))


def read_declaration(name: str, written: str) -> Cell:
    """A declared type: ``number``, ``number 1.234,5``, ``whole``, ``date``, ``date %d/%m/%Y``, ``time``, ``yes/no``, ``text``.

    >>> read_declaration("cost", "number 1,234.5")
    Cell(meaning='number', form=(',', '.'))
    """
    word, _, form = str(written).strip().partition(" ")
    word, form = _OLD_NAMES.get(word.lower(), word.lower()), form.strip()
    if word in ("text", "whole") and not form:
        return Cell("text" if word == "text" else "whole")
    if word == "number":
        return Cell("number", _number_form(name, form)) if form else Cell("number")
    if word in ("date", "time"):
        meaning: Meaning = "date" if word == "date" else "time"
        return Cell(meaning, (_moment_form(name, meaning, form),)) if form else Cell(meaning)
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


def _moment_form(name: str, meaning: Meaning, form: str) -> str:
    used = re.findall(r"%-?(.)", form)
    enough = {"y", "Y"} & set(used) and ("j" in used or (set(used) & {"m", "b", "B"} and "d" in used))
    if not enough or not set(used) <= _DIRECTIVES or form.endswith("%"):
        remedy = "write for example %d/%m/%Y or %Y-%m-%d %H:%M:%S; day, month and year are needed"
        raise TableError("types", form, f"is not a format of a {meaning} for column {name}", remedy)
    return form


def cell_text(value: object) -> str | None:
    """A Python object as the text of a cell, by itself; None for what is missing or has no text of its own."""
    try:
        if value is None or value != value:
            return None
        if isinstance(value, str):
            text = str.__str__(value)
            return text if text.isascii() or text.encode() else None  # half of a pair of characters is no text
        if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
            return "true" if value else "false"
        if isinstance(value, datetime.datetime):
            return value.isoformat(" ") if value.tzinfo is None else None
        if isinstance(value, datetime.date):
            return value.isoformat()
        if isinstance(value, Decimal):
            return format(value, "f")
        return str(value) if isinstance(value, Number) else None
    except Exception:  # an object of any class may do anything when it is looked at
        return None
