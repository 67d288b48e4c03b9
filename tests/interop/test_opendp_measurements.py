"""Mechanisms and questions as OpenDP measurements: the map, the answers, and what must be refused."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp import Mechanism, design, graphs, level
from optimaldp.errors import InputError, LevelError, NotCertifiedError
from optimaldp.interop import mechanism_measurement, question_measurement
from optimaldp.interop.opendp import group_bound
from optimaldp.privacy import Bound, Epsilon

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib", "honest-but-curious")


def _majority(epsilon: Any, delta: Any = 0) -> Mechanism:
    made = design(graphs.votes(3), truth=graphs.majority, epsilon=epsilon, delta=delta).mechanism
    assert made is not None
    return made


def test_pure_mechanism_has_a_pure_map() -> None:
    measurement = mechanism_measurement(_majority(1))
    assert [measurement.map(d) for d in (0, 1, 3)] == [0.0, 1.0, 3.0]
    assert measurement("111") in {"yes", "no"}


def test_approximate_mechanism_tells_both_numbers_rounded_up() -> None:
    epsilon, delta = mechanism_measurement(_majority("ln(2)", "0.1")).map(1)
    assert Fraction(delta) >= Fraction(1, 10) > Fraction(delta) - Fraction(1, 10**15)
    assert 0.6931471805599453 <= epsilon < 0.693147180559946


def test_heterogeneous_levels_give_the_weakest() -> None:
    line = graphs.DatasetGraph.from_edges(["a", "b", "c"], [("a", "b", level(1)), ("b", "c", level(2))])
    rows = {"a": {"yes": "1/2", "no": "1/2"}, "b": {"yes": "1/2", "no": "1/2"}, "c": {"yes": "1/2", "no": "1/2"}}
    measurement = mechanism_measurement(Mechanism.read(line, {"a": "yes", "b": "no", "c": "no"}, rows))
    assert measurement.map(1) == 2.0


@pytest.mark.long
def test_answers_follow_the_rows() -> None:
    measurement, draws = mechanism_measurement(_majority("ln(2)")), 3000
    counted = Counter(measurement("111") for _ in range(draws))
    # P = 5/6, standard deviation 20: ten of them have a probability far below 1e-6.
    assert abs(counted["yes"] - draws * 5 / 6) < 200


def test_a_mechanism_that_breaks_its_promise_is_refused() -> None:
    pair = graphs.line(2, level=level("ln(2)"))
    wrong = {"0": {"yes": "0.67", "no": "0.33"}, "1": {"yes": "1/3", "no": "2/3"}}
    broken = Mechanism.read(pair, {"0": "yes", "1": "no"}, wrong)
    with pytest.raises(NotCertifiedError, match="not private"):
        mechanism_measurement(broken)


def test_gaussian_levels_are_refused() -> None:
    pair = graphs.line(2, level=level(mu=1))
    even = {name: {"yes": "1/2", "no": "1/2"} for name in ("0", "1")}
    with pytest.raises(LevelError, match="OpenDP"):
        mechanism_measurement(Mechanism.read(pair, {"0": "yes", "1": "no"}, even))


def test_same_graph_composes_and_another_does_not() -> None:
    one, two = mechanism_measurement(_majority(1)), mechanism_measurement(_majority("1/2"))
    both = dp.c.make_composition([one, two])
    assert both.map(1) == pytest.approx(1.5)
    assert len(both("112")) == 2
    ring = design(graphs.votes(5), truth=graphs.majority, epsilon=1).mechanism
    with pytest.raises(dp.OpenDPException):
        dp.c.make_composition([one, mechanism_measurement(ring)])


def test_unknown_dataset_is_refused_without_quoting_it() -> None:
    with pytest.raises(dp.OpenDPException) as caught:
        mechanism_measurement(_majority(1))("hidden-name")
    assert "hidden-name" not in str(caught.value)


def test_question_follows_opendp_counting() -> None:
    asked = question_measurement("winner(x, ['a', 'b'])", epsilon=1, neighbours="add-remove")
    count = dp.t.make_count_by_categories(
        dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance(), categories=["a", "b"], MO=dp.L1Distance[int]
    )
    chain = count >> asked
    assert chain.map(1) == 1.0
    assert chain(["a"] * 500 + ["b"] * 5 + ["c"] * 3) == "a"
    assert asked([-5, 500, 0]) == "b"


def test_question_by_substitution_needs_the_public_total() -> None:
    with pytest.raises(InputError, match="persons"):
        question_measurement("majority(x)", epsilon=1)
    asked = question_measurement("majority(x)", epsilon=1, delta="1e-6", persons=1000)
    assert asked([900, 100]) == "yes"
    assert asked.map(1)[0] == 1.0
    with pytest.raises(dp.OpenDPException) as caught:
        asked([977, 100])
    assert "977" not in str(caught.value)


def test_histograms_are_questions_too() -> None:
    asked = question_measurement("histogram(x, ['a', 'b', 'c'])", epsilon=1, persons=100)
    drawn = asked([50, 30, 20, 0])
    assert sum(drawn.values()) == 100


@pytest.mark.long
def test_question_answers_follow_the_closed_form() -> None:
    asked, draws = question_measurement("majority(x)", epsilon="ln(3)", persons=5), 3000
    # Three of five: one move flips it, so the answer is right with probability 3/4 (standard deviation 24).
    assert abs(sum(asked([3, 2]) == "yes" for _ in range(draws)) - 0.75 * draws) < 240


@given(st.integers(0, 6), st.fractions(0, Fraction(1, 4)), st.fractions(1, 4))
def test_group_bound_is_the_iterated_step(distance: int, delta: Fraction, ratio: Fraction) -> None:
    """Walking one neighbour at a time gives ``P(S) <= E (E (... Q(S) + delta) + delta) + delta``."""
    bound = Bound(Epsilon(Fraction(0), ratio), delta)
    growth, total = Fraction(1), Fraction(0)
    for _ in range(distance):
        growth, total = growth * ratio, total * ratio + delta
    epsilon, together = group_bound(bound, distance)
    assert together >= min(total, Fraction(1)) >= Fraction(together) - Fraction(1, 10**12)
    assert Epsilon(Fraction(0), growth) <= Epsilon(Fraction(epsilon), Fraction(1))


def test_infinite_epsilon_costs_everything_after_two_steps() -> None:
    assert group_bound(Bound(Epsilon.read("inf"), Fraction(1, 4)), 1) == (float("inf"), 0.25)
    assert group_bound(Bound(Epsilon.read("inf"), Fraction(1, 4)), 2) == (float("inf"), 1.0)
