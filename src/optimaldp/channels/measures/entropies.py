"""Shannon's and Rényi's measures, and the number of guesses. Bits throughout."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels.numbers import ExactRow, FloatArray, Number, as_floats, read_distribution
from optimaldp.errors import ChannelError

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


# Priors as the caller wrote them, and the joint distribution of input and output.


Prior = ExactRow | FloatArray


def read_prior(channel: Channel, prior: object) -> Prior:
    """The prior of a channel's inputs: ``None`` is uniform."""
    size = len(channel.inputs)
    if prior is None:
        return (Fraction(1, size),) * size if channel.exact else np.full(size, 1 / size)
    if isinstance(prior, dict):
        unknown = [name for name in prior if name not in channel.inputs]
        if unknown:
            raise ChannelError("prior", unknown[0], "is not an input of this channel")
        prior = [prior.get(name, 0) for name in channel.inputs]
    return read_distribution(prior, size=size, name="prior")


def both_exact(channel: Channel, prior: Prior) -> bool:
    return channel.exact and isinstance(prior, tuple)


def joint(channel: Channel, prior: object = None) -> list[list[Number]]:
    """The joint distribution of input and output, row by row."""
    read = read_prior(channel, prior)
    if both_exact(channel, read):
        return [[p * cell for cell in row] for p, row in zip(read, channel.exact_rows)]
    return [list(row) for row in joint_floats(channel, read).tolist()]


def joint_floats(channel: Channel, prior: Prior) -> FloatArray:
    return channel.array * as_floats(prior)[:, None]


_CACHED = 32_768  # cells of a block of rows that stays in the processor's cache


def renyi_entropy(prior: Sequence[Any] | FloatArray, order: float) -> float:
    """Rényi's entropy of a distribution; order 0 is Hartley's, 1 is Shannon's, ``inf`` is min-entropy."""
    masses = as_floats(read_distribution(prior, size=len(prior), name="prior"))
    masses = masses[masses > 0]
    if order < 0 or math.isnan(order):
        raise ChannelError("order", order, "is not an order of Rényi's entropy", "it must be 0 or more")
    if order == 1:
        return float(-(masses * np.log2(masses)).sum())
    if order == math.inf:
        return float(-np.log2(masses.max()))
    return float(np.log2((masses**order).sum()) / (1 - order))


def shannon_entropy(channel: Channel, prior: object = None) -> float:
    """``H(X)`` in bits: yes/no questions take at least this many on average, and fewer than one more (erratum F25)."""
    return renyi_entropy(read_prior(channel, prior), 1)


def mutual_information(channel: Channel, prior: object = None) -> float:
    """``I(X;Z)`` in bits: entropy of the output minus its expected entropy given the input."""
    weights = as_floats(read_prior(channel, prior))
    # I = Σ_x π_x (Σ_z C log C) − Σ_z q log q with 0 log 0 = 0; log is taken once per cell and never of a quotient.
    output = weights @ channel.array
    information = float(weights @ negative_entropies(channel.array) - _plogp(output).sum())
    return max(0.0, information / math.log(2))


def negative_entropies(array: FloatArray) -> FloatArray:
    """``Σ_z C[x,z] ln C[x,z]`` for each row."""
    block = max(1, _CACHED // array.shape[1])
    return np.concatenate([_row_sums(array[start : start + block]) for start in range(0, len(array), block)])


def _row_sums(array: FloatArray) -> FloatArray:
    # 0 log 0 = 0: a zero is lifted to the smallest normal number, whose product with 0 is 0 again
    logs = np.log(np.maximum(array, np.finfo(np.float64).tiny))
    return np.asarray(np.einsum("xz,xz->x", array, logs), dtype=np.float64)


def _plogp(masses: FloatArray) -> FloatArray:
    positive = masses[masses > 0]
    return positive * np.log(positive)


def conditional_entropy(channel: Channel, prior: object = None) -> float:
    """``H(X|Z)`` in bits."""
    return shannon_entropy(channel, prior) - mutual_information(channel, prior)


def guessing_entropy(channel: Channel, prior: object = None) -> Number:
    """The expected number of guesses "is it x?" until the right one, before anything is seen."""
    read = read_prior(channel, prior)
    if isinstance(read, tuple):
        return sum((k * p for k, p in enumerate(sorted(read, reverse=True), start=1)), Fraction(0))
    return float(np.sort(read)[::-1] @ np.arange(1, len(read) + 1))


def posterior_guessing_entropy(channel: Channel, prior: object = None) -> Number:
    """The expected number of guesses after the output was seen."""
    read = read_prior(channel, prior)
    if both_exact(channel, read):
        columns = (sorted(column, reverse=True) for column in zip(*joint(channel, read)))
        return sum((k * p for column in columns for k, p in enumerate(column, start=1)), Fraction(0))
    ordered = np.sort(np.ascontiguousarray(joint_floats(channel, read).T), axis=1)
    return float((ordered @ np.arange(len(channel.inputs), 0, -1)).sum())
