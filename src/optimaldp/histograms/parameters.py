"""Reading what every part of this package is given: a number of bins, an epsilon, and theta = e^-epsilon."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from optimaldp.errors import HistogramError, LevelError
from optimaldp.privacy.balls import Ball, context, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.trajectory import Number

MOST_EXACT_BINS = 5000  # the exact least error for 5000 bins has about 10,000 digits
_MOST_BINS = 10**7  # two bitmaps and a table of 64-bit integers for this many bins still fit a small machine


def read_bins(value: object, *, public_total: bool = True) -> int:
    """Read a number of bins: an integer from 2 on, or from 1 on where the total is private."""
    least = 2 if public_total else 1
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise HistogramError("bins", value, "is not a number of bins", f"write an integer from {least} on")
    bins = int(value)
    if bins < least:
        nothing = "with one bin and a public total there is nothing to hide; name at least two"
        raise HistogramError("bins", bins, "is too few", nothing if public_total else "name at least one")
    if bins > _MOST_BINS:
        raise HistogramError("bins", bins, f"is more than {_MOST_BINS}", "merge bins or release several histograms")
    return bins


def read_positive_epsilon(epsilon: object) -> Epsilon:
    """Read an epsilon that noise can keep: positive and finite."""
    level = Epsilon.read(epsilon)
    if level.infinite:
        raise LevelError("epsilon", epsilon, "promises no privacy", "name a finite epsilon, such as 1 or 'ln(3)'")
    if level.is_zero:
        raise LevelError("epsilon", epsilon, "needs noise without bound", "name a positive epsilon, such as 0.1")
    return level


def theta(epsilon: Epsilon) -> Number:
    """``e^-epsilon``: a ``Fraction`` if it is rational, else a ball at the current precision."""
    if epsilon.exact_ratio is not None:
        return 1 / epsilon.exact_ratio
    return 1 / epsilon.exp()


def exact_theta(bins: int, epsilon: Epsilon) -> Number:
    """:func:`theta`, but a ball where exact rationals for this many bins would have tens of thousands of digits."""
    return theta(epsilon) if bins <= MOST_EXACT_BINS else theta_ball(epsilon)


def with_precision_for_epsilon(method: Callable[..., Number]) -> Callable[..., Number]:
    """Run a method of a noise law with enough precision for its epsilon: ``1 - theta`` loses the leading zeros of epsilon."""

    @wraps(method)
    def run(self: Any, *arguments: Any) -> Number:
        with precision(context.prec + 64 + 4 * self.epsilon.leading_zeros):
            return method(self, *arguments)

    return run


def theta_ball(epsilon: Epsilon) -> Ball:
    """``e^-epsilon`` as a ball at the current precision."""
    return 1 / epsilon.exp()


# The arrays of counts, weights and probabilities that histograms are worked out with.


if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]
else:
    Array = Any  # a release is verified where there are no arrays
"""Numbers of one kind, floats or whole ones. For readers of types only."""
