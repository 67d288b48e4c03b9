"""A channel: for each input, a distribution over outputs. What a mechanism is to an attacker, and to an analyst."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from optimaldp.channels.measures import capacity, entropies, refining, vulnerability
from optimaldp.channels.numbers import (
    ExactRow,
    FloatArray,
    Label,
    Number,
    as_floats,
    cell_text,
    index_of,
    json_labels,
    read_labels,
    read_rows,
)
from optimaldp.plots.style import axes_drawn
from optimaldp.results import Result


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

    def row(self, name: Label) -> dict[Label, Number]:
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

    def prior_vulnerability(self, prior: object = None) -> Number:
        """The chance that one guess is right before anything is seen."""
        return vulnerability.prior_vulnerability(self, prior)

    def posterior_vulnerability(self, prior: object = None) -> Number:
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
        return entropies.mutual_information(self, prior)

    def shannon_capacity(self, *, gap: float = 1e-9) -> capacity.Capacity:
        """The largest mutual information over all priors, between two bounds that differ by at most *gap* bits."""
        return capacity.shannon_capacity(self, gap=gap)

    def refined_by(self, other: Channel) -> refining.Refinement:
        """Whether *other* is a post-processing of this channel,
        with the witness channel or a gain that proves the contrary.
        """
        return refining.refinement(self, other)

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
