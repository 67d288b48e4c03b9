"""Does every edge keep its factor, for every output? Floats say where it is clear, rationals decide where it is not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.reading import AnswerPair, FloatArray, Matrix, all_are_neighbours, only_length

_CLEAR = 1e-14  # relative: more than a quotient, two products and two rounded sums can be wrong in floats
_UNDERFLOW = 1e-290  # cells below it are compared as rationals whatever the floats say
_LOGARITHM_ERROR = 2.0**-48  # relative: more than two logarithms, of which one may be that of a long quotient, miss
_BLOCK = 4_000_000  # cells of a block of arcs: 32 MB
Arc = tuple[int, int, Fraction]
Place = tuple[int, int, int]


@dataclass(frozen=True)
class ChannelPrivacyFinding:
    """``epsilon`` is the least that the channel keeps, rounded up (what is below 1e-12 may be shown as 0); ``worst`` is where:
    two neighbours and an output.

    Where the channel is not private, ``worst`` is where it breaks its promise.
    """

    private: bool
    epsilon: float
    worst: Place | None


def check_channel_privacy(matrix: Matrix, edges: list[AnswerPair], factors: Factors) -> ChannelPrivacyFinding:
    """Both directions of every edge, every output.

    **Guarantee.** ``private`` is decided exactly, of the distributions that the rows are (floats divided by their sum).
    """
    length = only_length(edges)
    if length is not None and all_are_neighbours(len(matrix.names), edges):
        arcs = list(_extreme_pairs(matrix, length, factors))
    else:
        arcs = [(edge.one, edge.other, edge.length) for edge in edges]
        arcs += [(other, one, length) for one, other, length in arcs]
    arcs = list(dict.fromkeys(arcs))
    epsilon, worst = _least_epsilon(_logarithms(matrix), arcs)
    for y, other, z, length in _suspects(matrix, arcs, factors):
        high, low = matrix.cell(y, z) * matrix.total(other), matrix.cell(other, z) * matrix.total(y)
        if not factors.allows(high, low, length):
            return ChannelPrivacyFinding(False, epsilon, worst if epsilon == math.inf else (y, other, z))
    return ChannelPrivacyFinding(True, epsilon, worst)


def _extreme_pairs(matrix: Matrix, length: Fraction, factors: Factors) -> Iterator[Arc]:
    """Every two answers are neighbours: in each column the row of the largest cell against the row of the least.

    Where that pair is clearly fine any row next to an extreme will do; elsewhere rows whose floats are next to the
    extreme may hold it as rationals, and those decide.
    """
    shares = matrix.floats / np.array(matrix.sums)[:, None]
    below = np.inf if factors.epsilon.infinite else _float_below(factors.between(length)[0])
    for z, (most, least) in enumerate(zip(shares.max(axis=0), shares.min(axis=0))):
        column = shares[:, z]
        if (most == 0 and not matrix.exact) or (least >= _UNDERFLOW and most <= below * (1 - 4 * _CLEAR) * least):
            yield int(column.argmax()), int(column.argmin()), length
            continue
        highs = np.flatnonzero(column >= (most * (1 - _CLEAR) if most > _UNDERFLOW else 0.0))
        lows = np.flatnonzero(column <= max(least * (1 + _CLEAR), _UNDERFLOW))
        high = max(highs.tolist(), key=lambda y: matrix.share(y, z))
        yield high, min(lows.tolist(), key=lambda y: matrix.share(y, z)), length


def _suspects(matrix: Matrix, arcs: list[Arc], factors: Factors) -> Iterator[tuple[int, int, int, Fraction]]:
    """The cells that floats do not clear: too close to the factor, or too small to be floats."""
    if factors.epsilon.infinite:
        return
    shares = matrix.floats / np.array(matrix.sums)[:, None]
    nothing = _is_nothing(matrix)
    for part in _blocks(arcs, shares.shape[1]):
        high, low = shares[[arc[0] for arc in part]], shares[[arc[1] for arc in part]]
        below = np.array([_float_below(factors.between(arc[2])[0]) for arc in part])[:, None]
        clear = (high <= below * (1 - _CLEAR) * low) & (low >= _UNDERFLOW)
        clear |= nothing[[arc[0] for arc in part]]
        for a, z in np.argwhere(~clear).tolist():
            yield part[a][0], part[a][1], z, part[a][2]


def _is_nothing(matrix: Matrix) -> NDArray[np.bool_]:
    """Which cells are 0: a float that is 0 is 0, a rational whose float is 0 may be smaller than floats go."""
    nothing: NDArray[np.bool_] = matrix.floats == 0
    if matrix.exact:
        for y, z in np.argwhere(nothing).tolist():
            nothing[y, z] = not matrix.rows[y][z]
    return nothing


def _float_below(factor: Fraction) -> float:
    return float(factor) * (1 - 2.0**-52) if factor < 2**1000 else 2.0**1000


def _blocks(arcs: list[Arc], columns: int) -> Iterator[list[Arc]]:
    block = max(1, _BLOCK // columns)
    for start in range(0, len(arcs), block):
        yield arcs[start : start + block]


def _logarithms(matrix: Matrix) -> FloatArray:
    """The logarithm of every cell's share of its row; −∞ for a cell that is 0."""
    with np.errstate(divide="ignore"):
        logarithms = np.log(matrix.floats) - np.log(np.array(matrix.sums))[:, None]
    if matrix.exact:
        for y, z in np.argwhere(matrix.floats < _UNDERFLOW).tolist():
            cell = matrix.cell(y, z)
            logarithms[y, z] = math.log(cell.numerator) - math.log(cell.denominator) if cell else -math.inf
    return np.asarray(logarithms, dtype=np.float64)


def _least_epsilon(logarithms: FloatArray, arcs: list[Arc]) -> tuple[float, Place | None]:
    epsilon, largest, worst = 0.0, 0.0, None
    for part in _blocks(arcs, logarithms.shape[1]):
        high, low = logarithms[[arc[0] for arc in part]], logarithms[[arc[1] for arc in part]]
        lengths = np.array([float(arc[2]) for arc in part])[:, None]
        with np.errstate(invalid="ignore"):
            used: NDArray[np.float64] = np.where(high == -np.inf, 0.0, (high - low) / lengths)  # 0 against 0 passes
            # Added only where something is used at all: a channel of equal rows shows 0.
            error = (1 + np.abs(high) + np.abs(low)) / lengths * _LOGARITHM_ERROR
            epsilon = max(epsilon, float((used + error)[used > 0.0].max(initial=0.0)))
        a, z = np.unravel_index(int(used.argmax()), used.shape)
        if used[a, z] > largest:
            largest, worst = float(used[a, z]), (part[a][0], part[a][1], int(z))
    return epsilon, worst
