"""Rows of a sanitised table: values for each person, made of released counts alone. Nothing here has seen data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.questions.columns import Column
from optimaldp.sanitising.noisy import NoisyTable

if TYPE_CHECKING:
    from numpy.random import Generator

    from optimaldp.histograms.parameters import Array
    from optimaldp.histograms.remaps.choosing import Judge


def generator(seed: int) -> Any:
    """A generator for values inside bins and the order of rows: nobody's secret. A ledger keeps the seed."""
    import numpy as np

    return np.random.default_rng(seed)


def placed_codes(
    noisy: NoisyTable, counts: Mapping[int, int], missing: int, random: Generator, beside: Sequence[NoisyTable] = ()
) -> Any:
    """One row of positions for each person: an array of people times columns.

    The *missing* people, whose cell could not be told, follow the margins: for each column by itself, what its unbiased margin
    has more than the rows so far. With one column there is nothing else to follow: they get no value, where it may have none.
    *beside* are the margins of a table that is drawn sparsely; without one for each column there is nothing to follow.
    """
    import numpy as np

    columns, shape = noisy.columns, noisy.shape
    cells = np.fromiter(counts.keys(), dtype=np.int64, count=len(counts))
    times = np.fromiter(counts.values(), dtype=np.int64, count=len(counts))
    codes = np.stack([positions.repeat(times) for positions in np.unravel_index(cells, shape)], axis=1)
    if not missing:
        return codes
    if len(columns) == 1 and not columns[0].closed:
        return np.concatenate((codes, np.full((missing, 1), columns[0].named)))
    margins = [_margin(column, noisy, beside) for column in columns]
    if any(margin is None for margin in margins):
        return codes
    following = [_following(margin, codes[:, place], missing, random) for place, margin in enumerate(margins)]
    return np.concatenate((codes, np.stack(following, axis=1)))


def cells_of(codes: Array, shape: Sequence[int]) -> Any:
    """How many rows each cell of a table has."""
    import numpy as np

    return np.bincount(np.ravel_multi_index(tuple(codes.T), tuple(shape)), minlength=math.prod(shape))


def rows_error(
    judge: Judge, noisy: NoisyTable, counts: Mapping[int, int], codes: Array
) -> tuple[float, tuple[float, float]]:
    """What the rows are expected to be off, and where that lies for about 19 tables in 20.

    Cells that are shown are judged by the law of cells. People who follow the margins are in the right cell as often as the noisy
    cells agree with the margins: the slope of one on the other, less its standard error, is how much of the hidden people is
    believed to follow them, too; the rest may be anywhere.
    """
    import numpy as np

    rows = cells_of(codes, noisy.shape)
    missing = len(codes) - sum(counts.values())
    if missing <= 0 or len(noisy.columns) == 1:
        return judge.stated(rows)
    released = np.zeros(noisy.size, dtype=np.int64)
    released[np.fromiter(counts, dtype=np.int64, count=len(counts))] = list(counts.values())
    dark, placed = released == 0, rows - released
    law, bright = judge.learned.law, ~dark
    likely = _following_everywhere(noisy, placed)[dark]
    hidden = max(1e-9, float(law.means(noisy.dense[dark]).sum()))
    likely *= hidden / max(float(likely.sum()), 1e-300)
    evenly = hidden / max(1, int(dark.sum()))
    lean = likely - evenly
    known = float(lean @ lean)
    spread = (2 * law.ratio) ** 0.5 / (1 - law.ratio)
    slope = (float(lean @ noisy.dense[dark]) - spread * known**0.5) / max(known, 1e-300)
    agreed = min(1.0, max(0.0, slope))
    both = _mean_distance(placed[dark], agreed * likely + (1 - agreed) * evenly)
    value = min(float(law.mean_distances(noisy.dense[bright], rows[bright]).sum()) + both, 2.0 * len(codes))
    error, (low, high) = judge.stated(released)
    reach = max(high - error, error - low) + 0.4 * both
    return value, (max(0.0, value - reach), min(value + reach, 2.0 * len(codes)))


