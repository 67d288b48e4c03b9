"""What a paper prints beside what we compute: one record for each number, table or figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Item:
    """One statement of a paper with numbers in it.

    ``agrees`` says whether the printed value is right; if it is not, ``erratum`` says why in one sentence.
    """

    where: str
    what: str
    printed: str
    ours: str
    agrees: bool
    erratum: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure regenerated; ``draw`` returns a matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[], Any]


@dataclass(frozen=True)
class Paper:
    """One of the five papers."""

    number: str
    authors: str
    title: str
    items: Callable[[], list[Item]]
    figures: Callable[[], list[Figure]]


def item(where: str, what: str, printed: str, ours: str, erratum: str = "") -> Item:
    """A record that agrees unless it names an erratum."""
    return Item(where, what, printed, ours, not erratum, erratum)


def decimals(number: Any, places: int = 4) -> str:
    """A number as papers print it."""
    return f"{float(number):.{places}f}".rstrip("0").rstrip(".")
