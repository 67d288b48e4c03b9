"""``share(condition among others) >= r``: who is among them is private, so three kinds of people may turn into each other.

With ``v = (1 - r) yes - r no`` a person who changes from yes to no moves v by 1, one who comes in from outside by r or by 1 - r,
and nobody by more. Under add/remove the people outside do not matter: a person more or less moves v by 1 - r or r.
"""

from __future__ import annotations

from fractions import Fraction

from optimaldp.distances.ladder import Moves
from optimaldp.distances.linear import LinearCondition, count_condition, share_condition
from optimaldp.privacy import Neighbours

__all__ = ["count_condition", "flips_of_share_among", "share_among_holds", "share_condition", "signed_share_among"]

Cells = tuple[int, int, int]
"""(yes, no, outside)."""


def share_among_holds(comparison: str, bound: Fraction, cells: Cells) -> bool:
    """Whether ``share <comparison> bound`` is true among those who are not outside."""
    return share_condition(comparison, bound).holds(*cells[:2])


def flips_of_share_among(comparison: str, bound: Fraction, cells: Cells, neighbours: Neighbours) -> Moves:
    """The least number of neighbour moves that change the answer.

    >>> flips_of_share_among(">=", Fraction(1, 5), (0, 0, 7), Neighbours.SUBSTITUTION)  # nobody is among them
    1
    """
    return _condition(comparison, bound).flips(*cells, neighbours)


def signed_share_among(comparison: str, bound: Fraction, cells: Cells, neighbours: Neighbours) -> Fraction | float:
    """The signed fractional distance of the same question: positive for yes, never 0."""
    return _condition(comparison, bound).signed(*cells, neighbours)


def _condition(comparison: str, bound: Fraction) -> LinearCondition:
    return share_condition(comparison, bound)
