"""What cannot be: answers that nobody may give, given values that nothing private has, optima that do not exist."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from optimaldp.certify.graphs.duals import examine_impossibility
from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.result import Outcome, Status
from optimaldp.designing.steps import Propagator, round_down
from optimaldp.graphs import crossing_edges
from optimaldp.graphs.dataset_graph import PlainLevels
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import (
    INFEASIBLE,
    NO_OPTIMUM,
    Event,
    EventConstraint,
    Impossibility,
    Multiplier,
    impossibility_document,
)
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound, GaussianDP, Level
from optimaldp.programs.linear import Terms

# What must never be answered: where linear constraints alone say too little.
#
# An edge of infinite epsilon promises only this: what one end never answers, the other answers with probability delta at
# most. A Gaussian level promises the same with delta 0, where its tangents, which are finitely many, allow a hair. Which
# answers are impossible at a dataset follows from the program itself: those whose maximum is 0. All others can be possible
# together (a mean of mechanisms is one), so no other support matters, but then a maximum may be approached without being
# attained.


UNATTAINED = "where epsilon is infinite every probability below 1 is allowed, but 1 itself is not, so nothing is best"
_FLOAT_ZERO = 1e-9  # a maximum in floating point that is taken for 0
_LARGEST_EPSILON = 45  # where e^epsilon is longer than that, what is rounded is no longer small beside a probability


def is_linear(problem: Problem) -> bool:
    """Whether every promise is a linear inequality of moderate size: no Gaussian level, no infinite or huge epsilon."""
    levels = problem.graph.levels
    if isinstance(levels, PlainLevels):
        return bool((levels.epsilon <= _LARGEST_EPSILON).all())
    return all(isinstance(level, ApproximateDP) and not any(map(is_endless, level.bounds)) for level in levels)


def is_endless(bound: Bound) -> bool:
    """Whether a promise is infinite, or so large that it is no inequality of moderate size."""
    return bound.epsilon.infinite or bound.epsilon.ceiling > _LARGEST_EPSILON


def forbid_impossible(program: EventProgram) -> str | None:
    """Add what impossible answers forbid to their neighbours; the reason if a given value is forbidden by that."""
    problem = program.problem
    arcs = [(u, v, delta) for u, v, delta in _support_arcs(problem) if not (u in problem.fixed and v in problem.fixed)]
    tails = {u for u, _, _ in arcs}
    if all(min(row) > 0 for row in problem.fixed.values()):
        return None  # what is possible everywhere that is given can be possible everywhere
    if program.tangential:
        _forbid_along_paths(program)
    while arcs:
        never = _never_answered(program, tails)
        if never is None:
            return None  # infeasible anyway: the program itself says so
        changed = False
        for u, v, delta in arcs:
            event = never[u]
            if not event:
                continue
            if v not in problem.fixed:
                changed |= program.forbid(v, event, delta)
            elif sum((problem.fixed[v][a] for a in event), Fraction(0)) > delta:
                names, answers = problem.graph.names, [problem.answers[a] for a in event]
                return f"{names[u]} can never answer {' or '.join(answers)}, so that its neighbour {names[v]} may not either"
        if not changed:
            return None
    return None


def _forbid_along_paths(program: EventProgram) -> None:
    """What a given dataset never answers, nobody answers whom steps with ``F(0) = 0`` reach from it.

    Tangents allow a hair of it, so that without this the program would have no interior.
    """
    problem, arcs = program.problem, program.problem.graph.arcs
    kept = [level.step(Fraction(0)) == 0 for level in problem.graph.arc_levels]
    for answer in range(len(problem.answers)):
        stack = [v for v, row in problem.fixed.items() if row[answer] == 0]
        reached = set(stack)
        while stack:
            u = stack.pop()
            for arc in range(int(arcs.first[u]), int(arcs.first[u + 1])):
                v = int(arcs.heads[arc])
                if kept[int(arcs.levels[arc])] and v not in reached and v not in problem.fixed:
                    reached.add(v)
                    stack.append(v)
                    program.forbid(v, (answer,), Fraction(0))


def is_unattained(problem: Problem, rows: list[Row], *, exact: bool) -> bool:
    """Whether rows that attain every maximum break an infinite epsilon, so that they are approached but not attained."""
    nothing, hair = (0.0, 0.0) if exact else (_FLOAT_ZERO, 1e-7)
    for tail, head, delta in _support_arcs(problem, gaussian=False):
        never = [a for a, p in enumerate(rows[tail]) if p <= nothing]
        if sum((rows[head][a] for a in never), Fraction(0)) > delta + Fraction(hair):
            return True
    return False


def _support_arcs(problem: Problem, *, gaussian: bool = True) -> list[tuple[int, int, Fraction]]:
    """``(tail, head, delta)``: what the tail never answers, the head answers with probability delta at most."""
    graph = problem.graph
    deltas: dict[tuple[int, int], Fraction] = {}
    for u, v, k in zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist()):
        for tail, head, level in ((u, v, graph.levels[k]), (v, u, graph.levels[k].reversed())):
            delta = _support_delta(level) if gaussian or not isinstance(level, GaussianDP) else None
            if delta is not None and delta < deltas.get((tail, head), Fraction(1)):
                deltas[tail, head] = delta
    return [(tail, head, delta) for (tail, head), delta in deltas.items()]


def _support_delta(level: Level) -> Fraction | None:
    if isinstance(level, GaussianDP):
        return Fraction(0)
    assert isinstance(level, ApproximateDP)
    return min((bound.delta for bound in level.forward if bound.epsilon.infinite), default=None)


def _never_answered(program: EventProgram, vertices: set[int]) -> dict[int, tuple[int, ...]] | None:
    """For each of these datasets the answers that are impossible there; ``None`` if nothing is feasible."""
    problem, answers = program.problem, range(len(program.problem.answers))
    never = {v: tuple(a for a in answers if problem.fixed[v][a] == 0) for v in vertices if v in problem.fixed}
    doubtful = [(v, a) for v in vertices if v not in problem.fixed for a in answers]
    while doubtful:
        objective: Terms = program.sum_of((v, (a,)) for v, a in doubtful)
        best = program.maximise(objective)
        if best is None:
            return None
        rows = program.rows(best.point)
        still = [(v, a) for v, a in doubtful if rows[v][a] <= (0 if best.exact else _FLOAT_ZERO)]
        if len(still) == len(doubtful):
            break
        doubtful = still
    for v in vertices:
        if v not in problem.fixed:
            never[v] = tuple(a for u, a in doubtful if u == v)
    return never


# Proofs of impossibility: multipliers that show why nothing private has the given values, or why nothing is greatest.
#
# A path along which given values exclude each other is a chain of promises; the multipliers are the slopes of the steps, from its
# end back to its start. Two answers that clash on one edge need that edge alone. Everything else comes from a linear program.
# The referee examines each proof before it is handed out (:func:`optimaldp.certify.graphs.duals.examine_impossibility`).


Given = Mapping[int, Row]

UNPROVEN = "no certificate: a Gaussian level or an infinite epsilon is no linear inequality"
_BITS = 192  # of an irrational e^epsilon from above, as the referee has it
_KEPT_BITS = 128  # of a multiplier: no equation has to hold
_LONGEST = 4096  # bits of a value on a path
MOST_STORED = 20_000  # datasets of a mechanism that is stored in a witness: seconds, and some twenty megabytes of text
UNSTORED = (
    f"no certificate: it would hold two mechanisms, and those of more than {MOST_STORED:,} datasets are not stored; design the "
    "datasets around the conflict by themselves to have it proven"
)


def with_proof(problem: Problem, outcome: Outcome) -> Outcome:
    """The same outcome; its witness holds a proof that the referee accepts, or says why there is none."""
    if outcome.status not in (Status.INFEASIBLE, Status.NO_OPTIMUM):
        return outcome
    if not is_linear(problem):
        return replace(outcome, witness={**outcome.witness, "certificate": UNPROVEN})
    given = problem.given_rows()
    proof = _proof(problem, given, outcome)
    if proof is None or not examine_impossibility(problem, proof).proven:
        unstored = outcome.status is Status.NO_OPTIMUM and len(problem.graph) > MOST_STORED
        why = UNSTORED if unstored else "no certificate was found"
        return replace(outcome, witness={**outcome.witness, "certificate": why})
    return replace(outcome, witness={**outcome.witness, **impossibility_document(proof, problem)}, exact=True)


def _proof(problem: Problem, given: Given, outcome: Outcome) -> Impossibility | None:
    if outcome.impossibility is not None:
        return outcome.impossibility
    if outcome.status is Status.INFEASIBLE:
        return _path_proof(problem, given, outcome.witness)
    return _clash_proof(problem, given) if len(problem.answers) == 2 and len(problem.graph) <= MOST_STORED else None


# A path of given values.


def _path_proof(problem: Problem, given: Given, witness: Mapping[str, Any]) -> Impossibility | None:
    """The path of a witness as multipliers; the event is what it names, or the single answer that proves most."""
    if "path" not in witness:
        return None
    path = [problem.graph.number(name) for name in witness["path"]]
    if not {path[0], path[-1]} <= set(given):
        return None
    answers = witness.get("answers")
    named = None if answers is None else tuple(sorted(problem.answers.index(a) for a in answers))
    for event in [(a,) for a in range(len(problem.answers))] if named is None else [named]:
        proof = Impossibility(INFEASIBLE, _along(problem, given, path, event))
        if examine_impossibility(problem, proof).proven:
            return proof
    return None


def _along(problem: Problem, given: Given, path: Sequence[int], event: Event) -> tuple[Multiplier, ...]:
    """At each step the promise that bounds the event most, times the slopes of all later steps."""
    rest = tuple(a for a in range(len(problem.answers)) if a not in event)
    value = sum((given[path[0]][a] for a in event), Fraction(0))
    steps: list[tuple[EventConstraint, Fraction]] = []
    for here, there in pairwise(path):
        value, constraint, slope = min(
            [
                *_ahead(problem, here, there, value, event),
                *_back(problem, here, there, value, rest),
            ],
            key=lambda step: step[0],
        )
        value = value if value.denominator.bit_length() <= _LONGEST else value.limit_denominator(10**400)
        steps.append((constraint, slope))
    multipliers: list[Multiplier] = []
    weight = Fraction(1)
    for constraint, slope in reversed(steps):
        # A promise back is an inequality of the complement, and counts by its slope already.
        multipliers.append(
            (constraint, weight if constraint.event == event else round_down(weight * slope, _KEPT_BITS))
        )
        weight = round_down(weight * slope, _KEPT_BITS)
    return tuple(reversed(multipliers))


_Step = tuple[Fraction, EventConstraint, Fraction]  # what is reached, by which promise, and the slope


def _ahead(problem: Problem, here: int, there: int, value: Fraction, event: Event) -> list[_Step]:
    steps = []
    for bound in _promises(problem, here, there):
        ratio = bound.epsilon.ratio_above(bits=_BITS)
        steps.append((ratio * value + bound.delta, EventConstraint(here, there, event, bound), ratio))
    return steps


def _back(problem: Problem, here: int, there: int, value: Fraction, rest: Event) -> list[_Step]:
    steps = []
    for bound in _promises(problem, there, here):
        ratio = bound.epsilon.ratio_above(bits=_BITS)
        reached = 1 - (1 - value - bound.delta) / ratio
        steps.append((reached, EventConstraint(there, here, rest, bound), 1 / ratio))
    return steps


def _promises(problem: Problem, tail: int, head: int) -> list[Bound]:
    arcs, levels = problem.graph.arcs, problem.graph.arc_levels
    bounds: list[Bound] = []
    for arc in range(int(arcs.first[tail]), int(arcs.first[tail + 1])):
        level = levels[int(arcs.levels[arc])]
        if arcs.heads[arc] == head and isinstance(level, ApproximateDP):
            bounds += level.forward
    return bounds


# Two answers that clash on an edge.


def _clash_proof(problem: Problem, given: Given) -> Impossibility | None:
    """Everybody at the most for one answer is private, and so is everybody at the most for the other; an edge excludes both.

    ``c P_u(S) + d >= P_v(S)`` with ``P_u(S) = 1 - P_u(own answer of u)`` bounds ``c`` times the one wish and the other.
    """
    propagator = Propagator(problem.graph)
    most = [propagator.bounds({v: row[a] for v, row in given.items()}).values for a in (0, 1)]
    rows = tuple(tuple((p, 1 - p) if answer == 0 else (1 - p, p) for p in most[answer]) for answer in (0, 1))
    graph, favourites = problem.graph, problem.preferences.favourites.tolist()
    for edge in np.flatnonzero(crossing_edges(graph, problem.preferences)).tolist():
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        for tail, head in ((u, v), (v, u)):
            event = (favourites[head],)
            for bound in _promises(problem, tail, head):
                ratio = bound.epsilon.ratio_above(bits=_BITS)
                if ratio * (1 - most[favourites[tail]][tail]) + bound.delta < most[favourites[head]][head]:
                    wanted = ((tail, 1, ratio), (head, 1, Fraction(1)))
                    multiplier = EventConstraint(tail, head, event, bound), Fraction(1)
                    return Impossibility(NO_OPTIMUM, (multiplier,), rows, wanted)
    return None


def lifted(proof: Impossibility, vertices: Sequence[int], rows: Sequence[Row]) -> Impossibility | None:
    """The proof of a part by the numbers of the whole; *rows* are what all other datasets have."""
    if len(rows) > MOST_STORED and proof.mechanisms:
        return None
    multipliers = tuple(
        (replace(constraint, tail=vertices[constraint.tail], head=vertices[constraint.head]), times)
        for constraint, times in proof.multipliers
    )
    mechanisms = []
    for part in proof.mechanisms:
        whole = list(rows)
        for vertex, row in zip(vertices, part):
            whole[vertex] = row
        mechanisms.append(tuple(whole))
    wanted = tuple((vertices[v], k, times) for v, k, times in proof.wanted)
    return Impossibility(proof.kind, multipliers, tuple(mechanisms), wanted)
