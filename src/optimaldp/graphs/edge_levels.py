"""Privacy levels as people give them to graphs: one for all edges, one per individual, or arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.privacy import Level
from optimaldp.privacy import level as make_level


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


def levels_from_arrays(epsilon: Any, delta: Any, count: int) -> tuple[tuple[Level, ...], npt.NDArray[np.int32]]:
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
    places = [divmod(int(one), len(values[1])) for one in kept]
    return tuple(make_level(_plain(values[0][a]), _plain(values[1][b])) for a, b in places), number.astype(np.int32)


def _plain(value: object) -> Any:
    """A numpy number as Python's own, at its own precision: a float32 of 0.1 means 0.1."""
    if isinstance(value, np.floating) and not isinstance(value, float):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value
