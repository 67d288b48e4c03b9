"""From rows to people: the rows of a person become one number for each reading, by stated rules and in the engine.

Only rows that speak (those of ``where``) take part. Whoever has none stays a person, with the last number of each reading: were
they left out, the number of people would depend on the data, and a neighbour under substitution would no longer be one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.tables.engines import writer
from optimaldp.tables.readings import Numbered
from optimaldp.tables.tally import Rule

MOST_VOTED = 2**31  # numbers: votes and number share 64 bits, for up to 2^32 rows of one person


@dataclass(frozen=True)
class Reduced:
    """One reading and the rule that reduces it. Its key stands in the column ``key<place>`` of the rows."""

    place: int
    reading: Numbered
    rule: Rule
    yes_no: bool

    def check(self) -> None:
        if self.rule == "mean" and not self.small:
            raise QuestionError("reduce", self.rule, "needs fewer than 2^31 values", "choose a larger step, or 'first'")

    @property
    def small(self) -> bool:
        """Whether a number fits into half of the engine's 64 bits."""
        return self.reading.size <= MOST_VOTED

    @property
    def votes(self) -> bool:
        return self.rule == "most-frequent"

    def number(self, rows: Any) -> Any:
        return self.reading.number(rows[f"key{self.place}"])

    def heard(self, rows: Any) -> Any:
        """The number of a row that speaks and has a value; NULL for others."""
        write = writer(rows)
        number = self.number(rows)
        # "no" is an answer like "yes"; everybody else and no value are not answers, so they do not compete.
        heard = rows.speaks if self.yes_no else rows.speaks & (number < self.reading.last)
        return write.cases((heard, number))

    def partial(self, rows: Any) -> dict[str, Any]:
        """What is gathered over some of a person's rows; see :meth:`gathered`."""
        if self.rule in ("any", "all"):
            holds = rows[f"key{self.place}"].fill_null(False)
            return {
                f"some{self.place}": (holds & rows.speaks).any(),
                f"every{self.place}": (holds | ~rows.speaks).all(),
            }
        value = self.heard(rows)
        if self.rule == "mean":
            return {f"total{self.place}": value.sum(), f"values{self.place}": value.count()}
        return {f"number{self.place}": value.max() if self.rule == "max" else value.min()}

    def gathered(self, parts: Any) -> dict[str, Any]:
        """The same over all rows of a person, from several parts of them."""
        if self.rule in ("any", "all"):
            some, every = parts[f"some{self.place}"], parts[f"every{self.place}"]
            return {f"some{self.place}": some.any(), f"every{self.place}": every.all()}
        if self.rule == "mean":
            names = f"total{self.place}", f"values{self.place}"
            return {name: parts[name].sum() for name in names}
        number = parts[f"number{self.place}"]
        return {f"number{self.place}": number.max() if self.rule == "max" else number.min()}

    def final(self, people: Any) -> Any:
        """The reduced number of a person (for a condition under any or all: whether it holds)."""
        if self.rule == "any":
            return people[f"some{self.place}"]
        if self.rule == "all":
            return people[f"some{self.place}"] & people[f"every{self.place}"]
        if self.votes and self.small:
            return self.reading.last - people[f"score{self.place}"] % self.reading.size
        number = self._mean(people) if self.rule == "mean" else people[f"number{self.place}"]
        return number.fill_null(self.reading.last)  # nothing was heard

    def _mean(self, people: Any) -> Any:
        """The mean of whole numbers, rounded half up: the floor of (2·total + values) / (2·values)."""
        total, values = (people[f"{word}{self.place}"].cast("int64") for word in ("total", "values"))
        doubled, divisor = total * 2 + values, (values * 2).nullif(0)
        # As doubles without the remainder: off by less than a half for the numbers below 2^31 that are checked for.
        return ((doubled - doubled % divisor).cast("float64") / divisor.cast("float64")).round().cast("int64")

    def standing(self, groups: Any, votes: Any) -> dict[str, Any]:
        """Where each number of a person stands among their others; see :meth:`elected`."""
        write = writer(groups)
        number = groups[f"heard{self.place}"]
        if self.small:
            # Votes and order in one number, so that a plain maximum finds both, on every engine and without ties.
            score = votes.cast("int64") * self.reading.size + (self.reading.last - number)
            return {f"score{self.place}": write.cases((number.isnull(), 0), else_=score)}
        heard = write.cases((number.notnull(), votes))
        most = heard.max().over(write.window(group_by=groups.unit))
        return {f"number{self.place}": write.cases((heard == most, number))}

    def elected(self, standings: Any) -> dict[str, Any]:
        """The number with most votes, the first of several."""
        if self.small:
            return {f"score{self.place}": standings[f"score{self.place}"].max()}
        return {f"number{self.place}": standings[f"number{self.place}"].min()}


def one_row_each(rows: Any, readings: Sequence[Reduced]) -> Any:
    """One row per person with their reduced numbers, each reading reduced by itself."""
    voted, gathered = [one for one in readings if one.votes], [one for one in readings if not one.votes]
    if not voted:
        return rows.group_by("unit").aggregate(**_merged([one.partial(rows) for one in gathered]), **level_range(rows))
    named = rows.mutate(**{f"heard{one.place}": one.heard(rows) for one in voted})
    keys = [f"heard{one.place}" for one in voted]
    groups = named.group_by("unit", *keys).aggregate(
        rows_there=named.count(), **_merged([one.partial(named) for one in gathered]), **level_range(named)
    )
    counted = groups.mutate(**{f"votes{one.place}": _votes(groups, one, voted) for one in voted})
    standings = _merged([one.standing(counted, counted[f"votes{one.place}"]) for one in voted])
    stood = counted.mutate(**standings)
    best = _merged([one.elected(stood) for one in voted])
    rest = _merged([one.gathered(stood) for one in gathered])
    return stood.group_by("unit").aggregate(**best, **rest, **level_range(stood))


def _votes(groups: Any, one: Reduced, voted: Sequence[Reduced]) -> Any:
    """How many of a person's rows have this number: several voted readings share the groups, so theirs are added up."""
    if len(voted) == 1:
        return groups.rows_there
    write = writer(groups)
    return groups.rows_there.sum().over(write.window(group_by=[groups.unit, groups[f"heard{one.place}"]]))


def _merged(columns: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: value for each in columns for name, value in each.items()}


def first_row_each(rows: Any, cell: Any, size: int) -> Any:
    """One row per person: the cell of their first row that speaks; ties in the order go to the cell that comes first.

    Rows without a value in the order column do not speak.
    """
    write = writer(rows)
    placed = rows.mutate(cell=cell, place=write.cases((rows.speaks, rows.place)))
    steps = placed.group_by("unit", "place").aggregate(cell=placed.cell.min(), **level_range(placed))
    # The filter matters: some engines put NULL first, and would let a row speak that does not.
    first = steps.cell.argmin(steps.place, where=steps.place.notnull())
    people = steps.group_by("unit").aggregate(cell=first, **level_range(steps))
    return people.mutate(cell=people.cell.fill_null(size - 1))


def level_range(table: Any) -> dict[str, Any]:
    """The least and greatest level among a person's rows, to see whether they agree."""
    if "low" in table.columns:
        return {"low": table.low.min(), "high": table.high.max()}
    if "level" in table.columns:
        return {"low": table.level.min(), "high": table.level.max()}
    return {}
