"""Cross tables: how many people have each combination of the public values of several columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Self

from optimaldp.errors import QuestionError
from optimaldp.histograms.margins import READABLE, CrossTable, percentages
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.laws.law import Cells, Setting
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.questions.base import Spec, among_text, counts_for, outside_last
from optimaldp.questions.columns import Column, in_end_bins, read_columns, settle_columns
from optimaldp.questions.forms import Call, Form, split_among
from optimaldp.questions.kinds.histogram import EVERYONE_ELSE, Histogram
from optimaldp.questions.literals import check_among, end_of_quoted
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.noisy_counts import CrossCounts, KeptCrossCounts
from optimaldp.questions.sheets import AMONG, Blank, Sheet
from optimaldp.questions.words import asked_of, column_words, listed
from optimaldp.tables.schema import Schema
from optimaldp.tables.tally import Options, Reading

PERCENT = ("rows", "columns", "all")
_SEPARATOR = ", "
_FEW = 2  # values of each column in the table that the referee tries


@dataclass(frozen=True, repr=False)
class Crosstab(Histogram[list[dict[str, str | float]]]):
    """How many people have each combination of values, the last column varying fastest; everybody else is a value of each."""

    sides: tuple[Column, ...] = ()
    percent: str | None = None
    """Of what the percentages beside the counts are: ``rows``, ``columns``, ``all``; ``None`` where there are none."""

    @property
    def readings(self) -> tuple[Reading, ...]:  # type: ignore[override]
        return tuple(side.reading for side in self.sides)

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The values of each column, as they are printed."""
        return tuple(tuple(EVERYONE_ELSE if label is None else label for label in side.labels) for side in self.sides)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(side.size for side in self.sides)

    @cached_property
    def _bin_names(self) -> tuple[str, ...] | None:
        if any(isinstance(side.reading, Options) and side.reading.values is None for side in self.sides):
            return None
        return tuple(_SEPARATOR.join(values) for values in product(*self.labels))

    @property
    def closed(self) -> bool:
        return all(side.closed for side in self.sides)

    def _named(self) -> int:
        return self._size()

    def _size(self) -> int:
        return math.prod(self.shape)

    def fold(self, cells: Cells) -> tuple[int, ...]:
        whole = [side.named + 1 for side in self.sides]
        counts = [0] * self._size()
        for cell, people in outside_last(cells, math.prod(whole), self.among).items():
            counts[self._place(cell, whole)] += people
        return tuple(counts)

    def _place(self, cell: int, whole: Sequence[int]) -> int:
        """The cell of this table. A schema can promise too much: whoever has no value of a closed column has its first."""
        positions = []
        for size in reversed(whole):
            cell, position = divmod(cell, size)
            positions.append(position)
        place = 0
        for side, position in zip(self.sides, reversed(positions)):
            place = place * side.size + (position if position < side.size else 0)
        return place

    def read_counts(self, counts: Sequence[int]) -> tuple[int, ...]:
        return counts_for(self, counts, wanted=self._size())

    def settled(self, schema: Schema, *, everybody_has_a_row: bool) -> Self:
        asked = everybody_has_a_row and self.among is None
        settled = settle_columns(self.sides, _Types(schema), everybody_has_a_row=asked)
        for before, after in zip(self.sides, settled):
            if before.closed and not after.closed:
                rule = "is said to be complete, and the schema does not rule out other values"
                raise QuestionError("complete", before.name, rule, "leave it out")
        return replace(self, sides=settled)

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if setting.personal and self.closed:
            remedy = (
                "name a column that may be without a value: people who are not kept by their level are counted there"
            )
            raise QuestionError("levels", str(self), "needs a cell for everybody else", remedy)
        return (KeptCrossCounts if setting.personal else CrossCounts)(self, setting)

    @property
    def small_twin(self) -> Self:  # type: ignore[override]
        bare = replace(self, prior=None, remap="none", keep_total=None, percent=None)
        return replace(bare, sides=tuple(side.first(_FEW) for side in self.sides[:2]))

    def spec(self) -> Spec:
        asked = {"kind": "histogram", "bins": self._size(), "among": self.among is not None}
        return asked | {"sides": [side.named + 1 for side in self.sides], "closed": [s.closed for s in self.sides]}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        told = f"people without one of the values of a column have the value {EVERYONE_ELSE} there, and are protected"
        return (told, "margins are sums of noisy counts: unbiased, so they need not be the sums of the counts shown")

    def query_sentences(self, setting: Setting) -> tuple[str, ...]:
        reach = QueryError(self._size(), 1, setting.level.epsilon, setting.neighbours).quantile()
        readable = f"a count of {math.ceil(reach / READABLE):,} people or more can be read to ± {100 * READABLE:g} %"
        return (*super().query_sentences(setting), readable)

    def rows(self, counts: Sequence[int]) -> list[dict[str, Any]]:
        """The answer: one object for each cell, in row order."""
        names = [side.name for side in self.sides]
        rows: list[dict[str, Any]] = [
            {**dict(zip(names, values)), "count": int(count)} for values, count in zip(product(*self.labels), counts)
        ]
        if self.percent is not None:
            for row, share in zip(rows, percentages(counts, self.shape, self.percent)):
                row["percent"] = share
        return rows

    def cross_table(self, answer: Any, details: Mapping[str, Any]) -> CrossTable:
        epsilon, neighbours = Epsilon.read(str(details["epsilon"])), Neighbours(details["neighbours"])

        def error(cells: int) -> QueryError:
            return QueryError(self._size(), cells, epsilon, neighbours)

        counts = tuple(int(row["count"]) for row in answer)
        names = tuple(side.name for side in self.sides)
        return CrossTable(names, self.labels, counts, tuple(map(int, details["noisy"])), error, self.percent)

    def answer_words(self, answer: Any, statement: Mapping[str, Any]) -> str:
        details = statement.get("histogram")
        return "" if not details or "noisy" not in details else str(self.cross_table(answer, details))

    def counts_of(self, answer: object) -> list[int] | None:
        """The counts of an answer; ``None`` where it is no answer to this question."""
        if not isinstance(answer, Sequence) or len(answer) != self._size():
            return None
        if not all(isinstance(row, Mapping) and type(row.get("count")) is int for row in answer):
            return None
        counts = [row["count"] for row in answer]
        return counts if [dict(row) for row in answer] == self.rows(counts) else None

    def words(self) -> str:
        columns = listed([column_words(side.name) for side in self.sides], "and")
        each = "value" if len(self.sides) == 1 else "combination"
        return asked_of(self.among, f"how many people have each {each} of {columns}?")

    def __str__(self) -> str:
        parts = [side.written for side in self.sides]
        parts += [] if self.remap is None else [f"remap='{self.remap}'"]
        complete = _SEPARATOR.join(side.name for side in self.sides if side.closed)
        parts += [f"complete='{complete}'"] if complete else []
        parts += ["outside='ends'"] if any(side.ends for side in self.sides) else []
        parts += [] if self.percent is None else [f"percent='{self.percent}'"]
        return f"histogram({', '.join(parts)}{among_text(self.among)})"


