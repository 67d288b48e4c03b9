"""Small answer graphs and numbers for what certificates of channels prove."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.certify.channels.reading import AnswerPair, Factors
from optimaldp.privacy.epsilon import Epsilon

ZERO, ONE, HALF, THIRD = Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3)
TWO, SEVEN = Factors(Epsilon.read("ln(2)")), Factors(Epsilon.read("0.7"))


def edges_of(pairs: Any, length: Fraction = ONE) -> list[AnswerPair]:
    return [AnswerPair(one, other, length) for one, other in pairs]


def masses_of(*weights: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(w, sum(weights)) for w in weights)


def random_numbers(generator: np.random.Generator, size: int, *, signed: bool = False) -> list[Fraction]:
    low = -40 if signed else 1
    return [Fraction(int(n), 97) for n in generator.integers(low, 100, size)]


LINE = edges_of([(0, 1), (1, 2), (2, 3)])
STAR = edges_of([(0, 1), (0, 2), (0, 3)])
RING = edges_of([(0, 1), (1, 2), (2, 3), (3, 0)])
MIXED = [AnswerPair(0, 1, ONE), AnswerPair(1, 2, HALF), AnswerPair(2, 3, Fraction(2)), AnswerPair(3, 0, Fraction(3, 2))]
WEIGHTS = masses_of(5, 1, 2, 4)


PARTS = edges_of([(0, 1), (2, 3)])
