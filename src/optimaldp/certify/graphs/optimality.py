"""Is a mechanism the best? Every prefix sum of every dataset must reach a bound that the certificate proves.

The bounds hold for *every* private mechanism with the same values on the given datasets, so a mechanism that reaches all of them
dominates all of those: it is optimal in the strongest sense there is.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.duals import promises, proven_bound
from optimaldp.certify.graphs.given import GivenRows, given_fault
from optimaldp.certify.graphs.rounding import float_above
from optimaldp.certify.graphs.tree_gaps import EventValues, event_values, tree_gaps
from optimaldp.certify.graphs.trees import ENDLESS, Floats
from optimaldp.errors import CertificateError
from optimaldp.mechanisms import Certificate, DualProof, Mechanism
from optimaldp.mechanisms.certificate import Event
from optimaldp.mechanisms.rows import Row

TOLERANCE = 1e-9  # a proven gap up to here, relative to the small side of a probability, is rounding
_LEAST_SCALE = Fraction(1, 10**6)  # a linear program knows nothing of relative errors below this


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
        return _rejected("the certificate does not fit the graph")
    if fault := given_fault(mechanism, given, allowed):
        return _rejected(fault)
    try:
        return _check_all(mechanism, certificate, allowed)
    except CertificateError as error:
        return _rejected(str(error))


def _check_all(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> OptimalityFinding:
    largest = 0.0
    for event, wanted in prefixes(mechanism, certificate.given):
        values = event_values(mechanism, event)
        needed = wanted & ~values.sure
        if not needed.any():
            continue
        gaps = _gaps(mechanism, certificate, event, values, allowed, needed)
        vertex = int(np.argmax(np.where(needed, gaps, -1.0)))
        if gaps[vertex] > TOLERANCE:
            return OptimalityFinding(False, None, _unproven(mechanism, vertex, event, float(gaps[vertex])))
        largest = max(largest, float(gaps[vertex]))
    count = int(certificate.given.sum())
    return OptimalityFinding(True, largest, f"every prefix sum reaches its proven bound, with {count} datasets given")


def prefixes(mechanism: Mechanism, given: npt.NDArray[np.bool_]) -> Iterator[tuple[Event, npt.NDArray[np.bool_]]]:
    """Each event that is a proper prefix of somebody's preference, and the free datasets that want it."""
    wanting: dict[Event, list[int]] = defaultdict(list)
    for number, order in enumerate(mechanism.preferences.orders):
        for k in range(1, len(order)):
            wanting[tuple(sorted(order[:k]))].append(number)
    for event, numbers in wanting.items():
        yield event, np.isin(mechanism.preferences.of, numbers) & ~given


def _gaps(
    mechanism: Mechanism,
    certificate: Certificate,
    event: Event,
    values: EventValues,
    allowed: GivenRows,
    needed: npt.NDArray[np.bool_],
) -> Floats:
    """The best proof of each dataset, tree or dual; infinite where there is none."""
    best = np.full(len(mechanism), math.inf)
    for tree in certificate.trees:
        if tuple(sorted(tree.event)) == event:
            found = tree_gaps(mechanism, tree, certificate.given, values, allowed, needed)
            if found.fault:
                raise CertificateError(f"tree for {_words(mechanism, event)}", found.fault, "is why it is rejected")
            best = np.minimum(best, found.gaps)
    duals = [dual for dual in certificate.duals if tuple(sorted(dual.event)) == event]
    if duals:
        held = promises(mechanism.graph)
        for dual in duals:
            best[dual.vertex] = min(best[dual.vertex], _dual_gap(mechanism, certificate, dual, held, allowed))
    return best


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
    name, words = mechanism.graph.names[vertex], _words(mechanism, event)
    if gap >= ENDLESS:
        return f"not proven optimal: the certificate has no bound for {words} at {name!r}"
    return f"not proven optimal: {words} at {name!r} is below its bound by {gap:.3g} of its small side"


def _words(mechanism: Mechanism, event: Event) -> str:
    return "{" + ", ".join(mechanism.answers[a] for a in event) + "}"


def _rejected(reason: str) -> OptimalityFinding:
    return OptimalityFinding(False, None, f"certificate rejected: {reason}")
