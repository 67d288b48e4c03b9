"""The verdict on a mechanism: private or not, optimal or not, and how far from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optimaldp.certify.graphs.fair import check_fair
from optimaldp.certify.graphs.given import Boundary, Fixed, GivenRows, given_rows
from optimaldp.certify.graphs.long_rows import LongRows
from optimaldp.certify.graphs.optimality import OptimalityFinding, check_optimality, rejected
from optimaldp.certify.graphs.privacy import check_privacy, row_fault
from optimaldp.graphs.edge_levels import sample_levels
from optimaldp.mechanisms import Certificate, Claimed, FloatRows, Mechanism, SharedRows
from optimaldp.privacy import ApproximateDP
from optimaldp.results import Result

EXACT, FLOATING_POINT = "exact", "floating-point"
# Rationals leave a gap of 0; where e^epsilon is irrational it is replaced by a rational within 2^-160, which is still below.
EXACT_GAP = 1e-30
_MANY_ROWS = 5000  # different rows: with fewer, rationals take a second at most


@dataclass(frozen=True, repr=False)
class Verdict(Result):
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
        return f"Verdict({', '.join(phrases)}, least epsilon {self.epsilon:.6g}{edge})"

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
) -> Verdict:
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
    Verdict(private, least epsilon 0.693147, worst edge 0 – 1)
    """
    mechanism = as_floats_first(mechanism)
    privacy = check_privacy(mechanism)
    edge, graph = None, mechanism.graph
    if privacy.worst_edge is not None:
        edge = graph.names[int(graph.tails[privacy.worst_edge])], graph.names[int(graph.heads[privacy.worst_edge])]
    if not privacy.private:
        optimal = None if certificate is None else False
        return Verdict(False, edge, privacy.epsilon, optimal, None, privacy.reason)
    if certificate is None:
        return Verdict(
            True, edge, privacy.epsilon, None, None, "every promise is kept; no certificate of optimality was given"
        )
    given = given_rows(mechanism, fixed, boundary)
    finding = _check_claim(mechanism, certificate, given)
    claim = certificate.claim if finding.optimal else None
    return Verdict(True, edge, privacy.epsilon, finding.optimal, finding.gap, finding.reason, claim)


def _check_claim(mechanism: Mechanism, certificate: Certificate, given: GivenRows) -> OptimalityFinding:
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
