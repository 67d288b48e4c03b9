"""The level that a release can promise."""

from __future__ import annotations

from optimaldp.errors import LevelError
from optimaldp.privacy import ApproximateDP, level
from optimaldp.privacy.numbers import fraction_text

_SMALLEST_BITS = 200  # 2^-200 is 6e-61: nobody means less
_LARGEST_EPSILON = 1000  # e^1000 has 435 digits, and the referee's exact sums multiply it


def read_release_level(epsilon: object, delta: object = 0) -> ApproximateDP:
    """A level that a release can promise: a finite epsilon, and a delta below 1."""
    made = level(epsilon, delta)
    if not isinstance(made, ApproximateDP) or not made.is_single:
        raise LevelError("epsilon", str(made), "is not a single (epsilon, delta)", "write epsilon=1, delta=1e-6")
    if made.epsilon.infinite:
        raise LevelError("epsilon", "inf", "promises nothing", "a release needs a finite epsilon")
    # The whole number above it settles nearly all cases; only who is near the limit is looked at closely.
    if made.epsilon.ceiling > _LARGEST_EPSILON and float(made.epsilon) > _LARGEST_EPSILON:
        raise LevelError(
            "epsilon", str(epsilon), "is too large to mean privacy", f"a release takes at most {_LARGEST_EPSILON}"
        )
    below_one = made.delta.denominator.bit_length() - made.delta.numerator.bit_length() if made.delta else 0
    for name, zeros in (("epsilon", 0 if made.epsilon.is_zero else made.epsilon.leading_zeros), ("delta", below_one)):
        if zeros > _SMALLEST_BITS:
            raise LevelError(name, f"2^-{zeros}", "is too small to be told from 0 in reasonable time", "write 0")
    if made.delta >= 1:
        raise LevelError("delta", fraction_text(made.delta), "promises nothing", "a release needs a delta below 1")
    return made
