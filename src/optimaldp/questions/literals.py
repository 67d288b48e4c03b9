"""Names, values and numbers inside the text of a question: how they are written, read and skipped over."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.privacy import read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.tables.tally import Edge, Option, Step

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_OPENING = {"(": ")", "[": "]"}
_UNMATCHED, _MATCH = "has brackets that do not match", "close every ( and [ that was opened, and no other"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DURATION = re.compile(r"\s*(\d{1,9})\s*(seconds?|minutes?|hours?|days?|weeks?)\s*", re.IGNORECASE)
_UNITS = {"second": "seconds", "minute": "minutes", "hour": "hours", "day": "days", "week": "weeks"}


def end_of_quoted(text: str, start: int) -> int:
    """The position behind a quoted piece that starts at *start*; the quote is doubled inside, as in SQL."""
    quote, position = text[start], start + 1
    while position < len(text):
        if text[position] != quote:
            position += 1
        elif text[position + 1 : position + 2] == quote:
            position += 2
        else:
            return position + 1
    raise QuestionError(
        "question", text, f"has a quote {quote} that is never closed", "double it inside a value: 'it''s'"
    )


def end_of_group(text: str, start: int) -> int:
    """The position behind the bracket that closes the one at *start*; brackets inside quotes do not count."""
    expected = [_OPENING[text[start]]]
    position = start + 1
    while position < len(text):
        character = text[position]
        if character in "'\"":
            position = end_of_quoted(text, position)
            continue
        if character in _OPENING:
            expected.append(_OPENING[character])
        elif character in ")]":
            if character != expected.pop():
                break
            if not expected:
                return position + 1
        position += 1
    raise QuestionError("question", text, _UNMATCHED, _MATCH)


def top_level_words(text: str, separator: str) -> list[str]:
    """Split at a comma, or at a word such as ``among``, that stands outside of quotes and brackets.

    >>> top_level_words("x IN (1, 2), 'a, b'", ","), top_level_words('among_us = 1 AMONG "among"', "among")
    (['x IN (1, 2)', "'a, b'"], ['among_us = 1', '"among"'])
    """
    if not text.strip():
        return []
    word = re.compile(rf"\b{separator}\b" if separator.isalpha() else re.escape(separator), re.IGNORECASE)
    parts, begin, position = [], 0, 0
    while position < len(text):
        character = text[position]
        if character in "'\"":
            position = end_of_quoted(text, position)
        elif character in _OPENING:
            position = end_of_group(text, position)
        elif character in ")]":
            raise QuestionError("question", text, _UNMATCHED, _MATCH)
        elif match := word.match(text, position):
            parts.append(text[begin:position].strip())
            begin = position = match.end()
        else:
            position += 1
    return [*parts, text[begin:].strip()]


def check_predicate(predicate: object) -> str:
    """A condition's text, which must stand on its own between two brackets."""
    if not isinstance(predicate, str) or not predicate.strip():
        raise QuestionError("predicate", predicate, "is not an SQL condition", 'write for example "age >= 65"')
    text = predicate.strip()
    if len(top_level_words(text, "among")) > 1:  # which refuses brackets that close nothing or are never closed
        raise QuestionError("predicate", predicate, "holds the word among", 'write a column of that name as "among"')
    return text


def check_among(condition: object) -> str | None:
    """The condition behind ``among``, or ``None``."""
    return None if condition is None else check_predicate(condition)


def check_column(column: object) -> str:
    if not isinstance(column, str) or not column:
        raise QuestionError("column", column, "is not the name of a column")
    return column


def write_column(column: str) -> str:
    """The name itself where it is a plain word, else in double quotes: so is the keyword ``among``."""
    plain = _PLAIN_NAME.fullmatch(column) and column.lower() != "among"
    return column if plain else '"' + column.replace('"', '""') + '"'


def read_column(text: str) -> str:
    if text.startswith('"') and len(text) > 2 and end_of_quoted(text, 0) == len(text):
        return text[1:-1].replace('""', '"')
    if _PLAIN_NAME.fullmatch(text):
        return text
    raise QuestionError("column", text, "is not the name of a column", 'quote an unusual name: "my column"')


def check_options(options: Iterable[Any] | None) -> tuple[Option, ...] | None:
    """Public options: texts, whole numbers or booleans, all different, at least one."""
    if options is None:
        return None
    if isinstance(options, (str, bytes)):
        remedy = "give a list of options: ['a', 'b']; a table of several columns is a crosstab"
        raise QuestionError("options", options, "is one text", remedy)
    listed = tuple(options)
    for option in listed:
        if not isinstance(option, (str, int)):
            raise QuestionError("option", option, "is not a text, a whole number or a boolean")
    if not listed:
        raise QuestionError("options", [], "is empty", "name at least one option")
    if len({answer_text(option) for option in listed}) < len(listed):
        raise QuestionError("options", list(listed), "names an option twice", "options are different from each other")
    return listed


def answer_text(option: Option) -> str:
    """The option as an answer is printed: booleans as ``true`` and ``false``."""
    return str(option).lower() if isinstance(option, bool) else str(option)


