"""Released answers with what is private already beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Detailed:
    """An answer that carries *details*, which a statement and a ledger keep under the name of its *section*."""

    section: str
    details: dict[str, Any]


class ReleasedCells(Detailed, list[dict[str, Any]]):
    """People by combination of values: a plain list of objects, with the noisy table beside it."""

    section = "histogram"

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], details: dict[str, Any]) -> ReleasedCells:
        made = cls(rows)
        made.details = details
        return made

    def values(self) -> list[int]:
        """The counts, in row order."""
        return [row["count"] for row in self]


class ReleasedCounts(Detailed, dict[str, int]):
    """People by bin: a plain dictionary, with the noisy table and the expected error beside it."""

    section = "histogram"

    @classmethod
    def of(cls, labels: Sequence[str], counts: Sequence[int], details: dict[str, Any]) -> ReleasedCounts:
        made = cls(zip(labels, map(int, counts)))
        made.details = details
        return made
