"""Noise on a table of counts: its laws, its exact samplers, and how far off it can be."""

from optimaldp.histograms.noise.laplace import LaplaceNoise, laplace_noise
from optimaldp.histograms.noise.lattice_noise import HistogramNoise, histogram_noise

__all__ = ["HistogramNoise", "LaplaceNoise", "histogram_noise", "laplace_noise"]
