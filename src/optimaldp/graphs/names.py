"""Names of datasets that are computed when asked for, so that a graph of millions of datasets stores none of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError


class LazyNames(Sequence[str]):
    """A sequence of unique names that knows its length and computes each name from its number."""

    @abstractmethod
    def name(self, number: int) -> str:
        """The name of dataset *number*, which is in range."""

    @abstractmethod
    def __len__(self) -> int: ...

    def find(self, name: str) -> int | None:
        """The number of the dataset called *name*, or ``None``. Names that cannot be read back are indexed once."""
        return self._table.get(name)

    @cached_property
    def _table(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}

    @overload
    def __getitem__(self, item: int) -> str: ...
    @overload
    def __getitem__(self, item: slice) -> list[str]: ...
    def __getitem__(self, item: int | slice) -> str | list[str]:
        if isinstance(item, slice):
            return [self.name(i) for i in range(*item.indices(len(self)))]
        number = int(item) + (len(self) if item < 0 else 0)
        if not 0 <= number < len(self):
            raise IndexError(item)
        return self.name(number)

    def __iter__(self) -> Iterator[str]:
        return map(self.name, range(len(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str) or len(self) != len(other):
            return False
        return all(mine == theirs for mine, theirs in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        ends = [self.name(0), self.name(len(self) - 1)] if len(self) else []
        return f"{type(self).__name__}({len(self)}: {' … '.join(ends)})"


class NumberNames(LazyNames):
    """The names ``str(first)``, ``str(first + 1)``, …

    >>> NumberNames(1_000_000)[123456]
    '123456'
    """

    def __init__(self, size: int, *, first: int = 0) -> None:
        self.size, self.first = size, first

    def __len__(self) -> int:
        return self.size

    def name(self, number: int) -> str:
        return str(number + self.first)

    def find(self, name: str) -> int | None:
        try:
            number = int(name) - self.first
        except ValueError:
            return None
        return number if 0 <= number < self.size and self.name(number) == name else None


class FunctionNames(LazyNames):
    """The names that a function gives to the numbers 0, 1, …; it must give different names to different numbers."""

    def __init__(self, size: int, function: Callable[[int], str]) -> None:
        self.size, self.function = size, function

    def __len__(self) -> int:
        return self.size

    def name(self, number: int) -> str:
        return self.function(number)


class ProductNames(LazyNames):
    """One part after the other, the last running fastest: the names of a product of graphs.

    >>> ProductNames([["1", "2"]] * 3, separator="")[3]
    '122'
    """

    def __init__(self, parts: Sequence[Sequence[str]], *, separator: str = ",") -> None:
        self.parts, self.separator = tuple(parts), separator
        self.shape = tuple(len(part) for part in self.parts)
        self._check()

    def _check(self) -> None:
        for part in {id(part): part for part in self.parts}.values():
            bad = (n for n in part if (len(n) != 1 if not self.separator else self.separator in n))
            if (name := next(bad, None)) is not None:
                rule = f"cannot be told apart in a product of names joined by {self.separator!r}"
                raise GraphError("names", name, rule, "choose a separator that occurs in no name")

    def __len__(self) -> int:
        return math.prod(self.shape)

    def name(self, number: int) -> str:
        pieces = []
        for part in reversed(self.parts):
            number, digit = divmod(number, len(part))
            pieces.append(part[digit])
        return self.separator.join(reversed(pieces))

    def find(self, name: str) -> int | None:
        pieces = name.split(self.separator) if self.separator else list(name)
        if len(pieces) != len(self.parts):
            return None
        number = 0
        for part, find, word in zip(self.parts, self._finders, pieces):
            digit = find(word)
            if digit is None:
                return None
            number = number * len(part) + digit
        return number

    @cached_property
    def _finders(self) -> list[Callable[[str], int | None]]:
        known = {id(part): numbers_of(part).get for part in self.parts}
        return [known[id(part)] for part in self.parts]

    def __iter__(self) -> Iterator[str]:
        return map(self.separator.join, product(*self.parts))

    def coordinates(self) -> npt.NDArray[np.int32]:
        """One row per dataset: the number of each of its parts."""
        columns = np.unravel_index(np.arange(len(self)), self.shape)
        return np.stack(columns, axis=1).astype(np.int32)

    def occurrences(self, digit: int) -> npt.NDArray[np.int32]:
        """For each dataset, how many of its parts are number *digit* of theirs: how many voted so."""
        count = np.zeros(1, dtype=np.int32)
        for part in self.parts:  # the last part runs fastest: each part multiplies the array
            count = (count[:, None] + (np.arange(len(part)) == digit).astype(np.int32)).ravel()
        return count


class RowNames(LazyNames):
    """The rows of a table of integers, joined by commas: ``'2,0,1'``."""

    def __init__(self, table: npt.NDArray[np.int32]) -> None:
        self.table = table

    def __len__(self) -> int:
        return len(self.table)

    def name(self, number: int) -> str:
        return ",".join(map(str, self.table[number].tolist()))

    def coordinates(self) -> npt.NDArray[np.int32]:
        """One row per dataset: its integers."""
        return self.table


class _LazyNumbers(Mapping[str, int]):
    """The number of each name, computed."""

    def __init__(self, names: LazyNames) -> None:
        self.names = names

    def __getitem__(self, name: str) -> int:
        number = self.names.find(name) if isinstance(name, str) else None
        if number is None:
            raise KeyError(name)
        return number

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def numbers_of(names: Sequence[str]) -> Mapping[str, int]:
    """The number of each name: a dictionary, or computed where names are."""
    if isinstance(names, LazyNames):
        return _LazyNumbers(names)
    return {name: i for i, name in enumerate(names)}


def check_unique(names: Sequence[Any]) -> None:
    """Refuse names that are no words or occur twice."""
    if isinstance(names, LazyNames):
        return
    if not all(issubclass(kind, str) for kind in set(map(type, names))):
        wrong = next(name for name in names if not isinstance(name, str))
        raise GraphError("datasets", wrong, "is not a name", "name datasets by words")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise GraphError("datasets", twice, "is named twice", "names are unique")
