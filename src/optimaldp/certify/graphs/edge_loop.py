"""All edges of a mechanism with two answers, one after the other: certain in one float, certain in two, or open.

The same inequality ``X <= E Y + delta`` is tried first in plain floats, whose error is bounded, and where that leaves a doubt at
twice the precision (see :mod:`optimaldp.certify.graphs.rounding`, which has the same operations on arrays).
"""

from __future__ import annotations

import math
from typing import Any

from optimaldp.certify.graphs.loops import Loop
from optimaldp.certify.graphs.rounding import ABSOLUTE_ERROR, RELATIVE_ERROR, SPLIT, UNIT

CERTAIN, CERTAIN_IN_TWO, OPEN = 0, 1, 2
RATIO_UP = 1 + 8 * UNIT  # above and above - delta are rounded; then below, the quotient and two products
_SUM_UP = 2 * UNIT


def _sum_error(a: float, b: float, total: float) -> float:
    """What ``total = a + b`` lost by rounding, exactly (Knuth)."""
    back = total - a
    return (a - (total - back)) + (b - back)


def _product_error(a: float, b: float, product: float) -> float:
    """What ``product = a b`` lost by rounding, exactly away from underflow (Dekker)."""
    scaled = SPLIT * a
    a_high = scaled - (scaled - a)
    a_low = a - a_high
    scaled = SPLIT * b
    b_high = scaled - (scaled - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _holds(
    above: float,
    above_low: float,
    below: float,
    below_low: float,
    growth: float,
    growth_low: float,
    delta: float,
    delta_low: float,
) -> bool:
    """Whether ``above <= E below + delta`` for certain; each number is a sum of two floats, the promise rounded down."""
    # Strictly more than the error bound is asked for below, and 0 <= 0 never has that.
    if above + above_low == 0.0:
        return True
    product = growth * below
    raised = product + delta
    slack = raised - above
    low = (
        _product_error(growth, below, product) + _sum_error(product, delta, raised) + _sum_error(raised, -above, slack)
    )
    low += growth * below_low + growth_low * below + delta_low - above_low
    return slack + low > RELATIVE_ERROR * (product + delta + above) + ABSOLUTE_ERROR


def _examine_edges(
    tails: Any,
    heads: Any,
    kinds: Any,
    small: Any,
    first_is_small: Any,
    forward: Any,
    promises: Any,
    least_sure_side: float,
    state: Any,
    ratio: Any,
) -> tuple[float, int]:
    """Write the state of every edge, and the least ratio of those that one float did not pass.

    Returns the largest ratio among those that it did pass, and the edge that has it. ``promises[i, k]`` are the four numbers
    of the i-th bound of level k, ``forward[i]`` its direction.
    """
    largest = 1.0
    worst = 0
    for edge in range(len(tails)):
        u = tails[edge]
        v = heads[edge]
        k = kinds[edge]
        # Products of such numbers may be subnormal, where errors are absolute: one float proves nothing there.
        doubt = 0.0 < small[u] < least_sure_side or 0.0 < small[v] < least_sure_side
        doubtful = False
        broken = False
        most = 1.0
        for answer in range(2):
            u_small = first_is_small[u] == (answer == 0)
            v_small = first_is_small[v] == (answer == 0)
            tail = small[u] if u_small else 1.0 - small[u]
            head = small[v] if v_small else 1.0 - small[v]
            for i in range(len(forward)):
                above, below = (head, tail) if forward[i] else (tail, head)
                growth = promises[i, k, 0]
                # Above may be rounded (1 - small), and so is the difference: two units of above cover both.
                excess = (above - promises[i, k, 2]) + above * _SUM_UP
                needed = 0.0  # what delta covers
                if excess > 0.0:
                    needed = excess / below * RATIO_UP if below > 0.0 else math.inf
                most = max(most, needed)
                # One inequality that stays open sends the edge to rationals: the others need no second look.
                if not broken and (doubt or needed > growth):
                    doubtful = True
                    tail_low = 0.0 if u_small else _sum_error(1.0, -small[u], tail)
                    head_low = 0.0 if v_small else _sum_error(1.0, -small[v], head)
                    above_low, below_low = (head_low, tail_low) if forward[i] else (tail_low, head_low)
                    broken = not _holds(
                        above,
                        above_low,
                        below,
                        below_low,
                        growth,
                        promises[i, k, 1],
                        promises[i, k, 2],
                        promises[i, k, 3],
                    )
        if doubtful:
            state[edge] = 2 if broken else 1
            ratio[edge] = most
        elif most > largest:
            largest = most
            worst = edge
    return largest, worst


examine_edges = Loop(_examine_edges, _sum_error, _product_error, _holds)
