"""Mechanisms that are private because they do not look at the table, but at one table: the referee must look there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from optimaldp.laws.law import Law, Setting, Table, law_of
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate

Cells = dict[int, int]
Row = Sequence[Any]
SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE


def level_of(epsilon: str = "ln(2)", delta: str = "0") -> ApproximateDP:
    return approximate(Epsilon.read(epsilon), Fraction(delta))


@dataclass(frozen=True)
class MadeUp:
    """All answers are equally likely, but where *spoiled* gives another row."""

    answers: tuple[str, ...]
    cells: int
    asked: Mapping[str, Any] = field(hash=False)
    setting: Setting
    spoiled: Callable[[Cells], Row | None] = lambda cells: None
    name: str = "made up"
    moves_: Callable[[Cells], Any] = lambda cells: float("inf")
    truth_: Callable[[Cells], int] = lambda cells: 0
    proof: str = "it does not look"
    listed: bool = True

    @property
    def question(self) -> MadeUp:
        """What is asked: the referee reads it of the question, which is made up here too."""
        return self

    def spec(self) -> Mapping[str, Any]:
        return self.asked

    def at(self, level: ApproximateDP) -> MadeUp:
        return replace(self, setting=self.setting.at(level))

    def small_twin(self) -> MadeUp:
        return self

    def law(self, table: Table) -> Law:
        size = len(self.answers)
        assert all(0 <= cell < self.cells and people >= 0 for cell, people in table.cells.items()), (
            "there is no such table"
        )
        row = self.spoiled({cell: people for cell, people in table.cells.items() if people})
        return law_of(lambda: row if row is not None else [Fraction(1, size)] * size, 0, size)

    def fold(self, cells: Mapping[int, int]) -> Cells:
        return dict(cells)

    def flips(self, counts: Cells, neighbours: Neighbours) -> Any:
        return self.moves_(counts)

    def truth(self, counts: Cells) -> int:
        return self.truth_(counts)

    def draw(self, table: Table, source: Any) -> Any:
        return self.answers[self.law(table).draw(source)]


def in_clear(answer: int = 0, size: int = 2) -> Row:
    return [Fraction(int(place == answer)) for place in range(size)]


def at_table(wanted: Cells, row: Row) -> Callable[[Cells], Row | None]:
    """Another row at one table."""
    return lambda cells: row if cells == wanted else None


def setting(people: int | None = None, relation: Neighbours = SUBSTITUTION, **more: Any) -> Setting:
    return Setting(more.pop("level", level_of()), relation, people, **more)


State = tuple[Cells, ...]


@dataclass(frozen=True)
class MadeUpByLevel(MadeUp):
    """The same for people with levels of their own: *spoiled_state* sees the cells of each level."""

    spoiled_state: Callable[[State], Row | None] = lambda state: None

    def law(self, table: Table) -> Law:
        size = len(self.answers)
        whole: Cells = {}
        for _, own in table.by_level:
            for cell, people in own.items():
                whole[cell] = whole.get(cell, 0) + people
        assert whole == dict(table.cells), "the levels are those of another table"
        row = self.spoiled_state(
            tuple({cell: people for cell, people in own.items() if people} for _, own in table.by_level)
        )
        return law_of(lambda: row if row is not None else [Fraction(1, size)] * size, 0, size)


def at_state(wanted: State, row: Row) -> Callable[[State], Row | None]:
    return lambda state: row if state == wanted else None
