"""One privacy step in floating point, rounded to the safe side.

A probability p is kept as one float, its *side*: ``p`` itself up to 1/2, and ``-(1 - p)`` above. So both ends keep their
relative precision, and the value that a side stands for is an exact dyadic rational. ``SURE`` stands for p = 1.

Every step is rounded *down*: the result never exceeds the true ``F(p)``, and never falls below p itself (which is
always allowed). A mechanism made of these values is therefore private as it stands, whatever was rounded.
"""

from __future__ import annotations

SURE = -(2.0**-1022)  # above every other side; a normal number, because comparing subnormal ones is slow
FAINTEST = 2.0**-1000  # complements stop here instead of vanishing: with delta = 0 a zero would break every promise

SMALLEST = 2.0**-1020  # below this floats lose their relative precision

# The rounding of a few operations, relative to their result; the referee's own rounding error is below half of it.
DOWN = 1.0 - 2.0**-50
UP = 1.0 + 2.0**-50
SLACK = 2.0**-50  # the same for sums of numbers of order 1
INFINITE = float("inf")
MATCHED = 1.0 - SLACK  # growth times decay, each rounded, of one and the same epsilon


def below(a: float, b: float) -> bool:
    """Whether side *a* stands for a smaller probability than side *b*."""
    if (a < 0.0) == (b < 0.0):
        return a < b
    return b < 0.0


def step(side: float, growth: float, delta: float, decay: float, back_delta: float) -> float:
    """The side of (at most) ``F(p)`` for one bound.

    *growth* is ``e^epsilon`` rounded down, *decay* is ``e^-epsilon`` of the other direction rounded up, both deltas are
    rounded down. Scalars only: an array that crosses a call costs more than the arithmetic.
    """
    if side == SURE:
        return SURE
    if side < 0.0:
        result = _step_high(-side, growth, delta, decay, back_delta)
    else:
        result = _step_low(side, growth, delta, decay, back_delta)
    return side if below(result, side) else result


def _step_low(p: float, growth: float, delta: float, decay: float, back_delta: float) -> float:
    """From p <= 1/2: the growth ``E p + delta``, or the decay of the complement."""
    grown = (growth * p + delta) * DOWN if p > 0.0 else delta
    if grown < SMALLEST:
        return p  # subnormal numbers have no relative precision to round down by; standing still is always private
    rest = ((1.0 - p) - back_delta + SLACK) * decay * UP
    if grown <= 0.5:
        other = (1.0 - rest) - SLACK
        return grown if grown < other else max(other, 0.0)
    return _from_complement(max(1.0 - grown + SLACK, rest))


def _step_high(rest: float, growth: float, delta: float, decay: float, back_delta: float) -> float:
    """From a complement below 1/2."""
    decayed = (rest - back_delta) * decay * UP if rest > back_delta else 0.0
    if growth == INFINITE or (growth * decay >= MATCHED and delta >= back_delta):
        # Above 1/2 the growth never binds when it is at least as generous as the decay: any undirected edge.
        return _from_complement(decayed)
    # 1 - E(1 - c) - delta in an order that subtracts nearly equal numbers only where the result is of order 1.
    return _from_complement(max(decayed, growth * rest - ((growth - 1.0) + delta) + SLACK * growth))


def _from_complement(rest: float) -> float:
    """The side of ``1 - rest``, where *rest* is an upper bound of the true complement."""
    if rest <= 0.0:
        return SURE
    if rest < FAINTEST:
        return -FAINTEST
    if rest < 0.5:
        return -rest
    return max((1.0 - rest) * DOWN, 0.0)
