"""Edges of infinite epsilon: only delta counts, and a supremum that is not attained is no optimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from optimaldp.certify import verify
from optimaldp.designing import Design, Status, design, solve
from optimaldp.designing.choosing import choose_boundary, lexicographic
from optimaldp.designing.impossibility import _support_arcs
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences, line
from optimaldp.graphs.problem import Problem
from optimaldp.privacy import Level, all_of, directed, level


def test_a_bound_that_nothing_attains_is_no_optimum() -> None:
    graph = line(2, level=level("inf"))
    found = design(graph, {"0": "a", "1": "b"}, answers=["a", "b"], fixed={"0": {"a": "1/2", "b": "1/2"}})
    assert found.status is Status.NO_OPTIMUM
    assert "infinite" in found.witness["reason"]


def test_an_impossible_answer_stays_within_delta() -> None:
    graph = line(2, level=level("inf", "1/10"))
    found = design(graph, {"0": "a", "1": "b"}, answers=["a", "b"], fixed={"0": {"a": "1", "b": "0"}})
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    assert found.mechanism["1"]["b"] == Fraction(1, 10)
    assert verify(found.mechanism).private


def test_a_value_within_delta_of_sure_may_become_sure() -> None:
    graph = line(2, level=level("inf", "1/10"))
    found = design(graph, {"0": "a", "1": "a"}, answers=["a", "b"], fixed={"0": {"a": "0.95", "b": "0.05"}})
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    assert found.mechanism["1"]["a"] == 1


ANSWERS = ["x", "y", "z"]


def _three(fixed: dict[str, tuple[str, str, str]]) -> Design:
    """a and b without a limit but delta, b and c at ln 2."""
    graph = DatasetGraph.from_edges("abc", [("a", "b", level("inf", "1/10")), ("b", "c", level("ln(2)"))])
    given = {name: dict(zip(ANSWERS, row)) for name, row in fixed.items()}
    return design(graph, dict.fromkeys("abc", ANSWERS), answers=ANSWERS, fixed=given)


def test_with_three_answers_too_a_supremum_is_no_optimum() -> None:
    found = _three({"a": ("1/2", "1/4", "1/4")})
    assert found.status is Status.NO_OPTIMUM
    assert "infinite" in found.witness["reason"]


def test_with_three_answers_what_is_never_answered_stays_within_delta() -> None:
    found = _three({"b": ("0", "1", "0")})
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    assert found.mechanism["a"] == {"x": Fraction(1, 10), "y": Fraction(9, 10), "z": 0}
    assert verify(found.mechanism).private


def test_what_is_impossible_along_the_way_forbids_what_is_given() -> None:
    found = _three({"c": ("0", "1/2", "1/2"), "a": ("1/2", "1/4", "1/4")})
    assert found.status is Status.INFEASIBLE


def test_a_rule_without_a_largest_value_is_refused_with_that_reason() -> None:
    graph = line(3, level=level("inf"))
    wants = {"0": ["x", "y", "z"], "1": ["y", "z", "x"], "2": ["z", "x", "y"]}
    for rule in ("balanced", "undominated"):
        with pytest.raises(ProblemError, match="any probability below 1 is allowed"):
            design(graph, wants, answers=ANSWERS, boundary=rule)


def _promised_backwards(given: str, free: str) -> Design:
    """From a to b there is ln 2 with a delta of 1/2; backwards, what b never answers a never answers either."""
    promise = directed(forward=level("ln(2)", "1/2"), backward=level("inf"))
    graph = DatasetGraph.from_edges("ab", [("a", "b", promise)])
    fixed = {given: dict(zip(ANSWERS, ("1/2", "1/2", "0")))}
    return design(graph, {given: ANSWERS, free: ["z", "y", "x"]}, answers=ANSWERS, fixed=fixed)


def test_what_is_never_answered_is_forbidden_in_the_direction_that_is_promised() -> None:
    found = _promised_backwards("b", "a")
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    assert found.mechanism["a"]["z"] == 0
    assert verify(found.mechanism).private


def test_what_is_answered_may_not_become_impossible_in_the_direction_that_is_promised() -> None:
    """Half z and half y are b's suprema, but then b would never answer x, which a does."""
    assert _promised_backwards("a", "b").status is Status.NO_OPTIMUM


