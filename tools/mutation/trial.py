"""One fault, tried: spoil a copy, run the tests that reach it, put the copy right again."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.mutation.child import PYTEST_OPTIONS, run_in_child
from tools.mutation.mutants import Change, Mutant, change

KILLED, SURVIVED, TIMEOUT, UNREACHED = "killed", "survived", "timeout", "unreached"
_ALIVE = (SURVIVED, UNREACHED)
_PASSED, _NOTHING_RAN = 0, 5


@dataclass(frozen=True)
class Outcome:
    """What became of a fault. A fault that makes the tests run forever was noticed; one that no test runs was not."""

    mutant: Mutant
    before: str
    after: str
    verdict: str
    seconds: float

    @property
    def alive(self) -> bool:
        return self.verdict in _ALIVE

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"key": self.mutant.key}

    def __str__(self) -> str:
        where = f"{self.mutant.path}:{self.mutant.first} {self.mutant.function} ({self.verdict})"
        return f"{where}\n    - {self.before}\n    + {self.after}"


def read_outcome(entry: dict[str, Any]) -> Outcome:
    """The inverse of :meth:`Outcome.to_json`."""
    return Outcome(Mutant(**entry["mutant"]), entry["before"], entry["after"], entry["verdict"], entry["seconds"])


def attempt(mutant: Mutant, tests: list[str], tree: Path, *, most_seconds: float) -> Outcome:
    """Try *mutant* in *tree* with *tests*, which pass without it."""
    spoiled = change(tree, mutant)
    if not tests:
        return Outcome(mutant, spoiled.before, spoiled.after, UNREACHED, 0.0)
    verdict, seconds = _run(mutant, spoiled, tests, tree, most_seconds)
    return Outcome(mutant, spoiled.before, spoiled.after, verdict, round(seconds, 2))


def _run(mutant: Mutant, spoiled: Change, tests: list[str], tree: Path, most_seconds: float) -> tuple[str, float]:
    path = tree / mutant.path
    original, times = path.read_bytes(), path.stat()
    try:
        path.write_text(spoiled.text, encoding="utf-8")
        # Compiled code is matched by time and size: a later time makes sure that the fault is not overlooked.
        os.utime(path, (times.st_atime, times.st_mtime + 100))
        code, seconds = run_in_child(tree, lambda: _pytest(tests), most_seconds=most_seconds)
    finally:
        path.write_bytes(original)
        os.utime(path, (times.st_atime, times.st_mtime))
    if code is None:
        return TIMEOUT, seconds
    return (SURVIVED if code in (_PASSED, _NOTHING_RAN) else KILLED), seconds


def _pytest(tests: list[str]) -> int:
    import pytest

    return int(pytest.main([*PYTEST_OPTIONS, "-x", *tests]))
