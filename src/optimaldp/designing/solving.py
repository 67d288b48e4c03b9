"""The front door of the designer: a problem or a file in, a design that the referee has passed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from optimaldp.certify.graphs.privacy import is_private
from optimaldp.certify.graphs.verdict import (
    IMPOSSIBLE,
    PRINTING_ERROR,
    DesignVerdict,
    StatusVerdict,
    verify,
    verify_claims,
    verify_document,
    verify_status,
)
from optimaldp.designing import homogeneous
from optimaldp.designing.impossibility import UNATTAINED, UNPROVEN, with_proof
from optimaldp.designing.many import design_many
from optimaldp.designing.raised import design_raised, with_chosen_boundary, with_confirmed_rule
from optimaldp.designing.result import Claim, Design, NoRoomError, Outcome, Proof, Route, Status
from optimaldp.designing.two_answers import (
    design_balanced,
    design_binary,
    design_fair,
    given_boundary,
    need_two_answers,
)
from optimaldp.errors import CertificateError, NotCertifiedError, ProblemError
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs import boundary as boundary_of
from optimaldp.graphs.dataset_graph import sample_levels
from optimaldp.graphs.problem import (
    BALANCED,
    FAIR,
    RAISED,
    UNDOMINATED,
    Problem,
    default_rule,
    read_boundary,
    read_fixed,
)
from optimaldp.graphs.readers import read_graph
from optimaldp.mechanisms import Certificate, Claimed, Mechanism, SharedRows
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_problem, read_whole_design
from optimaldp.privacy import ApproximateDP, GaussianDP, Level
from optimaldp.privacy import level as make_level

# The front door of the designer: it reads the problem, picks the route, and says which one it took.


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
    answers and raised for more. *exact* as in :func:`solve`.

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

    >>> from optimaldp import graphs
    >>> found = design(graphs.votes(3), graphs.majority, epsilon="ln(2)", delta="0.1")
    >>> solve(found.problem).mechanism["111"]
    {'yes': Fraction(9, 10), 'no': Fraction(1, 10)}
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


# The last gate: the referee looks at everything before it is handed out.


def passed(problem: Problem, outcome: Outcome) -> Design:
    """The design that an outcome makes, checked by the referee.

    **Guarantee.** With status optimal the mechanism is private, and if it comes with a certificate that proves it optimal; a
    mechanism that comes with another status is private. Anything else is an error.
    """
    outcome = with_proof(problem, outcome)
    proof = Proof.EXACT if outcome.exact else Proof.FLOATING_POINT
    mechanism = None if outcome.rows is None else Mechanism(problem.graph, problem.preferences, outcome.rows)
    if mechanism is None or (outcome.status is not Status.OPTIMAL and outcome.certificate is None):
        kept = mechanism if mechanism is not None and is_private(mechanism) else None
        rounded = outcome.rows is not None and not isinstance(outcome.rows, SharedRows)
        if rounded and kept is None:
            raise NoRoomError(problem)
        paths = outcome.route is not Route.LINEAR_PROGRAM  # which says itself what is not attained
        if kept is None and paths and outcome.status is Status.NO_OPTIMUM and has_infinite(problem.graph.levels):
            return _unattained(problem, outcome)
        said = outcome.claim if kept is not None else None
        return Design(problem, outcome.status, outcome.route, kept, None, outcome.witness, proof, claim=said)
    claim = None if outcome.certificate is None else Claim(mechanism, outcome.certificate, problem)
    verdict = claim.check() if claim else verify(mechanism)
    if not verdict.private and has_infinite(problem.graph.levels) and isinstance(outcome.rows, SharedRows):
        return _unattained(problem, outcome)
    if verdict.private and not verdict and claim is not None and claim.proof.weighing is not None:
        # Rounding left a proof with too large a gap: the mechanism is private, and that is all that is said.
        status, why = None, {"reason": verdict.reason}
        if outcome.status is Status.NO_OPTIMUM:
            status, why = outcome.status, outcome.witness
        return Design(problem, status, outcome.route, mechanism, None, why, proof, verify(mechanism))
    if not verdict:
        if not isinstance(outcome.rows, SharedRows):
            raise NoRoomError(problem)
        raise NotCertifiedError(f"the referee does not pass what was designed: {verdict.reason}")
    proven = Proof.FLOATING_POINT if verdict.proof is None else Proof(verdict.proof)
    said = claim.proof.claim if claim is not None else outcome.claim or Claimed.GREATEST
    return Design(
        problem, outcome.status, outcome.route, mechanism, claim, outcome.witness, proven, verdict, said, verdict.gap
    )


def _unattained(problem: Problem, outcome: Outcome) -> Design:
    """With an infinite epsilon a bound may be a supremum that nothing attains."""
    return Design(
        problem,
        Status.NO_OPTIMUM,
        outcome.route,
        None,
        None,
        {**outcome.witness, "reason": UNATTAINED, "certificate": UNPROVEN},
    )


def has_infinite(levels: Sequence[Level]) -> bool:
    """Whether one of the levels has a bound of infinite epsilon."""
    return any(
        isinstance(level, ApproximateDP) and any(bound.epsilon.infinite for bound in level.bounds)
        for level in sample_levels(levels)
    )


# A design read back from its file; the referee looks at it again, so a file that lies is refused.


Word = TypeVar("Word", bound=StrEnum)

_SAME = 1e-9  # rows that floating point found may differ by so much from one machine to another


def read_design(document: object) -> Design:
    """Read what ``Design.to_json`` or ``optimaldp design`` wrote.

    **Guarantee.** A status of optimal is read only where the referee finds the mechanism private and its certificate proves it
    optimal; without a certificate the problem is solved again, and the mechanism must be what that finds. How that was
    proven, by which rule the boundary was chosen and what the certificate states are the referee's findings, not the file's
    words. Another status is read only where solving the problem again finds it.
    """
    if not isinstance(document, dict):
        raise ProblemError("file", document, "is not an object", "a design is a JSON object")
    undecided = "status" in document and document["status"] is None
    status, route = None if undecided else _word(document, "status", Status), _word(document, "route", Route)
    proof = _word({"proof": Proof.FLOATING_POINT, **document}, "proof", Proof)
    witness = document.get("witness", {})
    if not isinstance(witness, dict):
        raise ProblemError("witness", witness, "is not an object", "it says why there is no optimum")
    if status in (Status.INFEASIBLE, Status.NO_OPTIMUM):
        return _without_optimum(document, status)
    problem, mechanism, certificate = read_whole_design(document)
    verdict = verify_claims(document, mechanism, certificate)
    if not verdict:
        raise CertificateError("status", str(status or "undecided"), f"is not what the referee finds: {verdict.reason}")
    problem = with_confirmed_rule(problem)
    proven = _confirmed_proof(proof, verdict)
    if certificate is None and status is Status.OPTIMAL:
        return solved_again(problem, mechanism)
    if certificate is None:
        return Design(problem, status, route, mechanism, None, witness, proven, verdict)
    claim = Claim(mechanism, replace(certificate, statement=_statement(certificate, problem, proven)), problem)
    return Design(problem, status, route, mechanism, claim, witness, proven, verdict, certificate.claim, verdict.gap)


def solved_again(problem: Problem, mechanism: Mechanism, said: str = Status.OPTIMAL) -> Design:
    """What solving finds, if it is the mechanism of a file that holds no certificate for its status or claim; else an error."""
    again = solve(problem)
    rows = None if again.mechanism is None else again.mechanism.to_array()
    found = again.status if said == Status.OPTIMAL else again.claim
    if found != said or rows is None or np.abs(rows - mechanism.to_array()).max() > _SAME:
        field = "status" if said == Status.OPTIMAL else "claim"
        raise CertificateError(field, said, "has no certificate, and solving the problem again finds something else")
    return again


def examined(published: Design | Mapping[str, Any]) -> DesignVerdict | StatusVerdict:
    """What the referee finds about a design or its document: a mechanism with its claim, or a proof that there is none."""
    document = published.to_document() if isinstance(published, Design) else published
    if document.get("status") not in IMPOSSIBLE:
        return confirmed(document, verify_document(document)[0])
    verdict = verify_status(document)
    return verdict if verdict.mechanism is None else replace(verdict, mechanism=confirmed(document, verdict.mechanism))


def confirmed(document: Mapping[str, Any], verdict: DesignVerdict) -> DesignVerdict:
    """A verdict on a file together with what only solving can tell: a rule, and an optimum or a claim without a certificate."""
    said = Status.OPTIMAL if document.get("status") == Status.OPTIMAL else document.get("claim")
    unproven = said if verdict.optimal is None else None
    if not verdict or (unproven is None and document.get("rule") is None):
        return verdict
    try:
        problem, mechanism, _ = read_whole_design(document)
        with_confirmed_rule(problem)
        if unproven is not None:
            solved_again(problem, mechanism, unproven)
            return replace(verdict, reason=f"{verdict.reason}; solving the problem again finds this mechanism")
        return verdict
    except CertificateError as error:
        return replace(verdict, optimal=False, claim=None, reason=str(error))


def _word(document: dict[str, Any], field: str, words: type[Word]) -> Word:
    try:
        return words(document[field])
    except (KeyError, ValueError):
        raise ProblemError(
            field, document.get(field), f"is none of {', '.join(words)}", "a design is what to_json or --output wrote"
        ) from None


def _without_optimum(document: dict[str, Any], status: Status) -> Design:
    """A design that is infeasible, or that has no optimum: solved again, since a witness proves nothing by itself."""
    if status is Status.INFEASIBLE and "mechanism" in document:
        raise CertificateError("status", str(status), "stands beside a mechanism", "a private one would be feasible")
    problem = read_problem({field: document[field] for field in PROBLEM_FIELDS if field in document})
    if "mechanism" in document:
        mechanism = Mechanism.read(problem.graph, problem.preferences, document["mechanism"])
        if not (verdict := verify(mechanism)).private:
            raise CertificateError("mechanism", str(status), f"is not private: {verdict.reason}")
    again = solve(problem)
    if again.status is not status:
        raise CertificateError("status", str(status), f"is not what solving the problem again finds: {again.status}")
    return again


def _confirmed_proof(claimed: Proof, verdict: DesignVerdict) -> Proof:
    """What the referee proved; what is claimed to be exact may have been printed with 17 digits since."""
    if verdict.proof is None or verdict.gap is None:
        return Proof.FLOATING_POINT
    return Proof.EXACT if claimed is Proof.EXACT and verdict.gap <= PRINTING_ERROR else Proof(verdict.proof)


def _statement(certificate: Certificate, problem: Problem, proof: Proof) -> str:
    """The sentence of a certificate if it is one of ours, else what the referee has found."""
    if certificate.claim is not Claimed.GREATEST:
        return certificate.claim.words
    values = "given values" if problem.boundary is None else "boundary values"
    sentences = [
        f"greatest among the private mechanisms with the same {each} (dominance order)"
        for each in (values, "given values")
    ]
    own = [*sentences, *(f"{each}, up to rounding" for each in sentences)]
    own += [f"{sentences[0]}; balanced boundary"] if problem.boundary == BALANCED else []
    if certificate.statement in own:
        return certificate.statement
    return sentences[0] if proof is Proof.EXACT else f"{sentences[0]}, up to rounding"
