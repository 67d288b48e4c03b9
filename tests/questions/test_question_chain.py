"""The closed form at a distance is private, question by question, and it is the optimum that theory says."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import moves, states

from optimaldp.laws.chain import Chain
from optimaldp.privacy import ApproximateDP, Neighbours, level
from optimaldp.privacy.balls import Ball, precision
from optimaldp.questions import parse


def exact_row(bound: ApproximateDP, answers: int, truth: int, distance: int | float) -> list[Fraction]:
    """The same distribution in rationals, step by step: slow, and as the theory writes it."""
    ratio = bound.epsilon.exact_ratio
    assert ratio is not None
    prefixes = [1 - (answers - k) * (1 - bound.delta) / (ratio + answers - 1) for k in range(1, answers)]
    if distance == math.inf:
        prefixes = [Fraction(1)] * (answers - 1)
    for _ in range(int(distance) if distance != math.inf else 0):
        prefixes = [min(Fraction(1), ratio * s + bound.delta, 1 - (1 - s - bound.delta) / ratio) for s in prefixes]
    ends = [Fraction(0), *prefixes, Fraction(1)]
    order = [truth, *(a for a in range(answers) if a != truth)]
    row = [Fraction(0)] * answers
    for place, answer in enumerate(order):
        row[answer] = ends[place + 1] - ends[place]
    return row


def largest_breach(bound: ApproximateDP, first: list[Fraction], second: list[Fraction]) -> Fraction:
    """max over events of P(S) - E Q(S) - delta, both ways."""
    ratio = bound.epsilon.exact_ratio
    assert ratio is not None
    pairs = ((first, second), (second, first))
    return (
        max(sum((max(Fraction(0), p - ratio * q) for p, q in zip(a, b)), Fraction(0)) for a, b in pairs) - bound.delta
    )


LEVELS = [("ln(2)", "0"), ("ln(3/2)", "1/50"), ("ln(5)", "1/10"), ("0", "1/20"), ("ln(11/10)", "0"), ("0", "0")]
QUESTIONS = [
    ("median(c, bins=[0, 1, 2, 3, 4])", 4, 5),
    ("quantile(c, 0.8, bins=[0, 1, 2, 3])", 3, 7),
    ("share(p) >= 0.4", 2, 12),
    ("share(p) >= 2/3 and count(q) <= 3", 4, 6),
    ("compare(c, 'a', 'b')", 3, 7),
    ("all(p)", 2, 8),
]


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(("text", "cells", "most"), QUESTIONS)
@pytest.mark.parametrize("numbers", LEVELS)
def test_private_on_every_pair_of_neighbouring_tables(
    text: str, cells: int, most: int, numbers: tuple[str, str], neighbours: Neighbours
) -> None:
    bound, question = level(*numbers), parse(text)
    assert isinstance(bound, ApproximateDP)
    answers = len(question.answers or ())
    rows = {
        state: exact_row(bound, answers, question.truth(state), question.flips(state, neighbours) - 1)
        for state in states(cells, most)
    }
    pairs = {(s, m) for s in rows for m in moves(s, neighbours, most) if m in rows}
    assert len(pairs) > 20
    assert max(largest_breach(bound, rows[a], rows[b]) for a, b in pairs) <= 0


def test_a_distance_off_by_one_is_caught() -> None:
    """The negative control of the test above, and erratum 000-1: flips in place of flips - 1 is not private."""
    bound, question = level("ln(2)"), parse("share(p) >= 0.4")
    assert isinstance(bound, ApproximateDP)
    rows = {s: exact_row(bound, 2, question.truth(s), question.flips(s, Neighbours.SUBSTITUTION)) for s in states(2, 6)}
    pairs = [(s, m) for s in rows for m in moves(s, Neighbours.SUBSTITUTION, 6)]
    assert max(largest_breach(bound, rows[a], rows[b]) for a, b in pairs) > 0


@pytest.mark.parametrize("numbers", LEVELS)
@pytest.mark.parametrize("answers", [1, 2, 3, 7])
def test_enclosures_hold_the_exact_numbers(numbers: tuple[str, str], answers: int) -> None:
    bound = level(*numbers)
    assert isinstance(bound, ApproximateDP)
    chain = Chain(bound, answers)
    for truth, distance in itertools.product(range(answers), (0, 1, 2, 9, 40, math.inf)):
        exact = exact_row(bound, answers, truth, distance)
        with precision(128):
            for shown, value in zip(chain.enclosures(truth, distance), exact):
                assert shown.overlaps(Ball(value.numerator) / value.denominator)
                assert abs(float(shown) - float(value)) < 1e-15


@given(
    st.fractions(0, 5, max_denominator=50),
    st.fractions(0, Fraction(1, 3), max_denominator=50),
    st.integers(0, 60),
)
def test_two_answers_follow_the_printed_error(epsilon: Fraction, delta: Fraction, distance: int) -> None:
    """Theory 2.1: error max{0, [E - 1 - delta(E^(t+1) + E^t - 2)] / (E^t (E^2 - 1))}."""
    bound = level(epsilon, delta)
    assert isinstance(bound, ApproximateDP)
    with precision(400):
        error = Chain(bound, 2).error(distance)
        ratio = bound.epsilon.exp()
        d = Ball(delta.numerator) / delta.denominator
        if epsilon == 0:
            printed = (1 - d * (2 * distance + 1)) / 2
        else:
            power = ratio**distance
            printed = (ratio - 1 - d * (power * ratio + power - 2)) / (power * (ratio**2 - 1))
        assert abs(float(printed.max(Ball(0)) - error)) < 1e-40


def test_exactly_right_far_from_the_boundary_with_delta() -> None:
    bound = level(1, "1e-6")
    assert isinstance(bound, ApproximateDP)
    chain = Chain(bound, 2)
    assert chain.error(50) == 0
    assert chain.error(5) > 0


def test_a_tiny_error_is_kept_and_not_rounded_to_zero() -> None:
    bound = level(1)
    assert isinstance(bound, ApproximateDP)
    with precision(128):
        assert Chain(bound, 2).error(10**9) > 0
        assert Chain(bound, 5).error(10**9) > 0