def write_option(option: Option) -> str:
    """The option as it stands in the text of a question."""
    return answer_text(option) if isinstance(option, int) else "'" + option.replace("'", "''") + "'"


def read_option(text: str) -> Option:
    if text[:1] in ("'", '"') and len(text) > 1 and end_of_quoted(text, 0) == len(text):
        return text[1:-1].replace(text[0] * 2, text[0])
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[+-]?\d{1,40}", text):
        return int(text)
    raise QuestionError("option", text, "is not an option", "write 'text' in quotes, a whole number, true or false")


def read_list(text: str) -> list[str]:
    """The parts of ``[a, b, c]``."""
    if not text.startswith("[") or end_of_group(text, 0) != len(text):
        raise QuestionError("list", text, "is not a list in brackets", "write ['a', 'b'] or [0, 10, 20]")
    return top_level_words(text[1:-1], ",")


def check_edges(edges: Iterable[Any]) -> tuple[Edge, ...]:
    """Public bin edges, numbers or dates: at least two, rising."""
    if isinstance(edges, (str, bytes)):
        raise QuestionError("bins", edges, "is one text", "give a list of edges: [0, 18, 65, 100]")
    checked = tuple(read_edge(edge, "bins") for edge in edges)
    same_kind = len({type(edge) for edge in checked}) == 1
    if len(checked) < 2 or not same_kind or any(a >= b for a, b in pairwise(checked)):  # type: ignore[operator]
        shown = [write_edge(edge) for edge in checked]
        raise QuestionError("bins", shown, "is not a rising list of at least two edges", "write bins=[0, 18, 65, 100]")
    return checked


def read_edge(value: object, field: str) -> Edge:
    """A number, a date or a point in time; as text a date stands in quotes: ``'2020-01-31'``."""
    if isinstance(value, (datetime.datetime, datetime.date)):
        return value
    if isinstance(value, str) and value[:1] in ("'", '"') and len(value) > 1:
        value = value[1:-1]
    if isinstance(value, str) and _DATE.match(value):
        try:
            whole_day = len(value) == len("2020-01-31")
            return datetime.date.fromisoformat(value) if whole_day else datetime.datetime.fromisoformat(value)
        except ValueError:
            raise QuestionError(field, value, "is not a date", "write '2020-01-31' or '2020-01-31 12:30'") from None
    return read_number(value, name=field, error=QuestionError)


def write_edge(edge: Edge) -> str:
    """An edge as it stands in the text of a question."""
    return fraction_text(edge) if isinstance(edge, Fraction) else f"'{edge}'"


def edge_text(edge: Edge) -> str:
    """An edge as an answer is printed."""
    return fraction_text(edge) if isinstance(edge, Fraction) else str(edge)


def read_step(value: object, field: str = "step") -> Step:
    """A positive number, or a length of time such as ``'1 day'``, ``'2 weeks'`` or ``'12 hours'``."""
    if isinstance(value, datetime.timedelta):
        step: Step = value
    else:
        text = value[1:-1] if isinstance(value, str) and value[:1] in ("'", '"') else value
        match = _DURATION.fullmatch(text) if isinstance(text, str) else None
        step = _duration(match) if match else read_number(text, name=field, error=QuestionError)
    if (step <= datetime.timedelta(0)) if isinstance(step, datetime.timedelta) else (step <= 0):
        raise QuestionError(field, value, "is not positive", "write step=1, or step='1 day' for dates")
    return step


def _duration(match: re.Match[str]) -> datetime.timedelta:
    return int(match[1]) * datetime.timedelta(**{_UNITS[match[2].lower().rstrip("s")]: 1})


def write_step(step: Step) -> str:
    """A step as it stands in the text of a question."""
    if isinstance(step, Fraction):
        return fraction_text(step)
    seconds = int(step.total_seconds())
    for unit, length in (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1)):
        if seconds % length == 0:
            number = seconds // length
            return f"'{number} {unit}{'' if number == 1 else 's'}'"
    raise AssertionError("a step is a whole number of seconds")


def read_range(value: object) -> tuple[Edge, Edge]:
    """The two ends of ``range=[low, high]``: numbers, dates or points in time."""
    low, high = (read_edge(part, "range") for part in _ends(value))
    if type(low) is not type(high) or not low < high:  # type: ignore[operator]
        raise QuestionError("range", value, "does not rise", "write range=[low, high] with low below high")
    return low, high


def read_number_range(value: object) -> tuple[Fraction, Fraction]:
    """The two ends of a range of numbers."""
    low, high = (read_number(part, name="range", error=QuestionError) for part in _ends(value))
    if not low < high:
        raise QuestionError("range", value, "does not rise", "write range=[low, high] with low below high")
    return low, high


def _ends(value: Any) -> list[Any]:
    parts = read_list(value) if isinstance(value, str) else list(value)
    if len(parts) != 2:
        raise QuestionError("range", value, "does not hold two ends", "write range=[0, 100]")
    return parts


def write_edges(edges: Iterable[Edge]) -> str:
    return "[" + ", ".join(map(write_edge, edges)) + "]"
