"""The verdict on a file: a mechanism, what it was given, its certificate, and what the file says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from optimaldp.certify.graphs.duals import examine_impossibility
from optimaldp.certify.graphs.given import differing, given_rows
from optimaldp.certify.graphs.rounding import float_below
from optimaldp.certify.graphs.verdict import EXACT, EXACT_GAP, Verdict, verify
from optimaldp.errors import InputError, ProblemError
from optimaldp.mechanisms import Certificate, Claimed, Mechanism
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_given, read_mechanism, read_problem
from optimaldp.mechanisms.multipliers import INFEASIBLE, NO_OPTIMUM, read_impossibility
from optimaldp.privacy.numbers import read_number
from optimaldp.results import Result

_STATUSES = ("optimal", "infeasible", "no-optimum")
IMPOSSIBLE = (INFEASIBLE, NO_OPTIMUM)
_PROOFS = (EXACT, "floating-point")
PRINTING_ERROR = 2.0**-48  # relative: more than 17 digits lose, less than designing in floats does (2**-44)


@dataclass(frozen=True, repr=False)
class StatusVerdict(Result):
    """What the referee found about a status without an optimum: whether the witness proves it, and by how much.

    ``mechanism`` is the verdict on a mechanism that stands beside no-optimum, ``None`` without one.
    """

    status: str
    proven: bool
    margin: float | None
    reason: str
    mechanism: Verdict | None = None

    @property
    def proof(self) -> str | None:
        """``exact`` if the witness proves the status: multipliers are examined in rationals."""
        return EXACT if self.proven else None

    def summary(self) -> str:
        return f"StatusVerdict({self.status}, {'proven exactly' if self.proven else 'not proven'})"

    def details(self) -> list[tuple[str, str]]:
        return [("why", self.reason), ("margin", "" if self.margin is None else f"{self.margin:.3g}")]

    def to_document(self) -> dict[str, Any]:
        document = {
            "status": self.status,
            "proven": self.proven,
            "proof": self.proof,
            "margin": self.margin,
            "reason": self.reason,
        }
        return document | ({} if self.mechanism is None else {"mechanism": self.mechanism.to_document()})

    def __bool__(self) -> bool:
        return self.proven and (self.mechanism is None or bool(self.mechanism))


def verify_status(document: Mapping[str, Any]) -> StatusVerdict:
    """Examine the witness of a file whose status is infeasible or no-optimum, and the mechanism beside it."""
    status = str(document["status"])
    problem = read_problem({field: document[field] for field in PROBLEM_FIELDS if field in document})
    beside = None
    if "mechanism" in document:
        mechanism, certificate = read_mechanism(document)
        beside = verify(mechanism, certificate, **read_given(document, mechanism))
        if status == INFEASIBLE:
            reason = "a mechanism stands beside it: where one is private, something is feasible"
            return StatusVerdict(status, False, None, reason, beside)
    witness = document.get("witness")
    if not isinstance(witness, Mapping) or "kind" not in witness:
        said = witness.get("certificate") if isinstance(witness, Mapping) else None
        reason = f"the file holds no certificate of {status}" + (f" ({said})" if isinstance(said, str) else "")
        return StatusVerdict(status, False, None, reason, beside)
    if witness["kind"] != status:
        return StatusVerdict(status, False, None, f"the witness is about {witness['kind']!r}, not {status!r}", beside)
    try:
        proof = read_impossibility(witness, problem)
    except InputError as error:
        return StatusVerdict(status, False, None, f"witness rejected: {error}", beside)
    finding = examine_impossibility(problem, proof)
    margin = None if finding.margin is None else float_below(finding.margin)
    return StatusVerdict(status, finding.proven, margin, finding.reason, beside)


def verify_document(document: Any) -> tuple[Verdict, Mechanism]:
    """Check what ``optimaldp design`` wrote, or anything like it. What the file claims is compared, never repeated."""
    mechanism, certificate = read_mechanism(document)
    return verify_claims(document, mechanism, certificate), mechanism


def verify_claims(document: Mapping[str, Any], mechanism: Mechanism, certificate: Certificate | None) -> Verdict:
    """The same for a file that was read already."""
    status, proof = _word(document, "status", _STATUSES), _word(document, "proof", _PROOFS)
    verdict = verify(mechanism, certificate, **read_given(document, mechanism))
    fault = _false_word(document, mechanism, verdict, status, proof) if verdict.private else ""
    return replace(verdict, optimal=False, claim=None, reason=fault) if fault else verdict


def _false_word(
    document: Mapping[str, Any], mechanism: Mechanism, verdict: Verdict, status: str | None, proof: str | None
) -> str:
    """What the file says of a private mechanism that the referee finds otherwise, or nothing."""
    printed = _has_decimals(document["mechanism"])
    if name := _contradicted(document, mechanism, exactly=proof == EXACT and not printed):
        return f"the row of {name!r} is not the one that 'fixed' gives"
    if verdict.optimal is None:
        return "the file claims an exact proof but holds none" if status == "optimal" and proof == EXACT else ""
    if not verdict.optimal or verdict.gap is None:
        return ""
    claim, said = _word(document, "claim", tuple(Claimed)), document.get("gap")
    if claim is not None and claim != verdict.claim:
        return f"the file claims {claim!r}, and its certificate proves {str(verdict.claim)!r}"
    allowed = PRINTING_ERROR if printed else EXACT_GAP
    if proof == EXACT and verdict.gap > allowed:
        return f"the file claims an exact proof, and the referee finds a gap of {verdict.gap:.3g}"
    if said is not None and verdict.gap > max(allowed, float(read_number(said, name="gap", error=ProblemError))):
        return f"the file claims a gap of {said}, and the referee finds {verdict.gap:.3g}"
    return ""


def _has_decimals(rows: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether probabilities were printed as decimal numbers, which round; exact ones are texts or whole numbers."""
    return any(isinstance(p, (float, Decimal)) for row in rows.values() for p in row.values())


def _contradicted(document: Mapping[str, Any], mechanism: Mechanism, *, exactly: bool) -> str | None:
    """A dataset whose row is not the one that the problem fixes, if there is one."""
    allowed = given_rows(mechanism, read_given(document, mechanism).get("fixed"), None)
    given = allowed.of >= 0
    for vertex in differing(mechanism, allowed, given):
        return mechanism.graph.names[vertex]
    for vertex in np.flatnonzero(given).tolist() if exactly else ():
        if mechanism.rows.row(vertex) != allowed.row(vertex):
            return mechanism.graph.names[vertex]
    return None


def _word(document: Mapping[str, Any], field: str, words: tuple[str, ...]) -> str | None:
    value = document.get(field)
    if value is not None and value not in words:
        raise ProblemError(field, value, f"is none of {', '.join(words)}")
    return value
