"""How the distributions of a mechanism are kept, exactly and small, and how they are written as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.graphs.dataset_graph import first_places
from optimaldp.graphs.problem import Preferences
from optimaldp.privacy.numbers import fraction_text

# How the distributions of a mechanism are kept: exactly, and small.
#
# Three forms. *Shared rows*: many datasets have the same distribution (all those at one distance), so each different row is
# kept once, in rationals. *Sides*: two answers on a graph of millions of datasets, one float each, which stands for an exact
# dyadic rational. *Float rows*: the same for more answers, a float for each answer but the most likely one.


Row = tuple[Fraction, ...]
Vertices = slice | npt.NDArray[np.int64]
_ALL = slice(None)

SURE_SIDE = -(2.0**-1022)  # stands for probability 1: see side_to_fraction


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Each different distribution once (answers in their fixed order), and for each dataset which one it has."""

    rows: tuple[Row, ...]
    of: npt.NDArray[np.int32]

    @staticmethod
    def from_rows(rows: list[Row]) -> SharedRows:
        """Keep equal rows once."""
        number: dict[Row, int] = {}
        # Most datasets share one object: its hash, made of rationals, is taken once.
        different = {id(row): row for row in rows}
        place = {key: number.setdefault(row, len(number)) for key, row in different.items()}
        return SharedRows(tuple(number), np.array([place[id(row)] for row in rows], dtype=np.int32))

    def __len__(self) -> int:
        return len(self.of)

    def row(self, vertex: int) -> Row:
        return self.rows[int(self.of[vertex])]

    def floats(self, vertices: Vertices = _ALL) -> npt.NDArray[np.float64]:
        """All rows in floating point, or those of some datasets: for display, plots and first looks."""
        table = np.array([[float(p) for p in row] for row in self.rows])
        return table[self.of[vertices]]


@dataclass(frozen=True, eq=False)
class TwoSides:
    """Two answers: for each dataset the *side* of the probability of its favourite answer.

    A side is the probability itself up to 1/2 and minus its complement above, so that both ends keep their precision. What it
    stands for is that dyadic rational, exactly.
    """

    sides: npt.NDArray[np.float64]
    favourites: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.sides)

    def row(self, vertex: int) -> Row:
        wanted = side_to_fraction(float(self.sides[vertex]))
        return (wanted, 1 - wanted) if self.favourites[vertex] == 0 else (1 - wanted, wanted)

    def floats(self, vertices: Vertices = _ALL) -> npt.NDArray[np.float64]:
        """All rows in floating point, or those of some datasets: for display, plots and first looks."""
        sides, favourites = self.sides[vertices], self.favourites[vertices]
        high = sides < 0
        small = np.where(sides == SURE_SIDE, 0.0, np.abs(sides))
        wanted = np.where(high, 1.0 - small, small)
        other = np.where(high, small, 1.0 - small)
        first = np.where(favourites == 0, wanted, other)
        return np.stack([first, np.where(favourites == 0, other, wanted)], axis=1)


@dataclass(frozen=True, eq=False)
class FloatRows:
    """Any number of answers: for each dataset a float for each answer but the most likely one, which has what is left to one.

    So every row is an exact dyadic distribution, and small probabilities keep their relative precision. Given rows, which
    need not be dyadic, are kept beside the table: ``exact_of`` says which of the ``exact`` rows a dataset has, -1 for none.
    """

    table: npt.NDArray[np.float64]  # one row per dataset; the entry of the most likely answer is for display
    likeliest: npt.NDArray[np.int32]
    exact: tuple[Row, ...]
    exact_of: npt.NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.table)

    def row(self, vertex: int) -> Row:
        number = int(self.exact_of[vertex])
        if number >= 0:
            return self.exact[number]
        row = [Fraction(p) for p in self.table[vertex].tolist()]
        rest = int(self.likeliest[vertex])
        row[rest] = Fraction(0)
        row[rest] = 1 - sum(row, Fraction(0))
        return tuple(row)

    def floats(self, vertices: Vertices = _ALL) -> npt.NDArray[np.float64]:
        """All rows in floating point, or those of some datasets: for display, plots and first looks."""
        return self.table[vertices]


Rows = SharedRows | TwoSides | FloatRows


def side_to_fraction(side: float) -> Fraction:
    """The exact probability that a side stands for."""
    if side == SURE_SIDE:
        return Fraction(1)
    return Fraction(side) if side >= 0 else 1 + Fraction(side)


# Rows of floats as text and back, many at a time: a large mechanism is written and read as exactly the floats that it is.
#
# A float is a dyadic rational, so it has an exact ratio and an exact decimal; both are read back as the same float.
# That keeps the promise that what is written is what the referee passed, without asking again, and lets a file be
# checked by the compiled referee.


MANY = 2000  # datasets from which on files are read as floats where they hold floats
_PLACES = 1200  # significant digits: enough for a sum of floats down to 2^-1074 and one
_SHORT_DENOMINATOR = 1 << 24  # with a larger denominator the exact decimal of a float is longer than its shortest one

Ratio = tuple[int, int]


def written_rows(rows: TwoSides | FloatRows) -> list[tuple[str, ...]]:
    """Every row as exact text: ratios, or decimals where those are short."""
    if isinstance(rows, TwoSides):
        return _two_sides(rows, _ratio_pair)
    texts = {float(p): _text(*float(p).as_integer_ratio()) for p in np.unique(rows.table)}
    given_texts = [tuple(map(fraction_text, row)) for row in rows.exact]
    written = []
    for row, rest, number in zip(rows.table.tolist(), rows.likeliest.tolist(), rows.exact_of.tolist()):
        if number >= 0:
            written.append(given_texts[number])
            continue
        entries = [texts[p] for p in row]
        entries[rest] = _text(*_rest(row, rest))
        written.append(tuple(entries))
    return written


