"""Composition never says less than the truth: brute force on products of randomised response, and the laws."""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import InputError, LedgerError, MissingExtraError
from optimaldp.ledger import Budget
from optimaldp.ledger.composition import (
    Basic,
    Optimal,
    Planned,
    Spending,
    compose_basic,
    compose_losses,
    compose_optimal,
    most_spends,
    read_rule,
)
from optimaldp.ledger.composition.rules import _composed
from optimaldp.privacy import Epsilon
from optimaldp.privacy.levels import Bound

MILLIONTH = Fraction(1, 10**6)


def bound(epsilon: Any, delta: Any = 0) -> Bound:
    return Bound(Epsilon.read(epsilon), Fraction(str(delta)) if not isinstance(delta, Fraction) else delta)


def response(ratio: Fraction, delta: Fraction) -> list[tuple[Fraction, Fraction]]:
    """Randomised response that is exactly (ln ratio, delta)-DP: the probability of each output on two neighbours."""
    truth, lie = (1 - delta) * ratio / (1 + ratio), (1 - delta) / (1 + ratio)
    return [(delta, Fraction(0)), (truth, lie), (lie, truth), (Fraction(0), delta)]


def outcomes(levels: Iterable[tuple[Fraction, Fraction]]) -> Iterator[tuple[Fraction, Fraction]]:
    """Every outcome of the product, with its probability on the two datasets."""
    for chosen in product(*(response(ratio, delta) for ratio, delta in levels)):
        yield math.prod((p for p, _ in chosen), start=Fraction(1)), math.prod((q for _, q in chosen), start=Fraction(1))


def true_delta(levels: Iterable[tuple[Fraction, Fraction]], ratio: Fraction) -> Fraction:
    """The least delta of the product at e^epsilon = ratio, from the definition."""
    return sum((max(Fraction(0), p - ratio * q) for p, q in outcomes(levels)), Fraction(0))


def is_least(levels: list[tuple[Fraction, Fraction]], delta: Fraction, ratio: Fraction) -> bool:
    """Whether *ratio* keeps *delta*, and nothing smaller does."""
    slightly_less = ratio - Fraction(1, 10**12)
    return true_delta(levels, ratio) <= delta and (ratio == 1 or true_delta(levels, slightly_less) > delta)


RATIOS = (Fraction(2), Fraction(3, 2), Fraction(10))
DELTAS = (Fraction(0), Fraction(1, 100))
TOTALS = (Fraction(0), MILLIONTH, Fraction(1, 30), Fraction(1, 5), Fraction(2, 3))


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_optimal_composition_is_the_truth(ratio: Fraction, delta: Fraction, count: int) -> None:
    levels = [(ratio, delta)] * count
    for total in TOTALS:
        found = compose_optimal(Bound(Epsilon(Fraction(0), ratio), delta), count, total)
        if found.infinite:
            assert true_delta(levels, Fraction(10**9)) > total
        else:
            assert found.exact_ratio is not None
            assert is_least(levels, total, found.exact_ratio)


def test_the_check_of_the_truth_can_fail() -> None:
    levels = [(Fraction(2), Fraction(0))] * 3
    exact = compose_optimal(bound("ln(2)"), 3, Fraction(1, 5)).exact_ratio
    assert exact is not None
    assert is_least(levels, Fraction(1, 5), exact)
    assert not is_least(levels, Fraction(1, 5), exact - Fraction(1, 10**6))
    assert not is_least(levels, Fraction(1, 5), exact + Fraction(1, 10**6))


