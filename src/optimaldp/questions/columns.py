"""The public columns of a sanitised table: which values, options or bins each may hold, written out before data is read."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

from optimaldp.errors import QuestionError
from optimaldp.privacy import read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Detailed
from optimaldp.questions.completeness import leaves_nobody_out
from optimaldp.questions.literals import (
    answer_text,
    check_edges,
    check_options,
    edge_text,
    end_of_quoted,
    read_column,
    read_edge,
    read_list,
    read_option,
    read_range,
    read_step,
    write_column,
    write_edges,
    write_option,
    write_step,
)
from optimaldp.tables.tally import Bins, Edge, Option, Options, Reading, Step, Steps, steps_between

_MANY_EDGES = 50
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class BinEdges:
    """Bins ``[edge, next edge)``, the last one closed. Make them with :func:`bins`."""

    edges: tuple[Edge, ...]


def bins(edges: Iterable[Any]) -> BinEdges:
    """Public bins of a number, a date or a point in time, by their edges.

    >>> bins([0, 18, 65, 120]).edges[1]
    Fraction(18, 1)
    """
    if isinstance(edges, (str, bytes)):
        raise QuestionError("bins", edges, "is one text", "give a list of edges: [0, 18, 65, 100]")
    checked = tuple(_edge(edge) for edge in edges)
    same_kind = len({type(edge) for edge in checked}) == 1
    if len(checked) < 2 or not same_kind or any(low >= high for low, high in pairwise(checked)):  # type: ignore[operator]
        shown = [_edge_text(edge) for edge in checked]
        raise QuestionError("bins", shown, "is not a rising list of at least two edges", "write bins=[0, 18, 65, 100]")
    return BinEdges(checked)


def _edge(value: object) -> Edge:
    if isinstance(value, datetime.date):
        return value
    text = value[1:-1] if isinstance(value, str) and value[:1] in ("'", '"') else value
    if isinstance(text, str) and _DATE.match(text):
        try:
            whole_day = len(text) == len("2020-01-31")
            return datetime.date.fromisoformat(text) if whole_day else datetime.datetime.fromisoformat(text)
        except ValueError:
            raise QuestionError("bins", text, "is not a date", "write '2020-01-31' or '2020-01-31 12:30'") from None
    return read_number(text, name="bins", error=QuestionError)


def _edge_text(edge: Edge) -> str:
    return fraction_text(edge) if isinstance(edge, Fraction) else str(edge)


@dataclass(frozen=True)
class Column:
    """One column: its public values in order, and last, unless it is *closed*, a cell for everybody else.

    A closed column has no such cell, because its type lists all values and rules out that one is missing.
    """

    name: str
    reading: Options | Bins | Steps
    closed: bool = False
    ends: bool = False
    """Whether values outside of the bins are in the end bins, which are named so."""

    @property
    def named(self) -> int:
        """How many values it names."""
        return self.reading.size - 1

    @property
    def size(self) -> int:
        return self.named if self.closed else self.named + 1

    @cached_property
    def labels(self) -> tuple[str | None, ...]:
        """What each cell is called; ``None`` is a value that no option lists, or none at all."""
        names = self._option_labels() if isinstance(self.reading, Options) else self._bin_labels(self.edges)
        if self.ends and len(names) > 1:
            low, high = _edge_text(self.edges[1]), _edge_text(self.edges[-2])
            names = (f"below {low}", *names[1:-1], f"{high} and above")
        return names if self.closed else (*names, None)

    def _option_labels(self) -> tuple[str, ...]:
        return tuple(answer_text(option) for option in self.options)

    @staticmethod
    def _bin_labels(edges: Sequence[Edge]) -> tuple[str, ...]:
        last = len(edges) - 2
        return tuple(
            f"[{_edge_text(low)}, {_edge_text(high)}{']' if place == last else ')'}"
            for place, (low, high) in enumerate(pairwise(edges))
        )

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """The edges of the bins; none for options."""
        if isinstance(self.reading, Options):
            return ()
        if isinstance(self.reading, Bins):
            return self.reading.edges
        low, step, steps = self.reading.low, self.reading.step, self.reading.bins
        return tuple(low + place * step for place in range(steps + 1))  # type: ignore[operator]

    @property
    def options(self) -> tuple[Option, ...]:
        assert isinstance(self.reading, Options)
        if self.reading.values is None:
            rule = "lists no options before its type is known"
            raise QuestionError("columns", self.name, rule, "write them out: ['a', 'b']")
        return self.reading.values

    def position(self, value: Any) -> int:
        """The cell of a value as a query names it: an option, the name of a bin, or ``None`` for everybody else."""
        wanted = None if value is None else answer_text(value)
        if wanted in self._places:
            return self._places[wanted]
        named = ", ".join(map(str, self.labels[:8]))
        raise QuestionError(self.name, value, "is not one of its values", f"they are {named}")

    @cached_property
    def _places(self) -> dict[str | None, int]:
        return {label: place for place, label in enumerate(self.labels)}

    @property
    def text(self) -> str:
        """The column with its values, as a ledger remembers it: equal bins by their step, however many there are."""
        if isinstance(self.reading, Steps):
            ends = f"[{_edge_text(self.reading.low)}, {_edge_text(self.reading.high)}]"
            return f"{self.name}: range={ends}, step={_edge_text(self.reading.step)}"  # type: ignore[arg-type]
        return f"{self.name}: {list(self.labels)}"

    @property
    def written(self) -> str:
        """The column with its values, as a question writes and reads it."""
        name = write_column(self.name)
        if isinstance(self.reading, Options):
            values = self.reading.values
            return name if values is None else f"{name}: [{', '.join(map(write_option, values))}]"
        edges = (_edge_text(edge) for edge in self.edges)
        quoted = (f"'{edge}'" if "-" in edge[1:] else edge for edge in edges)
        return f"{name}: bins=[{', '.join(quoted)}]"

    def first(self, few: int) -> Column:
        """The same column with its first few values."""
        if isinstance(self.reading, Options):
            return replace(self, reading=Options(self.name, self.options[:few]))
        return replace(self, reading=outside_apart(Bins(self.name, self.edges[: few + 1]), self.ends))

    def with_outside(self, ends: bool) -> Column:
        """Values outside of bins in the end bins, or with everybody else."""
        if isinstance(self.reading, Options):
            return self if self.reading.values is not None else replace(self, ends=ends)
        return replace(self, reading=outside_apart(self.reading, ends), ends=ends)

    def to_document(self) -> dict[str, Any]:
        if isinstance(self.reading, Steps):
            low, high, step = (_edge_text(e) for e in (self.reading.low, self.reading.high, self.reading.step))  # type: ignore[arg-type]
            said = {"name": self.name, "kind": "bins", "range": [low, high], "step": step, "bins": self.reading.bins}
            return said | ({"outside": "ends"} if self.ends else {})
        return {"name": self.name, "values": list(self.labels), "kind": "bins" if self.edges else "options"}


def outside_apart(reading: Bins | Steps, ends: bool) -> Bins | Steps:
    """A reading that counts values outside of its bins in the end bins, or with everybody else."""
    return replace(reading, clipped=ends)


def in_end_bins(outside: object) -> bool:
    """Whether values outside of bins are put into the end bins; otherwise they are with everybody else."""
    if outside not in (None, "ends"):
        rule = "is not a place for values outside of bins"
        raise QuestionError("outside", outside, rule, 'leave it out, or write "ends"')
    return outside == "ends"


def read_columns(columns: Mapping[str, Any] | Sequence[str]) -> tuple[Column, ...]:
    """Columns from a mapping of names to options, bins or ``None``, or from texts such as ``"sex: ['m', 'f']"``."""
    if isinstance(columns, Mapping):
        made = tuple(_column(name, values) for name, values in columns.items())
    else:
        made = tuple(_read_text(text) for text in ([columns] if isinstance(columns, str) else columns))
    if not made:
        raise QuestionError("columns", [], "names no column", "write columns={'sex': ['m', 'f']}")
    if len({column.name for column in made}) < len(made):
        raise QuestionError("columns", [column.name for column in made], "names a column twice")
    return made


def _column(name: str, values: Any) -> Column:
    if isinstance(values, Column):
        return values
    if isinstance(values, BinEdges):
        return Column(name, _binned(name, values.edges))
    return Column(name, Options(name, check_options(values)))


def _binned(name: str, edges: tuple[Edge, ...]) -> Bins | Steps:
    """Many equal bins are read by arithmetic: a query that lists thousands of edges takes seconds to be written."""
    if len(edges) <= _MANY_EDGES or not isinstance(edges[0], Fraction):
        return Bins(name, edges)
    widths = {high - low for low, high in pairwise(edges)}  # type: ignore[operator]
    return Steps(name, edges[0], edges[-1], widths.pop()) if len(widths) == 1 else Bins(name, edges)


def _read_text(text: str) -> Column:
    """``sex: ['m', 'f']``, ``age: bins=[0, 18, 65]``, or a bare name where the type lists the values."""
    end = end_of_quoted(text, 0) if text.startswith('"') else (text.index(":") if ":" in text else len(text))
    name, rest = read_column(text[:end].strip()), text[end:].strip().removeprefix(":").strip()
    if not rest:
        return _column(name, None)
    if rest.replace(" ", "").startswith("bins="):
        return _column(name, bins(read_list(rest.partition("=")[2].strip())))
    return _column(name, [read_option(part) for part in read_list(rest)])


def settle_columns(columns: Sequence[Column], opened: object, *, everybody_has_a_row: bool) -> tuple[Column, ...]:
    """Columns with the options that their types list, closed where the schema rules out everybody else.

    Only the types are looked at, never a row.
    """
    return tuple(_settled(column, opened, everybody_has_a_row) for column in columns)


def _settled(column: Column, opened: Any, everybody_has_a_row: bool) -> Column:
    kind = opened.schema[column.name]
    if isinstance(column.reading, Options) and column.reading.values is None:
        if kind.steps is not None:
            low, high, step = kind.steps
            column = replace(column, reading=Steps(column.name, low, high, step, clipped=column.ends))
        elif kind.options is not None:
            column = replace(column, reading=Options(column.name, check_options(kind.options)), ends=False)
        else:
            rule = f"is a column of type {kind.name}, which does not list its options"
            raise QuestionError("columns", column.name, rule, kind.way_out)
    complete = column.named > 1 and everybody_has_a_row and leaves_nobody_out(column.reading, kind)
    return replace(column, closed=complete)


# Public bins: written out by their edges, or equal ones by a range and a step; numbers, dates or points in time.


MOST_BINS = 10**12


@dataclass(frozen=True)
class Binning:
    """Bins ``[edge, next edge)``, the last one closed: by their edges, or equal ones of a step."""

    edges: tuple[Edge, ...]
    """All edges, or the two ends where there is a step."""
    step: Step | None = None

    @cached_property
    def bins(self) -> int:
        if self.step is None:
            return len(self.edges) - 1
        return Steps("", self.edges[0], self.edges[-1], self.step).bins

    def first(self, bins: int) -> Binning:
        """The first few of the bins."""
        if self.step is None:
            return Binning(self.edges[: bins + 1])
        return Binning((self.edges[0], self.edge(bins)), self.step)

    def reading(self, column: str) -> Reading:
        if self.step is None:
            return Bins(column, self.edges)
        return Steps(column, self.edges[0], self.edges[-1], self.step)

    def edge(self, place: int) -> Edge:
        """The lower edge of a bin; behind the last bin, its upper edge."""
        if self.step is None:
            return self.edges[place]
        return self.edges[-1] if place == self.bins else self.edges[0] + place * self.step  # type: ignore[operator]

    def name(self, place: int) -> BinAnswer:
        """The bin as an answer is printed: ``[18, 30)``; of equal bins their lower edge."""
        low, high = self.edge(place), self.edge(place + 1)
        closed = "]" if place == self.bins - 1 else ")"
        text = f"[{edge_text(low)}, {edge_text(high)}{closed}" if self.step is None else edge_text(low)
        return BinAnswer(text, low, high)

    def named(self, text: str) -> BinAnswer:
        """The bin of this name."""
        if self.step is None:
            return next(self.name(place) for place in range(self.bins) if self.name(place) == text)
        low = read_edge(text, "answer")
        return self.name(int(steps_between(self.edges[0], low, self.step)))

    def place(self, text: object) -> int | None:
        """The place of the bin of this name, ``None`` where there is none. Of equal bins there may be very many."""
        if not isinstance(text, str):
            return None
        if self.step is None:
            return next((place for place in range(self.bins) if self.name(place) == text), None)
        try:
            place = int(steps_between(self.edges[0], read_edge(text, "answer"), self.step))
        except (QuestionError, TypeError):
            return None
        return place if 0 <= place < self.bins and self.name(place) == text else None

    def __str__(self) -> str:
        if self.step is None:
            return f"bins={write_edges(self.edges)}"
        return f"range={write_edges(self.edges)}, step={write_step(self.step)}"


class BinAnswer(str):
    """A bin as it is printed, with its two edges."""

    low: Edge
    high: Edge

    def __new__(cls, text: str, low: Edge, high: Edge) -> BinAnswer:
        made = super().__new__(cls, text)
        made.low, made.high = low, high
        return made

    def __getnewargs__(self) -> tuple[str, Edge, Edge]:  # type: ignore[override]
        """What it is made of again elsewhere: a text alone would lack its edges."""
        return str(self), self.low, self.high


class BinNames(Sequence[str]):
    """The names of all bins, made when they are looked at."""

    def __init__(self, binning: Binning) -> None:
        self._binning = binning

    def __len__(self) -> int:
        return self._binning.bins

    @overload
    def __getitem__(self, place: int) -> BinAnswer: ...

    @overload
    def __getitem__(self, place: slice) -> list[BinAnswer]: ...

    def __getitem__(self, place: int | slice) -> BinAnswer | list[BinAnswer]:
        if isinstance(place, slice):
            return [self._binning.name(i) for i in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._binning.name(place % len(self))

    def __iter__(self) -> Iterator[str]:
        return (self._binning.name(place) for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"BinNames({self._binning})"


def read_binning(bins: Iterable[Any] | None, ends: object, step: object) -> Binning:
    """Bins from ``bins=`` or from ``range=`` and ``step=``."""
    if (bins is None) == (ends is None) or (ends is None) != (step is None):
        remedy = "write bins=[0, 18, 65, 100], or range=[0, 100], step=5"
        if bins is step is None and ends is not None:
            remedy = 'write step=5 beside it; a description says "step": {"cost": 5}'
            raise QuestionError("bins", ends, "is a range without a step", remedy)
        if bins is ends is None:
            raise QuestionError("bins", "bins", "are missing", remedy)
        raise QuestionError("bins", ends if bins is None else bins, "is not one whole way to name the bins", remedy)
    if bins is not None:
        return Binning(check_edges(bins))
    low, high = read_range(ends)
    length = read_step(step)
    try:
        number = steps_between(low, high, length)
    except TypeError:
        remedy = "a range of dates has a step such as '1 day'"
        raise QuestionError("step", step, "does not fit the range", remedy) from None
    if number > MOST_BINS:
        raise QuestionError("step", step, f"makes more than {MOST_BINS} bins", "choose a longer one")
    return Binning((low, high), length)


# Released answers with what is private already beside them.


class ReleasedCells(Detailed, list[dict[str, Any]]):
    """People by combination of values: a plain list of objects, with the noisy table beside it."""

    section = "histogram"

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], details: dict[str, Any]) -> ReleasedCells:
        made = cls(rows)
        made.details = details
        return made

    def values(self) -> list[int]:
        """The counts, in row order."""
        return [row["count"] for row in self]


class ReleasedCounts(Detailed, dict[str, int]):
    """People by bin: a plain dictionary, with the noisy table and the expected error beside it."""

    section = "histogram"

    @classmethod
    def of(cls, labels: Sequence[str], counts: Sequence[int], details: dict[str, Any]) -> ReleasedCounts:
        made = cls(zip(labels, map(int, counts)))
        made.details = details
        return made
