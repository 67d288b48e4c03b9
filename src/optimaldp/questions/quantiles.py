"""Which public bin holds the median, or another quantile?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours, read_probability
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Question
from optimaldp.questions.conditions import Condition, Moves, share_condition
from optimaldp.questions.literals import check_column, check_edges, write_column, write_numbers
from optimaldp.tables.tally import Bins, Tally


@dataclass(frozen=True, repr=False)
class Quantile(Question):
    """The first bin up to which at least the given share of persons lies.

    >>> median("age", bins=[18, 30, 45, 100]).answers
    ('[18, 30)', '[30, 45)', '[45, 100]')
    """

    column: str
    rank: Fraction
    edges: tuple[Fraction, ...]
    name: str = "quantile"
    leaves_out_allowed = True

    @property
    def tally(self) -> Tally:
        return Tally((Bins(self.column, self.edges),))

    @cached_property
    def answers(self) -> tuple[str, ...]:
        texts = [fraction_text(edge) for edge in self.edges]
        bins = [f"[{low}, {high})" for low, high in pairwise(texts)]
        return (*bins[:-1], bins[-1][:-1] + "]")

    def size(self) -> int:
        return len(self.edges)

    def truth(self, counts: Sequence[int]) -> int:
        bins = self.cells(counts)[:-1]
        total = sum(bins)
        return next(i for i, below in enumerate(accumulate(bins)) if self._reached.holds(below, total - below))

    def flips(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        bins = self.cells(counts)[:-1]
        here, sums, total = self.truth(counts), list(accumulate(bins)), sum(bins)
        moves: Moves = math.inf
        if here + 1 < len(bins):  # a later bin: the share up to here must fall
            moves = self._reached.negated().moves(sums[here], total - sums[here], neighbours)
        if here > 0:  # an earlier bin: the share before here must rise
            before = sums[here - 1]
            moves = min(moves, self._reached.moves(before, total - before, neighbours))
        return moves

    @cached_property
    def _reached(self) -> Condition:
        return share_condition(">=", self.rank)

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        ends = "values below the first edge count into the first bin, values above the last edge into the last"
        if neighbours is Neighbours.ADD_REMOVE:
            return ends, "persons without a value (NULL) are left out and are protected"
        return ends, "persons without a value (NULL) are left out; that they are left out is treated as public"

    def __str__(self) -> str:
        rank = "" if self.name == "median" else f"{fraction_text(self.rank)}, "
        return f"{self.name}({write_column(self.column)}, {rank}bins={write_numbers(self.edges)})"


def quantile(column: str, rank: Any, *, bins: Iterable[Any]) -> Quantile:
    """Which of the public *bins* (given by their edges) holds the quantile *rank* of *column*?"""
    share = read_probability(rank, name="quantile", error=QuestionError)
    return Quantile(check_column(column), share, check_edges(bins))


def median(column: str, *, bins: Iterable[Any]) -> Quantile:
    """Which of the public *bins* (given by their edges) holds the median of *column*?"""
    return Quantile(check_column(column), Fraction(1, 2), check_edges(bins), "median")
