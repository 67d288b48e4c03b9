"""A small sample of every benchmark runs, so that a renamed function cannot break one unseen. Nothing is timed here."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.__main__ import main, names

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("name", names())
def test_a_sample_of_every_benchmark_runs(name: str) -> None:
    for needed in ("opendp", "qif", "dp_accounting"):
        pytest.importorskip(needed)
    benchmark = import_module(f"benchmarks.{name}")
    rows = list(benchmark.rows(benchmark.SAMPLE))
    assert rows
    assert all(math.isfinite(row.ours) and math.isfinite(row.theirs) for row in rows), rows
    assert len({(row.task, row.peer, row.note) for row in rows}) == len(rows), "two rows say the same"


def test_every_module_is_a_benchmark_or_named_as_a_part_of_one() -> None:
    assert len(names()) >= 15
    for name in names():
        assert "def rows(sizes: Sizes = FULL)" in (FOLDER / f"{name}.py").read_text(encoding="utf-8"), name


def test_a_missed_limit_fails_the_run_and_not_the_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import mean
    from benchmarks.report import at_most

    monkeypatch.setattr(mean, "rows", lambda sizes: iter([at_most("slow", 2.0, "peer", 1.0, 1.5)]))
    assert main(["mean"]) == 1
    assert main(["--sample", "mean"]) == 0
