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


@pytest.mark.long
@pytest.mark.parametrize("q", [2, 3])
def test_verify_confirms_floats(q):
    problem = mixed_tree(6000, q) if q == 2 else chain(900, 0.5, 0, 3)
    found = solve(problem, exact=False)
    verdict, _ = verify_document(read_json_text(json_text(found.to_document(digits=17))))
    assert verdict.private
    assert verdict.optimal is True


def test_the_referee_takes_a_design_its_document_and_its_file(tmp_path):
    pair = graphs.line(2, level="ln(2)")
    truth = {"0": "a", "1": "b"}
    fair = odp.design(pair, truth)
    impossible = odp.design(pair, truth, fixed={"0": {"a": 1}, "1": {"b": 1}})
    for made in (fair, impossible):
        file = tmp_path / "design.json"
        file.write_text(made.to_json())
        found = [odp.verify(made), odp.verify(made.to_document()), odp.verify(file)]
        assert all(found)
        assert len({repr(each) for each in found}) == 1
    forged = {**impossible.to_document(), "fixed": {"0": {"a": "1/2", "b": "1/2"}}}
    assert not odp.verify(forged)
    lying = fair.to_document()
    lying["mechanism"] = {name: {"a": "1/2", "b": "1/2"} for name in truth}
    assert not odp.verify(lying)
    with pytest.raises(odp.errors.InputError, match="nothing that the referee examines"):
        odp.verify(pair)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("claim", "greatest"),
        ("claim", ["fair"]),
        ("gap", "-1"),
        ("gap", "1/0"),
        ("proof", "certain"),
        ("mechanism", None),
        ("mechanism", 7),
        ("fixed", {"0": {"a": "3/5", "b": "2/5"}}),
    ],
)
def test_words_beside_a_true_no_optimum_are_not_believed(field, value):
    made = odp.design(
        graphs.line(4, level="ln(2)"), ["a", "a", "b", "b"], fixed={"0": {"a": "2/3", "b": "1/3"}}
    ).to_document()
    assert made["status"] == "no-optimum"
    assert odp.verify({**made, "gap": "1e400"})  # more than a float holds, and true
    lie = {**made, field: value}
    if field == "fixed" or value == "greatest":
        assert not odp.verify(lie)
    else:
        with pytest.raises(odp.errors.OptimalDPError, match=field):
            odp.verify(lie)
