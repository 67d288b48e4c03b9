"""A design read back from its file; the referee looks at it again, so a file that lies is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeVar

from optimaldp.certify.graphs.files import verify_claims
from optimaldp.certify.graphs.verdict import Verdict, verify
from optimaldp.designing.boundaries import BALANCED, UNDOMINATED, with_chosen_boundary
from optimaldp.designing.outcome import Proof, Route, Status
from optimaldp.designing.result import Claim, Design
from optimaldp.errors import CertificateError, ProblemError
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Certificate, Mechanism
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_problem, read_whole_design

Word = TypeVar("Word", bound=StrEnum)

_PRINTED = 2.0**-48  # relative: more than 17 digits lose, less than designing in floats does (2**-44)
_CLOSE = Fraction(1, 10**6)  # rows that a rule chose in floating point may differ by less from one machine to another


def read_design(document: object) -> Design:
    """Read what ``Design.to_json`` or ``optimaldp design`` wrote.

    **Guarantee.** A status of optimal is read only where the referee finds the mechanism private and, if there is a
    certificate, optimal; how that was proven, by which rule the boundary was chosen and what the certificate states are the
    referee's findings, not the file's words. A witness is read as it stands, but a mechanism in it is private.
    """
    if not isinstance(document, dict):
        raise ProblemError("file", document, "is not an object", "a design is a JSON object")
    status, route = _word(document, "status", Status), _word(document, "route", Route)
    proof = _word({"proof": Proof.FLOATING_POINT, **document}, "proof", Proof)
    witness = document.get("witness", {})
    if not isinstance(witness, dict):
        raise ProblemError("witness", witness, "is not an object", "it says why there is no optimum")
    if status is not Status.OPTIMAL:
        return _without_optimum(document, status, route, witness, proof)
    problem, mechanism, certificate = read_whole_design(document)
    verdict = verify_claims(document, mechanism, certificate)
    if not verdict:
        raise CertificateError("status", "optimal", f"is not what the referee finds: {verdict.reason}")
    problem = replace(problem, rule=_confirmed_rule(problem))
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


def _without_optimum(
    document: dict[str, Any], status: Status, route: Route, witness: dict[str, Any], proof: Proof
) -> Design:
    """A design that is infeasible, or that has no optimum; the latter may come with a private mechanism in its witness."""
    if "mechanism" in document:
        raise CertificateError("status", str(status), "stands beside a mechanism", "a design that has one is optimal")
    problem = read_problem({field: document[field] for field in PROBLEM_FIELDS if field in document})
    problem = replace(problem, rule=_confirmed_rule(problem))
    rows = witness.get("undominated") if status is Status.NO_OPTIMUM else None
    if rows is None:
        return Design(problem, status, route, None, None, witness, proof)
    mechanism = Mechanism.read(problem.graph, problem.preferences, rows)
    verdict = verify(mechanism)
    if not verdict.private:
        raise CertificateError("witness.undominated", "a mechanism", f"is not private: {verdict.reason}")
    rest = {field: value for field, value in witness.items() if field != "undominated"}
    return Design(problem, status, route, mechanism, None, rest, proof)


def _confirmed_rule(problem: Problem) -> str | None:
    """The rule that a file names for the rows of its boundary, if it chooses them when it is asked again."""
    if problem.rule != UNDOMINATED or isinstance(problem.boundary, str) or not problem.boundary:
        return None
    asked = Problem(problem.graph, problem.preferences, {}, UNDOMINATED)
    again = with_chosen_boundary(asked).boundary
    assert isinstance(again, Mapping)
    same = again.keys() == problem.boundary.keys() and all(
        abs(p - q) <= _CLOSE for number, row in again.items() for p, q in zip(row, problem.boundary[number])
    )
    return UNDOMINATED if same else None


def _confirmed_proof(claimed: Proof, verdict: Verdict) -> Proof:
    """What the referee proved; what is claimed to be exact may have been printed with 17 digits since."""
    if verdict.proof is None or verdict.gap is None:
        return Proof.FLOATING_POINT
    return Proof.EXACT if claimed is Proof.EXACT and verdict.gap <= _PRINTED else Proof(verdict.proof)


def _statement(certificate: Certificate, problem: Problem, proof: Proof) -> str:
    """The sentence of a certificate if it is one of ours, else what the referee has found."""
    values = "given values" if problem.boundary is None else "boundary values"
    words = [
        f"greatest among the private mechanisms with the same {each} (dominance order)"
        for each in (values, "given values")
    ]
    own = [*words, *(f"{each}, up to rounding" for each in words)]
    own += [f"{words[0]}; balanced boundary"] if problem.boundary == BALANCED else []
    if certificate.statement in own:
        return certificate.statement
    return words[0] if proof is Proof.EXACT else f"{words[0]}, up to rounding"
