"""One privacy step at twice the precision of a float: what three and more answers need.

The probability of a single answer is the difference of two bounds, and a difference loses digits. So a bound is kept as an
unevaluated sum of two floats, *high* and *low*, about 106 bits; as in :mod:`optimaldp.kernels.steps` it is the side of a
probability: itself up to 1/2, minus its complement above. Nothing is rounded to a safe side here: the levels are tightened by far
more (2**-44) than everything that is rounded (2**-98).

Error-free sums and products after Knuth and Dekker. Scalars only, so that the compiler can put them in line.
"""

from __future__ import annotations

SURE = -(2.0**-1022)  # stands for probability 1: above every other side
FAINTEST = 2.0**-950  # complements stop here: below, the low parts would lose their digits
_SPLIT = 134217729.0  # 2^27 + 1
_MATCHED = 1.0 - 2.0**-40  # growth times decay of one and the same tightened epsilon


def below(high: float, low: float, other_high: float, other_low: float) -> bool:
    """Whether the first side stands for a smaller probability than the other."""
    if (high < 0.0) == (other_high < 0.0):
        return high < other_high or (high == other_high and low < other_low)
    return other_high < 0.0


def add(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The sum of two pairs."""
    total = a + b
    back = total - a
    error = (a - (total - back)) + (b - back) + a_low + b_low
    high = total + error
    return high, error - (high - total)


def multiply(a: float, a_low: float, b: float, b_low: float) -> tuple[float, float]:
    """The product of two pairs."""
    product = a * b
    scaled = _SPLIT * a
    a_top = scaled - (scaled - a)
    a_rest = a - a_top
    scaled = _SPLIT * b
    b_top = scaled - (scaled - b)
    b_rest = b - b_top
    error = ((a_top * b_top - product) + a_top * b_rest + a_rest * b_top) + a_rest * b_rest
    error += a * b_low + a_low * b
    high = product + error
    return high, error - (high - product)


def from_complement(rest: float, rest_low: float) -> tuple[float, float]:
    """The side of one minus a pair."""
    if rest <= 0.0:
        return SURE, 0.0
    if rest < FAINTEST:
        return -FAINTEST, 0.0
    if rest < 0.5:
        return -rest, -rest_low
    return add(1.0, 0.0, -rest, -rest_low)


def double_step(
    high: float,
    low: float,
    growth: float,
    growth_low: float,
    delta: float,
    delta_low: float,
    decay: float,
    decay_low: float,
    back: float,
    back_low: float,
) -> tuple[float, float]:
    """The side of ``F(p)`` for one bound: growth ``e^epsilon``, and of the way back decay ``e^-epsilon``, with their deltas."""
    if high == SURE:
        return high, low
    if high < 0.0:
        rest, rest_low = add(-high, -low, -back, -back_low)
        complement, complement_low = multiply(rest, rest_low, decay, decay_low)
        if not (growth * decay >= _MATCHED and delta >= back):
            # Above 1/2 growth binds on directed edges only: 1 - E (1 - c) - delta = E c - ((E - 1) + delta).
            more, more_low = multiply(growth, growth_low, -high, -low)
            less, less_low = add(growth, growth_low, -1.0, 0.0)
            less, less_low = add(less, less_low, delta, delta_low)
            more, more_low = add(more, more_low, -less, -less_low)
            if more > complement:
                complement, complement_low = more, more_low
        result, result_low = from_complement(complement, complement_low)
    else:
        grown, grown_low = multiply(high, low, growth, growth_low)
        grown, grown_low = add(grown, grown_low, delta, delta_low)
        rest, rest_low = add(1.0, 0.0, -high, -low)
        rest, rest_low = add(rest, rest_low, -back, -back_low)
        complement, complement_low = multiply(rest, rest_low, decay, decay_low)
        total, total_low = add(grown, grown_low, complement, complement_low)
        if total < 1.0 or (total == 1.0 and total_low <= 0.0):
            result, result_low = grown, grown_low
            if grown > 0.5:
                rest, rest_low = add(1.0, 0.0, -grown, -grown_low)
                result, result_low = from_complement(rest, rest_low)
        else:
            result, result_low = from_complement(complement, complement_low)
    if below(result, result_low, high, low):
        return high, low
    return result, result_low


CALLS = (below, add, multiply, from_complement, double_step)
