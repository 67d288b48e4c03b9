"""More than two answers where paths do not decide: the linear program (theory 2.3).

Maximise the sum of all prefix sums over private extensions of the given values. An optimum (in the dominance order) exists
exactly when that point attains the single maximum of every prefix sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.designing.envelope import tree_certificate
from optimaldp.designing.event_program import EventProgram
from optimaldp.designing.exact_lp import Solution
from optimaldp.designing.impossible import UNATTAINED, forbid_impossible, is_unattained
from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.designing.propagation import Bounds
from optimaldp.designing.repair import is_private, nearest_private, repaired
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Certificate, DualProof, SharedRows
from optimaldp.mechanisms.certificate import Event
from optimaldp.mechanisms.rows import Row
from optimaldp.privacy.numbers import shown_text
from optimaldp.progress import track

_SAME_MAXIMUM = Fraction(1, 10**8)  # two maxima closer than this are the same when only floats decided


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
        witness = _infeasible_words(problem, program)
        return Outcome(Status.INFEASIBLE, Route.LINEAR_PROGRAM, witness=witness, exact=False)
    point = program.rows(best.point)  # compared as it was found: a repair costs a little of each prefix sum
    proofs, missed = _compare(program, prefixes, point, bounds, best)
    if missed is not None:
        prefix, single = missed
        others = _by_loss(prefixes, point, program.rows(single.point))
        witness = _clash_words(problem, program, others, prefix, single)
    elif is_unattained(problem, point, exact=best.exact):
        witness = {"reason": UNATTAINED}
    else:
        witness = {}
    if witness:
        private = (
            point if best.exact and is_private(problem, point) else nearest_private(problem, point, program.interior)
        )
        shared = None if private is None else SharedRows.from_rows(private)
        return Outcome(Status.NO_OPTIMUM, Route.LINEAR_PROGRAM, shared, None, witness, exact=best.exact)
    rows = point if best.exact else repaired(problem, point, program.interior)
    if proofs is None or program.forbids:
        return Outcome(Status.OPTIMAL, Route.LINEAR_PROGRAM, SharedRows.from_rows(rows), exact=False)
    trees = tree_certificate(problem, bounds)
    certificate = Certificate(trees.given, trees.trees, tuple(proofs), trees.statement)
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


def _infeasible_words(problem: Problem, program: EventProgram) -> dict[str, Any]:
    violation, binding = program.least_violation()
    names = problem.graph.names
    return {
        "reason": "no private mechanism has the given values: the constraints below cannot hold together",
        "fixed": [names[v] for v in problem.fixed],
        "violation": float(violation),
        "constraints": [
            {"from": names[c.tail], "to": names[c.head], "answers": [problem.answers[a] for a in c.event]}
            for c in binding
        ],
    }


def _value_text(solution: Solution) -> str:
    """A maximum: the exact ratio, or what floats know of it."""
    return shown_text(solution.value) if solution.exact else f"{float(solution.value):.9g}"


def _clash_words(
    problem: Problem, program: EventProgram, prefixes: list[WantedPrefix], missed: WantedPrefix, most: Solution
) -> dict[str, Any]:
    """Two prefix sums that cannot both be had: each with its own maximum, and the most that their sum can be."""

    def words(prefix: WantedPrefix, solution: Solution) -> dict[str, Any]:
        answers = [problem.answers[a] for a in problem.preferences.order(prefix.vertex)[: len(prefix.event)]]
        return {"dataset": problem.graph.names[prefix.vertex], "answers": answers, "most": _value_text(solution)}

    for other in [prefix for prefix in prefixes if prefix != missed][:_MOST_TRIED]:
        alone = program.maximise(program.prefix(other.vertex, other.event)[0])
        both = program.maximise(program.sum_of([(missed.vertex, missed.event), (other.vertex, other.event)]))
        assert alone is not None
        assert both is not None
        if most.value + alone.value - both.value > (0 if both.exact and alone.exact else _SAME_MAXIMUM):
            first, second = words(missed, most), words(other, alone)
            return {
                "reason": f"{first['dataset']} can have {first['most']} for {' or '.join(first['answers'])} and "
                f"{second['dataset']} can have {second['most']} for {' or '.join(second['answers'])}, but not both: "
                f"together at most {_value_text(both)}",
                "conflict": [first, second],
                "together": _value_text(both),
            }
    first = words(missed, most)
    return {
        "reason": f"{first['dataset']} can have {first['most']} for {' or '.join(first['answers'])}, but not while all "
        "other prefix sums are as large as they can be together",
        "conflict": [first],
    }
