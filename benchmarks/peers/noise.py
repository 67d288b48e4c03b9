"""Exact errors of the peers' noise: integer Laplace and permute-and-flip in closed form, sums by convolution."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def laplace_tail(scale: float, least: int) -> float:
    """The probability that integer Laplace noise of this scale is *least* or more, for any integer *least*."""
    x = math.exp(-1 / scale)
    return x**least / (1 + x) if least > 0 else 1 - x ** (1 - least) / (1 + x)


def laplace_size(scale: float) -> float:
    """The expected size of integer Laplace noise."""
    x = math.exp(-1 / scale)
    return 2 * x / (1 - x * x)


def shifted_laplace_size(scale: float, shift: float) -> float:
    """The expected size of Laplace noise and a shift together."""
    return abs(shift) + scale * math.exp(-abs(shift) / scale)


def canonical_size(epsilon: float) -> float:
    """The expected size of canonical noise at (epsilon, 0) for sensitivity 1: geometric noise and a uniform number."""
    x = math.exp(-epsilon)
    return (1 - x) / (1 + x) / 4 + 2 * x / (1 - x * x)


def staircase_beyond(epsilon: float, width: int, shift: int) -> float:
    """The expected size of our discrete staircase for sensitivity *width* and a shift together (docs/numbers.md).

    E|X - k| = k + 2 (P(X > k) + P(X > k + 1) + ...), and each period of *width* has b times the one before.
    """
    b = math.exp(-epsilon)
    cut = math.ceil(width / (1 + math.exp(epsilon / 2)))
    whole = (cut + b * (width - cut)) / (1 - b)
    periods, places = np.divmod(np.arange(abs(shift), abs(shift) + width) + 1, width)
    low, high = np.maximum(0, cut - places), width - np.maximum(places, cut)
    tails = (b**periods * (low + b * high) + b ** (periods + 1.0) * whole) / (2 * whole - 1)
    return abs(shift) + 2 * float(tails.sum()) / (1 - b)


def clamped_laplace(scale: float, centre: int, most: int) -> Floats:
    """The distribution over 0..most of a count with integer Laplace noise, brought back into that range."""
    points = np.arange(most + 1)
    above = np.array([laplace_tail(scale, int(k) - centre) for k in points])
    above[0] = 1.0
    made: Floats = above - np.append(above[1:], 0.0)
    return made


def two_for_one(gap: int, epsilon: float) -> float:
    """Permute-and-flip between two options: the probability of the one that is *gap* votes behind."""
    return math.exp(-epsilon * gap / 2) / 2
