"""A design read back from its file; the referee looks at it again, so a file that lies is refused."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Any, TypeVar

from optimaldp.certify.graphs.files import verify_claims
from optimaldp.certify.graphs.verdict import Verdict, verify
from optimaldp.designing.boundaries import BALANCED
from optimaldp.designing.outcome import Proof, Route, Status
from optimaldp.designing.result import Claim, Design
from optimaldp.designing.solving import solve
from optimaldp.designing.undominated import with_confirmed_rule
from optimaldp.errors import CertificateError, ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Certificate, Mechanism
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_problem, read_whole_design

Word = TypeVar("Word", bound=StrEnum)

_PRINTING_ERROR = 2.0**-48  # relative: more than 17 digits lose, less than designing in floats does (2**-44)


def read_design(document: object) -> Design:
    """Read what ``Design.to_json`` or ``optimaldp design`` wrote.

    **Guarantee.** A status of optimal is read only where the referee finds the mechanism private and, if there is a
    certificate, optimal; how that was proven, by which rule the boundary was chosen and what the certificate states are the
    referee's findings, not the file's words. Another status is read only where solving the problem again finds it.
    """
    if not isinstance(document, dict):
        raise ProblemError("file", document, "is not an object", "a design is a JSON object")
    status, route = _word(document, "status", Status), _word(document, "route", Route)
    proof = _word({"proof": Proof.FLOATING_POINT, **document}, "proof", Proof)
    witness = document.get("witness", {})
    if not isinstance(witness, dict):
        raise ProblemError("witness", witness, "is not an object", "it says why there is no optimum")
    if status is not Status.OPTIMAL:
        return _without_optimum(document, status, witness)
    problem, mechanism, certificate = read_whole_design(document)
    verdict = verify_claims(document, mechanism, certificate)
    if not verdict:
        raise CertificateError("status", "optimal", f"is not what the referee finds: {verdict.reason}")
    problem = with_confirmed_rule(problem)
    proven = _confirmed_proof(proof, verdict)
    if certificate is None:
        return Design(problem, status, route, mechanism, None, witness, proven, verdict)
    claim = Claim(mechanism, replace(certificate, statement=_statement(certificate, problem, proven)), problem)
    return Design(problem, status, route, mechanism, claim, witness, proven, verdict)


def _word(document: dict[str, Any], field: str, words: type[Word]) -> Word:
    try:
        return words(document[field])
    except (KeyError, ValueError):
        raise ProblemError(
            field, document.get(field), f"is none of {', '.join(words)}", "a design is what to_json or --output wrote"
        ) from None


def _without_optimum(document: dict[str, Any], status: Status, witness: dict[str, Any]) -> Design:
    """A design that is infeasible, or that has no optimum: solved again, since a witness proves nothing by itself."""
    if "mechanism" in document:
        raise CertificateError("status", str(status), "stands beside a mechanism", "a design that has one is optimal")
    problem = read_problem({field: document[field] for field in PROBLEM_FIELDS if field in document})
    if status is Status.NO_OPTIMUM and "undominated" in witness:
        mechanism = Mechanism.read(problem.graph, problem.preferences, witness["undominated"])
        if not (verdict := verify(mechanism)).private:
            raise CertificateError("witness.undominated", "a mechanism", f"is not private: {verdict.reason}")
    again = solve(problem)
    if again.status is not status:
        raise CertificateError("status", str(status), f"is not what solving the problem again finds: {again.status}")
    return again


def _confirmed_proof(claimed: Proof, verdict: Verdict) -> Proof:
    """What the referee proved; what is claimed to be exact may have been printed with 17 digits since."""
    if verdict.proof is None or verdict.gap is None:
        return Proof.FLOATING_POINT
    return Proof.EXACT if claimed is Proof.EXACT and verdict.gap <= _PRINTING_ERROR else Proof(verdict.proof)


def _statement(certificate: Certificate, problem: Problem, proof: Proof) -> str:
    """The sentence of a certificate if it is one of ours, else what the referee has found."""
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
