"""What privacy a channel keeps on a graph of its inputs, read off the matrix: the least epsilon, and delta for each epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.numbers import ExactRow, FloatArray, Label, Number, cell_text, json_labels
from optimaldp.errors import ChannelError
from optimaldp.plots.style import axes_drawn
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_probability
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


IntArray = NDArray[np.int64]
_BLOCK = 4_000_000  # cells of a block of arcs: 32 MB
_UNDERFLOW = 1e-290
_NEAR = 1e-9  # relative distance from the largest ratio within which floats do not decide between rationals


@dataclass(frozen=True, repr=False)
class LeastEpsilon(Result):
    """The least epsilon, and the edge and output that force it.
    ``ratio`` is ``e^epsilon`` (``inf`` if none is enough).
    """

    ratio: Number
    edge: tuple[Label, Label] | None
    output: Label | None

    @property
    def epsilon(self) -> float:
        return math.log(self.ratio) if self.ratio != math.inf else math.inf

    def __float__(self) -> float:
        return self.epsilon

    def summary(self) -> str:
        where = f" at {self.edge} for {self.output!r}" if self.edge else ""
        return f"LeastEpsilon({self.epsilon:.9g}{where})"

    def to_document(self) -> dict[str, Any]:
        endless = self.ratio == math.inf
        return {
            "epsilon": "inf" if endless else self.epsilon,
            "ratio": "inf" if endless else cell_text(self.ratio),
            "edge": None if self.edge is None else json_labels(self.edge),
            "output": json_labels([self.output])[0],
        }


def least_epsilon(channel: Channel, graph: AnswerGraph | None = None) -> LeastEpsilon:
    """The least epsilon for which the channel is private on *graph*; without one every two inputs are neighbours.

    Both zero passes; something against zero is infinite. An edge of length ℓ grants ``ℓ·epsilon`` (metric privacy).

    >>> from optimaldp.channels import Channel
    >>> least_epsilon(Channel([["3/4", "1/4"], ["1/4", "3/4"]])).ratio
    Fraction(3, 1)
    """
    if graph is None or (graph.is_clique and graph.plain):
        if graph is not None:
            input_places(channel, graph)
        return _between_all(channel)
    if not graph.lengths:
        input_places(channel, graph)
        return _unconstrained(channel)
    return _along_edges(channel, graph)


def input_places(channel: Channel, graph: AnswerGraph) -> IntArray:
    """Where each vertex of *graph* stands among the channel's inputs; they must be the same."""
    if set(graph.vertices) != set(channel.inputs):
        odd = next(iter(set(map(str, graph.vertices)) ^ set(map(str, channel.inputs))), "")
        raise ChannelError("graph", odd, "is a vertex or an input without a partner", "vertices must be the inputs")
    where = {name: i for i, name in enumerate(channel.inputs)}
    return np.array([where[vertex] for vertex in graph.vertices], dtype=np.int64)


def _unconstrained(channel: Channel) -> LeastEpsilon:
    return LeastEpsilon(Fraction(1) if channel.exact else 1.0, None, None)


def _between_all(channel: Channel) -> LeastEpsilon:
    """Every two inputs are neighbours, so the extremes of each column decide."""
    array, worst = channel.array, _unconstrained(channel)
    if isinstance(channel.rows, tuple):
        for z, (high, low) in enumerate(_exact_extremes(channel.rows, array)):
            worst = _worse(worst, channel, (high, low), z)
        return worst
    highs, lows = array.argmax(axis=0), array.argmin(axis=0)
    columns = np.arange(array.shape[1])
    z = int(_ratios(array[highs, columns], array[lows, columns]).argmax())
    return _worse(worst, channel, (int(highs[z]), int(lows[z])), z)


def _exact_extremes(rows: tuple[ExactRow, ...], array: FloatArray) -> Iterator[tuple[int, int]]:
    """For each column where its exact maximum and minimum are: floats name the candidates, rationals decide."""
    for z, (most, least) in enumerate(zip(array.max(axis=0), array.min(axis=0))):
        column = array[:, z]
        highs = np.flatnonzero(column >= most * (1 - _NEAR)).tolist()
        # cells that underflow are alike as floats, and not as rationals
        lows = np.flatnonzero(column <= max(least * (1 + _NEAR), _UNDERFLOW)).tolist()
        yield max(highs, key=lambda i: rows[i][z]), min(lows, key=lambda i: rows[i][z])


def _ratios(high: FloatArray, low: FloatArray) -> FloatArray:
    """``high/low`` where 0/0 is 1 (it passes) and c/0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = high / low
    return np.where(np.isnan(ratios), 1.0, ratios)


def _along_edges(channel: Channel, graph: AnswerGraph) -> LeastEpsilon:
    """Blocks of arcs as arrays; for an exact channel every cell that comes near the largest is compared as a rational."""
    places, ends = input_places(channel, graph), graph.edge_indices
    heads, tails = places[np.concatenate([ends[:, 0], ends[:, 1]])], places[np.concatenate([ends[:, 1], ends[:, 0]])]
    lengths = np.array([float(length) for length in graph.lengths.values()] * 2)
    worst, tiny = _unconstrained(channel), _underflowing(channel)
    block = max(1, _BLOCK // channel.array.shape[1])
    for start in range(0, len(heads), block):
        one, two = heads[start : start + block], tails[start : start + block]
        ratios = _ratios(channel.array[one], channel.array[two])
        if not graph.plain:
            ratios = ratios ** (1 / lengths[start : start + block, None])
        near: Any = [np.unravel_index(int(ratios.argmax()), ratios.shape)]
        if channel.exact:
            unsure = tiny[one] | tiny[two] if tiny is not None else np.zeros_like(ratios, dtype=bool)
            floor = max(float(ratios[~unsure].max(initial=1.0)), float(worst.ratio)) * (1 - _NEAR)
            near = np.argwhere(unsure | (ratios >= floor))
        for arc, z in near:
            worst = _worse(worst, channel, (int(one[arc]), int(two[arc])), int(z), lengths[start + arc])
    return worst


def _underflowing(channel: Channel) -> NDArray[np.bool_] | None:
    """Cells of an exact channel that are positive and yet nothing, or next to nothing, as floats."""
    small = channel.array < _UNDERFLOW
    if not channel.exact or not small.any():
        return None
    for x, z in np.argwhere(small).tolist():
        small[x, z] = channel.rows[x][z] != 0
    return small if small.any() else None


def _worse(worst: LeastEpsilon, channel: Channel, pair: tuple[int, int], z: int, length: float = 1.0) -> LeastEpsilon:
    p, q = (channel.rows[i][z] for i in pair)
    # multiplied, not divided: q may be 0, and 0 against 0 passes
    if p <= worst.ratio * q and length == 1:
        return worst
    ratio: Number = math.inf if p > 0 and q == 0 else p / q if q else worst.ratio
    if length != 1 and ratio != math.inf:
        ratio = float(ratio) ** (1 / length)
    if not ratio > worst.ratio:
        return worst
    plain = ratio if isinstance(ratio, Fraction) else float(ratio)
    return LeastEpsilon(plain, (channel.inputs[pair[0]], channel.inputs[pair[1]]), channel.outputs[z])


# The privacy profile of a channel: for each epsilon the delta with which it is private, and the other way round.


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
