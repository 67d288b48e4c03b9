"""Edges between the two answers' regions: what given values impose across them, and whether bounds clash on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.kernels.arrays import Floats, Ints, LevelTable
from optimaldp.kernels.compiled import Kernel
from optimaldp.kernels.steps import SURE, _from_complement, _step_high, _step_low, below, step


def _other(side: float) -> float:
    """The side of the other answer."""
    if side == SURE:
        return 0.0
    if side == 0.0:
        return SURE
    return -side


def _probability(side: float) -> float:
    """What a side stands for, near enough to tell rounding from a clash."""
    return side if side >= 0.0 else 1.0 + side


def _level_step(
    side: float, k: int, spans: Ints, growth: Floats, delta: Floats, decay: Floats, back_delta: Floats
) -> float:
    reached = SURE
    for bound in range(spans[k], spans[k + 1]):
        candidate = step(side, growth[bound], delta[bound], decay[bound], back_delta[bound])
        if below(candidate, reached):
            reached = candidate
    return reached


def _seed(
    first: Ints,
    heads: Ints,
    levels: Ints,
    region: Ints,
    table: LevelTable,
    label: Floats,
    predecessor: Ints,
    given: npt.NDArray[Any],
) -> None:
    spans, growth, delta, decay, back_delta = table
    for u in range(len(region)):
        if not given[u]:
            continue
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            if region[v] == region[u]:
                continue
            reached = _level_step(_other(label[u]), levels[arc], spans, growth, delta, decay, back_delta)
            if below(reached, label[v]):
                label[v] = reached
                predecessor[v] = u


def _clash(first: Ints, heads: Ints, levels: Ints, region: Ints, table: LevelTable, label: Floats) -> tuple[int, int]:
    spans, growth, delta, decay, back_delta = table
    for u in range(len(region)):
        for arc in range(first[u], first[u + 1]):
            v = heads[arc]
            if region[v] == region[u]:
                continue
            # v's own answer, bounded from u; the same bound on u's answer comes with the arc back.
            reached = _level_step(_other(label[u]), levels[arc], spans, growth, delta, decay, back_delta)
            if below(reached, label[v]) and _probability(label[v]) - _probability(reached) > 1e-9:
                return u, v
    return -1, -1


_CALLS = (below, _from_complement, _step_low, _step_high, step, _other, _probability, _level_step)
_SEED = Kernel(_seed, *_CALLS)
_CLASH = Kernel(_clash, *_CALLS)


def seed_crossing(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    region: npt.NDArray[np.int32],
    table: tuple[npt.NDArray[Any], ...],
    label: npt.NDArray[np.float64],
    predecessor: npt.NDArray[np.int32],
    given: npt.NDArray[np.bool_],
) -> None:
    """Lower *label* next to given datasets of the other answer to what those allow; *predecessor* says who did."""
    _SEED(len(heads), first, heads, levels, region, table, label, predecessor, given)


def first_clash(
    first: npt.NDArray[np.int64],
    heads: npt.NDArray[np.int32],
    levels: npt.NDArray[np.int32],
    region: npt.NDArray[np.int32],
    table: tuple[npt.NDArray[Any], ...],
    label: npt.NDArray[np.float64],
) -> tuple[int, int] | None:
    """An edge between the regions on which the labels of both ends cannot be had together, by more than rounding."""
    u, v = _CLASH(len(heads), first, heads, levels, region, table, label)
    return (int(u), int(v)) if u >= 0 else None
