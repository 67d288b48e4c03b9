"""A level for each edge as arrays: enclosures of e^epsilon, and the same designs and verdicts as with objects."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import optimaldp as odp
from optimaldp.certify import verify
from optimaldp.errors import GraphError
from optimaldp.graphs import DatasetGraph
from optimaldp.graphs.dataset_graph import PlainLevels, exp_enclosure
from optimaldp.mechanisms import Mechanism
from optimaldp.privacy import level
from optimaldp.privacy.balls import ball, lower, precision, upper


@pytest.mark.parametrize("most", [1e-300, 1e-8, 0.3, 1.0, 5.0, 50.0, 700.0])
def test_exponentials_are_enclosed(most: float) -> None:
    numbers = np.append(np.random.default_rng(1).uniform(0, most, 400), [0.0, most, most / 2, np.log(2) / 2])
    low, high = exp_enclosure(numbers)
    with precision(200):
        for x, below, above in zip(numbers.tolist(), low.tolist(), high.tolist()):
            true = ball(Fraction(x)).exp()
            assert Fraction(below) <= lower(true)
            assert Fraction(above) >= upper(true)
            assert above <= below * (1 + 2.0**-46)


def test_ratios_enclose_the_decimals_that_floats_stand_for() -> None:
    epsilon = np.random.default_rng(2).uniform(0, 3, 300).round(6)
    levels = PlainLevels(epsilon, np.zeros(300))
    low, high = levels.ratios()
    for k in range(300):
        exact = levels[k].epsilon  # type: ignore[attr-defined]
        assert str(exact) == repr(epsilon[k].item())
        assert Fraction(low[k]) <= exact.ratio_below(bits=128)
        assert Fraction(high[k]) >= exact.ratio_above(bits=128)


def many_levels(size: int = 600) -> tuple[DatasetGraph, DatasetGraph, np.ndarray]:
    rng = np.random.default_rng(3)
    tails, heads = np.arange(size - 1), np.arange(1, size)
    tails, heads = (
        np.append(tails, rng.integers(0, size // 2, size)),
        np.append(heads, rng.integers(size // 2, size, size)),
    )
    epsilon, delta = rng.uniform(0.05, 2, len(tails)).round(9), rng.choice([0.0, 1e-6, 0.01], len(tails))
    arrays = odp.graphs.from_arrays(tails, heads, size=size, epsilon=epsilon, delta=delta)
    objects = DatasetGraph(
        arrays.names, arrays.tails, arrays.heads, levels=tuple(arrays.levels), level_of_edge=arrays.level_of_edge
    )
    return arrays, objects, (np.arange(size) % 7 < 3).astype(np.int32)


@pytest.mark.long
@pytest.mark.parametrize("fixed", [False, True])
def test_arrays_design_what_objects_design(fixed: bool) -> None:
    arrays, objects, truth = many_levels()
    assert isinstance(arrays.levels, PlainLevels)
    assert isinstance(objects.levels, tuple)
    given = {"5": {"yes": "0.55", "no": "0.45"}} if fixed else None
    found = [odp.design(graph, truth, fixed=given, exact=False) for graph in (arrays, objects)]
    mechanisms = [one.mechanism for one in found]
    assert mechanisms[0] is not None
    assert mechanisms[1] is not None
    assert np.abs(mechanisms[0].to_array() - mechanisms[1].to_array()).max() < 1e-11
    assert found[0].claim == found[1].claim == "fair"
    assert repr(found[0]) == repr(found[1])
    # What was designed with the arrays keeps the promises of the objects, which rationals decide.
    assert verify(Mechanism(objects, found[0].problem.preferences, mechanisms[0].rows)).private
    again = odp.Design.from_json(found[0].to_json())
    assert again.claim == "fair"


def test_a_broken_mechanism_is_found_among_arrays() -> None:
    arrays, _, truth = many_levels()
    found = odp.design(arrays, truth, exact=False)
    assert found.mechanism is not None
    sides = found.mechanism.rows.sides.copy()  # type: ignore[union-attr]
    sides[7] = -abs(sides[7]) / 1000
    rows = type(found.mechanism.rows)(sides, found.mechanism.rows.favourites)  # type: ignore[union-attr, call-arg]
    assert not verify(Mechanism(arrays, found.problem.preferences, rows)).private


@pytest.mark.long
def test_a_metric_of_random_points() -> None:
    points = np.random.default_rng(4).uniform(0, 3, (60, 2))
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    graph = odp.graphs.metric(apart)
    assert isinstance(graph.levels, PlainLevels)
    found = odp.design(graph, (points[:, 0] > 1.5).astype(np.int32), exact=False)
    assert found.claim == "fair"
    exact = odp.design(graph, (points[:, 0] > 1.5).astype(np.int32))
    assert exact.proof == "exact"
    assert np.abs(found.mechanism.to_array() - exact.mechanism.to_array()).max() < 1e-11  # type: ignore[union-attr]
    apart[3, 5] = apart[5, 3] = 9.0
    with pytest.raises(GraphError, match="triangle inequality"):
        odp.graphs.metric(apart)


def test_what_a_graph_says_of_its_levels() -> None:
    arrays, _, _ = many_levels(600)
    assert arrays.level_words == f"{len(arrays.levels)} levels"
    assert len(arrays.edges()) == arrays.edge_count


def test_thousands_of_level_objects_become_arrays() -> None:
    rng = np.random.default_rng(3)
    epsilons = [round(float(e), 6) for e in rng.uniform(0.1, 2, 1500)]
    names = [str(v) for v in range(1501)]
    objects = [level(e, "0.01" if e < 1 else 0) for e in epsilons]
    edges = [(names[v], names[v + 1], one) for v, one in enumerate(objects)]
    graph = DatasetGraph.from_edges(names, edges)
    assert isinstance(graph.levels, PlainLevels)
    assert [one for *_, one in graph.edges()] == objects
    # A level that is no decimal of a float keeps all of them as they are.
    exact = DatasetGraph.from_edges(names, [*edges[:-1], (*edges[-1][:2], level("ln(2)"))])
    assert not isinstance(exact.levels, PlainLevels)
    assert exact.edges()[-1][2] == level("ln(2)")
