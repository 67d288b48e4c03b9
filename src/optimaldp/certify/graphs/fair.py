"""Is a two-answer mechanism max-min fair? The order in which datasets were settled proves it, neighbour by neighbour.

Write t(v) for the chance of the true answer at v. A certificate names for each dataset whose value limits it. In that order
``U(v) = F(U(u))`` for a neighbour u of the same true answer, ``F(1 - t(u))`` for one of the other true answer, 1 for a sure
dataset, and the bound of the fixed datasets where it says so, everything rounded up. Whoever gives v more than U(v) gives
less to some w with t(w) <= t(v); so the largest ``U - t`` is how much anything can dominate by, and 0 means that nothing does.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.bounds import step_above
from optimaldp.certify.graphs.float_trees import FloatTrees
from optimaldp.certify.graphs.given import GivenRows, given_fault
from optimaldp.certify.graphs.optimality import TOLERANCE, OptimalityFinding, rejected
from optimaldp.certify.graphs.prefix_sums import Prefix
from optimaldp.certify.graphs.rounding import float_above, group
from optimaldp.certify.graphs.shared_trees import SharedTrees
from optimaldp.certify.graphs.trees import tree_edges
from optimaldp.mechanisms import BoundTree, Certificate, How, Mechanism, Settling, SharedRows, TwoSides
from optimaldp.mechanisms.certificate import FREE, ROOT

Mask = npt.NDArray[np.bool_]

_LONGEST = 1024  # bits of a bound that is kept exactly; a longer one is rounded up
_TINY = Fraction(1, 10**250)


def check_fair(mechanism: Mechanism, certificate: Certificate, allowed: GivenRows) -> OptimalityFinding:
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
    count = int(certificate.given.sum())
    reason = "nobody's chance can be raised without lowering somebody's that is no better"
    return OptimalityFinding(True, largest, reason + (f", with {count} datasets given" if count else ""))


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
