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
from optimaldp.certify.graphs.float_trees import FloatTrees, SharedTrees
from optimaldp.certify.graphs.given import GivenRows, Prefix, given_fault, prefixes
from optimaldp.certify.graphs.rounding import float_above, group, step_above
from optimaldp.certify.graphs.trees import ENDLESS, Floats, tree_edges
from optimaldp.errors import CertificateError
from optimaldp.mechanisms import BoundTree, Certificate, DualProof, How, Mechanism, Settling, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT, Event, Weighing
from optimaldp.mechanisms.rows import Row

TOLERANCE = 1e-9  # a proven gap up to here, relative to the small side of a probability, is rounding
_LEAST_SCALE = Fraction(1, 10**6)  # a linear program knows nothing of relative errors below this

_MOST_DOMINATED = 1e-5  # of a probability: what a proof may leave open and still be one

_Proof = TypeVar("_Proof", BoundTree, DualProof)


@dataclass(frozen=True)
class OptimalityCheck:
    """Whether every prefix sum reaches its bound, and the largest relative gap that is left (0 if exactly)."""

    optimal: bool
    gap: float | None
    reason: str


def check_optimality(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> OptimalityCheck:
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


def _check_weighing(mechanism: Mechanism, proof: Weighing, allowed: GivenRows) -> OptimalityCheck:
    gap = float_above(max(Fraction(0), weighing_gap(mechanism, proof, allowed)))
    what = "no private mechanism with one row for each class" if proof.within else "no private mechanism"
    more = f" by more than {gap:.2g}" if gap else ""
    proven = gap <= _MOST_DOMINATED
    return OptimalityCheck(proven, gap if proven else None, f"{what} dominates it{more}")


def _check_all(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> OptimalityCheck:
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
            return OptimalityCheck(False, None, _unproven(mechanism, vertex, event, float(gaps[vertex])))
        largest = max(largest, float(gaps[vertex]))
    said = f"every prefix sum reaches its proven bound{_given_words(int(given.sum()))}"
    return OptimalityCheck(True, largest, said)


def _given_words(count: int) -> str:
    return f", with {count} {'dataset' if count == 1 else 'datasets'} given"


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


def rejected(reason: str) -> OptimalityCheck:
    """What is said of a certificate that proves nothing."""
    return OptimalityCheck(False, None, f"certificate rejected: {reason}")


# Is a two-answer mechanism max-min fair? The order in which datasets were settled proves it, neighbour by neighbour.
#
# Write t(v) for the chance of the true answer at v. A certificate names for each dataset whose value limits it. In
# that order ``U(v) = F(U(u))`` for a neighbour u of the same true answer, ``F(1 - t(u))`` for one of the other true
# answer, 1 for a sure dataset, and the bound of the fixed datasets where it says so, everything rounded up. Whoever
# gives v more than U(v) gives less to some w with t(w) <= t(v); so the largest ``U - t`` is how much anything can
# dominate by, and 0 means that nothing does.


_LONGEST = 1024  # bits of a bound that is kept exactly; a longer one is rounded up
_TINY = Fraction(1, 10**250)


def check_fair(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> OptimalityCheck:
    """Check a certificate of fairness against a mechanism that is already known to be private, in O(V + A).

    **Guarantee.** If ``optimal``, every private mechanism with the same fixed rows that gives some dataset v more than t(v) plus
    the gap gives less than here to some dataset w, with t(w) at most t(v) plus the gap. *allowed* are the rows that the problem
    fixes: the certificate must take exactly these as given.
    """
    settling = certificate.settling
    if len(mechanism.answers) != 2 or settling is None:
        return rejected("a fair mechanism has two answers, and its certificate says how each dataset was settled")
    fault = _misfit(settling, certificate, allowed) or given_fault(mechanism, certificate.given, allowed)
    if fault or (fault := _disorder(mechanism, settling, certificate)):
        return rejected(fault)
    lead = _largest_lead(mechanism, settling)
    if lead > TOLERANCE:
        return rejected("a dataset is limited by one that has a larger chance of its true answer")
    bounds = _given_bounds(mechanism, certificate, allowed)
    if isinstance(bounds, str):
        return rejected(bounds)
    largest = lead
    examine = SharedTrees if isinstance(mechanism.rows, SharedRows) else FloatTrees
    examiner = examine(mechanism, certificate.given, allowed, 2)
    sources = np.where(settling.how == How.GIVEN, ROOT, FREE).astype(np.int32)
    sources = np.where(settling.how <= How.PAIR, settling.source, sources)
    for answer in (0, 1):
        found = _gap(mechanism, settling, bounds, BoundTree((answer,), sources), examiner)
        if isinstance(found, str):
            return rejected(found)
        largest = max(largest, found)
    reason = "nobody's chance can be raised without lowering somebody's that is no better"
    given = _given_words(int(certificate.given.sum()))
    return OptimalityCheck(True, largest, reason + (given if certificate.given.any() else ""))


def _misfit(settling: Settling, certificate: Certificate, allowed: GivenRows) -> str:
    """Why the arrays are no settling of this graph, or nothing."""
    count = len(allowed.of)
    arrays = (certificate.given, settling.how, settling.source, settling.order)
    if any(len(array) != count for array in arrays):
        return "the certificate does not fit the graph"
    if not (np.isin(settling.how, list(How)).all() and (settling.source < count).all()):
        return "the certificate does not say how each dataset was settled"
    if ((settling.order < 0) | (settling.order >= count)).any() or np.bincount(settling.order).max(initial=0) > 1:
        return "the order of settling does not name each dataset once"
    if (certificate.given != (allowed.of >= 0)).any():
        return "it does not take as given exactly what the problem fixes"
    return ""


def _disorder(mechanism: Mechanism, settling: Settling, certificate: Certificate) -> str:
    """Why the order proves nothing, or nothing: who limits whom, fixed datasets first, sources before those they limit."""
    how, source, names = settling.how, settling.source, mechanism.graph.names
    favourites = mechanism.preferences.favourites
    place = np.empty(len(how), dtype=np.int64)
    place[settling.order] = np.arange(len(how))
    linked, pair = how <= How.PAIR, how == How.PAIR
    if (linked & (source < 0)).any():
        return "a dataset that somebody limits does not say who"
    other = favourites[source] != favourites
    broken = linked & (other != (how != How.SAME))
    broken |= linked & ~pair & (place[source] >= place)
    broken |= pair & ((how[source] != How.PAIR) | (source[source] != np.arange(len(how))))
    given = certificate.given
    broken |= given & ((how != How.GIVEN) | (place >= int(given.sum())))
    broken |= (how == How.GIVEN) & (not given.any())
    if broken.any():
        vertex = int(broken.argmax())
        return f"{names[vertex]!r} cannot have been settled as {How(int(how[vertex])).word!r} in this order"
    return ""


def _largest_lead(mechanism: Mechanism, settling: Settling) -> float:
    """By how much at most a dataset that limits another has the larger chance of its true answer."""
    vertices = np.flatnonzero(settling.how <= How.PAIR)
    sources, rows, favourites = settling.source[vertices], mechanism.rows, mechanism.preferences.favourites
    if isinstance(rows, TwoSides):
        a, b = rows.sides[sources], rows.sides[vertices]
        # Sides above 1/2 are negative, and on either part of the scale they order as the probabilities do.
        above = np.where((a < 0) == (b < 0), a > b, a < 0)
        vertices, sources = vertices[above], sources[above]
    elif isinstance(rows, SharedRows) or (rows.exact_of >= 0).all():
        of = rows.of if isinstance(rows, SharedRows) else rows.exact_of
        size = 2 * (int(of.max(initial=0)) + 1)
        code = (2 * of.astype(np.int64) + favourites)[sources] * size + (2 * of.astype(np.int64) + favourites)[vertices]
        distinct, place = group(code, size * size)
        first = np.empty(len(distinct), dtype=np.int64)
        first[place[::-1]] = np.arange(len(place) - 1, -1, -1)
        vertices, sources = vertices[first], sources[first]
    lead = Fraction(0)
    for u, v in zip(sources.tolist(), vertices.tolist()):
        lead = max(lead, rows.row(u)[favourites[u]] - rows.row(v)[favourites[v]])
    return float_above(lead)


def _given_bounds(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> dict[int, Fraction] | str:
    """What the fixed datasets allow each dataset that is settled by them, walked along the trees, rounded up."""
    settling = certificate.settling
    assert settling is not None
    bounds: dict[int, Fraction] = {}
    favourites = mechanism.preferences.favourites
    for answer in (0, 1):
        wanted = np.flatnonzero((settling.how == How.GIVEN) & (favourites == answer)).tolist()
        trees = [
            tree for tree in certificate.trees if tree.event == (answer,) and len(tree.predecessor) == len(favourites)
        ]
        known = {v: allowed.rows[int(allowed.of[v])][answer] for v in np.flatnonzero(certificate.given).tolist()}
        if any(v not in known for v in wanted) and not trees:
            return "no tree proves the bounds of the fixed datasets"
        if trees:
            fault = _walk(mechanism, trees[0], wanted, known)
            if fault:
                return fault
        bounds |= {v: known[v] for v in wanted}
    return bounds


def _walk(mechanism: Mechanism, tree: BoundTree, wanted: list[int], known: dict[int, Fraction]) -> str:
    """Add to *known* the bounds of all datasets on the way from *wanted* ones to fixed ones."""
    predecessor = tree.predecessor
    if predecessor.max(initial=0) >= len(predecessor):
        return "a bound tree does not fit the graph"
    edges = tree_edges(mechanism.graph, predecessor, predecessor >= 0)
    kind_of = dict(zip(edges.vertices.tolist(), edges.kind_of.tolist()))
    names = mechanism.graph.names
    for start in wanted:
        path = [start]
        while path[-1] not in known:
            if path[-1] not in kind_of or len(path) > len(predecessor):
                return f"the bound of {names[path[-1]]!r} does not come from a fixed dataset"
            path.append(int(predecessor[path[-1]]))
        for vertex in reversed(path[:-1]):
            value = step_above(edges.kinds[kind_of[vertex]], known[int(predecessor[vertex])])[0]
            known[vertex] = value if value.denominator.bit_length() <= _LONGEST else _rounded_up(value)
    return ""


def _rounded_up(value: Fraction) -> Fraction:
    scale = 1 << _LONGEST
    return Fraction(-(-value.numerator * scale // value.denominator), scale)


def _gap(
    mechanism: Mechanism,
    settling: Settling,
    bounds: dict[int, Fraction],
    sources: BoundTree,
    examiner: SharedTrees | FloatTrees,
) -> float | str:
    """The largest ``U - t`` among the datasets whose true answer is the event, from above; or why one is not proven."""
    (answer,) = sources.event
    mine = mechanism.preferences.favourites == answer
    given, rows, rounded = settling.how == How.GIVEN, list[tuple[Fraction, ...]](), 0.0
    of = np.full(len(mine), -1, dtype=np.int32)
    for vertex in np.flatnonzero(given & mine).tolist():
        bound, value = bounds[vertex], mechanism.rows.row(vertex)[answer]
        if bound - value > TOLERANCE * max(min(value, 1 - value), _TINY):
            return f"{mechanism.graph.names[vertex]!r} is below the bound of the fixed datasets"
        rounded = max(rounded, float_above(bound - value))
        of[vertex] = len(rows)
        rows.append((bound, 1 - bound) if answer == 0 else (1 - bound, bound))
    # Of datasets of the other true answer the mechanism's own value counts, as it is.
    examiner = examiner.given(~mine | given, GivenRows(tuple(rows), of))
    prefix = Prefix((answer, 1 - answer), 1)
    needed = mine & ~given & ~examiner.sure(prefix)
    if not needed.any():
        return rounded
    finding = examiner.gaps(sources, prefix, needed)
    if finding.fault:
        return finding.fault
    vertex = int(np.argmax(np.where(needed, finding.gaps, -1.0)))
    if finding.gaps[vertex] > TOLERANCE:
        return f"{mechanism.graph.names[vertex]!r} is below the bound of whoever limits it"
    return max(rounded, float(np.where(needed, finding.gaps * finding.scale, 0.0).max()))
