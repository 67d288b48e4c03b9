"""The last gate: the referee looks at everything before it is handed out."""

from __future__ import annotations

from collections.abc import Sequence

from optimaldp.certify.graphs.privacy import is_private
from optimaldp.certify.graphs.verdict import verify
from optimaldp.designing.impossible import UNATTAINED
from optimaldp.designing.outcome import NoRoomError, Outcome, Proof, Route, Status
from optimaldp.designing.result import Claim, Design
from optimaldp.designing.witnesses import with_proof
from optimaldp.errors import NotCertifiedError
from optimaldp.graphs.edge_levels import sample_levels
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Claimed, Mechanism, SharedRows
from optimaldp.privacy import ApproximateDP, Level


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
        if rounded and kept is None and not has_infinite(problem.graph.levels):
            raise NoRoomError(problem)
        paths = outcome.route is not Route.LINEAR_PROGRAM  # which says itself what is not attained
        if kept is None and paths and outcome.status is Status.NO_OPTIMUM and has_infinite(problem.graph.levels):
            return _unattained(problem, outcome)
        said = outcome.claim if kept is not None else None
        return Design(problem, outcome.status, outcome.route, kept, None, outcome.witness, proof, claim=said)
    claim = None if outcome.certificate is None else Claim(mechanism, outcome.certificate, problem)
    verdict = claim.check() if claim else verify(mechanism)
    if not verdict.private and has_infinite(problem.graph.levels):
        return _unattained(problem, outcome)
    if verdict.private and not verdict and claim is not None and claim.proof.weighing is not None:
        # Rounding left a proof with too large a gap: the mechanism is private, and that is all that is said.
        bare = verify(mechanism)
        return Design(problem, None, outcome.route, mechanism, None, {"reason": verdict.reason}, proof, bare)
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
    return Design(problem, Status.NO_OPTIMUM, outcome.route, None, None, {**outcome.witness, "reason": UNATTAINED})


def has_infinite(levels: Sequence[Level]) -> bool:
    """Whether one of the levels has a bound of infinite epsilon."""
    return any(
        isinstance(level, ApproximateDP) and any(bound.epsilon.infinite for bound in level.bounds)
        for level in sample_levels(levels)
    )
