"""Names, values and numbers inside the text of a question: how they are written, read and skipped over."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.privacy import read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.tables.tally import Option

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_OPENING = {"(": ")", "[": "]"}


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
    raise QuestionError("question", text, "has brackets that do not match", "close every ( and [ that was opened")


def split_arguments(text: str) -> list[str]:
    """Split at the commas that stand outside of quotes and brackets."""
    parts, begin, position = [], 0, 0
    while position < len(text):
        character = text[position]
        if character in "'\"":
            position = end_of_quoted(text, position)
            continue
        if character in _OPENING:
            position = end_of_group(text, position)
            continue
        if character == ",":
            parts.append(text[begin:position].strip())
            begin = position + 1
        position += 1
    return [*parts, text[begin:].strip()] if text.strip() else []


def check_predicate(predicate: Any) -> str:
    """A predicate's text, which must stand on its own between two brackets."""
    if not isinstance(predicate, str) or not predicate.strip():
        raise QuestionError("predicate", predicate, "is not an SQL condition", 'write for example "age >= 65"')
    text = predicate.strip()
    if end_of_group(f"({text})", 0) != len(text) + 2:
        raise QuestionError("predicate", predicate, "has brackets that do not match")
    return text


def check_column(column: Any) -> str:
    if not isinstance(column, str) or not column:
        raise QuestionError("column", column, "is not the name of a column")
    return column


def write_column(column: str) -> str:
    """The name itself where it is a plain word, else in double quotes."""
    return column if _PLAIN_NAME.fullmatch(column) else '"' + column.replace('"', '""') + '"'


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
        raise QuestionError("options", options, "is one text", "give a list of options: ['a', 'b']")
    given = tuple(options)
    for option in given:
        if not isinstance(option, (str, int)):
            raise QuestionError("option", option, "is not a text, a whole number or a boolean")
    if not given:
        raise QuestionError("options", [], "is empty", "name at least one option")
    if len({answer_text(option) for option in given}) < len(given):
        raise QuestionError("options", list(given), "names an option twice", "options are different from each other")
    return given


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
    return split_arguments(text[1:-1])


def check_edges(edges: Iterable[Any]) -> tuple[Fraction, ...]:
    """Public bin edges: at least two, rising."""
    if isinstance(edges, (str, bytes)):
        raise QuestionError("bins", edges, "is one text", "give a list of edges: [0, 18, 65, 100]")
    given = tuple(read_number(edge, name="bins", error=QuestionError) for edge in edges)
    if len(given) < 2 or any(a >= b for a, b in pairwise(given)):
        shown = [fraction_text(edge) for edge in given]
        raise QuestionError("bins", shown, "is not a rising list of at least two edges", "write bins=[0, 18, 65, 100]")
    return given


def write_numbers(numbers: Iterable[Fraction]) -> str:
    return "[" + ", ".join(fraction_text(number) for number in numbers) + "]"
