"""Privacy levels as people give them to graphs: one for all edges, one per individual, or arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.privacy import Level
from optimaldp.privacy import level as make_level

_MOST_OBJECTS = 1000  # different levels: beyond, they are kept as arrays
_LARGEST = 700.0  # an epsilon whose exponential is still a float

Floats = npt.NDArray[np.float64]


class PlainLevels(Sequence[Level]):
    """Different (epsilon, delta) levels as two arrays of floats, each read by its shortest decimal.

    A level for each edge costs sixteen bytes. A :class:`Level` is made when it is asked for, and kept. **Guarantee.** The
    enclosures hold for the decimals that the floats stand for.
    """

    def __init__(self, epsilon: Floats, delta: Floats) -> None:
        self.epsilon, self.delta = epsilon, delta
        self._made: dict[int, Level] = {}

    @staticmethod
    def holds(epsilon: npt.NDArray[Any], delta: npt.NDArray[Any]) -> bool:
        """Whether the arrays are plain: floats or whole numbers, none so small or large that a float is not near it."""
        if epsilon.dtype.kind not in "iuf" or delta.dtype.kind not in "iuf" or epsilon.dtype == np.float32:
            return False
        fine = [
            ((array == 0) | (array >= 1e-290)) & (array <= most) for array, most in ((epsilon, _LARGEST), (delta, 1))
        ]
        return bool(fine[0].all() and fine[1].all()) and delta.dtype != np.float32

    def __len__(self) -> int:
        return len(self.epsilon)

    @overload
    def __getitem__(self, item: int) -> Level: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[Level, ...]: ...
    def __getitem__(self, item: int | slice) -> Level | tuple[Level, ...]:
        if isinstance(item, slice):
            return tuple(self[i] for i in range(*item.indices(len(self))))
        number = range(len(self))[item]
        if number not in self._made:
            self._made[number] = make_level(self.epsilon[number].item(), self.delta[number].item())
        return self._made[number]

    def ratios(self) -> tuple[Floats, Floats]:
        """Floats below and above each ``e^epsilon``."""
        zero = self.epsilon == 0
        low = exp_enclosure(np.nextafter(self.epsilon, 0.0))[0]
        high = exp_enclosure(np.nextafter(self.epsilon, np.inf))[1]
        return np.where(zero, 1.0, np.maximum(low, 1.0)), np.where(zero, 1.0, high)

    def deltas(self) -> tuple[Floats, Floats]:
        """Floats below and above each delta."""
        whole = (self.delta == 0) | (self.delta == 1)
        low, high = np.nextafter(self.delta, 0.0), np.nextafter(self.delta, 1.0)
        return np.where(whole, self.delta, low), np.where(whole, self.delta, high)


def exp_enclosure(x: Floats) -> tuple[Floats, Floats]:
    r"""Floats below and above ``e^x`` for floats in [0, 710), by additions and products alone, whose rounding is known.

    ``x = k ln 2 + r`` with \|r\| < 0.35: the first part of ln 2 has 32 bits, so that its product with k and the difference are
    exact, and r is wrong by less than 2^-54. Fifteen terms miss ``e^r`` by less than 2^-60, and adding them up in floats by less
    than 2^-50 of it. Together that is below 2^-49, and 2^-48 is taken off or put on.
    """
    k = np.rint(x * 1.4426950408889634)
    r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10
    total = np.ones_like(x)
    for n in range(15, 0, -1):
        total = 1.0 + r * total / n
    value = np.ldexp(total, k.astype(np.int64))
    return value * (1.0 - 2.0**-48), value * (1.0 + 2.0**-48)


def sample_levels(levels: Sequence[Level]) -> Sequence[Level]:
    """Levels that stand for all where only their kind matters: of arrays the first one, as they are all finite and alike."""
    return levels[:1] if isinstance(levels, PlainLevels) else levels


def read_edge_level(value: object) -> Level:
    """A level as it is, from an epsilon, or from a pair (epsilon, delta).

    >>> print(read_edge_level("ln(2)"), read_edge_level((1, 0.1)))
    (ln(2), 0)-DP (1, 0.1)-DP
    """
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return make_level(value[0], value[1])
    return make_level(value)


def levels_per_part(count: int, level: object, levels: Sequence[Any] | None, *, part: str) -> list[Level] | None:
    """The level of each of *count* individuals, groups or axes; ``None`` if no level is known yet."""
    if levels is not None and level is not None:
        raise GraphError("levels", levels, "was given together with level", f"give one level, or one per {part}")
    if levels is not None:
        if len(levels) != count:
            raise GraphError("levels", len(levels), f"levels do not fit {count}", f"give one per {part}")
        return [read_edge_level(value) for value in levels]
    return None if level is None else [read_edge_level(level)] * count


def number_levels(levels: Sequence[Level]) -> tuple[tuple[Level, ...], npt.NDArray[np.int32]]:
    """The distinct levels, and the number among them of each level given."""
    known: dict[Level, int] = {}
    # Most edges share one object: its hash, made of rationals, is taken once.
    different = {id(level): level for level in levels}
    number = {key: known.setdefault(level, len(known)) for key, level in different.items()}
    return tuple(known), np.array([number[id(level)] for level in levels], dtype=np.int32)


def levels_from_arrays(epsilon: Any, delta: Any, count: int) -> tuple[Sequence[Level], npt.NDArray[np.int32]]:
    """Levels from an epsilon and a delta per edge, read by their shortest decimals; each distinct pair once.

    There is no Python loop over the edges, only over the distinct levels.
    """
    try:
        pairs = np.broadcast_to(np.asarray(epsilon), (count,)), np.broadcast_to(np.asarray(delta), (count,))
    except ValueError:
        shapes = (np.shape(epsilon), np.shape(delta))
        raise GraphError(
            "epsilon", shapes, f"does not fit {count} edges", "give one per edge, or one for all"
        ) from None
    values, which = zip(*(np.unique(array, return_inverse=True) for array in pairs))
    code = which[0].astype(np.int64) * len(values[1]) + which[1]
    kept, number = np.unique(code, return_inverse=True)
    if len(kept) > _MOST_OBJECTS and PlainLevels.holds(*values):
        chosen = (values[0][kept // len(values[1])], values[1][kept % len(values[1])])
        return PlainLevels(*(part.astype(np.float64) for part in chosen)), number.astype(np.int32)
    places = [divmod(int(one), len(values[1])) for one in kept]
    return tuple(make_level(_plain(values[0][a]), _plain(values[1][b])) for a, b in places), number.astype(np.int32)


def _plain(value: object) -> Any:
    """A numpy number as Python's own, at its own precision: a float32 of 0.1 means 0.1."""
    if isinstance(value, np.floating) and not isinstance(value, float):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value
