"""The least epsilon that a channel keeps on a graph of its inputs: what it promises, read off the matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.labels import Label
from optimaldp.channels.numbers import Number, cell_text
from optimaldp.errors import ChannelError
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.channels.channel import Channel


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
        ratio = "inf" if self.ratio == math.inf else cell_text(self.ratio)
        return {"epsilon": self.epsilon, "ratio": ratio, "edge": self.edge, "output": self.output}


def least_epsilon(channel: Channel, graph: AnswerGraph | None = None) -> LeastEpsilon:
    """The least epsilon for which the channel is private on *graph*; without one every two inputs are neighbours.

    Both zero passes; something against zero is infinite. An edge of length ℓ grants ``ℓ·epsilon`` (metric privacy).

    >>> from optimaldp.channels import Channel
    >>> least_epsilon(Channel([["3/4", "1/4"], ["1/4", "3/4"]])).ratio
    Fraction(3, 1)
    """
    chosen = AnswerGraph.clique(channel.inputs) if graph is None else graph
    if set(chosen.vertices) != set(channel.inputs):
        odd = next(iter(set(map(str, chosen.vertices)) ^ set(map(str, channel.inputs))), "")
        raise ChannelError("graph", odd, "is a vertex or an input without a partner", "vertices must be the inputs")
    where = {name: i for i, name in enumerate(channel.inputs)}
    rows = channel.rows if isinstance(channel.rows, tuple) else channel.rows.tolist()
    worst = LeastEpsilon(Fraction(1) if channel.exact else 1.0, None, None)
    for (a, b), length in chosen.lengths.items():
        for one, two in ((a, b), (b, a)):
            worst = _worse(worst, rows[where[one]], rows[where[two]], (one, two), length, channel.outputs)
    return worst


def _worse(
    worst: LeastEpsilon, high: Any, low: Any, edge: tuple[Label, Label], length: Fraction, outputs: Any
) -> LeastEpsilon:
    for p, q, output in zip(high, low, outputs):
        if p <= worst.ratio * q and length == 1:
            continue
        ratio: Number = math.inf if p > 0 and q == 0 else (p / q if q else worst.ratio)
        if length != 1 and ratio != math.inf:
            ratio = float(ratio) ** float(1 / length)
        if ratio > worst.ratio:
            worst = LeastEpsilon(ratio, edge, output)
    return worst
