"""Sanitised tables (paper 002 as a system): a table goes in, one of the same kind comes out, and later queries run on that."""

from optimaldp.questions.columns import bins
from optimaldp.sanitising.estimate import Estimate, estimate
from optimaldp.sanitising.noisy import Margin
from optimaldp.sanitising.releasing import sanitise
from optimaldp.sanitising.sanitised import Sanitised

__all__ = ["Estimate", "Margin", "Sanitised", "bins", "estimate", "sanitise"]
