"""The flip envelope on divisible votes: private for every epsilon up to five options, a little less accurate than whole votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.laws.winner.flattening import Height, flatten
from optimaldp.privacy.trajectory import Number


@dataclass(frozen=True)
class DivisibleVotes:
    """Real water: all members at ``total / members``."""

    power: Callable[[Height], Number]

    def surface(self, total: int, members: int) -> Fraction:
        return Fraction(total, members)

    def floods(self, count: int, total: int, members: int) -> bool:
        return count * members >= total

    def shares(self, total: int, members: int) -> Number:
        return members

    def decay(self, moves: Height) -> Number:
        return self.power(moves)


def continuum_probabilities(counts: Sequence[int], power: Callable[[Height], Number]) -> list[Number]:
    """The distribution of the continuum version; ``power(d)`` gives ``e^(-epsilon d)`` for rational d, as a ball.

    **Guarantee.** epsilon-DP for every epsilon and every n when there are at most five options; not beyond ten.
    """
    return flatten(counts, DivisibleVotes(power))
