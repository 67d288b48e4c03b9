"""Many answers in floats, function by function: tables within their error, ratios from above, nothing passed that is broken."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.certify.graphs import float_rows
from optimaldp.certify.graphs.float_rows import as_floats_first, check_float_rows, float_row_fault, float_table
from optimaldp.certify.graphs.floats import Promises
from optimaldp.certify.graphs.privacy import check_exactly, check_privacy
from optimaldp.certify.graphs.rounding import UNIT
from optimaldp.graphs import DatasetGraph, NumberNames, Preferences
from optimaldp.mechanisms import FloatRows, Mechanism, SharedRows
from optimaldp.privacy import directed, level


def rows_of(table, exact=(), exact_of=None, likeliest=None):
    table = np.array(table, dtype=float)
    most = table.argmax(axis=1).astype(np.int32) if likeliest is None else np.array(likeliest, dtype=np.int32)
    numbers = np.full(len(table), -1, dtype=np.int32) if exact_of is None else np.array(exact_of, dtype=np.int32)
    return FloatRows(table, most, tuple(exact), numbers)


def mechanism_of(rows, edges, levels, kinds=None):
    count, answers = len(rows), rows.table.shape[1] if isinstance(rows, FloatRows) else len(rows.row(0))
    graph = DatasetGraph(
        NumberNames(count),
        [u for u, _ in edges],
        [v for _, v in edges],
        levels=levels,
        level_of_edge=[0] * len(edges) if kinds is None else kinds,
    )
    preferences = Preferences(tuple("abcdefgh"[:answers]), (tuple(range(answers)),), np.zeros(count, dtype=np.int32))
    return Mechanism(graph, preferences, rows)


def random_table(generator, count, answers):
    table = generator.random((count, answers)) ** 3 + 1e-3
    table /= table.sum(axis=1)[:, None]
    return table


# --- the table -------------------------------------------------------------------------------------------------------


def test_the_likeliest_answer_is_what_is_left():
    generator = np.random.default_rng(1)
    rows = rows_of(random_table(generator, 30, 5))
    rows.table[np.arange(30), rows.likeliest] = 0.123  # only shown: nobody may take it for the probability
    table = float_table(rows)
    for vertex in range(30):
        for cell, exact in zip(table[vertex].tolist(), rows.row(vertex)):
            assert abs(Fraction(cell) - exact) <= exact * Fraction(UNIT)


def test_sums_that_cancel_keep_every_part():
    """Parts of 2^-60 are lost one by one in a plain sum; together they are seen."""
    tiny = 2.0**-54
    table = [[tiny] * 7 + [0.9]]
    assert float_table(rows_of(table))[0, 7] == float(1 - 7 * Fraction(tiny)) != 1.0 - tiny


def test_given_rows_stand_as_they_are():
    third = Fraction(1, 3)
    exact = [(third, third, third), (Fraction(1, 7), Fraction(6, 7), Fraction(0))]
    rows = rows_of([[0.2, 0.3, 0.5], [0.5, 0.25, 0.25], [0.1, 0.2, 0.7]], exact, [1, -1, 0])
    table = float_table(rows)
    assert table.tolist() == [[1 / 7, 6 / 7, 0.0], [0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]]


# --- what is no distribution -----------------------------------------------------------------------------------------


def fault_of(rows):
    return float_row_fault(mechanism_of(rows, [(0, 1)], [level(1)]), rows)


def test_rows_that_are_no_distributions_are_named():
    fine = [0.25, 0.25, 0.5]
    assert fault_of(rows_of([fine, fine])) == ""
    assert "'1'" in fault_of(rows_of([fine, [-1e-300, 0.25, 0.5]]))
    assert "'0'" in fault_of(rows_of([[0.25, math.nan, 0.5], fine], likeliest=[2, 2]))
    # What is left for the likeliest must be a likely answer's share: a sixth is the least for three answers.
    assert fault_of(rows_of([[0.5, 0.32, 0.18], fine], likeliest=[2, 2])) == ""
    assert "'0'" in fault_of(rows_of([[0.5, 0.34, 0.16], fine], likeliest=[2, 2]))
    assert fault_of(rows_of([[0.5, 0.25, 0.25], [0.5, 0.5 - 1 / 6 + 1e-12, 1]], likeliest=[0, 2])) != ""


def test_given_rows_that_are_no_distributions_are_named():
    half, fine = Fraction(1, 2), [0.25, 0.25, 0.5]
    sound = (half, half, Fraction(0))
    for wrong in ((half, half, half), (Fraction(3, 2), -half, Fraction(0)), (half, Fraction(1, 4), Fraction(0))):
        assert "'1'" in fault_of(rows_of([fine, fine], [sound, wrong], [0, 1]))
        assert fault_of(rows_of([fine, fine], [sound, wrong], [0, 0])) == ""
        assert "'0'" in fault_of(rows_of([fine, fine], [wrong], [0, -1]))
    # A given row counts and not the table next to it.
    assert fault_of(rows_of([[-1.0, 1.0, 1.0], fine], [sound], [0, -1])) == ""


# --- ratios ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", ["0", "0.1", "1e-9", "0.9"])
@pytest.mark.parametrize("answers", [2, 3, 7])
def test_least_ratios_are_rounded_up_and_by_little(delta, answers):
    generator = np.random.default_rng(answers)
    above, below = random_table(generator, 12, answers), random_table(generator, 12, answers)
    above[0, 0] = below[0, 0] = 0.0
    above[1, 1] = 0.0
    needed = float_rows._least_ratios(above, below, np.full(12, float(Fraction(delta))), UNIT)
    for p, q, ratio in zip(above.tolist(), below.tolist(), needed.tolist()):
        top, bottom = [Fraction(x) for x in p], [Fraction(x) for x in q]
        events = sorted(((a, b) for a, b in zip(top, bottom) if a), key=lambda ab: -ab[0] / ab[1])
        total, rest, exact = Fraction(0), Fraction(0), Fraction(0)
        for a, b in events:
            total, rest = total + a, rest + b
            exact = max(exact, (total - Fraction(float(Fraction(delta)))) / rest)
        assert exact <= Fraction(ratio)
        # delta takes away digits, never more than there are
        assert Fraction(ratio) <= max(Fraction(0), exact) * (1 + Fraction(1, 10**13)) + Fraction(1, 10**12)


def test_least_ratios_at_the_ends():
    def ratio(above, below, delta):
        return float_rows._least_ratios(np.array([above]), np.array([below]), np.array([delta]), UNIT).tolist()[0]

    assert ratio([0.5, 0.5], [0.0, 1.0], 0.0) == math.inf
    assert ratio([0.5, 0.5], [0.0, 1.0], 0.25) == math.inf
    assert ratio([0.5, 0.5], [0.0, 1.0], 0.5000001) == pytest.approx(0.4999999)
    assert ratio([0.0, 1.0], [0.0, 1.0], 0.0) == pytest.approx(1.0)
    assert ratio([0.0, 1.0], [0.0, 1.0], 0.25) == pytest.approx(0.75)
    assert ratio([0.0, 1.0], [0.5, 0.5], 0.25) == pytest.approx(1.5)
    # Together two answers need more than each alone.
    assert ratio([0.4, 0.4, 0.2], [0.2, 0.2, 0.6], 0.1) == pytest.approx(0.7 / 0.4)
    assert ratio([0.4, 0.4, 0.2], [0.1, 0.2, 0.7], 0.3) == pytest.approx(0.5 / 0.3)


def test_ratios_cover_the_error_of_their_entries():
    """Entries may be wrong by four units, each the worst way: the ratio of the true ones is still below."""
    for unit in (UNIT, 4 * UNIT):
        for delta in (0.0, 0.125):
            above, below = np.array([[0.3, 0.7]]), np.array([[0.1, 0.9]])
            needed = float_rows._least_ratios(above, below, np.array([delta]), unit)[0]
            worst = (Fraction(0.3) * (1 + Fraction(unit)) - Fraction(delta)) / (Fraction(0.1) * (1 - Fraction(unit)))
            assert worst <= Fraction(float(needed)) <= worst * (1 + 40 * Fraction(unit))


def test_sums_that_lose_all_they_add_are_rounded_up():
    """Hundreds of answers, each below half a unit of the sum: together they raise the ratio, and floats add none of them."""
    small, count = 2.0**-55, 300
    above, below = np.array([[0.5, *[small] * count]]), np.array([[0.25, *[0.55 * small] * count]])
    assert np.cumsum(above)[-1] == 0.5
    needed = float_rows._least_ratios(above, below, np.array([0.25]), UNIT)[0]
    exact = (Fraction(1, 4) + count * Fraction(small)) / (Fraction(1, 4) + count * Fraction(0.55 * small))
    assert exact > 1 + 100 * Fraction(UNIT)
    assert exact <= Fraction(float(needed)) <= exact + 10_000 * Fraction(UNIT)


def test_each_bound_of_each_direction_counts():
    tail, head = np.array([[0.2, 0.8]]), np.array([[0.4, 0.6]])
    for ahead, back, doubtful in (
        ("ln(3)", "ln(3)", False),
        ("ln(3/2)", "ln(3)", True),
        ("ln(3)", "ln(5/4)", True),
        ("ln(3)", "ln(7/5)", False),
    ):
        promises = Promises((directed(forward=level(ahead), backward=level(back)),))
        ratio, unsure = float_rows._ratios(tail, head, np.array([0]), promises, UNIT)
        assert unsure.tolist() == [doubtful]
        assert ratio[0] == pytest.approx(2.0)
    same = float_rows._ratios(tail, tail, np.array([0]), Promises((level(1),)), UNIT)
    assert same[0][0] == pytest.approx(1.0)
    assert same[1].tolist() == [False]
    broken = float_rows._ratios(tail * math.nan, head, np.array([0]), Promises((level(1),)), UNIT)
    assert broken[1].tolist() == [True]


# --- stages ----------------------------------------------------------------------------------------------------------


def line(table, levels, kinds=None, **more):
    rows = rows_of(table, **more)
    return mechanism_of(rows, [(k, k + 1) for k in range(len(rows) - 1)], levels, kinds)


TABLE = [[0.2, 0.3, 0.5], [0.25, 0.25, 0.5], [0.1, 0.35, 0.55], [0.12, 0.3, 0.58], [0.3, 0.3, 0.4]]


@pytest.mark.parametrize("at_once", [1, 4, 6, 100])
def test_chunks_of_edges_change_nothing(at_once, monkeypatch):
    mechanism = line(TABLE, [level("ln(5/2)"), level("ln(2)")], [0, 1, 0, 1])
    promises, table = Promises(mechanism.graph.levels), float_table(mechanism.rows)
    monkeypatch.setattr(float_rows, "_AT_ONCE", at_once)
    edges, ratios, largest, edge = float_rows._first_stage(mechanism, table, promises, UNIT)
    # 0.3 / 0.12 on the last edge is 2.5, and 0.25 / 0.1 on the second one: more than the promise.
    assert edges.tolist() == [1, 3]
    assert ratios == pytest.approx([2.5, 2.5])
    assert largest == pytest.approx(math.log(1.25))
    assert edge == 0
    loose = line(TABLE, [level(3)])
    edges, ratios, largest, edge = float_rows._first_stage(loose, table, Promises(loose.graph.levels), UNIT)
    assert (edges.tolist(), ratios.tolist(), edge) == ([], [], 1)
    assert largest == pytest.approx(math.log(2.5))


def test_equal_cases_are_looked_at_once():
    exact = [(Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 3), Fraction(2, 3))]
    rows = rows_of([[0.5, 0.5]] * 8, exact, [0, 1, 0, 1, -1, 2, 1, -1])
    same = [(0, 1), (2, 3), (2, 1)]  # one case: of these the first is kept
    single = [(1, 2), (0, 4), (0, 7), (4, 5), (7, 5), (4, 7), (7, 4), (5, 1), (2, 5)]
    edges = [*same, *single, (0, 1)]
    mechanism = mechanism_of(rows, edges, [level(1), level(2)], [0] * 12 + [1])
    used = np.arange(13) / 10
    kept, bounds = float_rows._distinct(mechanism.graph, rows, np.arange(13), used)
    assert sorted(kept.tolist()) == [0, *range(3, 13)]
    assert bounds.tolist() == [used[k] for k in kept.tolist()]
    kept, _ = float_rows._distinct(mechanism.graph, rows, np.array([1, 12]), used[[1, 12]])
    assert sorted(kept.tolist()) == [1, 12]


def test_entries_in_two_floats():
    third = Fraction(1, 3)
    rows = rows_of([[0.1, 0.2, 0.7], [0.25, 0.25, 0.5], [0.1, 0.2, 0.7]], [(third, third, third)], [-1, 0, 0])
    high, low = float_rows._parts(rows, np.array([0, 1, 2]))
    for place in range(3):
        for a, b, exact in zip(high[place].tolist(), low[place].tolist(), rows.row(place)):
            assert a == float(exact)
            assert abs(Fraction(a) + Fraction(b) - exact) <= exact * Fraction(1, 2**105)


def test_twice_the_precision_where_events_are_single_answers():
    """At ln 2 from above and from below by one unit: kept, and not kept; equality is left to rationals."""
    up = math.nextafter(0.2, 1)
    table = [[0.1, 0.4, 0.5], [0.2, 0.3, 0.5], [up / 2, 0.4, 0.5], [0.2, 0.3, 0.5], [0.1, 0.4, 0.5], [up, 0.3, 0.5]]
    rows = rows_of(table)
    mechanism = mechanism_of(rows, [(0, 1), (2, 3), (4, 5), (5, 4)], [level("ln(2)"), level("ln(3)")], [0, 0, 0, 1])
    promises = Promises(mechanism.graph.levels)
    kept = float_rows._second_stage(mechanism.graph, rows, promises, np.array([0, 1, 2, 3]))
    assert kept.tolist() == [False, True, False, True]
    turned = mechanism_of(rows, [(1, 0), (3, 2), (5, 4)], [level("ln(2)")])
    assert float_rows._second_stage(turned.graph, rows, promises, np.array([0, 1, 2])).tolist() == [False, True, False]
    assert float_rows._second_stage(turned.graph, rows, promises, np.zeros(0, dtype=np.int64)).tolist() == []
    # Each direction by its own promise: the first answer doubles, the others hardly fall.
    for ahead, back, kept in (("ln(3/2)", "ln(5)", False), ("ln(5)", "ln(3/2)", True)):
        tilted = mechanism_of(rows, [(0, 1)], [directed(forward=level(ahead), backward=level(back))])
        found = float_rows._second_stage(tilted.graph, rows, Promises(tilted.graph.levels), np.array([0]))
        assert found.tolist() == [kept]


# --- the verdict -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", ["0", "0.01"])
def test_the_verdict_is_the_exact_one(delta):
    generator, verdicts = np.random.default_rng(9), set()
    for trial in range(12):
        table = np.tile(random_table(generator, 1, 4), (5, 1)) * (1 + 0.3 * generator.random((5, 4)))
        table /= table.sum(axis=1)[:, None]
        levels = [level(("0.2", "0.05", "ln(2)", "0.15")[trial % 4], delta), level("0.22", delta)]
        mechanism = line(table, levels, [0, 1, 0, 1])
        quick, exact = check_float_rows(mechanism, mechanism.rows), check_exactly(mechanism)
        assert (quick.private, quick.reason) == (exact.private, exact.reason)
        assert quick.worst_edge == exact.worst_edge
        assert exact.epsilon * (1 - 1e-15) <= quick.epsilon <= exact.epsilon + 1e-11
        verdicts.add(quick.private)
    assert verdicts == {True, False}


def test_one_unit_more_than_the_promise_is_broken():
    for delta in ("0", "0.125"):
        covered = Fraction(delta)
        for ulps in range(-4, 5):
            first = 0.25 + ulps * 2.0**-54
            mechanism = line([[first, 0.25, 0.5], [0.125 - float(covered) / 2, 0.375, 0.5]], [level("ln(2)", delta)])
            exact = check_exactly(mechanism)
            assert check_privacy(mechanism).private == exact.private
            assert covered or exact.private == (ulps <= 0)


def test_ratios_that_passed_in_two_floats_are_told():
    """A unit or two below the promise: no larger than that, and no smaller than the truth."""
    low = 0.1
    high = math.nextafter(2 * low, 0)
    mechanism = line([[low, 0.4, 0.5], [high, 0.3, 0.5], [high, 0.3, 0.5]], [level("ln(2)")])
    finding = check_float_rows(mechanism, mechanism.rows)
    assert finding.private
    assert finding.worst_edge == 0
    assert math.log(high / low) * (1 - 1e-15) <= finding.epsilon <= math.log(2) * (1 + 1e-15)
    # With a larger one among the clear edges that is the one.
    levels = [level("ln(2)"), level(3)]
    wide = line([[low, 0.4, 0.5], [high, 0.3, 0.5], [0.02, 0.4, 0.58]], levels, [0, 1])
    finding = check_float_rows(wide, wide.rows)
    assert (finding.private, finding.worst_edge) == (True, 1)
    assert finding.epsilon == pytest.approx(math.log(high / 0.02))


@pytest.mark.parametrize("count", [2, 3])
def test_with_delta_events_are_more_than_single_answers(count):
    """0.4 is at most 3/2 of 0.2 plus 0.15, twice; 0.8 is more than 3/2 of 0.4 plus 0.15."""
    for covered, private in (("0.15", False), ("0.21", True)):
        table = [[0.2, 0.2, 0.6], *[[0.4, 0.4, 0.2]] * (count - 1)]
        mechanism = line(table, [level("ln(3/2)", covered), level("ln(5)")], [0, 1][: count - 1])
        turned = directed(forward=level("ln(3/2)", covered), backward=level("ln(5)"))
        mechanism = replace(mechanism, graph=mechanism.graph.with_level(turned))
        assert check_privacy(mechanism).private is check_exactly(mechanism).private is private
        four = line([[0.2, 0.2, 0.3, 0.3], [0.4, 0.4, 0.1, 0.1]], [turned])
        assert check_privacy(four).private is private


def test_what_passed_in_two_floats_is_not_shown_as_another_promise():
    high = math.nextafter(0.2, 0)
    tilted = directed(forward=level("ln(2)"), backward=level("ln(9)"))
    mechanism = line([[0.1, 0.4, 0.5], [high, 0.3, 0.5]], [tilted])
    finding = check_float_rows(mechanism, mechanism.rows)
    assert finding.private
    assert finding.epsilon == pytest.approx(math.log(2), abs=1e-11)


def test_edges_between_rows_of_floats_are_different_cases():
    rows = rows_of([[0.25, 0.25, 0.5], [0.3, 0.25, 0.45], [0.5, 0.25, 0.25]])
    mechanism = mechanism_of(rows, [(0, 1), (1, 2), (2, 0)], [level("ln(3/2)", "0.01")])
    known = {}
    kept = [float_rows._check_edge(mechanism, rows, edge, known).kept for edge in range(3)]
    assert kept == [True, False, False]
    assert not check_privacy(mechanism).private


def test_of_equally_broken_edges_the_first_is_named():
    table = [[0.1, 0.4, 0.5], [0.2, 0.3, 0.5], [0.1, 0.4, 0.5], [0.2, 0.3, 0.5]]
    mechanism = line(table, [level("ln(3/2)")])
    assert check_float_rows(mechanism, mechanism.rows).worst_edge == 0
    wrong = rows_of([[0.25, 0.25, 0.5], [-0.1, 0.6, 0.5], [-0.1, 0.6, 0.5]])
    assert "'1'" in float_row_fault(mechanism_of(wrong, [(0, 1)], [level(1)]), wrong)


def test_many_broken_edges_are_not_all_measured(monkeypatch):
    asked, check = [], float_rows._check_edge

    def counted(mechanism, rows, number, known):
        asked.append(number)
        return check(mechanism, rows, number, known)

    monkeypatch.setattr(float_rows, "_check_edge", counted)
    table = [[0.1, 0.4, 0.5], [0.2, 0.3, 0.5], [0.05, 0.45, 0.5], [0.15, 0.35, 0.5], [0.16, 0.34, 0.5]]
    for enough, expected in ((9, [1, 2, 0]), (1, [1, 2]), (0, [1])):
        asked.clear()
        monkeypatch.setattr(float_rows, "_ENOUGH", enough)
        mechanism = line(table, [level("ln(3/2)")])
        finding = check_float_rows(mechanism, mechanism.rows)
        assert asked == expected
        assert (finding.private, finding.worst_edge) == (False, 1)
        assert finding.epsilon == pytest.approx(math.log(4))
    # The worst one breaks its own promise most, though another uses a larger epsilon.
    monkeypatch.setattr(float_rows, "_ENOUGH", 9)
    levels = [level("ln(3/2)"), level("ln(39/10)")]
    mechanism = line(table, levels, [0, 1, 0, 0])
    finding = check_float_rows(mechanism, mechanism.rows)
    assert (finding.worst_edge, finding.epsilon) == (2, pytest.approx(math.log(4)))


def test_given_rows_are_compared_exactly():
    """1/3 against 2/3 is tight at ln 2 to the last digit; the floats next to them say nothing."""
    third, two = Fraction(1, 3), Fraction(2, 3)
    for hair, private in ((0, True), (Fraction(1, 10**40), False)):
        exact = [(third - hair, two + hair), (two, third)]
        rows = rows_of([[0.5, 0.5]] * 4, exact, [0, 1, 0, 1], likeliest=[0] * 4)
        mechanism = mechanism_of(rows, [(0, 1), (2, 3), (1, 2)], [level("ln(2)")])
        assert check_privacy(mechanism).private is private
        mixed = rows_of([[0.25, 0.25, 0.5]] * 2, [(third, third, third)], [0, -1])
        ratio = Fraction(4, 3)
        for promised, kept in ((ratio, False), (Fraction(3, 2), True), (Fraction(149, 100), False)):
            one = mechanism_of(mixed, [(0, 1)], [level(f"ln({promised})")])
            assert check_privacy(one).private is kept


def test_edges_between_equal_given_rows_are_checked_once(monkeypatch):
    calls, check = [], float_rows.check_pair
    monkeypatch.setattr(float_rows, "check_pair", lambda *pair: calls.append(pair) or check(*pair))
    half = (Fraction(1, 2), Fraction(1, 2))
    rows = rows_of([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5], [0.25, 0.75]], [half], [0, -1, 0, -1])
    mechanism = mechanism_of(rows, [(0, 1), (2, 3), (2, 1)], [level("ln(2)"), level("ln(3)")], [0, 0, 1])
    known = {}
    for edge in (0, 0, 1, 2):
        float_rows._check_edge(mechanism, rows, edge, known)
    assert [(one[1], one[2]) for one in calls] == [(rows.row(u), rows.row(v)) for u, v in ((0, 1), (2, 3), (2, 1))]
    assert [one[0] for one in calls] == [level("ln(2)"), level("ln(2)"), level("ln(3)")]


# --- exact rows as floats first --------------------------------------------------------------------------------------


def test_many_exact_rows_are_looked_at_in_floats_first(monkeypatch):
    rows = [(Fraction(1, k), Fraction(k - 2, k), Fraction(1, k)) for k in range(4, 9)]
    shared = SharedRows.from_rows([rows[k] for k in (0, 1, 2, 3, 4, 4)])
    mechanism = mechanism_of(shared, [(k, k + 1) for k in range(5)], [level(1)])
    assert as_floats_first(mechanism) is mechanism
    for many, changed in ((5, True), (6, False)):
        monkeypatch.setattr(float_rows, "_MANY_ROWS", many)
        assert (as_floats_first(mechanism) is not mechanism) is changed
    monkeypatch.setattr(float_rows, "_MANY_ROWS", 1)
    floats = as_floats_first(mechanism).rows
    assert isinstance(floats, FloatRows)
    assert [floats.row(v) for v in range(6)] == [shared.row(v) for v in range(6)]
    assert floats.table.tolist() == shared.floats().tolist()
    assert all(shared.row(v)[floats.likeliest[v]] == max(shared.row(v)) for v in range(6))
    assert check_privacy(as_floats_first(mechanism)).private == check_exactly(mechanism).private
    # Not where a level is not made of bounds, a row is none, or rows are long and more than two.
    gaussian = replace(mechanism, graph=mechanism.graph.with_level(level(mu=1)))
    assert as_floats_first(gaussian) is gaussian
    wrong = replace(mechanism, rows=SharedRows((*shared.rows[1:], (Fraction(1),) * 3), shared.of))
    assert as_floats_first(wrong) is wrong
    monkeypatch.setattr(float_rows.LongRows, "pays", staticmethod(lambda *_, **__: True))
    assert as_floats_first(mechanism) is mechanism
    two = mechanism_of(
        SharedRows.from_rows([(p, 1 - p) for p in (Fraction(1, 3), Fraction(1, 4))]), [(0, 1)], [level(1)]
    )
    assert as_floats_first(two) is not two
