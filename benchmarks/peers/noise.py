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
