"""One edge: whether two rows keep the promises of its level, in rationals, and how much of them they use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.certify.core.closeness import INFINITE_RATIO, Distribution, least_ratio, ratio_within, within_gaussian
from optimaldp.certify.graphs.rounding import decimal_above, log_above
from optimaldp.errors import LevelError
from optimaldp.mechanisms import Mechanism
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.balls import precision, upper


@dataclass(frozen=True)
class PrivacyFinding:
    """Whether every promise is kept, the edge that comes nearest to breaking one (or breaks it most), and the least epsilon.

    ``epsilon`` is never below the least epsilon at which all edges keep their deltas; infinite if there is none.
    """

    private: bool
    worst_edge: int | None
    epsilon: float
    reason: str = ""


@dataclass(frozen=True)
class EdgeFinding:
    """What one pair of rows says about one level."""

    kept: bool
    used: float  # the least epsilon at the level's deltas, rounded up
    strain: float  # epsilon used minus epsilon promised: the larger, the worse


def check_pair(level: Level, tail: Distribution, head: Distribution) -> EdgeFinding:
    """Check one edge: the forward bounds of its level hold from tail to head, the backward bounds from head to tail."""
    if isinstance(level, ApproximateDP):
        checked = [_check_bound(bound, head, tail) for bound in level.forward]
        checked += [_check_bound(bound, tail, head) for bound in level.backward]
        return EdgeFinding(
            all(item.kept for item in checked), max(item.used for item in checked), max(item.strain for item in checked)
        )
    if isinstance(level, GaussianDP):
        return _check_gaussian(level.mu, tail, head)
    raise LevelError("level", str(level), "is not a level that the referee knows")


def promised_above(epsilon: Epsilon) -> float:
    """A float whose decimal is not below a promised epsilon."""
    if epsilon.infinite:
        return math.inf
    if epsilon.ratio == 1:
        return decimal_above(epsilon.finite_parts[0])
    with precision(128):
        return decimal_above(upper(epsilon.ball()))


def _check_bound(bound: Bound, above: Distribution, below: Distribution) -> EdgeFinding:
    ratio = least_ratio(above, below, bound.delta)
    kept, used = ratio_within(ratio, bound.epsilon), _log(ratio)
    if kept:
        used = min(used, promised_above(bound.epsilon))  # rounding up should not make a kept promise look broken
    return EdgeFinding(kept, used, used - float(bound.epsilon) if kept or math.isfinite(used) else math.inf)


def _check_gaussian(mu: Fraction, tail: Distribution, head: Distribution) -> EdgeFinding:
    kept = within_gaussian(head, tail, mu) and within_gaussian(tail, head, mu)
    used = max(_log(least_ratio(a, b, Fraction(0))) for a, b in ((head, tail), (tail, head)))
    return EdgeFinding(kept, used, used if kept else math.inf)


def _log(ratio: Fraction | None) -> float:
    return math.inf if ratio is INFINITE_RATIO else log_above(ratio)


def violation(mechanism: Mechanism, edge: int) -> str:
    """In words: which promise is broken."""
    graph = mechanism.graph
    tail, head = graph.names[int(graph.tails[edge])], graph.names[int(graph.heads[edge])]
    return f"not private: {graph.levels[int(graph.level_of_edge[edge])]} does not hold between {tail!r} and {head!r}"
