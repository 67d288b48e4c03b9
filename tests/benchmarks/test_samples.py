"""A small sample of every benchmark runs, so that a renamed function cannot break one unseen. Nothing is timed here."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.__main__ import main, names
from benchmarks.report import at_most

FOLDER = Path(__file__).parents[2] / "benchmarks"


# Draws of a histogram with everybody in one bin take seconds; the type checker sees every name that this benchmark uses.
_TIMED = [pytest.param(name, marks=pytest.mark.slow if name == "timing" else ()) for name in names()]


@pytest.mark.long
@pytest.mark.parametrize("name", _TIMED)
def test_a_sample_of_every_benchmark_runs(name: str) -> None:
    for needed in ("opendp", "qif", "dp_accounting"):
        pytest.importorskip(needed)
    benchmark = import_module(f"benchmarks.{name}")
    rows = list(benchmark.rows(benchmark.SAMPLE))
    assert rows
    assert all(math.isfinite(row.ours) and math.isfinite(row.theirs) for row in rows), rows
    assert len({(row.task, row.peer, row.note) for row in rows}) == len(rows), "two rows say the same"


# Making rows compiles a model for each call: seconds, even of a sample.
_COMPARED = [
    pytest.param(path.stem, marks=pytest.mark.slow if path.stem == "synthesis" else ())
    for path in sorted((FOLDER / "peers").glob("*.py"))
    if "def comparisons(" in path.read_text(encoding="utf-8")
]


@pytest.mark.long
@pytest.mark.parametrize("name", _COMPARED)
def test_a_sample_of_every_comparison_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("opendp", "diffprivlib", "qif", "dp_accounting"):
        pytest.importorskip(needed)
    study = import_module(f"benchmarks.peers.{name}")
    monkeypatch.chdir(tmp_path)  # environments and files are made under the working folder
    rows = [comparison.to_document() for comparison in study.comparisons(study.SAMPLE)]
    assert rows
    assert len({(row["study"], row["task"], row["peer"]) for row in rows}) == len(rows), "two rows say the same"
    assert all({"study", "task", "peer", "ratio", "verdict"} <= set(row) for row in rows)


def test_every_comparison_is_in_the_report() -> None:
    for needed in ("opendp", "diffprivlib", "qif", "dp_accounting"):
        pytest.importorskip(needed)
    from benchmarks.peers.__main__ import STUDIES

    assert {param.values[0] for param in _COMPARED} == {study.__name__.rpartition(".")[2] for study in STUDIES}


def test_every_module_is_a_benchmark_or_named_as_a_part_of_one() -> None:
    assert len(names()) >= 15
    for name in names():
        assert "def rows(sizes: Sizes = FULL)" in (FOLDER / f"{name}.py").read_text(encoding="utf-8"), name


def test_a_missed_limit_fails_the_run_and_not_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import mean

    monkeypatch.setattr(mean, "rows", lambda sizes: iter([at_most("slow", 2.0, "peer", 1.0, 1.5)]))
    assert main(["mean"]) == 1
    assert main(["--sample", "mean"]) == 0
