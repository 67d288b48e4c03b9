"""An upper bound on the utility of every private channel, and the numbers of a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from optimaldp.certify.channels.reading import FloatArray
from optimaldp.errors import CertificateError
from optimaldp.privacy.numbers import read_number

Worth = Sequence[Sequence[Fraction]] | None
"""``prior[answer] · gain[answer][guess]``; ``None`` where the gain is one for the right answer."""
EXACT_ANSWERS = 120  # up to which sums over all pairs are taken in rationals
UNIT = 2.0**-53


@dataclass(frozen=True)
class UtilityBound:
    """An upper bound on the utility of every private channel, and in words why it holds."""

    value: Fraction
    reason: str


def certificate_number(value: object, name: str, *, signed: bool = False) -> Fraction:
    """A number of 0 or more (any number if *signed*), as a certificate writes it; a float is the dyadic rational that it is."""
    if isinstance(value, float) and not math.isfinite(value):
        raise CertificateError(name, str(value), "is not a number", "a proof has finite numbers")
    number = Fraction(value) if isinstance(value, float) else read_number(value, name=name, error=CertificateError)
    if number < 0 and not signed:
        raise CertificateError(name, str(value), "is negative", "a dual proof has numbers of 0 or more")
    return number


def as_floats(numbers: Sequence[Fraction]) -> FloatArray:
    """The nearest floats."""
    return np.array([float(number) for number in numbers])
