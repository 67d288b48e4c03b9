"""The second reading of a draw: the place of the drawn bits, found again by direct sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from optimaldp.certify.quantile.direct import DirectLaw, ExaminedQuantile, epsilons
from optimaldp.certify.quantile.powers import EnclosedPowers
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy.balls import Ball, ball, precision

_TRIES = 3


def second_reading(law: ExaminedQuantile, cells: Mapping[int, Any]) -> Callable[[int, int, int], None]:
    """A check of one draw from *law*: is shown the bits (as an integer and their count) and the index that was drawn.

    **Guarantee.** It returns only if the uniform numbers with these first bits certainly lie between ``P(answer < index)`` and
    ``P(answer <= index)``, both recomputed by sums that share nothing with the sampler. Otherwise
    :class:`NotCertifiedError`, whose words hold nothing of the cells.
    """

    def check(value: int, count: int, index: int) -> None:
        if not lies_at(law, cells, Fraction(value, 2**count), Fraction(value + 1, 2**count), index, bits=count):
            raise NotCertifiedError("a second reading of the draw did not confirm it. No answer was given.")

    return check


def lies_at(
    law: ExaminedQuantile, cells: Mapping[int, Any], low: Fraction, high: Fraction, index: int, *, bits: int
) -> bool:
    """Whether ``[low, high]`` certainly lies within the part of [0, 1] that belongs to bin *index*."""
    if not 0 <= index < law.bins:
        return False
    for attempt in range(_TRIES):
        with precision((2 * bits + 96) << attempt):
            direct = DirectLaw(law, cells, EnclosedPowers(epsilons(law), law.share))
            below, above = direct.end(index - 1), direct.end(index)
            if bool(below <= ball(low)) and bool(ball(high) <= above):
                return True
            if _certainly_not(below, above, ball(low), ball(high)):
                return False
    # Still open is not confirmed: the draw is refused, never passed.
    return False


def _certainly_not(below: Ball, above: Ball, low: Ball, high: Ball) -> bool:
    return bool(low < below) or bool(high > above)
