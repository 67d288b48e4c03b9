"""The distribution that a quantile samples from, for counts that the caller makes up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.laws.quantile.law import QuantileLaw, quantile_law
from optimaldp.laws.quantile.modes import QuantileMode
from optimaldp.privacy import level, read_probability
from optimaldp.privacy.balls import Ball, precision
from optimaldp.privacy.numbers import read_number

_DIGITS = 30  # of a Decimal result, all of them right
_EXACT_BITS = 1 << 24  # of all exact rationals together; beyond that nobody reads them and they take long: decimals
_MOST_BITS = 1 << 14  # a probability that is 0 to this many bits is reported as 0


def quantile_probabilities(
    counts: Sequence[int],
    rank: object = Fraction(1, 2),
    *,
    epsilon: object,
    delta: object = 0,
    weights: Iterable[Any] | None = None,
    mechanism: str | None = None,
) -> list[Fraction] | list[Decimal]:
    """The probability that each bin is announced as the one that holds the quantile *rank*, for counts that the caller makes up.

    **Guarantee.** The distribution that a release with these public numbers samples from: exact ``Fraction`` values where the
    law is rational (``e^(-epsilon/2)`` for the smoothed rank, ``e^-epsilon`` for FLIP and FLIP+), else ``Decimal`` values with
    30 correct digits. *mechanism* ("smoothed rank", "flip", "flip+") is for study: a release chooses by public numbers, and
    outside of its region a flip is not private. Of private counts the result is private too.

    >>> quantile_probabilities([2, 3, 1, 4], epsilon="ln(4)", mechanism="smoothed rank")
    [Fraction(1, 76), Fraction(149, 228), Fraction(22, 75), Fraction(1, 25)]
    """
    people = _checked(counts)
    read = None if weights is None else tuple(read_number(w, name="weights", error=QuestionError) for w in weights)
    share = read_probability(rank, name="rank", error=QuestionError)
    law = quantile_law(len(people), share, level(epsilon, delta), weights=read)
    if mechanism is not None:
        law = replace(law, mode=_named(mechanism, law))
    cells = {bin_: count for bin_, count in enumerate(people) if count}
    if law.exact and _exact_size(law, sum(people)) <= _EXACT_BITS:
        return law.probabilities(cells, exact=True)
    return _decimals(law, cells)


def _named(mechanism: str, law: QuantileLaw) -> QuantileMode:
    try:
        mode = QuantileMode(mechanism)
    except ValueError:
        names = ", ".join(f"'{name}'" for name in QuantileMode)
        raise QuestionError("mechanism", mechanism, "is not a mechanism for quantiles", f"write {names}") from None
    if law.weights is not None and mode is not QuantileMode.SMOOTHED_RANK:
        raise QuestionError(
            "mechanism", mechanism, "does not use weights", "write 'smoothed rank' or leave weights out"
        )
    return mode


def _checked(counts: Sequence[int]) -> list[int]:
    """The counts as integers. No message quotes one: they may have been read from a table."""
    try:
        listed = list(counts)
    except TypeError:
        raise QuestionError("counts", "(not shown)", "are not a list of whole numbers") from None
    if any(isinstance(count, bool) or not isinstance(count, Integral) or count < 0 for count in listed):
        raise QuestionError("counts", "(not shown)", "are not whole numbers of 0 or more") from None
    return [int(count) for count in listed]


def _exact_size(law: QuantileLaw, persons: int) -> int:
    ratio = law.level.epsilon.exact_ratio or Fraction(1)
    return max(ratio.numerator, ratio.denominator).bit_length() * persons * law.bins


def _decimals(law: QuantileLaw, cells: dict[int, int]) -> list[Decimal]:
    bits = 5 * _DIGITS + 64
    while True:
        with precision(bits):
            enclosed = law.probabilities(cells)
            if bits >= _MOST_BITS or all(p == 0 or p.rel_accuracy_bits() > 3.4 * _DIGITS for p in enclosed):
                return [_decimal(p) for p in enclosed]
        bits *= 2


def _decimal(enclosed: Ball) -> Decimal:
    return Decimal(0) if enclosed.contains(0) else Decimal(enclosed.str(_DIGITS, radius=False))
