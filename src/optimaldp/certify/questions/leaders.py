"""Whether a list of leaders is really drawn: where no list is nearly certain, more than one must come."""

from __future__ import annotations

from typing import Any

from optimaldp.certify.questions.noise import FixedBits
from optimaldp.laws.setting import Table

_DRAWS = 60
_MOST_LISTS = 200
_NEARLY_CERTAIN = 0.8  # 60 draws of a list that is less likely than that are all the same once in 600,000


def leaders_are_drawn(mechanism: Any) -> bool:
    """On a stream of bits that never changes, of a table without people; true where one list is nearly certain anyway."""
    if mechanism.chosen.lists > _MOST_LISTS:
        return True
    chances = mechanism.chosen.probabilities((0,) * len(mechanism.answers)).values()
    if max(map(float, chances)) > _NEARLY_CERTAIN:
        return True
    source = FixedBits(2002)
    return len({tuple(mechanism.draw(Table({}), source)) for _ in range(_DRAWS)}) > 1
