"""From rows to people: the rows of a person become one canonical value for each reading, by stated rules and in the engine.

Only the rows that ``where`` keeps take part. A person without such a row stays a person, without a value: if they were left
out, the number of people would depend on the data, and two neighbours under substitution would no longer be neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optimaldp.tables.sql import Dialect, SqlTable, Value
from optimaldp.tables.tally import Rule

_VOTED: tuple[Rule, ...] = ("most-frequent", "most")
_PARTS = 2**20  # doubles are added up as whole numbers of this part of one, so that no order of rows matters
_LARGEST = 2.0**60  # what is beyond is cut off there before it is added up
_WIDEST = 2**63 - 1


@dataclass(frozen=True)
class Reduced:
    """One value of each person: read of each row in the column *name*, reduced by *rule*."""

    name: str
    rule: Rule

    @property
    def voted(self) -> bool:
        return self.rule in _VOTED

    def heard(self, rows: SqlTable) -> Value:
        """The value of a row that speaks; none for others."""
        return rows.dialect.cases((rows["speaks"], rows[self.name]))

    def gathered(self, rows: SqlTable, order: Sequence[Value]) -> Value:
        """The value of a person from all their rows; *order* is what first and last go by."""
        value = self.heard(rows)
        if self.rule == "any":
            return (rows["speaks"] & rows[self.name].fill_null(False)).any()
        if self.rule == "all":
            speaks, holds = rows["speaks"], rows[self.name].fill_null(False)
            return (speaks & holds).any() & (holds | ~speaks).all()
        if self.rule == "count":
            return rows.dialect.cases((rows["speaks"], 1)).count()
        if self.rule in ("first", "last"):
            placed = [rows.dialect.cases((rows["speaks"], one)) for one in order]
            return rows.dialect.first_by(rows[self.name], placed, last=self.rule == "last")
        if self.rule in ("min", "max"):
            return value.min() if self.rule == "min" else value.max()
        if self.rule == "median":
            return _median(value)
        return _total(value) if self.rule == "sum" else _mean(value)


def _median(value: Value) -> Value:
    """The lower median, which is one of the values; Spark gives it as a double, which is exact below 2^53."""
    made = value.median()
    return made.dialect.pattern(f"CAST({{}} AS {made.dialect.types[value.dtype]})", value.dtype, made)


def _units(value: Value) -> Value:
    """A number as a whole number of 128 bits: doubles in parts of 2^-20."""
    write = value.dialect
    if value.dtype != "float64":
        return value.cast("wide")
    low, high = write.literal(-_LARGEST), write.literal(_LARGEST)
    clipped = write.cases((value < low, low), (value > high, high), (value.notnull(), value))
    return (clipped * float(_PARTS) + 0.5).floor().cast_to("wide")


def _total(value: Value) -> Value:
    total = _units(value).sum().cast_to("wide")
    if value.dtype == "float64":
        return total.cast("float64") / float(_PARTS)
    low, high = (_wide(value.dialect, bound) for bound in (-_WIDEST, _WIDEST))
    return value.dialect.cases((total < low, low), (total > high, high), (total.notnull(), total)).cast_to("int64")


def _mean(value: Value) -> Value:
    scale = float(_PARTS) if value.dtype == "float64" else 1.0
    known = value.count().cast("float64").nullif(0.0)
    return _units(value).sum().cast_to("float64") / (known * scale)


def _wide(dialect: Dialect, number: int) -> Value:
    return Value(f"CAST({number} AS {dialect.types['wide']})", "wide", dialect)


def one_row_each(rows: SqlTable, items: Sequence[Reduced], keys: tuple[str, ...], order: Sequence[str]) -> SqlTable:
    """One row per person (the same *keys*), with the reduced value of each item under its name."""
    voted, rest = [one for one in items if one.voted], [one for one in items if not one.voted]
    if voted:
        rows = _with_votes(rows, voted, keys, grouped=not rest)
    placed = [rows[name] for name in order] if order and order[0] in rows.columns else []
    columns = {one.name: one.gathered(rows, placed) for one in rest}
    for one in voted:
        # Most votes first; of several, the least value.
        votes = rows.dialect.cases((rows[one.name].notnull(), -rows[f"votes_{one.name}"]))
        columns[one.name] = rows.dialect.first_by(rows[one.name], [votes])
    return rows.group_by(*keys).aggregate(**columns, **level_range(rows))


def _with_votes(rows: SqlTable, voted: Sequence[Reduced], keys: tuple[str, ...], *, grouped: bool) -> SqlTable:
    """The rows with how many rows of the person agree with each in a voted value; rows that agree in all become one."""
    heard = rows.mutate(**{one.name: one.heard(rows) for one in voted})
    if grouped:
        names = [one.name for one in voted]
        heard = heard.group_by(*keys, *names).aggregate(rows_there=heard.count(), **level_range(heard))
    else:
        heard = heard.mutate(rows_there=heard.dialect.literal(1))
    if grouped and len(voted) == 1:
        return heard.mutate(**{f"votes_{voted[0].name}": heard["rows_there"]})
    votes = {
        f"votes_{one.name}": heard["rows_there"].sum().over([*(heard[key] for key in keys), heard[one.name]])
        for one in voted
    }
    return heard.mutate(**{name: value.cast_to("int64") for name, value in votes.items()})


def level_range(table: SqlTable) -> dict[str, Value]:
    """The least and greatest level among a person's rows, to see whether they agree."""
    if "low" in table.columns:
        return {"low": table["low"].min(), "high": table["high"].max()}
    if "level" in table.columns:
        return {"low": table["level"].min(), "high": table["level"].max()}
    return {}


def busiest_groups(rows: SqlTable, keys: tuple[str, ...], group: str, last: int, most: int) -> SqlTable:
    """The rows of each person in the *most* groups that have most of their rows; of several, the first in the public order.

    Nobody else's rows are looked at. Only listed groups compete: whoever has no row that speaks in any of them is in the last
    one, and nobody else is.
    """
    write = rows.dialect
    rows = rows.mutate(**{group: write.cases((rows["speaks"], rows[group])).fill_null(last)})
    there = rows.mutate(rows_there=rows.count().over([*(rows[key] for key in keys), rows[group]]))
    rank = write.pattern(
        f"DENSE_RANK() OVER (PARTITION BY {', '.join(['{}'] * len(keys))} ORDER BY {{}} ASC, {{}} ASC, {{}} ASC)",
        "int64",
        *(there[key] for key in keys),
        write.cases((there[group] == last, 1), else_=0),
        -there["rows_there"],
        there[group],
    )
    ranked = there.mutate(standing=rank)
    among_most = (ranked["standing"] <= most) & (ranked[group] != last)
    return ranked.filter(among_most | (ranked["standing"] == 1)).drop("standing").drop("rows_there")
