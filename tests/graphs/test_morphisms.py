"""Morphisms, quotients and boundary graphs: the papers' examples, laws, and maps that must be refused by name."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations, product

import numpy as np
import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import GraphError
from optimaldp.graphs import (
    DatasetGraph,
    Morphism,
    NumberNames,
    Preferences,
    boundary_graph,
    counts,
    distances,
    find_broken_edge,
    histogram_lattice,
    hypercube,
    is_boundary_morphism,
    line,
    majority,
    morphism,
    orbits,
    quotient,
    ring,
    touching,
    values,
    votes,
)
from optimaldp.privacy import all_of, directed, level

STRICT, LOOSE, OTHER = level("ln(2)"), level("ln(3)"), level("ln(4)", "0.1")
LEVELS = (STRICT, LOOSE, directed(forward=STRICT, backward=LOOSE), level("ln(2)", "0.1"), level("ln(3)", "0.05"))


def from_vector(edges, names=None) -> DatasetGraph:
    return DatasetGraph.from_edges(names or sorted({end for edge in edges for end in edge}), edges)


# --- the papers' examples ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("instance", vectors("graphs", "morphism"), ids=lambda x: x["id"])
def test_morphisms_of_the_vectors(instance):
    source, target = from_vector(instance["edges1"]), from_vector(instance["edges2"])
    found = morphism(source, target, instance["map"])
    before = Preferences.read(source, majority)
    after = found.push_preferences(before)
    assert found.preserves(before, after) is instance["expect"]["is_morphism"]
    assert is_boundary_morphism(found, before, after) is instance["expect"]["is_boundary_morphism"]


def test_erratum_000_11_the_printed_map_is_refused():
    """Printed: {122, 211, 221} to d3. Then 111 - 211 goes from d1 to d3, which are no neighbours."""
    instance = next(x for x in vectors("graphs", "morphism") if x["id"] == "A03")
    source, target = from_vector(instance["edges1"]), from_vector(instance["edges2"])
    printed = {**instance["map"], "211": "d3", "212": "d2"}
    with pytest.raises(GraphError, match=r"\('111', '211'\).*111 - 211 goes to d1 - d3, which is no edge"):
        morphism(source, target, printed)


@pytest.mark.parametrize("instance", vectors("graphs", "boundary_graph"), ids=lambda x: x["id"])
def test_boundary_graphs_of_the_vectors(instance):
    graph = from_vector(instance["edges"], list(instance["vertices"]))
    preferences = Preferences.read(graph, {v: [str(c) for c in order] for v, order in instance["vertices"].items()})
    small = boundary_graph(graph, preferences)
    blue, red = instance["expect"]["n_B"], instance["expect"]["n_R"]
    assert small.chain_lengths() == {("1", "2"): blue, ("2", "1"): red}
    far = distances(graph, preferences)
    # the (n_B, n_R)-line of 000 counts from the end of the blue chain through both heads to the end of the red one
    place = {
        name: blue - t if preferences.words(v)[0] == "1" else blue + 1 + t
        for v, (name, t) in enumerate(zip(graph.names, far.tolist()))
    }
    assert place == instance["expect"]["map"]
    as_line = morphism(graph, line(blue + red, first=1), {name: str(i) for name, i in place.items()})
    assert is_boundary_morphism(as_line, preferences, as_line.push_preferences(preferences))
    assert small.graph.edge_count == blue + red - 1


# --- boundary graphs --------------------------------------------------------------------------------------------------


@st.composite
def coloured_graphs(draw, most=8):
    count = draw(st.integers(1, most))
    everything = list(combinations(range(count), 2))
    edges = draw(st.lists(st.sampled_from(everything), max_size=14)) if everything else []
    which = [draw(st.integers(0, len(LEVELS) - 1)) for _ in edges]
    of = draw(st.lists(st.integers(0, 2), min_size=count, max_size=count))
    graph = DatasetGraph(
        NumberNames(count), [u for u, _ in edges], [v for _, v in edges], levels=LEVELS, level_of_edge=which
    )
    return graph, Preferences(("a", "b", "c"), ((0, 1, 2), (1, 2, 0), (2, 0, 1)), np.array(of, dtype=np.int32))


@pytest.mark.long
@settings(max_examples=200)
@given(coloured_graphs())
def test_the_boundary_graph_is_definition_8(drawn):
    graph, preferences = drawn
    small = boundary_graph(graph, preferences)
    assert is_boundary_morphism(small.morphism, preferences, small.preferences)
    place = list(zip(small.order.tolist(), small.distance.tolist()))
    far = distances(graph, preferences)
    assert set(place) == set(zip(preferences.of.tolist(), far.tolist()))  # 001-11: only preferences that occur
    edges = {frozenset((place[u], place[v])) for u, v in zip(small.graph.tails, small.graph.heads)}
    chains = {frozenset(((c, t), (c, t + 1))) for c, t in place if t >= 0 and (c, t + 1) in place}
    joined = {frozenset(((c, 0), (d, 0))) for c, d in touching(graph, preferences)}
    assert edges == chains | joined


def test_a_component_without_boundary_becomes_a_point_of_its_own():
    """Errata 000-15, 001-11: it is joined to nothing, so nothing limits it."""
    graph = DatasetGraph.from_edges("abcd", [("a", "b"), ("c", "d")], level=STRICT)
    preferences = Preferences.of_truth(("yes", "no"), [0, 1, 0, 0])
    small = boundary_graph(graph, preferences)
    assert small.morphism("c") == small.morphism("d") == "(yes>no, ∞)"
    assert small.morphism("a") == "(yes>no, 0)"
    assert small.graph.edges() == [("(yes>no, 0)", "(no>yes, 0)", STRICT)]
    assert small.chain_lengths() == {("yes", "no"): 1, ("no", "yes"): 1}
    assert small.heads.size == 2


def test_answers_may_contain_the_sign_that_joins_them():
    preferences = Preferences(("a", "a>a", "b"), ((0, 1, 2), (1, 0, 2)), np.array([0, 1], dtype=np.int32))
    assert len(boundary_graph(line(2), preferences).graph) == 2


def test_levels_by_layer_stay_by_layer():
    graph = DatasetGraph.from_edges("abcd", [("a", "b", LOOSE), ("b", "c", STRICT), ("c", "d", LOOSE)])
    small = boundary_graph(graph, Preferences.of_truth(("yes", "no"), [0, 0, 1, 1]))
    assert sorted(str(one) for *_, one in small.graph.edges()) == sorted(map(str, (LOOSE, STRICT, LOOSE)))


# --- checking maps ----------------------------------------------------------------------------------------------------


def brute_force_is_morphism(source: DatasetGraph, target: DatasetGraph, of: list[int]) -> bool:
    """By the step functions themselves, on a grid of probabilities: shares nothing with ``implies``."""
    arcs = target.arcs
    promised = list(zip(arcs.tails().tolist(), arcs.heads.tolist(), [target.arc_levels[k] for k in arcs.levels]))
    for u, v, k in zip(source.tails.tolist(), source.heads.tolist(), source.level_of_edge.tolist()):
        if of[u] == of[v]:
            continue
        found = [one for a, b, one in promised if (a, b) == (of[u], of[v])]
        for s in [Fraction(i, 24) for i in range(25)]:
            if not found or min(one.step(s) for one in found) > source.levels[k].step(s):
                return False
    return True


@pytest.mark.long
@settings(max_examples=200)
@given(coloured_graphs(4), coloured_graphs(3), st.data())
def test_the_check_agrees_with_the_step_functions(first, second, data):
    source, target = first[0], second[0]
    of = data.draw(st.lists(st.integers(0, len(target) - 1), min_size=len(source), max_size=len(source)))
    broken = find_broken_edge(source, target, np.array(of, dtype=np.int32))
    assert (broken is None) == brute_force_is_morphism(source, target, of)


def test_a_looser_image_is_refused_and_a_stricter_one_accepted():
    names = {str(i): str(i) for i in range(3)}
    assert morphism(line(3, level=LOOSE), line(3, level=STRICT), names)
    with pytest.raises(GraphError, match=r"0 - 1 goes to 0 - 1, whose promise is weaker than \(ln\(2\), 0\)-DP"):
        morphism(line(3, level=STRICT), line(3, level=LOOSE), names)
    one_off = line(3, levels=[STRICT, LOOSE])
    with pytest.raises(GraphError, match="1 - 2 goes to 1 - 2"):
        morphism(line(3, level=STRICT), one_off, names)


def test_parallel_edges_promise_together():
    both = all_of(level("ln(2)", "0.1"), level("ln(3)", "0.05"))
    source = DatasetGraph(["a", "b"], [0], [1], levels=[both])
    target = DatasetGraph(["x", "y"], [0, 1], [1, 0], levels=LEVELS[3:], level_of_edge=[0, 1])
    assert morphism(source, target, {"a": "y", "b": "x"})
    half = DatasetGraph(["x", "y"], [0], [1], levels=LEVELS[3:4])
    with pytest.raises(GraphError, match="weaker"):
        morphism(source, half, {"a": "x", "b": "y"})


def test_a_directed_edge_must_land_in_its_direction():
    arrow = directed(forward=STRICT, backward=LOOSE)
    graph = DatasetGraph(["a", "b"], [0], [1], levels=[arrow])
    assert morphism(graph, graph, {"a": "a", "b": "b"})
    with pytest.raises(GraphError, match="weaker"):
        morphism(graph, graph, {"a": "b", "b": "a"})


@pytest.mark.parametrize(
    ("mapping", "quoted"),
    [
        ({"0": "0", "1": "1"}, "'2' has no image"),
        ({"0": "0", "1": "1", "2": "7"}, "'7' is not one of the 3 datasets"),
        (np.array([0, 1]), "2 images do not fit 3"),
        (np.array([0, 1, 3]), "3 is not one of the 3"),
        (np.array([0.0, 1.0, 2.0]), "not an array of dataset numbers"),
        (np.array([0, 2, 1]), r"\('0', '1'\)"),
    ],
)
def test_maps_that_are_none_are_refused(mapping, quoted):
    with pytest.raises(GraphError, match=quoted):
        morphism(line(3), line(3), mapping)


def test_everything_maps_to_a_point():
    """000 after Definition 3: a morphism, but no graph homomorphism."""
    point = DatasetGraph(["point"], [], [])
    assert morphism(ring(5, level=STRICT), point, lambda _: "point").of.tolist() == [0] * 5


def test_composition_is_application_in_turn():
    first = counts(votes(3, level=STRICT))
    fold = morphism(first.target, line(2, level=STRICT), lambda name: "0" if int(name) < 2 else "1")
    both = first.then(fold)
    assert all(both(name) == fold(first(name)) for name in both.source.names)
    with pytest.raises(GraphError, match="does not start where this one ends"):
        fold.then(fold)


# --- preferences and mechanisms ---------------------------------------------------------------------------------------


def test_a_changed_preference_is_named():
    onto = counts(votes(3))
    before = Preferences.read(onto.source, majority)
    after = onto.push_preferences(before)
    assert [after.words(v)[0] for v in range(4)] == ["no", "no", "yes", "yes"]
    wrong = Preferences.of_truth(("yes", "no"), [1, 0, 0, 0])
    assert onto.find_changed_preference(before, wrong) in ("122", "212", "221")
    assert not onto.preserves(before, wrong)


def test_preferences_that_differ_inside_a_class_are_not_pushed():
    onto = morphism(line(3), DatasetGraph(["x"], [], []), lambda _: "x")
    with pytest.raises(GraphError, match=r"\('0', '1'\) go to the same dataset"):
        onto.push_preferences(Preferences.of_truth(("yes", "no"), [0, 1, 1]))
    into = morphism(line(2), line(3), lambda name: name)
    with pytest.raises(GraphError, match="'2' is the image of no dataset"):
        into.push_preferences(Preferences.of_truth(("yes", "no"), [0, 1]))


class Table:
    """The least that is asked of a mechanism."""

    def __init__(self, rows):
        self.rows, self.reads = rows, 0

    def row(self, name):
        self.reads += 1
        return self.rows[name]


def test_the_voting_example_of_000_is_pulled_back():
    """After Corollary 2: R_111 = .1, .3, .7, .9 at (ln 2, 0.1)."""
    onto = counts(votes(3, level=("ln(2)", "0.1")))
    red = {"3": Fraction(1, 10), "2": Fraction(3, 10), "1": Fraction(7, 10), "0": Fraction(9, 10)}
    table = Table({name: {"yes": 1 - p, "no": p} for name, p in red.items()})
    pulled = onto.pull_back(table)
    rows = dict(pulled.rows())
    assert table.reads == 4
    assert {name: row["no"] for name, row in rows.items()} == {name: red[str(name.count("1"))] for name in rows}
    assert pulled.row("112") == rows["112"]
    for u, v, one in onto.source.edges():
        assert all(rows[v][a] <= one.step(rows[u][a]) and rows[u][a] <= one.step(rows[v][a]) for a in ("yes", "no"))


# --- quotients --------------------------------------------------------------------------------------------------------


@pytest.mark.long
@settings(max_examples=200)
@given(coloured_graphs(6), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_every_labelling_gives_a_morphism_onto_exactly_the_edges_it_needs(drawn, labels):
    graph, _ = drawn
    onto = quotient(graph, np.array(labels[: len(graph)]))
    assert brute_force_is_morphism(graph, onto.target, onto.of.tolist())
    for edge in range(onto.target.edge_count):  # no edge of the quotient can be left out
        kept = np.arange(onto.target.edge_count) != edge
        fewer = DatasetGraph(
            onto.target.names,
            onto.target.tails[kept],
            onto.target.heads[kept],
            levels=onto.target.levels,
            level_of_edge=onto.target.level_of_edge[kept],
        )
        assert find_broken_edge(graph, fewer, onto.of) is not None


@pytest.mark.parametrize("persons", [1, 2, 3, 5])
def test_votes_become_a_line_of_counts(persons):
    onto = counts(votes(persons, level=STRICT))
    assert list(onto.target.names) == [str(i) for i in range(persons + 1)]
    assert sorted(map(str, onto.target.edges())) == sorted(map(str, line(persons + 1, level=STRICT).edges()))
    assert all(onto(name) == str(name.count("1")) for name in onto.source.names)


def test_values_become_the_histogram_lattice():
    onto = counts(values(3, 4, level=STRICT))
    lattice = histogram_lattice(3, 4, level=STRICT)
    assert list(onto.target.names) == list(lattice.names)
    assert {frozenset(e[:2]) for e in onto.target.edges()} == {frozenset(e[:2]) for e in lattice.edges()}
    assert onto("1121") == "3,1,0"


def test_bits_are_counted_by_ones():
    assert counts(hypercube(4))("0111") == "3"
    with pytest.raises(GraphError, match="no people with the same values"):
        counts(line(3))


def test_personal_levels_are_promised_to_everybody_in_the_quotient():
    onto = counts(votes(2, levels=[STRICT, LOOSE]))
    assert {one for *_, one in onto.target.edges()} == {STRICT}
    crossed = counts(votes(2, levels=[LEVELS[3], LEVELS[4]]))  # neither implies the other: both hold
    assert crossed.target.edge_count == 4


def test_labels_by_function_mapping_and_names():
    graph = line(4, names=["a", "b", "c", "d"])
    by_function = quotient(graph, lambda name: name in "ab", names=["right", "left"])
    assert by_function("a") == "left"
    assert by_function.target.edge_count == 1
    by_mapping = quotient(graph, {"a": 0, "b": 0, "c": "x", "d": "x"})  # labels of different kinds
    assert by_mapping("d") == "x"
    with pytest.raises(GraphError, match="'d' has no label"):
        quotient(graph, {"a": 0, "b": 0, "c": 0})
    with pytest.raises(GraphError, match="do not fit 4 datasets"):
        quotient(graph, np.zeros(3))
    with pytest.raises(GraphError, match="1 names do not fit 2 classes"):
        quotient(graph, lambda name: name in "ab", names=["one"])


def test_orbits_of_all_permutations_of_voters_are_the_counts():
    graph = votes(3, level=STRICT)
    moves = [lambda name, p=p: "".join(name[i] for i in p) for p in permutations(range(3))]
    found = orbits(graph, *moves)
    assert len(found.target) == 4
    by_count = counts(graph)
    assert {(found(n), by_count(n)) for n in graph.names} == {("111", "3"), ("112", "2"), ("122", "1"), ("222", "0")}
    assert len(orbits(graph).target) == 8  # without symmetries nothing is merged


def test_what_is_no_symmetry_is_refused():
    graph = votes(2, levels=[STRICT, LOOSE])
    with pytest.raises(GraphError, match="weaker than"):
        orbits(graph, lambda name: name[::-1])  # exchanges two persons of different levels
    assert len(orbits(graph, lambda name: name.translate({49: 50, 50: 49})).target) == 2
    with pytest.raises(GraphError, match="is the image of two datasets"):
        orbits(ring(4), lambda name: str(int(name) % 2))
    star = DatasetGraph.from_edges("abc", [("a", "b")])
    with pytest.raises(GraphError):
        orbits(star, {"a": "c", "b": "a", "c": "b"})


def test_brute_force_orbits_on_small_rings():
    graph = ring(6, level=STRICT)
    onto = orbits(graph, lambda name: str((int(name) + 2) % 6))
    assert [onto(str(i)) for i in range(6)] == ["0", "1"] * 3
    assert onto.target.edge_count == 1


def test_a_morphism_is_checked_when_it_is_made():
    with pytest.raises(GraphError):
        Morphism(line(3), line(3), np.array([0, 2, 2], dtype=np.int32))
    assert all(Morphism(line(2), ring(3), np.array(of, dtype=np.int32)) for of in product(range(3), repeat=2))
