"""Which pairs of columns are measured: chosen privately, and a tree of pairs fitted in closed form.

Each column is measured by itself first. A pair's score is the L1 distance between its true table and the table that the released
columns would have if they were independent, less the noise that measuring it would add. Nothing but the true table depends on
people, and one person more or less moves one of its cells by 1: so every score moves by at most 1, and by at most 2 where a
record is replaced. Permute-and-flip with coins ``e^(-eta gap / (2 sensitivity))`` is eta-DP for such scores (McKenna and Sheldon
2020). Pairs that would close a circle are left out, which is decided by the pairs chosen before.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

from optimaldp.laws.winner import reveal_below
from optimaldp.privacy.balls import Ball
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.questions.columns import Column
from optimaldp.sampling import BitSource, uniform_below
from optimaldp.sanitising.drawing import MOST_DENSE, Drawn

if TYPE_CHECKING:
    from numpy.random import Generator

    from optimaldp.histograms.parameters import Array

# Shares of epsilon: the columns by themselves, the choices together, the chosen pairs together.
COLUMNS_SHARE, CHOICE_SHARE, PAIRS_SHARE = Fraction(2, 5), Fraction(1, 10), Fraction(1, 2)
_NOISE_BORNE = 0.25  # of the people: a table whose noise adds up to more says less than independence does
_MOST_TOGETHER = 100_000  # cells of it, which are fitted to the columns
_WORD = 64
_RAKING = 200
_LITTLE = 1e-6  # of independent columns, so that raking can meet every margin
Pair = tuple[Column, Column]


@dataclass(frozen=True)
class Selection:
    """One private choice among integer scores."""

    epsilon: Fraction
    sensitivity: int

    def draw(self, scores: Sequence[int], source: BitSource) -> int:
        """The position of the chosen score: one of those whose coins show heads, as permute-and-flip takes it."""
        top = max(scores)
        heads = [place for place, score in enumerate(scores) if self._heads(top - score, source)]
        return heads[uniform_below(len(heads), source)]

    def _heads(self, gap: int, source: BitSource) -> bool:
        loss = Epsilon(self.epsilon * gap / (2 * self.sensitivity), Fraction(1))
        word = source.take(_WORD)  # of the largest score as well: it always shows heads
        return not gap or reveal_below(word, _WORD, lambda: Ball(1) / loss.exp(), source)


def sensitivity_of(neighbours: Neighbours) -> int:
    """By how much one person moves a score."""
    return 2 if neighbours is Neighbours.SUBSTITUTION else 1


def candidate_pairs(columns: Sequence[Column]) -> list[Pair]:
    """Every pair of columns whose table can be drawn."""
    return [pair for pair in combinations(columns, 2) if pair[0].size * pair[1].size <= MOST_DENSE]


def offered_tables(columns: Sequence[Column]) -> list[tuple[Column, ...]]:
    """Every table that may be measured behind the columns: each pair, and last all of them together, where they are few cells."""
    whole = [tuple(columns)] if _cells(columns) <= _MOST_TOGETHER else []
    return [*candidate_pairs(columns), *whole]


def worth_measuring_together(columns: Sequence[Column], epsilon: Fraction, people: int, neighbours: Neighbours) -> bool:
    """Whether the table of all columns bears its noise: then it says more than pairs of them (four columns of 20,190 people, 384
    cells, epsilon 1: counts of two columns are off by 7, from a tree of pairs by 29)."""
    cells = _cells(columns)
    return cells <= _MOST_TOGETHER and expected_noise(cells, epsilon, neighbours) <= _NOISE_BORNE * people


def _cells(columns: Sequence[Column]) -> int:
    return math.prod(column.size for column in columns)


def joining(pairs: Sequence[Pair], chosen: Sequence[Pair]) -> list[Pair]:
    """The pairs that connect columns which the chosen ones do not connect yet."""
    trees: dict[str, str] = {}

    def root(name: str) -> str:
        while name in trees:
            name = trees[name]
        return name

    for first, second in chosen:
        trees[root(first.name)] = root(second.name)
    return [(first, second) for first, second in pairs if root(first.name) != root(second.name)]


def expected_noise(size: int, epsilon: Fraction, neighbours: Neighbours) -> float:
    """What noise of this level adds up to over a table, for many cells."""
    return size / math.sinh(min(300.0, float(epsilon) / sensitivity_of(neighbours)))


def pairs_worth_measuring(pairs: Sequence[Pair], epsilon: Fraction, people: int, neighbours: Neighbours) -> int:
    """How many pairs can share *epsilon* so that the noise of a usual one stays small beside the people."""
    sizes = sorted(first.size * second.size for first, second in pairs)
    usual = sizes[len(sizes) // 2] if sizes else 0
    most = len({column.name for pair in pairs for column in pair}) - 1
    fits = [k for k in range(1, most + 1) if expected_noise(usual, epsilon / k, neighbours) <= _NOISE_BORNE * people]
    return max(fits, default=0)


def scores_of(
    tables: Mapping[Pair, Mapping[int, int]],
    margins: Mapping[str, Array],
    people: int,
    epsilon: Fraction,
    neighbours: Neighbours,
) -> list[int]:
    """The score of each pair. *tables* are true counts, so scores never leave; all else was released before."""
    import numpy as np

    scores = []
    for (first, second), cells in tables.items():
        alone = np.rint(np.outer(margins[first.name], margins[second.name]) / max(1, people)).astype(np.int64).ravel()
        occupied = np.fromiter(cells, dtype=np.int64, count=len(cells))
        counts = np.fromiter(cells.values(), dtype=np.int64, count=len(cells))
        off = int(alone.sum()) + int((np.abs(counts - alone[occupied]) - alone[occupied]).sum())
        scores.append(off - round(expected_noise(len(alone), epsilon, neighbours)))
    return scores


def tree_codes(columns: Sequence[Column], tables: Sequence[Drawn], people: int, random: Generator) -> Any:
    """Rows that follow a tree of measured pairs: given its neighbours in the tree, a column is independent of all others."""
    import numpy as np

    margins = {column.name: _margin(column, tables, people) for column in columns}
    pairs = [drawn for drawn in tables if len(drawn.noisy.columns) == 2]
    codes: dict[str, Any] = {}
    for column in columns:
        if column.name not in codes:
            codes[column.name] = random.permutation(_rounded_positions(margins[column.name], people))
            _descend(column.name, pairs, margins, codes, random)
    return np.stack([codes[column.name] for column in columns], axis=1)


def joint_codes(columns: Sequence[Column], tables: Sequence[Drawn], people: int, random: Generator) -> Any:
    """Rows of the table of all columns, the last that was measured, raked to what all tables know of each column."""
    import numpy as np

    margins = [_margin(column, tables, people) for column in columns]
    shape = tuple(column.size for column in columns)
    body = np.zeros(math.prod(shape))
    body[list(tables[-1].counts)] = list(tables[-1].counts.values())
    likely = np.full((), 1.0)
    for margin in margins:
        likely = np.multiply.outer(likely, margin / max(float(margin.sum()), 1.0))
    body = body.reshape(shape) + _LITTLE * people * likely
    for _ in range(_RAKING):
        for axis, margin in enumerate(margins):
            sums = body.sum(axis=tuple(other for other in range(len(shape)) if other != axis), keepdims=True)
            body = body * margin.reshape(sums.shape) / np.maximum(sums, 1e-300)
    positions = random.permutation(_rounded_positions(body.reshape(-1), people))
    return np.stack(np.unravel_index(positions, shape), axis=1)


def _descend(
    name: str, pairs: Sequence[Drawn], margins: Mapping[str, Array], codes: dict[str, Any], random: Any
) -> None:
    import numpy as np

    for drawn in pairs:
        names = [column.name for column in drawn.noisy.columns]
        if name not in names or (child := names[1 - names.index(name)]) in codes:
            continue
        table = drawn.noisy.dense.reshape(drawn.noisy.shape).astype(float)
        table = table if names[0] == name else table.T
        fitted = _raked(table, margins[name], margins[child])
        own, drawn_child = codes[name], np.empty_like(codes[name])
        for value in np.unique(own):
            rows = np.flatnonzero(own == value)
            drawn_child[rows] = random.permutation(_rounded_positions(fitted[value], len(rows)))
        codes[child] = drawn_child
        _descend(child, pairs, margins, codes, random)


def _margin(column: Column, tables: Sequence[Drawn], people: int) -> Any:
    """The counts of one column by all tables that have it, each by how well it knows them; none is negative."""
    import numpy as np

    weighed, weights = np.zeros(column.size), 0.0
    for drawn in tables:
        if column.name in [one.name for one in drawn.noisy.columns]:
            weight = drawn.noisy.query_error({column.name: column.labels[0]}).standard_deviation ** -2
            weighed, weights = weighed + weight * np.asarray(drawn.noisy.margin([column.name]).counts), weights + weight
    return _nearest(weighed / weights, people)


def _nearest(values: Array, total: float) -> Any:
    """The nearest numbers, none negative, with this sum."""
    import numpy as np

    falling = np.sort(values)[::-1]
    cuts = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    return np.maximum(values - cuts[np.flatnonzero(falling > cuts)[-1]], 0.0) if total > 0 else np.zeros(len(values))


def _raked(table: Array, rows: Array, columns: Array) -> Any:
    """The noisy table moved to the margins (least squares), made nonnegative, and raked to the margins again."""
    import numpy as np

    moved = table + ((rows - table.sum(1)) / table.shape[1])[:, None]
    moved = moved + (columns - moved.sum(0)) / table.shape[0]
    # No cell is impossible: a little of independence, so that raking can meet every margin.
    whole = max(float(rows.sum()), 1.0)
    fitted = np.maximum(_nearest(moved.ravel(), whole).reshape(table.shape), _LITTLE * np.outer(rows, columns) / whole)
    for _ in range(_RAKING):
        fitted = fitted * (rows / np.maximum(fitted.sum(1), 1e-300))[:, None]
        fitted = fitted * (columns / np.maximum(fitted.sum(0), 1e-300))
    return fitted


def _rounded_positions(weights: Array, people: int) -> Any:
    """Positions of so many people in proportion to the weights, by largest remainders."""
    import numpy as np

    whole = float(weights.sum())
    exact = (weights / whole if whole > 0 else np.full(len(weights), 1 / len(weights))) * people
    counts = np.floor(exact).astype(np.int64)
    counts[np.argsort(counts - exact, kind="stable")[: people - int(counts.sum())]] += 1
    return np.repeat(np.arange(len(weights)), counts)
