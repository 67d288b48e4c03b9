"""Mechanisms and optima of the vectors under the referee."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from golden import vectors
from small_mechanisms import line_optimum
from small_mechanisms import verify_given as verify

from optimaldp.certify.graphs.rounding import Walk, step_above
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.mechanisms import Certificate, DualProof, EventConstraint, Mechanism, SharedRows
from optimaldp.mechanisms.documents import read_problem
from optimaldp.privacy import Bound, Epsilon, all_of, directed, level

HAIR = Fraction(1, 10**9)


@pytest.mark.parametrize("case", vectors("graphs", "verify_mechanism"), ids=lambda case: case["id"])
def test_mechanisms_of_the_papers(case):
    edges = [(e["u"], e["v"], level(f"ln({e['E']})", e["delta"])) for e in case["edges"]]
    graph = DatasetGraph.from_edges(list(case["vertices"]), edges)
    prefers = {name: [str(a) for a in order] for name, order in case["vertices"].items()}
    found = verify(Mechanism.read(graph, prefers, case["mechanism"]))
    assert found.private is case["expect"]["dp"]


SOLVED = [x for x in vectors("graphs", "solve") if x["expect"]["status"] == "optimal"]


@pytest.mark.parametrize("case", SOLVED, ids=lambda case: case["id"])
def test_every_optimum_is_private_and_no_favourite_can_rise(case):
    """Raising the favourite of one free dataset by a hair, at the cost of its last answer, breaks privacy (or is no gain)."""
    problem = read_problem(case["problem"])
    rows = [[Fraction(case["expect"]["mechanism"][n][a]) for a in problem.answers] for n in problem.graph.names]
    mechanism = Mechanism(problem.graph, problem.preferences, SharedRows.from_rows(list(map(tuple, rows))))
    if not verify(mechanism).private:
        pytest.fail("the vector's mechanism is not private")
    if len(problem.answers) > 2:
        return
    for vertex in range(len(rows)):
        best, last = problem.preferences.order(vertex)
        if vertex in problem.fixed or rows[vertex][last] < HAIR:
            continue
        twin = [list(row) for row in rows]
        twin[vertex][best] += HAIR
        twin[vertex][last] -= HAIR
        raised = Mechanism(problem.graph, problem.preferences, SharedRows.from_rows(list(map(tuple, twin))))
        assert not verify(raised).private


@pytest.mark.parametrize("t", range(1, 8))
@pytest.mark.parametrize("promise", [level("ln(2)"), level("ln(3/2)", "0.1"), level(0, "0.2"), level("ln(5)", 1)])
def test_the_referee_s_step_is_the_step(promise, t):
    s = Fraction(t, 8)
    assert step_above([Walk(promise, True)], s)[0] == promise.step(s)


def test_the_referee_s_step_of_several_and_directed_promises():
    one_way = directed(forward=level("ln(2)", "0.1"), backward=level("ln(4)"))
    both = all_of(level("ln(3)"), level("ln(2)", "1/8"))
    for k in range(17):
        s = Fraction(k, 16)
        assert step_above([Walk(one_way, True)], s)[0] == one_way.step(s)
        assert step_above([Walk(one_way, False)], s)[0] == one_way.reversed().step(s)
        assert step_above([Walk(both, True)], s)[0] == both.step(s)
        assert step_above([Walk(both, True), Walk(one_way, True)], s)[0] == min(both.step(s), one_way.step(s))


@pytest.mark.parametrize("promise", [level(1), level(0.1, "1e-6"), level(mu=1), level("inf", "0.1")])
def test_the_referee_s_irrational_step_is_just_above(promise):
    for k in range(9):
        s = Fraction(k, 8)
        value, slope = step_above([Walk(promise, True)], s)
        below = promise.step_below(s, bits=150)
        assert below <= value <= below + Fraction(1, 2**140)
        ahead = promise.step_below(min(Fraction(1), s + Fraction(1, 64)), bits=150)
        assert ahead <= value + slope / 64


def hub(bound=None, extra=(), value=Fraction(1, 3), multiplier=Fraction(1)):
    """A free dataset next to one that is given (1/3, 1/3, 1/3) at ln 2: its first answer has at most 2/3."""
    graph = DatasetGraph.from_edges(["s", "v"], [("s", "v"), *extra], level=level("ln(2)"))
    preferences = Preferences(("a", "b", "c"), ((0, 1, 2),), np.zeros(2, dtype=np.int32))
    third = (Fraction(1, 3),) * 3
    rows = SharedRows.from_rows([third, (Fraction(2, 3), Fraction(1, 6), Fraction(1, 6))])
    constraint = EventConstraint(0, 1, (0,), bound)
    first = DualProof(1, (0,), value, ((constraint, multiplier),))
    pair = DualProof(1, (0, 1), Fraction(5, 6), ((EventConstraint(1, 0, (2,)), Fraction(1, 2)),))
    return Mechanism(graph, preferences, rows), Certificate(np.array([True, False]), (), (first, pair))


def test_a_dual_proves_a_prefix_sum():
    verdict = verify(*hub(value=Fraction(2, 3)))
    assert (verdict.private, verdict.optimal, verdict.gap) == (True, True, 0.0)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"value": Fraction(1, 2)}, "only"),  # claims more than it proves
        ({"multiplier": Fraction(-1)}, "negative"),
        ({"multiplier": Fraction(1, 2)}, "only"),
        ({"bound": Bound(Epsilon.read("ln(3/2)"), Fraction(0))}, "stricter"),
        ({"extra": [("s", "v", level("ln(4)")), ("s", "v", level("ln(3/2)", "1/3"))]}, "several"),
    ],
)
def test_wrong_duals_are_rejected(changes, why):
    verdict = verify(*hub(**{"value": Fraction(2, 3)} | changes))
    assert verdict.optimal is False
    assert why in verdict.reason


def test_a_dual_between_strangers_is_rejected():
    mechanism, certificate = hub(value=Fraction(2, 3))
    lonely = Mechanism(DatasetGraph(["s", "v"], [], [], levels=[level("ln(2)")]), mechanism.preferences, mechanism.rows)
    verdict = verify(lonely, certificate)
    assert verdict.private
    assert verdict.optimal is False
    assert "made none" in verdict.reason


def test_ten_million_edges_between_few_rows_are_checked_once_each():
    """Edges are counted by arrays: the number of exact checks is that of distinct pairs, whatever the number of edges."""
    base = line_optimum(Fraction(1, 20), 9, Fraction(2), Fraction(0))
    times = 20_000
    tails = (base.graph.tails[None, :] + 9 * np.arange(times)[:, None]).ravel()
    graph = DatasetGraph([f"v{i}" for i in range(9 * times)], tails, tails + 1, levels=base.graph.levels)
    of = np.tile(base.rows.of, times).astype(np.int32)
    preferences = Preferences(base.answers, ((0, 1),), np.zeros(9 * times, dtype=np.int32))
    assert verify(Mechanism(graph, preferences, SharedRows(base.rows.rows, of))).private
    of[-1] = of[0]  # one wrong row among 180,000
    verdict = verify(Mechanism(graph, preferences, SharedRows(base.rows.rows, of)))
    assert not verdict.private
    assert verdict.worst_edge == (f"v{9 * times - 2}", f"v{9 * times - 1}")
