"""How reliable a quantile is, as a function of public things: the bins, the level, and a hypothetical spread of people."""

from __future__ import annotations

from typing import Any

from optimaldp.laws.setting import Setting
from optimaldp.privacy.balls import Ball, precision
from optimaldp.privacy.trajectory import to_ball
from optimaldp.questions.accuracy import Accuracy
from optimaldp.questions.ranking import Ranking
from optimaldp.questions.rivals import Rival

_BITS = 192
_AROUND = 3  # bins on either side of the true one that hold as many people as it does


def rank_accuracy(question: Any, setting: Setting) -> Accuracy:
    """At a margin m the true bin holds 2m people, half of them on either side of the quantile, and so do the bins next to it."""
    law = Ranking.of(question, setting).chosen
    middle = law.bins // 2

    def error(margin: int) -> Ball:
        around = range(max(0, middle - _AROUND), min(law.bins, middle + _AROUND + 1))
        people = dict.fromkeys(around, 2 * margin)
        if law.levels is not None:
            people = {place: (2 * margin, *[0] * (len(law.levels) - 1)) for place in around}  # type: ignore[misc]
        with precision(_BITS):
            ends = law.ends(people)
            before = to_ball(ends.end(middle - 1)) if middle else Ball(0)
            return before + (to_ball(ends.rest(middle)) if middle < law.bins - 1 else Ball(0))

    note = "a margin of m: the true bin and those next to it hold 2m people each, the quantile in the middle of its bin"
    return Accuracy(error, tuple(_rivals(setting, law.bins)), (note,))


def _rivals(setting: Setting, bins: int) -> list[Rival]:
    import math

    epsilon = float(setting.level.epsilon)
    near = min(bins - 1, 2 * _AROUND)

    def exponential(margin: int) -> float:
        others = sum(math.exp(-epsilon * margin * (2 * (step // 2) + 1) / 2) for step in range(near))
        return others / (1 + others)

    return [Rival("exponential", "score: minus the people by which a bin misses the rank", exponential)]
