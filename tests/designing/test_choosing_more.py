"""Rules for the boundary: undominated by default, rows by preference, and what is said about them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import optimaldp as odp
from optimaldp import graphs
from optimaldp.designing.event_program import EventProgram
from optimaldp.errors import ProblemError
from optimaldp.graphs import Preferences
from optimaldp.graphs.problem import Problem

THIRD = Fraction(1, 3)


def two_orders(name: str) -> list[str]:
    return list("abc") if name.count("1") > 1 else list("bac")


def test_the_default_of_three_answers_wastes_nothing():
    found = odp.design(graphs.votes(3), two_orders, answers=tuple("abc"), epsilon="ln(2)")
    assert found.mechanism["112"] == {"a": 2 * THIRD, "b": THIRD, "c": 0}
    assert repr(found).startswith("Design(undominated, 8 datasets")
    balanced = odp.design(graphs.votes(3), two_orders, answers=tuple("abc"), epsilon="ln(2)", boundary="balanced")
    relation = odp.dominance.compare(found.mechanism, balanced.mechanism).relation
    assert relation == odp.dominance.Relation.BETTER


def test_randomised_response_where_all_touch():
    graph = graphs.clique(4).with_level(odp.level("ln(3)", "0.05"))
    found = odp.design(graph, lambda n: list("abcd"[int(n) :] + "abcd"[: int(n)]), answers=tuple("abcd"))
    top = (3 + 3 * Fraction(1, 20)) / 6
    assert [found.mechanism[str(k)]["abcd"[k]] for k in range(4)] == [top] * 4


@pytest.mark.parametrize("seed", range(8))
def test_nothing_dominates_it(seed):
    """Among boundaries with one row per preference none has prefix sums that are all at least as large, and one larger."""
    rng = np.random.default_rng(seed)
    size = 5
    graph = graphs.ring(size).with_level(odp.level(["ln(2)", "0.7"][seed % 2], ["0", "0.05"][seed // 2 % 2]))
    orders = list({tuple(map(int, rng.permutation(3))) for _ in range(4)})
    of = np.array([v % len(orders) for v in range(size)], dtype=np.int32)
    found = odp.solve(Problem(graph, Preferences(tuple("abc"), tuple(orders), of), {}, "undominated"))
    chosen = found.problem.boundary
    chains = graphs.boundary_graph(graph, found.problem.preferences)
    program = EventProgram(Problem(chains.graph, chains.preferences))
    sums = []
    for head in chains.heads.tolist():
        row, order = chosen[int(chains.order[head])], orders[chains.order[head]]
        for k in (1, 2):
            event = tuple(sorted(order[:k]))
            sums.append((head, event, sum(row[a] for a in event)))
            program.require_terms(program.prefix(head, event)[0], sums[-1][2])
    best = program.maximise(program.sum_of((v, e) for v, e, _ in sums))
    assert float(best.value - sum(value for _, _, value in sums)) == pytest.approx(0, abs=1e-9)


def test_rows_by_preference():
    rows = {"yes": {"yes": "0.6", "no": "0.4"}, ("no", "yes"): {"yes": "0.4", "no": "0.6"}}
    found = odp.design(graphs.votes(3), graphs.majority, epsilon="ln(2)", boundary=rows)
    assert found.mechanism["112"]["yes"] == Fraction(3, 5)
    assert "for the given boundary" in repr(found)
    with pytest.raises(ProblemError, match="maybe"):
        odp.design(graphs.votes(3), graphs.majority, epsilon="ln(2)", boundary={"maybe": {"yes": 1}})
    with pytest.raises(ProblemError, match="no row"):
        odp.design(graphs.votes(3), graphs.majority, epsilon="ln(2)", boundary={"yes": {"yes": "0.6", "no": "0.4"}})
    too_far = {"yes": {"yes": 1}, "no": {"no": 1}}
    assert odp.design(graphs.votes(3), graphs.majority, epsilon="ln(2)", boundary=too_far).status == "infeasible"


def test_balanced_with_several_levels_and_three_answers():
    graph = graphs.line(6).with_levels([odp.level("ln(2)"), odp.level("ln(3)")], [0, 1, 0, 1, 0])
    found = odp.design(
        graph, lambda n: list("abc") if int(n) < 3 else list("bca"), answers=tuple("abc"), boundary="balanced"
    )
    assert found.status in ("optimal", "no-optimum")
    assert found.mechanism is not None
    assert odp.verify(found.mechanism).private


@pytest.mark.parametrize("rule", ["balanced", "undominated"])
def test_lexicographic_respects_the_rule(rule):
    graph = graphs.line(4).with_level(odp.level("ln(2)"))
    answers = ("yes", "no") if rule == "balanced" else ("a", "b", "c")
    orders = ((0, 1), (1, 0)) if rule == "balanced" else ((0, 1, 2), (1, 0, 2))
    problem = Problem(graph, Preferences(answers, orders, np.array([0, 0, 1, 1], dtype=np.int32)), {}, rule)
    mine, usual = odp.lexicographic(problem), odp.solve(problem)
    assert mine.status == usual.status == "optimal"
    assert all(mine.mechanism[name] == usual.mechanism[name] for name in graph.names)


def test_lexicographic_says_why_it_does_not_decide(monkeypatch):
    graph = graphs.line(3, level=odp.level(mu=1))
    wants = Preferences.read(graph, dict.fromkeys("012", tuple("abc")), tuple("abc"))
    given = {0: (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))}
    with pytest.raises(ProblemError, match="a Gaussian level' is decided in floating point"):
        odp.lexicographic(Problem(graph, wants, given))
    monkeypatch.setattr(EventProgram.__init__, "__kwdefaults__", {"exact_columns": 5})
    with pytest.raises(ProblemError, match="'6 probabilities' are too many to be decided exactly"):
        odp.lexicographic(Problem(graph.with_level(odp.level("ln(2)")), wants, given))
