"""The mechanism of a question at its distance: no graph, one closed form.

All answers' regions touch, so the boundary graph is one chain ``(answer, 0), (answer, 1), ...`` for each answer, with the heads
joined. At the heads stands randomised response; t steps inside, every prefix sum along the preference (the true answer first,
then the others in their public order) has been raised t times by the step function F (papers 000 Thm 3-5, 001 Thm 2-4, with the
corrected F of erratum 001-1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from optimaldp.privacy import ApproximateDP
from optimaldp.privacy.balls import Ball, ball, precision, working_bits
from optimaldp.questions.conditions import Moves


@dataclass(frozen=True)
class Chain:
    """Randomised response over *answers* at the boundary, the unique optimum with that boundary inside.

    **Guarantee.** Two positions ``(answer, distance)`` of neighbouring tables are (epsilon, delta)-close in all events.

    >>> from optimaldp.privacy import level
    >>> chain = Chain(level("ln(2)"), 2)
    >>> [round(float(chain.enclosures(0, distance)[1]), 4) for distance in range(3)]
    [0.3333, 0.1667, 0.0833]
    """

    level: ApproximateDP
    answers: int

    def enclosures(self, truth: int, distance: Moves) -> list[Ball]:
        """The probability of each answer, in the answers' order, at the current precision."""
        beyond = [self.left(rank, distance) for rank in range(self.answers + 1)]
        along = [before - after for before, after in pairwise(beyond)]  # the true answer first
        return [*along[1 : truth + 1], along[0], *along[truth + 1 :]]

    def error(self, distance: Moves) -> Ball:
        """The probability of a wrong answer at the current precision."""
        return self.left(1, distance)

    def left(self, rank: int, distance: Moves) -> Ball:
        """What the *rank* most preferred answers leave to the others: ``1 - F^t(1 - head)``, the head being the boundary's."""
        if rank in (0, self.answers) or distance == math.inf:
            return Ball(1 if rank == 0 else 0)
        with precision(max(working_bits(), 64) + self._lost_bits):
            head = (self.answers - rank) * (
                ball(1 - self.level.delta) / (self.level.epsilon.exp() + (self.answers - 1))
            )
            # The walk is made at the boundary too, where it is not needed: the time must not tell distance 0 from the others.
            walked = self.level.sides(1 - head, max(distance, 1))[1]
        return walked if distance else head

    @cached_property
    def _lost_bits(self) -> int:
        """A head of about ``e^-epsilon`` is subtracted from 1 and must come back as sharp as it was: ``log2 e < 1.5``."""
        return math.ceil(1.5 * float(self.level.epsilon))
