"""What privacy a channel keeps on a graph of its inputs, and whether one channel is a post-processing of another."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels import numbers as exact_matrix
from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.numbers import ExactOrFloat, ExactRow, FloatArray, Label, cell_text, json_labels
from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.plots.style import axes_drawn
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import narrowed, read_probability
from optimaldp.programs.linear import minimise
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

# What privacy a channel keeps on a graph of its inputs, read off the matrix: the least epsilon, and delta for each epsilon.


IntArray = NDArray[np.int64]
_BLOCK = 4_000_000  # cells of a block of arcs: 32 MB
_UNDERFLOW = 1e-290
_NEAR = 1e-9  # relative distance from the largest ratio within which floats do not decide between rationals


@dataclass(frozen=True, repr=False)
class LeastEpsilon(Result):
    """The least epsilon, and the edge and output that force it.
    ``ratio`` is ``e^epsilon`` (``inf`` if none is enough).
    """

    ratio: ExactOrFloat
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
    ratio: ExactOrFloat = math.inf if p > 0 and q == 0 else p / q if q else worst.ratio
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

    def delta(self, epsilon: object) -> ExactOrFloat:
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

        def lacks(epsilon: float) -> bool:
            return bool(self._deltas(heads, tails, math.exp(epsilon)).max() > slack)

        # the upper end: there delta is kept, at the lower one perhaps not
        return narrowed(lacks, 0.0, high, _HALVINGS)[1]

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


# Is one channel a post-processing of another? Then it leaks no more, for every prior and every gain; else some gain
# tells them apart.


_SOLVER_NOISE = 1e-9
_LARGEST_EXACT = 300  # unknowns of an exact witness


@dataclass(frozen=True, repr=False)
class Refinement(Result):
    """The verdict with its proof.

    **Guarantee.** If ``holds``, ``first.then(witness)`` is the second channel (exactly if ``exact``, else within
    ``residual``). If it does not hold, the analyst with ``gain`` (rows: inputs, columns: the second channel's outputs)
    and a uniform prior gains more from the second.
    """

    holds: bool
    exact: bool
    witness: Channel | None
    gain: tuple[tuple[Fraction, ...], ...] | None
    residual: float

    def __bool__(self) -> bool:
        return self.holds

    def summary(self) -> str:
        how = "exact" if self.exact else f"within {self.residual:.1e}"
        return f"Refinement({'holds' if self.holds else 'does not hold'}, {how})"

    def to_document(self) -> dict[str, Any]:
        return {
            "refines": self.holds,
            "exact": self.exact,
            "witness": self.witness.to_document() if self.witness else None,
            "gain": [[cell_text(cell) for cell in row] for row in self.gain] if self.gain else None,
        }


def refinement(first: Channel, second: Channel) -> Refinement:
    """Whether ``second = first·R`` for some channel R: the witness R, or a gain for which the second leaks more.

    >>> from optimaldp.channels import Channel
    >>> sure = Channel.identity(["a", "b"])
    >>> bool(refinement(sure, Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"])))
    True
    """
    aligned = aligned_rows(first, second)
    witness, prices, residual = _least_difference(first.array, aligned.array)
    # a residual is the solver's opinion: only a gain that separates in rationals refutes
    if residual > _SOLVER_NOISE and (gain := _separating(first, aligned, prices)) is not None:
        return Refinement(False, True, None, gain, residual)
    exact = _exact_witness(first, aligned, witness) if first.exact and aligned.exact else None
    if exact is not None:
        return Refinement(True, True, type(first)(exact, first.outputs, outputs=second.outputs), None, 0.0)
    # neither proof went through: the residual decides, and ``exact`` says that nothing is proven
    if residual > 1e-6:
        return Refinement(False, False, None, None, residual)
    rough = np.clip(witness, 0, None)
    rough /= rough.sum(axis=1, keepdims=True)
    return Refinement(True, False, type(first)(rough, first.outputs, outputs=second.outputs), None, residual)


def aligned_rows(first: Channel, second: Channel) -> Channel:
    """The second channel with its inputs in the order of the first's."""
    if set(first.inputs) != set(second.inputs):
        raise ChannelError(
            "refinement", second.inputs[:3], "are other inputs than the first channel's", "use the same inputs"
        )
    order = [second.inputs.index(name) for name in first.inputs]
    rows = [second.rows[i] for i in order] if second.exact else second.array[order]
    return type(second)(rows, first.inputs, outputs=second.outputs)


def _least_difference(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The channel R with the least ``Σ|left·R − right|``, that sum, and the prices of the equations."""
    with requiring("scipy"):
        from scipy.sparse import eye, hstack, kron, vstack

    (inputs, middle), outputs = left.shape, right.shape[1]
    equations = kron(left, eye(outputs))
    gaps = eye(inputs * outputs)
    sums = kron(eye(middle), np.ones((1, outputs)))
    nothing = kron(np.zeros((middle, 1)), np.zeros((1, 2 * inputs * outputs)))
    matrix = vstack([hstack([equations, gaps, -gaps]), hstack([sums, nothing])]).tocsr()
    cost = np.concatenate([np.zeros(middle * outputs), np.ones(2 * inputs * outputs)])
    found = minimise(cost, equal=matrix, values=np.concatenate([right.ravel(), np.ones(middle)]))
    if not found.solved:
        raise ChannelError("refinement", found.message, "was not decided by the linear program")
    prices = found.equal_prices[: inputs * outputs].reshape(inputs, outputs)
    return found.point[: middle * outputs].reshape(middle, outputs), prices, found.value


def _separating(first: Channel, second: Channel, prices: FloatArray) -> tuple[tuple[Fraction, ...], ...] | None:
    """The prices as a gain, if they prove exactly that the second channel is worth more to its owner."""
    gain = tuple(tuple(Fraction(round(price * 2**40), 2**40) for price in row) for row in prices.tolist())
    rows, others = first.exact_rows, second.exact_rows
    won = sum((g * p for gs, ps in zip(gain, others) for g, p in zip(gs, ps)), Fraction(0))
    values = exact_matrix.multiply(list(zip(*rows)), gain)
    return gain if won > sum((max(row) for row in values), Fraction(0)) else None


def _exact_witness(first: Channel, second: Channel, rough: FloatArray) -> list[list[Fraction]] | None:
    middle, outputs = rough.shape
    used = [(y, z) for y in range(middle) for z in range(outputs) if rough[y, z] > _SOLVER_NOISE]
    if len(used) > _LARGEST_EXACT:
        return None
    place = {cell: k for k, cell in enumerate(used)}
    lines: list[list[Fraction]] = []
    right: list[Fraction] = []
    for x, row in enumerate(first.exact_rows):
        for z in range(outputs):
            lines.append([row[y] if z == target else Fraction(0) for y, target in used])
            right.append(second.exact_rows[x][z])
    for y in range(middle):
        lines.append([Fraction(int(y == source)) for source, _ in used])
        right.append(Fraction(1))
    solution = exact_matrix.unique_solution(lines, right)
    if solution is None or min(solution) < 0:
        return None
    return [[solution[place[y, z]] if (y, z) in place else Fraction(0) for z in range(outputs)] for y in range(middle)]


# Max-case refinement: may the second channel stand in for the first when only the worst output counts?
#
# For the average over outputs the answer is post-processing (``refining``). For the worst output it is weaker: every
# posterior of the second must be a mixture of posteriors of the first.


@dataclass(frozen=True, repr=False)
class MaxCaseRefinement(Result):
    """The verdict with its proof.

    **Guarantee.** If it does not hold, the analyst with ``gain[input]`` (one guess, uniform prior) can get more from
    seeing ``output`` of the second channel than from any output of the first; ``exact`` says whether rationals proved
    it. If it holds, each output of the second is a mixture of the first's within ``residual``.
    """

    holds: bool
    exact: bool
    output: Label | None
    gain: tuple[Fraction, ...] | None
    residual: float

    def __bool__(self) -> bool:
        return self.holds

    def summary(self) -> str:
        where = "" if self.holds else f" at output {self.output!r}"
        return f"MaxCaseRefinement({'holds' if self.holds else 'does not hold'}{where})"

    def to_document(self) -> dict[str, Any]:
        gain = None if self.gain is None else [cell_text(value) for value in self.gain]
        return {"refines": self.holds, "exact": self.exact, "output": str(self.output), "gain": gain}


def max_case_refinement(first: Channel, second: Channel) -> MaxCaseRefinement:
    """Whether no worst output of *second* tells more than the worst of *first*, for every prior and gain.

    >>> from optimaldp.channels import Channel
    >>> rare = Channel([["1/10", "9/10", 0], ["0", "9/10", "1/10"]])
    >>> bool(max_case_refinement(Channel.identity([0, 1]), rare)), bool(max_case_refinement(rare, Channel.identity([0, 1])))
    (True, True)
    """
    aligned = aligned_rows(first, second)
    ours, theirs = _posteriors(first.array), _posteriors(aligned.array)
    worst = 0.0
    for z, column in zip(np.flatnonzero(aligned.array.max(axis=0) > 0).tolist(), theirs.T):
        prices, distance = _nearest_mixture(ours, column)
        if distance > _SOLVER_NOISE and (gain := _separating_column(first, aligned, z, prices)) is not None:
            return MaxCaseRefinement(False, first.exact and second.exact, second.outputs[z], gain, distance)
        worst = max(worst, distance)
    if worst > 1e-6:
        raise ChannelError("refinement", worst, "is a distance that rounding left undecided", "use exact probabilities")
    return MaxCaseRefinement(True, worst == 0, None, None, worst)


def _posteriors(array: FloatArray) -> FloatArray:
    """The posteriors under a uniform prior, one column for each output that can occur."""
    used = array[:, array.max(axis=0) > 0]
    return np.asarray(used / used.sum(axis=0))


def _nearest_mixture(points: FloatArray, target: FloatArray) -> tuple[FloatArray, float]:
    """How far *target* is from all mixtures of the columns of *points*, and the prices that prove it."""
    size, many = points.shape
    gaps = np.eye(size)
    matrix = np.block([[points, gaps, -gaps], [np.ones((1, many)), np.zeros((1, 2 * size))]])
    cost = np.concatenate([np.zeros(many), np.ones(2 * size)])
    found = minimise(cost, equal=matrix, values=np.append(target, 1.0))
    if not found.solved:
        raise ChannelError("refinement", found.message, "was not decided by the linear program")
    return found.equal_prices[:size], found.value


def _separating_column(first: Channel, second: Channel, z: int, prices: FloatArray) -> tuple[Fraction, ...] | None:
    """The prices as a gain, if they prove exactly that this output is worth more than every output of the first."""
    # rounding the prices harms no proof: whether they separate is decided below, in rationals
    gain = tuple(Fraction(round(price * 2**40), 2**40) for price in prices.tolist())
    wanted = [row[z] for row in second.exact_rows]
    won = sum((g * p for g, p in zip(gain, wanted)), Fraction(0)) / sum(wanted, Fraction(0))
    for column in zip(*first.exact_rows):
        total = sum(column, Fraction(0))
        if total and sum((g * p for g, p in zip(gain, column)), Fraction(0)) >= won * total:
            return None
    return gain
