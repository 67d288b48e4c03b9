"""Whether a sampler follows its law: the bits of the uniform number are written down, and the answer must be the law's."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Any

from optimaldp.certify.questions.small_tables import watched_cells
from optimaldp.laws.setting import Table
from optimaldp.privacy.balls import lower, precision, upper
from optimaldp.privacy.trajectory import to_ball

_WORD = 64
_NARROWEST = Fraction(1, 2**40)


class ScriptedBits:
    """The bits of one number in [0, 1), then zeros."""

    def __init__(self, number: Fraction) -> None:
        self._rest = number

    def take(self, count: int) -> int:
        scaled = self._rest * 2**count
        whole = int(scaled)
        self._rest = scaled - whole
        return whole


def follows_its_law(mechanism: Any) -> bool:
    """Whether draws follow the law for a few small tables."""
    cells = watched_cells(mechanism.cells, 3)
    tables: list[dict[int, int]] = [{}, {cells[0]: 2, cells[-1]: 1}, {cells[-1]: 3}]
    return all(draws_follow(mechanism, Table(table)) for table in tables)


def draws_follow(mechanism: Any, table: Table) -> bool:
    """Draw at the middle of every answer's stretch of [0, 1), and just inside of both of its ends."""
    law = mechanism.law(table)
    with precision(4 * _WORD):
        # From the probabilities that were examined: the sums that the sampler uses are what is on trial.
        row = [to_ball(p) for p in law.probabilities()]
        ends = list(accumulate(row[answer] for answer in law.order))[:-1]
    low = Fraction(0)
    for place, answer in enumerate(law.order):
        last = place == law.size - 1
        inside = Fraction(1) if last else lower(ends[place])
        if inside - low > _NARROWEST:
            step = (inside - low) / 1000
            for number in (low + step, (low + inside) / 2, inside - step):
                if mechanism.draw(table, ScriptedBits(number)) != mechanism.answers[answer]:
                    return False
        low = max(low, Fraction(1) if last else upper(ends[place]))
    return True