@dataclass(frozen=True)
class _Types:
    """A schema as :func:`settle_columns` reads it."""

    schema: Schema


def crosstab(
    columns: Mapping[str, Any] | Sequence[str],
    *,
    percent: str | None = None,
    outside: str | None = None,
    among: str | None = None,
    remap: str | None = None,
    complete: str | None = None,
) -> Crosstab:
    """How many people have each combination of values of *columns*?

    *columns* maps each name to its public options, to :func:`optimaldp.sanitising.bins`, or to ``None`` where the column's type
    lists its values. *percent* adds percentages of ``rows``, ``columns`` or ``all``. *outside*: values outside of bins are
    "(everyone else)", or with ``"ends"`` in end bins named "below 40" and "80 and above". *complete* names columns whose schema
    rules out any other value, as a text; a table's schema says so by itself. *remap*: as in :func:`histogram`. *among*: count
    only people with this condition.

    **Guarantee.** As for :func:`histogram`: noise on every cell, everything else is made of the noisy cells.

    >>> str(crosstab({"sex": ["m", "f"], "smokes": ["yes", "no"]}))
    "histogram(sex: ['m', 'f'], smokes: ['yes', 'no'])"
    """
    if percent is not None and percent not in PERCENT:
        raise QuestionError("percent", percent, "is not a kind of percentage", f"use one of {', '.join(PERCENT)}")
    ends = in_end_bins(outside)
    sides = read_columns(columns)
    closed = [] if complete is None else [name.strip() for name in complete.split(",")]
    if among is not None and closed:
        raise QuestionError("complete", complete, "does not go with among", "leave it out")
    sides = tuple(replace(side.with_outside(ends), closed=side.name in closed) for side in sides)
    name = _SEPARATOR.join(side.name for side in sides)
    return Crosstab(name, None, check_among(among), remap=remap, sides=sides, percent=percent)


def with_percent(text: str, of: str) -> str:
    """The text of a cross table with percentages of ``rows``, ``columns`` or ``all`` beside its counts.

    >>> with_percent("histogram(sex, ward among age >= 18)", "rows")
    "histogram(sex, ward, percent='rows' among age >= 18)"
    """
    word, bracket, rest = text.strip().partition("(")
    if word.strip().lower() not in ("histogram", "crosstab") or not rest.endswith(")"):
        raise QuestionError("percent", of, f"does not go with {text}", "ask for a cross table, as histogram(sex, ward)")
    body, among = split_among(rest[:-1])
    return f"{word}{bracket}{body}, percent='{of}'{among_text(among)})"


def is_crossed(call: Call) -> bool:
    """Whether a histogram's arguments name columns with their values, or several columns."""
    return any(_names_values(part) for part in call.arguments) or (
        len(call.arguments) > 1 and not call.arguments[1].startswith("[")
    )


def _names_values(part: str) -> bool:
    if part.startswith('"'):  # a colon may belong to the column's own name
        return part[end_of_quoted(part, 0) :].lstrip().startswith(":")
    return ":" in part.split("'")[0].split('"')[0]


def read_crossed(call: Call) -> Crosstab:
    """A cross table from the arguments of ``histogram(...)`` or ``crosstab(...)``."""
    call.only(arguments=range(1, 1 << 20), named=("percent", "outside", "remap", "complete"))
    options = {name: text.strip("'\"") for name, text in call.named.items()}
    return crosstab(list(call.arguments), among=call.among, **options)


FORMS = [Form("crosstab", "crosstab(sex: ['m', 'f'], age: bins=[0, 18, 65, 120])", read_crossed)]
SHEETS = [
    Sheet(
        "crosstab",
        "A cross table: how many people have each combination?",
        "histogram({sides}{percent}{among})",
        (
            Blank(
                "sides",
                "sides",
                "Columns",
                "with their public values",
                sample="sex: ['m', 'f'], age: bins=[0, 18, 65, 120]",
            ),
            Blank(
                "percent",
                "choice",
                "Beside the counts",
                choices=(
                    ("", "nothing"),
                    (", percent='rows'", "percentages of each row"),
                    (", percent='columns'", "percentages of each column"),
                    (", percent='all'", "percentages of everybody"),
                ),
            ),
            AMONG,
        ),
        order=10,
    )
]
