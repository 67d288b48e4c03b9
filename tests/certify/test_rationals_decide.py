"""Privacy in rationals: each distinct pair once, the worst edge, and its epsilon."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from small_lines import HALF, ONE, QUARTER, THIRD, ZERO, graph_of, line_of

from optimaldp.certify.core.closeness import _MOST_BITS, _gaussian_pair, least_ratio
from optimaldp.certify.graphs.privacy import (
    check_exactly,
    check_privacy,
    distinct_pairs,
    is_private,
    keeps,
    row_fault,
)
from optimaldp.certify.graphs.rounding import check_pair, first_of_each, group, promised_above
from optimaldp.errors import GraphError, LevelError, MechanismError
from optimaldp.graphs import DatasetGraph, NumberNames
from optimaldp.mechanisms import Mechanism, SharedRows, TwoSides
from optimaldp.privacy import Epsilon, all_of, directed, level
from optimaldp.privacy.balls import ball


def test_distinct_pairs_and_their_first_edges():
    of = np.array([0, 1, 0, 1, 2], dtype=np.int32)
    tails, heads = np.array([0, 2, 1, 0, 3, 0]), np.array([1, 3, 4, 1, 4, 4])
    kinds = np.array([0, 0, 1, 1, 1, 0])
    rows = distinct_pairs(of, tails, heads, kinds)
    found = sorted(zip(*(part.tolist() for part in rows)))
    assert found == [(0, 1, 0, 0), (0, 1, 1, 3), (0, 2, 0, 5), (1, 2, 1, 2)]


def test_groups_by_table_and_by_sorting():
    code = np.array([7, 3, 7, 9, 3, 0])
    for size in (10, 10**7):
        distinct, place = group(code, size)
        assert distinct.tolist() == [0, 3, 7, 9]
        assert distinct[place].tolist() == code.tolist()
        assert first_of_each(place, 4).tolist() == [5, 1, 0, 3]
    assert group(np.zeros(0, dtype=np.int64), 5)[0].tolist() == []


def test_epsilons_are_told_not_below_what_is_used_and_not_above_what_is_promised():
    kept = check_pair(level("ln(2)"), (QUARTER, 1 - QUARTER), (HALF, HALF))
    assert kept.kept
    assert kept.used == pytest.approx(math.log(2))
    assert kept.strain == pytest.approx(0.0, abs=1e-15)
    broken = check_pair(level("ln(3/2)"), (QUARTER, 1 - QUARTER), (HALF, HALF))
    assert (broken.kept, broken.used) == (False, pytest.approx(math.log(2)))
    assert broken.strain == pytest.approx(math.log(4 / 3))
    never = check_pair(level(1), (ZERO, ONE), (HALF, HALF))
    assert (never.kept, never.used, never.strain) == (False, math.inf, math.inf)
    both = check_pair(all_of(level("ln(3)"), level("ln(2)", "1/10")), (QUARTER, 1 - QUARTER), (HALF, HALF))
    assert both.used == pytest.approx(math.log(2))
    assert both.strain == pytest.approx(max(math.log(2) - math.log(3), math.log(1.6) - math.log(2)))
    gaussian = check_pair(level(mu=1), (HALF, HALF), (Fraction(84, 100), Fraction(16, 100)))
    assert gaussian.kept
    assert gaussian.used == gaussian.strain == pytest.approx(math.log(50 / 16))
    beyond = check_pair(level(mu=1), (HALF, HALF), (Fraction(85, 100), Fraction(15, 100)))
    assert (beyond.kept, beyond.strain) == (False, math.inf)
    assert beyond.used == pytest.approx(math.log(50 / 15))
    other = check_pair(level(mu=1), (Fraction(85, 100), Fraction(15, 100)), (HALF, HALF))
    assert not other.kept
    with pytest.raises(LevelError, match="is not a level"):
        check_pair("strict", (HALF, HALF), (HALF, HALF))  # type: ignore[arg-type]


def test_what_one_edge_keeps():
    low, high = (HALF, HALF), (Fraction(84, 100), Fraction(16, 100))
    far = (Fraction(85, 100), Fraction(15, 100))
    for tail, head in ((low, high), (high, low)):
        assert keeps(level(mu=1), tail, head)
        assert keeps(level("ln(25/8)"), tail, head)
        assert not keeps(level("ln(3)"), tail, head)
    assert not keeps(level(mu=1), low, far)
    assert not keeps(level(mu=1), far, low)
    tilted = directed(forward=level("ln(2)"), backward=level("ln(4)"))
    assert keeps(tilted, low, high)
    assert not keeps(tilted, high, low)


def test_promises_as_people_read_them():
    assert promised_above(Epsilon.read("0.69")) == 0.69
    assert promised_above(Epsilon.read("inf")) == math.inf
    assert promised_above(Epsilon.read("ln(2)")) == pytest.approx(math.log(2), rel=1e-15)
    assert Fraction(repr(promised_above(Epsilon.read("ln(2)")))) >= Fraction(6931471805599453094172321, 10**25)
    assert promised_above(Epsilon.read("0.5+ln(2)")) == pytest.approx(0.5 + math.log(2), rel=1e-15)


def test_the_worst_edge_in_rationals():
    values = [QUARTER, Fraction(3, 8), HALF, Fraction(3, 10)]
    mechanism = line_of(values, level(1))
    finding = check_exactly(mechanism)
    assert (finding.private, finding.worst, finding.reason) == (True, 2, "")
    assert finding.epsilon == pytest.approx(math.log(5 / 3))
    levels, kinds = [level("ln(3/2)"), level("ln(5/4)"), level("ln(8/5)")], [0, 1, 2]
    graph = graph_of(4, [(0, 1), (1, 2), (2, 3)], levels, kinds)
    broken = check_exactly(Mechanism(graph, mechanism.preferences, mechanism.rows))
    assert (broken.private, broken.worst) == (False, 1)  # 4/3 against 5/4 is more than 5/3 against 8/5
    assert "between '1' and '2'" in broken.reason
    assert broken.epsilon == pytest.approx(math.log(5 / 3))
    for same in ([QUARTER, HALF, QUARTER], [HALF, QUARTER, HALF]):
        assert check_exactly(line_of(same, level(1))).worst == 0  # of equals the first
        assert check_exactly(line_of(same, level("0.1"))).worst == 0


def test_is_private_says_the_same():
    for values in ([QUARTER, HALF, QUARTER], [QUARTER, Fraction(501, 1000), QUARTER], [QUARTER], [QUARTER, QUARTER]):
        mechanism = line_of(values, level("ln(2)"))
        assert is_private(mechanism) is check_privacy(mechanism).private
    alone = line_of([QUARTER], level("ln(2)"))
    assert (check_privacy(alone).private, check_privacy(alone).worst, check_privacy(alone).epsilon) == (
        True,
        None,
        0.0,
    )
    wrong = Mechanism(alone.graph, alone.preferences, SharedRows(((HALF, QUARTER),), np.zeros(1, dtype=np.int32)))
    assert not is_private(wrong)
    told = check_privacy(wrong)
    assert (told.private, told.worst, told.epsilon) == (False, None, math.inf)
    assert "it sums to 0.75" in told.reason
    unused = SharedRows(((HALF, HALF), (HALF, QUARTER)), np.zeros(1, dtype=np.int32))
    assert row_fault(Mechanism(alone.graph, alone.preferences, unused)) == ""
    with pytest.raises(MechanismError, match=r"\(1, 2, 1\)"):
        is_private(Mechanism(alone.graph, alone.preferences, SharedRows(((HALF, HALF),), np.zeros(2, dtype=np.int32))))
    pair = line_of([HALF, HALF], level(1))
    bare = Mechanism(DatasetGraph(NumberNames(2), [0], [1]), pair.preferences, pair.rows)
    with pytest.raises(GraphError, match="has no privacy levels"):
        check_privacy(bare)
    gaussian = line_of([HALF, Fraction(84, 100)], level(mu=1))
    assert check_privacy(gaussian).private
    sides = TwoSides(np.array([0.5, -0.1640625]), np.zeros(2, dtype=np.int32))
    assert check_privacy(Mechanism(gaussian.graph, gaussian.preferences, sides)).private
    far = TwoSides(np.array([0.5, -0.125]), np.zeros(2, dtype=np.int32))
    assert not check_privacy(Mechanism(gaussian.graph, gaussian.preferences, far)).private


@pytest.mark.parametrize("answers", [2, 5])
def test_long_rows_are_checked_by_enclosures_with_the_same_verdict(answers, monkeypatch):
    values = [QUARTER, Fraction(3, 8), HALF, Fraction(7, 20)]
    for promised in (level("0.5"), level("ln(3/2)"), level("0.3"), level("ln(4/3)", "1/20")):
        mechanism = line_of(values, promised, answers=answers)
        plain = check_exactly(mechanism)
        with monkeypatch.context() as patch:
            patch.setattr("optimaldp.certify.graphs.privacy._MANY_PROBABILITIES", 0)
            enclosed = check_exactly(mechanism)
        assert (enclosed.private, enclosed.reason) == (plain.private, plain.reason)
        assert plain.epsilon <= enclosed.epsilon * (1 + 1e-15)
        assert enclosed.epsilon == pytest.approx(plain.epsilon, rel=1e-11)
        if not plain.private:
            assert enclosed.worst == plain.worst


def test_gaussian_quantiles_that_agree_too_long_count_as_broken(monkeypatch):
    """2 Phi^-1(p) = mu for a mu known to few bits only: with so few, neither side is certain."""
    calls = []
    monkeypatch.setattr(
        "optimaldp.certify.core.closeness.normal_quantile", lambda p: calls.append(p) or ball(p) - ball(p)
    )
    assert not _gaussian_pair(Fraction(2, 3), THIRD, Fraction(1, 2**30000))
    bits = 128
    steps = 0
    while bits <= _MOST_BITS:
        bits, steps = 2 * bits, steps + 1
    assert len(calls) == 2 * steps


def test_ends_of_the_gaussian_trade_off():
    assert _gaussian_pair(ZERO, ZERO, ONE)
    assert not _gaussian_pair(Fraction(1, 10**9), ZERO, ONE)
    assert not _gaussian_pair(ONE, Fraction(999, 1000), Fraction(50))
    assert _gaussian_pair(Fraction(999, 1000), Fraction(998, 1000), ONE)
    assert not _gaussian_pair(HALF + Fraction(1, 10**9), HALF, ZERO)


def test_ratios_collect_answers_by_their_own_ratio():
    upper = (Fraction(1, 10), Fraction(4, 10), Fraction(3, 10), Fraction(2, 10), ZERO)
    lower = (ZERO, Fraction(2, 10), Fraction(1, 10), Fraction(7, 10), ZERO)
    assert least_ratio(upper, lower, Fraction(1, 10)) == Fraction(3)
    assert least_ratio(upper, lower, Fraction(2, 10)) == max(Fraction(3 + 1 - 2, 1), Fraction(8 - 2, 3))
    assert least_ratio(upper, lower, Fraction(9, 100)) is None
