"""What design writes, verify confirms: as exact strings and as decimals, on chains, with mixed delta, in floats."""

from __future__ import annotations

import numpy as np
import pytest

import optimaldp as odp
from optimaldp import graphs
from optimaldp.certify.graphs.verdict import verify_document
from optimaldp.designing import solve
from optimaldp.documents.json_text import json_text, read_json_text
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem


def chain(count: int, epsilon, delta, q: int) -> Problem:
    answers = list("abcd")[:q]

    def order(name: str) -> list[str]:
        first = int(name) * q // count
        return answers[first:] + answers[:first]

    graph = graphs.line(count).with_level(odp.level(epsilon, delta))
    return Problem(graph, Preferences.read(graph, order, answers), {}, "balanced")


def mixed_tree(size: int, q: int) -> Problem:
    rng = np.random.default_rng(5)
    tails = (rng.random(size - 1) * np.arange(1, size)).astype(np.int32)
    levels = [odp.level("0.3"), odp.level("0.5", "1e-6"), odp.level("ln(2)", "1e-3")]
    which = rng.integers(0, 3, size - 1)
    graph = DatasetGraph([f"v{v}" for v in range(size)], tails, np.arange(1, size), levels=levels, level_of_edge=which)
    truth = np.arange(size) * 2 // size
    if q == 2:
        return Problem(graph, Preferences.of_truth(("yes", "no"), truth), {}, "balanced")
    orders = (tuple(range(q)), (*range(1, q), 0))
    return Problem(graph, Preferences(tuple("abcd"[:q]), orders, truth.astype(np.int32)), {}, "balanced")


CASES = {
    "a chain of 120": chain(120, 0.5, 0, 2),
    "with delta": chain(120, 0.5, "1e-6", 2),
    "three answers": chain(120, 0.5, 0, 3),
    "four answers with delta": chain(60, 1, "1e-4", 4),
    "a tree, mixed delta": mixed_tree(200, 2),
    "a tree, three answers": mixed_tree(60, 3),
}


@pytest.mark.parametrize("digits", [None, 17, 30])
@pytest.mark.parametrize("case", CASES)
def test_verify_confirms_what_design_writes(case, digits):
    found = solve(CASES[case])
    document = read_json_text(json_text(found.to_document(digits=digits)))
    if found.status != "optimal":
        assert found.witness["reason"]
        return
    verdict, _ = verify_document(document)
    assert verdict.private
    assert verdict.optimal is True


@pytest.mark.parametrize("q", [2, 3])
def test_verify_confirms_floats(q):
    problem = mixed_tree(6000, q) if q == 2 else chain(900, 0.5, 0, 3)
    found = solve(problem, exact=False)
    verdict, _ = verify_document(read_json_text(json_text(found.to_document(digits=17))))
    assert verdict.private
    assert verdict.optimal is True
