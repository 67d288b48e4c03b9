"""How reliable a quantile is, as a function of public things: the bins, the level, and a hypothetical spread of people."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from optimaldp.laws.quantile.accuracy import even_accuracy
from optimaldp.laws.setting import Setting
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.accuracy import Accuracy, Distance
from optimaldp.questions.ranking import Ranking
from optimaldp.questions.rivals import Rival

_BITS = 192
_LARGEST_EPSILON = 20  # an epsilon beyond which floats hold nothing but 0 and 1
_BINS_AROUND = 3  # bins on either side of the true one that hold as many people as it does


def rank_accuracy(question: Any, setting: Setting) -> Accuracy:
    """At a margin m the true bin holds 2m people, half of them on either side of the quantile, and so do the bins next to it."""
    law = Ranking.of(question, setting).chosen
    middle = _true_bin(law.bins, law.rank)
    nobody = [] if law.levels is None else [0] * (len(law.levels) - 1)

    def error(margin: int) -> Ball:
        people: dict[int, Any] = _spread(law.bins, middle, margin, law.rank)
        if law.levels is not None:
            people = {place: (number, *nobody) for place, number in people.items()}
        with precision(_BITS):
            ends = law.ends(people)
            before = ball(ends.end(middle - 1)) if middle else Ball(0)
            return before + (ball(ends.rest(middle)) if middle < law.bins - 1 else Ball(0))

    note = "a margin of m: the true bin and those next to it hold 2m people each, the quantile in the middle of its bin"

    def distance() -> Distance:
        figures = _figures(law, setting)
        return tuple(_off(figures)), {"even_spread": [one.to_document() for one in figures]} if figures else {}

    return Accuracy(error, lambda: _rivals(setting, law.bins), (note,), distance)


def _true_bin(bins: int, rank: Fraction) -> int:
    """The bin in the middle; of two bins the one that can hold the quantile in its middle."""
    return bins // 2 if bins > 2 or rank >= Fraction(1, 2) else 0


def _spread(bins: int, middle: int, margin: int, rank: Fraction) -> dict[int, int]:
    """People such that the quantile lies in the middle of bin *middle*: full bins next to it, the rest at the two ends."""
    below, above = _around(bins, middle, margin, rank)
    people = {middle: 2 * margin}
    for number, places in ((below, range(middle - 1, -1, -1)), (above, range(middle + 1, bins))):
        missing = max(0, number)
        for step, place in enumerate(places):
            last = step == len(places) - 1
            here = missing if last else min(missing, 2 * margin if step < _BINS_AROUND else missing)
            if here:
                people[place] = here
            missing -= here
    return people


def _around(bins: int, middle: int, margin: int, rank: Fraction) -> tuple[int, int]:
    """How many people are below and above bin *middle*, enough for the full bins next to it. Where there is no bin above (or
    below) it, so many are on the other side that half of its own people are: ``below + margin = rank (below + 2 margin)``."""
    if middle == bins - 1 and rank < 1:
        return max(0, math.ceil(margin * (2 * rank - 1) / (1 - rank))), 0
    if middle == 0:
        return 0, max(0, math.floor(margin * (1 - 2 * rank) / rank))
    rarer = min(rank, 1 - rank) if rank < 1 else rank  # of rank 1 nobody is above it
    total = 2 * margin * (2 * _BINS_AROUND + 2) * math.ceil(1 / rarer)
    below = max(0, math.ceil(rank * total) - margin)
    return below, total - below - 2 * margin


def _figures(law: Any, setting: Setting) -> tuple[Any, ...]:
    many = law.levels is not None or law.bins > 10**6 or float(law.level.epsilon) > _LARGEST_EPSILON
    if many or not setting.people or setting.people < law.bins:
        return ()
    return even_accuracy(law, setting.people)


def _off(figures: tuple[Any, ...]) -> list[str]:
    """How far off a wrong answer is, were people spread evenly over the bins."""
    if not figures:
        return []
    ours, others = figures[0], figures[1:]
    people = "1 person" if ours.rank_bound == 1 else f"{ours.rank_bound} people"
    bins = "1 bin" if ours.bins_bound == 1 else f"{ours.bins_bound} bins"
    first = f"If values are spread evenly, it is within {people} ({bins}) 95 % of the time"
    compared = ", ".join(f"{one.mechanism} {one.rank_error:.3g}" for one in others)
    return [f"{first}, and off by {ours.rank_error:.3g} people on average ({compared})."]


def _rivals(setting: Setting, bins: int) -> tuple[Rival, ...]:
    """The exponential mechanism with the same spread: its weight falls with half of epsilon for each person missed."""
    epsilon = float(setting.level.epsilon)
    near = min(bins - 1, 2 * _BINS_AROUND)

    def exponential(margin: int) -> float:
        others = sum(math.exp(-epsilon * margin * (2 * (step // 2) + 1) / 2) for step in range(near))
        return others / (1 + others)

    return (Rival("exponential", "score: minus the people by which a bin misses the rank", exponential),)
