"""What a question needs to know about a table: a few counts of persons, described before anything is read.

A question says *which* counts it needs (a tally); only :mod:`optimaldp.tables` reads data and returns them. So a question
never sees a row, and a table never sees a mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

Option = str | int | bool


@dataclass(frozen=True)
class PredicateTally:
    """How many persons satisfy each combination of one or two SQL predicates.

    Counts for one predicate: (yes, no). For two: (yes yes, yes no, no yes, no no). A person for whom a predicate is NULL
    counts as "no": the predicate does not hold for them, and they stay protected.
    """

    predicates: tuple[str, ...]


@dataclass(frozen=True)
class OptionTally:
    """How many persons have each of the public *options* in *column*; ``None`` takes them from the column's type.

    Counts: one for each option in order, then one last count of everybody else (other values and NULL).
    """

    column: str
    options: tuple[Option, ...] | None


@dataclass(frozen=True)
class BinTally:
    """How many persons fall into each public bin ``[edge_i, edge_i+1)``; the last bin includes its upper edge.

    Values below the first edge count into the first bin, values above the last into the last. Counts: one for each bin, then one
    last count of everybody without a value (NULL).
    """

    column: str
    edges: tuple[Fraction, ...]


@dataclass(frozen=True)
class CrossTally:
    """A two-way table: how many persons have each pair of options, first column varying slowest; last, everybody else."""

    first: OptionTally
    second: OptionTally


Tally = PredicateTally | OptionTally | BinTally | CrossTally


@dataclass(frozen=True)
class Counted:
    """The counts of one tally. Private: it must never be shown, logged or put into an error."""

    counts: tuple[int, ...]
    by_level: tuple[tuple[str, tuple[int, ...]], ...] | None = None
    """The same counts within each privacy level (its text, e.g. ``"0.5"``), when a levels column was named."""
    options: tuple[Option, ...] | None = None
    """The options that the column's type listed, when the question left them out. Public."""

    @property
    def persons(self) -> int:
        return sum(self.counts)

    def __repr__(self) -> str:
        return "Counted(private)"
