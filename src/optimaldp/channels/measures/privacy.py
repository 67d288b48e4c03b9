"""What privacy a channel keeps on a graph of its inputs, read off the matrix: the least epsilon, and delta for each epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.labels import Label, json_labels
from optimaldp.channels.numbers import ExactRow, FloatArray, Number, cell_text
from optimaldp.errors import ChannelError
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
