"""Against the linear program: the least average error of any private mechanism on small elections, written out in full."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import factorial

import numpy as np
import pytest
from elections import cached, substitutions
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from optimaldp.questions import winner_probabilities


def least_error(options: int, persons: int, ratio: Fraction) -> tuple[float, float]:
    """The optimum over all mechanisms, no symmetry assumed, and our average; votes are uniform."""
    states = [c for c in product(range(persons + 1), repeat=options) if sum(c) == persons]
    index = {c: i for i, c in enumerate(states)}
    weights = [factorial(persons) / np.prod([float(factorial(v)) for v in c]) / options**persons for c in states]
    cost = [w * (v < max(c)) for c, w in zip(states, weights) for v in c]
    pairs = [
        (index[c] * options + k, index[d] * options + k)
        for c in states
        for d in substitutions(c)
        for k in range(options)
    ]
    rows = np.repeat(np.arange(len(pairs)), 2)
    bound = coo_matrix((np.tile([1.0, -float(ratio)], len(pairs)), (rows, np.ravel(pairs))), (len(pairs), len(cost)))
    ones = coo_matrix((np.ones(len(cost)), (np.arange(len(cost)) // options, np.arange(len(cost)))))
    solved = linprog(cost, A_ub=bound, b_ub=np.zeros(len(pairs)), A_eq=ones, b_eq=np.ones(len(states)), method="highs")
    row = cached(lambda c: winner_probabilities(c, epsilon=f"ln({ratio})"))
    ours = sum(w * float(sum(p for p, v in zip(row(c), c) if v < max(c))) for c, w in zip(states, weights))
    return float(solved.fun), ours


@pytest.mark.parametrize(
    ("options", "persons", "ratio"), [(2, 9, "2"), (2, 10, "5/4"), (3, 7, "2"), (3, 8, "3"), (4, 5, "3")]
)
def test_average_error_is_the_optimum(options: int, persons: int, ratio: str) -> None:
    least, ours = least_error(options, persons, Fraction(ratio))
    assert ours == pytest.approx(least, rel=1e-4)
    assert ours >= least - 1e-7
