"""Gaussian levels with three answers and more: tangents decide where paths do not, and nothing is refused."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from mixed_problems import MixedOracle, contradiction, random_problem, random_row

import optimaldp as odp
from optimaldp.certify.core.closeness import within_gaussian
from optimaldp.designing import Status, design, event_program, solve
from optimaldp.designing.event_program import CurvedProgram
from optimaldp.designing.two_answers import touching_value
from optimaldp.graphs import DatasetGraph, Preferences, clique
from optimaldp.graphs.problem import Problem
from optimaldp.privacy import level

ALL = 100
CURVED = (20071, 21138)  # mixed problems with a maximum on a curved face: by tangents alone they took minutes
MANY_PROGRAMS = 300
NOT_BY_PATHS = (0, 5, 39)  # seeds whose bounds along paths exclude each other


def random_path(seed: int) -> Problem:
    """Three to seven datasets in a row with one or two Gaussian levels, some of them given."""
    rng = random.Random(seed)
    size = rng.randint(3, 7)
    few = [level(mu=mu) for mu in rng.sample(["0.5", "1", "1/3", "2", "0.7"], rng.choice([1, 2]))]
    edges = [(str(i), str(i + 1), rng.choice(few)) for i in range(size - 1)]
    graph = DatasetGraph.from_edges(map(str, range(size)), edges)
    orders = list({tuple(rng.sample(range(3), 3)) for _ in range(rng.choice([1, 2, 3]))})
    of = np.array([rng.randrange(len(orders)) for _ in range(size)], dtype=np.int32)
    base, fixed = random_row(rng, 3), {}
    for vertex in range(size):
        if rng.random() < 0.45:
            share = Fraction(rng.choice([0, 1, 1, 2]), 10)
            fixed[vertex] = tuple((1 - share) * a + share * b for a, b in zip(base, random_row(rng, 3)))
    return Problem(graph, Preferences(tuple("abc"), tuple(orders), of), fixed)


def _is_right(seed: int) -> None:
    problem = random_path(seed)
    found = solve(problem)
    assert contradiction(problem, found, MixedOracle(problem, problem.fixed)) == ""
    if found.mechanism is not None:
        assert odp.verify(found.mechanism).private


@pytest.mark.long
@pytest.mark.parametrize("seed", NOT_BY_PATHS)
def test_the_linear_program_decides_where_paths_do_not(seed):
    assert solve(random_path(seed)).route == "linear-program"
    _is_right(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(ALL))
def test_a_hundred_paths(seed):
    _is_right(seed)


@pytest.mark.parametrize("answers", [3, 4, 5])
def test_randomised_response_is_as_large_as_it_can_be(answers):
    top = touching_value(level(mu=1), answers)

    def close(t):
        rest = (1 - t) / (answers - 1)
        return within_gaussian((t, rest) + (rest,) * (answers - 2), (rest, t) + (rest,) * (answers - 2), Fraction(1))

    assert close(top)
    assert not close(top + Fraction(1, 10**12))


def test_a_balanced_boundary_at_a_gaussian_level_is_proven():
    graph, answers = clique(3), ["a", "b", "c"]
    wants = {name: answers[i:] + answers[:i] for i, name in enumerate(graph.names)}
    found = design(graph, wants, answers=answers, level=level(mu=1), boundary="balanced")
    assert found.status is Status.OPTIMAL
    assert found.verdict.optimal


def test_where_nothing_may_differ_the_rule_is_exact():
    """mu = 0 is epsilon 0: tangents in floats had no room there."""
    graph = DatasetGraph.from_edges("xy", [("x", "y", level(mu=0))])
    found = design(graph, {"x": "a", "y": "b"}, answers=["a", "b"], boundary="undominated")
    assert found.status is Status.OPTIMAL
    assert found.mechanism["x"] == found.mechanism["y"] == {"a": Fraction(1, 2), "b": Fraction(1, 2)}


def test_where_nothing_may_differ_the_linear_program_is_proven():
    """Beside finite epsilons mu = 0 is linear, and its promises stand in the proof (erratum R12 with its middle doubled)."""
    half = level("ln(2)")
    graph = DatasetGraph.from_edges("uvVw", [("u", "v", half), ("v", "V", level(mu=0)), ("V", "w", half)])
    given = {"u": {"1": "0.5", "2": "0.4", "3": "0.1"}, "w": {"1": "0.6", "2": "0.2", "3": "0.2"}}
    found = design(graph, dict.fromkeys("uvVw", ("1", "2", "3")), answers=["1", "2", "3"], fixed=given)
    assert found.route == "linear-program"
    assert found.status_line == "optimal with 2 given datasets, proven exactly"
    assert found.mechanism["v"] == {"1": Fraction(7, 10), "2": Fraction(1, 5), "3": Fraction(1, 10)}


@pytest.mark.long
@pytest.mark.parametrize("seed", CURVED)
def test_a_maximum_on_a_curved_face_needs_few_programs(seed, monkeypatch):
    problem, asked, solve_floats = random_problem(seed), [], event_program.solve_floats

    def counted(*arguments):
        asked.append(1)
        assert len(asked) < MANY_PROGRAMS
        return solve_floats(*arguments)

    monkeypatch.setattr(event_program, "solve_floats", counted)
    found = solve(problem)
    assert contradiction(problem, found, MixedOracle(problem, problem.fixed)) == ""
    assert found.status is Status.NO_OPTIMUM
    assert odp.verify(found.mechanism).private


def test_what_tangents_do_not_settle_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr(event_program, "_MOST_ROUNDS", event_program._PATIENCE)
    monkeypatch.setattr(event_program.EventProgram, "_settled", lambda self, objective: None)
    with pytest.raises(odp.errors.ProblemError, match="rounds of tangents did not settle where its maximum is"):
        solve(random_problem(CURVED[0]))


def test_a_hint_of_tangents_below_the_maximum_is_not_believed(monkeypatch):
    """The interior point method may say what it likes: what it leaves to its tangents decides."""
    monkeypatch.setattr(event_program, "_MOST_ROUNDS", event_program._PATIENCE)
    monkeypatch.setattr(CurvedProgram, "maximise", lambda self, objective, constraints, arcs, start: start)
    with pytest.raises(odp.errors.ProblemError, match="did not settle"):
        solve(random_problem(CURVED[0]))
