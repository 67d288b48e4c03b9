"""The flip envelope on whole votes: every loser gets exactly the least that privacy allows.

``P(k | c) = x P(k | c - e_w + e_k)`` for any top w (R1), and the tops share the rest equally (R2), with ``x =
e^-epsilon``. Votes are whole, so spread-out options end on two neighbouring heights; an option one below the top has
x times the top's probability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from optimaldp.laws.winner.flattening import Height, flatten
from optimaldp.privacy.trajectory import Number


@dataclass(frozen=True)
class WholeVotes:
    """Integer water: r options at ``ceil(total / members)``, the others one below."""

    power: Callable[[Height], Number]

    def surface(self, total: int, members: int) -> int:
        return -(-total // members)

    def floods(self, count: int, total: int, members: int) -> bool:
        return count >= self.surface(total, members) - 1

    def shares(self, total: int, members: int) -> Number:
        full = total - (self.surface(total, members) - 1) * members
        return full + (members - full) * self.power(1)

    def decay(self, moves: Height) -> Number:
        return self.power(moves)


def lattice_probabilities(counts: Sequence[int], power: Callable[[Height], Number]) -> list[Number]:
    """The distribution of the lattice version; ``power(d)`` gives ``e^(-epsilon d)`` as a Fraction or a ball.

    **Guarantee.** (R1) and (R2) hold exactly. Whether that is private is for :mod:`optimaldp.certify.winner` to say.

    >>> from fractions import Fraction
    >>> [str(p) for p in lattice_probabilities([5, 4, 3, 3], lambda moves: Fraction(1, 2) ** moves)]
    ['10/21', '5/21', '1/7', '1/7']
    """
    return flatten(counts, WholeVotes(power))
