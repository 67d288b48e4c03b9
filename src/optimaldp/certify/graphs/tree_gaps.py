"""What a bound tree leaves open: for each dataset the relative gap between its value and the bound that the roots impose."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from optimaldp.certify.graphs.bounds import step_above
from optimaldp.certify.graphs.given import GivenRows, root_values
from optimaldp.certify.graphs.grouping import group
from optimaldp.certify.graphs.long_rows import LongRows
from optimaldp.certify.graphs.rounding import UNIT, float_above, float_below
from optimaldp.certify.graphs.trees import ENDLESS, Floats, Numbers, TreeEdges, add_up, tree_edges
from optimaldp.mechanisms import BoundTree, Mechanism, SharedRows
from optimaldp.mechanisms.certificate import FREE, ROOT, Event

TINY = 1e-250  # what scales a gap at a smaller side: floats stop near 1e-301, and nobody sees the difference


@dataclass(frozen=True)
class EventValues:
    """The probabilities of one event: their small sides ``min(p, 1 - p)``, and where the event is sure.

    Of shared rows ``exact`` holds the probability in each different row; of float rows ``low`` says where the small side is p
    itself, and ``error`` bounds the relative error of the small sides.
    """

    small: Floats
    sure: npt.NDArray[np.bool_]
    exact: tuple[Fraction, ...] = ()
    low: npt.NDArray[np.bool_] | None = None
    error: float = 0.0


@dataclass(frozen=True)
class TreeFinding:
    """The gap of each dataset relative to the small side of its probability, or why the tree proves nothing."""

    gaps: Floats
    fault: str = ""


def event_values(mechanism: Mechanism, event: Event) -> EventValues:
    """The probability of *event* at every dataset."""
    if not isinstance(mechanism.rows, SharedRows):
        from optimaldp.certify.graphs.side_gaps import side_values

        return side_values(mechanism.rows, event)
    exact = tuple(sum((row[a] for a in event), Fraction(0)) for row in mechanism.rows.rows)
    small = np.array([float_below(min(p, 1 - p)) for p in exact])
    sure = np.array([p == 1 for p in exact])
    return EventValues(small[mechanism.rows.of], sure[mechanism.rows.of], exact)


def tree_gaps(
    mechanism: Mechanism,
    tree: BoundTree,
    given: npt.NDArray[np.bool_],
    values: EventValues,
    allowed: GivenRows,
    needed: npt.NDArray[np.bool_],
) -> TreeFinding:
    """Check a tree as far as the *needed* datasets rest on it, and add up its gaps.

    *allowed* are the given rows as the problem has them. A dataset with nothing above it to prove (sure of the event) counts as
    a root, as does one that is given.
    """
    names = mechanism.graph.names
    if len(tree.predecessor) != len(names) or tree.predecessor.max(initial=0) >= len(names):
        return _fault("a bound tree does not fit the graph")
    concerned = _ancestry(tree.predecessor, needed, given | values.sure)
    inner = (tree.predecessor >= 0) & concerned
    edges = tree_edges(mechanism.graph, tree.predecessor, inner)
    if edges.lost.size:
        vertex = int(edges.lost[0])
        return _fault(f"{names[int(tree.predecessor[vertex])]!r} bounds {names[vertex]!r} but is no neighbour of it")
    astray = (tree.predecessor == ROOT) & concerned
    if astray.any():
        return _fault(f"{names[int(np.flatnonzero(astray)[0])]!r} is a root but its distribution is not given")
    local, slope, delta, above = _local(mechanism, tree, values, edges)
    if above.size:
        name = names[int(above[0])]
        return _fault(f"the value of {name!r} is above the bound that its predecessor imposes: a contradiction")
    return _add_up(mechanism, tree, concerned, given, values, allowed, edges, (local, slope, delta))


def _ancestry(
    predecessor: npt.NDArray[np.int32], needed: npt.NDArray[np.bool_], settled: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """The needed datasets and all from which their bounds come, up to those whose value needs no proof."""
    concerned = needed & ~settled
    frontier = np.flatnonzero(concerned)
    while frontier.size:
        above = predecessor[frontier]
        above = above[above >= 0]
        frontier = np.unique(above[~concerned[above] & ~settled[above]])
        concerned[frontier] = True
    return concerned


def _fault(reason: str) -> TreeFinding:
    return TreeFinding(np.zeros(0), reason)


def _local(
    mechanism: Mechanism, tree: BoundTree, values: EventValues, edges: TreeEdges
) -> tuple[Floats, Floats, Floats, Numbers]:
    """For each edge of the tree the local gap, the slope and the largest delta; and the vertices above their bound."""
    delta = np.array([float(max(walk.largest_delta for walk in kind)) for kind in edges.kinds] or [0.0])[edges.kind_of]
    if isinstance(mechanism.rows, SharedRows):
        local, slope = _exact_gaps(mechanism.rows, values.exact, tree, edges)
    else:
        from optimaldp.certify.graphs.side_gaps import local_side_gaps

        local, slope = local_side_gaps(mechanism.rows, values, tree, edges)
    return local, slope, delta, edges.vertices[local < 0]


def _exact_gaps(
    rows: SharedRows, exact: tuple[Fraction, ...], tree: BoundTree, edges: TreeEdges
) -> tuple[Floats, Floats]:
    """Each distinct (row, row, kind of edge) once, in rationals; a gap of 0 is 0."""
    count, kinds = len(rows.rows), len(edges.kinds)
    tails = rows.of[tree.predecessor[edges.vertices]].astype(np.int64)
    code = (tails * count + rows.of[edges.vertices]) * kinds + edges.kind_of
    distinct, place = group(code, count * count * kinds)
    local, slope = np.empty(len(distinct)), np.empty(len(distinct))
    levels = [walk.level for walks in edges.kinds for walk in walks]
    enclosed = LongRows(rows.rows) if LongRows.pays(rows.rows, levels) else None
    for i, number in enumerate(distinct.tolist()):
        pair, kind = divmod(number, kinds)
        tail, head = divmod(pair, count)
        known = enclosed.gap(edges.kinds[kind], tree.event, tail, head) if enclosed is not None else None
        if known is not None:
            local[i], slope[i] = map(float_above, known)
            continue
        bound, steepness = step_above(edges.kinds[kind], exact[tail])
        local[i], slope[i] = float_above(bound - exact[head]), float_above(steepness)
        if bound < exact[head]:
            local[i] = -1.0
    return local[place], slope[place]


def _add_up(
    mechanism: Mechanism,
    tree: BoundTree,
    concerned: npt.NDArray[np.bool_],
    given: npt.NDArray[np.bool_],
    values: EventValues,
    allowed: GivenRows,
    edges: TreeEdges,
    local: tuple[Floats, Floats, Floats],
) -> TreeFinding:
    count = len(tree.predecessor)
    scale = np.maximum(values.small, TINY)
    scale[edges.vertices] = np.maximum(scale[edges.vertices], local[2])
    parent, gap, factor = np.arange(count), np.zeros(count), np.zeros(count)
    tails = tree.predecessor[edges.vertices]
    parent[edges.vertices] = tails
    gap[edges.vertices] = local[0] / scale[edges.vertices]
    with np.errstate(over="ignore"):
        factor[edges.vertices] = local[1] * scale[tails] / scale[edges.vertices]
    unproven = concerned & (tree.predecessor < 0)  # free (the bound is 1), or not named at all
    gap[unproven] = np.where(tree.predecessor[unproven] == FREE, 1.0 / scale[unproven], ENDLESS)
    roots = np.flatnonzero(given & (allowed.of >= 0))
    gap[roots] = _root_gaps(mechanism, roots, tree.event, values, allowed) / scale[roots]
    total, astray = add_up(parent, gap, factor)
    if astray.size:
        return _fault(f"the bound of {mechanism.graph.names[int(astray[0])]!r} runs in a cycle")
    return TreeFinding(total)


def _root_gaps(mechanism: Mechanism, roots: Numbers, event: Event, values: EventValues, allowed: GivenRows) -> Floats:
    """A given value that was rounded down when it was printed: the difference is a gap from the start."""
    if not roots.size:
        return np.zeros(0)
    above, rest, exact = root_values(allowed, event)
    number = allowed.of[roots]
    if isinstance(mechanism.rows, SharedRows):
        mine = mechanism.rows.of[roots].astype(np.int64)
        distinct, place = group(mine * len(exact) + number, len(values.exact) * len(exact))
        pairs = (divmod(code, len(exact)) for code in distinct.tolist())
        return np.array([float_above(max(Fraction(0), exact[b] - values.exact[a])) for a, b in pairs])[place]
    assert values.low is not None
    small = values.small[roots]
    low = above[number] - small * (1 - values.error)
    high = small * (1 + values.error) - rest[number]
    return np.maximum(np.where(values.low[roots], low, high) + small * (4 * UNIT), 0.0)
