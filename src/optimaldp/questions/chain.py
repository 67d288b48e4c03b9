"""The mechanism of a question at its distance: no graph, one closed form.

All answers' regions touch, so the boundary graph is one chain ``(answer, 0), (answer, 1), ...`` for each answer, with the heads
joined. At the heads stands randomised response; t steps inside, every prefix sum along the preference (the true answer first,
then the others in their public order) has been raised t times by the step function F (papers 000 Thm 3-5, 001 Thm 2-4, with the
corrected F of erratum 001-1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

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
        wrong = self._wrong(distance)
        order = [truth, *(answer for answer in range(self.answers) if answer != truth)]
        beyond = [Ball(1), *wrong, Ball(0)]  # beyond[k]: what the k most preferred answers leave to the others
        probabilities = [Ball(0)] * self.answers
        for place, answer in enumerate(order):
            probabilities[answer] = beyond[place] - beyond[place + 1]
        return probabilities

    def error(self, distance: Moves) -> Ball:
        """The probability of a wrong answer at the current precision."""
        return self._wrong(distance)[0] if self.answers > 1 else Ball(0)

    def _wrong(self, distance: Moves) -> Sequence[Ball]:
        """``1 - F^t(s_k)`` for the prefix sums ``s_k = 1 - (q - k)(1 - delta)/(E + q - 1)``, k < q."""
        ranks = range(1, self.answers)
        if distance == math.inf:
            return [Ball(0) for _ in ranks]
        with precision(max(working_bits(), 64) + self._lost_bits()):
            rest = ball(1 - self.level.delta) / (self.level.epsilon.exp() + (self.answers - 1))
            heads = [(self.answers - k) * rest for k in ranks]
            # The walk is made at the boundary too, where it is not needed: the time must not tell distance 0 from the others.
            walked = [self.level.sides(1 - head, max(distance, 1))[1] for head in heads]
        return walked if distance else heads

    def _lost_bits(self) -> int:
        """A head of about ``e^-epsilon`` is subtracted from 1 and must come back as sharp as it was: ``log2 e < 1.5``."""
        return math.ceil(1.5 * float(self.level.epsilon))
