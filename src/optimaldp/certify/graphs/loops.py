"""The referee's own loops: plain Python while there is little to do, compiled when there is much. One source for both."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

from optimaldp.extras import numba_if_installed

COMPILE_FROM = 20_000  # elementary steps: below, plain Python is done before numba has been imported


class Loop:
    """A function of arrays and numbers; those that it *calls* stand in its own file, where numba's cache notices a change."""

    def __init__(self, source: Callable[..., Any], *calls: Callable[..., Any]) -> None:
        assert all(inner.__module__ == source.__module__ for inner in calls)
        self.plain = source
        self._calls = calls

    def __call__(self, work: int, *arguments: object) -> Any:
        """Run on *arguments*; *work* is roughly the number of elementary steps of this call and its like."""
        if work >= COMPILE_FROM:
            return self.compiled(*arguments)
        with np.errstate(over="ignore"):  # what is infinite is caught where it matters, as in the compiled form
            return self.plain(*arguments)

    @cached_property
    def compiled(self) -> Callable[..., Any]:
        """The compiled form; without numba the plain one."""
        numba = numba_if_installed()
        if numba is None:
            return self.plain
        assert isinstance(self.plain, FunctionType)
        scope = dict(self.plain.__globals__)
        for inner in self._calls:
            assert isinstance(inner, FunctionType)
            scope[inner.__name__] = _compile(numba, inner, scope)
        return _compile(numba, self.plain, scope)


def _compile(numba: Any, source: FunctionType, scope: dict[str, Any]) -> Callable[..., Any]:
    copy = FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    copy.__qualname__, copy.__module__ = source.__qualname__, source.__module__
    # Never fast mathematics: the error bounds count on every rounding being one of IEEE 754, in the order written.
    settings: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        result: Callable[..., Any] = numba.njit(copy, cache=True, **settings)
    except RuntimeError:  # nowhere to write: then each process compiles for itself
        result = numba.njit(copy, **settings)
    return result
