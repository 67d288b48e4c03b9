"""The front door of the designer: it reads the problem, picks the route, and says which one it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from optimaldp.designing.outcome import Outcome, Route, Status
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs import boundary as boundary_of
from optimaldp.graphs.problem import Problem, read_fixed
from optimaldp.mechanisms import Certificate, Mechanism
from optimaldp.privacy import ApproximateDP, Level
from optimaldp.privacy import level as make_level
from optimaldp.results import Result

EXACT_ARCS = 20_000  # graphs up to this size are designed in exact arithmetic by default


@dataclass(frozen=True, eq=False)
class Claim:
    """A mechanism together with the proof that it is optimal: ready for the referee."""

    mechanism: Mechanism
    proof: Certificate

    def check(self) -> Any:
        """Let the referee check privacy and optimality; it shares no code with the designer."""
        from optimaldp.certify import verify

        return verify(self.mechanism, self.proof)

    def __repr__(self) -> str:
        return f"Claim({self.proof.statement})"


@dataclass(frozen=True, eq=False, repr=False)
class Design(Result):
    """What the designer found: an optimum with its certificate, or why there is none.

    ``mechanism`` is the optimum if ``status`` is optimal; for no optimum it is a private mechanism that nothing dominates, if one
    was made; ``witness`` then says which wishes exclude each other.
    """

    problem: Problem
    status: Status
    route: Route
    mechanism: Mechanism | None
    certificate: Claim | None
    witness: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> str:
        size = f"{len(self.problem.graph)} datasets × {len(self.problem.answers)} answers"
        levels = list(dict.fromkeys(map(str, self.problem.graph.levels)))
        what = levels[0] if len(levels) == 1 else f"{len(levels)} levels"
        return f"Design({self.status}, {size}, {what}, {self.route})"

    def details(self) -> list[tuple[str, str]]:
        proof = self.certificate.proof.statement if self.certificate else self.witness.get("reason", "")
        return [("status", self.status), ("route", self.route), ("why", proof)]

    def to_document(self, *, digits: int | None = None) -> dict[str, Any]:
        """The result as a document: exact strings, or numbers of about *digits* digits that are private as printed."""
        from optimaldp.mechanisms.decimals import printable
        from optimaldp.mechanisms.documents import design_document, mechanism_document

        mechanism = self.mechanism
        rows = None if mechanism is None or digits is None else printable(mechanism, digits=digits)
        if mechanism is not None and self.status is not Status.OPTIMAL:
            # Private and undominated, but not the optimum: it belongs to the witness.
            witness = {**self.witness, "undominated": mechanism_document(mechanism, rows=rows)["mechanism"]}
            return design_document(status=self.status, route=self.route, problem=self.problem, witness=witness)
        return design_document(
            status=self.status,
            route=self.route,
            problem=self.problem,
            mechanism=mechanism,
            certificate=self.certificate.proof if self.certificate else None,
            witness=self.witness or None,
            rows=rows,
        )

    def channel(self) -> Any:
        """The mechanism as a channel from datasets to answers: what does it leak, how useful is it?"""
        from optimaldp.channels import Channel

        return Channel.from_mechanism(self._mechanism())

    def plot(self, **options: Any) -> Any:
        """Draw the graph of datasets, each coloured by its distribution."""
        return self._mechanism().plot(**options)

    def _mechanism(self) -> Mechanism:
        if self.mechanism is None:
            raise ProblemError("design", str(self.status), "has no mechanism", self.witness.get("reason", ""))
        return self.mechanism


def design(
    graph: DatasetGraph,
    truth: Any = None,
    *,
    answers: Sequence[str] | None = None,
    epsilon: Any = None,
    delta: Any = 0,
    level: Level | None = None,
    fixed: Mapping[str, Mapping[str, Any]] | None = None,
    boundary: str | None = None,
    exact: bool | None = None,
) -> Design:
    """Find the best private mechanism on a graph of datasets.

    **Guarantee.** With status ``optimal`` the mechanism is private on every edge at the stated levels and dominates every private
    mechanism that has the same given (or boundary) values: for each dataset and each k, no other gives its k most wanted
    answers a larger probability. Both are checked by ``certificate.check()``.

    *truth* is a function, mapping or array that gives each dataset its true answer (two answers) or all answers, most
    wanted first. *epsilon* and *delta* set the level of every edge; leave them out if the graph has its own. *fixed* gives
    distributions of some datasets; *boundary* is a rule for the boundary instead, ``"balanced"`` if neither is given.

    >>> from optimaldp import graphs
    >>> found = design(graphs.votes(3), graphs.majority, epsilon="ln(2)", delta="0.1")
    >>> found.mechanism["111"]
    {'yes': Fraction(9, 10), 'no': Fraction(1, 10)}
    """
    leveled = _with_level(graph, epsilon, delta, level)
    preferences = _read_preferences(leveled, truth, answers)
    if fixed is not None and boundary is not None:
        raise ProblemError("boundary", boundary, "was given together with fixed values", "give one of them")
    rule = "balanced" if fixed is None and boundary is None else boundary
    given = read_fixed(leveled, preferences.answers, fixed)
    return solve(Problem(leveled, preferences, given, rule), exact=exact)


def solve(problem: Problem, *, exact: bool | None = None) -> Design:
    """Solve a whole problem, for instance one read from a file."""
    outcome = _attained(problem, _route(problem, _is_small(problem) if exact is None else exact))
    mechanism = None if outcome.rows is None else Mechanism(problem.graph, problem.preferences, outcome.rows)
    claim = Claim(mechanism, outcome.certificate) if mechanism and outcome.certificate else None
    return Design(problem, outcome.status, outcome.route, mechanism, claim, outcome.witness)


def _attained(problem: Problem, outcome: Outcome) -> Outcome:
    """With an infinite epsilon a bound may be a supremum that nothing attains: then there is no optimum."""
    infinite = any(
        isinstance(level, ApproximateDP) and any(bound.epsilon.infinite for bound in level.bounds)
        for level in problem.graph.levels
    )
    if not infinite or outcome.status is Status.INFEASIBLE:
        return outcome
    if outcome.rows is not None:
        from optimaldp.certify import verify

        if verify(Mechanism(problem.graph, problem.preferences, outcome.rows)).private:
            return outcome
    reason = "where epsilon is infinite every probability below 1 is allowed, but 1 itself is not, so nothing is best"
    return Outcome(Status.NO_OPTIMUM, outcome.route, witness={**outcome.witness, "reason": reason})


def _is_small(problem: Problem) -> bool:
    return 2 * problem.graph.edge_count <= EXACT_ARCS


def _with_level(graph: DatasetGraph, epsilon: Any, delta: Any, level: Level | None) -> DatasetGraph:
    if level is not None:
        return graph.with_level(level)
    if epsilon is not None:
        return graph.with_level(make_level(epsilon, delta))
    if not graph.has_levels and graph.edge_count:
        raise ProblemError("epsilon", None, "is missing", "give epsilon=, or levels on the graph; there is no default")
    return graph


def _read_preferences(graph: DatasetGraph, truth: Any, answers: Sequence[str] | None) -> Preferences:
    if isinstance(truth, Preferences):
        return truth
    if isinstance(truth, np.ndarray):
        return Preferences.of_truth(answers or ("yes", "no"), truth)
    if truth is None:
        raise ProblemError("truth", None, "is missing", "say which answer each dataset prefers")
    return Preferences.read(graph, truth, answers)


def _route(problem: Problem, exact: bool) -> Outcome:
    """Pick the cheapest route that decides."""
    from optimaldp.designing import homogeneous
    from optimaldp.designing.boundaries import RULES, balanced_boundary

    if problem.boundary not in (None, *RULES):
        raise ProblemError("boundary", problem.boundary, f"is not a rule: {', '.join(RULES)}")
    if homogeneous.is_plain(problem.graph):
        edge = boundary_of(problem.graph, problem.preferences)
        if problem.boundary:
            return homogeneous.design_homogeneous(problem, edge, balanced_boundary(problem))
        rows = homogeneous.constant_boundary(problem, edge)
        if rows is not None:
            broken = homogeneous.broken_boundary(problem, rows)
            return broken or homogeneous.design_homogeneous(problem, edge, rows)
    if problem.boundary:
        return _balanced(problem, exact)
    return _binary(problem, exact) if len(problem.answers) == 2 else _many(problem)


def _balanced(problem: Problem, exact: bool) -> Outcome:
    if exact:
        from optimaldp.designing.balanced import design_balanced

        return design_balanced(problem)
    from optimaldp.designing.large import design_large_balanced

    return design_large_balanced(problem)


def _binary(problem: Problem, exact: bool) -> Outcome:
    if exact:
        from optimaldp.designing.binary import design_binary

        return design_binary(problem)
    from optimaldp.designing.large import design_large_fixed

    return design_large_fixed(problem)


def _many(problem: Problem) -> Outcome:
    from optimaldp.designing.envelope import design_envelope, event_bounds
    from optimaldp.designing.linear_program import design_linear_program
    from optimaldp.designing.propagation import Propagator

    propagator = Propagator(problem.graph)
    bounds = event_bounds(problem, propagator)
    return design_envelope(problem, propagator, bounds) or design_linear_program(problem, bounds)
