"""The closed form of the chain against the general trajectory of its step function, which shares no line with it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from optimaldp.laws.votes import Chain
from optimaldp.privacy import ApproximateDP, Epsilon, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number

RATIONAL = ("0", "ln(1001/1000)", "ln(11/10)", "ln(3/2)", "ln(2)", "ln(3)", "ln(100)")
REAL = ("1e-40", "1e-9", "0.001", "0.1", "1", "0.5+ln(2)", "7", "30", "700")
DELTAS = tuple(map(Fraction, ("0", "1e-30", "1e-9", "1/1000", "1/50", "1/10", "1/3", "9/10", "1")))


def at(epsilon: str, delta: Fraction) -> ApproximateDP:
    return approximate(Epsilon.read(epsilon), delta)


def trajectory(level: ApproximateDP, steps: int) -> Number:
    """``1 - F^steps`` from the balanced boundary, where the wrong answer has ``(1 - delta)/(e^epsilon + 1)``."""
    ratio = level.epsilon.exact_ratio
    if ratio is not None:
        return level.sides(1 - (1 - level.delta) / (ratio + 1), steps)[1]
    return level.sides(1 - ball(1 - level.delta) / (level.epsilon.exp() + 1), steps)[1]


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", RATIONAL)
def test_exactly_the_trajectory_at_a_rational_level(epsilon: str, delta: Fraction) -> None:
    level = at(epsilon, delta)
    for steps in (*range(25), 60, 200):
        error = Chain(level).error(steps)
        assert type(error) is Fraction
        assert error == trajectory(level, steps)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", REAL)
def test_encloses_the_trajectory_at_a_real_level(epsilon: str, delta: Fraction) -> None:
    level = at(epsilon, delta)
    for steps in (*range(12), 60, 2000, 10**9, 10**15):
        with precision(128):
            error = Chain(level).error(steps)
            assert error >= 0
        with precision(2600):  # the trajectory subtracts a head of e^-700 from 1
            assert error.overlaps(trajectory(level, steps))


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9)])
@pytest.mark.parametrize("epsilon", REAL)
@pytest.mark.parametrize("bits", [64, 300])
def test_as_sharp_as_the_precision_asks_for(epsilon: str, delta: Fraction, bits: int) -> None:
    level = at(epsilon, delta)
    for steps in (0, 1, 2, 7):
        with precision(bits):
            error = Chain(level).error(steps)
        assert error == 0 or error.rel_accuracy_bits() >= bits - 2, (steps, error)


@pytest.mark.parametrize("epsilon", RATIONAL)
@pytest.mark.parametrize("delta", [Fraction(1, 1000), Fraction(1, 50), Fraction(1, 3)])
def test_falls_to_nothing_at_the_step_at_which_the_trajectory_does(epsilon: str, delta: Fraction) -> None:
    level = at(epsilon, delta)
    last = next(steps for steps in range(2000) if not trajectory(level, steps + 1))
    assert Chain(level).error(last) > 0
    assert Chain(level).error(last + 1) == 0 == Chain(level).error(last + 2)


def test_many_steps_leave_a_power_of_the_ratio_or_nothing() -> None:
    with precision(128):
        for steps in (10**6, 10**9, 10**15):
            halves = Chain(at("ln(2)", Fraction(0))).error(steps) * 3 * Ball(2) ** steps
            assert halves.overlaps(Ball(1))
            assert halves.rel_accuracy_bits() > 90
            assert Chain(at("ln(2)", Fraction(1, 10**30))).error(steps) == 0
            assert Chain(at("0", Fraction(1, 10**4))).error(steps) == 0
            assert abs(Chain(at("0", Fraction(0))).error(steps) - Ball(1) / 2) < Ball(2) ** -100
    assert float(Chain(at("1e-9", Fraction(0))).error(10**9)) == pytest.approx(math.exp(-1) / (2 + 1e-9), rel=1e-9)


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10), Fraction(1)])
def test_without_a_bound_but_delta_the_answer_is_right(delta: Fraction) -> None:
    level = at("inf", delta)
    for steps in (0, 1, 5, math.inf):
        assert Chain(level).error(steps) == 0
        assert level.sides(Fraction(1), steps)[1] == 0
