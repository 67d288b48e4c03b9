"""Samplers in which no floating-point number decides an answer.

A draw compares a uniform real number, revealed bit by bit, with exact thresholds: rationals, or balls that are
sharpened until they separate. It ends with probability 1, and the distribution is the stated one exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate

from optimaldp.errors import MechanismError
from optimaldp.privacy.balls import Ball, precision
from optimaldp.sampling.bits import BitSource

_LEAST_PRECISION = 128
_FIRST_BITS = 64  # an undecided first word has probability at most (number of answers) / 2**64


def uniform_below(bound: int, source: BitSource) -> int:
    """An integer in ``[0, bound)``, each with probability exactly ``1 / bound``."""
    if bound < 1:
        raise MechanismError("bound", bound, "leaves nothing to choose from")
    bits = (bound - 1).bit_length()
    while True:
        # drawn again, not reduced modulo the bound, which would favour the small ones; more than half of the draws pass
        value = source.take(bits) if bits else 0
        if value < bound:
            return value


def bernoulli(probability: Fraction, source: BitSource) -> bool:
    """True with exactly the given rational probability."""
    return uniform_below(probability.denominator, source) < probability.numerator


def choose(probabilities: Sequence[Fraction | float], source: BitSource, *, first_bits: int = _FIRST_BITS) -> int:
    """An index with exactly the given probabilities: rationals, or floats taken as the dyadic rationals they are."""
    exact = [Fraction(p) for p in probabilities]
    if any(p < 0 for p in exact) or sum(exact) != 1:
        raise MechanismError("probabilities", [str(p) for p in exact], "do not sum to one")
    ends = list(accumulate(exact))
    value, bits = source.take(first_bits), first_bits
    while True:
        low, high = Fraction(value, 2**bits), Fraction(value + 1, 2**bits)
        # the first end above: an answer of probability 0 has the end of the one before it and is never drawn
        index = next(i for i, end in enumerate(ends) if low < end)
        if high <= ends[index]:
            return index
        value, bits = 2 * value + source.take(1), bits + 1


def choose_enclosed(
    probabilities: Callable[[], Sequence[Ball]], size: int, source: BitSource, *, first_bits: int = _FIRST_BITS
) -> int:
    """An index below *size* with exactly the probabilities that *probabilities* encloses at the current precision.

    The last answer takes what the others leave, so its own enclosure is not used: put the likeliest answer last and the
    thresholds are sums of small numbers.
    """
    return choose_by_ends(
        lambda: list(accumulate(probabilities()[: size - 1])).__getitem__, size, source, first_bits=first_bits
    )


def choose_by_ends(
    ends: Callable[[], Callable[[int], Ball]], size: int, source: BitSource, *, first_bits: int = _FIRST_BITS
) -> int:
    """An index below *size* with exactly the probabilities whose sums ``p_0 + ... + p_i`` are enclosed by ``ends()(i)``.

    It is called again, at a higher precision, when the bits drawn so far do not decide. About ``log2(size)`` sums are looked
    at, always the same number, so that the time does not tell which answer was drawn.
    """
    value, bits, working = source.take(first_bits), first_bits, max(_LEAST_PRECISION, 2 * first_bits)
    while True:
        with precision(working):
            end, low, high = ends(), Ball(value) / Ball(2) ** bits, Ball(value + 1) / Ball(2) ** bits
            passed, decided = 0, True  # how many ends lie at or below the interval, and whether it holds none of them
            for power in reversed(range((size - 1).bit_length())):
                probe = passed + (1 << power)
                # The last end is 1, above every interval; another one is evaluated in its place, for the time alone.
                here = end(min(probe, size - 1) - 1)
                above, below = bool(low >= here), bool(high <= here)
                passed = probe if probe < size and above else passed
                decided = decided and (above or below or probe >= size)
        if decided:
            return passed
        # An evaluation of the ends costs far more than a bit, so many are taken at once. A draw that began with a few bits is
        # one that a test enumerates: there each bit doubles the work.
        more = max(8, bits // 2) if bits >= _FIRST_BITS else 1
        value, bits = (value << more) | source.take(more), bits + more
        # enclosures have to be far narrower than the interval, or rounding would leave open what the bits have decided
        working = max(working, 2 * bits + 64)
