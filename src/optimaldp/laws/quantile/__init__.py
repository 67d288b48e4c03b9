"""Quantiles: the smoothed rank, FLIP and FLIP+, generic in their numbers."""

from optimaldp.laws.quantile.law import QuantileLaw, quantile_law
from optimaldp.laws.quantile.modes import QuantileMode, choose_mode
from optimaldp.laws.quantile.probabilities import quantile_probabilities
from optimaldp.laws.quantile.several import JointQuartiles, RepeatedQuantiles, several_quantiles

__all__ = [
    "JointQuartiles",
    "QuantileLaw",
    "QuantileMode",
    "RepeatedQuantiles",
    "choose_mode",
    "quantile_law",
    "quantile_probabilities",
    "several_quantiles",
]
