"""Yes/no at a distance: the greatest private mechanism with a balanced boundary, in closed form.

The tables of one answer that touch tables of the other form the boundary; there each answer is wrong with probability
``(1 - delta) / (e^epsilon + 1)``. One move further inside, the right answer's probability is raised once by the step function F
(papers 000 Thm 3-5, 001 Thm 2-4, with the corrected F of erratum 001-1), so a table whose answer changes after ``flips`` moves is
raised ``flips - 1`` times (erratum 000-1: distances are counted from the boundary, not from the other side of it).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.privacy import ApproximateDP
from optimaldp.privacy.balls import Ball, ball, precision, working_bits
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
        epsilon, rest = self.level.epsilon, 1 - self.level.delta
        if distance == math.inf:
            return Fraction(0) if self.level.is_rational else Ball(0)
        ratio = epsilon.exact_ratio
        # The error is a power of e^epsilon with that many steps: exact where somebody might read it.
        if ratio is not None and (ratio.numerator.bit_length() + 1) * distance <= _EXACT_BITS:
            return self._walked(rest / (ratio + 1), distance)
        # A head of about e^-epsilon is subtracted from 1 and must come back as sharp as it was: log2 e < 1.5.
        with precision(max(working_bits(), 64) + math.ceil(1.5 * float(epsilon))):
            return self._walked(ball(rest) / (epsilon.exp() + 1), distance)

    def _walked(self, head: Number, distance: Moves) -> Number:
        # The walk is made at the boundary too, where it is not needed: the time must not tell distance 0 from the others.
        walked = self.level.sides(1 - head, max(distance, 1))[1]
        return walked if distance else head
