"""Rows of a sanitised table: values for each person, made of released counts alone. Nothing here has seen data."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.sanitising.columns import Column
from optimaldp.sanitising.drawing import Drawn

if TYPE_CHECKING:
    from numpy.random import Generator

    from optimaldp.histograms.arrays import Array


def generator(seed: int) -> Any:
    """A generator for values inside bins and the order of rows: nobody's secret. A ledger keeps the seed."""
    import numpy as np

    return np.random.default_rng(seed)


def placed_codes(drawn: Drawn, random: Generator, beside: Sequence[Drawn] = ()) -> Any:
    """One row of positions for each person: an array of people times columns.

    People whose cell could not be told follow the margins: for each column by itself, what its unbiased margin has more than
    the rows so far. With one column there is nothing else to follow: they get no value. *beside* are the margins of a table
    that is drawn sparsely; without one for each column there is nothing to follow.
    """
    import numpy as np

    columns, shape = drawn.noisy.columns, drawn.noisy.shape
    cells = np.fromiter(drawn.counts.keys(), dtype=np.int64, count=len(drawn.counts))
    times = np.fromiter(drawn.counts.values(), dtype=np.int64, count=len(drawn.counts))
    codes = np.stack([positions.repeat(times) for positions in np.unravel_index(cells, shape)], axis=1)
    missing = drawn.unplaced
    if not missing:
        return codes
    if len(columns) == 1:
        return np.concatenate((codes, np.full((missing, 1), columns[0].named)))
    margins = [_margin(column, drawn, beside) for column in columns]
    if any(margin is None for margin in margins):
        return codes
    following = [_following(margin, codes[:, place], missing, random) for place, margin in enumerate(margins)]
    return np.concatenate((codes, np.stack(following, axis=1)))


def _margin(column: Column, drawn: Drawn, beside: Sequence[Drawn]) -> Any:
    """The unbiased counts of one column, or ``None`` where nothing that was measured tells them."""
    able = [one.noisy for one in (drawn, *beside) if one.noisy.dense is not None and column in one.noisy.columns]
    return min(able, key=lambda noisy: noisy.size).margin([column.name]).counts if able else None


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
