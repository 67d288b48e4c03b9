"""How a kind of question is written: ``word(arguments, name=value among condition)``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from optimaldp.errors import QuestionError
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions import kinds
from optimaldp.questions.literals import (
    end_of_group,
    end_of_quoted,
    read_column,
    read_list,
    read_option,
    top_level_words,
)
from optimaldp.tables.tally import Option

if TYPE_CHECKING:
    from optimaldp.tables import Description

_FIRST_LOOK = dict.fromkeys(("count", "share", "majority", "any", "all"), "threshold") | {"median": "quantile"}
_NAMED = re.compile(r"([A-Za-z_]+)\s*=(?!=)\s*(.+)", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """One question's head: its word, what stands in the brackets, and the condition behind ``among``."""

    text: str
    word: str
    inside: str
    among: str | None
    example: str
    arguments: tuple[str, ...] = field(default=())
    named: dict[str, str] = field(default_factory=dict)

    def column(self) -> str:
        if not self.arguments:
            raise self.error("names no column")
        return read_column(self.arguments[0])

    def options(self, position: int) -> list[Option] | None:
        """The list of options at a position; ``None`` where there is none."""
        if len(self.arguments) <= position:
            return None
        return [read_option(part) for part in read_list(self.arguments[position])]

    def only(self, *, arguments: range, named: tuple[str, ...] = ()) -> None:
        """Refuse too many or too few arguments, and unknown names."""
        if len(self.arguments) not in arguments:
            raise self.error("does not have the parts that it needs")
        for name in self.named:
            if name not in named:
                raise self.error(f"takes no option {name}")

    def without_range(self) -> QuestionError:
        """Refuse a question whose public range neither it nor a description says."""
        remedy = f"write for example {self.example}, or say the range in the description of the table"
        return QuestionError("question", self.text, "does not name the public range of its values", remedy)

    def error(self, rule: str) -> QuestionError:
        return QuestionError("question", self.text, rule, f"write for example {self.example}")


@dataclass(frozen=True)
class Form:
    """A word, an example of its use, and the function that makes a question (or a number to be compared) of a call."""

    word: str
    example: str
    read: Callable[[Call], Any]
    condition: bool = False
    """Whether a SQL condition stands in the brackets instead of arguments."""


@cache
def forms() -> dict[str, Form]:
    """Every word that begins a question."""
    modules = sorted(module.name for module in iter_modules(kinds.__path__))
    listed = [form for name in modules for form in import_module(f"{kinds.__name__}.{name}").FORMS]
    return {form.word: form for form in sorted(listed, key=lambda form: form.word)}


def form_of(word: str) -> Form | None:
    """The form that begins with *word*. The module of that name, or of the words that thresholds have, is looked at first.

    All kinds together take a tenth of a second to load, of which one question needs a fraction.
    """
    name = _FIRST_LOOK.get(word, word)
    full = f"{kinds.__name__}.{name}"
    listed = full in sys.modules or any(module.name == name for module in iter_modules(kinds.__path__))
    first = import_module(full).FORMS if listed else []
    return next((form for form in first if form.word == word), None) or forms().get(word)


def read_call(text: str, form: Form, inside: str) -> Call:
    """The parts of what stands in the brackets."""
    body, among = split_among(inside)
    bare = Call(text, form.word, body, among, form.example)
    if form.condition:
        return bare
    arguments: list[str] = []
    named: dict[str, str] = {}
    for part in top_level_words(body, ","):
        match = _NAMED.fullmatch(part)
        if match is None:
            if named:
                raise bare.error("has an argument without a name behind one with a name")
            arguments.append(part)
        elif match[1].lower() in named:
            raise bare.error(f"names {match[1]} twice")
        else:
            named[match[1].lower()] = match[2].strip()
    return Call(text, form.word, body, among, form.example, tuple(arguments), named)


def split_among(inside: str) -> tuple[str, str | None]:
    """The text before ``among`` and the condition behind it; the word counts outside of quotes and brackets only."""
    parts = top_level_words(inside, "among")
    if len(parts) > 2:
        raise QuestionError("question", inside, "says among twice", "join the two conditions with AND")
    body = parts[0] if parts else ""
    if len(parts) == 2 and not parts[1]:
        raise QuestionError("among", inside, "is followed by no condition", "write among age >= 18")
    return body, parts[1] if len(parts) == 2 else None


_HEAD = re.compile(r"[A-Za-z_]+(?=\s*\()")
_WITH_RANGE = ("mean", "sum", "median", "quantile", "quantiles", "ratio", "histogram")
"""Words whose range and step a description may say."""


def described_text(text: str, description: Description) -> str:
    """The question with the ranges and steps that the description of the table says, where the question leaves them out.

    Options need not be written: the description's are the column's. What the question says itself stays.

    >>> from optimaldp.tables import parse_description
    >>> field = {"name": "cost", "type": "number", "constraints": {"minimum": 0, "maximum": 50}}
    >>> resource = {"path": "p.csv", "schema": {"fields": [field]}}
    >>> described_text("mean(cost) >= 7", parse_description({"resources": [resource], "optimaldp": {"step": {"cost": 5}}}))
    'mean(cost, range=[0, 50], step=5) >= 7'
    """
    made, position = "", 0
    while position < len(text):
        if text[position] in "'\"":
            end = end_of_quoted(text, position)
        elif (head := _HEAD.match(text, position)) is not None:
            opening = text.index("(", head.end())
            end = end_of_group(text, opening)
            inside = text[opening + 1 : end - 1]
            made += text[position : opening + 1] + _with_range(head[0].lower(), inside, description) + ")"
            position = end
            continue
        else:
            end = position + 1
        made, position = made + text[position:end], end
    return made


def _with_range(word: str, inside: str, description: Description) -> str:
    form = form_of(word)
    if word not in _WITH_RANGE or form is None:
        return inside
    call = read_call(inside, form, inside)
    if word == "histogram" and (len(call.arguments) != 1 or ":" in call.arguments[0]):
        return inside  # a cross table: the columns say it themselves
    listed = any(argument.lstrip().startswith("[") for argument in call.arguments[1 if word != "quantiles" else 2 :])
    if listed or not call.arguments or {"range", "ranges", "bins"} & set(call.named):
        return inside
    columns = call.arguments[: 2 if word == "ratio" else 1]
    told = [description.find(read_column(column)) for column in columns]
    ends, steps = [], []
    for one in told:
        if word == "histogram" and (one is None or one.steps is None or one.options is not None):
            return inside
        if one is None or not isinstance(one.low, Fraction) or not isinstance(one.high, Fraction):
            return inside
        ends.append(f"[{fraction_text(one.low)}, {fraction_text(one.high)}]")
        steps.append(one.step or (Fraction(1) if one.type in ("integer", "year") or word == "ratio" else None))
    body = split_among(inside)[0]
    more = f", range={ends[0]}" if word != "ratio" else f", ranges=[{', '.join(ends)}]"
    if not {"step", "steps"} & set(call.named) and None not in steps:
        written = [fraction_text(step) for step in steps if step is not None]
        more += f", step={written[0]}" if word != "ratio" else f", steps=[{', '.join(written)}]"
    return body + more + inside[inside.index(body) + len(body) :]
