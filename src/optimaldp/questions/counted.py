"""Counts that were released, with what is private already beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ReleasedCounts(dict[str, int]):
    """People by bin: a plain dictionary, with *details* that a statement and a ledger keep."""

    details: dict[str, Any]

    @classmethod
    def of(cls, labels: Sequence[str], counts: Sequence[int], details: dict[str, Any]) -> ReleasedCounts:
        made = cls(zip(labels, map(int, counts)))
        made.details = details
        return made
