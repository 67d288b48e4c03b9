"""Small matrices and edges for the referee of channels."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from optimaldp.certify.channels.reading import (
    AnswerPair,
    Factors,
    Matrix,
)
from optimaldp.privacy.epsilon import Epsilon

ONE, HALF = Fraction(1), Fraction(1, 2)
TWO = Factors(Epsilon.read("ln(2)"))


def edges_of(pairs: Any, length: Fraction = ONE) -> list[AnswerPair]:
    return [AnswerPair(one, other, length) for one, other in pairs]


def matrix_of(rows: Any) -> Matrix:
    kept = np.array(rows) if isinstance(rows[0][0], float) else tuple(tuple(map(Fraction, row)) for row in rows)
    return Matrix(tuple(range(len(rows))), tuple(range(len(rows[0]))), kept)


PATH = edges_of([(0, 1), (1, 2)])
CLIQUE = edges_of(combinations(range(3), 2))