def test_the_corners_are_those_of_the_theorem() -> None:
    """Kairouz, Oh, Viswanath 2015, Theorem 3.3: ((k - 2i) epsilon, 1 - (1 - delta)^k (1 - delta_i))."""
    e, delta, k = Fraction(3, 2), Fraction(1, 1000), 9
    for i in range(k // 2 + 1):
        terms = (math.comb(k, l) * (e ** (k - l) - e ** (k - 2 * i + l)) for l in range(i))  # noqa: E741
        corner = 1 - (1 - delta) ** k * (1 - sum(terms, Fraction(0)) / (1 + e) ** k)
        assert compose_optimal(Bound(Epsilon(Fraction(0), e), delta), k, corner).exact_ratio == e ** (k - 2 * i)


def test_balls_agree_with_rationals_and_err_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    for ratio, count, total in product(RATIOS, (1, 7, 30), TOTALS[:4]):
        level = Bound(Epsilon(Fraction(0), ratio), Fraction(0))
        exact = compose_optimal(level, count, total).exact_ratio
        with monkeypatch.context() as patch:
            patch.setattr("optimaldp.ledger.composition.optimal._EXACT_BITS", 0)
            rounded = compose_optimal.__wrapped__(level, count, total).exact_ratio
        assert exact is not None
        assert rounded is not None
        assert exact <= rounded <= exact * (1 + Fraction(1, 2**100))


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_levels_that_are_not_rational_are_enclosed(count: int) -> None:
    """e^0.5 lies between two rationals; what is composed of them lies on both sides of what is composed of it."""
    below, above = Fraction(16487, 10000), Fraction(16488, 10000)
    for total in TOTALS:
        least, middle, most_ = (
            compose_optimal(Bound(epsilon, Fraction(0)), count, total)
            for epsilon in (Epsilon(Fraction(0), below), Epsilon.read(0.5), Epsilon(Fraction(0), above))
        )
        assert least <= middle <= most_


def test_without_delta_nothing_is_gained() -> None:
    for epsilon in ("0.1", "ln(2)", "1/3"):
        assert compose_optimal(bound(epsilon), 12, Fraction(0)) == Epsilon.read(epsilon) * 12


def test_an_impossible_delta_is_infinite() -> None:
    assert compose_optimal(bound(0.1, "0.1"), 2, Fraction(1, 10)).infinite
    assert not compose_optimal(bound(0.1, "0.1"), 2, Fraction(19, 100)).infinite


small_levels = st.builds(
    bound,
    st.sampled_from(["0.1", "0.25", "ln(2)", "1", "ln(3/2)", "1/3", "0"]),
    st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(1, 1000)]),
)


@given(small_levels, st.integers(1, 60), st.sampled_from(TOTALS))
def test_more_spends_never_cost_less(level: Bound, count: int, total: Fraction) -> None:
    assert compose_optimal(level, count, total) <= compose_optimal(level, count + 1, total)


@given(small_levels, st.integers(1, 30))
def test_basic_n_at_once_is_n_times_one(level: Bound, count: int) -> None:
    at_once = Bound(level.epsilon * count, min(Fraction(1), level.delta * count))
    assert compose_basic([level] * count) == at_once
    spending = Spending()
    for _ in range(count):
        spending.add(level)
    assert Basic().spent(spending, Budget(1)) == at_once


@settings(deadline=None)
@given(small_levels, st.integers(1, 30))
def test_the_other_rules_n_at_once_is_n_times_one(level: Bound, count: int) -> None:
    """dp-accounting's event of a repeated randomised response breaks this law; its distributions must not."""
    budget = Budget(100, Fraction(1, 10))
    spending = Spending()
    for _ in range(count):
        spending.add(level)
    at_once = compose_optimal(level, count, budget.delta)
    assert Optimal(level.epsilon, level.delta).spent(spending, budget).epsilon == at_once
    assert compose_losses(spending.levels, budget.delta) == compose_losses({level: count}, budget.delta)
    assert at_once <= compose_losses({level: count}, budget.delta)


@pytest.mark.parametrize("count", [2, 10, 37])
def test_the_distribution_of_n_at_once_is_that_of_n_times_one(count: int) -> None:
    at_once = _composed([(3, Fraction(1, 10**7), count)], Fraction(1, 10))
    one_by_one = _composed([(3, Fraction(1, 10**7), 1)] * count, Fraction(1, 10))
    single = _composed([(3, Fraction(1, 10**7), 1)], Fraction(1, 10))
    for delta in (1e-5, 1e-3, 0.1):
        assert abs(at_once.get_epsilon_for_delta(delta) - one_by_one.get_epsilon_for_delta(delta)) < 1e-6
        assert at_once.get_epsilon_for_delta(delta) > single.get_epsilon_for_delta(delta) + 0.1


@settings(deadline=None, max_examples=40)
@given(small_levels, st.integers(1, 40), st.sampled_from([MILLIONTH, Fraction(1, 1000), Fraction(1, 10)]))
def test_distributions_agree_with_the_closed_form(level: Bound, count: int, total: Fraction) -> None:
    exact, found = compose_optimal(level, count, total), compose_losses({level: count}, total)
    assert exact <= found
    if not exact.infinite:
        assert float(found) <= float(exact) * (1 + 1e-4) + 1e-4
        assert found <= level.epsilon * count or level.delta * count > total


