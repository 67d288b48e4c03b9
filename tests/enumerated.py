"""The law of a sampler without statistics: every sequence of bits, up to a length, is tried once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from optimaldp.sampling import BitSource, enumerate_bits


def measured(draw: Callable[[BitSource], Any], depth: int) -> tuple[Counter[Any], Fraction]:
    """The probabilities that *depth* bits decide, and what they leave open."""
    law: Counter[Any] = Counter()
    undecided = Fraction(0)
    for outcome, weight in enumerate_bits(draw, depth=depth):
        if outcome is None:
            undecided += weight
        else:
            law[outcome] += weight  # type: ignore[assignment]  # a Counter of probabilities
    return law, undecided
