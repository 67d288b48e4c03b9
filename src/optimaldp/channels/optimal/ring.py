"""Rings of any size: by symmetry the optimal mechanism is one row and its rotations."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.channels.channel import Channel
from optimaldp.channels.numbers import FloatArray
from optimaldp.channels.optimal.floats import powers_not_steeper
from optimaldp.errors import ChannelError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.results import Result


@dataclass(frozen=True, repr=False, eq=False)
class RingProfile(Result):
    """An optimal mechanism on a ring, as the one row that all rows are rotations of."""

    size: int
    epsilon: Epsilon
    utility: Fraction
    upper_bound: Fraction
    cells: FloatArray
    """The probability of each answer by its distance around the ring."""

    def row(self, answer: int) -> FloatArray:
        """The distribution of one answer (floats)."""
        return np.roll(self.cells, answer)

    def summary(self) -> str:
        return f"RingProfile({self.size} answers, {self.epsilon}-DP, utility {float(self.utility):.6g})"

    def details(self) -> list[tuple[str, str]]:
        return [
            ("utility", f"{float(self.utility):.9g}"),
            ("no private channel exceeds", f"{float(self.upper_bound):.9g}"),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "epsilon": str(self.epsilon),
            "utility": float(self.utility),
            "upper_bound": float(self.upper_bound),
            "cells": self.cells.tolist(),
        }

    def channel(self) -> Channel:
        """The whole matrix; for thousands of answers it is large."""
        return Channel(np.stack([self.row(y) for y in range(self.size)]))


def ring_profile(size: int, epsilon: object) -> RingProfile:
    """The optimal mechanism on a ring of *size* answers, uniform prior, binary gain: by symmetry one row says it all.

    Odd and even rings alike (erratum F17): ``e^(−epsilon d)/s`` with s the sum over the ring.

    >>> ring_profile(6, "ln(2)").utility
    Fraction(8, 21)
    """
    read = Epsilon.read(epsilon)
    if size < 3 or read.infinite:
        raise ChannelError("ring", (size, str(read)), "needs 3 or more answers and a finite epsilon")
    # the row and its utility from below, the bound from above: what lies between them is the rounding alone
    low, high = read.ratio_below(bits=64), read.ratio_above(bits=64)
    around = np.minimum(np.arange(size), size - np.arange(size))
    weights = powers_not_steeper(low, size // 2 + 1)[around]
    return RingProfile(size, read, 1 / _ring_sum(size, 1 / low), 1 / _ring_sum(size, 1 / high), weights / weights.sum())


def _ring_sum(size: int, t: Fraction) -> Fraction:
    half = (size - 1) // 2
    if t == 1:
        return Fraction(size)
    # 1 + 2 (t + … + t^half), and once more t^(n/2) for the answer opposite on an even ring
    total = 1 + 2 * t * (1 - t**half) / (1 - t)
    return total if size % 2 else total + t ** (size // 2)
