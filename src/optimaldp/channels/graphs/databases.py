"""Databases ``Val^u`` and the answer graph that a question induces on them, without writing the databases down.

Each of u individuals has one of v values; neighbours differ in one individual. What *one value* means decides what is
protected: the value (participation is known), the participation (the record is known), or both (absence is one more
value).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.errors import GraphError

Value = Hashable
ABSENT = None

_MOST_DATABASES = 1_000_000


@dataclass(frozen=True)
class Databases:
    """All assignments of a choice to each individual; ``choices[i]`` are those of individual i."""

    choices: tuple[tuple[Value, ...], ...]

    @staticmethod
    def of_values(values: Sequence[Value], individuals: int) -> Databases:
        """Everybody takes part, everybody's value is protected."""
        return Databases(_checked([tuple(values)] * individuals))

    @staticmethod
    def of_participation(records: Sequence[Value]) -> Databases:
        """Everybody's record is known; whether they take part is protected."""
        return Databases(_checked([(ABSENT, record) for record in records]))

    @staticmethod
    def of_both(values: Sequence[Value], individuals: int) -> Databases:
        """Value and participation are protected: absence is one more value."""
        return Databases(_checked([(ABSENT, *values)] * individuals))

    @property
    def individuals(self) -> int:
        return len(self.choices)

    @property
    def alike(self) -> bool:
        """Whether every individual has the same choices."""
        return len(set(self.choices)) <= 1

    @property
    def size(self) -> int:
        total = 1
        for own in self.choices:
            total *= len(own)
        return total

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        if self.size > _MOST_DATABASES:
            raise GraphError("databases", self.size, "are too many to write down", "use a fold or an automaton")
        return product(*self.choices)

    def graph(self) -> AnswerGraph:
        """The databases themselves as a graph: neighbours differ in one individual."""
        databases = list(self)
        where = {database: i for i, database in enumerate(databases)}
        return AnswerGraph(databases, self.neighbours(), symmetries=self._swaps(databases, where))

    def neighbours(self) -> Iterator[tuple[tuple[Value, ...], tuple[Value, ...]]]:
        """Every pair of neighbours, once."""
        for i, own in enumerate(self.choices):
            for rest in product(*self.choices[:i], *self.choices[i + 1 :]):
                for one, other in combinations(own, 2):
                    yield (*rest[:i], one, *rest[i:]), (*rest[:i], other, *rest[i:])

    def _swaps(self, databases: list[Any], where: dict[Any, int]) -> list[list[int]]:
        if not self.alike:
            return []
        # Neighbouring transpositions generate all permutations of individuals and of values. A trade of values for one
        # individual seldom keeps a question, the same trade for everybody often does: both are offered.
        swaps = []
        for i in range(self.individuals - 1):
            swaps.append([where[(*d[:i], d[i + 1], d[i], *d[i + 2 :])] for d in databases])
        own = self.choices[0]
        for k in range(len(own) - 1):
            trade = {own[k]: own[k + 1], own[k + 1]: own[k]}
            swaps.append([where[(trade.get(d[0], d[0]), *d[1:])] for d in databases])
            swaps.append([where[tuple(trade.get(v, v) for v in d)] for d in databases])
        return swaps


def _checked(choices: Sequence[tuple[Value, ...]]) -> tuple[tuple[Value, ...], ...]:
    if not choices or any(not own or len(set(own)) < len(own) for own in choices):
        raise GraphError(
            "databases", [list(own) for own in choices][:3], "need individuals with values that are unique"
        )
    return tuple(choices)
