"""The service's own desk, clerks and ledger go the ways of the model: after every step both stand at the same place.

Each request that is carried out is a thread that stops where a step of the model begins, until the walk lets it go on or kills
it there.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from curator_model import IDLE, NEW, REFUSED, RUNNING, WAITING, Protocol, Scene, World, first, steps
from running import write_data
from test_curator_model import SCENES

from optimaldp.asking.releasing import ReadyQuestion
from optimaldp.ledger import Ledger
from optimaldp.ledger.askers import AskersLedger
from optimaldp.service.clerk import Clerk
from optimaldp.service.configuration import Role, configuration_of
from optimaldp.service.desk import CuratorDesk, clerk_settings
from optimaldp.service.keys import Person, new_key
from optimaldp.service.refusals import Refused

QUESTIONS = {"x": "count(smokes)", "y": "count(age >= 30)", "z": "count(ward = 'north')"}
STATUS = {"waiting": WAITING, "refused": REFUSED, "running": RUNNING, "answered": RUNNING, "failed": RUNNING}
WALKS = 10


class Killed(BaseException):
    """A process that ends here."""


class Carrier(threading.Thread):
    """One request on its way, as a process of the service carries it out."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work, self._moved, self._may = work, threading.Semaphore(0), threading.Semaphore(0)
        self.at, self._killed = "", False
        self.start()
        self._moved.acquire()

    def run(self) -> None:
        with contextlib.suppress(Killed):
            self._work()
        self.at = ""
        self._moved.release()

    def stop_at(self, step: str) -> None:
        self.at = step
        self._moved.release()
        self._may.acquire()
        if self._killed:
            raise Killed

    def go_on(self, *, killed: bool = False) -> None:
        self._killed = killed
        self._may.release()
        self._moved.acquire()


def stop_at(step: str) -> None:
    carrier = threading.current_thread()
    if isinstance(carrier, Carrier):
        carrier.stop_at(step)


