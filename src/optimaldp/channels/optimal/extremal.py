"""The channel that leaks the most that a private one can."""

from __future__ import annotations

from typing import Any

from optimaldp.channels.channel import Channel
from optimaldp.channels.graphs.databases import Databases
from optimaldp.channels.measures.bounds import check_databases
from optimaldp.privacy.epsilon import Epsilon


def extremal_channel(individuals: int, values: Any, epsilon: object) -> Channel:
    """The channel on ``Val^u`` that attains Theorem 1: ``α / x^d`` with ``α = (x/(v−1+x))^u`` (errata F4, F5).

    *values* is their number or the values themselves. An irrational ``e^epsilon`` is taken from below, so the
    channel is private.
    """
    names = tuple(range(values)) if isinstance(values, int) else tuple(values)
    check_databases(individuals, len(names))
    read = Epsilon.read(epsilon)
    if read.infinite:
        return Channel.identity(list(Databases.of_values(names, individuals)))
    ratio = read.ratio_below(bits=64)
    databases = list(Databases.of_values(names, individuals))
    alpha = (ratio / (len(names) - 1 + ratio)) ** individuals
    cells = [alpha / ratio**d for d in range(individuals + 1)]
    rows = [[cells[sum(a != b for a, b in zip(x, z))] for z in databases] for x in databases]
    return Channel(rows, databases, outputs=databases)
