"""Counting against DuckDB's own bare aggregate, on a Parquet table of twenty million rows that is made for the run.

``OPTIMALDP_BENCH_ROWS`` sets another number of rows; a hundred million take about five times as long.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optimaldp as odp
from benchmarks.report import Row, at_most
from optimaldp.tables import People, count_people

# Beside the bare aggregate, one more database is opened to read the types, and a cell of more than a megabyte is missing, so the
# length of every text that is grouped is looked at. For twenty million rows each takes 15 to 25 ms, the quickest aggregate 70.
_FACTOR, _OF_TEXT = 1.4, 1.9
_SLOWER = 3.0  # lines of a CSV are cut in one thread; equal bins are clipped and checked
_BYTES_PER_ROW = 6  # measured: the file takes about 5.4


@dataclass(frozen=True)
class Sizes:
    """How many rows, and how often each side is timed after a turn that warms up."""

    rows: int
    rounds: int


FULL = Sizes(rows=int(os.environ.get("OPTIMALDP_BENCH_ROWS", 20_000_000)), rounds=3)
SAMPLE = Sizes(rows=2_000, rounds=1)


@dataclass(frozen=True)
class Task:
    """A question whose people are counted, and the bare query that counts the same."""

    name: str
    question: str
    query: str
    settings: dict[str, Any] = field(default_factory=dict)
    factor: float = _FACTOR


_PREDICATE = "share(smokes = 'yes' and age >= 30)"
_TASKS = (
    Task(
        "share of one predicate",
        _PREDICATE,
        "SELECT count(*) FILTER (WHERE smokes = 'yes' AND age >= 30), count(*) FROM {table}",
        factor=1.15,
    ),
    Task(
        "winner among options",
        "winner(candidate, ['Clinton', 'Dole', 'Perot'])",
        "SELECT candidate, count(*) FROM {table} GROUP BY candidate",
        factor=_OF_TEXT,
    ),
    Task(
        "median over bins",
        "median(age, bins=[18, 30, 45, 65, 98])",
        "SELECT CASE WHEN age IS NULL THEN 4 WHEN age < 30 THEN 0 WHEN age < 45 THEN 1 WHEN age < 65 THEN 2 ELSE 3 END AS bin, "
        "count(*) FROM {table} GROUP BY bin",
    ),
    Task(
        "share, by level",
        "share(smokes = 'yes')",
        "SELECT tier, count(*) FILTER (WHERE smokes = 'yes'), count(*) FROM {table} GROUP BY tier",
        {"levels": "tier"},
        factor=1.5,
    ),
    Task(
        "share of people with ten rows each",
        "share(smokes = 'yes')",
        "SELECT count(*) FILTER (WHERE yes), count(*) FROM "
        "(SELECT person, bool_or(smokes = 'yes') AS yes FROM {table} WHERE person IS NOT NULL GROUP BY person)",
        {"unit": "person"},
        factor=1.5,
    ),
    Task(
        "million equal bins",
        "median(age, range=[0, 1000000], step=1)",
        "SELECT floor(age), count(*) FROM {table} GROUP BY 1",
        factor=_SLOWER,
    ),
)
_MEAN = "mean(age, range=[18, 98], step=1)"
_CLIPPED_SUM = "SELECT sum(floor(least(greatest(age, 18), 98) + 0.5)), count(age) FROM {table}"


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    """All rows of this benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        count = _fitting(folder, sizes.rows)
        big, small = _table(folder, count), _table(folder, count // 10)
        for task in _TASKS:
            yield _against_duckdb(task, big, count, sizes)
        yield _whole_mean(big, count, sizes)
        yield _memory(big, small, count)
        yield from _csv(folder, count // 20, sizes)
    yield _small_csv(sizes)


def _whole_mean(path: Path, count: int, sizes: Sizes) -> Row:
    """A released mean, from the file to the answer, beside the clipped and rounded sum alone."""
    import duckdb

    bare = _CLIPPED_SUM.format(table=f"read_parquet('{path}')")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", odp.errors.ReadingWarning)  # a column is called person, and rows are counted
        theirs, ours = _in_turn(
            lambda: duckdb.connect().execute(bare).fetchall(),
            lambda: odp.release(str(path), _MEAN, epsilon=1),
            rounds=sizes.rounds,
        )
    note = f"{count:,} rows; on the clock {ours[1] / theirs[1]:.2f} ×"
    return at_most("tables: release of a mean", ours[0], "DuckDB, clipped and rounded sum", theirs[0], 1.2, note=note)


def _csv(folder: str, count: int, sizes: Sizes) -> Iterator[Row]:
    """A CSV that is read by us against DuckDB's own reader of the same file, which guesses types from the rows."""
    import duckdb

    path = Path(folder) / f"rows-{count}.csv"
    duckdb.connect().execute(f"COPY (FROM read_parquet('{folder}/*.parquet') LIMIT {count}) TO '{path}' (FORMAT csv)")
    bare = "SELECT count(*) FILTER (WHERE smokes = 'yes' AND age >= 30), count(*) FROM read_csv(?)"
    theirs, ours = _in_turn(
        lambda: duckdb.connect().execute(bare, [str(path)]).fetchall(),
        lambda: count_people(path, odp.questions.parse(_PREDICATE).tally),
        rounds=sizes.rounds,
    )
    note = f"{count:,} lines, {path.stat().st_size / 1e6:.0f} MB; on the clock {ours[1] / theirs[1]:.2f} ×"
    yield at_most("tables: share of one predicate, CSV", ours[0], "DuckDB read_csv", theirs[0], _SLOWER, note=note)
    quarter = Path(folder) / f"rows-{count // 4}.csv"
    with path.open() as source, quarter.open("w") as target:
        target.writelines(line for _, line in zip(range(count // 4), source))
    yield _memory(path, quarter, count, share=4)


def _fitting(folder: str, wanted: int) -> int:
    """As many rows as wanted, or what a quarter of the free disk holds."""
    state = os.statvfs(folder)
    return min(wanted, state.f_bavail * state.f_frsize // (4 * _BYTES_PER_ROW))


def _table(folder: str, count: int) -> Path:
    import duckdb

    path = Path(folder) / f"rows-{count}.parquet"
    query = f"""
        COPY (SELECT (range // 10)::INTEGER AS person,
                     ['yes', 'no', 'never'][1 + (hash(range) % 3)::INTEGER] AS smokes,
                     ['Clinton', 'Dole', 'Perot', 'none'][1 + (hash(range * 7 + 1) % 4)::INTEGER] AS candidate,
                     (18 + hash(range * 3 + 5) % 80)::SMALLINT AS age,
                     ['0.5', '1'][1 + (range // 10 % 2)::INTEGER] AS tier
              FROM range({count})) TO '{path}' (FORMAT parquet)"""
    duckdb.connect().execute(query)
    return path


def _against_duckdb(task: Task, path: Path, count: int, sizes: Sizes) -> Row:
    import duckdb

    bare, tally = task.query.format(table=f"read_parquet('{path}')"), odp.questions.parse(task.question).tally
    theirs, ours = _in_turn(
        lambda: duckdb.connect().execute(bare).fetchall(),
        lambda: count_people(str(path), tally, People(**task.settings)),
        rounds=sizes.rounds,
    )
    note = f"{count:,} rows, opening and counting; on the clock {ours[1] / theirs[1]:.2f} ×"
    return at_most(f"tables: {task.name}", ours[0], "DuckDB, bare aggregate", theirs[0], task.factor, note=note)


Times = tuple[float, float]
"""Seconds of processor time in all threads and processes, which judge, and on the clock, where other work counts too."""


def _in_turn(first: Callable[[], Any], second: Callable[[], Any], *, rounds: int) -> tuple[Times, Times]:
    """The best times of each, measured in turns so that a disturbance hits both; the first turn warms up."""
    times = [(_timed(first), _timed(second)) for _ in range(rounds + 1)][1:]
    best = [(min(each[i][0] for each in times), min(each[i][1] for each in times)) for i in (0, 1)]
    return best[0], best[1]


def _timed(work: Callable[[], Any]) -> Times:
    clock, before = time.perf_counter(), _spent()
    work()
    return _spent() - before, time.perf_counter() - clock


def _spent() -> float:
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in each)


_COUNT = f"""
import resource, sys
import optimaldp as odp
from optimaldp.tables import count_people
count_people(sys.argv[1], odp.questions.parse("{_PREDICATE}").tally)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def _memory(big: Path, small: Path, count: int, *, share: int = 10) -> Row:
    """Peak memory of a process of its own must hardly depend on the number of rows."""
    peaks = [float(_run("-c", _COUNT, str(path))) for path in (big, small)]
    note = f"{count:,} rows against {count // share:,}"
    name, peer = f"tables: peak memory of a count, {big.suffix[1:]}", f"1/{share} of the rows"
    return at_most(name, peaks[0], peer, peaks[1], 1.5, unit="MB", note=note)


def _small_csv(sizes: Sizes) -> Row:
    """A whole process that counts a small CSV: most of it is the start of Python and of the engine."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("age,smokes\n" + "\n".join(f"{n % 90},{'yes' if n % 3 else 'no'}" for n in range(1000)) + "\n")
        file.flush()
        bare = "import duckdb; duckdb.connect()"
        theirs, ours = _in_turn(lambda: _run("-c", bare), lambda: _run("-c", _COUNT, file.name), rounds=sizes.rounds)
    note = "start of Python, imports, opening, counting"
    return at_most("tables: process that counts a small CSV", ours[0], "import duckdb", theirs[0], 6.0, note=note)


def _run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout
