"""Counting against DuckDB's own bare aggregate, on a Parquet table of a hundred million rows that is made for the run.

``OPTIMALDP_BENCH_ROWS`` sets another number of rows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from benchmarks.report import Row, at_most
from optimaldp.tables import Bins, Condition, Options, People, Steps, Tally

_ROWS = int(os.environ.get("OPTIMALDP_BENCH_ROWS", 100_000_000))
_FACTOR = 1.2
_SLOWER = 3.0  # lines of a CSV are cut in one thread; equal bins are clipped and checked
_CANDIDATES = ("Clinton", "Dole", "Perot")
_BYTES_PER_ROW = 6  # measured: the file takes about 5.4

_TASKS: list[tuple[str, Tally, dict[str, Any], str]] = [
    (
        "share of one predicate",
        Tally((Condition("smokes = 'yes' and age >= 30"),)),
        {},
        "SELECT count(*) FILTER (WHERE smokes = 'yes' AND age >= 30), count(*) FROM {table}",
    ),
    (
        "winner among options",
        Tally((Options("candidate", _CANDIDATES),)),
        {},
        "SELECT candidate, count(*) FROM {table} GROUP BY candidate",
    ),
    (
        "median over bins",
        Tally((Bins("age", tuple(Fraction(edge) for edge in (18, 30, 45, 65, 98))),)),
        {},
        "SELECT CASE WHEN age IS NULL THEN 4 WHEN age < 30 THEN 0 WHEN age < 45 THEN 1 WHEN age < 65 THEN 2 ELSE 3 END AS bin, "
        "count(*) FROM {table} GROUP BY bin",
    ),
    (
        "share, by level",
        Tally((Condition("smokes = 'yes'"),)),
        {"levels": "tier"},
        "SELECT tier, count(*) FILTER (WHERE smokes = 'yes'), count(*) FROM {table} GROUP BY tier",
    ),
]
_PEOPLE = (
    "share of people with ten rows each",
    Tally((Condition("smokes = 'yes'"),)),
    {"unit": "person"},
    "SELECT count(*) FILTER (WHERE yes), count(*) FROM "
    "(SELECT person, bool_or(smokes = 'yes') AS yes FROM {table} WHERE person IS NOT NULL GROUP BY person)",
)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        count = _fitting(folder)
        big, small = _table(folder, count), _table(folder, count // 10)
        for name, tally, settings, query in _TASKS:
            yield _against_duckdb(name, tally, settings, query, big, count)
        name, tally, settings, query = _PEOPLE
        yield _against_duckdb(name, tally, settings, query, big, count)
        yield from _equal_bins(big, count)
        yield _memory(big, small, count)
        yield from _csv(folder, count // 20)
    yield _small_csv()


def _equal_bins(path: Path, count: int) -> Iterator[Row]:
    """A million equal bins against the same number of rows grouped by a bare floor."""
    tally = Tally((Steps("age", Fraction(0), Fraction(10**6), Fraction(1)),))
    bare = "SELECT floor(age), count(*) FROM {table} GROUP BY 1"
    yield _against_duckdb("million equal bins", tally, {}, bare, path, count, factor=_SLOWER)


def _csv(folder: str, count: int) -> Iterator[Row]:
    """A CSV that is read by us against DuckDB's own reader of the same file, which guesses types from the rows."""
    import duckdb

    from optimaldp.tables import count_people

    path = Path(folder) / f"rows-{count}.csv"
    duckdb.connect().execute(f"COPY (FROM read_parquet('{folder}/*.parquet') LIMIT {count}) TO '{path}' (FORMAT csv)")
    bare = "SELECT count(*) FILTER (WHERE smokes = 'yes' AND age >= 30), count(*) FROM read_csv(?)"
    theirs, ours = _in_turn(
        lambda: duckdb.connect().execute(bare, [str(path)]).fetchall(),
        lambda: count_people(path, Tally((Condition("smokes = 'yes' and age >= 30"),))),
    )
    note = f"{count:,} lines, {path.stat().st_size / 1e6:.0f} MB; processor time {ours[1] / theirs[1]:.2f} ×"
    yield at_most("tables: share of one predicate, CSV", ours[0], "DuckDB read_csv", theirs[0], _SLOWER, note=note)
    half = Path(folder) / f"rows-{count // 4}.csv"
    with path.open() as source, half.open("w") as target:
        target.writelines(line for _, line in zip(range(count // 4), source))
    yield _memory(path, half, count, share=4)


def _fitting(folder: str) -> int:
    """A hundred million rows, or what a quarter of the free disk holds."""
    state = os.statvfs(folder)
    return min(_ROWS, state.f_bavail * state.f_frsize // (4 * _BYTES_PER_ROW))


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


def _against_duckdb(
    name: str, tally: Tally, settings: dict[str, Any], query: str, path: Path, count: int, factor: float = _FACTOR
) -> Row:
    import duckdb

    from optimaldp.tables import count_people

    bare = query.format(table=f"read_parquet('{path}')")
    theirs, ours = _in_turn(
        lambda: duckdb.connect().execute(bare).fetchall(),
        lambda: count_people(str(path), tally, People(**settings)),
    )
    note = f"{count:,} rows, opening and counting; processor time {ours[1] / theirs[1]:.2f} ×"
    return at_most(f"tables: {name}", ours[0], "DuckDB, bare aggregate", theirs[0], factor, note=note)


Times = tuple[float, float]
"""Seconds on the clock, and of processor time."""


def _in_turn(first: Callable[[], Any], second: Callable[[], Any], *, rounds: int = 5) -> tuple[Times, Times]:
    """The best times of each, measured in turns so that a disturbance hits both; the first turn warms up."""
    times = [(_timed(first), _timed(second)) for _ in range(rounds + 1)][1:]
    best = [(min(each[i][0] for each in times), min(each[i][1] for each in times)) for i in (0, 1)]
    return best[0], best[1]


def _timed(work: Callable[[], Any]) -> Times:
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - processor


_PEAK = """
import resource, sys
from optimaldp.tables import Condition, Tally
from optimaldp.tables import count
count(sys.argv[1], Tally((Condition("smokes = 'yes' and age >= 30"),)))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def _memory(big: Path, small: Path, count: int, *, share: int = 10) -> Row:
    """Peak memory of a process of its own must hardly depend on the number of rows."""
    peaks = [float(_run("-c", _PEAK, str(path))) for path in (big, small)]
    note = f"{count:,} rows against {count // share:,}"
    name, peer = f"tables: peak memory of a count, {big.suffix[1:]}", f"1/{share} of the rows"
    return at_most(name, peaks[0], peer, peaks[1], 1.5, unit="MB", note=note)


_OURS = """
import sys
from optimaldp.tables import Condition, Tally
from optimaldp.tables import count
count(sys.argv[1], Tally((Condition("age >= 30"),)))
"""


def _small_csv() -> Row:
    """A whole process that counts a small CSV: most of it is the import of Ibis."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("age\n" + "\n".join(str(n % 90) for n in range(1000)) + "\n")
        file.flush()
        bare = "import ibis; ibis.duckdb.connect()"
        theirs, ours = _in_turn(lambda: _run("-c", bare), lambda: _run("-c", _OURS, file.name))
    note = "start of Python, imports, opening, counting"
    peer = "import ibis and connect"
    return at_most("tables: process that counts a small CSV", ours[0], peer, theirs[0], 2.0, note=note)


def _run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout
