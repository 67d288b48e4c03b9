"""Basic composition: epsilons add up, deltas add up, exactly. The default, and the only rule that needs no plan.

It holds for questions *and levels* that are chosen in the light of earlier answers (Dwork, Roth 2014, Theorem 3.16;
Rogers, Roth, Ullman, Vadhan 2016 for levels chosen on the way).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from optimaldp.privacy.epsilon import ZERO
from optimaldp.privacy.levels import Bound

NOTHING = Bound(ZERO, Fraction(0))


def add(first: Bound, second: Bound) -> Bound:
    """What two levels cost together; a delta above 1 is 1."""
    return Bound(first.epsilon + second.epsilon, min(Fraction(1), first.delta + second.delta))


def compose_basic(levels: Iterable[Bound]) -> Bound:
    """The exact sum of levels.

    **Guarantee.** Mechanisms of these levels, each chosen after seeing the answers of the ones before, keep the returned level
    together.

    >>> from optimaldp.privacy import Epsilon
    >>> str(compose_basic([Bound(Epsilon.read(0.1), Fraction(0))] * 3))
    '(0.3, 0)'
    """
    total = NOTHING
    for item in levels:
        total = add(total, item)
    return total
