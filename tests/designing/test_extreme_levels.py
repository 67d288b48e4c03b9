"""Levels that are hardly levels: an epsilon of thousands, Gaussian steps into the far tail. Right, and told in words of ours."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import optimaldp as odp
from optimaldp import graphs
from optimaldp.certify.graphs.given import number_above, number_below
from optimaldp.certify.graphs.rounding import Walk, step_above
from optimaldp.designing import Proof, Status
from optimaldp.privacy import level
from optimaldp.privacy.balls import lower, precision, rational

ANSWERS = tuple("abc")
GIVEN = {"0": {"a": "0.5", "b": "0.4", "c": "0.1"}, "2": {"a": "0.6", "b": "0.2", "c": "0.2"}}


def there_and_back(name: str) -> tuple[str, ...]:
    return ANSWERS if name < "2" else ANSWERS[::-1]


@pytest.mark.parametrize("epsilon", ["12", "20", "50", "ln(1e12)", "1000", "100000"])
@pytest.mark.parametrize("given", [None, GIVEN], ids=["undominated", "given"])
def test_a_huge_epsilon_is_solved_and_proven(epsilon, given):
    found = odp.design(graphs.line(4), there_and_back, answers=ANSWERS, epsilon=epsilon, fixed=given)
    assert found.status is Status.OPTIMAL
    assert found.gap < 1e-15  # what nothing attains is approached, and at 50 a hair of 1e-40 is not private yet
    assert found.verdict.optimal
    assert found.route == ("closed-form" if given is None and found.claim == "greatest" else "linear-program")


@pytest.mark.long
def test_a_clash_too_long_to_write_is_told_in_short():
    truth = {"0": "a", "1": "a", "2": "b"}
    found = odp.design(graphs.line(3), truth, answers=("a", "b"), epsilon=100000, fixed={"0": {"a": "0.4", "b": "0.6"}})
    assert found.status is Status.NO_OPTIMUM
    assert "1 - about " in found.witness["reason"]
    assert len(found.witness["reason"]) < 300


@pytest.mark.parametrize("mu", ["15", "20", "100"])
def test_a_gaussian_step_into_the_far_tail_is_proven(mu):
    found = odp.design(
        graphs.line(3, level=level(mu=mu)), lambda name: "a", answers=("a", "b"), fixed={"0": {"a": "1/2", "b": "1/2"}}
    )
    assert found.proof is Proof.EXACT
    assert found.verdict.optimal
    assert 0 < found.mechanism["1"]["b"] < Fraction(1, 10**40)


@pytest.mark.parametrize("answers", [2, 3])
def test_a_long_line_with_two_gaussian_levels_is_proven(answers):
    path = graphs.line(60, levels=[level(mu=("1", "0.5")[k % 2]) for k in range(59)])
    words = ANSWERS[:answers]
    found = odp.design(path, lambda name: words if int(name) < 5 else words[::-1], answers=words)
    assert found.proof is Proof.EXACT
    assert found.verdict.optimal


@pytest.mark.parametrize("y", [Fraction(1, 3), Fraction(1, 2), 1 - Fraction(1, 2**300), Fraction(1, 2**300)])
@pytest.mark.parametrize("mu", ["0.1", "3", "25"])
def test_the_referee_bounds_a_gaussian_step_from_above_and_closely(y, mu):
    bound, _ = step_above([Walk(level(mu=mu), True)], y)
    with precision(2000):
        value, rest = level(mu=mu).sides(y, 1)
        assert lower(value) <= bound <= 1
        least = lower(rest)
    assert 1 - bound <= least * (1 + Fraction(1, 2**100))
    assert 1 - bound >= least * (1 - Fraction(1, 2**100))


def test_a_number_beyond_every_float_has_one_above_and_one_below_it():
    huge = rational(10**400)
    assert number_above(huge) == math.inf
    assert number_above(-huge) < 0
    assert number_below(-huge) == -math.inf
    assert number_below(huge) > 1e300
