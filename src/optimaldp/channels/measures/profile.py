"""The privacy profile of a channel: for each epsilon the delta with which it is private, and the other way round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.measures.privacy import input_places, least_epsilon
from optimaldp.channels.numbers import FloatArray, Number
from optimaldp.errors import ChannelError
from optimaldp.plots.style import axes_drawn
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_probability
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

_BLOCK = 4_000_000  # cells of a block of arcs: 32 MB
_HALVINGS = 60


@dataclass(frozen=True, repr=False)
class PrivacyProfile(Result):
    """``delta(epsilon) = max Σ_z (p_z − e^epsilon q_z)_+`` over all neighbours p, q, in both directions.

    Without a graph every two inputs are neighbours. Edges must have length 1.
    """

    channel: Channel
    graph: AnswerGraph | None

    def delta(self, epsilon: object) -> Number:
        """The least delta at this epsilon: exact for exact channels where ``e^epsilon`` is rational, else a float."""
        read = Epsilon.read(epsilon)
        heads, tails = self._arcs()
        if read.infinite:
            return Fraction(0) if self.channel.exact else 0.0
        ratio = float(read.exact_ratio) if read.exact_ratio is not None else math.exp(float(read))
        deltas = self._deltas(heads, tails, ratio)
        most = float(deltas.max(initial=0.0))
        if not self.channel.exact or read.exact_ratio is None:
            return most
        # floats name the candidates, rationals decide: sums of parts of a distribution are wrong by far less than 1e-9
        near = np.flatnonzero(deltas >= most - 1e-9)
        pairs = {(int(heads[arc]), int(tails[arc])) for arc in near}
        return max((self._exact_delta(pair, read.exact_ratio) for pair in pairs), default=Fraction(0))

    def epsilon(self, delta: object) -> float:
        """The least epsilon at this delta, up to the rounding of floats; infinite if no finite one is enough."""
        # a delta that is met exactly must not fail by the last bit of a sum
        slack = float(read_probability(delta, name="delta", error=ChannelError)) * (1 + 1e-12) + 1e-15
        heads, tails = self._arcs()
        if not len(heads) or self._deltas(heads, tails, 1.0).max() <= slack:
            return 0.0
        high = least_epsilon(self.channel, self.graph).epsilon
        if high == math.inf:
            # Where something stands against nothing that mass is delta at every epsilon; beyond the largest finite
            # ratio of two cells nothing else is left.
            high = self._largest_finite()
            if self._deltas(heads, tails, math.exp(high)).max() > slack:
                return math.inf
        low = 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            enough = self._deltas(heads, tails, math.exp(middle)).max() <= slack
            low, high = (low, middle) if enough else (middle, high)
        # the upper end: there delta is kept, at the lower one perhaps not
        return high

    def _largest_finite(self) -> float:
        positive = self.channel.array[self.channel.array > 0]
        # floats end between e^709 and e^710
        return float(min(700.0, math.log(positive.max() / positive.min())))

    def _arcs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.graph is None:
            size = len(self.channel.inputs)
            heads, tails = np.nonzero(~np.eye(size, dtype=bool))
            return heads.astype(np.int64), tails.astype(np.int64)
        ends = input_places(self.channel, self.graph)[self.graph.edge_indices]
        return np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]])

    def _deltas(self, heads: NDArray[np.int64], tails: NDArray[np.int64], ratio: float) -> FloatArray:
        array = self.channel.array
        block = max(1, _BLOCK // array.shape[1])
        parts = [
            np.maximum(array[heads[start : start + block]] - ratio * array[tails[start : start + block]], 0).sum(axis=1)
            for start in range(0, len(heads), block)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _exact_delta(self, pair: tuple[int, int], ratio: Fraction) -> Fraction:
        high, low = (self.channel.exact_rows[i] for i in pair)
        return sum((max(Fraction(0), p - ratio * q) for p, q in zip(high, low)), Fraction(0))

    def plot(self, path: str | Path | None = None, *, axes: object = None) -> Any:
        """The curve of delta against epsilon, also written to *path* (.png, .svg, .pdf) if one is given."""
        from optimaldp.plots.channels import delta_against_epsilon  # which imports this module

        return axes_drawn(delta_against_epsilon(self, axes=axes), path)

    def summary(self) -> str:
        return f"PrivacyProfile(delta {float(self.delta(0)):.4g} at epsilon 0, pure from {self.epsilon(0):.6g} on)"

    def to_document(self) -> dict[str, Any]:
        largest = self.epsilon(0)
        steps = np.linspace(0, 8.0 if largest == math.inf else largest, 41).round(9).tolist()
        return {"epsilons": steps, "deltas": [float(self.delta(step)) for step in steps]}


def privacy_profile(channel: Channel, graph: AnswerGraph | None = None) -> PrivacyProfile:
    """The delta of a channel for each epsilon, on a graph of its inputs.

    >>> from optimaldp.channels import Channel
    >>> profile = privacy_profile(Channel([["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> profile.delta(0), profile.delta("ln(2)"), round(profile.epsilon("1/4"), 6)
    (Fraction(1, 2), Fraction(1, 4), 0.693147)
    """
    if graph is not None:
        input_places(channel, graph)
        if not graph.plain:
            raise ChannelError("graph", repr(graph), "has edge lengths", "a profile needs edges of length 1")
    return PrivacyProfile(channel, graph)