def decimal_rows(rows: TwoSides | FloatRows, given: Sequence[tuple[Decimal, ...]]) -> list[tuple[Decimal, ...]]:
    """Every float as its exact decimal; *given* are the decimals of the rows that are kept exactly."""
    with localcontext(Context(prec=_PLACES)):
        if isinstance(rows, TwoSides):
            return _two_sides(rows, lambda small: (Decimal(small), 1 - Decimal(small)))
        known = {float(p): Decimal(float(p)) for p in np.unique(rows.table)}
        printed = []
        for row, rest, number in zip(rows.table.tolist(), rows.likeliest.tolist(), rows.exact_of.tolist()):
            if number >= 0:
                printed.append(given[number])
                continue
            entries = [known[p] for p in row]
            entries[rest] = Decimal(0)
            entries[rest] = 1 - sum(entries, Decimal(0))
            printed.append(tuple(entries))
        return printed


def _two_sides(rows: TwoSides, pair: Any) -> list[Any]:
    """*pair* makes (small, rest) of the smaller probability; equal ones are made once."""
    made, which = _different_sides(rows, pair)
    return [made[k] for k in which.tolist()]


def written_sides(rows: TwoSides) -> tuple[list[tuple[str, str]], npt.NDArray[np.int64]]:
    """Each different row of two answers as exact text, and for each dataset which one it has."""
    return _different_sides(rows, _ratio_pair)


def _different_sides(rows: TwoSides, pair: Any) -> tuple[list[Any], npt.NDArray[np.int64]]:
    small = np.where(rows.sides == SURE_SIDE, 0.0, np.abs(rows.sides))
    distinct, which = np.unique(small, return_inverse=True)
    made = [pair(float(p)) for p in distinct]
    first_is_small = (rows.sides >= 0) == (rows.favourites == 0)
    return made + [(b, a) for a, b in made], which + np.where(first_is_small, 0, len(made))


def _ratio_pair(small: float) -> tuple[str, str]:
    above, under = small.as_integer_ratio()
    return _text(above, under), _text(under - above, under)


def _text(above: int, under: int) -> str:
    return f"{above}/{under}" if _SHORT_DENOMINATOR < under < 2**4000 else fraction_text(Fraction(above, under))


def _rest(row: list[float], rest: int) -> Ratio:
    """One minus the others, exactly: denominators are powers of two, so the largest is common."""
    parts = [p.as_integer_ratio() for k, p in enumerate(row) if k != rest]
    under = max(d for _, d in parts)
    remaining = Fraction(under - sum(n * (under // d) for n, d in parts), under)
    return remaining.numerator, remaining.denominator


def float_rows(rows: Sequence[Row], of: Sequence[int], preferences: Preferences) -> Rows | None:
    """Rows as floats if they all are (given ones may be kept beside them); ``None`` if not, or if there are few."""
    if len(of) < MANY:
        return None
    numbers = np.asarray(of, dtype=np.int64)
    if len(preferences.answers) == 2:
        sides = _sides_of(rows)
        if sides is None:
            return None
        favourites = np.ascontiguousarray(preferences.favourites, dtype=np.int32)
        return TwoSides(np.where(favourites == 0, sides[numbers, 0], sides[numbers, 1]), favourites)
    return _float_table(rows, numbers)


def _sides_of(rows: Sequence[Row]) -> Any:
    """For each row the side of either answer, or ``None`` if one is no float."""
    sides = np.empty((len(rows), 2))
    for k, (first, second) in enumerate(rows):
        small = _as_float(min(first, second))
        if small is None:
            return None
        low, high = small, -small if small else SURE_SIDE
        sides[k] = (low, high) if first <= second else (high, low)
    return sides


def _float_table(rows: Sequence[Row], of: Any) -> FloatRows | None:
    table = np.array([[float(p) for p in row] for row in rows])
    likeliest = table.argmax(axis=1).astype(np.int32)
    exact_of = np.full(len(rows), -1, dtype=np.int32)
    kept: list[Row] = []
    for k, row in enumerate(rows):
        rest = int(likeliest[k])
        if any(a != rest and _as_float(p) is None for a, p in enumerate(row)):
            exact_of[k] = len(kept)
            kept.append(row)
    if len(kept) > max(64, len(rows) // 10):  # not a mechanism of floats with some given rows
        return None
    return FloatRows(table[of], likeliest[of], tuple(kept), exact_of[of])


def _as_float(number: Fraction) -> float | None:
    """The float that is exactly this number, if there is one."""
    value = number.numerator / number.denominator
    return value if value.as_integer_ratio() == (number.numerator, number.denominator) else None


def shared_by_text(rows: Mapping[str, Any], names: Sequence[str], read: Any) -> tuple[list[Row], list[int]]:
    """Each different written row read once by *read*, and for each dataset which one it has."""
    keys: list[Any]
    try:
        keys = [tuple(rows[name].items()) for name in names]
        places = first_places(keys)
    except (AttributeError, TypeError, KeyError):  # what is no row, or none at all, reading will say
        keys = list(names)
        places = first_places(keys)
    different = [read(names[i]) for i in places.values()]
    number = {key: place for place, key in enumerate(places)}
    return different, list(map(number.__getitem__, keys))


def as_rows(rows: list[Row], of: list[int], preferences: Preferences) -> Rows:
    """The rows in the form that suits them: floats where many are, else each different one once."""
    quick = float_rows(rows, of, preferences)
    if quick is not None:
        return quick
    shared = SharedRows.from_rows(rows)
    return SharedRows(shared.rows, shared.of[np.asarray(of, dtype=np.int64)])
