"""Every misprint of papers 000, 001 and 003 that would break privacy: what is printed, shown to break it, and what we compute.

Each test fails if the printed formula is put in the place of ours: the printed value is different, and not private.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from optimaldp.certify import verify
from optimaldp.designing import Status, design
from optimaldp.designing.two_answers import balanced_value
from optimaldp.graphs import DatasetGraph, line
from optimaldp.mechanisms import Mechanism
from optimaldp.privacy import level

TWO = level("ln(2)")
TENTH = level("ln(2)", "1/10")


def private(promise: object, *values: Fraction) -> bool:
    """Whether these probabilities of one answer may stand side by side on a line."""
    graph = line(len(values), level=promise)
    rows = {name: {"a": p, "b": 1 - p} for name, p in zip(graph.names, values)}
    return bool(verify(Mechanism.read(graph, {name: "a" if i else "b" for i, name in enumerate(rows)}, rows)).private)


def test_000_1_the_distance_is_to_the_own_boundary() -> None:
    found = design(line(2, level=TWO), {"0": "a", "1": "b"})
    assert found.mechanism is not None
    assert found.mechanism["0"]["a"] == Fraction(2, 3)
    printed = 1 - Fraction(1, 6)  # the same formula one step too far away
    assert not private(TWO, 1 - printed, printed)


def test_000_2_the_step_divides_once() -> None:
    b, ratio, delta = Fraction(6, 10), 2, Fraction(1, 10)
    printed = min(Fraction(1), (ratio * b + ratio + delta - 1) / ratio)
    assert TENTH.step(b) == Fraction(17, 20)
    assert not private(TENTH, b, printed)


def test_000_5_tau_is_clamped() -> None:
    error = Fraction(1, 100)
    assert level("ln(2)").transition(1 - error) == 0
    assert TWO.power(1 - error, 1) == 1 - error / 2
    printed = 1 - Fraction(101, 800)  # what the growth formula gives with tau = -2
    assert not private(TWO, 1 - error, printed)


def test_001_1_the_operator() -> None:
    s, ratio, delta = Fraction(4, 5), 2, Fraction(1, 10)
    printed = min(Fraction(1), min(ratio * s, 1 - (1 - s) / ratio) + delta)
    assert TENTH.step(s) == Fraction(19, 20)
    assert private(TENTH, s, Fraction(19, 20))
    assert not private(TENTH, s, printed)


@pytest.mark.parametrize("s", [Fraction(1, 2), Fraction(1, 4), Fraction(1, 10)])
def test_001_3_and_4_tau_has_no_plus_one(s: Fraction) -> None:
    promise = level("ln(2)")
    tau = promise.transition(s)
    printed = math.ceil(max(-math.log2(3 * s) + 1, 0))
    assert printed == tau + 1
    t = printed
    grown = min(Fraction(1), 2**t * s)  # the first branch, used one step too long
    assert promise.power(s, t) < grown
    assert not private(TWO, promise.power(s, t - 1), grown)


def test_001_5_the_second_branch() -> None:
    promise = level("ln(2)", "1/10")
    s, rho, ratio = Fraction(3, 5), Fraction(1, 10), Fraction(2)
    printed = min(Fraction(1), 1 + ratio * rho - (1 - s + ratio * rho) / ratio)
    ours = min(Fraction(1), 1 + rho - (1 - s + rho) / ratio)
    assert promise.step(s) == ours
    assert printed > ours
    assert not private(promise, s, printed)


def test_001_7_closeness_is_compared_answer_by_answer() -> None:
    """Both ends give (.9, .1) to what they prefer: equal in preference order, far apart in answer order."""
    given = {"0": {"a": "0.9", "b": "0.1"}, "1": {"a": "0.1", "b": "0.9"}}
    found = design(line(2, level=TWO), {"0": "a", "1": "b"}, fixed=given)
    assert found.status is Status.INFEASIBLE


def test_003_1_the_other_answer_is_complemented() -> None:
    graph = DatasetGraph.from_edges(["a", "b", "c"], [("a", "b"), ("b", "c")], level=TWO)
    given = {"a": {"blue": "2/3", "red": "1/3"}, "b": {"blue": "1/3", "red": "2/3"}}
    found = design(graph, {"a": "blue", "b": "red", "c": "red"}, fixed=given)
    assert found.mechanism is not None
    assert found.mechanism["c"]["blue"] == Fraction(1, 6)
    assert not private(TWO, Fraction(1, 3), Fraction(5, 6))  # what is printed, uncomplemented


def test_003_2_the_corollary() -> None:
    alpha, i, tau = Fraction(1, 4), 2, 1
    printed = 1 - Fraction(2) ** (i - tau) + Fraction(2) ** -(i + 2 * tau) * alpha
    assert printed < 0
    assert TWO.power(alpha, i) == Fraction(3, 4)


def test_003_3_the_first_step_counts() -> None:
    printed = 2 * Fraction(3, 5)
    assert printed > 1
    assert TWO.step(Fraction(3, 5)) == Fraction(4, 5)


def test_003_4_tau_is_clamped_on_paths_too() -> None:
    printed = Fraction(699, 800)
    assert TWO.step(Fraction(99, 100)) == Fraction(199, 200)
    assert not private(TWO, Fraction(99, 100), printed)


def test_000_15_a_component_without_boundary_hides_nothing() -> None:
    """Also where the limit of the closed form would say 1/2 (epsilon 0, delta 0)."""
    graph = DatasetGraph.from_edges(["a", "b", "c"], [("a", "b")], level=level(0))
    found = design(graph, {"a": "yes", "b": "yes", "c": "no"})
    assert found.mechanism is not None
    assert {name: found.mechanism[name] for name in "abc"} == {
        "a": {"yes": 1, "no": 0},
        "b": {"yes": 1, "no": 0},
        "c": {"no": 1, "yes": 0},
    }


@pytest.mark.parametrize(("epsilon", "delta"), [("ln(2)", "0"), ("ln(3)", "1/10"), ("0", "1/20"), ("0", "0")])
def test_000_7_the_balanced_error_at_any_distance(epsilon: str, delta: str) -> None:
    """The corollary with its clamp, and its limit at epsilon 0."""
    promise = level(epsilon, delta)
    E, d = Fraction(promise.epsilon.exact_ratio), Fraction(delta)
    for t in range(8):
        if E == 1:
            expected = max(Fraction(0), (1 - d * (2 * t + 1)) / 2)
        else:
            expected = max(Fraction(0), (E - 1 - d * (E ** (t + 1) + E**t - 2)) / (E**t * (E**2 - 1)))
        assert promise.sides(balanced_value(promise), t)[1] == expected
