"""Public bins: written out by their edges, or equal ones by a range and a step; numbers, dates or points in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

from optimaldp.errors import QuestionError
from optimaldp.questions.literals import (
    check_edges,
    edge_text,
    read_edge,
    read_range,
    read_step,
    write_edges,
    write_step,
)
from optimaldp.tables.tally import Bins, Edge, Reading, Step, Steps, steps_between

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
