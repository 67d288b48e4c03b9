"""An import inside a function puts something off: a library, or several modules of ours. Otherwise it belongs to the top."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from source_trees import source_trees

LEAST_PUT_OFF = 3  # modules of ours: fewer are loaded in less than a millisecond


def _dotted(path: str) -> str:
    """The name by which a file is imported."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


class Imports:
    """What each module of a package loads when it is imported, and what its functions import later."""

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self.modules = {_dotted(path): path for path in trees}
        self.trees = {name: trees[path] for name, path in self.modules.items()}
        self.first = {name: set(self._named(_at_the_top(tree.body))) for name, tree in self.trees.items()}
        self.loads = cache(self._loads)

    def _named(self, nodes: Iterator[ast.Import | ast.ImportFrom]) -> Iterator[str]:
        for node in nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            else:
                wholes = [f"{node.module}.{alias.name}" for alias in node.names]
                yield from (whole if whole in self.modules else str(node.module) for whole in wholes)

    def _loads(self, name: str) -> frozenset[str]:
        """Our modules, packages around them included, and the libraries that are not Python's own."""
        loaded: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            library = one.partition(".")[0]
            if one not in self.modules:
                loaded |= {library} - sys.stdlib_module_names
            elif one not in loaded:
                loaded.add(one)
                waiting += [*self.first[one], *([one.rpartition(".")[0]] if "." in one else [])]
        return frozenset(loaded)

    def later(self) -> Iterator[tuple[str, str, frozenset[str]]]:
        """(module, function, which of our own modules it imports) for imports inside functions."""
        for name, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    inside = (one for one in ast.walk(node) if isinstance(one, ast.Import | ast.ImportFrom))
                    wanted = frozenset(self._named(inside)) & self.modules.keys()
                    if wanted:
                        yield name, node.name, wanted

    def needless(self) -> list[tuple[str, str, list[str]]]:
        """Functions whose imports together put off nothing to speak of, and would not run in a circle at the top either."""
        found = []
        for name, function, wanted in self.later():
            loaded = frozenset[str]().union(*map(self.loads, wanted))
            more = loaded - self.loads(name)
            ours = more & self.modules.keys()
            if name not in loaded and len(ours) < LEAST_PUT_OFF and more == ours:
                found.append((name, function, sorted(wanted)))
        return found


def _at_the_top(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """What runs when the module is loaded; types alone are not."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _at_the_top(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _at_the_top(getattr(node, part, []))


def test_imports_inside_functions_put_something_off() -> None:
    assert Imports({f"optimaldp/{path}": tree for path, tree in source_trees().items()}).needless() == []


def test_the_rule_tells_them_apart() -> None:
    """A library, many modules or a circle may wait; one small module may not."""
    used = ("small", "heavy", "a", "b", "circle")
    files = {
        "__init__": "",
        "small": "",
        "heavy": "import numpy",
        "a": "from pack import b",
        "b": "from pack import c",
        "c": "",
        "circle": "import pack.user",
        "user": "\n".join(f"def use_{name}():\n    from pack import {name}" for name in used),
    }
    imports = Imports({f"pack/{name}.py": ast.parse(text) for name, text in files.items()})
    assert [function for _, function, _ in imports.later()] == [f"use_{name}" for name in used]
    assert imports.needless() == [("pack.user", "use_small", ["pack.small"]), ("pack.user", "use_b", ["pack.b"])]


MOST_LOADED = 80
FIRST = """
import sys
import optimaldp
optimaldp.release(sys.argv[1], sys.argv[2], epsilon=1, neighbours="substitution")
print(*(name for name in sys.modules if name.split(".")[0] == "optimaldp"))
"""


@pytest.mark.parametrize("question", ["share(smokes = 'yes') >= 0.5", "winner(smokes, ['yes', 'no'])"])
def test_a_first_release_loads_what_it_needs(question: str, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("smokes\nyes\nno\n")
    command = [sys.executable, "-W", "ignore", "-c", FIRST, str(tmp_path / "people.csv"), question]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "optimaldp.certify.core.referee" in loaded
    assert len(loaded) <= MOST_LOADED