def _following_everywhere(noisy: NoisyTable, placed: Array) -> Any:
    """Shares of cells when each column follows the margin of those who were placed, by itself."""
    import numpy as np

    table = placed.reshape(noisy.shape)
    shares = np.ones(())
    for place in range(table.ndim):
        own = table.sum(axis=tuple(other for other in range(table.ndim) if other != place))
        shares = np.multiply.outer(shares, own / max(1, own.sum()))
    return shares.reshape(-1)


def _mean_distance(counts: Array, means: Array) -> float:
    """The sum of ``E|X - count|`` over cells, with Poisson numbers X of these means."""
    import numpy as np

    off = float(means.sum())
    some = counts > 0
    few, own = counts[some], means[some]
    chance, below = np.exp(-own), np.zeros_like(own)
    for step in range(int(few.max(initial=0))):
        # |X - c| = X - c + 2 (c - X)^+, and (c - X)^+ adds up P(X <= step) for step < c.
        below += np.where(step < few, chance, 0.0)
        chance = chance + np.exp((step + 1) * np.log(np.maximum(own, 1e-300)) - own - math.lgamma(step + 2))
    return off + float((2 * below - few).sum())


def _margin(column: Column, noisy: NoisyTable, beside: Sequence[NoisyTable]) -> Any:
    """The unbiased counts of one column, or ``None`` where nothing that was measured tells them."""
    able = [one for one in (noisy, *beside) if one.dense is not None and column in one.columns]
    return min(able, key=lambda one: one.size).margin([column.name]).counts if able else None


def _following(margin: Array, codes: Array, missing: int, random: Generator) -> Any:
    """Positions of the missing people in one column: what the margin has more than the rows so far."""
    import numpy as np

    size = len(margin)
    lacking = np.maximum(margin - np.bincount(codes, minlength=size), 0)
    shares = lacking / lacking.sum() if lacking.sum() else np.full(size, 1 / size)
    exact = shares * missing
    counts = np.floor(exact).astype(np.int64)
    # The rest by largest remainders: the margin is met as closely as whole people allow.
    counts[np.argsort(counts - exact, kind="stable")[: missing - int(counts.sum())]] += 1
    return random.permutation(np.repeat(np.arange(size), counts))


def frame_columns(
    columns: Sequence[Column], codes: Array, random: Generator, *, labels: bool, whole: Mapping[str, bool]
) -> dict[str, list[Any]]:
    """The rows as a list of values for each column; ``None`` where there is none."""
    order = random.permutation(len(codes))
    return {
        column.name: _values(column, codes[order, place], random, labels, whole.get(column.name, True))
        for place, column in enumerate(columns)
    }


def _values(column: Column, codes: Array, random: Generator, labels: bool, whole: bool) -> list[Any]:
    if not column.edges:
        known: list[Any] = [*column.options, None]
        return [known[code] for code in codes.tolist()]
    if labels:
        names = [*column.labels[: column.named], None]
        return [names[code] for code in codes.tolist()]
    return _inside_bins(column.edges, codes, random, whole)


def _inside_bins(edges: Sequence[Any], codes: Array, random: Generator, whole: bool) -> list[Any]:
    """A value drawn uniformly inside each bin."""
    import numpy as np

    bins = len(edges) - 1
    start, unit = edges[0], _unit(edges[0])
    points = np.array([_offset(edge, start, unit) for edge in edges])
    inside = np.clip(codes, 0, bins - 1)
    low, high = points[inside], points[inside + 1]
    stepwise = unit is not None or (whole and all(edge.denominator == 1 for edge in edges))
    drawn = low + random.random(len(codes)) * (high - low)
    offsets = np.floor(drawn) if stepwise else drawn
    return [
        None if code >= bins else _value(start, offset, unit, stepwise)
        for code, offset in zip(codes.tolist(), offsets.tolist())
    ]


def _unit(edge: object) -> datetime.timedelta | None:
    if isinstance(edge, datetime.datetime):
        return datetime.timedelta(seconds=1)
    return datetime.timedelta(days=1) if isinstance(edge, datetime.date) else None


def _offset(edge: Any, start: Any, unit: datetime.timedelta | None) -> float:
    return float(edge - start) if unit is None else (edge - start) / unit


def _value(start: Any, offset: float, unit: datetime.timedelta | None, stepwise: bool) -> Any:
    if unit is not None:
        return start + math.floor(offset) * unit
    return int(start) + int(offset) if stepwise else float(Fraction(start)) + offset
