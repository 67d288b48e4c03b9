"""What a mechanism really costs, as a privacy-loss distribution of dp-accounting (``pip install 'optimaldp[accounting]'``).

A level says what a mechanism costs at most; its privacy-loss distribution says how it spends it, so many mechanisms together may
cost less than their levels do. Losses, probabilities and hockey-stick divergences are computed here in rationals and balls and
rounded up. What dp-accounting computes from them afterwards is its own arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from optimaldp.errors import InputError, MechanismError, MissingExtraError
from optimaldp.privacy.balls import ball, integer_above, integer_below, precision, upper

if TYPE_CHECKING:
    from optimaldp.mechanisms import Mechanism
    from optimaldp.mechanisms.rows import Row

Pair = tuple["Row", "Row"]

_BITS = 96
_MOST_PAIRS = 20_000  # of different distributions: more would take minutes
_GRID_POINTS = 500  # of the grid between the least and the largest loss, beside those around each loss


def loss_of_edge(mechanism: Mechanism, first: str, second: str, *, interval: float = 1e-4) -> Any:
    """The privacy-loss distribution of one pair of datasets, in both directions, with losses rounded up to the *interval*.

    **Guarantee.** Its delta at any epsilon is not below the true one. It is about these two datasets alone.

    >>> from optimaldp import design, graphs
    >>> made = design(graphs.votes(3), truth=graphs.majority, epsilon=1)
    >>> round(loss_of_edge(made.mechanism, "112", "122").get_epsilon_for_delta(0), 3)
    1.0
    """
    library, step = _library(), _read_interval(interval)
    numbers = mechanism.graph.numbers
    for name in (first, second):
        if name not in numbers:
            raise MechanismError("dataset", name, "is not a dataset of this mechanism")
    here, there = mechanism.rows.row(numbers[first]), mechanism.rows.row(numbers[second])
    (forward, never_back), (backward, never_forth) = _losses(here, there, step), _losses(there, here, step)
    return library.PrivacyLossDistribution.create_from_rounded_probability(
        forward, never_back, interval, True, backward, never_forth, symmetric=False
    )


def worst_loss(mechanism: Mechanism, *, interval: float = 1e-4) -> Any:
    """One privacy-loss distribution for all edges: at every epsilon its delta is not below that of any edge in any direction.

    **Guarantee.** It dominates every pair of neighbours, so what it says about compositions, adaptive ones too, holds for all of
    them: the largest of the hockey-stick curves is such a curve itself (convex in ``e^epsilon``), and the straight lines between
    the points at which it is computed lie above it.

    >>> from optimaldp import design, graphs
    >>> made = design(graphs.votes(3), truth=graphs.majority, epsilon=1)
    >>> round(worst_loss(made.mechanism).get_epsilon_for_delta(0), 3)
    1.0
    """
    library, step = _library(), _read_interval(interval)
    pairs = _different_pairs(mechanism)
    points = _points(pairs, step)
    deltas = [max((_delta(point * step, pair) for pair in pairs), default=Fraction(0)) for point in points]
    made = library.pld_pmf.create_pmf_pessimistic_connect_dots(interval, points, [_float_above(d) for d in deltas])
    return library.PrivacyLossDistribution(made)


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution as library
    except ImportError:
        raise MissingExtraError("dp-accounting", "accounting") from None
    return library


def _read_interval(interval: float) -> Fraction:
    if not 0 < interval < math.inf:
        raise InputError("interval", interval, "is not a positive number", "the usual one is 1e-4")
    return Fraction(interval)  # the float itself: dp-accounting multiplies by it


def _losses(here: Row, there: Row, step: Fraction) -> tuple[dict[int, float], float]:
    """The distribution of ``ln(here / there)`` under *here*, in steps, and the mass of what *there* never answers."""
    masses: dict[int, Fraction] = {}
    for p, q in _both(here, there):
        with precision(_BITS):
            place = integer_above(ball(p / q).log() / ball(step))
        masses[place] = masses.get(place, Fraction(0)) + p
    return {place: _float_above(mass) for place, mass in masses.items()}, _float_above(_unanswered(here, there))


def _both(here: Row, there: Row) -> Iterable[tuple[Fraction, Fraction]]:
    return ((p, q) for p, q in zip(here, there) if p and q)


def _unanswered(here: Row, there: Row) -> Fraction:
    return sum((p for p, q in zip(here, there) if not q), Fraction(0))


def _different_pairs(mechanism: Mechanism) -> list[Pair]:
    """Every arc's two distributions, each pair once; an edge between equal distributions costs nothing."""
    graph, rows = mechanism.graph, mechanism.rows
    pairs: dict[Pair, None] = {}
    for u, v in zip(graph.tails.tolist(), graph.heads.tolist()):
        here, there = rows.row(u), rows.row(v)
        if here != there:
            pairs[here, there] = pairs[there, here] = None
        if len(pairs) > _MOST_PAIRS:
            rule = f"has more than {_MOST_PAIRS} different pairs of neighbouring distributions"
            raise MechanismError("mechanism", mechanism.summary(), rule, "take loss_of_edge for the edges that matter")
    return list(pairs)


def _points(pairs: list[Pair], step: Fraction) -> list[int]:
    """Where the curves are computed: on both sides of every loss, and evenly in between."""
    points = {-1, 0, 1}
    for pair in pairs:
        for p, q in _both(*pair):
            with precision(_BITS):
                place = ball(p / q).log() / ball(step)
                points |= {integer_below(place), integer_above(place)}
    low, high = min(points), max(points)
    return sorted(points | {low + (high - low) * i // _GRID_POINTS for i in range(_GRID_POINTS)})


def _delta(epsilon: Fraction, pair: Pair) -> Fraction:
    """``sum (p - e^epsilon q)_+``, rounded up; exactly 0 where no answer can exceed its bound."""
    here, there = pair
    with precision(_BITS):
        ratio_below = _exp_below(epsilon)
    return sum((max(Fraction(0), p - ratio_below * q) for p, q in zip(here, there)), Fraction(0))


@lru_cache(maxsize=8192)
def _exp_below(epsilon: Fraction) -> Fraction:
    with precision(_BITS):
        return 1 / upper((-ball(epsilon)).exp())


def _float_above(number: Fraction) -> float:
    from optimaldp.designing.large import float_above

    return float_above(number)
