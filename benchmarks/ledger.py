"""The ledger against a bare SQLite insert that is just as durable, and what composition costs."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median

from benchmarks.report import Row, at_most
from optimaldp.ledger import Budget, Charge, Ledger, open_ledger
from optimaldp.ledger.composition import compose_optimal
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.levels import Bound

_WANTED_PER_SECOND = 500
_TOGETHER = 10


@dataclass(frozen=True)
class Sizes:
    """How many spends are timed, and how many are composed."""

    spends: int
    composed: int


FULL = Sizes(spends=1000, composed=1000)
SAMPLE = Sizes(spends=10, composed=20)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    # In the working folder, not in a temporary file system: that may be memory, where durability costs nothing.
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        yield from _spending(Path(folder), sizes.spends)
        yield _opening(Path(folder))
    yield _composing(sizes.composed)


def _spending(folder: Path, spends: int) -> Iterator[Row]:
    bare = _bare_insert(folder / "bare.db")
    ledger = open_ledger(folder / "survey.ledger", dataset="survey", budget=Budget(1_000_000))
    reserve, cycle = _reserve(ledger), _reserve_and_record(ledger)
    # One by one in turn, so that a busy disk disturbs all alike; the median of each counts.
    times = [(_seconds(bare), _seconds(reserve), _seconds(cycle)) for _ in range(spends)]
    theirs, ours, whole = (median(column) for column in zip(*times))
    note = f"{1 / ours:,.0f} durable spends per second"
    yield at_most("spend (reserve durably)", ours, "bare SQLite insert, WAL, full sync", theirs, 3, note=note)
    note = f"{1 / whole:,.0f} per second; two durable commits each"
    yield at_most(
        "spend and record the answer", whole, "two bare SQLite inserts, WAL, full sync", 2 * theirs, 3, note=note
    )
    yield _fast_enough(ours, theirs)
    yield _together(folder, ledger, spends // 10)


def _together(folder: Path, ledger: Ledger, spends: int) -> Row:
    """Ten questions charged at once, all or none: one commit, as for ten bare rows."""
    insert = _bare_insert(folder / "bare-together.db", rows=_TOGETHER)
    charges = [Charge("majority(smokes = 'yes')", level(0.01), data_version="1")] * _TOGETHER
    times = [(_seconds(insert), _seconds(lambda: ledger.reserve_together(charges))) for _ in range(spends)]
    theirs, ours = (median(column) for column in zip(*times))
    note = f"{_TOGETHER / ours:,.0f} durable spends per second"
    return at_most(
        f"spend for {_TOGETHER} questions together", ours, "the same rows in one bare commit", theirs, 5, note=note
    )


def _fast_enough(ours: float, bare: float) -> Row:
    """At least 500 durable spends per second, wherever the disk itself does twice that: nobody can be faster than it."""
    busy = 2 * bare * _WANTED_PER_SECOND > 1
    note = f"not judged: the disk is busy and makes {1 / bare:,.0f} bare inserts per second" if busy else ""
    row = at_most("durable spend", ours, f"{_WANTED_PER_SECOND} per second", 1 / _WANTED_PER_SECOND, 1, note=note)
    return replace(row, holds=None) if busy else row


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _bare_insert(path: Path, *, rows: int = 1) -> Callable[[], None]:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE entries (sequence INTEGER PRIMARY KEY, text TEXT, hash TEXT)")
    text, digest = "x" * 360, "0" * 64  # as long as an entry

    def insert() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO entries (text, hash) VALUES (?, ?)", [(text, digest)] * rows)
        connection.execute("COMMIT")

    return insert


def _reserve(ledger: Ledger) -> Callable[[], None]:
    cost = level(0.01)

    def reserve() -> None:
        ledger.reserve(question="majority(smokes = 'yes')", level=cost, neighbours="substitution", data_version="1")

    return reserve


def _reserve_and_record(ledger: Ledger) -> Callable[[], None]:
    cost = level(0.01)

    def reserve_and_record() -> None:
        question = "majority(smokes = 'yes')"
        reservation = ledger.reserve(question=question, level=cost, neighbours="substitution", data_version="1")
        reservation.record("yes", {"claim": "(0.01, 0)-DP"})

    return reserve_and_record


def _opening(folder: Path) -> Row:
    """Open the ledger that was just filled, every hash checked, against reading the same rows without looking at them."""
    start = time.perf_counter()
    with open_ledger(folder / "survey.ledger") as ledger:
        ours = time.perf_counter() - start
        entries = len(ledger.entries())
    connection = sqlite3.connect(folder / "survey.ledger")
    start = time.perf_counter()
    connection.execute("SELECT sequence, text, hash FROM entries").fetchall()
    theirs = time.perf_counter() - start
    note = f"{entries:,} entries, {1e6 * ours / entries:.0f} µs each"
    return Row("open and check a ledger", ours, "SELECT of the same rows", theirs, "-", None, note=note)


def _composing(spends: int) -> Row:
    """The exact closed form of many spends against dp-accounting's convolution of the same."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as distributions

    bound, delta = Bound(Epsilon.read(0.01), Fraction(0)), Fraction(1, 10**6)
    start = time.perf_counter()
    exact = float(compose_optimal.__wrapped__(bound, spends, delta))
    ours = time.perf_counter() - start
    start = time.perf_counter()
    one = distributions.from_privacy_parameters(common.DifferentialPrivacyParameters(0.01, 0.0), 1e-4)
    convolved = one.self_compose(spends).get_epsilon_for_delta(1e-6)
    theirs = time.perf_counter() - start
    note = f"epsilon {exact:.6f} (exact, rounded up) and {convolved:.6f}"
    return Row(f"compose {spends:,} equal levels", ours, "dp-accounting", theirs, "-", None, note=note)
