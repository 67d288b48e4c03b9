"""Answers at a fixed time after the question, so that the time tells nothing about the data."""

from __future__ import annotations

import math
import time

from optimaldp.errors import InputError


class Clock:
    """Starts with the question. :meth:`wait` returns at the next whole multiple of *seconds*."""

    def __init__(self, seconds: float) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= 3600:
            raise InputError("answer_after", seconds, "is not a number of seconds", "give a number up to 3600")
        self._seconds = seconds
        self._start = time.monotonic()

    def wait(self) -> None:
        """Sleep until the answer may be given; one that took longer waits for the next multiple."""
        passed = time.monotonic() - self._start
        time.sleep(max(0.0, math.ceil(passed / self._seconds) * self._seconds - passed))
