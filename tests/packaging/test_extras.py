"""Optional parts: declared once, imported late, and named when they are missing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from source_trees import source_trees

from optimaldp.errors import MissingExtraError
from optimaldp.extras import EXTRAS, requiring

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL: dict[str, list[str]] = PROJECT["optional-dependencies"]
# studio/server.py imports the studio's other modules inside its guard, and service/server.py asks for its extra first. The store
# reads its address, guarded, before all else. A table of Ibis and a connection of psycopg are recognised by their package,
# which is there then; psycopg is imported where a missing package is told.
ENTERED_BY_A_GUARD = r"studio/|service/|ledger/(.*/)?postgres_store\.py|tables/(opening|databases|engines)\.py"
FOR_DEVELOPERS = {"docs", "peers", "package", "mutation", "dev", "ci"}


def _distribution(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ;]", requirement, maxsplit=1)[0].lower().replace("_", "-")


@pytest.mark.parametrize("package", sorted(EXTRAS))
def test_the_extra_that_an_error_names_brings_the_package(package: str) -> None:
    name = {"ibis": "ibis-framework"}.get(package, package.replace("_", "-"))
    assert name in {_distribution(line) for line in OPTIONAL[EXTRAS[package]]}


def test_all_means_every_extra_that_a_user_can_name() -> None:
    (line,) = OPTIONAL["all"]
    assert set(re.findall(r"[a-z]+", line.partition("[")[2])) == set(OPTIONAL) - FOR_DEVELOPERS - {"all"}


def test_no_optional_package_is_part_of_the_core() -> None:
    core = {_distribution(line) for line in PROJECT["dependencies"]}
    assert not core & {package.replace("_", "-") for package in EXTRAS}


def _top(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").partition(".")[0]}
    return set()


def _is_guard(node: ast.AST) -> bool:
    """``with requiring(...)``, ``try ... except ImportError``, or ``if TYPE_CHECKING``."""
    if isinstance(node, ast.With):
        return any("requiring" in ast.dump(item.context_expr) for item in node.items)
    if isinstance(node, ast.Try):
        return any(
            "ImportError" in ast.dump(h.type) or "ModuleNotFound" in ast.dump(h.type) for h in node.handlers if h.type
        )
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)


def _unguarded(tree: ast.AST) -> set[str]:
    """The optional packages that *tree* imports without saying what to install."""
    hits = _top(tree) & set(EXTRAS)
    for child in ast.iter_child_nodes(tree):
        if not _is_guard(child):
            hits |= _unguarded(child)
    return hits


@pytest.mark.parametrize(
    ("source", "packages"),
    [
        ("def f():\n    import scipy.optimize", {"scipy"}),
        ("def f():\n    with open('x'):\n        from numba import njit", {"numba"}),
        ("def f():\n    with requiring('scipy'):\n        import scipy", set()),
        ("if TYPE_CHECKING:\n    from matplotlib.axes import Axes", set()),
    ],
)
def test_the_search_for_unguarded_imports_sees_them(source: str, packages: set[str]) -> None:
    assert _unguarded(ast.parse(source)) == packages


@pytest.mark.long
def test_every_import_of_an_optional_package_says_which_extra_is_missing() -> None:
    careless = {}
    for name, tree in source_trees().items():
        if (hits := _unguarded(tree)) and not re.match(ENTERED_BY_A_GUARD, name):
            careless[name] = hits
    assert careless == {}


def test_another_missing_module_is_not_taken_for_the_extra() -> None:
    with pytest.raises(ModuleNotFoundError) as caught, requiring("scipy"):
        raise ModuleNotFoundError("No module named 'libwrong'", name="libwrong")
    assert not isinstance(caught.value, MissingExtraError)
    with pytest.raises(MissingExtraError, match=r"optimaldp\[solvers\]"), requiring("scipy"):
        raise ModuleNotFoundError("No module named 'scipy'", name="scipy.optimize")


# A finder in front of all others that knows nothing of the optional packages: the lean installation, simulated.
LEAN = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {set(EXTRAS)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
import warnings
"""


def _lean(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", LEAN + code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.long
def test_a_release_from_a_csv_needs_no_extra() -> None:
    run = _lean("""
import optimaldp as odp
data = "examples/data/anes1996.csv"
asked = [
    odp.share("age >= 65") >= 0.2, odp.count("age >= 65") >= 100, odp.winner("expected_vote", ["Clinton", "Dole"]),
    odp.compare("expected_vote", "Clinton", "Dole"), odp.median("age", bins=[18, 30, 45, 65, 100]),
    odp.histogram("expected_vote", ["Clinton", "Dole"]),
]
for question in asked:
    odp.release(data, question, epsilon=1)
print(len(asked))
""")
    assert run.stdout.strip() == "6", run.stderr
    assert "numba" not in run.stderr


def test_a_loop_without_its_compiler_is_the_same_loop() -> None:
    run = _lean("""
import numpy as np
from optimaldp.kernels.loops import COMPILE_FROM, Kernel
def total(values):
    sum = 0
    for value in values:
        sum += value
    return sum
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as heard:
    results = [Kernel(total)(COMPILE_FROM, np.arange(5)), Kernel(total)(COMPILE_FROM, np.arange(6))]
print(results == [10, 15], [str(one.message).rpartition("pip")[2] for one in heard])
""")
    assert run.stdout.strip() == "True [\" install 'optimaldp[compiled]' compiles it.\"]", run.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (
            ["preview", "--question", "share(a = 'b') >= 0.3", "--epsilon", "1", "--n", "100", "--plot", "p.png"],
            "plots",
        ),
        (["studio"], "studio"),
        (["serve", "--demo"], "service"),
    ],
)
def test_the_command_line_names_a_missing_extra(arguments: list[str], extra: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / one) if one.endswith(".png") else one for one in arguments]
    run = _lean(f"from optimaldp.cli import main\nsys.argv = {['optimaldp', *arguments]!r}\nmain()")
    assert run.returncode == 2
    assert f"optimaldp[{extra}]" in run.stderr
    assert "Traceback" not in run.stderr
