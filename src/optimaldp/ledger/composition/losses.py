"""Composition of mixed levels through privacy-loss distributions of dp-accounting.

Every (epsilon, delta)-DP mechanism is a post-processing of one randomised response (see :mod:`.optimal`), whose privacy
loss is ``+epsilon`` or ``-epsilon``, or infinite with probability delta. dp-accounting convolves such losses on a grid. Here
each epsilon is raised to the grid *before* its loss is made: the mechanism keeps that level too, so every rounding goes up.

dp-accounting's own event for repeated randomised response forgets to multiply by the count; only its distributions are used,
and the law "n at once = n times one" is tested.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from optimaldp.extras import requiring
from optimaldp.ledger.composition.basic import compose_basic
from optimaldp.privacy.balls import precision, upper
from optimaldp.privacy.epsilon import INFINITE, ZERO, Epsilon
from optimaldp.privacy.levels import Bound

_MOST_CELLS = 200_000  # of the grid at most: a convolution of that length takes a fraction of a second
_ROUNDED_UP = 1 + 1e-12  # more than all roundings of a few float operations together


def compose_losses(levels: Mapping[Bound, int], delta: Fraction) -> Epsilon:
    """An epsilon that mechanisms of these *levels* (level: how many) keep together at a total *delta*.

    **Guarantee.** Never below the true value, and never above the plain sum where that applies: epsilons are rounded up to
    the grid, probabilities and the result upwards, and *delta* is lowered by a bound on the rounding errors of the transform.
    The mechanisms may be chosen adaptively, and in any order; the list of levels may not.

    >>> tenth = Bound(Epsilon.read(0.1), Fraction(0))
    >>> 1.3 < float(compose_losses({tenth: 50, Bound(Epsilon.read(0.5), Fraction(0)): 2}, Fraction(1, 10**6))) < 6
    True
    """
    used = {bound: count for bound, count in levels.items() if count > 0}
    if not used:
        return ZERO
    total = compose_basic(Bound(b.epsilon * n, b.delta * n) for b, n in used.items())
    plain_sum = total.epsilon if total.delta <= delta else INFINITE
    if any(bound.epsilon.infinite for bound in used):
        return plain_sum
    return min(plain_sum, _convolved(used, delta))


def _convolved(levels: Mapping[Bound, int], delta: Fraction) -> Epsilon:
    raised = sorted((_rational_above(b.epsilon), b.delta, n) for b, n in levels.items())
    total = sum(epsilon * n for epsilon, _, n in raised)
    if total == 0:
        return INFINITE  # only deltas: their plain sum is all there is to say
    grid = _grid((epsilon for epsilon, _, _ in raised), total)
    cells = 2 * math.ceil(total / grid) + 2 * len(raised)
    count = sum(n for _, _, n in raised)
    goal = float(delta) / _ROUNDED_UP - _transform_error(cells, count)
    if goal <= 0:
        return INFINITE
    result = _composed([(math.ceil(e / grid), d, n) for e, d, n in raised], grid).get_epsilon_for_delta(goal)
    return INFINITE if math.isinf(result) else Epsilon(Fraction(float(result) * _ROUNDED_UP + 1e-12), Fraction(1))


def _rational_above(epsilon: Epsilon) -> Fraction:
    plain, ratio = epsilon.finite_parts
    if ratio == 1:
        return plain
    with precision(64):
        return upper(epsilon.ball())


def _grid(epsilons: Iterable[Fraction], total: Fraction) -> Fraction:
    """The largest step of which every epsilon is a multiple, or, if that would make too many cells, total / cells."""
    step = Fraction(0)
    for epsilon in epsilons:
        step = _common_measure(step, epsilon)
    return max(step, total / _MOST_CELLS)


def _common_measure(first: Fraction, second: Fraction) -> Fraction:
    denominator = math.lcm(first.denominator, second.denominator)
    return Fraction(math.gcd(int(first * denominator), int(second * denominator)), denominator)


def _transform_error(cells: int, count: int) -> float:
    """A bound on the total error of the fast Fourier transforms: sqrt(N) log N rounding units for each factor."""
    return 4 * 2.0**-52 * math.sqrt(cells) * math.log2(cells) * count


def _composed(steps: list[tuple[int, Fraction, int]], grid: Fraction) -> Any:
    with requiring("dp_accounting"):
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    interval = float(grid) * _ROUNDED_UP
    together = None
    for step, delta, count in steps:
        epsilon, rest = float(step * grid), float(1 - delta)
        finite = {
            step: rest / (1 + math.exp(-epsilon)) * _ROUNDED_UP,
            -step: rest * math.exp(-epsilon) / (1 + math.exp(-epsilon)) * _ROUNDED_UP,
        }
        if step == 0:
            finite = {0: rest * _ROUNDED_UP}
        one = PrivacyLossDistribution.create_from_rounded_probability(
            finite, min(1.0, float(delta) * _ROUNDED_UP), interval
        )
        several = one if count == 1 else one.self_compose(count)
        together = several if together is None else together.compose(several)
    return together
