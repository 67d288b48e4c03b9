"""Channels made of channels: in series, in parallel, repeated, reduced; a query followed by an oblivious mechanism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.channels import numbers as exact_matrix
from optimaldp.channels.measures.entropies import joint
from optimaldp.channels.numbers import FloatArray, Label, Number, index_of, read_distribution
from optimaldp.errors import ChannelError

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel

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


def _chances(channels: Sequence[Channel], weights: object) -> Sequence[Number] | FloatArray:
    if not channels or any(channel.inputs != channels[0].inputs for channel in channels):
        raise ChannelError("choice", len(channels), "channels do not have the same inputs", "give one or more that do")
    if weights is None:
        return (Fraction(1, len(channels)),) * len(channels)
    return read_distribution(weights, size=len(channels), name="weights")


def _mixed(channels: Sequence[Channel], chances: Sequence[Number] | FloatArray, names: Sequence[Label]) -> Channel:
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


def posteriors(channel: Channel, prior: object = None) -> dict[Label, tuple[Number, dict[Label, Number]]]:
    """For each output that can occur: its probability, and the distribution of the input given that output."""
    columns = zip(*joint(channel, prior))
    after: dict[Label, tuple[Number, dict[Label, Number]]] = {}
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
