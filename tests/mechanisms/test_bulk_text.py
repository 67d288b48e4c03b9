"""A design written in bulk is, letter by letter, the document that the standard library writes; and it is read back."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from optimaldp import graphs, level
from optimaldp.designing import Design, design, solve
from optimaldp.errors import CertificateError, GraphError, ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.documents import read_problem

ODD_NAMES = ['say "hi"', "back\\slash", "new\nline", "Ünï ☃", "", "plain"]


def two_levels(answers: int, size: int = 60) -> Problem:
    rng = np.random.default_rng(answers)
    bare = graphs.grid((6, size // 6))
    levels = [level("ln(2)"), level("0.5", "0.01"), level("1/3")]
    graph = bare.with_levels(levels, rng.integers(0, 3, bare.edge_count))
    of = (np.arange(len(graph)) * answers // len(graph)).astype(np.int32)
    orders = tuple(tuple((first + k) % answers for k in range(answers)) for first in range(answers))
    return Problem(graph, Preferences(tuple("abc"[:answers]), orders, of), {}, "balanced")


def odd_names() -> Design:
    graph = DatasetGraph.from_edges(ODD_NAMES, list(pairwise(ODD_NAMES)), level=level("ln(2)"))
    return design(graph, dict(zip(ODD_NAMES, ["ja", "ja", "ja", 'n"ein', 'n"ein', 'n"ein'])), boundary="balanced")


@pytest.mark.parametrize(
    "found",
    [
        lambda: solve(two_levels(2), exact=True),
        lambda: solve(two_levels(2), exact=False),
        lambda: solve(two_levels(3), exact=True),
        lambda: solve(two_levels(3), exact=False),
        lambda: design(graphs.votes(3), graphs.majority, epsilon="ln(2)", delta="0.1"),
        lambda: design(graphs.line(3), np.array([0, 0, 1]), epsilon=1, fixed={"1": {"yes": "0.7", "no": "0.3"}}),
        odd_names,
    ],
)
def test_bulk_text_is_the_document(found):
    made = found()
    assert made.status == "optimal"
    text = made.to_json()
    assert text == json.dumps(made.to_document(), ensure_ascii=False)
    again = Design.from_json(text)
    assert again.to_json() == text
    assert [again.mechanism.rows.row(v) for v in range(len(again.mechanism))] == [
        made.mechanism.rows.row(v) for v in range(len(made.mechanism))
    ]


def test_levels_that_no_edge_has_are_not_read():
    """A default beside edges that all have their own level is no second level: the graph stays a plain one."""
    document = {"answers": ["a", "b"], "privacy": {"epsilon": 1}, "prefers": {"x": "a", "y": "b"}}
    own = read_problem(document | {"edges": [["x", "y", {"epsilon": "ln(2)"}]]})
    assert [str(one) for one in own.graph.levels] == ["(ln(2), 0)-DP"]
    both = read_problem(
        document | {"edges": [["x", "y", {"epsilon": "ln(2)"}], ["x", "y"], ["y", "x", {"epsilon": 1}]]}
    )
    assert [str(both.graph.levels[k]) for k in both.graph.level_of_edge] == ["(ln(2), 0)-DP", "(1, 0)-DP", "(1, 0)-DP"]
    assert len(both.graph.levels) == 2
    assert len(read_problem(document | {"edges": []}).graph.levels) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"edges": [["x", "y"], ["x"]]}, "edges[1]"),
        ({"edges": [["x", "y"], {"x": "y"}]}, "edges[1]"),
        ({"edges": [["x", "y"], ["x", "z"]]}, "edges[1]: 'z' is not a dataset"),
        ({"edges": [["x", "y"], ["x", ["y"]]]}, "edges[1]"),
        ({"edges": [["x", "y", {"epsilon": 1}], ["y", "x"]], "privacy": None}, "edges[1]"),
        ({"edges": [["x", "y", {"epsilon": 1}], ["y", "x", {"epsilon": True}]]}, "edges[1].epsilon"),
        ({"prefers": {"x": "a", "y": "c"}}, "'c'"),
        ({"prefers": {"x": "a", "y": 1}}, "prefers[y]"),
    ],
)
def test_the_first_wrong_edge_is_named(change, words):
    document = {
        "answers": ["a", "b"],
        "privacy": {"epsilon": 1},
        "edges": [["x", "y"]],
        "prefers": {"x": "a", "y": "b"},
    }
    with pytest.raises((ProblemError, GraphError, ValueError)) as caught:
        read_problem(document | change)
    assert words in str(caught.value)


@pytest.mark.long
@pytest.mark.parametrize("wrong", [-3, 5000, 1.5, True, "1", None])
def test_a_tree_by_numbers_holds_places_alone(wrong):
    made = solve(two_levels(2, size=2400), exact=False)
    document = json.loads(made.to_json())
    document["certificate"]["trees"][0]["predecessors"][7] = wrong
    with pytest.raises(CertificateError, match="is not the place of a dataset"):
        Design.from_json(json.dumps(document))
