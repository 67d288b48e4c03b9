"""Families of dataset graphs against their definitions, pair by pair."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest

from optimaldp.errors import GraphError, LevelError, ProblemError
from optimaldp.graphs import (
    DatasetGraph,
    Preferences,
    clique,
    coordinates,
    grid,
    group_counts,
    hypercube,
    line,
    majority,
    product,
    ring,
    values,
    votes,
)
from optimaldp.graphs import products as product_edges
from optimaldp.privacy import level


def pairs(graph: DatasetGraph) -> set[frozenset[str]]:
    found = [frozenset((graph.names[u], graph.names[v])) for u, v in zip(graph.tails.tolist(), graph.heads.tolist())]
    assert len(set(found)) == len(found)  # no family has parallel edges
    return set(found)


def defined(graph: DatasetGraph, are_neighbours) -> set[frozenset[str]]:
    return {frozenset((u, v)) for u, v in combinations(graph.names, 2) if are_neighbours(u, v)}


def one_place_differs(u: str, v: str) -> bool:
    return sum(a != b for a, b in zip(u, v)) == 1


@pytest.mark.parametrize("persons", [1, 2, 3, 5])
def test_votes_are_all_words_and_neighbours_differ_in_one(persons):
    graph = votes(persons)
    assert sorted(graph.names) == sorted(
        np.base_repr(i, 2).zfill(persons).translate({48: "1", 49: "2"}) for i in range(2**persons)
    )
    assert pairs(graph) == defined(graph, one_place_differs)


@pytest.mark.parametrize(("count", "persons"), [(1, 2), (2, 2), (3, 2), (4, 1), (3, 3)])
def test_values_substitute_any_value(count, persons):
    graph = values(count, persons)
    assert len(graph) == count**persons
    assert pairs(graph) == defined(graph, one_place_differs)


def test_more_than_nine_values_are_written_with_commas():
    graph = values(11, 2)
    assert graph.names[10] == "1,11"
    assert len(pairs(graph)) == 2 * 11 * comb(11, 2)


@pytest.mark.parametrize("shape", [(4,), (2, 3), (3, 1, 2), (2, 2, 2)])
def test_a_grid_steps_by_one_in_one_coordinate(shape):
    def neighbours(u: str, v: str) -> bool:
        return sum(abs(int(a) - int(b)) for a, b in zip(u.split(","), v.split(","))) == 1

    graph = grid(shape)
    assert len(graph) == np.prod(shape)
    assert pairs(graph) == defined(graph, neighbours)
    assert [",".join(map(str, row)) for row in coordinates(graph)] == list(graph.names)


def test_the_hypercube_flips_one_bit():
    graph = hypercube(4)
    assert [int(name, 2) for name in graph.names] == list(range(16))
    assert pairs(graph) == defined(graph, one_place_differs)


def test_lines_rings_and_cliques():
    assert pairs(line(4)) == {frozenset(map(str, e)) for e in [(0, 1), (1, 2), (2, 3)]}
    assert pairs(ring(4)) == pairs(line(4)) | {frozenset("03")}
    assert len(pairs(clique(5))) == 10
    assert line(1).edge_count == clique(1).edge_count == 0
    assert list(line(3, first=1).names) == ["1", "2", "3"]
    assert list(ring(3, names=["x", "y", "z"]).names) == ["x", "y", "z"]


def test_each_person_has_a_level_of_their_own():
    graph = votes(3, levels=["ln(2)", "ln(3)", "ln(2)"])
    for u, v, one in graph.edges():
        person = next(i for i in range(3) if u[i] != v[i])
        assert one == level(["ln(2)", "ln(3)", "ln(2)"][person])
    assert len(graph.levels) == 2


def test_each_group_has_a_level_of_its_own():
    graph = group_counts([2, 3], levels=[(1, 0), (2, "0.1")])
    assert len(graph) == 12
    for u, v, one in graph.edges():
        assert one == (level(1) if u.split(",")[0] != v.split(",")[0] else level(2, "0.1"))


def test_a_line_may_have_a_level_per_edge():
    graph = line(4, levels=[1, 2, 1])
    assert [str(one) for *_, one in graph.edges()] == ["(1, 0)-DP", "(2, 0)-DP", "(1, 0)-DP"]


def test_products_are_associative_and_keep_parallel_edges():
    twice = DatasetGraph(["a", "b"], [0, 0], [1, 1], levels=[level(1), level(2, 0.1)], level_of_edge=[0, 1])
    path = line(2, level=3)
    left, right = product(product(twice, path), path), product(twice, product(path, path))
    assert list(left.names) == list(right.names)
    assert sorted(map(str, left.edges())) == sorted(map(str, right.edges()))
    assert left.edge_count == 2 * 4 + 2 * 4


def test_edges_by_tail_and_by_factor_are_the_same():
    factors = [ring(4, level=1), clique(3, level=2), line(3, levels=[1, 3]), DatasetGraph(["x", "y"], [], [])]
    numbers = [np.arange(len(one.levels) or 1, dtype=np.int32) + i for i, one in enumerate(factors)]
    shifts = product_edges._shifts(factors, numbers)
    by_tail, by_factor = product_edges._by_tail(factors, shifts), product_edges._by_factor(factors, numbers)
    assert sorted(zip(*map(np.ndarray.tolist, by_tail))) == sorted(zip(*map(np.ndarray.tolist, by_factor)))
    assert (np.diff(by_tail[0]) >= 0).all()


def test_equal_parallel_edges_and_many_shifts_are_kept_factor_by_factor():
    twice = DatasetGraph(["a", "b"], [0, 0], [1, 1], levels=[level(1)])
    assert product(twice, line(2, level=1)).edge_count == 2 * 2 + 2
    wide = product(clique(70), line(2))
    assert wide.edge_count == 2 * comb(70, 2) + 70
    assert len(pairs(wide)) == wide.edge_count


def test_products_of_vertices_without_edges_and_without_levels():
    lonely = DatasetGraph(["a", "b"], [], [])
    graph = product(lonely, line(2, level=1))
    assert graph.edges() == [("a,0", "a,1", level(1)), ("b,0", "b,1", level(1))]
    assert product(lonely, lonely).edge_count == 0


@pytest.mark.parametrize(
    ("make", "quoted"),
    [
        (lambda: votes(0), "too small"),
        (lambda: votes(2.5), "2.5 is not a whole number"),
        (lambda: votes(True), "True is not a whole number"),
        (lambda: votes(100), "too large to list"),
        (lambda: votes(10**9), "too large to list"),
        (lambda: votes(3, levels=[1, 2]), "one per person"),
        (lambda: votes(2, level=1, levels=[1, 2]), "together with level"),
        (lambda: ring(2), "at least 3"),
        (lambda: line(3, levels=[1]), "one per edge"),
        (lambda: line(3, names=["a"]), "1 names do not fit 3"),
        (lambda: values(2, 2, names=["a"]), "do not fit 2 values"),
        (lambda: grid((2, -1)), "-1 is too small"),
        (lambda: product(), "at least one graph"),
        (lambda: product(line(2), line(2, level=1)), "has no privacy level"),
        (lambda: coordinates(line(3)), "has no coordinates"),
    ],
)
def test_impossible_families_are_refused(make, quoted):
    with pytest.raises(GraphError, match=quoted):
        make()


def test_a_negative_epsilon_is_refused_by_every_family():
    for make in (votes, line, hypercube):
        with pytest.raises(LevelError, match="negative"):
            make(3, level=-1)


@pytest.mark.parametrize("persons", [1, 2, 3, 4, 7])
def test_the_majority_of_all_datasets_at_once_is_the_majority_of_each(persons):
    graph = votes(persons)
    at_once = Preferences.read(graph, majority)
    one_by_one = Preferences.read(graph, lambda name: majority(name), ["yes", "no"])
    assert at_once == one_by_one
    assert at_once.answers == ("yes", "no")


def test_a_majority_needs_votes():
    assert majority("1122") == "no"  # a tie
    with pytest.raises(ProblemError, match="'13' is not a row of votes"):
        majority("13")
    with pytest.raises(ProblemError, match="is not a row of votes"):
        Preferences.read(grid((2, 2)), majority)
