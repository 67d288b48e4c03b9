"""Information of order α: Sibson's and Arimoto's, and the leakage that belongs to them. Bits throughout."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from optimaldp.channels.measures.capacity import Capacity, shannon_capacity
from optimaldp.channels.measures.entropies import mutual_information
from optimaldp.channels.measures.priors import read_prior
from optimaldp.channels.measures.vulnerability import column_maxima_sum
from optimaldp.channels.numbers import FloatArray, as_floats, bits_of
from optimaldp.errors import ChannelError

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

_MOST_STEPS = 20_000


def _check_order(order: float, *, least: float) -> None:
    if not order >= least or order == 0:
        rule = "above 0" if least == 0 else f"{least:g} or more"
        raise ChannelError("order", order, "is not an order of information here", f"it must be {rule}, or infinite")


def sibson_information(channel: Channel, order: float, prior: object = None) -> float:
    """Sibson's mutual information ``α/(α−1) · log2 Σ_z (Σ_x π(x) C[x,z]^α)^(1/α)``.

    Order 1 is Shannon's; order ∞ is the min-capacity over the inputs that are possible, which is why it is also called
    maximal leakage.

    >>> from optimaldp.channels import Channel
    >>> round(sibson_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), 2), 6)
    0.321928
    """
    _check_order(order, least=0)
    if order == 1:
        return mutual_information(channel, prior)
    return _sibson(channel.array, as_floats(read_prior(channel, prior)), order)


def _sibson(array: FloatArray, masses: FloatArray, order: float) -> float:
    possible = array[masses > 0]
    if order == math.inf:
        return max(0.0, math.log2(possible.max(axis=0).sum()))
    # Each column is divided by its largest cell first: C^α underflows long before the norm does.
    most = possible.max(axis=0)
    scaled = possible / np.where(most > 0, most, 1.0)
    with np.errstate(divide="ignore", over="ignore"):
        norms = most * (masses[masses > 0] @ scaled**order) ** (1 / order)
    return max(0.0, order / (order - 1) * math.log2(norms.sum()))


def arimoto_information(channel: Channel, order: float, prior: object = None) -> float:
    """Arimoto's mutual information: Rényi's entropy of the input less Arimoto's conditional one.

    It is Sibson's under the prior ``π^α / Σ π^α``. Order 1 is Shannon's; order ∞ is the min-entropy leakage.

    >>> from optimaldp.channels import Channel
    >>> response = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> round(arimoto_information(response, float("inf"), ["9/10", "1/10"]), 6)
    0.0
    """
    _check_order(order, least=0)
    masses = as_floats(read_prior(channel, prior))
    if order == 1:
        return mutual_information(channel, prior)
    if order == math.inf:
        return max(0.0, math.log2((channel.array * masses[:, None]).max(axis=0).sum() / masses.max()))
    # by the largest first: π^α alone underflows at a large order, to 0/0
    tilted = (masses / masses.max()) ** order
    return _sibson(channel.array, tilted / tilted.sum(), order)


def alpha_leakage(channel: Channel, order: float, prior: object = None) -> float:
    """α-leakage about the input itself: how much the output improves a guess that is scored by the loss of order α.

    From order 1 (Shannon's information) to ∞ (min-entropy leakage); equal to Arimoto's information.
    """
    _check_order(order, least=1)
    return arimoto_information(channel, order, prior)


def maximal_alpha_leakage(channel: Channel, order: float, *, gap: float = 1e-9) -> Capacity:
    """The largest information of order α over all priors, with bounds that enclose it.

    Order 1 is Shannon's capacity, ∞ the min-capacity; from any order above 1 it bounds the α-leakage about every
    function of the input, random ones included.

    >>> from optimaldp.channels import Channel
    >>> maximal_alpha_leakage(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), 2)
    Capacity(0.321928095 bits, gap 0)
    """
    _check_order(order, least=1)
    if not gap > 0:
        raise ChannelError("gap", gap, "is not a positive number of bits", "write for instance 1e-9")
    if order == 1:
        return shannon_capacity(channel, gap=gap)
    size = len(channel.inputs)
    if order == math.inf:
        bits = bits_of(column_maxima_sum(channel))
        return Capacity(bits, bits, dict.fromkeys(channel.inputs, 1 / size), 0)
    return _by_multiplication(channel, order, gap)


def _by_multiplication(channel: Channel, order: float, gap: float) -> Capacity:
    """Maximise ``f(π) = Σ_z (Σ_x π_x C^α)^(1/α)``, which is concave and homogeneous of degree 1/α.

    A step ``π_x ∝ π_x g_x^(α/(α−1))`` with the gradient g (up to its factor) never lowers f: Jensen's inequality for
    each output. Concavity gives ``max f <= f + (max_x g_x − f)/α``, so every step knows how far it may still be.
    """
    used = channel.array[:, channel.array.max(axis=0) > 0]
    most = used.max(axis=0)
    powers = (used / most) ** order
    masses = np.full(len(used), 1 / len(used))
    factor = order / (order - 1)
    lower, upper, step = 0.0, math.inf, 0
    for step in range(1, _MOST_STEPS + 1):
        sums = masses @ powers
        value = float((most * sums ** (1 / order)).sum())
        gradient = powers @ (most * sums ** (1 / order - 1))
        lower = factor * math.log2(value)
        # each step's bound is true by itself, so the least stays
        upper = min(upper, factor * math.log2(value + (float(gradient.max()) - value) / order))
        if upper - lower <= gap or step == _MOST_STEPS:
            break
        masses = masses * (gradient / gradient.max()) ** factor
        masses /= masses.sum()
    spread = dict(zip(channel.inputs, masses.tolist()))
    return Capacity(max(0.0, min(lower, upper)), max(0.0, upper), spread, step)
