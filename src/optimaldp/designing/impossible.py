"""What must never be answered: where linear constraints alone say too little.

An edge of infinite epsilon promises only this: what one end never answers, the other answers with probability delta at most;
a Gaussian level promises the same with delta 0, where its tangents, which are finitely many, allow a hair. Which answers are
impossible at a dataset follows from the program itself: those whose maximum is 0. All others can be possible together (a mean of
mechanisms is one), so no other support matters, but then a maximum may be approached without being attained.
"""

from __future__ import annotations

from fractions import Fraction

from optimaldp.designing.event_program import EventProgram
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy import ApproximateDP, GaussianDP, Level
from optimaldp.programs.exact import Terms

UNATTAINED = "where epsilon is infinite every probability below 1 is allowed, but 1 itself is not, so nothing is best"
_FLOAT_ZERO = 1e-9  # a maximum in floating point that is taken for 0
_LARGEST_EPSILON = 45  # where e^epsilon is longer than that, what is rounded is no longer small beside a probability


def is_linear(problem: Problem) -> bool:
    """Whether every promise is a linear inequality of moderate size: no Gaussian level, no infinite or huge epsilon."""
    return all(
        isinstance(level, ApproximateDP)
        and not any(bound.epsilon.infinite or bound.epsilon.ceiling > _LARGEST_EPSILON for bound in level.bounds)
        for level in problem.graph.levels
    )


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
