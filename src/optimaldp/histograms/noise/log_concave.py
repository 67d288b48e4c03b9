"""Exact draws from a log-concave law on the whole numbers, given as balls, by rejection.

Around the mode M the weights halve within some width w and keep halving: block j of w numbers on either side has weights of
at most ``f(M) 2^-j``. A side, a block and an offset cost a few fair bits; what remains is to accept with probability
``f(x) 2^j / f(M)``, which a ball encloses. About one proposal in two is accepted.
"""

from __future__ import annotations

from collections.abc import Callable

from optimaldp.privacy.balls import Ball
from optimaldp.sampling import BitSource, choose_enclosed, uniform_below

FIRST_BITS = 64

RelativeWeight = Callable[[int], Ball]


def draw(
    relative_weight: RelativeWeight,
    mode: int,
    width: int,
    source: BitSource,
    *,
    most: int | None = None,
    first_bits: int = FIRST_BITS,
) -> int:
    """One number with weights ``relative_weight(x) = f(x) / f(mode)``, for a mode and width that were checked."""
    while True:
        drawn = propose(relative_weight, mode, width, source, most=most, first_bits=first_bits)
        if drawn is not None:
            return drawn


def propose(
    relative_weight: RelativeWeight,
    mode: int,
    width: int,
    source: BitSource,
    *,
    most: int | None = None,
    first_bits: int = FIRST_BITS,
) -> int | None:
    """One attempt: each number with probability ``f(x) / (4 width f(mode))``, or ``None``.

    Numbers above *most* have no weight.
    """
    right, block = source.take(1), _fair_block(source)
    offset = block * width + uniform_below(width, source)
    number = mode + offset if right else mode - 1 - offset
    if number < 0 or (most is not None and number > most):
        return None

    def chances() -> list[Ball]:
        accept = relative_weight(number) * Ball(2) ** block
        return [accept, 1 - accept]

    return number if choose_enclosed(chances, 2, source, first_bits=first_bits) == 0 else None


def _fair_block(source: BitSource) -> int:
    """How many fair coins show heads before the first tail."""
    block = 0
    while source.take(1):
        block += 1
    return block
