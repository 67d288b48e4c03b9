"""Forgeries: a file may claim what it likes; the referee derives what is given, and repeats nothing that the file says."""

from __future__ import annotations

import copy

import pytest

from optimaldp.certify.graphs.verdict import verify_document
from optimaldp.designing import solve
from optimaldp.errors import ProblemError
from optimaldp.mechanisms.documents import read_problem

LINE = {
    "answers": ["yes", "no"],
    "privacy": {"epsilon": "ln(2)", "delta": "0"},
    "edges": [["a", "b"], ["b", "c"], ["c", "d"]],
    "prefers": {"a": "yes", "b": "yes", "c": "no", "d": "no"},
}
LIE = "best of all, says the referee"


def written(**given) -> dict:
    return solve(read_problem(LINE | given)).to_document()


def coin() -> dict:
    """Heads or tails everywhere, with every dataset declared given."""
    rows = {name: {"yes": "1/2", "no": "1/2"} for name in "abcd"}
    return LINE | {"mechanism": rows, "certificate": {"given": list("abcd"), "trees": [], "statement": LIE}}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"boundary": "balanced"},
        {"fixed": {"b": {"yes": "2/3", "no": "1/3"}, "c": {"yes": "1/3", "no": "2/3"}}},
        {"boundary": {"yes": {"yes": "2/3", "no": "1/3"}, "no": {"yes": "1/3", "no": "2/3"}}},
        {"status": "optimal", "proof": "exact"},
    ],
)
def test_a_coin_is_not_optimal_whatever_is_declared_given(more):
    verdict, _ = verify_document(coin() | more)
    assert verdict.private
    assert verdict.optimal is False
    assert LIE not in verdict.reason


def test_the_truth_passes_and_is_told_in_the_referee_s_own_words():
    document = written(boundary="balanced")
    document["certificate"]["statement"] = LIE
    verdict, _ = verify_document(document)
    assert verdict.optimal is True
    assert LIE not in verdict.reason


def test_a_boundary_called_balanced_that_is_not():
    """A worse boundary, its interior filled correctly: optimal for its own boundary, but that is not the balanced one."""
    worse = written(boundary={"yes": {"yes": "0.6", "no": "0.4"}, "no": {"yes": "0.4", "no": "0.6"}})
    assert verify_document(worse)[0].optimal is True
    verdict, _ = verify_document(worse | {"boundary": "balanced"})
    assert verdict.private
    assert verdict.optimal is False
    assert "is not the one that is given" in verdict.reason


def test_a_rule_with_several_levels_is_computed_again():
    problem = copy.deepcopy(LINE) | {"boundary": "balanced"}
    problem["edges"][0].append({"epsilon": "ln(3)", "delta": "0"})
    document = solve(read_problem(problem)).to_document()
    assert verify_document(document)[0].optimal is True
    document["edges"][1].append({"epsilon": "ln(5/2)", "delta": "0"})  # more would be allowed on that edge now
    verdict, _ = verify_document(document)
    assert (verdict.private, verdict.optimal) == (True, False)


def test_a_fixed_row_that_the_mechanism_does_not_have():
    document = written(fixed={"b": {"yes": "0.6", "no": "0.4"}})
    assert verify_document(document)[0].optimal is True
    document["fixed"]["b"] = {"yes": "0.7", "no": "0.3"}
    assert verify_document(document)[0].optimal is False


def test_a_rule_that_nobody_knows_is_refused():
    with pytest.raises(ProblemError, match="tilted"):
        verify_document(coin() | {"boundary": "tilted"})


def test_status_and_proof_are_checked():
    document = written(boundary="balanced")
    assert verify_document(document)[0].optimal is True
    without = {field: value for field, value in document.items() if field != "certificate"}
    assert verify_document(without)[0].optimal is False  # an exact proof is claimed, and there is none
    assert verify_document(without | {"proof": "floating-point"})[0].optimal is None
    with pytest.raises(ProblemError, match="excellent"):
        verify_document(document | {"status": "excellent"})
    with pytest.raises(ProblemError, match="proof"):
        verify_document(document | {"proof": "by authority"})
