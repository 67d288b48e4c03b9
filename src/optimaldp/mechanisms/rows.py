"""How the distributions of a mechanism are kept: exactly, and small.

Three forms. *Shared rows*: many datasets have the same distribution (all those at one distance), so each different row
is kept once, in rationals. *Sides*: two answers on a graph of millions of datasets, one float each, which stands for
an exact dyadic rational. *Float rows*: the same for more answers, a float for each answer but the most likely one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

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