MIXED = ((Fraction(2), Fraction(0)), (Fraction(3, 2), Fraction(1, 1000)), (Fraction(5), Fraction(0)))


@pytest.mark.parametrize("levels", [chosen for k in (2, 3, 4) for chosen in combinations_with_replacement(MIXED, k)])
def test_distributions_are_never_below_the_truth(levels: tuple[tuple[Fraction, Fraction], ...]) -> None:
    counted = Counter(Bound(Epsilon(Fraction(0), ratio), delta) for ratio, delta in levels)
    for total in (Fraction(1, 200), Fraction(1, 20), Fraction(1, 3)):
        found = compose_losses(counted, total)
        above, slightly_less = (
            found.ratio_below(bits=60),
            Epsilon.read(max(0.0, float(found) - 2e-3)).ratio_above(bits=60),
        )
        assert true_delta(levels, above) <= total
        assert above == 1 or true_delta(levels, slightly_less) > total or float(found) < 2e-3  # and hardly above it


def test_mixed_levels_gain_on_the_plain_sum() -> None:
    plan = {bound(0.1): 50, bound(0.25): 10}
    plain = compose_basic(level for level, count in plan.items() for _ in range(count))
    assert compose_losses(plan, MILLIONTH) < plain.epsilon
    assert compose_losses(plan, Fraction(0)) == plain.epsilon


def test_nothing_costs_nothing() -> None:
    assert compose_losses({}, MILLIONTH).is_zero
    assert compose_optimal(bound(1), 0, MILLIONTH).is_zero
    assert compose_basic([]) == bound(0)


def test_most_is_the_last_that_fits() -> None:
    count = most_spends(bound(0.1), Epsilon.read(2), MILLIONTH)
    assert count > 20  # the plain sum allows 20
    assert (
        compose_optimal(bound(0.1), count, MILLIONTH)
        <= Epsilon.read(2)
        < compose_optimal(bound(0.1), count + 1, MILLIONTH)
    )
    assert most_spends(bound(3), Epsilon.read(2), MILLIONTH) == 0


def test_rules_are_read_back_from_what_they_write() -> None:
    for rule in (Basic(), Optimal("ln(2)", 1e-7), Planned({0.1: 3, ("ln(3)", 1e-9): 2})):
        assert read_rule(rule.to_document()) == rule


@pytest.mark.parametrize("bad", ["advanced", {"rule": "magic"}, 3])
def test_an_unknown_rule_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="composition"):
        read_rule(bad)


@pytest.mark.parametrize("plan", [{}, {0.1: 0}, {0.1: 1.5}, {0.1: True}])
def test_a_plan_counts_its_levels(plan: dict[Any, Any]) -> None:
    with pytest.raises(InputError, match="plan"):
        Planned(plan)


def test_a_plan_beyond_the_budget_is_refused_when_the_ledger_is_made() -> None:
    with pytest.raises(LedgerError, match="the plan needs epsilon"):
        Planned({1: 5}).check(Budget(2, MILLIONTH))
    Planned({1: 2}).check(Budget(2, MILLIONTH))


def test_without_dp_accounting_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)
    with pytest.raises(MissingExtraError, match=r"optimaldp\[accounting\]"):
        compose_losses({bound(0.1): 3}, MILLIONTH)
    assert compose_optimal(bound(0.1), 3, MILLIONTH) <= Epsilon.read(0.3)  # the closed form needs nothing


@given(st.lists(st.sampled_from([0, 1, 2]), max_size=4), st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=4))
def test_a_planned_delta_need_not_be_used_up(asked: list[int], planned: list[int]) -> None:
    """Spends of one epsilon fit if some way to give each a planned delta of its own exists: all ways are tried."""
    rule = Planned(Counter((1, delta * MILLIONTH) for delta in planned))
    bounds = [Bound(Epsilon.read(1), delta * MILLIONTH) for delta in asked]
    spending, held = Spending(), []
    for bound, delta in zip(bounds, asked):
        ways = permutations(planned, len(held) + 1) if len(held) < len(planned) else iter(())
        fits = any(all(one <= most for one, most in zip([*held, delta], way)) for way in ways)
        try:
            admitted = rule.admits(spending, bound, Budget(50, Fraction(1, 100)))
        except LedgerError:
            admitted = False
        assert admitted == fits
        if admitted:
            spending.add(bound)
            held.append(delta)
