"""Which tests run which lines, and how long each takes: one run of a target's tests under coverage."""

from __future__ import annotations

import ast
import json
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.mutation.mutants import Mutant


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

    def tests_for_import(self, mutant: Mutant, tree: Path) -> list[str]:
        """For what acts when a module is imported: the tests that run a line which names what is assigned there, then those that
        run anything in the module, then all others."""
        users = {test for tests in self.lines.get(mutant.path, {}).values() for test in tests}
        named = self._naming(assigned_names((tree / mutant.path).read_text(encoding="utf-8"), mutant.first), tree)
        return self._quickest(named) + self._quickest(users - named) + self._quickest(set(self.seconds) - users - named)

    def _naming(self, names: frozenset[str], tree: Path) -> set[str]:
        """The tests that run a line with one of *names* in it: most of the others cannot notice that a constant is another."""
        found: set[str] = set()
        for path, lines in self.lines.items():
            source = (tree / path).read_text(encoding="utf-8")
            places = naming_lines(source, names) & in_functions(source)
            found |= {test for line in places for test in lines.get(line, ())}
        return found

    def _quickest(self, tests: set[str]) -> list[str]:
        return sorted(tests & set(self.seconds), key=lambda test: (self.seconds[test], test))

    def add(self, test: str, measured: dict[str, Any] | None) -> None:
        """What :func:`measure` wrote about *test*; ``None`` if it took too long to be run for each fault."""
        if measured is None:
            return
        if measured["failed"]:
            self.failing.append(test)
            return
        self.seconds[test] = measured["seconds"]
        for path, lines in measured["lines"].items():
            for line in lines:
                self.lines.setdefault(path, {}).setdefault(line, []).append(test)


def measure(item: Any, sources: tuple[str, ...], tree: Path, result: Path) -> None:
    """Run the test *item* and write down which lines of *sources* it runs, and how long it takes."""
    import coverage
    from _pytest.runner import runtestprotocol

    measured = coverage.Coverage(data_file=None, config_file=False, include=[str(tree / path) for path in sources])
    measured.start()
    start = _processor_seconds()
    failed = any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))
    seconds = _processor_seconds() - start
    measured.stop()
    data = measured.get_data()
    lines = {path: data.lines(str(tree / path)) or [] for path in sources}
    text = json.dumps({"failed": failed, "seconds": seconds, "lines": {path: of for path, of in lines.items() if of}})
    result.write_text(text, encoding="utf-8")


def _processor_seconds() -> float:
    """Of this process and of those that it started and waited for: making a database server takes its time there."""
    return sum(os.times()[:4])


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


def is_named_for(test: str, path: str) -> bool:
    """Whether the file of a test is named for a module: ``test_csv_lines.py`` for ``csv_lines.py``."""
    return Path(path).stem in Path(test.partition("::")[0]).stem


@cache
def assigned_names(source: str, line: int) -> frozenset[str]:
    """The names that the statement at a line of a module's own body assigns."""
    return frozenset(
        node.id
        for statement in ast.parse(source).body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.lineno <= line <= (statement.end_lineno or 0)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    )


@cache
def naming_lines(source: str, names: frozenset[str]) -> set[int]:
    """The lines in which one of *names* stands, by itself or as the name of a module's own."""
    return {
        node.lineno
        for node in ast.walk(ast.parse(source))
        if (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)
    }
