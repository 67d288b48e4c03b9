"""How the command line starts: as a module too, and without engines that a release from a small file does not need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import optimaldp

QUESTIONS = ["share(smokes = 'yes') >= 0.3", "count(age > 18) >= 40", "winner(smokes, ['yes', 'no'])"]
UNNEEDED = ("ibis", "numpy", "pyarrow", "pandas", "scipy", "numba", "rich", "optimaldp.histograms", "optimaldp.graphs")


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


def test_the_package_runs_as_a_module() -> None:
    ran = _run("-m", "optimaldp", "--version")
    assert (ran.returncode, ran.stdout.strip()) == (0, optimaldp.__version__)


def test_a_module_refuses_as_the_command_does() -> None:
    ran = _run("-m", "optimaldp", "release", "--data", "nowhere.csv", "--question", QUESTIONS[0], "--epsilon", "1")
    assert ran.returncode == 2
    assert ran.stderr.startswith("optimaldp: ")
    assert "nowhere.csv" in ran.stderr


@pytest.mark.long
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_release_from_a_small_csv_starts_nothing_heavy(question: str, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age,smokes\n" + "".join(f"{n % 80},{'yes' if n % 3 else 'no'}\n" for n in range(200)))
    words = ["optimaldp", "release", "--data", str(table), "--question", question, "--epsilon", "1"]
    watch = f"import atexit, sys; atexit.register(lambda: print('LOADED', [m for m in {UNNEEDED} if m in sys.modules]))"
    ran = _run("-c", f"{watch}\nsys.argv = {words}\nfrom optimaldp.cli import main\nmain()")
    assert (ran.returncode, ran.stdout.splitlines()[-1]) == (0, "LOADED []"), ran.stderr
