"""Run every benchmark, or those named: ``python -m benchmarks [--sample] [name ...]``.

Each of them is a module with ``rows(sizes)`` and two sizes: ``FULL``, which measures, and ``SAMPLE``, which takes a second
and only shows that everything still runs.
"""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.report import Row

_NOT_BENCHMARKS = {"__init__", "__main__", "quantile_program", "report", "service"}


def names() -> list[str]:
    """Every module of this folder that measures something: it has a function ``rows()``."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in _NOT_BENCHMARKS)


def main(arguments: list[str]) -> int:
    sample, chosen = "--sample" in arguments, [name for name in arguments if name != "--sample"]
    if unknown := [name for name in chosen if name not in names()]:
        print(f"benchmarks: {unknown[0]!r} is not a benchmark; there are {', '.join(names())}.", file=sys.stderr)
        return 2
    console = Console(width=150)
    rows: list[Row] = []
    broken: list[str] = []
    for name in chosen or names():
        start = time.monotonic()
        console.print(f"[dim]{name} …[/dim]")
        try:
            for row in _measured(name, sample=sample):
                rows.append(row)
                if row.holds is False and not sample:
                    console.print(f"limit missed: {row.task}: {row.ratio:.3g}, {row.limit}", markup=False)
        except Exception:  # the others are measured all the same
            traceback.print_exc()
            broken.append(name)
        console.print(f"[dim]{name}: {time.monotonic() - start:.0f} s[/dim]")
    console.print(_table(rows))
    missed = [row.task for row in rows if row.holds is False]
    console.print(f"{len(rows)} rows, {len(missed)} miss their limit, {len(broken)} benchmarks failed.")
    return int(bool(broken) or (bool(missed) and not sample))


def _measured(name: str, *, sample: bool) -> Iterator[Row]:
    benchmark = import_module(f"benchmarks.{name}")
    yield from benchmark.rows(benchmark.SAMPLE if sample else benchmark.FULL)


def _table(rows: list[Row]) -> Table:
    table = Table("task", "ours", "peer", "theirs", "ratio", "limit", "holds", "note")
    for row in rows:
        mark = {True: "yes", False: "NO", None: "-"}[row.holds]
        cells = (f"{row.ours:.4g} {row.unit}", row.peer, f"{row.theirs:.4g} {row.unit}", f"{row.ratio:.3g}")
        table.add_row(row.task, *cells, row.limit, mark, row.note)
    return table


if __name__ == "__main__":
    # numpy and its peers read these when they are first imported. One thread on either side: then the processor time of a work is
    # what an idle core takes for it, and no thread waits for another by spinning.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    sys.exit(main(sys.argv[1:]))
