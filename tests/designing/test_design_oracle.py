"""No disagreement with a linear program on small random graphs, up to 8 datasets and 4 answers."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import TOLERANCE, Oracle

from optimaldp.designing import Status, solve
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.privacy import level

LEVELS = [level(f"ln({r})", d) for r in ("1", "11/10", "3/2", "2", "3") for d in ("0", "0", "1/20", "1/10")]


@st.composite
def problems(draw: st.DrawFn, answers: int, most: int) -> Problem:
    count = draw(st.integers(2, most))
    names = [str(i) for i in range(count)]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[:i]]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=min(len(pairs), count + 3)))
    few = draw(st.lists(st.sampled_from(LEVELS), min_size=1, max_size=2))
    graph = DatasetGraph.from_edges(names, [(a, b, draw(st.sampled_from(few))) for a, b in edges])
    orders = list(permutations([f"a{k}" for k in range(answers)]))[: 2 if answers == 2 else 6]
    wanted = {name: draw(st.sampled_from(orders)) for name in names}
    preferences = Preferences.read(graph, wanted, [f"a{k}" for k in range(answers)])
    base = draw(st.lists(st.integers(1, 6), min_size=answers, max_size=answers))
    fixed = {}
    for vertex in range(count):
        if draw(st.booleans()):
            parts = [b + draw(st.integers(0, 2)) for b in base]
            fixed[vertex] = tuple(Fraction(p, sum(parts)) for p in parts)
    return Problem(graph, preferences, fixed)


def agree(problem: Problem) -> None:
    status, maxima = Oracle(problem).decide()
    found = solve(problem)
    assert found.status == status, (found.route, found.witness)
    if found.status is Status.OPTIMAL:
        assert maxima is not None
        assert found.mechanism is not None
        sums = [s for v in range(len(problem.graph)) for s in found.mechanism.prefix_sums(v)[:-1]]
        assert max(abs(float(a) - b) for a, b in zip(sums, maxima)) <= TOLERANCE
        assert found.certificate is not None
        verdict = found.certificate.check()
        assert (verdict.private, verdict.optimal) == (True, True)


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(problems(2, 8))
def test_two_answers(problem: Problem) -> None:
    agree(problem)


@pytest.mark.long
@settings(max_examples=50, deadline=None)
@given(problems(3, 6))
def test_three_answers(problem: Problem) -> None:
    agree(problem)


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(problems(4, 5))
def test_four_answers(problem: Problem) -> None:
    agree(problem)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(problems(2, 8))
def test_the_fast_route_decides_the_same(problem: Problem) -> None:
    exact = solve(problem, exact=True)
    try:
        fast = solve(problem, exact=False)
    except ProblemError as error:
        assert "no room for rounding" in str(error)  # noqa: PT017
        return
    assert fast.status == exact.status
    if fast.status is Status.OPTIMAL:
        assert fast.mechanism is not None
        assert exact.mechanism is not None
        assert np.abs(fast.mechanism.to_array() - exact.mechanism.to_array()).max() < 1e-8
