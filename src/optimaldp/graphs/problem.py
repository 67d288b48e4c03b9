"""A design problem: a graph with levels, what each dataset wants, and what is given beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from optimaldp.errors import ProblemError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.preferences import Preferences
from optimaldp.privacy.numbers import fraction_text, read_probability

Row = tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """What a designer is given. ``fixed`` maps dataset numbers to distributions (answers in their fixed order).

    ``boundary`` is a rule that chooses the boundary values instead (``"balanced"``); with a rule nothing is fixed.
    """

    graph: DatasetGraph
    preferences: Preferences
    fixed: Mapping[int, Row] = field(default_factory=dict)
    boundary: str | None = None

    @property
    def answers(self) -> tuple[str, ...]:
        return self.preferences.answers

    def __repr__(self) -> str:
        given = f"boundary {self.boundary}" if self.boundary else f"{len(self.fixed)} fixed"
        return f"Problem({len(self.graph)} datasets, {len(self.answers)} answers, {given})"


def read_fixed(
    graph: DatasetGraph, answers: tuple[str, ...], fixed: Mapping[str, Mapping[str, Any]] | None
) -> dict[int, Row]:
    """Read given distributions by name; an answer that is left out has probability 0."""
    return {_number(graph, name): _read_row(name, row, answers) for name, row in (fixed or {}).items()}


def _number(graph: DatasetGraph, name: str) -> int:
    try:
        return graph.numbers[name]
    except KeyError:
        raise ProblemError("fixed", name, "is not a dataset of this graph", "name it in prefers") from None


def _read_row(name: str, row: Any, answers: tuple[str, ...]) -> Row:
    if not isinstance(row, Mapping):
        raise ProblemError(f"fixed[{name}]", row, "is not an object of answers and probabilities")
    if unknown := [answer for answer in row if answer not in answers]:
        raise ProblemError(f"fixed[{name}]", unknown[0], f"is not one of the answers {list(answers)}")
    values = tuple(
        read_probability(row.get(answer, 0), name=f"fixed[{name}][{answer}]", error=ProblemError) for answer in answers
    )
    if sum(values) != 1:
        total = fraction_text(sum(values, Fraction(0)))
        raise ProblemError(f"fixed[{name}]", total, "is what the row sums to", "a row sums to one exactly")
    return values
