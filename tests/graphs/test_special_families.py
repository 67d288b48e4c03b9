"""Participation, histogram lattices, hot edges and metric privacy."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from optimaldp.errors import GraphError, LevelError
from optimaldp.graphs import (
    Preferences,
    boundary_graph,
    histogram_lattice,
    hot_deciding_vote,
    line,
    line_metric,
    majority_of_participants,
    metric,
    participation,
    votes,
    with_hot_edges,
)
from optimaldp.graphs.products import compositions, ranks
from optimaldp.privacy import Epsilon, level


def test_participants_join_and_leave():
    graph = participation(3)
    sets = [frozenset(name.strip("{}").split(",")) - {""} for name in graph.names]
    assert len(set(sets)) == 8
    expected = {frozenset((i, j)) for i, j in combinations(range(8), 2) if len(sets[i] ^ sets[j]) == 1}
    assert {frozenset(e) for e in zip(graph.tails.tolist(), graph.heads.tolist())} == expected
    assert [graph.number(name) for name in graph.names] == list(range(8))
    assert "{3,1}" not in graph.numbers
    assert "{4}" not in graph.numbers


def test_the_boundary_graph_of_participation_is_the_2_2_line():
    """000, Fig. 1b and the remark after Definition 7."""
    graph = participation(3)
    truth = majority_of_participants({"1": "yes", "2": "yes", "3": "no"})
    small = boundary_graph(graph, Preferences.read(graph, truth))
    assert small.chain_lengths() == {("yes", "no"): 2, ("no", "yes"): 2}
    assert small.graph.edge_count == 3
    assert {name for name in graph.names if small.morphism(name).endswith("1)")} == {"{1,2}", "{3}"}


def test_each_participant_may_have_a_level():
    graph = participation(["ann", "bob"], levels=[1, 2])
    for u, v, one in graph.edges():
        assert one == level(1 if ("ann" in u) != ("ann" in v) else 2)
    with pytest.raises(GraphError, match="'a,b' cannot be written in a set"):
        participation(["a,b"])
    with pytest.raises(GraphError, match="'3' is not a whole number"):
        participation("3")


def test_the_vote_of_every_participant_is_needed():
    with pytest.raises(GraphError, match="'2' has no vote"):
        majority_of_participants({"1": "yes"})("{1,2}")


@pytest.mark.parametrize(("bins", "total"), [(1, 3), (2, 4), (3, 0), (3, 3), (4, 3), (5, 2)])
def test_histograms_are_neighbours_when_one_person_moves(bins, total):
    graph = histogram_lattice(bins, total)
    rows = [tuple(map(int, name.split(","))) for name in graph.names]
    assert rows == sorted(set(rows))
    assert len(rows) == comb(total + bins - 1, bins - 1)
    assert all(sum(row) == total and len(row) == bins and min(row) >= 0 for row in rows)
    expected = {
        frozenset((i, j))
        for i, j in combinations(range(len(rows)), 2)
        if sum(abs(a - b) for a, b in zip(rows[i], rows[j])) == 2
    }
    found = [frozenset(e) for e in zip(graph.tails.tolist(), graph.heads.tolist())]
    assert len(found) == len(expected)
    assert set(found) == expected


def test_ranks_invert_the_list_of_histograms():
    table = compositions(4, 7)
    assert ranks(table).tolist() == list(range(len(table)))
    with pytest.raises(GraphError, match="too large to list"):
        histogram_lattice(20, 100)


def test_hot_edges_of_003_figure_1():
    graph = hot_deciding_vote(level="ln(3)", hot="ln(2)")
    hot = {frozenset((u, v)) for u, v, one in graph.edges() if one == level("ln(2)")}
    assert hot == {frozenset(("121", "221")), frozenset(("112", "212"))}
    assert graph.edge_count == 12


def test_personalised_levels_of_003_figure_1_do_not_depend_on_the_others():
    graph = votes(3, levels=["ln(2)", "ln(3)", "ln(3)"])
    hot = {frozenset((u, v)) for u, v, one in graph.edges() if one == level("ln(2)")}
    assert len(hot) == 4
    assert all(u[1:] == v[1:] for u, v in map(tuple, hot))


def test_hot_edges_by_pair_mask_and_rule_agree():
    graph = votes(3, level=1)
    pairs = [("221", "121"), ("112", "212")]
    by_pair = with_hot_edges(graph, pairs, level=0.5)
    wanted = {frozenset(pair) for pair in pairs}
    by_rule = with_hot_edges(graph, lambda u, v: frozenset((u, v)) in wanted, level=0.5)
    mask = np.array([one == level(0.5) for *_, one in by_rule.edges()])
    by_mask = with_hot_edges(graph, mask, level=0.5)
    assert by_pair.edges() == by_rule.edges() == by_mask.edges()
    assert mask.sum() == 2


@pytest.mark.parametrize(
    ("make", "quoted"),
    [
        (lambda: with_hot_edges(votes(2), [("11", "12")], level=1), "no privacy levels yet"),
        (lambda: with_hot_edges(votes(2, level=1), [("11", "22")], level=1), r"\('11', '22'\) is not an edge"),
        (lambda: with_hot_edges(votes(2, level=1), [("11", "33")], level=1), "'33' is not one of"),
        (lambda: with_hot_edges(votes(2, level=1), np.array([True]), level=1), "is not a mask over 4 edges"),
        (lambda: hot_deciding_vote(3, person=4, level=1, hot=1), "4 is not one of 3 people"),
    ],
)
def test_wrong_hot_edges_are_refused(make, quoted):
    with pytest.raises(GraphError, match=quoted):
        make()


def test_metric_privacy_joins_all_pairs():
    graph = metric({("a", "b"): "ln(2)", ("b", "c"): "ln(3)", ("c", "a"): "ln(6)"})
    assert {frozenset((u, v)): one for u, v, one in graph.edges()} == {
        frozenset("ab"): level("ln(2)"),
        frozenset("bc"): level("ln(3)"),
        frozenset("ac"): level("ln(6)"),  # exactly ln(2) + ln(3): floats cannot decide this
    }


def test_a_broken_triangle_is_named_exactly():
    with pytest.raises(
        GraphError, match=r"\('a', 'c'\) is ln\(6000000001/1000000000\), more than ln\(6\) by way of 'b'"
    ):
        metric({("a", "b"): "ln(2)", ("b", "c"): "ln(3)", ("a", "c"): "ln(6000000001/1000000000)"})
    free = metric({("a", "b"): 1, ("b", "c"): 1, ("a", "c"): 3}, triangle=False)
    assert free.edge_count == 3


@pytest.mark.parametrize(
    ("make", "error", "quoted"),
    [
        (lambda: metric([[0, 1], [2, 0]]), GraphError, "a metric is symmetric"),
        (lambda: metric([[0, 1, 1], [1, 0], [1, 1, 0]]), GraphError, "square matrix"),
        (lambda: metric({("a", "b"): 1, ("b", "c"): 1}), GraphError, r"\('c', 'a'\) is missing"),
        (lambda: metric(lambda u, v: 1), GraphError, "needs the names"),
        (lambda: metric([[0, -1], [-1, 0]]), LevelError, "negative"),
        (lambda: metric([[0, float("nan")], [float("nan"), 0]]), LevelError, "epsilon"),
    ],
)
def test_what_is_no_metric_is_refused(make, error, quoted):
    with pytest.raises(error, match=quoted):
        make()


def test_an_infinite_distance_is_allowed_only_where_the_triangle_allows_it():
    assert metric([[0, "inf"], ["inf", 0]]).edge_count == 1
    with pytest.raises(GraphError, match="by way of"):
        metric([[0, 1, "inf"], [1, 0, 1], ["inf", 1, 0]])


def test_the_metric_of_a_line_multiplies_steps():
    graph = line_metric(5, per_step="ln(2)")
    for u, v, one in graph.edges():
        assert one.epsilon == Epsilon.read("ln(2)") * abs(int(u) - int(v))
    assert {(u, v) for u, v, one in graph.edges() if one == level("ln(2)")} == {
        (u, v) for u, v, _ in line(5, level=1).edges()
    }
    matrix = metric(np.array([[0.0, 0.1], [0.1, 0.0]]))
    assert matrix.levels == (level("0.1"),)


def test_a_metric_of_hundreds_of_points_is_checked_exactly_and_at_once():
    points = np.random.default_rng(0).permutation(900)[:300]
    distance = np.abs(points[:, None] - points[None])
    graph = metric(distance)
    assert graph.edge_count == 300 * 299 // 2
    assert len(graph.levels) == len(np.unique(distance)) - 1
    distance[3, 7] = distance[7, 3] = distance[3, 7] + 1
    with pytest.raises(GraphError, match="triangle"):
        metric(distance)


def test_a_metric_of_floats_is_checked_up_to_their_rounding():
    points = np.random.default_rng(5).random((40, 2))
    points[20:] = points[:20] * 0.5 + points[20:21] * 0.5  # many on one line with two others
    apart = np.sqrt(((points[:, None] - points[None]) ** 2).sum(-1))
    assert metric(apart).edge_count == 780
    shortest = min(apart[3, w] + apart[w, 9] for w in range(40) if w not in (3, 9))
    longer = apart.copy()
    longer[3, 9] = longer[9, 3] = shortest * (1 + 1e-9)
    with pytest.raises(GraphError, match=r"\('3', '9'\).*triangle"):
        metric(longer)
