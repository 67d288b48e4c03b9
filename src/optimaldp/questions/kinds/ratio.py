"""How much of one column is there for each unit of another? The ratio of two sums over people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.laws.crossing import Family, ratio_family
from optimaldp.laws.law import Cells, Setting
from optimaldp.privacy import Neighbours, read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Draft, Question, Spec, among_text, counts_for, outside_last
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.literals import (
    check_among,
    check_column,
    read_column,
    read_list,
    read_number_range,
    write_column,
)
from optimaldp.questions.numbers import Crossed, NumberOptions
from optimaldp.questions.sheets import AMONG, Blank, Sheet
from optimaldp.questions.words import asked_of, column_words
from optimaldp.tables.tally import Grid

_MOST_ANSWERS = 10**6
COLUMN_ABOVE = Blank("column", "column", "Column", sample="cost")
Pairs = tuple[dict[tuple[int, int], int], int]
"""People by the places of their two values, and people without one of them."""


@dataclass(frozen=True, repr=False)
class Ratio(Crossed[float]):
    """``ratio(a, b, ranges=[[0, α], [0, B]], steps=[…], grid=[low, high, step])``: the sum of a over the sum of b."""

    columns: tuple[str, str]
    tops: tuple[Fraction, Fraction]
    steps: tuple[Fraction, Fraction]
    said: NumberOptions
    among: str | None = None
    where_is_among = True

    @property
    def readings(self) -> tuple[Grid, ...]:
        zero = Fraction(0)
        return tuple(Grid(column, zero, top, step) for column, top, step in zip(self.columns, self.tops, self.steps))

    def fold(self, cells: Cells) -> Pairs:
        first, second = self.readings
        own = outside_last(cells, first.size * second.size, self.among)
        pairs: dict[tuple[int, int], int] = {}
        without = 0
        for cell, people in own.items():
            a, b = divmod(cell, second.size)
            if a == first.points or b == second.points:
                without += people
            else:
                pairs[a, b] = pairs.get((a, b), 0) + people
        return pairs, without

    def read_counts(self, counts: Sequence[int]) -> Pairs:
        first, second = self.readings
        size = first.points * second.points
        known = counts_for(self, counts, wanted=size + 1, least=size)
        pairs = {divmod(cell, second.points): people for cell, people in enumerate(known[:-1]) if people}
        return pairs, known[-1]

    def sums(self, counts: Pairs) -> tuple[Fraction, Fraction]:
        first, second = self.steps
        above = sum((people * a for (a, _), people in counts[0].items()), 0) * first
        below = sum((people * b for (_, b), people in counts[0].items()), 0) * second
        return Fraction(below), Fraction(above)

    def family(self, setting: Setting) -> Family:
        low, high, gap = self._grid
        return ratio_family(self.tops, (low, high, gap), replaced=setting.neighbours is Neighbours.SUBSTITUTION)

    @property
    def _grid(self) -> tuple[Fraction, Fraction, Fraction]:
        assert self.said.grid is not None
        low, high, gap = self.said.grid
        return low, high, gap

    @property
    def value_range(self) -> tuple[Fraction, Fraction]:
        return self._grid[:2]

    def compared(self, comparison: str, bound: object) -> Question[str]:
        remedy = "ask for the number itself"
        raise QuestionError("question", f"{self} {comparison} {bound}", "compares a ratio, which is not built", remedy)

    def spec(self) -> Spec:
        return {"kind": "number", "of": "ratio", "tops": self.tops, "steps": self.steps}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        ends = " and ".join(f"[0, {fraction_text(top)}]" for top in self.tops)
        return (
            f"values are clipped to {ends} and rounded to the steps",
            "people without one of the two values change nothing and are protected",
        )

    def words(self) -> str:
        above, below = map(column_words, self.columns)
        return asked_of(self.among, f"what is the sum of {above} divided by the sum of {below}?")

    def __str__(self) -> str:
        ranges = ", ".join(f"[0, {fraction_text(top)}]" for top in self.tops)
        said = [*map(write_column, self.columns), f"ranges=[{ranges}]"]
        said += [] if set(self.steps) == {Fraction(1)} else [f"steps=[{', '.join(map(fraction_text, self.steps))}]"]
        said += self.said.texts()
        return f"ratio({', '.join(said)}{among_text(self.among)})"


def ratio(
    above: str,
    below: str,
    *,
    ranges: Any = None,
    grid: object = None,
    steps: Any = None,
    among: str | None = None,
    output: str | None = None,
) -> Ratio:
    """The sum of the column *above* divided by the sum of the column *below*, over people who have both values.

    *ranges*: two public ranges from 0 on. *steps*: the public steps to which values are rounded. *grid*: ``[low, high, step]``
    of the answers. Ranges and steps may stand in the description of the table instead.
    *among*: ask only people with this condition. *output* as in :func:`~optimaldp.questions.count`.

    >>> str(ratio("cost", "days", ranges=[[0, 1000], [0, 30]], steps=[10, 1], grid=[0, 500, 1]))
    'ratio(cost, days, ranges=[[0, 1000], [0, 30]], steps=[10, 1], grid=[0, 500, 1])'
    """
    if grid is None:
        raise QuestionError("grid", None, "is missing", "write the public answers, grid=[low, high, step]")
    options = NumberOptions.read(grid=grid, output=output)
    _check_grid(options.grid or ())
    columns = check_column(above), check_column(below)
    if ranges is None:
        said = None if steps is None else f"steps=[{', '.join(map(str, _two(steps, 'steps')))}]"
        draft: Ratio = Draft.of("ratio", [*map(write_column, columns), said, *options.texts()], among)
        return draft
    ends = [read_number_range(part) for part in _two(ranges, "ranges")]
    if any(low for low, _ in ends):
        raise QuestionError("ranges", str(ranges), "do not begin at 0", "a ratio needs numbers of 0 or more")
    tops = (ends[0][1], ends[1][1])
    chosen = tuple(read_number(part, name="steps", error=QuestionError) for part in _two(steps or (1, 1), "steps"))
    if any(step <= 0 or top % step for step, top in zip(chosen, tops)):
        raise QuestionError("steps", [*map(fraction_text, chosen)], "do not divide the ranges", "choose steps that do")
    return Ratio(columns, tops, (chosen[0], chosen[1]), options, check_among(among))


def _two(value: Any, name: str) -> list[Any]:
    parts = read_list(value) if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if len(parts) != 2:
        raise QuestionError(name, str(value), "is not one for each of the two columns", f"write {name}=[first, second]")
    return parts


def _check_grid(grid: tuple[Fraction, ...]) -> None:
    fits = len(grid) == 3 and 0 <= grid[0] < grid[1] and not (grid[1] - grid[0]) % grid[2]
    if not fits or (grid[1] - grid[0]) / grid[2] > _MOST_ANSWERS:
        rule = "is not [low, high, step] with 0 <= low < high and at most a million steps"
        raise QuestionError("grid", [*map(fraction_text, grid)], rule, "write grid=[0, 10, 0.01]")


def _read(call: Call) -> Ratio:
    call.only(arguments=range(2, 3), named=("ranges", "steps", "grid", "output"))
    if "ranges" not in call.named:
        raise call.without_range()
    return ratio(call.column(), read_column(call.arguments[1]), among=call.among, **call.named)


SHEETS = [
    Sheet(
        "ratio",
        "How much of one thing for each unit of another?",
        "ratio({column}, {other}, ranges={ranges}, grid={grid}{among})",
        (
            COLUMN_ABOVE,
            Blank("other", "column", "divided by the column", sample="days"),
            Blank("ranges", "number", "Their public ranges", "[[0, 1000], [0, 30]]", sample="[[0, 1000], [0, 30]]"),
            Blank("grid", "number", "Answers: from, to, step", "[0, 500, 1]", sample="[0, 500, 1]"),
            AMONG,
        ),
        order=5,
    )
]
FORMS = [Form("ratio", "ratio(cost, days, ranges=[[0, 1000], [0, 30]], steps=[10, 1], grid=[0, 500, 1])", _read)]
