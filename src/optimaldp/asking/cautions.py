"""Warnings that help before anything is spent. Nothing in them comes from the data: names, types and public numbers only."""

from __future__ import annotations

import re
import unicodedata
import warnings
from typing import Any

from optimaldp.asking.request import Request
from optimaldp.errors import ReadingWarning
from optimaldp.privacy.numbers import fraction_text
from optimaldp.tables.plans import reading_cautions
from optimaldp.tables.schema import Schema

_LARGE_EPSILON = 10
_IDENTIFIER = re.compile(
    r"(^|_|\b)(id|ids|uid|uuid|guid|key|code|nr|no|number|person|patient|user|member|customer|client|student|household|"
    r"subject|participant|respondent|name|email)($|_|\b|\d)",
    re.IGNORECASE,
)


def cautions(request: Request, schema: Schema, people: int | None = None) -> tuple[str, ...]:
    """What a careful colleague would say before this is asked."""
    said = [_large_epsilon(request), _large_delta(request, people), _unit(request, schema), *_options(request)]
    said += reading_cautions(schema, request.tally, request.people)
    return tuple(text for text in said if text)


def warn_of_reading(request: Request, schema: Schema, stacklevel: int) -> None:
    """Say before anything is spent how undeclared columns are read, and that each row is taken for a person."""
    for text in (_unit(request, schema), *reading_cautions(schema, request.tally, request.people)):
        if text:
            warnings.warn(text, ReadingWarning, stacklevel=stacklevel + 1)


def _large_epsilon(request: Request) -> str:
    if float(request.level.epsilon) <= _LARGE_EPSILON:
        return ""
    return f"epsilon {request.level.epsilon} is above {_LARGE_EPSILON}: that protects hardly anybody"


def _large_delta(request: Request, people: int | None) -> str:
    delta = request.level.delta
    if not delta or (people is not None and delta * people <= 1) or (people is None and delta <= 1e-3):
        return ""
    size = "1 / the number of people" if people is None else f"1/{people}"
    return f"delta {fraction_text(delta)} is above {size}: somebody may be given away entirely"


def _unit(request: Request, schema: Schema) -> str:
    unit = request.people.unit
    if request.ask.description is not None:  # which says who is a person
        return ""
    if unit is None:
        likely = likely_person(schema)
        if likely is None:
            return ""
        return f"each row counts as one person; if a person can have several rows, name the unit: {likely}?"
    if _looks_like_identifier(unit):
        return ""
    return f"the unit {unit} does not look like an identifier by its name: each of its values counts as one person"


def likely_person(schema: Schema) -> str | None:
    """The first column that identifies a person, by its name alone; ``None`` where no name looks so."""
    return next((name for name in schema.names if _looks_like_identifier(name)), None)


def _looks_like_identifier(name: str) -> bool:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return bool(_IDENTIFIER.search(spaced))


def _options(request: Request) -> list[str]:
    named: Any = getattr(request.question, "options", None) or ()
    folded: dict[str, str] = {}
    said = []
    for option in map(str, named):
        plain = _folded(option)
        if plain in folded:
            said.append(f"the options {folded[plain]!r} and {option!r} differ by case, accents or spaces alone")
        folded[plain] = option
    return said


def _folded(text: str) -> str:
    if text.isascii():  # a histogram may have 100,000 options
        return text.casefold().strip()
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter)).casefold().strip()
