"""What an attacker gains from a channel, and what an analyst does. Bits throughout; success chances are exact when the
channel is.

Conventions: ``prior=None`` is uniform; ``gain[secret][guess]``; a *vulnerability* is an expected gain of the best
guess.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.channels.channel import Channel, Label
from optimaldp.channels.numbers import ExactRow, FloatArray, Number, as_floats, bits_of, read_distribution, read_gain
from optimaldp.errors import ChannelError

Prior = ExactRow | FloatArray
_CACHED = 32_768  # cells of a block of rows that stays in the processor's cache


def read_prior(channel: Channel, prior: Any) -> Prior:
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


def _both_exact(channel: Channel, prior: Prior) -> bool:
    return channel.exact and isinstance(prior, tuple)


def joint(channel: Channel, prior: Any = None) -> list[list[Number]]:
    """The joint distribution of input and output, row by row."""
    read = read_prior(channel, prior)
    if _both_exact(channel, read):
        return [[p * cell for cell in row] for p, row in zip(read, channel.exact_rows)]
    return [list(row) for row in _joint_floats(channel, read).tolist()]


def _joint_floats(channel: Channel, prior: Prior) -> FloatArray:
    return channel.array * as_floats(prior)[:, None]


def prior_vulnerability(channel: Channel, prior: Any = None) -> Number:
    """The chance of one right guess before anything is seen."""
    read = read_prior(channel, prior)
    return max(read) if isinstance(read, tuple) else float(read.max())


def posterior_vulnerability(channel: Channel, prior: Any = None) -> Number:
    """The chance of one right guess after the output was seen: ``Σ_z max_x π(x) C[x,z]``.

    >>> posterior_vulnerability(Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    Fraction(3, 4)
    """
    read = read_prior(channel, prior)
    if _both_exact(channel, read):
        return sum((max(column) for column in zip(*joint(channel, read))), Fraction(0))
    weights = as_floats(read)
    if (weights == weights[0]).all():
        return float(weights[0] * channel.array.max(axis=0).sum())  # one pass over the matrix instead of two
    return float(_column_maxima(channel.array, weights).sum())


def _column_maxima(array: FloatArray, weights: FloatArray) -> FloatArray:
    # In blocks of rows that stay in the cache: a full product would walk through memory twice.
    block = max(1, _CACHED // array.shape[1])
    best = np.zeros(array.shape[1])
    for start in range(0, len(weights), block):
        part = array[start : start + block] * weights[start : start + block, None]
        np.maximum(best, part.max(axis=0), out=best)
    return best


def bayes_risk(channel: Channel, prior: Any = None) -> Number:
    """The chance that the best single guess after the output is wrong."""
    return 1 - posterior_vulnerability(channel, prior)


def min_entropy(channel: Channel, prior: Any = None) -> float:
    """``H_∞(X) = −log2`` of the prior vulnerability (erratum F3: the minus sign belongs there)."""
    return -bits_of(prior_vulnerability(channel, prior))


def conditional_min_entropy(channel: Channel, prior: Any = None) -> float:
    """``H_∞(X|Z) = −log2`` of the posterior vulnerability."""
    return -bits_of(posterior_vulnerability(channel, prior))


def min_entropy_leakage(channel: Channel, prior: Any = None) -> float:
    """``I_∞ = log2(posterior / prior vulnerability)``.

    Zero leakage does not mean independence (erratum F2): it means that the best guess stays as good as it was.
    """
    return bits_of(multiplicative_leakage(channel, prior))


def multiplicative_leakage(channel: Channel, prior: Any = None) -> Number:
    """Posterior over prior vulnerability, as a factor."""
    return posterior_vulnerability(channel, prior) / prior_vulnerability(channel, prior)


def column_maxima_sum(channel: Channel) -> Number:
    """``Σ_z max_x C[x,z]``: the factor by which some prior's vulnerability grows, and no gain's grows more."""
    if channel.exact:
        return sum((max(column) for column in zip(*channel.exact_rows)), Fraction(0))
    return float(channel.array.max(axis=0).sum())


def min_capacity(channel: Channel) -> float:
    """``C_∞ = log2 Σ_z max_x C[x,z]`` (erratum F1: the paper lost the logarithm)."""
    return bits_of(column_maxima_sum(channel))


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


def prior_gain(gain: Any, channel: Channel, prior: Any = None) -> Number:
    """``V_g(π) = max_w Σ_x π(x) g(x,w)``."""
    read, matrix = read_prior(channel, prior), read_gain(gain, secrets=len(channel.inputs))
    if isinstance(read, tuple) and isinstance(matrix, tuple):
        return max(sum((p * g for p, g in zip(read, column)), Fraction(0)) for column in zip(*matrix))
    return float((as_floats(read) @ np.array(matrix, dtype=float)).max())


def posterior_gain(gain: Any, channel: Channel, prior: Any = None) -> Number:
    """``V_g(π, C) = Σ_z max_w Σ_x π(x) C[x,z] g(x,w)``: the expected gain of the best remap."""
    read, matrix = read_prior(channel, prior), read_gain(gain, secrets=len(channel.inputs))
    if _both_exact(channel, read) and isinstance(matrix, tuple):
        from optimaldp.channels.exact_matrix import multiply

        values = multiply(list(zip(*joint(channel, read))), matrix)
        return sum((max(row) for row in values), Fraction(0))
    weighted = np.array(matrix, dtype=float) * as_floats(read)[:, None]
    return float((channel.array.T @ weighted).max(axis=1).sum())


def gain_leakage(gain: Any, channel: Channel, prior: Any = None) -> Number:
    """Posterior over prior gain, as a factor. For gains ≥ 0 it never exceeds the sum of column maxima."""
    before = prior_gain(gain, channel, prior)
    if before <= 0:
        raise ChannelError(
            "gain",
            str(before),
            "is the best gain without the output, so there is no ratio",
            "use additive_gain_leakage",
        )
    return posterior_gain(gain, channel, prior) / before


def additive_gain_leakage(gain: Any, channel: Channel, prior: Any = None) -> Number:
    """Posterior minus prior gain; meaningful for gains of any sign (a loss is a negative gain)."""
    return posterior_gain(gain, channel, prior) - prior_gain(gain, channel, prior)


def remap(
    channel: Channel, prior: Any = None, *, gain: Any = None, guesses: Sequence[Label] | None = None
) -> dict[Label, Label]:
    """The Bayes guess for each output: the guess of greatest expected gain, the earliest among equals."""
    matrix = identity_gain(len(channel.inputs)) if gain is None else read_gain(gain, secrets=len(channel.inputs))
    names = (
        list(guesses) if guesses is not None else list(channel.inputs) if gain is None else list(range(len(matrix[0])))
    )
    if len(names) != len(matrix[0]):
        raise ChannelError("guesses", f"{len(names)} names", f"do not fit the gain, which has {len(matrix[0])}")
    read = read_prior(channel, prior)
    if _both_exact(channel, read) and isinstance(matrix, tuple):
        from optimaldp.channels.exact_matrix import multiply

        values: Any = multiply(list(zip(*joint(channel, read))), matrix)
    else:
        values = (_joint_floats(channel, read).T @ np.array(matrix, dtype=float)).tolist()
    return {z: names[max(range(len(names)), key=lambda w: row[w])] for z, row in zip(channel.outputs, values)}


def identity_gain(size: int) -> tuple[ExactRow, ...]:
    """The binary gain: one for the right guess, nothing for any other."""
    return tuple(tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size))


def shannon_entropy(channel: Channel, prior: Any = None) -> float:
    """``H(X)`` in bits: yes/no questions take at least this many on average, and fewer than one more (erratum F25)."""
    return renyi_entropy(read_prior(channel, prior), 1)


def mutual_information(channel: Channel, prior: Any = None) -> float:
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


def conditional_entropy(channel: Channel, prior: Any = None) -> float:
    """``H(X|Z)`` in bits."""
    return shannon_entropy(channel, prior) - mutual_information(channel, prior)


def guessing_entropy(channel: Channel, prior: Any = None) -> Number:
    """The expected number of guesses "is it x?" until the right one, before anything is seen."""
    read = read_prior(channel, prior)
    if isinstance(read, tuple):
        return sum((k * p for k, p in enumerate(sorted(read, reverse=True), start=1)), Fraction(0))
    return float(np.sort(read)[::-1] @ np.arange(1, len(read) + 1))


def posterior_guessing_entropy(channel: Channel, prior: Any = None) -> Number:
    """The expected number of guesses after the output was seen."""
    read = read_prior(channel, prior)
    if _both_exact(channel, read):
        columns = (sorted(column, reverse=True) for column in zip(*joint(channel, read)))
        return sum((k * p for column in columns for k, p in enumerate(column, start=1)), Fraction(0))
    ordered = np.sort(np.ascontiguousarray(_joint_floats(channel, read).T), axis=1)
    return float((ordered @ np.arange(len(channel.inputs), 0, -1)).sum())
