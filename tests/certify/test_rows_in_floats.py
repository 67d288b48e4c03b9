"""Many answers in floats: tables within their error, ratios from above, chunks and cases of edges."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from small_float_rows import TABLE, line, mechanism_of, random_table, rows_of

from optimaldp.certify.graphs import floats
from optimaldp.certify.graphs.floats import Promises, float_row_fault, float_table
from optimaldp.certify.graphs.privacy import check_privacy
from optimaldp.certify.graphs.rounding import UNIT
from optimaldp.privacy import directed, level


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


@pytest.mark.parametrize("delta", ["0", "0.1", "1e-9", "0.9"])
@pytest.mark.parametrize("answers", [2, 3, 7])
def test_least_ratios_are_rounded_up_and_by_little(delta, answers):
    generator = np.random.default_rng(answers)
    above, below = random_table(generator, 12, answers), random_table(generator, 12, answers)
    above[0, 0] = below[0, 0] = 0.0
    above[1, 1] = 0.0
    needed = floats._least_ratios(above, below, np.full(12, float(Fraction(delta))), UNIT)
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
        return floats._least_ratios(np.array([above]), np.array([below]), np.array([delta]), UNIT).tolist()[0]

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
            needed = floats._least_ratios(above, below, np.array([delta]), unit)[0]
            worst = (Fraction(0.3) * (1 + Fraction(unit)) - Fraction(delta)) / (Fraction(0.1) * (1 - Fraction(unit)))
            assert worst <= Fraction(float(needed)) <= worst * (1 + 40 * Fraction(unit))


def test_sums_that_lose_all_they_add_are_rounded_up():
    """Hundreds of answers, each below half a unit of the sum: together they raise the ratio, and floats add none of them."""
    small, count = 2.0**-55, 300
    above, below = np.array([[0.5, *[small] * count]]), np.array([[0.25, *[0.55 * small] * count]])
    assert np.cumsum(above)[-1] == 0.5
    needed = floats._least_ratios(above, below, np.array([0.25]), UNIT)[0]
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
        ratio, unsure = floats._ratios(tail, head, np.array([0]), promises, UNIT)
        assert unsure.tolist() == [doubtful]
        assert ratio[0] == pytest.approx(2.0)
    same = floats._ratios(tail, tail, np.array([0]), Promises((level(1),)), UNIT)
    assert same[0][0] == pytest.approx(1.0)
    assert same[1].tolist() == [False]
    broken = floats._ratios(tail * math.nan, head, np.array([0]), Promises((level(1),)), UNIT)
    assert broken[1].tolist() == [True]


@pytest.mark.parametrize("at_once", [1, 4, 6, 100])
def test_chunks_of_edges_change_nothing(at_once, monkeypatch):
    mechanism = line(TABLE, [level("ln(5/2)"), level("ln(2)")], [0, 1, 0, 1])
    promises, table = Promises(mechanism.graph.levels), float_table(mechanism.rows)
    monkeypatch.setattr(floats, "_CHUNK_NUMBERS", at_once)
    edges, ratios, largest, edge = floats._first_stage(mechanism, table, promises, UNIT)
    # 0.3 / 0.12 on the last edge is 2.5, and 0.25 / 0.1 on the second one: more than the promise.
    assert edges.tolist() == [1, 3]
    assert ratios == pytest.approx([2.5, 2.5])
    assert largest == pytest.approx(math.log(1.25))
    assert edge == 0
    loose = line(TABLE, [level(3)])
    edges, ratios, largest, edge = floats._first_stage(loose, table, Promises(loose.graph.levels), UNIT)
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
    kept, bounds = floats._distinct(mechanism.graph, rows, np.arange(13), used)
    assert sorted(kept.tolist()) == [0, *range(3, 13)]
    assert bounds.tolist() == [used[k] for k in kept.tolist()]
    kept, _ = floats._distinct(mechanism.graph, rows, np.array([1, 12]), used[[1, 12]])
    assert sorted(kept.tolist()) == [1, 12]


def test_entries_in_two_floats():
    third = Fraction(1, 3)
    rows = rows_of([[0.1, 0.2, 0.7], [0.25, 0.25, 0.5], [0.1, 0.2, 0.7]], [(third, third, third)], [-1, 0, 0])
    high, low = floats._row_parts(rows, np.array([0, 1, 2]))
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
    kept = floats._second_stage(mechanism.graph, rows, promises, np.array([0, 1, 2, 3]))
    assert kept.tolist() == [False, True, False, True]
    turned = mechanism_of(rows, [(1, 0), (3, 2), (5, 4)], [level("ln(2)")])
    assert floats._second_stage(turned.graph, rows, promises, np.array([0, 1, 2])).tolist() == [False, True, False]
    assert floats._second_stage(turned.graph, rows, promises, np.zeros(0, dtype=np.int64)).tolist() == []
    # Each direction by its own promise: the first answer doubles, the others hardly fall.
    for ahead, back, kept in (("ln(3/2)", "ln(5)", False), ("ln(5)", "ln(3/2)", True)):
        tilted = mechanism_of(rows, [(0, 1)], [directed(forward=level(ahead), backward=level(back))])
        found = floats._second_stage(tilted.graph, rows, Promises(tilted.graph.levels), np.array([0]))
        assert found.tolist() == [kept]


def test_the_epsilon_of_edges_that_were_not_measured_is_not_below_theirs() -> None:
    """A mechanism that is broken early is not measured everywhere; what is said of it holds for the rest all the same."""
    table = []
    for step in range(1001):  # kept exactly, though a float alone sees a huge quotient: these are measured first
        table += [[1 / 8, 3 / 8, 1 / 2], [2.0**-70 * (1 + step / 2048), 0.5 - 2.0**-20, 0.5]]
    table += [[1 / 8 + 2.0**-55, 3 / 8, 1 / 2], [2.0**-55 / 3, 0.5 - 2.0**-20, 0.5]]  # broken: a quotient of 3
    table += [
        [7 / 16, 1 / 16, 1 / 2],
        [1 / 16, 7 / 16, 1 / 2],
    ]  # broken: a quotient of 5, behind the last that is measured
    edges = [(k, k + 1) for k in range(0, len(table), 2)]
    mechanism = mechanism_of(rows_of(table, likeliest=[2] * len(table)), edges, [level("ln(2)", "1/8")])
    finding = check_privacy(mechanism)
    assert not finding.private
    assert math.log(5) <= finding.epsilon <= math.log(5) + 1e-9
