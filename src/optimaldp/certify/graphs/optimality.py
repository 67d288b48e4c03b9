"""Is a mechanism the best? Every prefix sum of every dataset must reach a bound that the certificate proves.

The bounds hold for *every* private mechanism with the same values on the given datasets, so a mechanism that reaches all of them
dominates all of those: it is optimal in the strongest sense there is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from optimaldp.certify.graphs.duals import HeldPromises, proven_bound, weighing_gap
from optimaldp.certify.graphs.float_trees import FloatTrees
from optimaldp.certify.graphs.given import GivenRows, given_fault
from optimaldp.certify.graphs.prefix_sums import prefixes
from optimaldp.certify.graphs.rounding import float_above
from optimaldp.certify.graphs.shared_trees import SharedTrees
from optimaldp.certify.graphs.trees import ENDLESS, Floats
from optimaldp.errors import CertificateError
from optimaldp.mechanisms import BoundTree, Certificate, DualProof, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import Event, Weighing
from optimaldp.mechanisms.rows import Row

TOLERANCE = 1e-9  # a proven gap up to here, relative to the small side of a probability, is rounding
_LEAST_SCALE = Fraction(1, 10**6)  # a linear program knows nothing of relative errors below this

_MOST_DOMINATED = 1e-5  # of a probability: what a proof may leave open and still be one

_Proof = TypeVar("_Proof", BoundTree, DualProof)


@dataclass(frozen=True)
class OptimalityFinding:
    """Whether every prefix sum reaches its bound, and the largest relative gap that is left (0 if exactly)."""

    optimal: bool
    gap: float | None
    reason: str


def check_optimality(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> OptimalityFinding:
    """Check a certificate against a mechanism that is already known to be private.

    **Guarantee.** If ``optimal``, no private mechanism with the same values on the given datasets has, at any dataset, a
    larger probability of its k most wanted answers than this one, up to ``gap`` times ``min(p, 1 - p)`` (or times delta
    where that is larger). *allowed* are the distributions that the problem gives: the certificate may give no others, and
    nothing that it says of itself is repeated here.
    """
    given = certificate.given
    if len(given) != len(mechanism):
        return rejected("the certificate does not fit the graph")
    if fault := given_fault(mechanism, given, allowed):
        return rejected(fault)
    try:
        if certificate.weighing is not None:
            return _check_weighing(mechanism, certificate.weighing, allowed)
        return _check_all(mechanism, certificate, allowed)
    except CertificateError as error:
        return rejected(str(error))


def _check_weighing(mechanism: Mechanism, proof: Weighing, allowed: GivenRows) -> OptimalityFinding:
    gap = float_above(max(Fraction(0), weighing_gap(mechanism, proof, allowed)))
    what = "no private mechanism with one row for each class" if proof.within else "no private mechanism"
    more = f" by more than {gap:.2g}" if gap else ""
    proven = gap <= _MOST_DOMINATED
    return OptimalityFinding(proven, gap if proven else None, f"{what} dominates it{more}")


def _check_all(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> OptimalityFinding:
    largest = 0.0
    preferences, given = mechanism.preferences, certificate.given
    events = len(preferences.orders) * (len(mechanism.answers) - 1)
    examine = SharedTrees if isinstance(mechanism.rows, SharedRows) else FloatTrees
    examiner = examine(mechanism, given, allowed, events)
    trees, duals = _by_event(certificate.trees), _by_event(certificate.duals)
    for prefix, wanted in prefixes(preferences, given):
        # Nothing exceeds probability one: there no proof is needed.
        needed = wanted & ~examiner.sure(prefix)
        if not needed.any():
            continue
        event = prefix.event
        gaps = np.full(len(mechanism), math.inf)
        for tree in trees.get(event, ()):
            finding = examiner.gaps(tree, prefix, needed)
            if finding.fault:
                raise CertificateError(
                    f"tree for {_event_text(mechanism, event)}", finding.fault, "is why it is rejected"
                )
            # Every tree is a proof by itself: of several the sharpest one counts, dataset by dataset.
            gaps = np.minimum(gaps, finding.gaps)
        if event in duals:
            _improve_by_duals(gaps, mechanism, certificate, duals[event], allowed)
        vertex = int(np.argmax(np.where(needed, gaps, -1.0)))
        if gaps[vertex] > TOLERANCE:
            return OptimalityFinding(False, None, _unproven(mechanism, vertex, event, float(gaps[vertex])))
        largest = max(largest, float(gaps[vertex]))
    count = int(given.sum())
    return OptimalityFinding(True, largest, f"every prefix sum reaches its proven bound, with {count} datasets given")


def _by_event(proofs: Sequence[_Proof]) -> dict[Event, list[_Proof]]:
    grouped: dict[Event, list[_Proof]] = defaultdict(list)
    for proof in proofs:
        grouped[tuple(sorted(proof.event))].append(proof)
    return grouped


def _improve_by_duals(
    gaps: Floats, mechanism: Mechanism, certificate: Certificate, duals: Sequence[DualProof], allowed: GivenRows
) -> None:
    held = HeldPromises(mechanism.graph)
    for dual in duals:
        gap = _dual_gap(mechanism, certificate, dual, held, allowed)
        gaps[dual.vertex] = min(gaps[dual.vertex], gap)


def _dual_gap(mechanism: Mechanism, certificate: Certificate, dual: DualProof, held: Any, allowed: GivenRows) -> float:
    def given_row(vertex: int) -> Row | None:
        return allowed.row(vertex) if certificate.given[vertex] else None

    bound = proven_bound(dual, held, len(mechanism.answers), given_row)
    value = sum((mechanism.rows.row(dual.vertex)[a] for a in dual.event), Fraction(0))
    name, scale = mechanism.graph.names[dual.vertex], max(min(value, 1 - value), _LEAST_SCALE)
    if bound - dual.value > scale * Fraction(TOLERANCE):
        raise CertificateError(f"dual of {name}", float(dual.value), f"is claimed, but only {float(bound)} is proven")
    # A private mechanism is above the bound only where its given rows are: by as much as they were rounded when printed.
    return float_above(abs(bound - value) / scale)


def _unproven(mechanism: Mechanism, vertex: int, event: Event, gap: float) -> str:
    name, event_text = mechanism.graph.names[vertex], _event_text(mechanism, event)
    if gap >= ENDLESS:
        return f"not proven optimal: the certificate has no bound for {event_text} at {name!r}"
    return f"not proven optimal: {event_text} at {name!r} is below its bound by {gap:.3g} of its small side"


def _event_text(mechanism: Mechanism, event: Event) -> str:
    return "{" + ", ".join(mechanism.answers[a] for a in event) + "}"


def rejected(reason: str) -> OptimalityFinding:
    """What is said of a certificate that proves nothing."""
    return OptimalityFinding(False, None, f"certificate rejected: {reason}")
