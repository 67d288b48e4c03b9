"""Where the envelope is not private, only the parts that are concerned go to the linear program.

Given datasets separate: two free datasets depend on each other only if a path of free datasets joins them. A part whose bounds
are private together keeps them; each other part is a program of its own, small enough to be proven exactly.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.privacy import keeps
from optimaldp.designing.envelope import envelope_rows, tree_certificate
from optimaldp.designing.linear_program import design_linear_program
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Bounds
from optimaldp.errors import ProblemError
from optimaldp.extras import requiring
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Certificate, DualProof, SharedRows
from optimaldp.mechanisms.certificate import Event
from optimaldp.mechanisms.rows import Row

Numbers = npt.NDArray[np.int64]

MOST_COLUMNS = 20_000  # free probabilities of a linear program that is tried at all


def design_by_components(problem: Problem, bounds: dict[Event, Bounds]) -> Outcome:
    """Solve each part by itself; what is infeasible or has no optimum in one part has none as a whole."""
    rows, duals, exact, proven = envelope_rows(problem, bounds), [], True, True
    undecided: list[Outcome] = []
    for part in _broken_parts(problem, bounds):
        refuse_large(problem, part)
        small, vertices = part_problem(problem, part)
        outcome = design_linear_program(small, _part_bounds(bounds, vertices))
        if outcome.status is Status.INFEASIBLE:
            return outcome
        exact &= outcome.exact
        proven &= outcome.certificate is not None
        for place, vertex in enumerate(vertices.tolist() if outcome.rows is not None else ()):
            assert outcome.rows is not None
            rows[vertex] = outcome.rows.row(place)
        if outcome.status is Status.NO_OPTIMUM:
            undecided.append(outcome)
        elif outcome.certificate is not None:
            duals += [moved(dual, vertices) for dual in outcome.certificate.duals]
    shared = SharedRows.from_rows(rows)
    if undecided:
        made = shared if all(outcome.rows is not None for outcome in undecided) else None
        return Outcome(
            Status.NO_OPTIMUM, Route.LINEAR_PROGRAM, made, None, undecided[0].witness, exact=undecided[0].exact
        )
    if not proven:
        return Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, shared, exact=False)
    trees = tree_certificate(problem, bounds)
    certificate = Certificate(trees.given, trees.trees, tuple(duals), trees.statement)
    return Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, shared, certificate, exact=exact)


def refuse_large(problem: Problem, part: Numbers) -> None:
    """A part whose bounds exclude each other and that is too large for a program is refused."""
    columns = len(part) * len(problem.answers)
    if columns > MOST_COLUMNS:
        name = problem.graph.names[int(part[0])]
        raise ProblemError(
            "problem",
            f"{columns} free probabilities",
            f"that depend on each other (those of {name} and {len(part) - 1} other datasets) cannot be decided: the bounds on "
            f"their prefix sums exclude each other, so only a linear program could tell, and it would be too large (at most "
            f"{MOST_COLUMNS})",
            "fix more datasets, or use one level",
        )


def parts_of(problem: Problem) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32]]:
    """Which datasets are free, and for each of those the number of its part."""
    with requiring("scipy"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

    graph = problem.graph
    free = np.ones(len(graph), dtype=bool)
    free[list(problem.fixed)] = False
    inner = free[graph.tails] & free[graph.heads]
    entries = np.ones(int(inner.sum()), dtype=np.int8), (graph.tails[inner], graph.heads[inner])
    return free, connected_components(csr_array(entries, shape=(len(graph), len(graph))), directed=False)[1]


def _broken_parts(problem: Problem, bounds: dict[Event, Bounds]) -> list[Numbers]:
    """The free datasets of each part in which some edge is not private at the bounds."""
    graph = problem.graph
    free, label = parts_of(problem)
    rows = envelope_rows(problem, bounds)
    broken: set[int] = set()
    for u, v, k in zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist()):
        part = int(label[u] if free[u] else label[v])
        if part not in broken and (free[u] or free[v]) and not _fits(graph, k, rows[u], rows[v]):
            broken.add(part)
    return members(free, label, sorted(broken)) if broken else []


def members(free: npt.NDArray[np.bool_], label: npt.NDArray[np.int32], parts: list[int]) -> list[Numbers]:
    """The free datasets of each of these parts, of which there may be thousands."""
    vertices = np.flatnonzero(free & np.isin(label, parts))
    vertices = vertices[np.argsort(label[vertices], kind="stable")]
    return np.split(vertices, np.flatnonzero(np.diff(label[vertices])) + 1)


def _fits(graph: DatasetGraph, kind: int, tail: Row, head: Row) -> bool:
    return min(tail) >= 0 and min(head) >= 0 and keeps(graph.levels[kind], tail, head)


def part_problem(problem: Problem, part: Numbers) -> tuple[Problem, Numbers]:
    """One part with the given datasets around it, and the numbers that its datasets have in the whole."""
    graph, preferences = problem.graph, problem.preferences
    inside = np.zeros(len(graph), dtype=bool)
    inside[part] = True
    edges = np.flatnonzero(inside[graph.tails] | inside[graph.heads])
    vertices = np.unique(np.concatenate([part, graph.tails[edges], graph.heads[edges]]))
    place = np.full(len(graph), -1, dtype=np.int32)
    place[vertices] = np.arange(len(vertices))
    small = DatasetGraph(
        [graph.names[v] for v in vertices.tolist()],
        place[graph.tails[edges]],
        place[graph.heads[edges]],
        levels=graph.levels,
        level_of_edge=graph.level_of_edge[edges],
    )
    fixed = {int(place[v]): problem.fixed[v] for v in vertices.tolist() if v in problem.fixed}
    chosen = Preferences(preferences.answers, preferences.orders, preferences.of[vertices])
    return Problem(small, chosen, fixed), vertices


def _part_bounds(bounds: dict[Event, Bounds], vertices: Numbers) -> dict[Event, Bounds]:
    """The bounds of a part; its own trees are not asked for."""
    nothing = np.zeros(len(vertices), dtype=np.int32)
    return {
        event: Bounds([whole.values[v] for v in vertices.tolist()], nothing, None) for event, whole in bounds.items()
    }


def moved(dual: DualProof, vertices: Numbers) -> DualProof:
    """A proof of a part, by the numbers of the whole."""
    number = vertices.tolist()
    multipliers = tuple(
        (replace(constraint, tail=number[constraint.tail], head=number[constraint.head]), weight)
        for constraint, weight in dual.multipliers
    )
    return replace(dual, vertex=number[dual.vertex], multipliers=multipliers)
