"""The most that a channel leaks over all priors, or over all gains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.labels import Label
from optimaldp.channels.measures.priors import joint, joint_floats, read_prior
from optimaldp.channels.measures.vulnerability import column_maxima_sum
from optimaldp.channels.numbers import FloatArray, Number, as_floats, read_gain
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

_MOST_READINGS = 4096  # ways to read the outputs, each with a linear program, up to which all are tried
_STARTS = 24
_MOST_ROUNDS = 60


def capacity_over_gains(channel: Channel, prior: object = None) -> Number:
    """The largest factor by which the channel multiplies any gain of 0 or more: ``Σ_z max_x C[x,z]`` over possible inputs.

    >>> from optimaldp.channels import Channel
    >>> capacity_over_gains(Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    Fraction(3, 2)
    """
    rows = _possible_rows(channel, prior)
    if channel.exact:
        return sum((max(column) for column in zip(*rows)), Fraction(0))
    return float(np.array(rows).max(axis=0).sum())


def additive_capacity(channel: Channel, prior: object = None, *, gains: str = "bounded") -> Number:
    """The largest *increase* of an expected gain under one prior, over a class of gains.

    ``"bounded"``: gains of at most 1 whose best guess is never worth less than 0; ``1 − Σ_z min_x C[x,z]`` over the
    inputs that are possible. ``"spanning"``: each guess's gains lie within 1 of one another; the expected distance in
    total variation from the prior to the posterior.

    >>> from optimaldp.channels import Channel
    >>> response = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> additive_capacity(response), additive_capacity(response, gains="spanning")
    (Fraction(1, 2), Fraction(1, 4))
    """
    if gains == "bounded":
        rows = _possible_rows(channel, prior)
        if channel.exact:
            return 1 - sum((min(column) for column in zip(*rows)), Fraction(0))
        return 1 - float(np.array(rows).min(axis=0).sum())
    if gains != "spanning":
        raise ChannelError("gains", gains, "is not a class of gains", "use 'bounded' or 'spanning'")
    read = read_prior(channel, prior)
    if channel.exact and isinstance(read, tuple):
        columns = zip(*joint(channel, read))
        half = sum((abs(cell - p * sum(column)) for column in columns for cell, p in zip(column, read)), Fraction(0))
        return half / 2
    joints = joint_floats(channel, read)
    return float(np.abs(joints - as_floats(read)[:, None] * joints.sum(axis=0)).sum()) / 2


def _possible_rows(channel: Channel, prior: object) -> list[Any]:
    masses = read_prior(channel, prior)
    return [row for row, mass in zip(channel.rows, masses) if mass > 0]


@dataclass(frozen=True, repr=False)
class GainCapacity(Result):
    """**Guarantee.** ``lower <= capacity <= upper`` as factors on the gain; *prior* attains *lower*."""

    lower: float
    upper: float
    prior: dict[Label, float]

    @property
    def exact(self) -> bool:
        """Whether both ends agree, up to the rounding of the solver."""
        return self.upper - self.lower <= 1e-9 * self.upper

    def summary(self) -> str:
        return f"GainCapacity(factor {self.lower:.6g}{'' if self.exact else f' to {self.upper:.6g}'})"

    def to_document(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper, "prior": list(self.prior.values())}


def gain_capacity(gain: object, channel: Channel) -> GainCapacity:
    """The largest factor by which the channel multiplies one gain of 0 or more, over all priors.

    Finding it is hard in general: every way to read the outputs is a linear program. Up to some thousand ways all are
    tried; beyond, a search gives the lower end, and the sum of column maxima (which no gain exceeds) the upper.

    >>> from optimaldp.channels import Channel
    >>> gain_capacity([[1, 0], [0, 1]], Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    GainCapacity(factor 1.5)
    """
    matrix = np.array(read_gain(gain, secrets=len(channel.inputs)), dtype=float)
    if matrix.min() < 0:
        raise ChannelError("gain", float(matrix.min()), "is negative", "a factor needs gains of 0 or more")
    if not matrix.max(axis=1).any():
        raise ChannelError("gain", 0, "is all that can be gained", "some guess must be worth something")
    array, guesses = channel.array, matrix.shape[1]
    ways = guesses ** len(channel.outputs) if len(channel.outputs) < 40 else _MOST_READINGS + 1
    limit = float(column_maxima_sum(channel))
    if ways <= _MOST_READINGS:
        tried = [
            _best_prior(array, matrix, np.array(reading)) for reading in product(range(guesses), repeat=array.shape[1])
        ]
        value, masses = max(tried, key=lambda pair: pair[0])
        limit = min(limit, value)
    else:
        value, masses = _search(array, matrix)
    masses = masses / masses.sum()
    return GainCapacity(min(value, limit), limit, dict(zip(channel.inputs, masses.tolist())))


def _best_prior(array: FloatArray, gain: FloatArray, reading: NDArray[np.int64]) -> tuple[float, FloatArray]:
    """The prior, scaled so that no guess is worth more than 1 beforehand, for which one reading of the outputs gains most."""
    with requiring("scipy"):
        from scipy.optimize import linprog

    worth = (array * gain[:, reading]).sum(axis=1)
    # an input that no guess rewards would be unbounded and adds nothing
    useful = gain.max(axis=1) > 0
    solved = linprog(-worth[useful], A_ub=gain[useful].T, b_ub=np.ones(gain.shape[1]), bounds=(0, None), method="highs")
    masses = np.zeros(len(array))
    masses[useful] = solved.x
    return -float(solved.fun), masses


def _search(array: FloatArray, gain: FloatArray) -> tuple[float, FloatArray]:
    """Reading and prior in turn, each the best for the other, from several starts."""
    # only where the search starts depends on the seed, never whether its result is right
    generator = np.random.default_rng(0)
    best, masses = 0.0, np.ones(len(array))
    for start in range(_STARTS):
        prior = np.ones(len(array)) if start == 0 else generator.dirichlet(np.full(len(array), 0.5))
        value = 0.0
        # neither half of a round can lower the value, so it settles: at a local optimum, hence the many starts
        for _ in range(_MOST_ROUNDS):
            reading = (array.T @ (gain * prior[:, None])).argmax(axis=1)
            grown, prior = _best_prior(array, gain, reading)
            if grown <= value * (1 + 1e-12):
                break
            value = grown
        if value > best:
            best, masses = value, prior
    return best, masses
