"""Regions, boundaries and distances against brute force by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import ProblemError
from optimaldp.graphs import (
    DatasetGraph,
    NumberNames,
    Preferences,
    boundary,
    components,
    components_without_boundary,
    crossing_edges,
    distances,
    interior,
    line,
    majority,
    regions,
    touching,
    votes,
)

INFINITE = 10**6


@st.composite
def coloured_graphs(draw, most=8, orders=3):
    count = draw(st.integers(1, most))
    everything = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(everything), unique=True)) if everything else []
    of = draw(st.lists(st.integers(0, orders - 1), min_size=count, max_size=count))
    graph = DatasetGraph(NumberNames(count), [u for u, _ in edges], [v for _, v in edges])
    preferences = Preferences(("a", "b", "c"), ((0, 1, 2), (1, 2, 0), (2, 0, 1)), np.array(of, dtype=np.int32))
    return graph, preferences


def all_distances(graph: DatasetGraph) -> np.ndarray:
    """Floyd and Warshall, the slow way: shares nothing with the search that is tested."""
    table = np.full((len(graph), len(graph)), INFINITE)
    np.fill_diagonal(table, 0)
    table[graph.tails, graph.heads] = table[graph.heads, graph.tails] = 1
    for w in range(len(graph)):
        table = np.minimum(table, table[:, w, None] + table[None, w, :])
    return table


@pytest.mark.long
@settings(max_examples=300)
@given(coloured_graphs())
def test_the_distance_is_one_less_than_to_the_nearest_other_region(drawn):
    graph, preferences = drawn
    table, found = all_distances(graph), distances(graph, preferences)
    for v in range(len(graph)):
        others = table[v][preferences.of != preferences.of[v]]
        nearest = others.min() if others.size else INFINITE
        assert found[v] == (nearest - 1 if nearest < INFINITE else -1)


def test_erratum_000_1_on_one_edge():
    """Two datasets of different colour are at distance 0 from their own boundary, not 1."""
    assert distances(line(2), Preferences.of_truth(("blue", "red"), [0, 1])).tolist() == [0, 0]


@given(coloured_graphs())
def test_interiors_and_boundaries_by_definition(drawn):
    graph, preferences = drawn
    on_edge = boundary(graph, preferences)
    for v in range(len(graph)):
        neighbours = [int(b if a == v else a) for a, b in zip(graph.tails, graph.heads) if v in (a, b)]
        assert on_edge[v] == any(preferences.of[u] != preferences.of[v] for u in neighbours)
    assert np.array_equal(interior(graph, preferences), ~on_edge)


@given(coloured_graphs())
def test_regions_share_out_all_datasets(drawn):
    graph, preferences = drawn
    found = regions(graph, preferences)
    assert sorted(v for where in found.values() for v in where.tolist()) == list(range(len(graph)))
    assert all(preferences.words(v) == order for order, where in found.items() for v in where.tolist())
    assert all(where.size for where in found.values())


@given(coloured_graphs())
def test_components_without_boundary_are_those_that_no_search_reaches(drawn):
    """Errata 000-15 and 001-11: they exist, and their distance is infinite."""
    graph, preferences = drawn
    found = components_without_boundary(graph, preferences)
    unreached = np.flatnonzero(distances(graph, preferences) == -1)
    assert sorted(v for part in found for v in part.tolist()) == unreached.tolist()
    table, labels = all_distances(graph), components(graph)
    for part in found:
        assert len(set(labels[part].tolist())) == len(set(preferences.of[part].tolist())) == 1
        assert (table[part[0]] < INFINITE).sum() == len(part)


def test_the_three_voters_of_000():
    graph = votes(3)
    truth = Preferences.read(graph, majority)
    far = dict(zip(graph.names, distances(graph, truth).tolist()))
    assert far == {"111": 1, "112": 0, "121": 0, "211": 0, "122": 0, "212": 0, "221": 0, "222": 1}
    assert int(crossing_edges(graph, truth).sum()) == 6
    assert touching(graph, truth) == {(0, 1)}


def test_parallel_edges_do_not_hide_a_component():
    graph = DatasetGraph(["a", "b"], [0] * 256, [1] * 256)
    assert components(graph).tolist() == [0, 0]


def test_preferences_of_another_graph_are_refused():
    truth = Preferences.of_truth(("yes", "no"), [0, 1])
    for asked in (boundary, distances, regions, touching, components_without_boundary):
        with pytest.raises(ProblemError, match="do not fit a graph of 3 datasets"):
            asked(line(3), truth)
