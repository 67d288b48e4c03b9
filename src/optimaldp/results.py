"""What every result object offers: a one-line repr, an HTML view for notebooks, and JSON."""

from __future__ import annotations

import html
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.errors import InputError

if TYPE_CHECKING:  # only readers of types know defaults of type variables before Python 3.13
    from typing_extensions import TypeVar

    Given = TypeVar("Given", covariant=True, default=object)
else:
    from typing import TypeVar

    Given = TypeVar("Given", covariant=True)
"""What an answer is: a text, a number, a list, or one of these for each group. Of a question that is a text nobody knows it."""

_MOST_BARS = 50  # rows that are worth a screen
_NOTE = "text-align:left;padding-left:.8em;opacity:.7"
_BAR = "background:#0072B2;height:.8em;border-radius:2px;min-width:1px"


def html_bars(
    names: Sequence[str], counts: Sequence[float], notes: Sequence[str] = (), texts: Sequence[str] = ()
) -> str:
    """Numbers as bars for a notebook: one row for each name, with its number and a note behind it. Negative ones have no bar.

    *texts*: the numbers as they are written, where Python's own way is not meant.
    """
    largest = max([*counts, 0]) or 1
    written = (texts or [*map(str, counts)])[:_MOST_BARS]
    shown = zip_longest(names[:_MOST_BARS], counts[:_MOST_BARS], written, notes[:_MOST_BARS], fillvalue="")
    rows = [
        f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='width:16em'>{_html_bar(float(count), largest)}</td>"
        f"<td style='text-align:right'>{html.escape(text)}</td><td style='{_NOTE}'>{html.escape(note)}</td></tr>"
        for name, count, text, note in shown
    ]
    if len(counts) > _MOST_BARS:
        rows.append(f"<tr><td colspan='4' style='text-align:left'>… and {len(counts) - _MOST_BARS:,} more</td></tr>")
    return f"<table>{''.join(rows)}</table>"


def _html_bar(count: float, largest: float) -> str:
    return f"<div style='{_BAR};width:{100 * count / largest:.1f}%'></div>" if count > 0 else ""


class Result(ABC):
    """A frozen result. Subclasses say what they are in one line and as a JSON document."""

    @abstractmethod
    def summary(self) -> str:
        """One line: shapes and claims, never data."""

    @abstractmethod
    def to_document(self) -> dict[str, Any]:
        """The result as plain JSON values; exact numbers are strings."""

    def to_json(self, *, indent: int | None = None) -> str:
        """The result as JSON text."""
        return json.dumps(self.to_document(), indent=indent, ensure_ascii=False)

    def details(self) -> list[tuple[str, str]]:
        """Rows of (name, value) for the HTML view, under the summary."""
        return []

    def save(self, path: str | Path) -> Path:
        """Write the result, by the ending of *path*: ``.json``, an ``.html`` page that stands alone, ``.csv`` of a table."""
        target, writers = Path(path), self._writers()
        if (ending := target.suffix.lower()) not in writers:
            rule = "does not end in a kind of file that can be written"
            raise InputError("path", str(path), rule, f"use one of {', '.join(writers)}; plot(path) writes pictures")
        try:
            target.write_text(writers[ending](), "utf-8", newline="")
        except OSError as error:
            raise InputError("path", str(path), f"cannot be written ({error.strerror})", "check the folder") from None
        return target

    def _writers(self) -> dict[str, Callable[[], str]]:
        """What can be written as a file: the ending, and what makes the text."""
        return {".json": lambda: self.to_json(indent=2) + "\n", ".html": self._page}

    def _page(self) -> str:
        title = html.escape(self.summary())
        style = "body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }"
        return (
            f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"<style>{style} th, td {{ text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0 }}</style>"
            f"</head><body>{self._repr_html_()}</body></html>\n"
        )

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self.details()
        )
        return f"<div><strong>{html.escape(self.summary())}</strong>{self._bars()}<table>{rows}</table></div>"

    def _bars(self) -> str:
        """Bars above the rows of the HTML view, where there is something to draw."""
        return ""


class Verdict(Result):
    """What the referee says of something that was published. It is true where all that was claimed holds."""

    @abstractmethod
    def __bool__(self) -> bool: ...
