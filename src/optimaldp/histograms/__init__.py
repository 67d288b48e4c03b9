"""Whole histograms with the least possible error (paper 002): lattice counts, noise, remaps, the error itself, finite
optima."""

from optimaldp.histograms.error import (
    epsilon_for_error,
    error_ball,
    exact_error,
    large_epsilon_error,
    many_bins_error,
    normaliser,
    optimal_error,
    small_epsilon_error,
)
from optimaldp.histograms.finite.optimum import FiniteOptimum, finite_optimum, program_size
from optimaldp.histograms.finite.two_bins import NormalisedGeometric, normalised_geometric, two_bin_optimum
from optimaldp.histograms.independent import IndependentPrior, independent, least_error, poisson
from optimaldp.histograms.lattice import (
    ball_size,
    constraint_graph,
    distances_from,
    ehrhart_numerator,
    ehrhart_polynomial,
    sphere_size,
)
from optimaldp.histograms.margins import TwoWayTable, two_way_table
from optimaldp.histograms.noise import HistogramNoise, histogram_noise
from optimaldp.histograms.noise.laplace import LaplaceNoise, laplace_noise
from optimaldp.histograms.noise.sparse import SparseNoise, sparse_noise
from optimaldp.histograms.noise.sums import QueryError, epsilon_for_query, query_error
from optimaldp.histograms.priors import dirichlet, multinomial, read_prior
from optimaldp.histograms.public_error import expected_error
from optimaldp.histograms.release import HistogramRelease, private_histogram
from optimaldp.histograms.remaps import ball_map, project, round_share
from optimaldp.histograms.remaps.choosing import RemapComparison, RemapError, compare_remaps, remap_error

__all__ = [
    "FiniteOptimum",
    "HistogramNoise",
    "HistogramRelease",
    "IndependentPrior",
    "LaplaceNoise",
    "NormalisedGeometric",
    "QueryError",
    "RemapComparison",
    "RemapError",
    "SparseNoise",
    "TwoWayTable",
    "ball_map",
    "ball_size",
    "compare_remaps",
    "constraint_graph",
    "dirichlet",
    "distances_from",
    "ehrhart_numerator",
    "ehrhart_polynomial",
    "epsilon_for_error",
    "epsilon_for_query",
    "error_ball",
    "exact_error",
    "expected_error",
    "finite_optimum",
    "histogram_noise",
    "independent",
    "laplace_noise",
    "large_epsilon_error",
    "least_error",
    "many_bins_error",
    "multinomial",
    "normalised_geometric",
    "normaliser",
    "optimal_error",
    "poisson",
    "private_histogram",
    "program_size",
    "project",
    "query_error",
    "read_prior",
    "remap_error",
    "round_share",
    "small_epsilon_error",
    "sparse_noise",
    "sphere_size",
    "two_bin_optimum",
    "two_way_table",
]
