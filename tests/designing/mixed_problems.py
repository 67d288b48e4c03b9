"""Random small problems with levels of all kinds, and an oracle in floats that shares nothing with the designer.

Privacy of an arc is ``P_head(S) <= F(P_tail(S))`` for every event S, and every F is concave: the oracle approximates it from
above by lines, exact ones for (epsilon, delta) and tangents for Gaussian levels, and solves linear programs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm

import optimaldp as odp
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.privacy import GaussianDP, Level

CLEAR = 1e-5  # a difference that is no rounding
SAME = 1e-7
_TANGENTS = norm.cdf(np.linspace(-7, 7, 161))


def random_level(rng: random.Random, *, infinite: bool) -> Level:
    ratio = rng.choice(["ln(2)", "ln(3/2)", "ln(3)", "ln(6/5)", "0.3", "0.5", "1", "2", "0", "ln(10)"])
    delta = rng.choice(["0", "0", "0", "0.1", "0.01", "1/7", "1e-3"])
    kind = rng.random()
    if kind < 0.12:
        return odp.level(mu=rng.choice(["0.5", "1", "1/3", "2"]))
    if kind < 0.2:
        return odp.all_of(odp.level(ratio, delta), odp.level(rng.choice(["ln(4)", "1.5"]), "0"))
    if kind < 0.28:
        return odp.directed(forward=odp.level(ratio, delta), backward=odp.level(rng.choice(["ln(2)", "0.7"]), "0.05"))
    if kind < 0.31 and infinite:
        return odp.level("inf", delta)
    return odp.level(ratio, delta)


def random_row(rng: random.Random, q: int) -> tuple[Fraction, ...]:
    weights = [Fraction(rng.choice([0, 1, 1, 2, 3, 5, 8])) for _ in range(q)]
    weights[rng.randrange(q)] += 1
    return tuple(w / sum(weights) for w in weights)


def one_way_level(rng: random.Random, *, infinite: bool) -> Level:
    """A promise in one direction alone; the other way an infinite epsilon, with a delta of 1 no promise whatever."""
    promise = odp.level(
        rng.choice(["ln(2)", "ln(3/2)", "0.5", "1", "0", "ln(10)"]), rng.choice(["0", "0", "0.1", "1/7", "1e-3"])
    )
    nothing = odp.level("inf", rng.choice(["1", "1", "0", "0.1"]))
    if rng.random() < 0.15:
        return odp.level("ln(2)", "0.01")  # an ordinary edge among them
    if rng.random() < 0.5:
        return odp.directed(forward=promise, backward=nothing)
    return odp.directed(forward=nothing, backward=promise)


def random_problem(seed: int, *, random_level: Callable[..., Level] = random_level) -> Problem:
    """Two to six datasets, two to four answers; most given rows stay close to one row, so that many are feasible."""
    rng = random.Random(seed)
    q, size = rng.choice([2, 2, 3, 3, 4]), rng.randint(2, 6)
    edges = [(rng.randrange(v), v) for v in range(1, size) if rng.random() < 0.93]
    edges += [tuple(rng.sample(range(size), 2)) for _ in range(rng.randint(0, 3))]
    few = [random_level(rng, infinite=True) for _ in range(rng.choice([1, 1, 2, 3]))]
    levels = [rng.choice(few) for _ in edges]
    graph = DatasetGraph.from_edges(map(str, range(size)), [(str(u), str(v), k) for (u, v), k in zip(edges, levels)])
    orders = list({tuple(rng.sample(range(q), q)) for _ in range(rng.choice([1, 2, 2, 3]))})
    of = np.array([rng.randrange(len(orders)) for _ in range(size)], dtype=np.int32)
    preferences = Preferences(tuple("abcd"[:q]), tuple(orders), of)
    base, fixed = random_row(rng, q), {}
    for vertex in range(size):
        if rng.random() < 0.45:
            share = Fraction(rng.choice([0, 0, 1, 1, 2, 6]), 10)
            fixed[vertex] = tuple((1 - share) * a + share * b for a, b in zip(base, random_row(rng, q)))
    if rng.random() < 0.25:
        return Problem(graph, preferences, {}, "balanced" if q == 2 or rng.random() < 0.4 else "undominated")
    return Problem(graph, preferences, fixed)


def lines(level: Level) -> list[tuple[float, float]]:
    """Slopes and intercepts of lines above the step of a level, the lowest of which is the step."""
    if isinstance(level, GaussianDP):
        mu, z = float(level.mu), norm.ppf(_TANGENTS)
        slope = np.exp(-mu * z - mu * mu / 2)
        value = norm.cdf(z + mu)
        return [(float(s), float(v - s * y)) for s, v, y in zip(slope, value, _TANGENTS)]
    found = [(math.exp(float(b.epsilon)), float(b.delta)) for b in level.forward if not b.epsilon.infinite]
    for bound in level.backward:
        if not bound.epsilon.infinite:
            ratio = math.exp(float(bound.epsilon))
            found.append((1 / ratio, 1 - (1 - float(bound.delta)) / ratio))
    return found


def never_answered(row, level: Level) -> list[tuple[float, list[int]]]:
    """An infinite epsilon has no line, but what a given row never answers its neighbour answers within delta."""
    never = [a for a, p in enumerate(row) if p == 0]
    deltas = [float(b.delta) for b in getattr(level, "forward", ()) if b.epsilon.infinite]
    return [(min(deltas), never)] if never and deltas else []


class UnclearError(Exception):
    """HiGHS ran into numerical trouble: the problem is too close to call in floats."""


class MixedOracle:
    """All private extensions of a problem, in floats."""

    def __init__(self, problem: Problem, fixed) -> None:
        self.problem, self.q, self.fixed = problem, len(problem.answers), fixed
        rows, bounds = [], []
        events = [e for k in range(1, self.q) for e in combinations(range(self.q), k)]
        known = {
            level: lines(level) for level in (*problem.graph.levels, *(k.reversed() for k in problem.graph.levels))
        }
        for u, v, level in problem.graph.edges():
            tail, head = problem.graph.numbers[u], problem.graph.numbers[v]
            for a, b, step in ((tail, head, known[level]), (head, tail, known[level.reversed()])):
                for most, event in never_answered(fixed.get(a, ()), level if a == tail else level.reversed()):
                    row = np.zeros(len(problem.graph) * self.q)
                    row[[b * self.q + answer for answer in event]] = 1
                    rows.append(row)
                    bounds.append(most)
                for slope, intercept in step:
                    for event in events:
                        row = np.zeros(len(problem.graph) * self.q)
                        for answer in event:
                            row[b * self.q + answer] += 1
                            row[a * self.q + answer] -= slope
                        rows.append(row)
                        bounds.append(intercept)
        self.rows = np.array(rows) if rows else np.zeros((0, len(problem.graph) * self.q))
        self.bounds = np.array(bounds)
        self.equal = np.kron(np.eye(len(problem.graph)), np.ones(self.q))

    def maximum(self, objective: np.ndarray, slack: float = 0.0) -> float | None:
        limits = [(0.0, 1.0)] * len(objective)
        for vertex, row in self.fixed.items():
            for answer in range(self.q):
                limits[vertex * self.q + answer] = (float(row[answer]),) * 2
        ones = np.ones(len(self.problem.graph))
        found = linprog(-objective, self.rows, self.bounds + slack, self.equal, ones, limits, method="highs")
        if found.status not in (0, 2):
            raise UnclearError(found.message)
        return None if found.status == 2 else -found.fun

    def feasible(self, slack: float) -> bool:
        return self.maximum(np.zeros(len(self.problem.graph) * self.q), slack) is not None

    def prefixes(self) -> list[np.ndarray]:
        vectors = []
        for vertex in range(len(self.problem.graph)):
            order = self.problem.preferences.order(vertex)
            for k in range(1, self.q):
                row = np.zeros(len(self.problem.graph) * self.q)
                row[[vertex * self.q + answer for answer in order[:k]]] = 1
                vectors.append(row)
        return vectors


def complaint(problem: Problem) -> str:
    """What is wrong with the designer's answer to a problem; nothing if it is right or too close to call."""
    try:
        found = odp.solve(problem)
    except odp.errors.ProblemError as error:
        return refused(problem, str(error))
    if found.status == "optimal" and found.verdict is not None and not found.verdict:
        return "the referee does not pass it"
    fixed = problem.fixed
    if problem.boundary is not None:
        if found.status != "optimal":
            # Where an epsilon is infinite every probability below 1 may be allowed and 1 itself not: nothing is best.
            bounds = [bound for level in problem.graph.levels for bound in getattr(level, "bounds", ())]
            may_lack = len(problem.answers) > 2 or any(bound.epsilon.infinite for bound in bounds)
            return "" if may_lack and found.witness.get("reason") else f"a rule is {found.status}"
        fixed = {v: found.mechanism.rows.row(v) for v in np.flatnonzero(found.certificate.proof.given).tolist()}
    try:
        return contradiction(problem, found, MixedOracle(problem, fixed))
    except UnclearError:
        return ""


