"""Dataset graphs on arrays: arcs, levels that come later, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.errors import GraphError
from optimaldp.graphs import DatasetGraph, FunctionNames, NumberNames, hypercube, votes
from optimaldp.graphs import dataset_graph as module
from optimaldp.graphs.dataset_graph import first_of_each
from optimaldp.graphs.names import LazyNames, ProductNames, RowNames
from optimaldp.kernels.loops import both_directions
from optimaldp.privacy import directed, level

ONE, TWO = level("ln(2)"), level("ln(3)", "0.1")


@st.composite
def edge_lists(draw):
    count = draw(st.integers(2, 6))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda e: e[0] != e[1])
    return count, draw(st.lists(st.tuples(ends, st.integers(0, 2)), max_size=12))


LEVELS = (ONE, TWO, directed(forward=ONE, backward=TWO))


@given(edge_lists())
def test_arcs_hold_every_edge_in_both_directions(drawn):
    count, edges = drawn
    graph = DatasetGraph(
        NumberNames(count),
        [e[0] for e, _ in edges],
        [e[1] for e, _ in edges],
        levels=LEVELS,
        level_of_edge=[k for _, k in edges],
    )
    expected = sorted(
        (a, b, str(one)) for (u, v), k in edges for a, b, one in ((u, v, LEVELS[k]), (v, u, LEVELS[k].reversed()))
    )
    arcs = graph.arcs
    found = zip(arcs.tails().tolist(), arcs.heads.tolist(), [str(graph.arc_levels[k]) for k in arcs.levels])
    assert sorted(found) == expected


@given(edge_lists())
def test_the_linear_sort_gives_the_same_arcs(drawn):
    count, edges = drawn
    tails, heads = [e[0] for e, _ in edges], [e[1] for e, _ in edges]
    graph = DatasetGraph(NumberNames(count), tails, heads, levels=LEVELS, level_of_edge=[k for _, k in edges])
    small = graph._sort_arcs()
    large = both_directions(graph.tails, graph.heads, graph.level_of_edge, graph._backward_levels(), count)
    assert [small.first.tolist(), small.heads.tolist(), small.levels.tolist()] == [part.tolist() for part in large]


def test_a_graph_of_many_arcs_takes_the_linear_sort():
    graph = hypercube(16)
    assert 2 * graph.edge_count >= module._MANY_ARCS
    small = graph._sort_arcs()
    assert np.array_equal(graph.arcs.heads, small.heads)
    assert np.array_equal(graph.arcs.first, small.first)


@given(st.lists(st.integers(0, 40)), st.sampled_from([41, 10**9]))
def test_first_occurrences_by_table_and_by_sorting_agree(codes, bound):
    values, first = first_of_each(np.array(codes, dtype=np.int64), bound)
    assert dict(zip(values.tolist(), first.tolist())) == {code: codes.index(code) for code in codes}
    assert values.tolist() == sorted(set(codes))


def test_a_graph_without_level_gets_one_later():
    bare = votes(3)
    assert bare.levels == ()
    assert not bare.has_levels
    assert "no level yet" in repr(bare)
    with pytest.raises(GraphError, match="with_level"):
        bare.edges()
    assert bare.arcs.heads.size == 24
    for given_as in (TWO, ("ln(3)", "0.1")):
        graph = bare.with_level(given_as)
        assert graph.has_levels
        assert graph.levels == (TWO,)
        assert graph.arcs.heads.tolist() == bare.arcs.heads.tolist()
        assert set(graph.arcs.levels.tolist()) == {0}
    assert bare.levels == ()


def test_a_directed_level_set_later_is_sorted_anew():
    bare = votes(2)
    assert bare.arcs.first.tolist() == [0, 2, 4, 6, 8]
    graph = bare.with_level(LEVELS[2])
    both = {(u, v): graph.arc_levels[k] for u, v, k in zip(graph.arcs.tails(), graph.arcs.heads, graph.arcs.levels)}
    assert both[0, 1] == LEVELS[2]
    assert both[1, 0] == LEVELS[2].reversed()


def test_edges_from_names_take_the_default_or_their_own_level():
    graph = DatasetGraph.from_edges("abc", [("a", "b"), ("b", "c", TWO), ("a", "b", TWO)], level=ONE)
    assert graph.edges() == [("a", "b", ONE), ("b", "c", TWO), ("a", "b", TWO)]
    assert not DatasetGraph.from_edges("ab", [("a", "b")]).has_levels
    assert DatasetGraph.from_edges("ab", []).has_levels


@pytest.mark.parametrize(
    ("make", "quoted"),
    [
        (lambda: DatasetGraph([], [], []), "no datasets"),
        (lambda: DatasetGraph(["a", "a"], [0], [1]), "'a' is named twice"),
        (lambda: DatasetGraph([1, 2], [0], [1]), "1 is not a name"),
        (lambda: DatasetGraph(["a", "b"], [0], [0]), "'a' is joined to itself"),
        (lambda: DatasetGraph(["a", "b"], [0], [2]), "2 is not a dataset"),
        (lambda: DatasetGraph(["a", "b"], [0], [-1]), "-1 is not a dataset"),
        (lambda: DatasetGraph(["a", "b"], [0], [2**32 + 1]), "4294967297 is not a dataset"),
        (lambda: DatasetGraph(["a", "b"], [0.5], [1]), "whole numbers"),
        (lambda: DatasetGraph(["a", "b"], [0, 0], [1]), "different lengths"),
        (lambda: DatasetGraph(["a", "b"], [0], [1], levels=[ONE], level_of_edge=[1]), "1 is not a level"),
        (lambda: DatasetGraph(["a", "b"], [0], [1], level_of_edge=[1]), "1 is not a level"),
        (lambda: DatasetGraph.from_edges("ab", [("a", "c")]), "'c' is not a dataset"),
        (lambda: DatasetGraph.from_edges("ab", [("a",)]), "is not an edge"),
        (lambda: DatasetGraph.from_edges("ab", ["ab"]), "is not an edge"),
        (lambda: DatasetGraph.from_edges("abc", [("a", "b", ONE), ("b", "c")]), r"\('b', 'c'\) has no privacy level"),
        (lambda: votes(2).number("13"), "'13' is not one of the 4 datasets"),
    ],
)
def test_broken_graphs_are_refused_by_name(make, quoted):
    with pytest.raises(GraphError, match=quoted):
        make()


@pytest.mark.parametrize(
    "names",
    [
        NumberNames(12, first=3),
        FunctionNames(5, lambda i: f"d{i}"),
        ProductNames([["a", "b"], NumberNames(3), ["x"]]),
        ProductNames([["1", "2"]] * 3, separator=""),
        RowNames(np.array([[0, 2], [1, 1], [2, 0]], dtype=np.int32)),
    ],
)
def test_computed_names_behave_like_a_list(names: LazyNames):
    listed = [names.name(i) for i in range(len(names))]
    assert list(names) == listed
    assert names == listed
    assert len(set(listed)) == len(names)
    assert [names.find(name) for name in listed] == list(range(len(names)))
    assert names[-1] == listed[-1]
    assert names[1:3] == listed[1:3]
    assert listed[0] in names
    assert "nobody" not in names
    assert 7 not in names
    with pytest.raises(IndexError):
        names[len(names)]
    graph = DatasetGraph(names, [], [])
    assert dict(graph.numbers) == {name: i for i, name in enumerate(listed)}
    with pytest.raises(KeyError):
        graph.numbers["nobody"]


@pytest.mark.parametrize("name", ["03", "+3", " 3", "3.0", "-1", "12"])
def test_only_the_exact_spelling_of_a_number_is_a_name(name):
    assert NumberNames(12).find(name) is None


def test_products_of_names_that_could_be_confused_are_refused():
    with pytest.raises(GraphError, match="'a,b' cannot be told apart"):
        ProductNames([["a,b"], ["c"]])
    with pytest.raises(GraphError, match="'10' cannot be told apart"):
        ProductNames([NumberNames(11)] * 2, separator="")


def test_a_million_names_are_not_stored():
    graph = hypercube(20)
    assert graph.numbers["0" * 19 + "1"] == 1
    assert "_table" not in graph.names.__dict__
