"""Processes that ask at once and processes that die: the total is never below what was released."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from ledger.conftest import make, spend
from postgres_server import PostgresServer

from optimaldp.errors import BudgetError
from optimaldp.ledger import Charge, Ledger, open_ledger, verify_ledger
from optimaldp.privacy import Epsilon, level
from optimaldp.privacy.levels import Bound

GREEDY = """
import sys
from optimaldp.errors import BudgetError
from optimaldp.ledger import Budget, open_ledger
from optimaldp.privacy import level
ledger = open_ledger(sys.argv[1], dataset="survey", budget=Budget(4))
sys.stdin.readline()
granted = 0
try:
    while True:
        ledger.reserve(question="q", level=level(0.1), neighbours="substitution").record("yes")
        granted += 1
except BudgetError:
    print(granted)
"""


@pytest.mark.long
def test_eight_processes_at_once_never_overspend(location: str) -> None:
    """They create the ledger together, too: one of them wins, and all use the same."""
    words = [sys.executable, "-c", GREEDY, location]
    children = [subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    outputs = [child.communicate("go\n", timeout=120)[0] for child in children]
    granted = [int(output) for output in outputs]
    ledger = open_ledger(location)
    assert sum(granted) == 40
    assert ledger.spent() == Bound(Epsilon.read(4), Fraction(0))
    assert len(ledger.history()) == 40
    assert verify_ledger(location).intact


def in_child(work: Callable[[], None]) -> int:
    """Fork a child that does *work* and leaves without any clean-up."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return child


def kill_after(child: int, seconds: float) -> None:
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def released(log: Path) -> int:
    return log.stat().st_size if log.exists() else 0


def release_for_ever(location: str, log: Path) -> None:
    """Reserve, release (a byte in the log, which survives a kill as a published answer does), record."""
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    ledger = open_ledger(location)
    while True:
        reservation = spend(ledger, 0.01, data_version="v1")
        os.write(out, b"x")
        reservation.record("yes")


def kill_many_times(location: str, log: Path, seed: int, times: int = 20) -> tuple[int, int]:
    """Kills of one ledger: how many answers got out, and how many spends it counts."""
    make(location, 10_000).close()
    chance = random.Random(seed)
    for _ in range(times):
        goal = released(log) + chance.choice((0, 0, 1, 2, 3, 8, 20))
        child = in_child(lambda: release_for_ever(location, log))
        # Wait for work, not for time, so that a busy machine is tested as hard as an idle one; then any instant will do.
        while released(log) < goal:
            time.sleep(0.0002)
        kill_after(child, chance.uniform(0.0, 0.004))
        with open_ledger(location) as ledger:
            assert spent_entries(ledger) >= released(log)
        assert verify_ledger(location).intact
    return released(log), spent_entries(open_ledger(location))


def spent_entries(ledger: Ledger) -> int:
    total = ledger.spent().epsilon.finite_parts[0] / Fraction(1, 100)
    assert total == len(ledger.history())
    return int(total)


@pytest.mark.long
def test_kill_at_random_instants_loses_budget_never_privacy(tmp_path: Path) -> None:
    answers, spends = kill_many_times(str(tmp_path / "survey.ledger"), tmp_path / "released", 7)
    assert 15 < answers <= spends <= answers + 20  # it did work between the kills, and a kill loses one spend at most


@pytest.mark.long
def test_kills_on_a_server_too(server: PostgresServer, tmp_path: Path) -> None:
    location = server.new_database("killed") + "?ledger=survey"
    answers, spends = kill_many_times(location, tmp_path / "released", 2, times=5)
    assert 0 < answers <= spends <= answers + 5


def test_questions_that_are_asked_together_survive_a_kill_together(tmp_path: Path) -> None:
    """Whenever the process dies: an answer that got out was paid, and no triple is ever half paid."""
    location, log = str(tmp_path / "survey.ledger"), tmp_path / "released"
    make(location, 10_000).close()
    chance = random.Random(23)

    def release_triples_for_ever() -> None:
        out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        ledger = open_ledger(location)
        while True:
            reservations = ledger.reserve_together([Charge("q", level(0.01), data_version="v1")] * 3)
            os.write(out, b"xxx")
            ledger.record_together([(reservation, "yes", None) for reservation in reservations])

    for _ in range(10):
        goal = released(log) + chance.choice((0, 1, 3, 9, 30))
        child = in_child(release_triples_for_ever)
        while released(log) < goal:
            time.sleep(0.0002)
        kill_after(child, chance.uniform(0.0, 0.004))
        with open_ledger(location) as ledger:
            history = ledger.history()
            assert spent_entries(ledger) >= released(log)
        assert len(history) % 3 == 0
        assert sum(record.recorded is not None for record in history) % 3 == 0
        assert verify_ledger(location).intact
    assert released(log) > 15


@pytest.mark.slow
def test_kill_three_hundred_times(tmp_path: Path) -> None:
    for seed in range(15):
        answers, spends = kill_many_times(str(tmp_path / f"{seed}.ledger"), tmp_path / f"{seed}.released", seed)
        assert 15 < answers <= spends <= answers + 20


def test_the_crash_check_sees_a_wrong_order(file: Path, tmp_path: Path) -> None:
    """The wrong twin: a process that releases before it reserves, and dies in between."""
    log = tmp_path / "released"
    make(file, 10).close()

    def released_too_early() -> None:
        os.write(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), b"x")
        os.kill(os.getpid(), signal.SIGKILL)

    os.waitpid(in_child(released_too_early), 0)
    assert spent_entries(open_ledger(file)) < released(log)


def test_a_kill_while_ledgers_are_created_leaves_none_half_made(tmp_path: Path) -> None:
    chance = random.Random(3)

    def create_for_ever(start: int) -> None:
        for number in range(start, start + 10_000):
            make(tmp_path / f"{number}.ledger").close()

    def made() -> list[Path]:
        return list(tmp_path.glob("[0-9]*.ledger"))

    for attempt in range(8):
        before = len(made())
        child = in_child(lambda start=attempt * 10_000: create_for_ever(start))  # type: ignore[misc]
        while len(made()) == before:
            time.sleep(0.001)
        kill_after(child, chance.uniform(0.0, 0.02))
    assert all(verify_ledger(path).intact for path in made())


def test_a_forked_child_uses_its_own_connection(location: str) -> None:
    ledger = make(location, 1)
    spend(ledger, 0.1)

    def ask() -> None:
        spend(ledger, 0.2)
        os._exit(0)

    assert os.waitstatus_to_exitcode(os.waitpid(in_child(ask), 0)[1]) == 0
    spend(ledger, 0.3)
    assert str(ledger.spent().epsilon) == "0.6"
    with pytest.raises(BudgetError):
        spend(ledger, 0.5)


def test_a_clock_that_goes_backwards_changes_nothing(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([f"20{year}-01-01T00:00:00.000+00:00" for year in range(40, 10, -1)])
    monkeypatch.setattr("optimaldp.ledger.chain.now", lambda: next(times))
    ledger = make(location, 1)
    for answer in ("first", "second", "third"):
        spend(ledger, 0.1, data_version="v1").record(answer)
    again = open_ledger(location)
    assert [line.answer for line in again.history()] == ["first", "second", "third"]
    assert [line.time for line in again.history()] == sorted((line.time for line in again.history()), reverse=True)
    assert verify_ledger(location).intact
