"""Graphs from arrays, sparse matrices and networkx, and back."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csr_array, csr_matrix, random_array, triu

from optimaldp.designing import design
from optimaldp.errors import GraphError, LevelError, ProblemError
from optimaldp.graphs import (
    DatasetGraph,
    NumberNames,
    Preferences,
    from_arrays,
    from_networkx,
    from_sparse,
    grid,
    majority,
    to_networkx,
    votes,
)
from optimaldp.privacy import all_of, directed, level

LEVELS = (
    level("ln(2)"),
    level(0.3, 1e-6),
    directed(forward=level(1), backward=level(2)),
    all_of(level(1, 0.1), level(2, 0)),
    level("inf", "0.1"),
)


def as_set(graph: DatasetGraph) -> list[str]:
    """The edges without their order and direction of writing."""
    return sorted(str((u, v, one)) if u < v else str((v, u, one.reversed())) for u, v, one in graph.edges())


def test_arrays_with_levels_per_edge_are_read_by_their_decimals():
    graph = from_arrays(np.array([0, 1, 2]), np.array([1, 2, 0]), epsilon=np.array([0.1, 0.2, 0.1]), delta=[0, 0.5, 0])
    assert [one for *_, one in graph.edges()] == [level("0.1"), level("0.2", "0.5"), level("0.1")]
    assert len(graph.levels) == 2
    narrow = from_arrays([0], [1], epsilon=np.array([0.1], dtype=np.float32))
    assert narrow.levels == (level("0.1"),)
    whole = from_arrays([0], [1], epsilon=np.array([2]))
    assert whole.levels == (level(2),)
    words = from_arrays([0], [1], epsilon=np.array(["ln(2)"]))
    assert words.levels == (level("ln(2)"),)


def test_arrays_with_names_sizes_and_no_level():
    assert from_arrays([0], [1], size=5).names == NumberNames(5)
    assert list(from_arrays([0], [1], names=lambda i: f"d{i}").names) == ["d0", "d1"]
    assert from_arrays([0], [1], names=["a", "b", "c"]).number("c") == 2
    assert not from_arrays([0], [1]).has_levels
    assert from_arrays([0], [1], level="ln(2)").levels == (level("ln(2)"),)


@pytest.mark.parametrize(
    ("make", "error", "quoted"),
    [
        (lambda: from_arrays([0], [1], level=1, epsilon=1), GraphError, "together with level"),
        (lambda: from_arrays([0], [1], epsilon=[1, 2]), GraphError, "does not fit 1 edges"),
        (lambda: from_arrays([0], [1], epsilon=[-1.0]), LevelError, "negative"),
        (lambda: from_arrays([0], [1], epsilon=[np.nan]), LevelError, "epsilon"),
        (lambda: from_arrays([0], [1], names=["a"]), GraphError, "1 is not a dataset"),
        (lambda: from_arrays([0], [1], names=["a"], size=2), GraphError, "1 names do not fit 2"),
        (lambda: from_arrays([], []), GraphError, "is empty"),
        (lambda: from_sparse(np.eye(2)), GraphError, "not a square sparse matrix"),
        (lambda: from_sparse(csr_array((2, 3))), GraphError, r"\(2, 3\) is not a square"),
        (lambda: from_sparse(csr_array(np.eye(2))), GraphError, "'0' is joined to itself"),
        (lambda: from_sparse(csr_array((2, 2)), entries="weights"), GraphError, "'weights'"),
        (
            lambda: from_sparse(csr_array([[0, 1.0], [2.0, 0]]), entries="epsilon"),
            GraphError,
            r"\('0', '1'\) has two different epsilons",
        ),
    ],
)
def test_wrong_input_is_refused(make, error, quoted):
    with pytest.raises(error, match=quoted):
        make()


@pytest.mark.parametrize("kind", [csr_array, csr_matrix, coo_array])
def test_either_triangle_or_both_give_the_same_graph(kind):
    upper = triu(random_array((20, 20), density=0.3, rng=np.random.default_rng(1)), k=1)
    both = from_sparse(kind(upper + upper.T), level=1)
    assert as_set(both) == as_set(from_sparse(kind(upper), level=1)) == as_set(from_sparse(kind(upper.T), level=1))
    assert both.edge_count == upper.nnz
    levels = from_sparse(kind(upper + upper.T), entries="epsilon", delta="0.1")
    dense = upper.toarray()
    for u, v, one in levels.edges():
        assert one == level(float(dense[int(u), int(v)]), "0.1")


def test_a_stored_zero_is_an_edge():
    matrix = coo_array((np.array([0.0]), (np.array([0]), np.array([1]))), shape=(2, 2))
    assert from_sparse(matrix, entries="epsilon").levels == (level(0),)


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 6))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(lambda e: e[0] != e[1])
    edges = draw(st.lists(st.tuples(ends, st.integers(0, len(LEVELS) - 1)), max_size=8)) if count > 1 else []
    names = [f"d{i}" for i in range(count)]
    return DatasetGraph.from_edges(names, [(names[u], names[v], LEVELS[k]) for (u, v), k in edges])


@given(graphs())
def test_networkx_and_back_is_the_identity(graph):
    there = to_networkx(graph)
    back = from_networkx(there)
    assert list(back.names) == list(graph.names)
    assert as_set(back) == as_set(graph)


def test_graphs_without_levels_go_there_and_back():
    back = from_networkx(to_networkx(votes(3)))
    assert not back.has_levels
    assert back.edge_count == 12


def test_nodes_carry_preferences_and_probabilities():
    class Coin:
        def row(self, name):
            return {"yes": 0.5, "no": 0.5}

    graph = votes(2, level=1)
    made = to_networkx(graph, mechanism=Coin(), preferences=Preferences.read(graph, majority))
    assert made.nodes["11"] == {"prefers": ("yes", "no"), "probabilities": {"yes": 0.5, "no": 0.5}}
    assert type(made) is nx.Graph


def test_parallel_edges_make_a_multigraph():
    graph = DatasetGraph.from_edges("ab", [("a", "b", LEVELS[0]), ("b", "a", LEVELS[1])])
    assert to_networkx(graph).number_of_edges() == 2


def test_networkx_attributes_and_default():
    given_graph = nx.Graph()
    given_graph.add_edge(1, 2, epsilon="ln(2)", delta=0.1)
    given_graph.add_edge(2, 3, level=LEVELS[3])
    given_graph.add_edge(3, 4)
    graph = from_networkx(given_graph, level=1)
    assert graph.edges() == [("1", "2", level("ln(2)", 0.1)), ("2", "3", LEVELS[3]), ("3", "4", level(1))]
    with pytest.raises(GraphError, match=r"\('3', '4'\) has no privacy level"):
        from_networkx(given_graph)
    given_graph.add_edge(4, 5, delta=0.1)
    with pytest.raises(GraphError, match=r"\('4', '5'\) has a delta but no epsilon"):
        from_networkx(given_graph)
    assert list(from_networkx(nx.Graph([(1, "1")])).names) == ["1", "'1'"]


def test_arcs_limit_their_head_by_their_tail():
    arrows = nx.DiGraph()
    arrows.add_edge("a", "b", epsilon=1)
    arrows.add_edge("b", "a", epsilon=2)
    arrows.add_edge("b", "c", epsilon=3)
    arrows.add_edge("c", "d", epsilon=4)
    arrows.add_edge("d", "c", epsilon=4)
    graph = from_networkx(arrows)
    half = level("1/100")
    bound = {}
    for u, v, k in zip(graph.arcs.tails(), graph.arcs.heads, graph.arcs.levels):
        key = graph.names[u] + graph.names[v]
        bound.setdefault(key, []).append(graph.arc_levels[k])
    probability = half.epsilon.plain  # 1/100: where the growing part of F decides
    tightest = {key: min(float(one.step(probability)) for one in levels) for key, levels in bound.items()}
    assert tightest["ab"] == pytest.approx(0.01 * np.e)
    assert tightest["ba"] == pytest.approx(0.01 * np.e**2)
    assert tightest["bc"] == pytest.approx(0.01 * np.e**3)
    assert tightest["cb"] > 0.9  # only what the arc forward implies
    assert [one for u, v, one in graph.edges() if {u, v} == {"c", "d"}] == [level(4)]
    assert from_networkx(nx.DiGraph([("a", "b"), ("b", "a"), ("c", "b")])).edge_count == 2


def test_a_grid_agrees_with_networkx():
    ours, theirs = grid((3, 4), level=1), from_networkx(nx.grid_2d_graph(3, 4), level=1)
    renamed = {str((a, b)): f"{a},{b}" for a in range(3) for b in range(4)}
    assert {frozenset(e[:2]) for e in ours.edges()} == {frozenset(renamed[x] for x in e[:2]) for e in theirs.edges()}


@pytest.mark.parametrize("kind", ["networkx", "sparse"])
def test_a_design_takes_and_gives_back_the_graphs_own_nodes(kind):
    cells = nx.grid_2d_graph(2, 2) if kind == "networkx" else nx.path_graph(4)
    nx.set_edge_attributes(cells, 1.0, "epsilon")
    nodes = list(cells)
    graph = cells if kind == "networkx" else nx.to_scipy_sparse_array(cells, weight="epsilon")
    truth = ["west", "west", "east", "east"]
    by_node = design(graph, dict(zip(nodes, truth)), fixed={nodes[0]: {"west": "0.7", "east": "0.3"}}).mechanism
    assert list(by_node.datasets) == list(by_node) == list(by_node.to_frame().index) == nodes
    assert by_node[nodes[0]]["west"] == by_node.to_networkx().nodes[nodes[0]]["probabilities"]["west"]
    assert by_node.sample(nodes[-1]) in truth
    assert by_node.to_document()["mechanism"].keys() == {str(node) for node in nodes}
    in_order, called = design(graph, truth).mechanism, design(graph, lambda node: truth[nodes.index(node)]).mechanism
    assert in_order.rows.row(2) == called.rows.row(2)


@pytest.mark.parametrize("truth", [["a", "b"], ["a", "b", "a", "b"], np.array([0, 1]), "abc", 7])
def test_a_truth_that_does_not_fit_is_refused(truth):
    with pytest.raises(ProblemError, match=r"one preference (per|for each) dataset"):
        design(csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])), truth)
