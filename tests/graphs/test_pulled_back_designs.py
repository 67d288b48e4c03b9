"""Optima pulled back along quotients and boundary morphisms are the optima of the larger graph (000 and 001, Theorem 3)."""

from __future__ import annotations

import pytest

import optimaldp as odp
from optimaldp.graphs import (
    Preferences,
    boundary_graph,
    counts,
    majority,
    majority_of_participants,
    participation,
    votes,
)

LEVEL = ("ln(2)", "1/50")


@pytest.mark.parametrize("persons", [3, 4, 6])
def test_counting_votes_loses_nothing(persons):
    onto = counts(votes(persons, level=LEVEL))
    small = odp.design(onto.target, truth=lambda name: 2 * int(name) > persons, boundary="balanced")
    large = odp.design(onto.source, truth=majority, boundary="balanced")
    pulled = onto.pull_back(small.mechanism)
    assert small.status == large.status == "optimal"
    assert all(row == large.mechanism.row(name) for name, row in pulled.rows())


def test_the_boundary_graph_has_the_optimum_of_participation():
    """000, Fig. 1b: the (2, 2)-line of Fig. 1c serves both voting and participation."""
    graph = participation(3, level=LEVEL)
    truth = majority_of_participants({"1": "yes", "2": "yes", "3": "no"})
    small = boundary_graph(graph, Preferences.read(graph, truth))
    wanted = {name: small.preferences.words(v)[0] for v, name in enumerate(small.graph.names)}
    pulled = small.morphism.pull_back(odp.design(small.graph, truth=wanted.get, boundary="balanced").mechanism)
    large = odp.design(graph, truth=truth, boundary="balanced").mechanism
    assert all(row == large.row(name) for name, row in pulled.rows())
