"""Noise for a table with far more cells than people, drawn sparsely; the number of people is private.

Every cell gets independent discrete Laplace noise ``P(z) ~ theta^|z|``, and only values from a public *least* on are kept:
post-processing. An empty cell survives with probability ``p = theta^least / (1+theta)``, so the survivors of a table that
is empty everywhere are drawn as a number (binomial), places (a uniform set) and values (*least* plus a geometric number).
Occupied cells are then drawn by themselves and take the place of what was drawn there. That is exactly the law of noise on
all cells, at the cost of the occupied and the surviving ones: the *time* tells about how many cells are occupied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from optimaldp.certify.noise import NoiseVerdict, check_sparse_recipe
from optimaldp.errors import HistogramError, NotCertifiedError
from optimaldp.histograms.noise import log_concave
from optimaldp.histograms.noise.compositions import uniform_subset
from optimaldp.histograms.noise.geometric import geometric_numbers
from optimaldp.histograms.parameters import read_positive_epsilon, theta
from optimaldp.privacy.balls import Ball, precision, sign
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import first_where, is_whole
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits

MOST_CELLS = 10**15
_SURVIVORS = 1 << 16  # empty cells that survive, on average, at most: what a table of any size costs


@dataclass(frozen=True, repr=False)
class SparseNoise(Result):
    """Discrete Laplace noise on *cells* cells, of which only values from *least* on are kept."""

    cells: int
    epsilon: Epsilon
    least: int

    def survival(self) -> Number:
        """The probability that an empty cell survives: a ``Fraction`` where theta is rational, else a ball."""
        ratio = theta(self.epsilon)
        return ratio**self.least / (1 + ratio)

    @cached_property
    def survivors(self) -> Survivors:
        return _survivors(self)

    def to_document(self) -> dict[str, Any]:
        """The recipe as the referee reads it."""
        return {
            "kind": "sparse-noise",
            "cells": self.cells,
            "epsilon": str(self.epsilon),
            "neighbours": Neighbours.ADD_REMOVE.value,
            "least": self.least,
            "survivors": {"mode": self.survivors.mode, "width": self.survivors.width},
        }

    @property
    def recipe_document(self) -> dict[str, Any]:
        return self.to_document()

    def summary(self) -> str:
        return f"SparseNoise({self.cells} cells, epsilon {self.epsilon}, values from {self.least} on, add-remove)"

    def sample(
        self, occupied: Mapping[int, int], source: BitSource | None = None, *, word_bits: int = 64
    ) -> dict[int, int]:
        """The noisy cells that are kept: cell -> value, in rising order of cells.

        **Guarantee.** Exactly the law of independent noise on every cell, cut below *least*; certified at epsilon for one
        person more or less.
        """
        verdict = _verdict(self)
        if not verdict.accepted:
            raise NotCertifiedError(f"sparse noise was not certified: {verdict.objections[0]}. Nothing was sampled.")
        bits = SystemBits() if source is None else source
        kept = self._empty_survivors(bits, word_bits)
        cells = sorted(occupied)
        gained, lost = (self.jumps(len(cells), bits, word_bits=word_bits) for _ in range(2))
        for cell, more, less in zip(cells, gained.tolist(), lost.tolist()):
            value = occupied[cell] + more - less
            kept.pop(cell, None)
            if value >= self.least:
                kept[cell] = value
        return dict(sorted(kept.items()))

    def places(self, number: int, source: BitSource) -> Any:
        """So many different cells, every set of them equally likely, as an array."""
        return uniform_subset(number, self.cells, source)

    def jumps(self, number: int, source: BitSource, *, word_bits: int = 64) -> Any:
        """Independent geometric numbers: what noise adds to a cell, or takes from it, as an array."""
        return geometric_numbers(number, self.epsilon, source, word_bits=word_bits)

    def _empty_survivors(self, bits: BitSource, word_bits: int) -> dict[int, int]:
        """What a table that is empty everywhere would show."""
        number = self.survivors.draw(bits, first_bits=word_bits)
        places = self.places(number, bits)
        values = self.jumps(number, bits, word_bits=word_bits) + self.least
        return dict(zip(places.tolist(), values.tolist()))


@dataclass(frozen=True)
class Survivors:
    """The binomial law of how many cells of an empty table survive, with the plan by which it is drawn."""

    noise: SparseNoise
    mode: int
    width: int

    def relative_weight(self, number: int) -> Ball:
        """``P(number) / P(mode)`` at the current precision."""
        if number == self.mode:
            return Ball(1)
        return _log_relative_weight(self.noise, number, self.mode).exp()

    def draw(self, source: BitSource, *, first_bits: int = log_concave.FIRST_BITS) -> int:
        """One number, with exactly the binomial law."""
        return log_concave.draw(
            self.relative_weight, self.mode, self.width, source, most=self.noise.cells, first_bits=first_bits
        )

    def propose(self, source: BitSource) -> int | None:
        """One attempt: each number with probability ``P(number) / (4 width P(mode))``, or ``None``."""
        return log_concave.propose(self.relative_weight, self.mode, self.width, source, most=self.noise.cells)


@lru_cache(maxsize=64)
def _verdict(noise: SparseNoise) -> NoiseVerdict:
    return check_sparse_recipe(noise.to_document())


@lru_cache(maxsize=64)
def _survivors(noise: SparseNoise) -> Survivors:
    mode = _mode(noise)

    def halved(width: int) -> bool:
        return all(_at_most_half(noise, number, mode) for number in (mode - width, mode + width))

    return Survivors(noise, mode, first_where(halved, 1))


def _mode(noise: SparseNoise) -> int:
    """The least number from which on the probabilities do not rise."""
    with precision(256 + 2 * noise.epsilon.leading_zeros):
        chance = noise.survival()
        guess = max(0, min(noise.cells, int(float((noise.cells + 1) * chance))))
    while guess < noise.cells and not _not_rising(noise, guess):
        guess += 1
    while guess > 0 and _not_rising(noise, guess - 1):
        guess -= 1
    return guess


def _not_rising(noise: SparseNoise, number: int) -> bool:
    """Whether ``P(number + 1) <= P(number)``, that is ``(N - k) p <= (k + 1)(1 - p)``, decided exactly."""
    chance = noise.survival()
    if isinstance(chance, Fraction):
        return (noise.cells + 1) * chance <= number + 1
    return sign(lambda: number + 1 - (noise.cells + 1) * noise.survival()) > 0


def _at_most_half(noise: SparseNoise, number: int, mode: int) -> bool:
    if not 0 <= number <= noise.cells:
        return True
    with precision(256 + 4 * noise.epsilon.leading_zeros):
        return bool(_log_relative_weight(noise, number, mode) <= -Ball(2).log())


def _log_relative_weight(noise: SparseNoise, number: int, mode: int) -> Ball:
    cells, chance = noise.cells, _as_ball(noise.survival())
    growth = (
        Ball(mode + 1).lgamma()
        + Ball(cells - mode + 1).lgamma()
        - Ball(number + 1).lgamma()
        - Ball(cells - number + 1).lgamma()
    )
    return growth + (number - mode) * (chance.log() - (1 - chance).log())


def _as_ball(number: Number) -> Ball:
    return Ball(number.numerator) / number.denominator if isinstance(number, Fraction) else number


def sparse_noise(cells: int, *, epsilon: object, survivors: int = _SURVIVORS) -> SparseNoise:
    """Noise for *cells* cells, kept from a value on that about *survivors* empty cells reach: a choice by public numbers.

    >>> sparse_noise(10**12, epsilon=1)
    SparseNoise(1000000000000 cells, epsilon 1, values from 17 on, add-remove)
    """
    if not is_whole(cells, 1, MOST_CELLS):
        rule = f"is not a number of cells from 1 to {MOST_CELLS}"
        raise HistogramError("cells", cells, rule, "use fewer columns or wider bins, or measure marginals")
    level = read_positive_epsilon(epsilon)
    decay = float(level)
    least = (math.log(cells / survivors) - math.log1p(math.exp(-decay))) / decay
    return SparseNoise(cells, level, max(1, math.ceil(least)))
