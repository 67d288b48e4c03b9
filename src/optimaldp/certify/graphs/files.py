"""The verdict on a file: a mechanism, what it was given, its certificate, and what the file says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from optimaldp.certify.graphs.verdict import EXACT, Verdict, verify
from optimaldp.errors import ProblemError
from optimaldp.mechanisms import Certificate, Mechanism
from optimaldp.mechanisms.documents import read_given, read_mechanism

_STATUSES = ("optimal", "infeasible", "no-optimum")
_PROOFS = (EXACT, "floating-point")


def verify_document(document: Any) -> tuple[Verdict, Mechanism]:
    """Check what ``optimaldp design`` wrote, or anything like it. What the file claims is compared, never repeated."""
    mechanism, certificate = read_mechanism(document)
    return verify_claims(document, mechanism, certificate), mechanism


def verify_claims(document: Mapping[str, Any], mechanism: Mechanism, certificate: Certificate | None) -> Verdict:
    """The same for a file that was read already."""
    status, proof = _word(document, "status", _STATUSES), _word(document, "proof", _PROOFS)
    verdict = verify(mechanism, certificate, **read_given(document, mechanism))
    return _compared(verdict, status, proof)


def _compared(verdict: Verdict, status: str | None, proof: str | None) -> Verdict:
    if status == "optimal" and verdict.private and verdict.optimal is None:
        if proof == EXACT:
            return replace(verdict, optimal=False, reason="the file claims an exact proof of optimality but holds none")
        return replace(verdict, reason=f"{verdict.reason}; the status 'optimal' of the file was not checked")
    if status not in (None, "optimal"):
        finding = "proves the mechanism optimal" if verdict.optimal else "says nothing of the kind"
        reason = (
            f"{verdict.reason}; the status {status!r} of the file is about a problem, and its certificate {finding}"
        )
        return replace(verdict, reason=reason)
    return verdict


def _word(document: Mapping[str, Any], field: str, words: tuple[str, ...]) -> str | None:
    value = document.get(field)
    if value is not None and value not in words:
        raise ProblemError(field, value, f"is none of {', '.join(words)}")
    return value
