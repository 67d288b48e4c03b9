"""Answer graphs: folds and automata against brute force, on every question that the theory names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from optimaldp.channels import (
    ABSENT,
    AnswerGraph,
    Databases,
    Fold,
    count,
    histogram,
    induced_graph,
    largest,
    least_epsilon,
    optimal_mechanism,
    plurality,
    total,
)
from optimaldp.errors import ChannelError, GraphError

CITIES = ("A", "B", "C")
ROWS = [(city, vote) for city in CITIES for vote in ("Smith", "Jones")]

QUESTIONS: dict[str, tuple[Fold, tuple[Any, ...]]] = {
    "count": (count(lambda value: value >= 1), (0, 1, 2)),
    "count mod 3": (count(lambda value: value == 1, modulus=3), (0, 1)),
    "parity": (count(lambda value: value == 1, modulus=2), (0, 1)),
    "max": (largest(), (0, 1, 2, 3)),
    "sum": (total(), (0, 1, 3)),
    "plurality": (plurality((0, 1, 2)), (0, 1, 2)),
    "histogram": (histogram((0, 1, 2)), (0, 1, 2)),
    "city with most votes": (plurality(CITIES, of=lambda row: row[0] if row[1] == "Smith" else None), tuple(ROWS)),
}


def _brute(question: Callable[[Any], Any], databases: Databases) -> AnswerGraph:
    return induced_graph(lambda database: question(database), databases)


def _same(one: AnswerGraph, other: AnswerGraph) -> bool:
    edges = [{frozenset(edge) for edge in graph.edges} for graph in (one, other)]
    return set(one.vertices) == set(other.vertices) and edges[0] == edges[1]


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize("individuals", [1, 2, 3, 4])
@pytest.mark.parametrize("protects", ["value", "participation", "both"])
def test_folds_agree_with_brute_force(name: str, individuals: int, protects: str) -> None:
    question, values = QUESTIONS[name]
    if protects == "participation":
        databases = Databases.of_participation([values[i % len(values)] for i in range(individuals)])
    else:
        make = Databases.of_values if protects == "value" else Databases.of_both
        databases = make(values, min(individuals, 3) if len(values) > 3 else individuals)
    expected = _brute(question, databases)
    assert _same(induced_graph(question, databases), expected)
    by_pairs = Fold(question.start, question.step, question.answer)  # no promise about the order: the pair automaton
    assert _same(induced_graph(by_pairs, databases), expected)


def test_an_automaton_whose_order_matters() -> None:
    longest_run = Fold((0, 0), lambda s, v: (s[0] + 1, max(s[1], s[0] + 1)) if v else (0, s[1]), lambda s: s[1])
    databases = Databases.of_values((0, 1), 6)
    graph = induced_graph(longest_run, databases)
    assert _same(graph, _brute(longest_run, databases))
    # wrong twin: promising that the order is free loses edges, and a lost edge is a lost guarantee
    lied = Fold(longest_run.start, longest_run.step, longest_run.answer, order_free=True)
    assert not _same(induced_graph(lied, databases), graph)


def test_large_databases_are_never_written_down() -> None:
    thousand = Databases.of_values((0, 1), 1000)
    assert len(induced_graph(count(bool), thousand).edges) == 1000
    ring = induced_graph(count(bool, modulus=7), thousand)
    assert [ring.degree(v) for v in ring.vertices] == [2] * 7
    with pytest.raises(GraphError, match="too many to write down"):
        induced_graph(lambda database: sum(database), thousand)


def test_what_is_protected() -> None:
    assert Databases.of_values("ab", 2).size == 4
    assert Databases.of_both("ab", 2).size == 9
    known = Databases.of_participation(["a", "b", "b"])
    assert known.size == 8
    assert (ABSENT, "b", ABSENT) in set(known)
    assert not known.alike


def test_superset_graphs_are_marked_and_cost_utility() -> None:
    line = AnswerGraph.path(6)
    ring = line.with_edges([(5, 0)])
    assert ring.superset
    assert not line.with_edges([(0, 1)]).superset
    on_ring = optimal_mechanism(ring, "ln(2)")
    assert least_epsilon(on_ring.channel, line).ratio <= 2  # sound
    assert on_ring.utility < optimal_mechanism(line, "ln(2)").utility
    assert "artificial edges" in on_ring.claim


def test_distances_with_lengths_and_parts() -> None:
    graph = AnswerGraph("abcd", {("a", "b"): "1/2", ("b", "c"): 2, ("a", "c"): 1})
    assert graph.distance("b", "c") == Fraction(3, 2)
    assert graph.distance("a", "d") is None
    assert graph.components == [[0, 1, 2], [3]]
    assert graph.distances[1, 2] == 1.5
    assert np.isinf(graph.distances[0, 3])


def test_symmetries_are_verified() -> None:
    lied = AnswerGraph(range(3), [(0, 1), (1, 2)], symmetries=[(1, 0, 2), (2, 1, 0), (0, 0, 0)])
    assert lied.checked_symmetries() == [(2, 1, 0)]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: AnswerGraph([], []), "name at least one answer, each once"),
        (lambda: AnswerGraph([1, 1], []), "name at least one answer, each once"),
        (lambda: AnswerGraph([1, 2], [(1, 3)]), "does not join"),
        (lambda: AnswerGraph([1, 2], {(1, 2): 0}), "is not positive"),
        (lambda: AnswerGraph.ring(0), "leaves no vertex"),
        (lambda: Databases.of_values((0, 0), 2), "unique"),
        (lambda: Databases.of_values((), 2), "unique"),
        (lambda: AnswerGraph.path(3).distance(0, 9), "is not in this graph"),
        (lambda: AnswerGraph.from_document({"edges": [[1]]}), "pair of vertices"),
        (lambda: AnswerGraph.from_document({"edges": [], "colour": 1}), "'colour' is not a field"),
        (lambda: AnswerGraph.from_document([1]), "is not an object"),
    ],
)
def test_bad_graphs(build: Callable[[], Any], words: str) -> None:
    with pytest.raises(GraphError, match=words):
        build()


def test_documents_round_trip() -> None:
    graph = AnswerGraph([("a", 1), "b", 3], {(("a", 1), "b"): 1, ("b", 3): "5/2"})
    again = AnswerGraph.from_document(graph.to_document())
    assert (again.vertices, again.lengths) == (graph.vertices, graph.lengths)


@pytest.mark.parametrize("seed", range(20))
def test_individuals_of_several_kinds(seed: int) -> None:
    """Everybody has choices of their own, with and without one that changes nothing."""
    generator = np.random.default_rng(seed)
    values = [-2, -1, 0, 1, 2, 3]
    choices = tuple(
        tuple(generator.choice(values, size=int(generator.integers(1, 4)), replace=False).tolist())
        for _ in range(int(generator.integers(1, 6)))
    )
    databases = Databases(choices)
    for question in (total(), count(lambda value: value > 0), count(lambda value: value > 0, modulus=3), largest()):
        expected = _brute(question, databases)
        assert _same(induced_graph(question, databases), expected)
        assert _same(induced_graph(replace(question, additive=False), databases), expected)


@pytest.mark.parametrize("protects", ["value", "participation"])
def test_ten_thousand_people_are_counted(protects: str) -> None:
    """Only states that are new take another step: a hundred million steps otherwise."""
    people = 10_000
    if protects == "value":
        databases = Databases.of_values(("yes", "no", "perhaps"), people)
    else:
        databases = Databases.of_participation([("yes", i) for i in range(people)])
    answers = induced_graph(count(lambda value: "yes" in value), databases)
    assert answers.vertices == tuple(range(people + 1))
    assert set(answers.edges) == {(k, k + 1) for k in range(people)}
    assert len(induced_graph(total(len), Databases.of_values(("a", "bb"), people)).vertices) == people + 1


def test_an_edge_that_is_there_keeps_its_length_from_either_end() -> None:
    far = AnswerGraph([0, 1, 2], {(0, 1): 2})
    for edge in ((0, 1), (1, 0)):
        same = far.with_edges([edge])
        assert (same.lengths, same.superset) == (far.lengths, False)
    grown = far.with_edges([(1, 0), (1, 2)])
    assert grown.lengths == {**far.lengths, (1, 2): 1}
    assert grown.superset


@pytest.mark.long
def test_a_clique_whose_edges_differ_is_refused_where_its_program_has_no_end() -> None:
    """Alike edges share a hub for each guess; the edges of a metric do not, however many of them there are."""
    metric = AnswerGraph.metric(range(48), lambda a, b: abs(a - b))
    assert metric.is_clique
    with pytest.raises(ChannelError, match="linear program of 108288 constraints"):
        optimal_mechanism(metric, "1/10", gain="negdist")
    assert optimal_mechanism(AnswerGraph.clique(60), "1/10").utility > 0
