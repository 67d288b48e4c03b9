"""Which tests run which lines, and how long each takes: one run of a target's tests under coverage."""

from __future__ import annotations

import ast
import json
import signal
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.mutation.mutants import Mutant
from tools.mutation.swap import Functions


@dataclass(frozen=True)
class Reach:
    """For each file and line the tests that run it; for each test its seconds. Tests that fail without any fault are out."""

    lines: dict[str, dict[int, list[str]]]
    seconds: dict[str, float]
    failing: list[str]

    def tests_for(self, mutant: Mutant, tree: Path) -> list[str]:
        """The tests that run the statement around *mutant*, quickest first."""
        lines = self.lines.get(mutant.path, {})
        places = range(mutant.first, mutant.last + 1)
        if not any(lines.get(line) for line in places):
            first, last = _statements((tree / mutant.path).read_text(encoding="utf-8")).get(mutant.first, (1, 0))
            places = range(first, last + 1)
        return self._quickest({test for line in places for test in lines.get(line, ())})

    def tests_for_import(self, path: str) -> list[str]:
        """For what acts when a module is imported: the tests that run anything in it, then all others."""
        users = {test for tests in self.lines.get(path, {}).values() for test in tests}
        return self._quickest(users) + self._quickest(set(self.seconds) - users)

    def _quickest(self, tests: set[str]) -> list[str]:
        return sorted(tests & set(self.seconds), key=lambda test: (self.seconds[test], test))

    @staticmethod
    def read(paths: list[Path]) -> Reach:
        """Put together what several processes found out."""
        whole = Reach({}, {}, [])
        for part in (json.loads(path.read_text(encoding="utf-8")) for path in paths):
            for path, of in part["lines"].items():
                for line, tests in of.items():
                    whole.lines.setdefault(path, {}).setdefault(int(line), []).extend(tests)
            whole.seconds.update(part["seconds"])
            whole.failing.extend(part["failing"])
        return whole


class _TooLongError(BaseException):
    pass


def _give_up(*_: object) -> None:
    raise _TooLongError


def measure(
    items: list[Any], sources: tuple[str, ...], tree: Path, functions: Functions, most_seconds: float, result: Path
) -> None:
    """Run the tests *items* and write down what they reach, each as if it ran alone: no cache helps it.

    A test of more than *most_seconds* (of the processor) is given up: it is too long to be run for each fault.
    """
    import coverage
    from _pytest.runner import runtestprotocol

    measured = coverage.Coverage(data_file=None, config_file=False, include=[str(tree / path) for path in sources])
    seconds: dict[str, float] = {}
    failing: set[str] = set()
    signal.signal(signal.SIGPROF, _give_up)
    measured.start()
    for item, following in zip(items, [*items[1:], None]):
        functions.forget_results()
        measured.switch_context(item.nodeid)
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, most_seconds)
        try:
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                failing.add(item.nodeid)
            seconds[item.nodeid] = time.process_time() - start
        except _TooLongError:
            failing.add(item.nodeid)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    measured.stop()
    data = measured.get_data()
    lines: dict[str, dict[int, list[str]]] = {}
    for path in sources:
        contexts = data.contexts_by_lineno(str(tree / path)) or {}
        lines[path] = {line: sorted(filter(None, tests)) for line, tests in contexts.items()}
    passed = {test: spent for test, spent in seconds.items() if test not in failing}
    text = json.dumps({"lines": lines, "seconds": passed, "failing": sorted(failing & set(seconds))})
    result.with_suffix(".new").write_text(text, encoding="utf-8")
    result.with_suffix(".new").rename(result)


@cache
def _statements(source: str) -> dict[int, tuple[int, int]]:
    """For each line the lines of the smallest statement around it; of a loop or a definition only the head counts."""
    found: dict[int, tuple[int, int]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.end_lineno is not None:
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) and body else node.end_lineno
            for line in range(node.lineno, max(last, node.lineno) + 1):
                if line not in found or last - node.lineno <= found[line][1] - found[line][0]:
                    found[line] = node.lineno, last
    return found


@cache
def in_functions(source: str) -> set[int]:
    """The lines inside of functions, without their heads: whatever stands elsewhere acts when the module is imported."""
    return {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)
    }
