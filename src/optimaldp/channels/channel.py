"""A channel: for each input, a distribution over outputs. What a mechanism is to an attacker, and to an analyst."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from optimaldp.channels import capacity, privacy, vulnerability
from optimaldp.channels import numbers as exact_matrix
from optimaldp.channels.numbers import (
    ExactOrFloat,
    ExactRow,
    FloatArray,
    Label,
    as_floats,
    cell_text,
    index_of,
    json_labels,
    read_distribution,
    read_labels,
    read_rows,
)
from optimaldp.channels.vulnerability import joint
from optimaldp.errors import ChannelError
from optimaldp.plots.style import axes_drawn
from optimaldp.results import Result

# Channels made of channels: in series, in parallel, repeated, reduced; a query followed by an oblivious mechanism.


_MOST_CELLS = 20_000_000  # 160 MB of floats: beyond it a repeated channel is a mistake, not a matrix


def series(first: Channel, second: Channel) -> Channel:
    """The channel ``first`` followed by ``second``. Post-processing: no measure of leakage can grow."""
    if set(first.outputs) != set(second.inputs):
        odd = sorted(map(str, set(first.outputs) ^ set(second.inputs)))
        raise ChannelError(
            "series", odd, "is an output or an input without a partner", "outputs must be the next inputs"
        )
    order = [second.inputs.index(name) for name in first.outputs]
    if first.exact and second.exact:
        rows: Any = exact_matrix.multiply(first.exact_rows, [second.exact_rows[i] for i in order])
    else:
        rows = first.array @ second.array[order]
    return type(first)(rows, first.inputs, outputs=second.outputs)


def parallel(left: Channel, right: Channel) -> Channel:
    """Both channels on the same input, independently; outputs are pairs."""
    if left.inputs != right.inputs:
        raise ChannelError(
            "parallel", right.inputs[:3], "are other inputs than the first channel's", "use the same inputs"
        )
    _check_size(len(left.inputs) * len(left.outputs) * len(right.outputs))
    outputs = list(product(left.outputs, right.outputs))
    if left.exact and right.exact:
        pairs = zip(left.exact_rows, right.exact_rows)
        return type(left)([[a * b for a in one for b in two] for one, two in pairs], left.inputs, outputs=outputs)
    rows = np.einsum("xa,xb->xab", left.array, right.array).reshape(len(left.inputs), -1)
    return type(left)(rows, left.inputs, outputs=outputs)


def visible_choice(channels: Sequence[Channel], weights: object = None) -> Channel:
    """One of several channels is used, by chance, and the attacker sees which: outputs are ``(place, output)``.

    >>> from optimaldp.channels import Channel
    >>> response = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> visible_choice([response, Channel.identity([0, 1])], ["1/2", "1/2"]).posterior_vulnerability()
    Fraction(7, 8)
    """
    chances = _chances(channels, weights)
    names = [(place, output) for place, channel in enumerate(channels) for output in channel.outputs]
    return _mixed(channels, chances, names)


def hidden_choice(channels: Sequence[Channel], weights: object = None) -> Channel:
    """One of several channels is used, by chance, and only its output is seen: outputs of the same name are one.

    It never leaks more than :func:`visible_choice`.
    """
    chances = _chances(channels, weights)
    names = [(place, output) for place, channel in enumerate(channels) for output in channel.outputs]
    return _mixed(channels, chances, [output for _, output in names])


def _chances(channels: Sequence[Channel], weights: object) -> Sequence[ExactOrFloat] | FloatArray:
    if not channels or any(channel.inputs != channels[0].inputs for channel in channels):
        raise ChannelError("choice", len(channels), "channels do not have the same inputs", "give one or more that do")
    if weights is None:
        return (Fraction(1, len(channels)),) * len(channels)
    return read_distribution(weights, size=len(channels), name="weights")


def _mixed(
    channels: Sequence[Channel], chances: Sequence[ExactOrFloat] | FloatArray, names: Sequence[Label]
) -> Channel:
    """The weighted cells, those of outputs with the same name added up."""
    exact = isinstance(chances, tuple) and all(channel.exact for channel in channels)
    outputs = list(dict.fromkeys(names))
    where = {output: column for column, output in enumerate(outputs)}
    columns = [where[output] for output in names]
    _check_size(len(channels[0].inputs) * len(outputs))
    rows = []
    for x in range(len(channels[0].inputs)):
        cells: list[Any] = [Fraction(0) if exact else 0.0] * len(outputs)
        weighted = (
            c * p for p, channel in zip(chances, channels) for c in (channel.rows if exact else channel.array)[x]
        )
        for column, cell in zip(columns, weighted):
            cells[column] += cell
        rows.append(cells)
    return type(channels[0])(rows if exact else np.array(rows, dtype=float), channels[0].inputs, outputs=outputs)


def repeated(channel: Channel, times: int, *, ordered: bool = True) -> Channel:
    """The channel used *times* times on one input. Outputs are tuples, or sorted tuples when the order is dropped.

    The order of independent uses tells nothing about the input, so dropping it changes no posterior and no leakage.
    """
    if times < 1:
        raise ChannelError("times", times, "is not a number of uses", "it must be 1 or more")
    width = len(channel.outputs)
    columns = width**times if ordered else comb(width + times - 1, times)
    _check_size(len(channel.inputs) * columns)
    indices = list(
        product(range(width), repeat=times) if ordered else combinations_with_replacement(range(width), times)
    )
    outputs = [tuple(channel.outputs[j] for j in chosen) for chosen in indices]
    weights = [1 if ordered else _arrangements(chosen) for chosen in indices]
    if not channel.exact:
        rows = np.stack([w * channel.array[:, list(j)].prod(axis=1) for w, j in zip(weights, indices)], axis=1)
        return type(channel)(rows, channel.inputs, outputs=outputs)
    exact = [
        [w * prod((row[j] for j in js), start=Fraction(1)) for w, js in zip(weights, indices)]
        for row in channel.exact_rows
    ]
    return type(channel)(exact, channel.inputs, outputs=outputs)


def _arrangements(chosen: tuple[int, ...]) -> int:
    return factorial(len(chosen)) // prod(factorial(chosen.count(j)) for j in set(chosen))


def _check_size(cells: int) -> None:
    if cells > _MOST_CELLS:
        raise ChannelError(
            "size", cells, f"cells are too many for a matrix (at most {_MOST_CELLS})", "use ordered=False"
        )


def reduced(channel: Channel) -> Channel:
    """Columns that are multiples of one another lead to the same posterior: merged, and zero columns dropped.

    A merged output carries the tuple of the outputs that it stands for when there are several.
    """
    columns = list(zip(*channel.exact_rows)) if channel.exact else [tuple(c) for c in channel.array.T.tolist()]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for j, column in enumerate(columns):
        if any(column):
            groups.setdefault(_direction(column), []).append(j)
    merged = [
        [sum((columns[j][i] for j in group), start=columns[0][0] * 0) for group in groups.values()]
        for i in range(len(channel.inputs))
    ]
    names = [channel.outputs[g[0]] if len(g) == 1 else tuple(channel.outputs[j] for j in g) for g in groups.values()]
    return type(channel)(merged if channel.exact else np.array(merged), channel.inputs, outputs=names)


def _direction(column: tuple[Any, ...]) -> tuple[Any, ...]:
    total = sum(column)
    # Floats that are proportional in truth differ in their last bits: 12 digits tell them apart from the others.
    return tuple(c / total if isinstance(c, Fraction) else round(c / total, 12) for c in column)


def posteriors(channel: Channel, prior: object = None) -> dict[Label, tuple[ExactOrFloat, dict[Label, ExactOrFloat]]]:
    """For each output that can occur: its probability, and the distribution of the input given that output."""
    columns = zip(*joint(channel, prior))
    after: dict[Label, tuple[ExactOrFloat, dict[Label, ExactOrFloat]]] = {}
    for output, column in zip(channel.outputs, columns):
        total = sum(column, start=column[0] * 0)
        if total > 0:
            after[output] = (total, {x: cell / total for x, cell in zip(channel.inputs, column)})
    return after


@dataclass(frozen=True)
class Decomposition:
    """Whether ``K = H∘f``: the oblivious mechanism ``H``, or two datasets with one true answer and different rows."""

    mechanism: Channel | None
    witness: tuple[Label, Label] | None

    @property
    def oblivious(self) -> bool:
        return self.mechanism is not None


def decompose(channel: Channel, query: Callable[[Any], Label]) -> Decomposition:
    """Split a randomised function into its query and an oblivious mechanism, if it is one (004 §3)."""
    first: dict[Label, int] = {}
    for i, name in enumerate(channel.inputs):
        answer = query(name)
        j = first.setdefault(answer, i)
        if not np.array_equal(channel.rows[i], channel.rows[j]):  # type: ignore[arg-type]
            return Decomposition(None, (channel.inputs[j], name))
    rows = [channel.rows[i] for i in first.values()]
    matrix = rows if channel.exact else np.array(rows)
    return Decomposition(type(channel)(matrix, list(first), outputs=channel.outputs), None)


def after_query(query: Callable[[Any], Label], datasets: list[Any], mechanism: Channel) -> Channel:
    """``K = H∘f``: the randomised function that asks *query* and then disturbs the answer by *mechanism*."""
    rows = [mechanism.rows[_row_index(mechanism, query(d))] for d in datasets]
    return type(mechanism)(rows if mechanism.exact else np.array(rows), datasets, outputs=mechanism.outputs)


def _row_index(mechanism: Channel, answer: Label) -> int:
    return index_of(mechanism.inputs, answer, "answer")


class MechanismLike(Protocol):
    """What :meth:`Channel.from_mechanism` needs."""

    @property
    def datasets(self) -> Sequence[Any]: ...
    @property
    def answers(self) -> Sequence[Any]: ...
    def row(self, dataset: Any, /) -> dict[Any, Any]: ...


class Channel(Result):
    """Rows are inputs, columns are outputs; exact rationals when the numbers allow it, else floats.

    >>> response = Channel([["3/4", "1/4"], ["1/4", "3/4"]], inputs=["sick", "well"])
    >>> response, response.posterior_vulnerability()
    (Channel(2 inputs × 2 outputs, exact), Fraction(3, 4))
    """

    inputs: tuple[Label, ...]
    outputs: tuple[Label, ...]
    rows: tuple[ExactRow, ...] | FloatArray

    def __init__(self, rows: object, inputs: Sequence[Label] | None = None, *, outputs: Sequence[Label] | None = None):
        names = None if inputs is None else list(inputs)

        def label(i: int) -> str:
            return f"row {names[i]!r}" if names is not None and i < len(names) else f"row {i}"

        self.rows = read_rows(rows, label)
        self.inputs = read_labels(inputs, len(self.rows), "inputs")
        self.outputs = read_labels(outputs, len(self.rows[0]), "outputs")
        if isinstance(self.rows, np.ndarray):
            self.rows.setflags(write=False)

    @staticmethod
    def from_mechanism(mechanism: MechanismLike) -> Channel:
        """The channel from datasets to answers of anything with ``datasets``, ``answers`` and ``row(dataset)``."""
        answers = list(mechanism.answers)
        rows = [[mechanism.row(dataset).get(answer, 0) for answer in answers] for dataset in mechanism.datasets]
        return Channel(rows, list(mechanism.datasets), outputs=answers)

    @staticmethod
    def identity(labels: Sequence[Label]) -> Channel:
        """The channel that tells everything."""
        size = len(labels)
        return Channel([[int(i == j) for j in range(size)] for i in range(size)], labels, outputs=labels)

    @staticmethod
    def deterministic(function: Callable[[Any], Label], inputs: Sequence[Label]) -> Channel:
        """The channel of a query: each input gives its answer with probability one."""
        images = [function(x) for x in inputs]
        outputs = list(dict.fromkeys(images))
        return Channel([[int(image == z) for z in outputs] for image in images], inputs, outputs=outputs)

    @property
    def exact(self) -> bool:
        """Whether every probability is a rational that sums to one exactly."""
        return not isinstance(self.rows, np.ndarray)

    @cached_property
    def array(self) -> FloatArray:
        """The matrix as floats (read-only)."""
        if isinstance(self.rows, np.ndarray):
            return self.rows
        made = np.array([[float(cell) for cell in row] for row in self.rows])
        made.setflags(write=False)
        return made

    @property
    def exact_rows(self) -> tuple[ExactRow, ...]:
        """The matrix as rationals; a float is the dyadic rational that it is."""
        if isinstance(self.rows, np.ndarray):
            return tuple(tuple(Fraction(cell) for cell in row) for row in self.rows.tolist())
        return self.rows

    def row(self, name: Label) -> dict[Label, ExactOrFloat]:
        """The distribution of one input."""
        cells = self.rows[index_of(self.inputs, name, "input")]
        return dict(zip(self.outputs, cells if isinstance(cells, tuple) else cells.tolist()))

    def then(self, following: Channel) -> Channel:
        """In series: the output of this channel is the input of the next."""
        return series(self, following)

    def beside(self, other: Channel) -> Channel:
        """In parallel: both channels see the same input, the attacker sees both outputs."""
        return parallel(self, other)

    def repeated(self, times: int, *, ordered: bool = True) -> Channel:
        """The same channel used several times;
        ``ordered=False`` keeps only how often each output came (no less leakage).
        """
        return repeated(self, times, ordered=ordered)

    def reduced(self) -> Channel:
        """Without outputs that never occur, and with outputs merged that lead to the same posterior."""
        return reduced(self)

    def prior_vulnerability(self, prior: object = None) -> ExactOrFloat:
        """The chance that one guess is right before anything is seen."""
        return vulnerability.prior_vulnerability(self, prior)

    def posterior_vulnerability(self, prior: object = None) -> ExactOrFloat:
        """The chance that one guess is right after the output was seen."""
        return vulnerability.posterior_vulnerability(self, prior)

    def min_entropy_leakage(self, prior: object = None) -> float:
        """``log2(posterior / prior vulnerability)`` in bits (004 §2.2; erratum F3)."""
        return vulnerability.min_entropy_leakage(self, prior)

    def min_capacity(self) -> float:
        """The largest min-entropy leakage over all priors, in bits:
        ``log2`` of the sum of column maxima (erratum F1).
        """
        return vulnerability.min_capacity(self)

    def mutual_information(self, prior: object = None) -> float:
        """Shannon's mutual information of input and output, in bits."""
        return vulnerability.mutual_information(self, prior)

    def shannon_capacity(self, *, gap: float = 1e-9) -> capacity.Capacity:
        """The largest mutual information over all priors, between two bounds that differ by at most *gap* bits."""
        return capacity.shannon_capacity(self, gap=gap)

    def refined_by(self, other: Channel) -> privacy.Refinement:
        """Whether *other* is a post-processing of this channel,
        with the witness channel or a gain that proves the contrary.
        """
        return privacy.refinement(self, other)

    def plot(self, path: str | Path | None = None, *, axes: object = None) -> Any:
        """A heat map of the channel, also written to *path* (.png, .svg, .pdf) if one is given."""
        from optimaldp.plots.channels import heat_map  # which imports this module

        return axes_drawn(heat_map(self, axes), path)

    def summary(self) -> str:
        kind = "exact" if self.exact else "floats"
        return f"Channel({len(self.inputs)} inputs × {len(self.outputs)} outputs, {kind})"

    def to_document(self) -> dict[str, Any]:
        rows = (
            self.rows.tolist() if isinstance(self.rows, np.ndarray) else [[cell_text(c) for c in r] for r in self.rows]
        )
        return {"inputs": json_labels(self.inputs), "outputs": json_labels(self.outputs), "rows": rows, "prior": None}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Channel):
            return NotImplemented
        same_names = (self.inputs, self.outputs) == (other.inputs, other.outputs)
        return same_names and self.exact == other.exact and bool(np.array_equal(self.rows, other.rows))  # type: ignore[arg-type]

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs, self.exact, as_floats(self.array[0]).tobytes()))