def test_the_linear_program_knows_the_direction_too() -> None:
    """From tail to head: what the tail never answers, the head answers within delta."""
    forwards = directed(forward=level("inf", "1/10"), backward=level("ln(2)"))
    backwards = directed(forward=level("ln(2)"), backward=level("inf"))
    graph = DatasetGraph.from_edges("abc", [("a", "b", forwards), ("b", "c", backwards)])
    preferences = Preferences(("x", "y"), ((0, 1),), np.zeros(3, dtype=np.int32))
    assert set(_support_arcs(Problem(graph, preferences))) == {(0, 1, Fraction(1, 10)), (2, 1, Fraction(0))}


FINITE = level("ln(2)", "1/10")
ENDLESS = level("inf")


@pytest.mark.parametrize(
    "levels",
    [[all_of(ENDLESS, FINITE)], [ENDLESS, FINITE], [directed(forward=ENDLESS, backward=FINITE)]],
    ids=["two bounds", "parallel edges", "one way"],
)
@pytest.mark.parametrize(("answers", "exact"), [(2, True), (2, False), (3, True)])
def test_beside_a_finite_promise_an_infinite_one_takes_nothing_from_balance(
    levels: list[Level], answers: int, exact: bool
) -> None:
    graph = DatasetGraph.from_edges("ab", [("a", "b", one) for one in levels])
    words = ANSWERS[:answers]
    wants = {"a": words, "b": words[::-1]}
    found = design(graph, wants, answers=words, boundary="balanced", exact=exact)
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    top = (2 + (answers - 1) * Fraction(1, 10)) / (1 + answers)
    assert abs(found.mechanism["a"]["x"] - top) < Fraction(1, 10**12)
    assert abs(found.mechanism["b"][words[-1]] - top) < Fraction(1, 10**12)


@pytest.mark.parametrize("exact", [True, False])
def test_an_infinite_promise_inside_a_region_takes_nothing_from_balance(exact: bool) -> None:
    graph = DatasetGraph.from_edges("abc", [("a", "b", level("inf", "0.31")), ("b", "c", FINITE)])
    wants = {"a": "x", "b": "x", "c": "y"}
    found = design(graph, wants, answers=["x", "y"], boundary="balanced", exact=exact)
    assert found.mechanism is not None
    assert found.mechanism["a"]["x"] == 1


@pytest.mark.parametrize("exact", [True, False])
def test_one_sure_end_is_allowed_where_the_other_stays_within_delta(exact: bool) -> None:
    """b is lowered to 7/10 by c; a, whose only edge has no finite epsilon, is sure as long as delta covers that."""
    wants = {"a": "x", "b": "y", "c": "x"}

    def balanced(delta: str) -> Design:
        graph = DatasetGraph.from_edges("abc", [("a", "b", level("inf", delta)), ("b", "c", FINITE)])
        return design(graph, wants, answers=["x", "y"], boundary="balanced", exact=exact)

    found = balanced("0.71").mechanism
    assert found is not None
    assert found["a"]["x"] == 1
    with pytest.raises(ProblemError, match="any probability below 1 is allowed"):
        balanced("0.69")


@pytest.mark.long
def test_three_answers_with_an_infinite_epsilon_are_not_too_many_for_rationals() -> None:
    """Two thousand edges would be designed in floats, which have no step of infinite epsilon."""
    size = 2_100
    some = [level("ln(2)"), level("inf", "1/10")]
    graph = line(size).with_levels(some, [int(i == 5) for i in range(size - 1)])
    found = design(
        graph, lambda name: ANSWERS if int(name) < 1_000 else ["y", "x", "z"], answers=ANSWERS, boundary="undominated"
    )
    assert found.status is Status.OPTIMAL


