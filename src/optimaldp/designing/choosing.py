"""Choosing more than the rules do: the best boundary for a prior, a better interior, a lexicographic optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from optimaldp.certify.graphs.privacy import is_private
from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.impossibility import UNATTAINED, UNPROVEN, forbid_impossible
from optimaldp.designing.many import free_prefixes
from optimaldp.designing.raised import Wish, design_raised, weighing_certificate, with_chosen_boundary
from optimaldp.designing.result import Design, Outcome, Route, Status
from optimaldp.designing.solving import passed, solve
from optimaldp.designing.steps import repaired
from optimaldp.designing.two_answers import given_boundary
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences, boundary, boundary_graph
from optimaldp.graphs.problem import BALANCED, FAIR, RAISED, Problem
from optimaldp.mechanisms import Claimed, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import Weighing
from optimaldp.privacy.numbers import read_number, shown_text
from optimaldp.programs.linear import Terms


def choose_boundary(
    graph: DatasetGraph,
    truth: Any,
    *,
    prior: Mapping[str, Any] | None = None,
    values: Sequence[Any] = (1,),
    answers: Sequence[str] | None = None,
) -> Design:
    """The private mechanism with the largest expected value.

    *graph*, *truth* and *answers* as in :func:`~optimaldp.designing.design`.

    *values* are what the 1st, 2nd, ... most wanted answers are worth (non-increasing; missing ones are worth 0); *prior* weighs
    the datasets (equally if left out). **Guarantee.** No private mechanism has a larger expected value (up to rounding, where
    ``gap`` is not 0), and nothing dominates the result; ``witness`` has the value. Where the datasets have more than 1,500
    classes at one level, and with a Gaussian level, only mechanisms are compared that are constant on the boundary of each
    region, and ``witness`` says so.

    >>> from optimaldp import graphs
    >>> best = choose_boundary(graphs.line(3, level="ln(2)"), {"0": "a", "1": "b", "2": "b"}, prior={"0": 2, "1": 1, "2": 1})
    >>> best.witness["expected"], best.mechanism["2"]["b"]
    ('17/6', Fraction(5, 6))
    """
    preferences = truth if isinstance(truth, Preferences) else Preferences.read(graph, truth, answers)
    worth = _read_values(values, len(preferences.answers))
    masses = _read_prior(graph, prior)
    problem = Problem(graph, preferences)
    wish = Wish(tuple(masses), tuple(a - b for a, b in pairwise(worth)))
    outcome = design_raised(problem, wish)
    among = "the private mechanisms"
    if outcome is not None:
        found = passed(problem, outcome)
        among += "" if outcome.status is Status.OPTIMAL else " that treat the datasets of each class alike"
    else:
        found = _best_on_boundary(problem, masses, worth)
        among += " that are constant on the boundary of each region"
    if found.mechanism is None:
        return found
    expected = sum(
        (mass * _worth_of(found.mechanism, v, worth) for v, mass in enumerate(masses) if mass > 0), Fraction(0)
    )
    among += ", up to rounding" if found.gap else ""
    said = {"reason": f"the largest expected value among {among}", "expected": shown_text(expected)}
    return replace(found, witness=said)


def _worth_of(mechanism: Mechanism, vertex: int, worth: Sequence[Fraction]) -> Fraction:
    row = mechanism.rows.row(vertex)
    order = mechanism.preferences.order(vertex)
    return sum((row[answer] * value for answer, value in zip(order, worth)), Fraction(0))


def _best_on_boundary(problem: Problem, masses: Sequence[Fraction], worth: Sequence[Fraction]) -> Design:
    """A linear program on the boundary graph chooses the rows of the boundary; its interior comes out as the closed form."""
    graph, preferences = problem.graph, problem.preferences
    chains = boundary_graph(graph, preferences)
    program = EventProgram(Problem(chains.graph, chains.preferences))
    weights = [Fraction(0)] * len(chains.graph)
    for image, mass in zip(chains.morphism.of.tolist(), masses):
        weights[image] += mass
    objective: Terms = {}
    for vertex, weight in enumerate(weights):
        for k, answer in enumerate(chains.preferences.order(vertex)):
            for j, c in program.prefix(vertex, (answer,))[0].items():
                objective[j] = c * weight * worth[k]
    best = program.maximise(objective)
    assert best is not None, "the uniform mechanism is always private"
    rows = program.rows(best.point)
    if not best.exact:
        rows = repaired(program.problem, rows, program.interior)
    heads = {int(chains.order[v]): rows[v] for v in chains.heads.tolist()}
    fixed = {int(v): heads[int(preferences.of[v])] for v in np.flatnonzero(boundary(graph, preferences)).tolist()}
    return solve(Problem(graph, preferences, fixed))


def _read_values(values: Sequence[Any], answers: int) -> list[Fraction]:
    worth = [read_number(value, name="values", error=ProblemError) for value in values]
    worth += [Fraction(0)] * (answers - len(worth))
    if len(worth) > answers or any(b > a for a, b in pairwise(worth)):
        raise ProblemError("values", list(map(str, values)), "must not increase along the preference")
    return worth


def _read_prior(graph: DatasetGraph, prior: Mapping[str, Any] | None) -> list[Fraction]:
    """The mass of each dataset."""
    if prior is None:
        return [Fraction(1)] * len(graph)
    masses = [Fraction(0)] * len(graph)
    for name, given in prior.items():
        if name not in graph.numbers:
            raise ProblemError("prior", name, "is not a dataset of this graph")
        mass = read_number(given, name=f"prior[{name}]", error=ProblemError)
        if mass < 0:
            raise ProblemError(f"prior[{name}]", given, "is negative", "weights are 0 or more")
        masses[graph.number(name)] = mass
    return masses


def boost(mechanism: Mechanism, *, first: str | None = None) -> Design:
    """Raise a private mechanism of your own: the result dominates it.

    Two answers: the datasets whose true answer is *first* (left out: the first of the answers) take the most that the others
    allow, then the others take the most that the raised ones allow. Nothing private dominates the result. The order matters,
    and ``witness`` says it. More answers: the boundary stays, and the interior becomes the best one for it.

    >>> from optimaldp import graphs
    >>> rows = {name: {"a": "1/2", "b": "1/2"} for name in ("0", "1")}
    >>> coin = Mechanism.read(graphs.line(2, level="ln(2)"), {"0": "a", "1": "b"}, rows)
    >>> raised = boost(coin, first="b")
    >>> raised.mechanism["0"]["a"], raised.mechanism["1"]["b"], raised.witness["order"]
    (Fraction(1, 2), Fraction(3, 4), ['b', 'a'])
    """
    if len(mechanism.answers) == 2:
        return _raise_in_turn(mechanism, mechanism.answers[0] if first is None else first)
    edge = boundary(mechanism.graph, mechanism.preferences)
    fixed = {int(v): mechanism.rows.row(int(v)) for v in np.flatnonzero(edge).tolist()}
    return solve(Problem(mechanism.graph, mechanism.preferences, fixed))


def _raise_in_turn(mechanism: Mechanism, first: str) -> Design:
    """Raise the datasets of one true answer, then those of the other; each time the rows of the other side are fixed."""
    if first not in mechanism.answers:
        raise ProblemError("first", first, f"is not one of the answers {list(mechanism.answers)}")
    if not is_private(mechanism):
        raise ProblemError("mechanism", "given", "is not private", "raise one that keeps its promises")
    favourites, answer = mechanism.preferences.favourites, mechanism.answers.index(first)
    order = [first, mechanism.answers[1 - answer]]
    found: Design | None = None
    for raised in (answer, 1 - answer):
        fixed = {v: mechanism.rows.row(v) for v in np.flatnonzero(favourites != raised).tolist()}
        found = solve(Problem(mechanism.graph, mechanism.preferences, fixed))
        if found.mechanism is None:
            return found
        mechanism = found.mechanism
    assert found is not None
    said = f"datasets whose true answer is {order[0]} were raised first, then those of {order[1]}"
    return replace(found, witness={"reason": said, "order": order})


def _with_boundary_fixed(problem: Problem) -> Problem:
    """The same problem with the rows that its rule chooses as given values of the boundary."""
    if problem.boundary is None:
        return problem
    edge = boundary(problem.graph, problem.preferences)
    if problem.boundary in (FAIR, RAISED) or (problem.boundary == BALANCED and len(problem.answers) == 2):
        best = solve(problem)
        assert best.mechanism is not None
        rows = {v: best.mechanism.rows.row(v) for v in np.flatnonzero(edge).tolist()}
        return Problem(problem.graph, problem.preferences, rows)
    chosen = given_boundary(with_chosen_boundary(problem), edge)
    assert chosen is not None
    fixed = {v: chosen[int(problem.preferences.of[v])] for v in np.flatnonzero(edge).tolist()}
    return Problem(problem.graph, problem.preferences, fixed)


def _undecided(program: EventProgram) -> ProblemError:
    """Why a program was not decided exactly."""
    if program.tangential:
        return ProblemError(
            "privacy", "a Gaussian level", "is decided in floating point, and a lexicographic optimum needs exact maxima",
            "use (epsilon, delta)",
        )  # fmt: skip
    return ProblemError(
        "problem", f"{program.columns} probabilities", "are too many to be decided exactly", "fix more datasets"
    )


def lexicographic(problem: Problem) -> Design:
    """Maximise the first prefix sums, then the second, and so on: a weaker wish than dominance, met more often.

    Status ``optimal`` here means: among private mechanisms with the given values, each dataset has the largest first prefix
    sum, and among those that attain these the largest second one, and so on. It may exist where no optimum does (001
    section 6.3). Nothing dominates it, which its certificate proves; without one, what :func:`solve` says of the problem.

    >>> from optimaldp import graphs
    >>> orders = {"0": ["a", "b", "c"], "1": ["b", "c", "a"], "2": ["b", "c", "a"]}
    >>> problem = Problem(graph := graphs.line(3, level="ln(2)"), Preferences.read(graph, orders, "abc"), {}, "raised")
    >>> lexicographic(problem).claim
    <Claimed.UNDOMINATED: 'undominated'>
    """
    problem = _with_boundary_fixed(problem)
    if not free_prefixes(problem):  # the boundary is everything: nothing is left to choose
        return solve(problem)
    program = EventProgram(problem)
    if forbid_impossible(program) is not None:
        return solve(problem)
    kept: dict[tuple[int, int], int] = {}  # dataset and k -> the constraint that keeps what its prefix sum has
    for k in range(1, len(problem.answers)):
        stage = [p for p in free_prefixes(problem) if len(p.event) == k]
        best = program.maximise(program.sum_of((p.vertex, p.event) for p in stage))
        if best is None:
            return solve(problem)
        if not best.exact:
            raise _undecided(program)
        rows, largest = program.rows(best.point), list[tuple[tuple[int, int], Terms, Fraction]]()
        for prefix in stage:
            value = sum((rows[prefix.vertex][a] for a in prefix.event), Fraction(0))
            objective = program.prefix(prefix.vertex, prefix.event)[0]
            single = program.maximise(objective)
            assert single is not None
            if single.value > value:
                name = problem.graph.names[prefix.vertex]
                reason = f"{name} could have {single.value} for its {k} most wanted answers, but not with the others"
                none = solve(problem)
                return replace(none, witness={**none.witness, "reason": reason})
            largest.append(((prefix.vertex, k), objective, value))
        # Not before all were compared: one that is kept already would lower the maximum of the next.
        kept |= {which: program.require_terms(objective, value) for which, objective, value in largest}
    return _nothing_dominates(problem, program, kept)


def _nothing_dominates(problem: Problem, program: EventProgram, kept: Mapping[tuple[int, int], int]) -> Design:
    """The lexicographic optimum with its proof: the sum of all prefix sums, each of which has its largest value."""
    best = program.maximise(program.sum_of((p.vertex, p.event) for p in free_prefixes(problem)))
    assert best is not None
    rows = SharedRows.from_rows(program.rows(best.point))
    mechanism = Mechanism(problem.graph, problem.preferences, rows)
    said = {"reason": "the largest first prefix sums, among those the largest second ones, and so on"}
    if not is_private(mechanism):
        none = solve(problem)
        return replace(none, witness={**none.witness, "reason": UNATTAINED})
    if program.forbids:
        unproven = {**said, "certificate": UNPROVEN}
        return Design(
            problem, Status.OPTIMAL, Route.LINEAR_PROGRAM, mechanism, None, unproven, claim=Claimed.UNDOMINATED
        )
    weights = {prefix: 1 + best.multipliers.get(index, Fraction(0)) for prefix, index in kept.items()}
    weighing = Weighing(weights, program.promise_multipliers(best))
    outcome = Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, rows, weighing_certificate(problem, weighing))
    return replace(passed(problem, outcome), witness=said)
