"""A design read back from its file; the referee looks at it again, so a file that lies is refused."""

from __future__ import annotations

from optimaldp.certify.graphs.files import verify_claims
from optimaldp.designing.outcome import Proof, Route, Status
from optimaldp.designing.result import Claim, Design
from optimaldp.errors import CertificateError, ProblemError
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_problem, read_whole_design


def read_design(document: object) -> Design:
    """Read what ``Design.to_json`` or ``optimaldp design`` wrote.

    **Guarantee.** A status of optimal is read only where the referee finds the mechanism private and, if there is a
    certificate, optimal. A witness is read as it stands.
    """
    if not isinstance(document, dict):
        raise ProblemError("file", document, "is not an object", "a design is a JSON object")
    try:
        status, route = Status(document["status"]), Route(document["route"])
        proof = Proof(document.get("proof", Proof.FLOATING_POINT))
    except (KeyError, ValueError) as error:
        raise ProblemError(
            "status", document.get("status"), f"or its route or proof cannot be read ({error})"
        ) from None
    witness = document.get("witness", {})
    if status is not Status.OPTIMAL:
        problem = read_problem({field: document[field] for field in PROBLEM_FIELDS if field in document})
        return Design(problem, status, route, None, None, witness, proof)
    problem, mechanism, certificate = read_whole_design(document)
    verdict = verify_claims(document, mechanism, certificate)
    if not verdict:
        raise CertificateError("status", "optimal", f"is not what the referee finds: {verdict.reason}")
    claim = None if certificate is None else Claim(mechanism, certificate, problem)
    return Design(problem, status, route, mechanism, claim, witness, proof, verdict)
