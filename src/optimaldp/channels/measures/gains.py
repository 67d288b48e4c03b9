"""What an attacker or an analyst with any gain gets out of a channel: ``gain[secret][guess]``; a loss is a negative gain."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels.exact_matrix import multiply
from optimaldp.channels.labels import Label
from optimaldp.channels.measures.priors import both_exact, joint, joint_floats, read_prior
from optimaldp.channels.numbers import ExactRow, Number, as_floats, read_gain
from optimaldp.errors import ChannelError

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


def prior_gain(gain: object, channel: Channel, prior: object = None) -> Number:
    """``V_g(π) = max_w Σ_x π(x) g(x,w)``."""
    read, matrix = read_prior(channel, prior), read_gain(gain, secrets=len(channel.inputs))
    if isinstance(read, tuple) and isinstance(matrix, tuple):
        return max(sum((p * g for p, g in zip(read, column)), Fraction(0)) for column in zip(*matrix))
    return float((as_floats(read) @ np.array(matrix, dtype=float)).max())


def posterior_gain(gain: object, channel: Channel, prior: object = None) -> Number:
    """``V_g(π, C) = Σ_z max_w Σ_x π(x) C[x,z] g(x,w)``: the expected gain of the best remap."""
    read, matrix = read_prior(channel, prior), read_gain(gain, secrets=len(channel.inputs))
    if both_exact(channel, read) and isinstance(matrix, tuple):
        values = multiply(list(zip(*joint(channel, read))), matrix)
        return sum((max(row) for row in values), Fraction(0))
    weighted = np.array(matrix, dtype=float) * as_floats(read)[:, None]
    return float((channel.array.T @ weighted).max(axis=1).sum())


def gain_leakage(gain: object, channel: Channel, prior: object = None) -> Number:
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


def additive_gain_leakage(gain: object, channel: Channel, prior: object = None) -> Number:
    """Posterior minus prior gain; meaningful for gains of any sign (a loss is a negative gain)."""
    return posterior_gain(gain, channel, prior) - prior_gain(gain, channel, prior)


def remap(
    channel: Channel, prior: object = None, *, gain: object = None, guesses: Sequence[Label] | None = None
) -> dict[Label, Label]:
    """The Bayes guess for each output: the guess of greatest expected gain, the earliest among equals."""
    matrix = identity_gain(len(channel.inputs)) if gain is None else read_gain(gain, secrets=len(channel.inputs))
    names = (
        list(guesses) if guesses is not None else list(channel.inputs) if gain is None else list(range(len(matrix[0])))
    )
    if len(names) != len(matrix[0]):
        raise ChannelError("guesses", f"{len(names)} names", f"do not fit the gain, which has {len(matrix[0])}")
    read = read_prior(channel, prior)
    if both_exact(channel, read) and isinstance(matrix, tuple):
        values: Any = multiply(list(zip(*joint(channel, read))), matrix)
    else:
        values = (joint_floats(channel, read).T @ np.array(matrix, dtype=float)).tolist()
    return {z: names[max(range(len(names)), key=lambda w: row[w])] for z, row in zip(channel.outputs, values)}


def identity_gain(size: int) -> tuple[ExactRow, ...]:
    """The binary gain: one for the right guess, nothing for any other."""
    return tuple(tuple(Fraction(int(i == j)) for j in range(size)) for i in range(size))