OPPOSITE = {"0": ["a", "b", "c"], "1": ["b", "a", "c"], "2": ["b", "c", "a"]}


def _opposite(first: Level, second: Level) -> Problem:
    graph = DatasetGraph.from_edges("012", [("0", "1", first), ("1", "2", second)])
    return Problem(graph, Preferences.read(graph, OPPOSITE, "abc"))


def test_three_answers_approach_what_nothing_attains_and_the_gap_says_how_near() -> None:
    found = solve(replace(_opposite(ENDLESS, FINITE), boundary="raised"))
    assert found.mechanism is not None
    assert found.claim == "undominated"
    assert found.gap is not None
    assert 0 < found.gap < 1e-9
    assert found.mechanism["0"]["a"] < 1
    assert verify(found.mechanism).private
    assert Design.from_json(found.to_json()).claim == found.claim


def test_where_an_infinite_epsilon_forbids_nothing_the_proof_is_exact() -> None:
    found = solve(replace(_opposite(level("inf", 1), FINITE), boundary="raised"))
    assert (found.claim, found.gap) == ("undominated", 0)


def test_a_huge_epsilon_is_approached_too() -> None:
    found = solve(replace(_opposite(level(700), FINITE), boundary="raised"))
    assert found.claim == "undominated"
    assert found.mechanism is not None
    assert verify(found.mechanism).private


@pytest.mark.parametrize("second", [FINITE, ENDLESS])
def test_a_lexicographic_optimum_is_private_where_epsilon_is_infinite(second: Level) -> None:
    found = lexicographic(_opposite(ENDLESS, second))
    assert found.status is Status.NO_OPTIMUM
    assert "infinite" in found.witness["reason"]
    assert found.mechanism is None or verify(found.mechanism).private


def test_a_lexicographic_optimum_keeps_what_is_never_answered() -> None:
    problem = _opposite(level("inf", "1/10"), FINITE)
    never = lexicographic(replace(problem, fixed={0: (Fraction(1), Fraction(0), Fraction(0))}))
    assert never.mechanism is not None
    assert never.mechanism["1"] == {"a": Fraction(9, 10), "b": Fraction(1, 10), "c": 0}


def test_the_largest_expected_value_is_approached() -> None:
    problem = _opposite(ENDLESS, FINITE)
    found = choose_boundary(problem.graph, problem.preferences)
    assert found.mechanism is not None
    assert found.claim == "undominated"
    assert "up to rounding" in found.witness["reason"]
    assert found.mechanism["0"]["a"] > 1 - Fraction(1, 10**9)


@pytest.mark.parametrize("exact", [True, False])
def test_inside_a_region_too_nobody_is_fair_just_below_sure(exact: bool) -> None:
    graph = DatasetGraph.from_edges("012", [("0", "1", ENDLESS), ("1", "2", FINITE)])
    with pytest.raises(ProblemError, match="no max-min fair mechanism exists, because 0"):
        design(graph, {"0": "a", "1": "a", "2": "b"}, exact=exact)


def test_what_floats_cannot_keep_is_infeasible_where_rationals_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values that a finite edge forbids, an infinite one elsewhere: no supremum is the reason."""
    near = level("ln(5/4)")
    ends = [
        ("0", "3", near),
        ("3", "2", ENDLESS),
        ("3", "1", ENDLESS),
        ("0", "2", near),
        ("1", "2", ENDLESS),
        ("0", "1", near),
    ]
    graph = DatasetGraph.from_edges("01234", [*ends, ("1", "4", ENDLESS)])
    given = {"0": {"a": "1/20", "b": "19/20"}, "2": {"a": "1/10", "b": "9/10"}}
    monkeypatch.setattr("optimaldp.designing.solving.EXACT_ARCS", 0)
    found = design(graph, list("aabaa"), answers=["a", "b"], fixed=given)
    assert found.status is Status.INFEASIBLE
