"""Yes/no at a distance: the greatest private mechanism with a balanced boundary, in closed form.

The tables of one answer that touch tables of the other form the boundary; there each answer is wrong with probability
``(1 - delta) / (e^epsilon + 1)``. One move further inside, the right answer's probability is raised once by the step function F
(papers 000 Thm 3-5, 001 Thm 2-4, with the corrected F of erratum 001-1), so a table whose answer changes after ``flips`` moves is
raised ``flips - 1`` times (erratum 000-1: distances are counted from the boundary, not from the other side of it).

From the boundary on only one piece of F matters, the one that lowers the wrong answer's probability c to ``(c - delta)/E`` with
``E = e^epsilon``. After k steps that is ``c / E^k - delta (1/E + ... + 1/E^k)``, and 0 once it would be negative.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.privacy import ApproximateDP
from optimaldp.privacy.balls import Ball, ball, context, precision
from optimaldp.privacy.trajectory import Number

_EXACT_BITS = 1 << 13  # longer rationals are enclosed: nobody reads them, and adding them takes long

Moves = int | float  # math.inf: no number of moves is enough


@dataclass(frozen=True)
class Chain:
    """The probability of the wrong one of two answers, by the number of moves to the boundary.

    >>> from optimaldp.privacy import level
    >>> [str(Chain(level("ln(2)")).error(distance)) for distance in range(3)]
    ['1/3', '1/6', '1/12']
    """

    level: ApproximateDP

    def error(self, distance: Moves) -> Number:
        """Exact at a rational level and a moderate distance, else enclosed at the current precision."""
        epsilon = self.level.epsilon
        if distance == math.inf or epsilon.infinite:
            return Fraction(0) if self.level.is_rational else Ball(0)
        steps = int(distance)
        ratio: Number = epsilon.exact_ratio
        delta: Number = self.level.delta
        # Where epsilon is tiny, differences of numbers next to 1 are divided: more bits tell them from 0.
        with precision(max(context.prec, 64) + 32 + 4 * epsilon.leading_zeros):
            # The error is a power of e^epsilon with that many steps: exact where somebody might read it.
            if ratio is None or (ratio.numerator.bit_length() + 1) * steps > _EXACT_BITS:
                ratio, delta = epsilon.exp(), ball(delta)
            head = (1 - delta) / (ratio + 1)
            # A step is made at the boundary too, where there is none: the time must not tell distance 0 from the others.
            decay = (1 / ratio) ** max(steps, 1)
            lost = delta * (steps if epsilon.is_zero else (1 - decay) / (ratio - 1))
            walked = head * decay - lost
            error = walked if steps else head
            return error.max(Ball(0)) if isinstance(error, Ball) else max(error, Fraction(0))
