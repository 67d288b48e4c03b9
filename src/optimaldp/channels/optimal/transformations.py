"""The paper's lemmas as transformations: each keeps privacy and the posterior vulnerability under a uniform prior."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.channels.channel import Channel
from optimaldp.channels.databases import Databases
from optimaldp.channels.measures.report import check_databases
from optimaldp.channels.numbers import Number
from optimaldp.errors import ChannelError
from optimaldp.privacy.epsilon import Epsilon

# The channel that leaks the most that a private one can.


_MOST_DATABASES = 1100


def extremal_channel(individuals: int, values: Any, epsilon: object) -> Channel:
    """The channel on ``Val^u`` that attains Theorem 1: ``α / x^d`` with ``α = (x/(v−1+x))^u`` (errata F4, F5).

    *values* is their number or the values themselves. An irrational ``e^epsilon`` is taken from below, so the
    channel is private. It has a row and a column for each of the ``v^u`` databases, so these are few.

    >>> extremal_channel(2, 2, "ln(2)")
    Channel(4 inputs × 4 outputs, exact)
    """
    names = tuple(range(values)) if isinstance(values, int) else tuple(values)
    check_databases(individuals, len(names))
    if (size := len(names) ** individuals) > _MOST_DATABASES:
        raise ChannelError(
            "individuals",
            individuals,
            f"with {len(names)} values make {size} databases, more than the {_MOST_DATABASES} that a matrix is written out for",
            "database_bound() gives what this channel leaks for any number of people",
        )
    read = Epsilon.read(epsilon)
    if read.infinite:
        return Channel.identity(list(Databases.of_values(names, individuals)))
    ratio = read.ratio_below(bits=64)
    databases = list(Databases.of_values(names, individuals))
    alpha = (ratio / (len(names) - 1 + ratio)) ** individuals
    cells = [alpha / ratio**d for d in range(individuals + 1)]
    rows = [[cells[sum(a != b for a, b in zip(x, z))] for z in databases] for x in databases]
    return Channel(rows, databases, outputs=databases)


Rows = list[list[Any]]


def _plain_rows(channel: Channel) -> Rows:
    return [list(row) for row in channel.rows] if channel.exact else channel.array.tolist()


def _zero(channel: Channel) -> Number:
    return Fraction(0) if channel.exact else 0.0


def _as_channel(rows: Rows, channel: Channel, outputs: Sequence[Any]) -> Channel:
    return Channel(rows if channel.exact else np.array(rows), channel.inputs, outputs=outputs)


def square(channel: Channel) -> Channel:
    """Lemma 1: as many outputs as inputs, each column's maximum on the diagonal; outputs are then guesses of the input.

    Every output is handed to an input where it is likeliest; inputs that get none keep a zero column.

    >>> square(Channel([["1/2", "1/4", "1/8", "1/8"], ["1/4", "1/2", "1/8", "1/8"], ["1/4"] * 4])).rows[2]
    (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))
    """
    rows = _plain_rows(channel)
    size = len(rows)
    merged = [[_zero(channel)] * size for _ in range(size)]
    for z in range(len(channel.outputs)):
        likeliest = max(range(size), key=lambda x: (rows[x][z], -x))
        for x in range(size):
            merged[x][likeliest] += rows[x][z]
    return _as_channel(merged, channel, channel.inputs)


def _check_diagonal(channel: Channel, lemma: str) -> Rows:
    rows = _plain_rows(channel)
    if len(channel.inputs) != len(channel.outputs):
        raise ChannelError(
            lemma, f"{len(channel.inputs)} × {len(channel.outputs)}", "is not square", "apply square() first"
        )
    slack = 0 if channel.exact else 1e-12
    for z in range(len(rows)):
        if any(row[z] > rows[z][z] + slack for row in rows):
            raise ChannelError(
                lemma, channel.outputs[z], "is a column whose maximum is off the diagonal", "apply square() first"
            )
    return rows


def equal_diagonal(channel: Channel, databases: Databases) -> Channel:
    """Lemma 2: on ``Val^u``, average all cells at the same distance; the diagonal becomes constant (erratum F7: the
    proof, not the lemma).

    Rows and columns of *channel* must be the databases in their own order.
    """
    rows = _check_diagonal(channel, "Lemma 2")
    names = list(databases)
    if len(names) != len(rows):
        raise ChannelError("databases", len(names), f"do not fit a channel with {len(rows)} inputs")
    distance = [[sum(a != b for a, b in zip(x, z)) for z in names] for x in names]
    # Pairs at one distance are one orbit of the symmetries of Val^u: the mean over them is the mean over the group, and a
    # mean of private channels is private.
    totals: list[Any] = [_zero(channel)] * (databases.individuals + 1)
    counts = [0] * (databases.individuals + 1)
    for row, steps in zip(rows, distance):
        for cell, d in zip(row, steps):
            totals[d] += cell
            counts[d] += 1
    means = [total / many for total, many in zip(totals, counts)]
    return _as_channel([[means[d] for d in steps] for steps in distance], channel, channel.outputs)


def average_over(channel: Channel, automorphism: Sequence[int]) -> Channel:
    """Lemma 5: average over the powers of an automorphism with one orbit (``automorphism[i]`` is where input i goes;
    erratum F22).
    """
    rows = _check_diagonal(channel, "Lemma 5")
    size = len(rows)
    images = [list(range(size))]
    while len(images) < size:
        images.append([automorphism[i] for i in images[-1]])
    if sorted(power[0] for power in images) != list(range(size)):
        raise ChannelError("automorphism", list(automorphism), "does not have a single orbit")
    averaged = [
        [sum((rows[power[h]][power[k]] for power in images), start=_zero(channel)) / size for k in range(size)]
        for h in range(size)
    ]
    return _as_channel(averaged, channel, channel.outputs)


def doubled_even_ring(size: int, inverse_ratio: Fraction) -> Channel:
    """Remark 1's matrix for an even ring: the cell opposite is doubled. Legal only if ``x² ≥ 2``, and never optimal
    (erratum F17).

    It is here to be compared: :func:`optimaldp.channels.optimal_mechanism` needs no doubling and works for every
    epsilon.
    """
    if size < 4 or size % 2:
        raise ChannelError("size", size, "is not an even ring's", "it must be 4, 6, 8, …")
    half = size // 2
    weights = [inverse_ratio ** min(k, size - k) * (2 if k == half else 1) for k in range(size)]
    total = sum(weights, Fraction(0))
    return Channel([[weights[(z - y) % size] / total for z in range(size)] for y in range(size)])