def float_complaint(problem: Problem) -> str:
    """What is wrong with the answer in floats, next to the exact one; a refusal for want of room is none."""
    try:
        rough = odp.solve(problem, exact=False)
        fine = odp.solve(problem)
    except odp.errors.ProblemError:
        return ""
    if rough.status != fine.status:
        return f"{rough.status} in floats, {fine.status} exactly"
    if rough.status != "optimal":
        return ""
    if rough.verdict is not None and not rough.verdict:
        return "the referee does not pass the floats"
    if problem.boundary is not None and len(problem.answers) > 2:
        return ""  # the rule may choose another boundary that nothing dominates
    apart = float(np.abs(rough.mechanism.to_array() - fine.mechanism.to_array()).max())
    return f"{apart:.3g} between floats and rationals" if apart > 1e-8 else ""


def contradiction(problem: Problem, found, oracle: MixedOracle) -> str:
    """Where the oracle disagrees with a design."""
    infinite = any(math.isinf(float(b.epsilon)) for k in problem.graph.levels for b in getattr(k, "bounds", ()))
    if found.status == "infeasible" and infinite and any(0 in row for row in problem.fixed.values()):
        return ""  # an infinite epsilon forbids what the oracle has no line for: something beside nothing
    if found.status == "infeasible":
        return "it is feasible" if oracle.feasible(-CLEAR) else ""
    if not oracle.feasible(CLEAR):
        return "it is infeasible"
    prefixes = oracle.prefixes()
    maxima = [oracle.maximum(prefix, 1e-10) for prefix in prefixes]
    together = oracle.maximum(np.sum(prefixes, axis=0), 1e-10)
    if None in maxima or together is None:
        return ""  # too close to call
    if found.status == "no-optimum":
        return "there is an optimum" if sum(maxima) - together < SAME and not infinite else ""
    table = found.mechanism.to_array().ravel()
    short = [m - float(prefix @ table) for m, prefix in zip(maxima, prefixes)]
    # Tangents lie above a Gaussian step, by up to 4e-4 between two of them, and on a path that adds up.
    gaussian = any(isinstance(level, GaussianDP) for level in problem.graph.levels)
    allowed = 1e-3 * len(problem.graph) if gaussian else 1e-5
    return f"{max(short):.3g} below the maximum" if max(short) > allowed else ""


def refused(problem: Problem, reason: str) -> str:
    """A refusal is right where its reason is true: no rule has a largest value where every probability below 1 is allowed."""
    infinite = any(math.isinf(float(b.epsilon)) for k in problem.graph.levels for b in getattr(k, "bounds", ()))
    if "below 1 is allowed" in reason and infinite and problem.boundary is not None:
        return ""
    return f"refused: {reason}"
