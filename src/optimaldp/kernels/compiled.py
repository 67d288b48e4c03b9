"""Run a loop as plain Python while the input is small, and compiled when it is large."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from optimaldp.extras import numba_if_installed

# The arrays that compiled loops walk over, by what they hold.


Ints = npt.NDArray[np.integer[Any]]
"""Numbers of datasets, edges and levels, of any width."""

Floats = npt.NDArray[np.float64]

LevelTable = tuple[Ints, Floats, Floats, Floats, Floats]
"""The levels of edges: where the bounds of each begin, and the growth, delta, decay and back delta of each bound."""


# What the searches share: the order of labels on their heap, and how a heap begins.
#
# Taking from the heap and putting into it stand in each search in full: as functions of arrays they made it half as fast.


def heap_key(side: float) -> float:
    """A float that grows with the probability that a side stands for: exact above 1/2, where most of the work is."""
    if side < 0.0:
        return side
    return -1.0 / side if side > 0.0 else -np.inf


def as_heap(
    label: npt.NDArray[np.float64], sources: npt.NDArray[np.int32], room: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    """Arrays with *room* for a heap that starts with the *sources*, sorted: a sorted array is a heap."""
    sides = label[sources]
    with np.errstate(divide="ignore"):
        key = np.where(sides < 0.0, sides, -1.0 / np.abs(sides))
    order = np.argsort(key, kind="stable")
    keys = np.empty(room, dtype=np.float64)
    heap = np.empty(room, dtype=np.int32)
    keys[: len(sources)] = key[order]
    heap[: len(sources)] = sources[order]
    return keys, heap


# Below this many elementary steps plain Python takes less time than importing numba and loading compiled code (0.5 s).
COMPILE_FROM = 20_000


class Kernel:
    """A loop in two forms of the same source. Functions that it calls are named in *calls* and compiled with it."""

    def __init__(self, source: Callable[..., Any], *calls: Callable[..., Any], inline: bool = True) -> None:
        self.plain = source
        self._calls = calls
        self._inline = (
            inline  # functions of scalars alone are put in line by LLVM as well, and compile ten times sooner
        )

    def __call__(self, work: int, *arguments: object) -> Any:
        """Run on *arguments*; *work* is roughly the number of elementary steps."""
        return (self.compiled() if work >= COMPILE_FROM else self.plain)(*arguments)

    def compiled(self) -> Callable[..., Any]:
        """The compiled form: numba is imported here, on first use. Without numba, the plain form."""
        return _compile(self.plain, *self._calls, within="always" if self._inline else "never")


def _code(function: Callable[..., Any]) -> bytes:
    """What a function computes: its code, and the constants of its module that it names."""
    code, scope = function.__code__, function.__globals__
    constants = [(name, scope[name]) for name in code.co_names if isinstance(scope.get(name), (int, float))]
    return repr((code.co_code, code.co_consts, code.co_names, constants)).encode()


@cache
def _compile(
    source: Callable[..., Any],
    *calls: Callable[..., Any],
    inline: Literal["never", "always"] = "never",
    within: Literal["never", "always"] = "always",
) -> Callable[..., Any]:
    numba = numba_if_installed()
    if numba is None:
        return source
    assert isinstance(source, FunctionType)
    scope = dict(source.__globals__)
    done: list[Callable[..., Any]] = []
    for inner in calls:
        # Later functions may call earlier ones, so each is compiled with those before it.
        # Inlined, because an array that crosses a call is counted atomically: that was a third of Dijkstra's time.
        scope[inner.__name__] = _compile(inner, *done, inline=within, within=within)
        done.append(inner)
    copy = FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    # numba's cache looks at this function's own file only: what it calls, and constants, must be part of its name.
    stamp = zlib.crc32(_code(source) + b"".join(_code(inner) for inner in calls))
    copy.__qualname__ = f"{source.__qualname__}_{stamp:08x}"
    copy.__module__ = source.__module__
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy", "inline": inline}
    try:
        result: Callable[..., Any] = numba.njit(copy, cache=True, **settings)
    except RuntimeError:  # nowhere to write: then each process compiles for itself
        result = numba.njit(copy, **settings)
    return result
