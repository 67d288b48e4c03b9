"""A design read back from its file; the referee looks at it again, so a file that lies is refused."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np

from optimaldp.certify.graphs.files import PRINTING_ERROR, verify_claims
from optimaldp.certify.graphs.verdict import Verdict, verify
from optimaldp.designing.boundaries import BALANCED
from optimaldp.designing.outcome import Proof, Route, Status
from optimaldp.designing.result import Claim, Design
from optimaldp.designing.solving import solve
from optimaldp.designing.undominated import with_confirmed_rule
from optimaldp.errors import CertificateError, ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Certificate, Claimed, Mechanism
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_problem, read_whole_design

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
        raise CertificateError("status", status or "undecided", f"is not what the referee finds: {verdict.reason}")
    problem = with_confirmed_rule(problem)
    proven = _confirmed_proof(proof, verdict)
    if certificate is None and status is Status.OPTIMAL:
        return solved_again(problem, mechanism)
    if certificate is None:
        return Design(problem, status, route, mechanism, None, witness, proven, verdict)
    claim = Claim(mechanism, replace(certificate, statement=_statement(certificate, problem, proven)), problem)
    return Design(problem, status, route, mechanism, claim, witness, proven, verdict, certificate.claim, verdict.gap)


def solved_again(problem: Problem, mechanism: Mechanism) -> Design:
    """What solving finds, if it is the mechanism that a file calls optimal without a certificate; otherwise an error."""
    again = solve(problem)
    rows = None if again.mechanism is None else again.mechanism.to_array()
    if again.status is not Status.OPTIMAL or rows is None or np.abs(rows - mechanism.to_array()).max() > _SAME:
        raise CertificateError(
            "status", "optimal", "has no certificate, and solving the problem again finds something else"
        )
    return again


def confirmed(document: dict[str, Any], verdict: Verdict) -> Verdict:
    """A verdict on a file together with what only solving can tell: a rule, and an optimum without a certificate."""
    unproven = document.get("status") == Status.OPTIMAL and verdict.optimal is None
    if not verdict or not (unproven or document.get("rule") is not None):
        return verdict
    try:
        problem, mechanism, _ = read_whole_design(document)
        with_confirmed_rule(problem)
        if unproven:
            solved_again(problem, mechanism)
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


def _confirmed_proof(claimed: Proof, verdict: Verdict) -> Proof:
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
