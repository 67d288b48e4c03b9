"""Two distributions: the least ratio and the verdict, against brute force over all events."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

import pytest
from golden import vectors
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from optimaldp.certify.core.closeness import least_ratio, ratio_within, within_gaussian
from optimaldp.certify.graphs.privacy import keeps
from optimaldp.certify.graphs.rounding import check_pair
from optimaldp.privacy import Epsilon, all_of, directed, level
from optimaldp.privacy.balls import ball, precision


def all_events(count):
    return chain.from_iterable(combinations(range(count), k) for k in range(count + 1))


def total(row, event):
    return sum((row[a] for a in event), Fraction(0))


def hockey_stick(upper, lower, ratio):
    """The least delta at a given ratio: the sum of the positive parts."""
    return sum((max(Fraction(0), a - ratio * b) for a, b in zip(upper, lower)), Fraction(0))


@st.composite
def distributions(draw, answers=None, most=20):
    count = answers or draw(st.integers(1, 4))
    weights = draw(st.lists(st.integers(0, most), min_size=count, max_size=count))
    assume(sum(weights))
    return tuple(Fraction(w, sum(weights)) for w in weights)


@st.composite
def pairs(draw):
    count = draw(st.integers(1, 4))
    return draw(distributions(count)), draw(distributions(count))


deltas = st.fractions(0, 1, max_denominator=12)
ratios = st.fractions(1, 6, max_denominator=5)


@pytest.mark.long
@given(pairs(), deltas, ratios)
@settings(max_examples=400)
def test_the_least_ratio_is_the_least(pair, delta, ratio):
    upper, lower = pair
    holds = all(total(upper, s) <= ratio * total(lower, s) + delta for s in all_events(len(upper)))
    least = least_ratio(upper, lower, delta)
    assert holds == (least is not None and least <= ratio)
    assert holds == (hockey_stick(upper, lower, ratio) <= delta)


@pytest.mark.long
@given(pairs(), deltas, st.sampled_from(["0.5", "1", "0.1", "2", "0.3+ln(2)", "ln(3/2)", "0", "inf"]))
@settings(max_examples=400)
def test_an_irrational_level_is_decided_as_by_brute_force(pair, delta, epsilon):
    upper, lower = pair
    read = Epsilon.read(epsilon)

    def holds(s):
        if read.infinite:
            return total(lower, s) > 0 or total(upper, s) <= delta
        with precision(400):  # numbers this short are never closer than that to a transcendental one
            slack = read.exp() * ball(total(lower, s)) + ball(delta) - ball(total(upper, s))
            return not slack < 0

    assert ratio_within(least_ratio(upper, lower, delta), read) == all(map(holds, all_events(len(upper))))


@given(pairs(), deltas, st.fractions(0, 1, max_denominator=4))
def test_both_directions_of_a_directed_edge_are_checked(pair, delta, back_delta):
    tail, head = pair
    edge = directed(forward=level("ln(2)", delta), backward=level("ln(3)", back_delta))
    ahead = all(total(head, s) <= 2 * total(tail, s) + delta for s in all_events(len(tail)))
    back = all(total(tail, s) <= 3 * total(head, s) + back_delta for s in all_events(len(tail)))
    assert keeps(edge, tail, head) == check_pair(edge, tail, head).kept == (ahead and back)


@given(pairs())
def test_several_promises_all_count(pair):
    tail, head = pair
    both = all_of(level("ln(2)", "1/4"), level("ln(4)"))
    assert keeps(both, tail, head) == (keeps(level("ln(2)", "1/4"), tail, head) and keeps(level("ln(4)"), tail, head))


@given(pairs(), st.fractions(0, 3, max_denominator=4))
def test_gaussian_privacy_is_checked_on_every_event(pair, mu):
    upper, lower = pair
    bound = level(mu=mu)

    def holds(s):
        with precision(300):
            step = bound.step(total(lower, s))
            value = total(upper, s)
            return value <= step if isinstance(step, Fraction) else not ball(value) > step

    assert within_gaussian(upper, lower, mu) == all(map(holds, all_events(len(upper))))


@pytest.mark.parametrize("case", vectors("graphs", "check_close"), ids=lambda case: case["id"])
def test_pairs_of_the_papers(case):
    first, second = (tuple(Fraction(case[side][a]) for a in sorted(case[side])) for side in "PQ")
    promised = level(f"ln({case['E']})", case["delta"])
    assert keeps(promised, first, second) is case["expect"]["close"]
    ratio = Fraction(case["E"])
    worst = max(hockey_stick(first, second, ratio), hockey_stick(second, first, ratio))
    assert worst == Fraction(case["expect"]["hockey"])


def test_a_tight_pair_of_an_irrational_level_is_not_called_private_one_hair_above():
    promised = level(1)
    with precision(300):
        just_below = Epsilon.read(1).ratio_below(bits=250)
    low = 1 / (1 + just_below)
    hair = Fraction(1, 2**240)
    assert keeps(promised, (1 - low, low), (low, 1 - low))
    assert not keeps(promised, (1 - low + hair, low - hair), (low - hair, 1 - low + hair))


def test_infinite_epsilon_still_counts_delta():
    nothing, half, all_ = (Fraction(0), Fraction(1)), (Fraction(1, 2), Fraction(1, 2)), (Fraction(1), Fraction(0))
    assert not keeps(level("inf", "0.4"), nothing, half)
    assert keeps(level("inf", "0.5"), nothing, half)
    assert not keeps(level("inf", "0.5"), nothing, all_)
    assert keeps(level("inf"), half, (Fraction(1, 1000), Fraction(999, 1000)))
