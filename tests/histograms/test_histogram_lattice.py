"""Lattice counts against enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, pairwise, product

import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st
from lattice_again import sphere_sizes

from optimaldp.errors import HistogramError
from optimaldp.histograms import ball_size, constraint_graph, distances_from, ehrhart_numerator, ehrhart_polynomial
from optimaldp.histograms.lattice import histogram_count, histograms, sphere_size


@pytest.mark.parametrize("case", vectors("channels_histograms", "coordination"), ids=lambda x: x["id"])
def test_coordination_sequences(case):
    bins, wanted = case["input"]["K"], case["expect"]["N"]
    assert [sphere_size(bins, d) for d in range(len(wanted))] == wanted
    assert list(islice(sphere_sizes(bins), len(wanted))) == wanted
    if "ehrhart" in case["expect"]:
        assert [ball_size(bins, d) for d in range(len(wanted))] == case["expect"]["ehrhart"]


@pytest.mark.parametrize("bins", [2, 3, 4, 5])
def test_spheres_by_enumeration(bins):
    reach = 4 if bins < 5 else 3
    found = [0] * (reach + 1)
    for head in product(range(-reach, reach + 1), repeat=bins - 1):
        distance = (sum(map(abs, head)) + abs(sum(head))) // 2
        if distance <= reach:
            found[distance] += 1
    assert found == [sphere_size(bins, d) for d in range(reach + 1)]


@settings(max_examples=50, deadline=None)
@given(bins=st.integers(2, 12), distance=st.integers(1, 60))
def test_sphere_is_the_difference_of_balls(bins, distance):
    assert sphere_size(bins, distance) == ball_size(bins, distance) - ball_size(bins, distance - 1)
    assert next(islice(sphere_sizes(bins), distance, None)) == sphere_size(bins, distance)
    assert sum(c * distance**i for i, c in enumerate(ehrhart_polynomial(bins))) == ball_size(bins, distance)


@pytest.mark.parametrize("bins", [2, 3, 5])
def test_ehrhart_series_has_denominator_to_the_power_of_bins(bins):
    """Ehr = S/(1-z)^K, not K-1 (erratum E14): multiply the series by (1-z)^K and get the numerator back."""
    series = [Fraction(ball_size(bins, d)) for d in range(bins + 6)]
    for _ in range(bins):
        series = [series[0]] + [b - a for a, b in pairwise(series)]
    assert [int(x) for x in series[:bins]] == list(ehrhart_numerator(bins))
    assert not any(series[bins:])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=4))
def test_distances_near_the_edge(histogram):
    persons = sum(histogram)
    found = [0] * (persons + 1)
    for other in histograms(len(histogram), persons):
        found[sum(abs(a - b) for a, b in zip(histogram, other)) // 2] += 1
    assert list(distances_from(histogram)) == found


def test_far_from_the_edge_nothing_is_missing():
    assert distances_from((9, 9, 9))[:8] == tuple(sphere_size(3, d) for d in range(8))
    assert distances_from((9, 9, 9))[10] < sphere_size(3, 10)


@pytest.mark.parametrize(("bins", "persons", "vertices", "edges"), [(3, 2, 6, 9), (2, 5, 6, 5), (4, 1, 4, 6)])
def test_constraint_graph(bins, persons, vertices, edges):
    graph = constraint_graph(bins, persons)
    assert (len(graph.vertices), len(graph.edges)) == (vertices, edges)
    assert histogram_count(bins, persons) == vertices
    for i, j in graph.edges:
        assert sum(abs(a - b) for a, b in zip(graph.vertices[i], graph.vertices[j])) == 2


@pytest.mark.parametrize("bins", [2, 3, 4])
def test_constraint_graph_is_drawn(bins):
    picture = constraint_graph(bins, 3).plot()
    assert picture.axes[0].get_title(loc="left").startswith("Privacy constraints")
    assert len(picture.axes[0].lines) == len(constraint_graph(bins, 3).edges)


def test_what_cannot_be_drawn():
    with pytest.raises(HistogramError, match="plane"):
        constraint_graph(5, 2).plot()
    with pytest.raises(HistogramError, match="fewer"):
        constraint_graph(6, 200)
    with pytest.raises(HistogramError, match="persons"):
        constraint_graph(3, 0)
