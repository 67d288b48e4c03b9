"""Priors as the caller wrote them, and the joint distribution of input and output."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from optimaldp.channels.numbers import ExactRow, FloatArray, Number, as_floats, read_distribution
from optimaldp.errors import ChannelError

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

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
