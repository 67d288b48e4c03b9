"""More than two answers with given values: the envelope where it decides, linear programs where it does not.

The envelope is the least upper bound on every prefix sum (theory 2.3). If the bounds together are a private mechanism it is the
optimum. If they are not, that proves nothing: the linear program decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.privacy import is_private as referee_finds_private
from optimaldp.certify.graphs.privacy import keeps
from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.impossibility import UNATTAINED, forbid_impossible, is_unattained, lifted
from optimaldp.designing.raised import design_raised
from optimaldp.designing.result import Outcome, Route, Status
from optimaldp.designing.steps import (
    Bounds,
    Conflict,
    Propagator,
    is_private,
    nearest_private,
    repaired,
    step_up,
    violated_event,
)
from optimaldp.designing.two_answers import conflict_words, tree_certificate
from optimaldp.errors import ProblemError
from optimaldp.extras import requiring
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import DualProof, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import INFEASIBLE, NO_OPTIMUM, Event, Impossibility
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy.numbers import shown_text
from optimaldp.programs.linear import Solution
from optimaldp.progress import track

# More than two answers: the least upper bound on every prefix sum (theory 2.3).
#
# If the bounds together are a private mechanism it is the optimum. If they are not, that proves nothing: the
# linear program decides.


def prefix_events(problem: Problem) -> list[Event]:
    """Every set of k most wanted answers that occurs, k below the number of answers."""
    return sorted({tuple(sorted(order[:k])) for order in problem.preferences.orders for k in range(1, len(order))})


def event_bounds(problem: Problem, propagator: Propagator) -> dict[Event, Bounds]:
    """The bounds that the given values impose on every prefix event."""
    return {
        event: propagator.bounds({v: _sum(row, event) for v, row in problem.fixed.items()})
        for event in prefix_events(problem)
    }


def design_envelope(problem: Problem) -> tuple[Outcome | None, dict[Event, Bounds]]:
    """The envelope if it decides (infeasible by a path, or optimal because private), and the bounds themselves.

    Two attempts: exact as long as numbers are short; if that is not private, once more at tightened levels, where what is
    rounded is covered by slack. With more than rounding at stake both fail, and the linear program decides.
    """
    propagator = Propagator(problem.graph)
    bounds = event_bounds(problem, propagator)
    outcome = _envelope_outcome(problem, bounds)
    if outcome is None and propagator.step.rounded:
        tightened = event_bounds(problem, Propagator(problem.graph, tight=True))
        if (again := _envelope_outcome(problem, tightened)) is not None:
            return again, tightened
    return outcome, bounds


def _envelope_outcome(problem: Problem, bounds: dict[Event, Bounds]) -> Outcome | None:
    for event, of_event in bounds.items():
        if of_event.conflict is not None:
            return Outcome(Status.INFEASIBLE, Route.ENVELOPE, witness=conflict_words(problem, of_event.conflict, event))
    if (clash := given_clash(problem)) is not None:
        return Outcome(Status.INFEASIBLE, Route.ENVELOPE, witness=clash)
    rows = SharedRows.from_rows(envelope_rows(problem, bounds))
    if not referee_finds_private(Mechanism(problem.graph, problem.preferences, rows)):
        return None
    return Outcome(Status.OPTIMAL, Route.ENVELOPE, rows, tree_certificate(problem, bounds))


def given_clash(problem: Problem) -> dict[str, Any] | None:
    """Two neighbours whose given values are too far apart on an event, which need not be a prefix of any preference."""
    graph, fixed = problem.graph, problem.fixed
    given = problem.fixed_mask()
    shared = SharedRows.from_rows(list(fixed.values()))
    number = np.zeros(len(graph), dtype=np.int64)
    number[list(fixed)] = shared.of
    edges = np.flatnonzero(given[graph.tails] & given[graph.heads])
    kinds, count = max(1, len(graph.levels)), len(shared.rows)
    code = (number[graph.tails[edges]] * count + number[graph.heads[edges]]) * kinds + graph.level_of_edge[edges]
    for edge in edges[np.unique(code, return_index=True)[1]].tolist():  # equal pairs of rows once
        u, v = int(graph.tails[edge]), int(graph.heads[edge])
        level = graph.levels[int(graph.level_of_edge[edge])]
        broken = violated_event(level, fixed[u], fixed[v])
        if broken is not None:
            conflict = Conflict((u, v), _sum(fixed[v], broken), step_up(level, _sum(fixed[u], broken)))
            return conflict_words(problem, conflict, broken)
    return None


def envelope_rows(problem: Problem, bounds: dict[Event, Bounds]) -> list[Row]:
    """Every prefix sum at its bound."""
    rows = []
    for vertex in range(len(problem.graph)):
        order = problem.preferences.order(vertex)
        row, before = [Fraction(0)] * len(order), Fraction(0)
        for k, answer in enumerate(order, start=1):
            total = bounds[tuple(sorted(order[:k]))].values[vertex] if k < len(order) else Fraction(1)
            row[answer], before = total - before, total
        rows.append(tuple(row))
    return rows


def _sum(row: Row, event: Event) -> Fraction:
    return sum((row[a] for a in event), Fraction(0))


# More than two answers: the envelope where it decides, the linear program where it does not.


# More than two answers where paths do not decide: the linear program (theory 2.3).
#
# Maximise the sum of all prefix sums over private extensions of the given values. An optimum (in the dominance order) exists
# exactly when that point attains the single maximum of every prefix sum.


_SAME_MAXIMUM = Fraction(1, 10**8)  # two maxima closer than this are the same when only floats decided


_DIGITS = 10**12  # multipliers that floats found are rounded to parts of this
_MOST_TRIED = 8  # prefix sums that are looked at as the other half of a conflict, those that lose most first


@dataclass(frozen=True)
class WantedPrefix:
    """The probability of the k most wanted answers of one dataset."""

    vertex: int
    event: Event


def design_linear_program(problem: Problem, bounds: dict[Event, Bounds]) -> Outcome:
    """Decide by linear programs: optimal, infeasible or no optimum, each with its proof."""
    program = EventProgram(problem)
    if (clash := forbid_impossible(program)) is not None:
        return Outcome(Status.INFEASIBLE, Route.LINEAR_PROGRAM, witness={"reason": clash}, exact=not program.tangential)
    prefixes = free_prefixes(problem)
    best = program.maximise(program.sum_of((p.vertex, p.event) for p in prefixes))
    if best is None:
        witness, proof = _infeasible(problem, program)
        return Outcome(Status.INFEASIBLE, Route.LINEAR_PROGRAM, witness=witness, exact=False, impossibility=proof)
    impossible: Impossibility | None = None
    point = program.rows(best.point)  # compared as it was found: a repair costs a little of each prefix sum
    proofs, missed = _compare(program, prefixes, point, bounds, best)
    if missed is not None:
        prefix, single = missed
        others = _by_loss(prefixes, point, program.rows(single.point))
        conflict = _Clash(problem, program, point, best)
        witness, impossible = conflict.words(others, prefix, single), conflict.proof
    elif is_unattained(problem, point, exact=best.exact):
        witness = {"reason": UNATTAINED}
    else:
        witness = {}
    if witness:
        private = (
            point if best.exact and is_private(problem, point) else nearest_private(problem, point, program.interior)
        )
        shared = None if private is None else SharedRows.from_rows(private)
        return Outcome(
            Status.NO_OPTIMUM, Route.LINEAR_PROGRAM, shared, None, witness, exact=best.exact, impossibility=impossible
        )
    rows = point if best.exact else repaired(problem, point, program.interior)
    if proofs is None or program.forbids:
        return Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, SharedRows.from_rows(rows), exact=False)
    certificate = tree_certificate(problem, bounds, tuple(proofs))
    return Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, SharedRows.from_rows(rows), certificate)


def free_prefixes(problem: Problem) -> list[WantedPrefix]:
    """Every prefix sum that is to be chosen."""
    return [
        WantedPrefix(v, tuple(sorted(problem.preferences.order(v)[:k])))
        for v in range(len(problem.graph))
        if v not in problem.fixed
        for k in range(1, len(problem.answers))
    ]


def _value(rows: list[Row], prefix: WantedPrefix) -> Fraction:
    return sum((rows[prefix.vertex][a] for a in prefix.event), Fraction(0))


def _compare(
    program: EventProgram, prefixes: list[WantedPrefix], rows: list[Row], bounds: dict[Event, Bounds], best: Solution
) -> tuple[list[DualProof] | None, tuple[WantedPrefix, Solution] | None]:
    """Proofs for the prefix sums that paths do not bound tightly, or the first one that could be larger elsewhere.

    Proofs are ``None`` if floats decided somewhere.
    """
    proofs: list[DualProof] = []
    proven = exact = best.exact
    prove = program.shared_basis(best) if exact else None
    for prefix in track(prefixes, "comparing each prefix sum with its own maximum"):
        value = _value(rows, prefix)
        if bounds[prefix.event].values[prefix.vertex] - value <= (0 if exact else _SAME_MAXIMUM):
            continue
        objective = program.prefix(prefix.vertex, prefix.event)[0]
        multipliers = prove(objective) if prove is not None else None
        if multipliers is not None:  # most often one basis proves all, and no other program has to be solved
            proofs.append(DualProof(prefix.vertex, prefix.event, value, multipliers))
            continue
        single = program.maximise(objective)
        assert single is not None, "the program was feasible a moment ago"
        if single.value - value > (0 if exact and single.exact else _SAME_MAXIMUM):
            return [], (prefix, single)
        proven &= single.exact
        if single.exact:
            proofs.append(_proof(program, prefix, single))
    return proofs if proven else None, None


def _by_loss(prefixes: list[WantedPrefix], rows: list[Row], instead: list[Row]) -> list[WantedPrefix]:
    """The prefix sums in the order of what they lose where another has its maximum: the first ones stand in its way."""
    return sorted(prefixes, key=lambda prefix: _value(instead, prefix) - _value(rows, prefix))


def _proof(program: EventProgram, prefix: WantedPrefix, single: Solution) -> DualProof:
    return DualProof(prefix.vertex, prefix.event, single.value, program.event_multipliers(single))


def _infeasible(problem: Problem, program: EventProgram) -> tuple[dict[str, Any], Impossibility | None]:
    violation, binding = program.least_violation()
    names = problem.graph.names
    multipliers = tuple((promise, Fraction(round(w * _DIGITS), _DIGITS)) for promise, w in binding if promise.bound)
    words = {
        "reason": "no private mechanism has the given values: the constraints below cannot hold together",
        "fixed": [names[v] for v in problem.fixed],
        "violation": float(violation),
        "constraints": [
            {"from": names[c.tail], "to": names[c.head], "answers": [problem.answers[a] for a in c.event]}
            for c, _ in binding
        ],
    }
    return words, Impossibility(INFEASIBLE, multipliers) if len(multipliers) == len(binding) else None


def _value_text(solution: Solution) -> str:
    """A maximum: the exact ratio, or what floats know of it."""
    return shown_text(solution.value) if solution.exact else f"{float(solution.value):.9g}"


class _Clash:
    """Why the single maxima cannot be had together: in words, and as multipliers with mechanisms that attain the maxima."""

    def __init__(self, problem: Problem, program: EventProgram, point: list[Row], best: Solution) -> None:
        self._problem, self._program, self._point, self._best = problem, program, point, best
        self.proof: Impossibility | None = None

    def words(self, prefixes: list[WantedPrefix], missed: WantedPrefix, most: Solution) -> dict[str, Any]:
        """Two prefix sums that cannot both be had: each with its own maximum, and the most that their sum can be."""
        program = self._program
        for other in [prefix for prefix in prefixes if prefix != missed][:_MOST_TRIED]:
            alone = program.maximise(program.prefix(other.vertex, other.event)[0])
            both = program.maximise(program.sum_of([(missed.vertex, missed.event), (other.vertex, other.event)]))
            assert alone is not None
            assert both is not None
            if most.value + alone.value - both.value > (0 if both.exact and alone.exact else _SAME_MAXIMUM):
                self._prove([missed, other], [program.rows(most.point), program.rows(alone.point)], both)
                first, second = self._end(missed, most), self._end(other, alone)
                return {
                    "reason": f"{first['dataset']} can have {first['most']} for {' or '.join(first['answers'])} and "
                    f"{second['dataset']} can have {second['most']} for {' or '.join(second['answers'])}, but not both: "
                    f"together at most {_value_text(both)}",
                    "conflict": [first, second],
                    "together": _value_text(both),
                }
        # The largest sum of all and the one missed maximum: the larger of both, prefix by prefix, exceeds the sum.
        self._prove(prefixes, [self._point, program.rows(most.point)], self._best)
        first = self._end(missed, most)
        return {
            "reason": f"{first['dataset']} can have {first['most']} for {' or '.join(first['answers'])}, but not while all "
            "other prefix sums are as large as they can be together",
            "conflict": [first],
        }

    def _end(self, prefix: WantedPrefix, solution: Solution) -> dict[str, Any]:
        problem = self._problem
        answers = [problem.answers[a] for a in problem.preferences.order(prefix.vertex)[: len(prefix.event)]]
        return {"dataset": problem.graph.names[prefix.vertex], "answers": answers, "most": _value_text(solution)}

    def _prove(self, wanted: list[WantedPrefix], mechanisms: list[list[Row]], bound: Solution) -> None:
        promises = self._program.promise_multipliers(bound)
        if any(promise.bound is None for promise, _ in promises):
            return  # a tangent of a Gaussian level
        private = [
            rows if is_private(self._problem, rows) else nearest_private(self._problem, rows, self._program.interior)
            for rows in mechanisms
        ]
        kept = tuple(tuple(rows) for rows in private if rows is not None)
        multipliers = (
            promises if bound.exact else tuple((c, Fraction(round(w * _DIGITS), _DIGITS)) for c, w in promises)
        )
        wishes = tuple((prefix.vertex, len(prefix.event), Fraction(1)) for prefix in wanted)
        self.proof = Impossibility(NO_OPTIMUM, multipliers, kept, wishes) if kept else None


# Where the envelope is not private, only the parts that are concerned go to the linear program.
#
# Given datasets separate: two free datasets depend on each other only if a path of free datasets joins them. A part whose bounds
# are private together keeps them; each other part is a program of its own, small enough to be proven exactly.


Numbers = npt.NDArray[np.int64]

MOST_COLUMNS = 20_000  # free probabilities of a linear program that is tried at all


class UndecidedError(ProblemError):
    """A part whose bounds exclude each other is too large for a linear program: whether there is an optimum is not decided."""


def design_by_components(problem: Problem, bounds: dict[Event, Bounds]) -> Outcome:
    """Solve each part by itself; what is infeasible or has no optimum in one part has none as a whole."""
    rows, duals, exact, proven = envelope_rows(problem, bounds), [], True, True
    undecided: list[tuple[Outcome, Numbers]] = []
    for part in _broken_parts(problem, bounds):
        refuse_large(problem, part)
        small, vertices = part_problem(problem, part)
        outcome = design_linear_program(small, _part_bounds(bounds, vertices))
        if outcome.status is Status.INFEASIBLE:
            return _with_lifted(outcome, vertices.tolist(), rows)
        exact &= outcome.exact
        proven &= outcome.certificate is not None
        for place, vertex in enumerate(vertices.tolist() if outcome.rows is not None else ()):
            assert outcome.rows is not None
            rows[vertex] = outcome.rows.row(place)
        if outcome.status is Status.NO_OPTIMUM:
            undecided.append((outcome, vertices))
        elif outcome.certificate is not None:
            duals += [moved(dual, vertices) for dual in outcome.certificate.duals]
    shared = SharedRows.from_rows(rows)
    if undecided:
        first, vertices = undecided[0]
        made = shared if all(outcome.rows is not None for outcome, _ in undecided) else None
        found = Outcome(Status.NO_OPTIMUM, Route.LINEAR_PROGRAM, made, None, first.witness, exact=first.exact)
        return _with_lifted(replace(found, impossibility=first.impossibility), vertices.tolist(), rows)
    if not proven:
        return Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, shared, exact=False)
    certificate = tree_certificate(problem, bounds, tuple(duals))
    return Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, shared, certificate, exact=exact)


def _with_lifted(outcome: Outcome, vertices: list[int], rows: list[Row]) -> Outcome:
    """The same outcome, its proof by the numbers of the whole."""
    proof = outcome.impossibility
    return outcome if proof is None else replace(outcome, impossibility=lifted(proof, vertices, rows))


def refuse_large(problem: Problem, part: Numbers) -> None:
    """A part whose bounds exclude each other and that is too large for a program is refused."""
    columns = len(part) * len(problem.answers)
    if columns > MOST_COLUMNS:
        name = problem.graph.names[int(part[0])]
        raise UndecidedError(
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
    free = ~problem.fixed_mask()
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
    used, number = np.unique(graph.level_of_edge[edges], return_inverse=True)  # of as many levels as edges few
    small = DatasetGraph(
        [graph.names[v] for v in vertices.tolist()],
        place[graph.tails[edges]],
        place[graph.heads[edges]],
        levels=[graph.levels[k] for k in used.tolist()],
        level_of_edge=number.astype(np.int32),
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


def design_many(problem: Problem, *, exact: bool) -> Outcome:
    """Solve a problem with given values; where there is no optimum, or nobody can tell, with a mechanism that is raised."""
    try:
        outcome = _decided(problem, exact=exact)
    except UndecidedError:
        if (found := design_raised(problem)) is None:
            raise
        return replace(found, status=None)
    return _with_raised(problem, outcome) if outcome.status is Status.NO_OPTIMUM else outcome


def _decided(problem: Problem, *, exact: bool) -> Outcome:
    if exact:
        decided, bounds = design_envelope(problem)
        return decided or design_by_components(problem, bounds)
    from optimaldp.designing.large import (
        design_large_many,  # compiled: only where it pays
        mended,
    )

    outcome = design_large_many(problem)
    return mended(problem, outcome) if outcome.status is Status.OPTIMAL else outcome


def _with_raised(problem: Problem, outcome: Outcome) -> Outcome:
    """The same status and witness, beside a mechanism that nothing dominates, as far as one is found."""
    try:
        found = design_raised(problem)
    except ProblemError:
        return outcome
    if found is None or found.certificate is None:
        return outcome
    return replace(outcome, rows=found.rows, certificate=found.certificate)
