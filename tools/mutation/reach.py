"""Which tests run which lines, and how long each takes: one run of a target's tests under coverage."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.mutation.child import PYTEST_OPTIONS, run_in_child
from tools.mutation.mutants import Mutant
from tools.mutation.targets import Target

_MOST_SECONDS = 3600


@dataclass(frozen=True)
class Reach:
    """For each file and line the tests that run it; for each test its seconds. Tests that fail without any fault are out."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    failing: list[str]

    def tests_for(self, mutant: Mutant) -> list[str]:
        """The tests that can notice *mutant*, quickest first.

        A line outside of functions runs when its module is imported, whoever is first: then whatever uses the module counts.
        """
        lines = self.lines.get(mutant.path, {})
        places = range(mutant.first, mutant.last + 1)
        if mutant.function == "<module>" or not any(lines.get(line) for line in places):
            places = range(1, max(lines, default=0) + 1) if mutant.function == "<module>" else places
        tests = {test for line in places for test in lines.get(line, ()) if test in self.seconds}
        return sorted(tests, key=lambda test: (self.seconds[test], test))


def measure(target: Target, tree: Path, *, most_seconds: float = _MOST_SECONDS) -> Reach | None:
    """Run the tests of *target* in *tree*, a copy; ``None`` if they take too long."""
    result = tree / f"reach-{target.name}.json"
    code, seconds = run_in_child(tree, lambda: _run(target, tree, result), most_seconds=most_seconds)
    if code is None:
        return None
    if not result.exists():
        raise RuntimeError(f"{target.name}: its tests could not be run (exit {code} after {seconds:.0f} s)")
    read = json.loads(result.read_text(encoding="utf-8"))
    lines = {path: {int(line): tests for line, tests in of.items()} for path, of in read["lines"].items()}
    return Reach(lines, read["seconds"], read["failing"])


def _run(target: Target, tree: Path, result: Path) -> int:
    import coverage
    import pytest

    measured = coverage.Coverage(
        data_file=None, config_file=False, include=[str(tree / path) for path in target.sources]
    )
    notes = _Notes(measured)
    measured.start()
    code = int(pytest.main([*PYTEST_OPTIONS, *target.tests], plugins=[notes]))
    measured.stop()
    data = measured.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for path in target.sources:
        contexts = data.contexts_by_lineno(str(tree / path)) or {}
        lines[path] = {line: sorted(filter(None, tests)) for line, tests in contexts.items()}
    passed = {test: spent for test, spent in notes.seconds.items() if test not in notes.failing}
    result.write_text(
        json.dumps({"lines": lines, "seconds": passed, "failing": sorted(notes.failing)}), encoding="utf-8"
    )
    return code


class _Notes:
    """A plugin of pytest: every test is a context of its own."""

    def __init__(self, measured: Any) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = defaultdict(float)
        self.failing: set[str] = set()

    def pytest_runtest_setup(self, item: Any) -> None:
        self._measured.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failing.add(report.nodeid)
