"""A channel: for each input, a distribution over outputs. What a mechanism is to an attacker, and to an analyst."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from optimaldp.channels.numbers import ExactRow, FloatArray, Number, as_floats, cell_text, read_rows
from optimaldp.errors import ChannelError
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.capacity import Capacity
    from optimaldp.channels.refinement import Refinement

Label = Hashable


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

    def __init__(self, rows: Any, inputs: Sequence[Label] | None = None, *, outputs: Sequence[Label] | None = None):
        names = None if inputs is None else list(inputs)

        def label(i: int) -> str:
            return f"row {names[i]!r}" if names is not None and i < len(names) else f"row {i}"

        self.rows = read_rows(rows, label)
        self.inputs = _labels(inputs, len(self.rows), "inputs")
        self.outputs = _labels(outputs, len(self.rows[0]), "outputs")
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
        from optimaldp.channels.composition import series

        return series(self, following)

    def beside(self, other: Channel) -> Channel:
        """In parallel: both channels see the same input, the attacker sees both outputs."""
        from optimaldp.channels.composition import parallel

        return parallel(self, other)

    def repeated(self, times: int, *, ordered: bool = True) -> Channel:
        """The same channel used several times;
        ``ordered=False`` keeps only how often each output came (no less leakage).
        """
        from optimaldp.channels.composition import repeated

        return repeated(self, times, ordered=ordered)

    def reduced(self) -> Channel:
        """Without outputs that never occur, and with outputs merged that lead to the same posterior."""
        from optimaldp.channels.composition import reduced

        return reduced(self)

    def prior_vulnerability(self, prior: Any = None) -> Number:
        """The chance that one guess is right before anything is seen."""
        from optimaldp.channels import measures

        return measures.prior_vulnerability(self, prior)

    def posterior_vulnerability(self, prior: Any = None) -> Number:
        """The chance that one guess is right after the output was seen."""
        from optimaldp.channels import measures

        return measures.posterior_vulnerability(self, prior)

    def min_entropy_leakage(self, prior: Any = None) -> float:
        """``log2(posterior / prior vulnerability)`` in bits (004 §2.2; erratum F3)."""
        from optimaldp.channels import measures

        return measures.min_entropy_leakage(self, prior)

    def min_capacity(self) -> float:
        """The largest min-entropy leakage over all priors, in bits:
        ``log2`` of the sum of column maxima (erratum F1).
        """
        from optimaldp.channels import measures

        return measures.min_capacity(self)

    def mutual_information(self, prior: Any = None) -> float:
        """Shannon's mutual information of input and output, in bits."""
        from optimaldp.channels import measures

        return measures.mutual_information(self, prior)

    def shannon_capacity(self, *, gap: float = 1e-9) -> Capacity:
        """The largest mutual information over all priors, between two bounds that differ by at most *gap* bits."""
        from optimaldp.channels.capacity import shannon_capacity

        return shannon_capacity(self, gap=gap)

    def refined_by(self, other: Channel) -> Refinement:
        """Whether *other* is a post-processing of this channel,
        with the witness channel or a gain that proves the contrary.
        """
        from optimaldp.channels.refinement import refinement

        return refinement(self, other)

    def plot(self, axes: Any = None) -> Any:
        """A heat map of the channel."""
        from optimaldp.plots.channels import heat_map

        return heat_map(self, axes)

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


def _labels(names: Sequence[Label] | None, size: int, field: str) -> tuple[Label, ...]:
    found: tuple[Label, ...] = tuple(range(size)) if names is None else tuple(names)
    if len(found) != size:
        raise ChannelError(field, f"{len(found)} names", f"do not fit the matrix, which has {size}")
    if len(set(found)) != size:
        twice = next(name for name in found if found.count(name) > 1)
        raise ChannelError(field, twice, "appears twice", "names are unique")
    return found


def index_of(names: tuple[Label, ...], name: Label, field: str) -> int:
    """Where *name* stands, or an error that names it."""
    try:
        return names.index(name)
    except ValueError:
        raise ChannelError(field, name, "is not one of this channel's names") from None


def json_labels(names: Sequence[Label]) -> list[Any]:
    """Labels as JSON keeps them: texts and whole numbers stay, tuples become lists, the rest is written out."""
    return [_json_label(name) for name in names]


def _json_label(name: Any) -> Any:
    if name is None or isinstance(name, (str, bool, int)):
        return name
    return [_json_label(part) for part in name] if isinstance(name, (tuple, frozenset)) else str(name)
