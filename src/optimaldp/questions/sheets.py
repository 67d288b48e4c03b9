"""Questions to fill in: each kind describes its own form, so that a page can draw it without knowing the kind.

A sheet is a text with blanks, ``share({condition}{among}) {relation} {bound}``, and for each blank what a person writes there. A
page knows the roles of blanks (a column, a condition, a list of options …) and nothing of questions.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal

from optimaldp.questions import kinds

Role = Literal[
    "column",  # a column of the table
    "condition",  # a column, how it is compared, and with what
    "predicate",  # a condition as SQL
    "number",
    "percent",  # 30 is written as 0.3
    "percents",  # 25, 50, 75 is written as [0.25, 0.5, 0.75]
    "option",  # one value of the column
    "options",  # several values, as a list
    "range",  # two public ends, and perhaps a step
    "bands",  # edges of bins, or a range in steps
    "choice",  # one of a few words
    "sides",  # several columns, each with its values or bins
]

_TOPICS = ((10, "How many, how much"), (20, "Tables of counts"), (30, "Yes or no"), (100, "Which one, which band"))
_BLANK = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Blank:
    """One thing to fill in."""

    name: str
    role: Role
    label: str
    hint: str = ""
    sample: str = ""
    """What stands in the text when it is filled in as in an example: already written as in a question."""
    start: str = ""
    """What a form starts with; empty where only the person who asks can know it."""
    before: str = ""
    """What is written before it; together with *optional*: an empty blank leaves nothing behind."""
    optional: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    """For a choice: what is written, and the same in plain words."""


@dataclass(frozen=True)
class Sheet:
    """A question to fill in: its name, what it asks in plain words, its text with blanks, and the blanks in their order.

    >>> sheet = next(sheet for sheet in sheets() if sheet.name == "winner")
    >>> sheet.fill(column="vote", options="['a', 'b']")
    "winner(vote, ['a', 'b'])"
    """

    name: str
    title: str
    text: str
    blanks: tuple[Blank, ...]
    order: int
    """Where it stands in a list: what stewards ask most comes first."""
    note: str = ""
    joined: tuple[str, ...] = ()
    """Words that join several of them to one question, up to *most*."""
    most: int = 1

    def fill(self, **written: str) -> str:
        """The text of the question, with each blank as it is written in a question; optional ones may be left out."""

        def piece(match: re.Match[str]) -> str:
            blank = next(one for one in self.blanks if one.name == match[1])
            return blank.before + written[blank.name] if written.get(blank.name) or not blank.optional else ""

        return _BLANK.sub(piece, self.text)

    def sample(self, *, whole: bool = False) -> str:
        """The sheet filled in as in an example; with *whole* also the optional blanks."""
        return self.fill(**{one.name: one.sample for one in self.blanks if whole or not one.optional})

    @property
    def topic(self) -> str:
        """Under which heading it stands."""
        return next(words for below, words in _TOPICS if self.order < below)

    def to_document(self) -> dict[str, Any]:
        return asdict(self) | {"topic": self.topic}


def sheets() -> tuple[Sheet, ...]:
    """The sheets of all kinds, most asked first."""
    modules = (import_module(f"{kinds.__name__}.{module.name}") for module in iter_modules(kinds.__path__))
    listed: list[Sheet] = [sheet for module in modules for sheet in getattr(module, "SHEETS", ())]
    return tuple(sorted(listed, key=lambda sheet: (sheet.order, sheet.name)))


AMONG = Blank(
    "among",
    "predicate",
    "Only among people with",
    "an SQL condition such as age >= 18; may stay empty",
    sample="age >= 18",
    before=" among ",
    optional=True,
)
COLUMN = Blank("column", "column", "Column", sample="vote")
CONDITION = Blank("condition", "condition", "Which people", "you write the value", sample="smokes = 'yes'")
RELATION = Blank(
    "relation",
    "choice",
    "Compared as",
    sample=">=",
    start=">=",
    choices=((">=", "at least"), (">", "more than"), ("<=", "at most"), ("<", "less than")),
)
OPTIONS = Blank(
    "options", "options", "Options", "public, separated by commas; their order breaks ties", sample="['a', 'b', 'c']"
)
BANDS = Blank("bands", "bands", "Bands", "public", sample="bins=[0, 18, 65, 120]")
