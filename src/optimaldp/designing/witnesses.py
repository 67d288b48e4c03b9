"""Proofs of impossibility: multipliers that show why nothing private has the given values, or why nothing is greatest.

A path along which given values exclude each other is a chain of promises; the multipliers are the slopes of the steps, from its
end back to its start. Two answers that clash on one edge need that edge alone. Everything else comes from a linear program.
The referee examines each proof before it is handed out (:func:`optimaldp.certify.graphs.duals.examine_impossibility`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from optimaldp.certify.graphs.duals import examine_impossibility
from optimaldp.designing.outcome import Outcome, Status
from optimaldp.designing.propagation import Propagator
from optimaldp.designing.impossible import is_linear
from optimaldp.designing.rational import round_down
from optimaldp.graphs import crossing_edges
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.certificate import Event, EventConstraint, Multiplier
from optimaldp.mechanisms.multipliers import INFEASIBLE, NO_OPTIMUM, Impossibility, impossibility_document
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, Bound

Given = Mapping[int, Row]

UNPROVEN = "no certificate: a Gaussian level or an infinite epsilon is no linear inequality"
_BITS = 192  # of an irrational e^epsilon from above, as the referee has it
_KEPT_BITS = 128  # of a multiplier: no equation has to hold
_LONGEST = 4096  # bits of a value on a path
MOST_STORED = 5000  # datasets of a mechanism that is stored in a witness


def with_proof(problem: Problem, outcome: Outcome) -> Outcome:
    """The same outcome; its witness holds a proof that the referee accepts, or says why there is none."""
    if outcome.status not in (Status.INFEASIBLE, Status.NO_OPTIMUM):
        return outcome
    if not is_linear(problem):
        return replace(outcome, witness={**outcome.witness, "certificate": UNPROVEN})
    given = problem.given_rows()
    proof = _proof(problem, given, outcome)
    if proof is None or not examine_impossibility(problem, proof).proven:
        return replace(outcome, witness={**outcome.witness, "certificate": "no certificate was found"})
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
