"""Real processes reserve, record and are killed at any moment, on a real ledger with askers; Hypothesis chooses what happens."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from fractions import Fraction
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from optimaldp.errors import BudgetError
from optimaldp.ledger import Budget, open_ledger
from optimaldp.ledger.askers import AskersLedger, Behalf
from optimaldp.privacy import level

TOTAL, OWN = Fraction(3), {"ann": Fraction(2), "ben": Fraction(2)}
askers, costs, workers = st.sampled_from(["ann", "ben"]), st.sampled_from(["1/2", "1"]), st.integers(0, 1)
moments = st.sampled_from([0.0, 0.001, 0.003, 0.01])


def work(path: str, pipe: Connection) -> None:
    """One process of a service: (reserve, asker, cost, request) or (record,); it answers when that is done."""
    with open_ledger(path) as ledger:
        held: list[Any] = []
        while True:
            said = pipe.recv()
            if said[0] == "reserve":
                _, asker, cost, request = said
                book = AskersLedger(ledger, Behalf(asker, Budget(OWN[asker]), request=request))
                try:
                    held.append((request, book.reserve(question=f"q{request}", level=level(cost))))
                    pipe.send(("held", request))
                except BudgetError:
                    pipe.send(("refused", request))
            elif held:
                request, reservation = held.pop(0)
                reservation.record(f"answer to {request}")
                pipe.send(("answered", request))  # only what is recorded is given out
            else:
                pipe.send(("nothing", None))


class Process:
    """A process that can be told something, and killed."""

    # Each starts from nothing, as the processes of a service do; the server of forks has everything loaded.
    context = get_context("forkserver")

    def __init__(self, path: Path) -> None:
        self.pipe, theirs = self.context.Pipe()
        self._process = self.context.Process(target=work, args=(str(path), theirs), daemon=True)
        self._process.start()
        theirs.close()

    def kill(self) -> None:
        assert self._process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.join()
        self.pipe.close()


class CuratorMachine(RuleBasedStateMachine):
    """Two processes; what the ledger holds is compared with what they said."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "survey.ledger"
        self.ledger = open_ledger(self.path, dataset="survey", budget=Budget(TOTAL))
        self.requests = iter(range(1000))
        self.asked: dict[str, tuple[str, Fraction]] = {}
        self.held: set[str] = set()
        self.given: set[str] = set()
        self.processes: list[Process] = []

    @initialize()
    def start(self) -> None:
        self.processes = [Process(self.path) for _ in range(2)]

    def new(self, asker: str, cost: str) -> tuple[str, str, str, str]:
        request = str(next(self.requests))
        self.asked[request] = asker, Fraction(cost)
        return "reserve", asker, cost, request

    def spent(self, asker: str | None = None) -> Fraction:
        records = [one.spend for one in self.ledger.history() if asker in (None, one.spend.asker)]
        return sum((Fraction(str(one.bound.epsilon)) for one in records), Fraction(0))

    def heard(self, said: tuple[str, str | None]) -> str:
        word, request = said
        if word == "held" and request is not None:
            self.held.add(request)
        if word == "answered" and request is not None:
            self.given.add(request)
        return word

    @rule(worker=workers, asker=askers, cost=costs)
    def reserve(self, worker: int, asker: str, cost: str) -> None:
        covered = self.spent() + Fraction(cost) <= TOTAL and self.spent(asker) + Fraction(cost) <= OWN[asker]
        self.processes[worker].pipe.send(self.new(asker, cost))
        assert self.heard(self.processes[worker].pipe.recv()) == ("held" if covered else "refused")

    @rule(first=askers, cost=costs, second=askers, other=costs)
    def race(self, first: str, cost: str, second: str, other: str) -> None:
        before = self.spent()
        for process, asker, price in zip(self.processes, (first, second), (cost, other)):
            process.pipe.send(self.new(asker, price))
        heard = [self.heard(process.pipe.recv()) for process in self.processes]
        paid = sum((Fraction(price) for price, word in zip((cost, other), heard) if word == "held"), Fraction(0))
        assert self.spent() == before + paid

    @rule(worker=workers)
    def record(self, worker: int) -> None:
        self.processes[worker].pipe.send(("record",))
        self.heard(self.processes[worker].pipe.recv())

    @rule(worker=workers, asker=askers, cost=costs, moment=moments, reserves=st.booleans())
    def kill(self, worker: int, asker: str, cost: str, moment: float, reserves: bool) -> None:
        before, number = self.spent(), len(self.ledger.history())
        process = self.processes[worker]
        process.pipe.send(self.new(asker, cost) if reserves else ("record",))
        time.sleep(moment)
        if process.pipe.poll():
            with contextlib.suppress(EOFError):
                self.heard(process.pipe.recv())
        process.kill()
        self.processes[worker] = Process(self.path)
        assert self.spent() in (before, before + Fraction(cost))  # all of it or nothing
        assert len(self.ledger.history()) <= number + 1

    @invariant()
    def nobody_overspends(self) -> None:
        assert self.spent() <= TOTAL
        assert all(self.spent(asker) <= own for asker, own in OWN.items())

    @invariant()
    def what_was_given_out_was_paid_and_is_recorded(self) -> None:
        records = {str(one.spend.request): one for one in self.ledger.history()}
        assert len(records) == len(self.ledger.history())  # one spend for each request
        assert self.held <= set(records)
        for request in self.given:
            assert records[request].answer == f"answer to {request}"
        assert self.spent() >= sum((self.asked[request][1] for request in self.given), Fraction(0))

    def teardown(self) -> None:
        for process in self.processes:
            process.kill()
        self.ledger.close()
        shutil.rmtree(self.folder, ignore_errors=True)


Process.context.set_forkserver_preload(["optimaldp.ledger.askers"])
TestCuratorMachine = pytest.mark.slow(CuratorMachine.TestCase)
TestCuratorMachine.settings = settings(
    max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
