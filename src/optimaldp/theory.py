"""What the papers call things: the step T and its powers, transitions, phases, the frontier, induced bounds, sweeps.

| paper | name here |
| --- | --- |
| 000 Thm 3: the red boundary that goes with a blue one, ``m_R = F(1 - m_B)`` | :func:`frontier` |
| 001 (4.3): ``T^t`` on a row; real t | :func:`row_after` |
| 001 (5.1), (5.4): ``tau_k``; the phases initial and terminal (000: R_Ini, R_Ter) | :func:`transitions`, :func:`phases` |
| 001 section 6.5: answers on an ordered set | :class:`OrderedDistribution` |
| 003 Thm 3: tau along a path of different levels | :func:`path_transition` |
| 003 Def. 10, Alg. 1: the strongest condition that one dataset induces on all others, with the path | :func:`induced_bounds` |
| error against epsilon or delta | :func:`sweep` |

Formulas are those of the papers with their errata corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.designing.solving import design
from optimaldp.designing.steps import Bounds, Propagator
from optimaldp.designing.two_answers import balanced_row, balanced_value, frontier
from optimaldp.errors import LevelError
from optimaldp.graphs import DatasetGraph
from optimaldp.plots.graphs import plot_errors
from optimaldp.privacy import ApproximateDP, read_probability
from optimaldp.privacy import level as make_level
from optimaldp.privacy.lines import OrderedDistribution, Phases, phases, row_after, transitions
from optimaldp.results import Result

if TYPE_CHECKING:
    from optimaldp.designing import Design

__all__ = [
    "InducedBounds",
    "OrderedDistribution",
    "Phases",
    "Sweep",
    "balanced_row",
    "balanced_value",
    "frontier",
    "induced_bounds",
    "path_transition",
    "phases",
    "row_after",
    "sweep",
    "transitions",
]


@dataclass(frozen=True, eq=False, repr=False)
class InducedBounds(Result):
    """The most that each dataset can have for an event, given its probability at one dataset."""

    graph: DatasetGraph
    start: str
    value: Fraction
    bounds: Bounds

    def __getitem__(self, dataset: str) -> Fraction:
        return self.bounds.values[self.graph.number(dataset)]

    def path(self, dataset: str) -> list[str]:
        """The path along which the bound on a dataset comes, from the start; empty if nothing reaches it."""
        backwards = [self.graph.number(dataset)]
        while self.bounds.predecessor[backwards[-1]] >= 0:
            backwards.append(int(self.bounds.predecessor[backwards[-1]]))
        names = [self.graph.names[v] for v in reversed(backwards)]
        return names if names[0] == self.start else []

    def summary(self) -> str:
        return f"InducedBounds(from {self.start} with {self.value}, {len(self.graph)} datasets)"

    def to_document(self) -> dict[str, Any]:
        names = self.graph.names
        return {
            "from": self.start,
            "value": str(self.value),
            "bounds": {name: str(self[name]) for name in names},
            "paths": {name: self.path(name) for name in names},
        }


def induced_bounds(graph: DatasetGraph, dataset: str, value: object) -> InducedBounds:
    """The strongest condition that one value induces everywhere (003, Def. 10), and the path that each bound comes along.

    >>> from optimaldp import graphs
    >>> from optimaldp.privacy import level
    >>> found = induced_bounds(graphs.line(4, level=level("ln(2)")), "0", "1/4")
    >>> found["2"], found.path("2")
    (Fraction(3, 4), ['0', '1', '2'])
    """
    probability = read_probability(value, name="value")
    bounds = Propagator(graph).bounds({graph.number(dataset): probability})
    return InducedBounds(graph, dataset, probability, bounds)


def path_transition(levels: Sequence[Any], value: object) -> int:
    """After how many edges of a path the growth gives way to the decay (003 Thm 3, erratum 003-3), delta = 0.

    The least i with ``value e^(eps_0 + ... + eps_(i-1)) (e^(eps_i) + 1) >= 1``; the length of the path if there is none.

    >>> path_transition(["ln(2)", "ln(3)", "ln(2)"], "1/10")
    2
    """
    grown = read_probability(value, name="value")
    for i, item in enumerate(levels):
        level = make_level(item)
        if not isinstance(level, ApproximateDP) or level.delta != 0 or level.epsilon.infinite:
            raise LevelError("levels", str(level), "is not a finite epsilon with delta 0", "003 has no other")
        ratio = level.epsilon.ratio_below(bits=256)
        if grown * (ratio + 1) >= 1:
            return i
        grown *= ratio
    return len(levels)


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Result):
    """The same design for many levels: the error at each dataset as a function of the parameter that was swept."""

    parameter: str
    values: tuple[Any, ...]
    designs: tuple[Design, ...]

    def errors(self, dataset: str) -> list[float]:
        """The probability of not giving the favourite answer of a dataset, for each value of the parameter.

        Where there is no optimum at a value it is not a number, so that errors and values stay side by side.
        """
        return [_error(designed, dataset) for designed in self.designs]

    def summary(self) -> str:
        return f"Sweep({len(self.values)} values of {self.parameter}, {len(self.designs[0].problem.graph)} datasets)"

    def to_document(self) -> dict[str, Any]:
        names = self.designs[0].problem.graph.names
        return {"parameter": self.parameter, "values": [str(v) for v in self.values]} | {
            "errors": {name: [None if math.isnan(e) else e for e in self.errors(name)] for name in names}
        }

    def plot(self, datasets: Sequence[str] | None = None) -> Any:
        """Draw the error of some datasets (the first five if none are named) against the parameter."""
        chosen = list(datasets) if datasets is not None else list(self.designs[0].problem.graph.names[:5])
        x = [float(make_level(v).epsilon) if self.parameter == "epsilon" else float(v) for v in self.values]  # type: ignore[attr-defined]
        return plot_errors(x, {name: self.errors(name) for name in chosen}, x_label=self.parameter)


def sweep(
    graph: DatasetGraph,
    truth: Callable[[str], Any] | Mapping[str, Any],
    *,
    epsilon: Any = None,
    delta: Any = 0,
    **options: Any,
) -> Sweep:
    """Design for each of several epsilons or deltas: one of the two is a list.

    >>> from optimaldp import graphs
    >>> found = sweep(graphs.votes(3), graphs.majority, epsilon=["ln(2)", "ln(3)"])
    >>> [round(error, 3) for error in found.errors("112")]
    [0.333, 0.25]
    """
    lists = [name for name, value in (("epsilon", epsilon), ("delta", delta)) if _is_list(value)]
    if len(lists) != 1:
        raise LevelError(
            "epsilon", epsilon, "and delta: exactly one of them is a list", "sweep one parameter at a time"
        )
    values = tuple(epsilon if lists == ["epsilon"] else delta)
    if not values:
        raise LevelError(lists[0], values, "names no value to sweep over", "give at least one")
    pairs = [(value, delta) if lists == ["epsilon"] else (epsilon, value) for value in values]
    designs = tuple(design(graph, truth, epsilon=e, delta=d, **options) for e, d in pairs)
    return Sweep(lists[0], values, designs)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _error(found: Design, dataset: str) -> float:
    if found.mechanism is None or found.status != "optimal":
        return math.nan
    return float(1 - next(iter(found.mechanism.row(dataset).values())))
