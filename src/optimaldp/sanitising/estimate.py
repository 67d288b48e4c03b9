"""What a sanitised table would be off, before anything is read or spent: joint table and marginals side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from optimaldp.errors import HistogramError
from optimaldp.histograms import LaplaceNoise, optimal_error
from optimaldp.histograms.margins import READABLE
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.parameters import read_positive_epsilon
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import first_where, is_whole
from optimaldp.questions.columns import Column, read_columns
from optimaldp.results import Result
from optimaldp.sanitising.noisy import chosen_positions
from optimaldp.sanitising.planning import CHOOSE, all_pairs, read_marginals, split_epsilon

_MOST_WAYS = 3  # columns of the tables whose shapes are compared, beside the table of all


@dataclass(frozen=True, repr=False)
class Estimate(Result):
    """Expected errors of the joint table and of marginals, for counts of one column and of two; and which shapes can be read."""

    columns: tuple[Column, ...]
    epsilon: Epsilon
    neighbours: Neighbours
    people: int | None
    marginals: tuple[tuple[str, ...], ...]
    levels: tuple[Epsilon, ...]
    """The epsilon of each marginal."""

    def _size(self, names: Sequence[str]) -> int:
        return math.prod(column.size for column in self.columns if column.name in names)

    @property
    def cells(self) -> int:
        return math.prod(column.size for column in self.columns)

    def expected_error(self) -> float:
        """The sum of errors over all cells of the joint table, at most (two tables of n people are never more than 2n apart)."""
        if self.neighbours is Neighbours.SUBSTITUTION:
            noise = optimal_error(self.cells, epsilon=self.epsilon)
        else:
            noise = float(LaplaceNoise(2, self.epsilon).expected_error()) * self.cells / 2
        return noise if self.people is None else min(noise, 2.0 * self.people)

    def joint(self, names: Sequence[str]) -> float:
        """The mean error of a count of these columns, summed from the joint table."""
        return QueryError(self.cells, self.cells // self._size(names), self.epsilon, self.neighbours).mean

    def query_error(self, **conditions: object) -> QueryError:
        """How far off a count of people with one of the named values in each named column would be, from the joint table.

        >>> made = estimate({"sex": ["m", "f"], "age": ["young", "middle", "old"]}, epsilon=1)
        >>> made.query_error(sex="f", age=["young", "middle"]).cells, made.query_error(age="old").chosen
        (12, 3)
        """
        chosen = chosen_positions(self.columns, conditions)
        return QueryError(self.cells, math.prod(map(len, chosen)), self.epsilon, self.neighbours)

    def from_marginals(self, names: Sequence[str]) -> float | None:
        """The mean error of a count of these columns from the best marginal that has them; ``None`` if none has."""
        errors = [
            QueryError(self._size(table), self._size(table) // self._size(names), level, self.neighbours).mean
            for table, level in zip(self.marginals, self.levels)
            if set(names) <= set(table)
        ]
        return min(errors, default=None)

    def compared(self) -> list[dict[str, Any]]:
        """For every column and every pair: the error of both ways, and which is better."""
        names = [column.name for column in self.columns]
        queries = [*((name,) for name in names), *combinations(names, 2)]
        rows = []
        for query in queries:
            joint, marginal = self.joint(query), self.from_marginals(query)
            better = "joint" if marginal is None or joint <= marginal else "marginals"
            rows.append({"columns": list(query), "joint": joint, "marginals": marginal, "better": better})
        return rows

    def readable_cells(self, within: float = READABLE) -> int | None:
        """How many cells a table of these people may have whose usual count is read to *within* of itself; 0 if none may.

        Tables are asked for by themselves, with the whole epsilon. ``None`` where the number of people is not public.

        >>> estimate({"sex": ["m", "f"]}, epsilon=1, n=5000).readable_cells()
        83
        """
        if self.people is None:
            return None
        people = self.people
        most = first_where(lambda cells: not self._reach(cells) * cells <= within * people, 2, people + 1) - 1
        return most if most > 1 else 0

    def shapes(self) -> list[dict[str, Any]]:
        """Every table of up to three of the columns, and that of all: how many people a cell has, and how far off it is."""
        names = [column.name for column in self.columns]
        ways = sorted({*range(1, min(_MOST_WAYS, len(names)) + 1), len(names)})
        most = self.readable_cells()
        return [
            {"columns": list(chosen)} | self._shape(self._size(chosen), most)
            for way in ways
            for chosen in combinations(names, way)
        ]

    def _shape(self, cells: int, most: int | None) -> dict[str, Any]:
        shape: dict[str, Any] = {"cells": cells, "off_by_at_most": self._reach(cells)}
        if self.people is not None and most is not None:
            shape |= {"people_per_cell": self.people / cells, "readable": cells <= most}
        return shape

    def _reach(self, cells: int) -> int:
        """How far off one count of such a table is at most, with probability 0.95."""
        return QueryError(cells, 1, self.epsilon, self.neighbours).quantile()

    def words(self) -> str | None:
        """Which tables can be read, in a sentence."""
        if (most := self.readable_cells()) is None:
            return None
        begins = f"with {self.people:,} people and epsilon {self.epsilon}"
        if not most:
            return f"{begins} no table can be read to ± {100 * READABLE:g} %"
        return f"{begins} tables of up to {most:,} cells can be read to ± {100 * READABLE:g} % in a usual cell"

    def summary(self) -> str:
        first = [row for row in self.compared() if len(row["columns"]) == 1]
        wins = sum(row["better"] == "joint" for row in first)
        return f"Estimate({self.cells} cells, epsilon {self.epsilon}: joint better for {wins} of {len(first)} columns)"

    def details(self) -> list[tuple[str, str]]:
        return [
            (", ".join(row["columns"]), f"joint ±{row['joint']:.3g}, marginals ±{row['marginals'] or math.nan:.3g}")
            for row in self.compared()
        ]

    def to_document(self) -> dict[str, Any]:
        compared = self.compared()
        return {
            "cells": self.cells,
            "epsilon": str(self.epsilon),
            "neighbours": self.neighbours.value,
            "n": self.people,
            "joint": {
                "expected_error_at_most": self.expected_error(),
                "one_way_error": _mean(row["joint"] for row in compared if len(row["columns"]) == 1),
                "two_way_error": _mean(row["joint"] for row in compared if len(row["columns"]) == 2),
            },
            "marginals": {
                "tables": [
                    {"columns": list(table), "epsilon": str(level), "cells": self._size(table)}
                    for table, level in zip(self.marginals, self.levels)
                ],
                "one_way_error": _mean(row["marginals"] for row in compared if len(row["columns"]) == 1),
                "two_way_error": _mean(row["marginals"] for row in compared if len(row["columns"]) == 2),
            },
            "queries": compared,
            "shapes": self.shapes(),
            "readable": self.words(),
        }


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def estimate(
    columns: Mapping[str, Any] | Sequence[str],
    *,
    epsilon: object,
    n: int | None = None,
    neighbours: str | Neighbours = "substitution",
    marginals: str | Sequence[Sequence[str]] | None = None,
) -> Estimate:
    """What sanitising these columns would be off. Nothing is read and nothing is spent.

    *n* is the number of people, where it is public. *marginals* are the tables to compare with: every column and every pair
    of columns if not given, or if pairs are still to be chosen.

    >>> made = estimate({"sex": ["m", "f"], "age": ["young", "old"]}, epsilon=1, n=1000)
    >>> made.cells, [row["better"] for row in made.compared()]
    (9, ['joint', 'joint', 'joint'])
    """
    read = read_columns(columns)
    relation, level = Neighbours(neighbours), read_positive_epsilon(epsilon)
    if n is not None and not is_whole(n, 1):
        raise HistogramError("n", n, "is not a number of people", "write an integer from 1 on")
    tables = all_pairs(read) if marginals in (None, CHOOSE) else read_marginals(marginals, read)
    sizes = [math.prod(column.size for column in read if column.name in table) for table in tables]
    return Estimate(read, level, relation, n, tables, split_epsilon(level, sizes))