@pytest.fixture(autouse=True)
def _stops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step of the model is a place in the code."""
    for owner, name, step in (
        (AskersLedger, "reserve_together", "reserve"),
        (Ledger, "record_together", "record"),
        (ReadyQuestion, "draw", "draw"),
    ):
        work = getattr(owner, name)

        def stopped(self: Any, *said: Any, _work: Any = work, _step: str = step, **more: Any) -> Any:
            if _step != "draw" or said[1] is not None:  # a draw of the referee is for no data set
                stop_at(_step)
            return _work(self, *said, **more)

        monkeypatch.setattr(owner, name, stopped)


class Curator:
    """A scene in the real service."""

    def __init__(self, scene: Scene, folder: Path) -> None:
        write_data(folder)
        asks = {name: [one for one in scene.requests if one.asker == name] for name in scene.budgets}
        askers = {}
        for name, own in scene.budgets.items():
            askers[name] = {"datasets": {"hospital": {"epsilon": own, "shared": True}}}
            if least := min((one.cost for one in asks[name] if one.waits), default=0):
                assert all(one.waits or one.cost < least for one in asks[name])
                askers[name] |= {"approve_above": str(least - 0.5)}
        hospital = {
            "description": "hospital.datapackage.json",
            "budget": {"epsilon": scene.total},
            "share_answers": True,
        }
        settings = {"datasets": {"hospital": hospital}, "askers": askers, "approvers": {"dora": {}}}
        self.scene, self.config = scene, configuration_of(settings, folder)
        self.desk = CuratorDesk(self.config)
        self.numbers: dict[int, str] = {}
        self.carriers: dict[int, Carrier] = {}
        self.out: dict[int, Any] = {}

    def person(self, name: str, role: Role) -> Person:
        return Person(name, frozenset({role}), new_key(name)[1])

    def step(self, name: str) -> None:
        words = name.split()
        if name == "the database dies":
            for carrier in [one for one in self.carriers.values() if one.at]:
                carrier.go_on(killed=True)
        elif words[0] == "kill":
            self.carriers[int(words[-1])].go_on(killed=True)
        elif hasattr(self, f"_{words[0]}"):
            getattr(self, f"_{words[0]}")(int(words[1]))
        else:
            assert self.carriers[int(words[1])].at == words[0]
            self.carriers[int(words[1])].go_on()

    def _ask(self, request: int) -> None:
        asked = self.scene.requests[request]
        body = {"dataset": "hospital", "question": QUESTIONS[asked.question], "epsilon": asked.cost}
        begun: Any = self.desk.begin(self.person(asked.asker, Role.ASKER), "ask", body, None)
        self.numbers[request] = begun.record.id
        self._carry_out(request, "look", begun, self.desk.settle)

    def _approve(self, request: int) -> None:
        try:
            begun = self.desk.approve(self.person("dora", Role.APPROVER), self.numbers[request])
        except Refused:
            return
        self._carry_out(request, "carry", begun, self.desk.settle_approved)

    def _refuse(self, request: int) -> None:
        with contextlib.suppress(Refused):
            self.desk.refuse(self.person("dora", Role.APPROVER), self.numbers[request], {"reason": "no"})

    def _carry_out(self, request: int, step: str, begun: Any, settle: Callable[..., Any]) -> None:
        def work() -> None:
            stop_at(step)
            clerk = Clerk(clerk_settings(self.config))
            status, text = clerk.run("ask", begun.payload)
            if status == 200:
                stop_at("deliver")
            document = json.loads(text)
            settle(begun.record, status, dict(document))
            if status == 200:
                self.out[request] = document["answer"]
            clerk.close()

        self.carriers[request] = Carrier(work)

    def require_same(self, world: World) -> None:
        """Both stand at the same steps, spent and recorded the same in the same order, and gave out the same."""
        at = {request: one.at for request, one in self.carriers.items() if one.at}
        assert at == {one.request: one.step for one in world.workers if one != IDLE}
        of = {number: request for request, number in self.numbers.items()}
        records = list(self.desk._ledgers["hospital"].history())
        assert [(of[str(one.spend.request)], one.recorded is not None) for one in records] == [
            (spend.request, spend.draw is not None) for spend in world.spends
        ]
        drawn = {spend.draw: record.answer for spend, record in zip(world.spends, records)}
        assert self.out == {request: drawn[draw] for request, draw in world.left}
        for request, asked in enumerate(self.scene.requests):
            if asked.waits and world.status[request] != NEW:
                record = self.desk.store.request(self.numbers[request])
                assert record is not None
                assert STATUS[record.status] == world.status[request]

    def close(self) -> None:
        self.step("the database dies")
        self.desk.close()


WALKED = [name for name in SCENES if name != "three workers"]  # whose levels tell what waits


def walk_along(name: str, number: int, folder: Path) -> int:
    """One random way of the model to its end, or until the service stands somewhere else; how many steps it has.

    A request is sent once: a second one without an idempotency key would be another request.
    """
    model, chance, taken = Protocol(replace(SCENES[name], tries=1)), random.Random(f"{name} {number}"), 0
    (folder / f"{name} {number}").mkdir()
    world, service, step = first(model.scene), Curator(model.scene, folder / f"{name} {number}"), "ask 0"
    try:
        while following := list(steps(model, world)):
            # Mostly nobody dies, and whoever is on the way goes on.
            alive = [one for one in following if not one[0].startswith(("kill", "the database"))]
            on = [one for one in alive if one[0].split()[-1] == step.split()[-1]]
            step, world = chance.choice([*following, *2 * alive, *6 * on])
            service.step(step)
            service.require_same(world)
            taken += 1
        return taken
    finally:
        service.close()


@pytest.mark.long
@pytest.mark.parametrize("name", WALKED)
def test_the_service_goes_the_ways_of_the_model(name: str, tmp_path: Path) -> None:
    assert sum(walk_along(name, number, tmp_path) for number in range(WALKS)) >= 8 * WALKS


@pytest.mark.long
@pytest.mark.parametrize(
    ("place", "twin"),
    [
        ("ledger.askers.AskersLedger._require_room", lambda self, chain, costs: chain.account.require(costs)),
        ("ledger.askers.AskersLedger._require_room", lambda *_: None),
        ("service.clerk._without_sharing", lambda book: book),
        ("service.clerk._must_wait", lambda *_: False),
        ("ledger.askers.AskersLedger._chosen", lambda self, chain, answers: answers[0] if answers else None),
    ],
    ids=[
        "only the total",
        "no budget",
        "shares past an approver",
        "nothing waits",
        "shares what was approved",
    ],
)
def test_a_service_that_does_otherwise_is_found(
    place: str, twin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"optimaldp.{place}", twin)
    ways = [(name, number) for number in range(WALKS) for name in WALKED]
    with pytest.raises(AssertionError):
        sum(walk_along(*way, tmp_path) for way in ways)
