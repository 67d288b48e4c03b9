"""The least expected error at a finite number of people, and the mechanisms that have it."""

from optimaldp.histograms.finite.optimum import FiniteOptimum, FiniteRelease, finite_optimum, program_size
from optimaldp.histograms.finite.two_bins import NormalisedGeometric, normalised_geometric, two_bin_optimum

__all__ = [
    "FiniteOptimum",
    "FiniteRelease",
    "NormalisedGeometric",
    "finite_optimum",
    "normalised_geometric",
    "program_size",
    "two_bin_optimum",
]
