"""The front door of the designer: it reads the problem, picks the route, and says which one it took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from optimaldp.designing import homogeneous
from optimaldp.designing.binary import design_binary
from optimaldp.designing.boundaries import BALANCED, UNDOMINATED, design_balanced, given_boundary
from optimaldp.designing.fair import design_fair, need_two_answers
from optimaldp.designing.many import design_many
from optimaldp.designing.outcome import NoRoomError, Outcome
from optimaldp.designing.passing import has_infinite, passed
from optimaldp.designing.raised import design_raised
from optimaldp.designing.result import Design
from optimaldp.designing.undominated import with_chosen_boundary, with_confirmed_rule
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs import boundary as boundary_of
from optimaldp.graphs.edge_levels import sample_levels
from optimaldp.graphs.problem import FAIR, RAISED, Problem, default_rule, read_boundary, read_fixed
from optimaldp.graphs.readers import read_graph
from optimaldp.privacy import GaussianDP, Level
from optimaldp.privacy import level as make_level

EXACT_ARCS = 20_000  # graphs up to this size are designed in exact arithmetic by default
EXACT_ARCS_OF_MANY = 4_000  # with more than two answers
MOST_GAUSSIAN_ARCS = 500_000
MOST_EXACT_ARCS = 200_000  # and up to this one if floats leave no room: some minutes


def design(
    graph: object,
    truth: object = None,
    *,
    answers: Sequence[str] | None = None,
    epsilon: object = None,
    delta: object = 0,
    level: Level | None = None,
    fixed: Mapping[Any, Mapping[str, Any]] | None = None,
    boundary: str | Mapping[Any, Mapping[str, Any]] | None = None,
    exact: bool | None = None,
) -> Design:
    """Find the best private mechanism on a graph of datasets.

    **Guarantee.** With status ``optimal`` the mechanism is private on every edge at the stated levels and dominates every private
    mechanism that has the same given (or boundary) values: for each dataset and each k, no other gives its k most wanted
    answers a larger probability. The referee has checked both before this returns.

    *graph* is a :class:`DatasetGraph`, a networkx graph or a scipy sparse matrix; of the last two the nodes (whole numbers,
    pairs) are the keys of *truth* and *fixed*, and of the mechanism. *truth* is a function, mapping or array that gives each
    dataset its true answer (two answers) or all answers, most wanted first. *epsilon* and *delta* set the level of every edge;
    leave them out if the graph has its own. *fixed* gives
    distributions of some datasets. *boundary* chooses them on the boundary instead: the rule ``"fair"`` (two answers: nobody's
    chance of the true answer can be raised without lowering somebody's that is no better), the rule ``"raised"`` (nothing
    dominates the result), the rule ``"balanced"`` of the papers, or a row for each preference
    (``{"yes": {"yes": 0.7, "no": 0.3}, …}``, for more answers ``{"a>b>c": …}``). If neither is given the rule is fair for two
    answers and raised for more.

    >>> from optimaldp import graphs
    >>> found = design(graphs.votes(3), graphs.majority, epsilon="ln(2)", delta="0.1")
    >>> found.mechanism["111"]
    {'yes': Fraction(9, 10), 'no': Fraction(1, 10)}
    """
    made = read_graph(graph, has_level=epsilon is not None or level is not None)
    leveled = _with_level(made, epsilon, delta, level)
    preferences = _read_preferences(leveled, truth, answers)
    if fixed is not None and boundary is not None:
        raise ProblemError("boundary", boundary, "was given together with fixed values", "give one of them")
    if fixed is not None:
        return solve(Problem(leveled, preferences, read_fixed(leveled, preferences.answers, fixed)), exact=exact)
    rule = read_boundary(preferences, boundary or default_rule(preferences))
    return solve(Problem(leveled, preferences, {}, rule), exact=exact)


def solve(problem: Problem, *, exact: bool | None = None) -> Design:
    """Solve a whole problem, for instance one read from a file; the referee passes whatever is handed out.

    *exact* decides between rationals and floats that are rounded to the safe side; left out, the size of the graph does.
    """
    if problem.boundary == RAISED:
        if (raised := design_raised(problem)) is not None:
            return passed(problem, raised)
        problem = replace(problem, boundary=UNDOMINATED)
    if problem.rule is not None or problem.boundary == UNDOMINATED:
        problem = with_chosen_boundary(with_confirmed_rule(problem))
    gaussian = any(isinstance(level, GaussianDP) for level in sample_levels(problem.graph.levels))
    rational = _is_small(problem) or _gaussian_fits(problem, gaussian) if exact is None else exact
    try:
        return passed(problem, _route(problem, rational))
    except NoRoomError:
        if exact is False or 2 * problem.graph.edge_count > MOST_EXACT_ARCS:
            raise
        return passed(problem, _route(problem, True))


def _gaussian_fits(problem: Problem, gaussian: bool) -> bool:
    """Gaussian levels have no compiled search: about a millisecond for each arc, and a limit that says so."""
    arcs = 2 * problem.graph.edge_count
    if gaussian and arcs > MOST_GAUSSIAN_ARCS and not homogeneous.is_plain(problem.graph):
        raise ProblemError(
            "privacy",
            f"{arcs} arcs",
            f"are more than {MOST_GAUSSIAN_ARCS} with a Gaussian level among several: those are designed in exact "
            "arithmetic, a millisecond for each arc",
            "use (epsilon, delta), one level for all edges, or a quotient; exact=True waits",
        )
    return gaussian


def _is_small(problem: Problem) -> bool:
    if len(problem.answers) == 2:
        return 2 * problem.graph.edge_count <= EXACT_ARCS
    # With three answers the compiled search has no step of infinite epsilon.
    most = MOST_EXACT_ARCS if has_infinite(problem.graph.levels) else EXACT_ARCS_OF_MANY
    return 2 * problem.graph.edge_count <= most


def _with_level(graph: DatasetGraph, epsilon: object, delta: object, level: Level | None) -> DatasetGraph:
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
    plain = homogeneous.is_plain(problem.graph)
    if problem.boundary == FAIR:
        return _fair(problem, exact, plain=plain and not has_infinite(problem.graph.levels))
    if problem.boundary == BALANCED and len(problem.answers) == 2 and not plain:
        return design_balanced(problem) if exact else _large().design_large_balanced(problem)
    edge = boundary_of(problem.graph, problem.preferences)
    rows = given_boundary(problem, edge)
    if plain and rows is not None:
        broken = homogeneous.broken_boundary(problem, rows)
        return broken or homogeneous.design_homogeneous(problem, edge, rows)
    if problem.boundary == BALANCED and len(problem.answers) == 2:
        return design_balanced(problem) if exact else _large().design_large_balanced(problem)
    if problem.boundary is not None:
        assert rows is not None
        fixed = {v: rows[int(problem.preferences.of[v])] for v in np.flatnonzero(edge).tolist()}
        problem = Problem(problem.graph, problem.preferences, fixed)
    if len(problem.answers) == 2:
        return design_binary(problem) if exact else _large().design_large_fixed(problem)
    return design_many(problem, exact=exact)


def _fair(problem: Problem, exact: bool, *, plain: bool) -> Outcome:
    """The fair mechanism: one level makes it the balanced one, in closed form."""
    need_two_answers(problem, FAIR)
    if plain:
        return homogeneous.design_fair_closed(problem)
    return design_fair(problem) if exact else _large().design_large_fair(problem)


def _large() -> Any:
    from optimaldp.designing import large  # the compiled searches: only where they pay

    return large
