"""A design problem: a graph with levels, what each dataset wants, and what is given beforehand."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from optimaldp.errors import ProblemError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.preferences import Preferences
from optimaldp.graphs.regions import boundary
from optimaldp.privacy.numbers import fraction_text, read_probability

Row = tuple[Fraction, ...]

FAIR, RAISED = "fair", "raised"


def default_rule(preferences: Preferences) -> str:
    """The rule for a problem that neither fixes values nor names a rule for its boundary."""
    return FAIR if len(preferences.answers) == 2 else RAISED


@dataclass(frozen=True, eq=False)
class Problem:
    """What a designer is given. ``fixed`` maps dataset numbers to distributions (answers in their fixed order).

    ``boundary`` chooses the boundary values instead: a rule (``"fair"``, ``"balanced"``, ``"undominated"``), or a row for the
    number of each preference; ``rule`` then says which rule chose those rows. With a boundary nothing is fixed.
    """

    graph: DatasetGraph
    preferences: Preferences
    fixed: Mapping[int, Row] = field(default_factory=dict)
    boundary: str | Mapping[int, Row] | None = None
    rule: str | None = None

    def given_words(self) -> str:
        """What an optimum of this problem is relative to, in words."""
        if self.boundary is None:
            return f"with {len(self.fixed)} given datasets" if len(self.fixed) != 1 else "with 1 given dataset"
        return "" if self.chosen_by in (FAIR, RAISED) else f"for the {self.chosen_by or 'given'} boundary"

    @property
    def chosen_by(self) -> str | None:
        """The rule that chose the boundary values, if one did."""
        return self.boundary if isinstance(self.boundary, str) else self.rule

    def given_rows(self) -> Mapping[int, Row]:
        """The distributions that are given: those that are fixed, or one row for each preference on the boundary."""
        if not isinstance(self.boundary, Mapping):
            return self.fixed
        on_it = np.flatnonzero(boundary(self.graph, self.preferences)).tolist()
        rows, of = self.boundary, self.preferences.of
        return {v: rows[int(of[v])] for v in on_it if int(of[v]) in rows}

    @property
    def answers(self) -> tuple[str, ...]:
        return self.preferences.answers

    def __repr__(self) -> str:
        condition = f"{len(self.fixed)} fixed" if self.boundary is None else f"boundary {self.chosen_by or 'given'}"
        return f"Problem({len(self.graph)} datasets, {len(self.answers)} answers, {condition})"


def read_fixed(
    graph: DatasetGraph, answers: tuple[str, ...], fixed: Mapping[Any, Mapping[str, Any]] | None
) -> dict[int, Row]:
    """Read given distributions by name; an answer that is left out has probability 0."""
    return {_number(graph, name): _read_row(str(name), row, answers) for name, row in (fixed or {}).items()}


def preference_text(preferences: Preferences, number: int) -> str:
    """A preference as one word: ``a>b>c``."""
    joiner = ">" if not any(">" in answer for answer in preferences.answers) else " then "
    return joiner.join(preferences.answers[a] for a in preferences.orders[number])


def read_boundary(preferences: Preferences, boundary: object) -> str | dict[int, Row]:
    """Read a rule, or rows by preference: ``a>b>c``, a sequence of answers, or for two answers the favourite."""
    if isinstance(boundary, str):
        return boundary
    if not isinstance(boundary, Mapping):
        raise ProblemError(
            "boundary", boundary, "is neither a rule nor rows by preference", 'write "balanced" or {"a>b>c": {"a": 1}}'
        )
    known: dict[Any, int] = {}
    for number, order in enumerate(preferences.orders):
        ranking = tuple(preferences.answers[a] for a in order)
        known |= {preference_text(preferences, number): number, ranking: number}
        if len(ranking) == 2:
            known[ranking[0]] = number
    rows: dict[int, Row] = {}
    for name, row in boundary.items():
        key = name if isinstance(name, str) else tuple(name)
        if key not in known:
            raise ProblemError("boundary", name, "is not a preference that occurs", 'write them as "a>b>c"')
        rows[known[key]] = _read_row(str(name), row, preferences.answers, field="boundary")
    return rows


def _number(graph: DatasetGraph, name: Hashable) -> int:
    number = graph.find(name)
    if number is None:
        raise ProblemError("fixed", name, "is not a dataset of this graph", "name it in prefers")
    return number


def _read_row(name: str, row: object, answers: tuple[str, ...], *, field: str = "fixed") -> Row:
    if not isinstance(row, Mapping):
        raise ProblemError(f"{field}[{name}]", row, "is not an object of answers and probabilities")
    if unknown := [answer for answer in row if answer not in answers]:
        raise ProblemError(f"{field}[{name}]", unknown[0], f"is not one of the answers {list(answers)}")
    values = tuple(
        read_probability(row.get(answer, 0), name=f"{field}[{name}][{answer}]", error=ProblemError)
        for answer in answers
    )
    if sum(values) != 1:
        total = fraction_text(sum(values, Fraction(0)))
        raise ProblemError(f"{field}[{name}]", total, "is what the row sums to", "a row sums to one exactly")
    return values
