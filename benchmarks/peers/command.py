"""Processor time of one whole command, each tool alone in an environment of its own: ours from the wheel, OpenDP from counts."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.record import Comparison, Estimate

STUDY = "Processor time of one whole command, each tool alone in a clean environment"
ENGINE = "importing Ibis with DuckDB, which read it before"
BARE = "importing DuckDB alone, which reads it now"
_TASK = "a yes or no from a CSV of 1,000 lines"
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Sizes:
    """How many runs, of which the least counts: what is above it belongs to the rest of the machine. Whether all "
    "is installed anew."""

    runs: int
    install: bool


FULL = Sizes(runs=7, install=True)
SAMPLE = Sizes(runs=1, install=False)

_ENGINE = "import ibis, ibis.backends.duckdb"
_BARE = "import duckdb"
_COUNTS = """
import opendp.prelude as dp
dp.enable_features("contrib")
dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)(600) >= 501
"""


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    with tempfile.TemporaryDirectory() as folder:
        ours = theirs = Path(sys.executable).parent
        if sizes.install:
            ours = _environment(Path(folder, "ours"), str(_wheel(Path(folder, "wheel"))), "ibis-framework[duckdb]")
            theirs = _environment(Path(folder, "opendp"), "opendp")
        table = Path(folder, "people.csv")
        table.write_text("age,smokes\n" + "".join(f"{20 + i % 60},{'yes' if i % 3 else 'no'}\n" for i in range(1000)))
        question = ("--question", "share(smokes = 'yes') >= 0.3", "--epsilon", "1")
        least = _least(
            [str(ours / "python"), "-m", "optimaldp", "release", "--data", str(table), *question],
            [str(ours / "python"), "-c", _ENGINE],
            [str(ours / "python"), "-c", _BARE],
            [str(theirs / "python"), "-c", _COUNTS],
            runs=sizes.runs,
        )
    for peer, spent in zip((ENGINE, BARE, "OpenDP from counts: no table is read"), least[1:], strict=True):
        yield Comparison(STUDY, _TASK, peer, Estimate(least[0]), Estimate(spent), timed=True)


def _wheel(folder: Path) -> Path:
    _quietly([sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(folder), str(_ROOT)])
    return next(folder.glob("optimaldp-*.whl"))


def _environment(folder: Path, *wanted: str) -> Path:
    """A new environment with some packages and what they need; the folder of its programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if sys.platform == "win32" else "bin")
    _quietly([str(programs / "python"), "-m", "pip", "install", *wanted])
    return programs


def _least(*commands: Sequence[str], runs: int) -> list[float]:
    """The least processor time of each, in turns, so that all of them meet the same machine."""
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(runs):
        for place, command in enumerate(commands):
            before = _spent()
            _quietly(command)
            times[place].append(_spent() - before)
    return [min(one) for one in times]


def _spent() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def _quietly(command: Sequence[str]) -> None:
    # Compiled files are part of an installation: without them every start would compile the package anew.
    apart = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME")
    clean = {name: value for name, value in os.environ.items() if name not in apart}
    subprocess.run(command, check=True, capture_output=True, env=clean)
