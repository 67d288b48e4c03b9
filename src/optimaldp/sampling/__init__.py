"""Exact sampling, and the only source of randomness in the project."""

from optimaldp.sampling.bits import BitSource, SystemBits, enumerate_bits
from optimaldp.sampling.exact import bernoulli, choose, choose_by_ends, choose_enclosed, uniform_below

__all__ = [
    "BitSource",
    "SystemBits",
    "bernoulli",
    "choose",
    "choose_by_ends",
    "choose_enclosed",
    "enumerate_bits",
    "uniform_below",
]
