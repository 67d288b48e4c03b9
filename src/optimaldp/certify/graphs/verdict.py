"""The verdict on a mechanism: private or not, optimal or not, and how far from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.certify.graphs.duals import examine_impossibility
from optimaldp.certify.graphs.given import Boundary, Fixed, GivenRows, differing, given_rows
from optimaldp.certify.graphs.optimality import OptimalityCheck, check_fair, check_optimality, rejected
from optimaldp.certify.graphs.privacy import LongRows, check_privacy, row_fault
from optimaldp.certify.graphs.rounding import float_below
from optimaldp.errors import InputError, ProblemError
from optimaldp.graphs.dataset_graph import sample_levels
from optimaldp.mechanisms import Certificate, Claimed, FloatRows, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import INFEASIBLE, NO_OPTIMUM, read_impossibility
from optimaldp.mechanisms.documents import PROBLEM_FIELDS, read_given, read_mechanism, read_problem
from optimaldp.privacy import ApproximateDP
from optimaldp.privacy.numbers import read_number
from optimaldp.results import Verdict

EXACT, FLOATING_POINT = "exact", "floating-point"
# Rationals leave a gap of 0; where e^epsilon is irrational it is replaced by a rational within 2^-160, which is still below.
EXACT_GAP = 1e-30
_MANY_ROWS = 5000  # different rows: with fewer, rationals take a second at most


@dataclass(frozen=True, repr=False)
class DesignVerdict(Verdict):
    """What the referee found.

    ``epsilon`` is the least epsilon at the given deltas over all edges, rounded up; ``worst_edge`` names the edge that uses
    it, or the one that breaks its promise most. ``optimal`` is ``None`` if no certificate was given. ``gap`` is 0 where
    optimality was proven exactly; otherwise the largest relative gap that rounding left.
    """

    private: bool
    worst_edge: tuple[str, str] | None
    epsilon: float
    optimal: bool | None
    gap: float | None
    reason: str
    claim: Claimed | None = None
    """What was proven of the mechanism; ``None`` if nothing was."""

    @property
    def proof(self) -> str | None:
        """How optimality was proven: ``exact``, or ``floating-point`` up to a gap that rounding left; ``None`` if it was not."""
        if not self.optimal or self.gap is None:
            return None
        return EXACT if self.gap <= EXACT_GAP else FLOATING_POINT

    def summary(self) -> str:
        phrases = ["private" if self.private else "not private"]
        if self.optimal is not None:
            proven = f"{self.claim or 'optimal'}, proven {'exactly' if self.proof == EXACT else 'in floating point'}"
            phrases.append(proven if self.optimal else "not proven optimal")
        edge = f", worst edge {' – '.join(self.worst_edge)}" if self.worst_edge else ""
        return f"DesignVerdict({', '.join(phrases)}, least epsilon {self.epsilon:.6g}{edge})"

    def details(self) -> list[tuple[str, str]]:
        return [("why", self.reason), ("gap", "" if self.gap is None else f"{self.gap:.3g}")]

    def to_document(self) -> dict[str, Any]:
        return {
            "private": self.private,
            "worst_edge": list(self.worst_edge or ()),
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else "inf",
            "optimal": self.optimal,
            "proof": self.proof,
            "claim": self.claim,
            "gap": self.gap,
            "reason": self.reason,
        }

    def __bool__(self) -> bool:
        return self.private and self.optimal is not False


def verify(
    mechanism: Mechanism,
    certificate: Certificate | None = None,
    *,
    fixed: Fixed | None = None,
    boundary: Boundary | None = None,
) -> DesignVerdict:
    """Check privacy on every edge, and optimality if a certificate comes along.

    **Guarantee.** ``private`` is decided exactly, from the rows and the levels alone: every edge, both directions, every event.
    ``optimal`` is true only if every prefix sum reaches a bound that the certificate proves for all private mechanisms with
    the same values on the given datasets. Given is what the problem says: *fixed* distributions by dataset number, or a
    *boundary*: the rule ``"balanced"``, which is computed again, or a row for the number of each preference. A certificate
    that takes anything else as given is rejected.

    >>> from optimaldp import graphs, level
    >>> pair = graphs.line(2, level=level("ln(2)"))
    >>> rows = {"0": {"yes": "2/3", "no": "1/3"}, "1": {"yes": "1/3", "no": "2/3"}}
    >>> verify(Mechanism.read(pair, {"0": "yes", "1": "no"}, rows))
    DesignVerdict(private, least epsilon 0.693147, worst edge 0 – 1)
    """
    mechanism = as_floats_first(mechanism)
    privacy = check_privacy(mechanism)
    edge, graph = None, mechanism.graph
    if privacy.worst is not None:
        edge = graph.names[int(graph.tails[privacy.worst])], graph.names[int(graph.heads[privacy.worst])]
    if not privacy.private:
        optimal = None if certificate is None else False
        return DesignVerdict(False, edge, privacy.epsilon, optimal, None, privacy.reason)
    if certificate is None:
        return DesignVerdict(
            True, edge, privacy.epsilon, None, None, "every promise is kept; no certificate of optimality was given"
        )
    given = given_rows(mechanism, fixed, boundary)
    finding = _check_claim(mechanism, certificate, given)
    claim = certificate.claim if finding.optimal else None
    return DesignVerdict(True, edge, privacy.epsilon, finding.optimal, finding.gap, finding.reason, claim)


def _check_claim(mechanism: Mechanism, certificate: Certificate, given: GivenRows) -> OptimalityCheck:
    """Check the proof that belongs to the claim; another proof, however good, proves something else."""
    weighing, claim = certificate.weighing, certificate.claim
    if claim is Claimed.FAIR:
        return check_fair(mechanism, certificate, given)
    proves = (
        Claimed.GREATEST if weighing is None else Claimed.WITHIN_CLASSES if weighing.within else Claimed.UNDOMINATED
    )
    if claim is not proves:
        return rejected(f"it claims {str(claim)!r}, but what it holds could only prove {str(proves)!r}")
    return check_optimality(mechanism, certificate, given)


def as_floats_first(mechanism: Mechanism) -> Mechanism:
    """The same mechanism, its rows also as floats where there are thousands of different ones: those decide most edges.

    The exact rows stay beside them, for what floats leave open.
    """
    rows, levels = mechanism.rows, mechanism.graph.levels
    finite = all(isinstance(level, ApproximateDP) for level in sample_levels(levels))
    if not isinstance(rows, SharedRows) or len(rows.rows) < _MANY_ROWS or not finite or row_fault(mechanism):
        return mechanism
    # Tight and long: floats would leave nearly all of them open, and enclosures prove them exactly.
    if len(mechanism.answers) > 2 and LongRows.pays(rows.rows, levels):
        return mechanism
    table = np.array([[float(p) for p in row] for row in rows.rows])
    largest = np.array([max(range(len(row)), key=row.__getitem__) for row in rows.rows], dtype=np.int32)
    return replace(mechanism, rows=FloatRows(table[rows.of], largest[rows.of], rows.rows, rows.of))


# The verdict on a file: a mechanism, what it was given, its certificate, and what the file says of itself.


_STATUSES = ("optimal", "infeasible", "no-optimum")
IMPOSSIBLE = (INFEASIBLE, NO_OPTIMUM)
_PROOFS = (EXACT, "floating-point")
PRINTING_ERROR = 2.0**-48  # relative: more than 17 digits lose, less than designing in floats does (2**-44)


@dataclass(frozen=True, repr=False)
class StatusVerdict(Verdict):
    """What the referee found about a status without an optimum: whether the witness proves it, and by how much.

    ``mechanism`` is the verdict on a mechanism that stands beside no-optimum, ``None`` without one.
    """

    status: str
    proven: bool
    margin: float | None
    reason: str
    mechanism: DesignVerdict | None = None

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
    status, _ = str(document["status"]), _word(document, "proof", _PROOFS)
    problem = read_problem({field: document[field] for field in PROBLEM_FIELDS if field in document})
    beside = None
    if "mechanism" in document:
        mechanism, certificate = read_mechanism(document)
        beside = verify_claims(document, mechanism, certificate)
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


def verify_document(document: Any) -> tuple[DesignVerdict, Mechanism]:
    """Check what ``optimaldp design`` wrote, or anything like it. What the file claims is compared, never repeated."""
    mechanism, certificate = read_mechanism(document)
    return verify_claims(document, mechanism, certificate), mechanism


def verify_claims(document: Mapping[str, Any], mechanism: Mechanism, certificate: Certificate | None) -> DesignVerdict:
    """The same for a file that was read already."""
    status, proof = _word(document, "status", _STATUSES), _word(document, "proof", _PROOFS)
    verdict = verify(mechanism, certificate, **read_given(document, mechanism))
    fault = _false_word(document, mechanism, verdict, status, proof) if verdict.private else ""
    return replace(verdict, optimal=False, claim=None, reason=fault) if fault else verdict


def _false_word(
    document: Mapping[str, Any], mechanism: Mechanism, verdict: DesignVerdict, status: str | None, proof: str | None
) -> str:
    """What the file says of a private mechanism that the referee finds otherwise, or nothing."""
    printed = _has_decimals(document["mechanism"])
    if name := _contradicted(document, mechanism, exactly=proof == EXACT and not printed):
        return f"the row of {name!r} is not the one that 'fixed' gives"
    if verdict.optimal is None:
        return "the file claims an exact proof but holds none" if status == "optimal" and proof == EXACT else ""
    if not verdict.optimal or verdict.gap is None:
        return ""
    claim, said = _word(document, "claim", tuple(Claimed)), _stated_gap(document)
    if claim is not None and claim != verdict.claim:
        return f"the file claims {claim!r}, and its certificate proves {str(verdict.claim)!r}"
    allowed = PRINTING_ERROR if printed else EXACT_GAP
    if proof == EXACT and verdict.gap > allowed:
        return f"the file claims an exact proof, and the referee finds a gap of {verdict.gap:.3g}"
    if said is not None and Fraction(verdict.gap) > max(Fraction(allowed), said):
        return f"the file claims a gap of {document['gap']}, and the referee finds {verdict.gap:.3g}"
    return ""


def _stated_gap(document: Mapping[str, Any]) -> Fraction | None:
    """The gap that a file states; it need not fit into a float."""
    said = document.get("gap")
    gap = None if said is None else read_number(said, name="gap", error=ProblemError)
    if gap is not None and gap < 0:
        raise ProblemError("gap", said, "is negative", "a gap is how much at most is missing, 0 or more")
    return gap


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
