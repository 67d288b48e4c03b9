"""What every result object offers: a one-line repr, an HTML view for notebooks, and JSON."""

from __future__ import annotations

import html
import json
from abc import ABC, abstractmethod
from typing import Any


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

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self.details()
        )
        return f"<div><strong>{html.escape(self.summary())}</strong><table>{rows}</table></div>"
