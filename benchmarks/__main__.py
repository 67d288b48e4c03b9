"""Run every benchmark, or those named: ``python -m benchmarks [--sample] [name ...]``.

Each of them is a module with ``rows(sizes)`` and two sizes: ``FULL``, which measures, and ``SAMPLE``, which takes a second
and only shows that everything still runs.
"""

from __future__ import annotations

import sys
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
    console = Console(width=150)
    table = Table("task", "ours", "peer", "theirs", "ratio", "limit", "holds", "note")
    rows: list[Row] = []
    for name in chosen or names():
        console.print(f"[dim]{name} …[/dim]")
        benchmark = import_module(f"benchmarks.{name}")
        for row in benchmark.rows(benchmark.SAMPLE if sample else benchmark.FULL):
            rows.append(row)
            mark = {True: "yes", False: "NO", None: "-"}[row.holds]
            cells = (f"{row.ours:.4g} {row.unit}", row.peer, f"{row.theirs:.4g} {row.unit}", f"{row.ratio:.3g}")
            table.add_row(row.task, *cells, row.limit, mark, row.note)
    console.print(table)
    return int(not sample and any(row.holds is False for row in rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
