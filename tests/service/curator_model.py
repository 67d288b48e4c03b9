"""Reserve, sample, record, approve: every interleaving of a small curator, walked breadth-first.

The world has what survives a crash (the ledger's spends, the state of each request) and what does not (what each worker is
doing). One step is one transaction or one act of a worker. Workers and the database may die between any two steps. A client may
send the same request again, and an approver may click twice or change her mind.

:class:`Protocol` is what the service does. A wrong twin overrides one of its steps, and the walk has to find where that goes
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

# What is asked, fixed for one walk.


@dataclass(frozen=True)
class Request:
    """Something that somebody asks."""

    asker: str
    question: str
    cost: int
    waits: bool = False
    """Whether an approver has to let it through."""


@dataclass(frozen=True)
class Scene:
    """Who asks what within which budgets, and how much may go wrong."""

    requests: tuple[Request, ...]
    total: int
    budgets: dict[str, int]
    workers: int = 2
    tries: int = 1
    """How often a client sends each request."""
    clicks: int = 1
    """How often an approver decides on each request that waits."""
    crashes: int = 1


# The world.

NEW, WAITING, RUNNING, REFUSED = "new", "waiting", "running", "refused"
APPROVE, REFUSE = "approve", "refuse"


class Spend(NamedTuple):
    """A durable spend, and the draw that was recorded for it (none yet: ``None``)."""

    request: int
    draw: int | None = None


GIVEN_BACK = -1
"""The draw of a spend that was taken back: it does not count any more. The service never takes one back."""


class Worker(NamedTuple):
    """What a worker is at: a step of a request, its spend and its draw so far. Nothing of it survives a crash."""

    step: str = "idle"
    request: int = -1
    spend: int | None = None
    draw: int | None = None


IDLE = Worker()


class World(NamedTuple):
    """One state of everything."""

    spends: tuple[Spend, ...]
    status: tuple[str, ...]
    workers: tuple[Worker, ...]
    left: frozenset[tuple[int, int]]
    """What got out: (request, draw)."""
    decided: tuple[str | None, ...]
    """What an approver decided first on each request: kept by the watcher, the protocol cannot see it."""
    tries: tuple[int, ...]
    clicks: tuple[int, ...]
    crashes: int
    draws: int = 0

    def doing(self, place: int, worker: Worker) -> World:
        """With another act of one worker; workers are alike, so that their order is no difference."""
        workers = list(self.workers)
        workers[place] = worker
        return self._replace(workers=tuple(sorted(workers, key=repr)))

    def with_status(self, request: int, status: str) -> World:
        return self._replace(status=_put(self.status, request, status))


def _put(values: tuple, place: int, value: object) -> tuple:
    return (*values[:place], value, *values[place + 1 :])


Step = tuple[str, World]


# What the service does.


class Protocol:
    """One transaction or act at a time. Each step of a worker is a method: its world in, its possible next worlds out."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene

    def begin(self, _: World, request: int) -> Worker:
        return Worker("look", request)

    def look(self, world: World, place: int, worker: Worker) -> World:
        """Give what is recorded; park what waits for an approver; else go on to pay."""
        asked, status = self.scene.requests[worker.request], world.status[worker.request]
        known = self.recorded(world, worker.request, shared=not asked.waits)
        if known is not None:
            return world.doing(place, worker._replace(step="deliver", draw=known))
        if asked.waits:
            parked = world.with_status(worker.request, WAITING) if status == NEW else world
            return parked.doing(place, IDLE)
        return world.doing(place, worker._replace(step="reserve"))

    def carry(self, world: World, place: int, worker: Worker) -> World:
        """What was approved: it, too, is given from the record where it can be."""
        known = self.recorded(world, worker.request, shared=True)
        after = "reserve" if known is None else "deliver"
        return world.doing(place, worker._replace(step=after, draw=known))

    def decide(self, world: World, place: int, request: int, decision: str) -> World:
        """An approver's click: only what waits can be decided, and whoever takes the click carries the request out."""
        if world.status[request] != WAITING:
            return world
        return self.decided(world, place, request, decision)

    def reserve(self, world: World, place: int, worker: Worker) -> World:
        """Check and spend in one transaction. What the budget does not cover goes on waiting, or is refused."""
        asked = self.scene.requests[worker.request]
        if self.covers(world, asked):
            return self.spend(world, place, worker, "draw")
        return (world.with_status(worker.request, WAITING) if asked.waits else world).doing(place, IDLE)

    def draw(self, world: World, place: int, worker: Worker) -> World:
        return world._replace(draws=world.draws + 1).doing(place, worker._replace(step="record", draw=world.draws))

    def record(self, world: World, place: int, worker: Worker) -> World:
        return self.write(world, worker).doing(place, worker._replace(step="deliver"))

    def deliver(self, world: World, place: int, worker: Worker) -> World:
        assert worker.draw is not None
        return world._replace(left=world.left | {(worker.request, worker.draw)}).doing(place, IDLE)

    def recover(self, world: World) -> World:
        """What a worker does when it starts again after a crash: nothing, because an open spend may be at work elsewhere."""
        return world

    # The parts of steps.

    def decided(self, world: World, place: int, request: int, decision: str) -> World:
        if decision == REFUSE:
            return world.with_status(request, REFUSED)
        return world.with_status(request, RUNNING).doing(place, Worker("carry", request))

    def recorded(self, world: World, request: int, *, shared: bool) -> int | None:
        """Her own last answer to this question; else, if they are shared, the first of others that needed no approver."""
        asked, requests = self.scene.requests[request], self.scene.requests
        same = [s for s in world.spends if s.draw is not None and requests[s.request].question == asked.question]
        own = [s.draw for s in same if requests[s.request].asker == asked.asker]
        others = [s.draw for s in same if shared and not requests[s.request].waits]
        return next(iter(own[-1:] or others[:1]), None)

    def covers(self, world: World, asked: Request) -> bool:
        total, own = self.spent(world), self.spent(world, asked.asker)
        return total + asked.cost <= self.scene.total and own + asked.cost <= self.scene.budgets[asked.asker]

    def spend(self, world: World, place: int, worker: Worker, then: str) -> World:
        paid = world._replace(spends=(*world.spends, Spend(worker.request)))
        return paid.doing(place, worker._replace(step=then, spend=len(world.spends)))

    def write(self, world: World, worker: Worker) -> World:
        assert worker.spend is not None
        return world._replace(spends=_put(world.spends, worker.spend, Spend(worker.request, worker.draw)))

    def spent(self, world: World, asker: str | None = None) -> int:
        requests = [self.scene.requests[spend.request] for spend in world.spends]
        return sum(one.cost for one in requests if asker in (None, one.asker))


# Everything that can happen next.


def first(scene: Scene) -> World:
    count = len(scene.requests)
    clicks = tuple(scene.clicks if one.waits else 0 for one in scene.requests)
    idle = (IDLE,) * scene.workers
    return World((), (NEW,) * count, idle, frozenset(), (None,) * count, (scene.tries,) * count, clicks, scene.crashes)


def steps(protocol: Protocol, world: World) -> Iterator[Step]:
    """Every next world, with the name of what happened."""
    for place, worker in enumerate(world.workers):
        if worker in world.workers[:place]:
            continue  # workers are alike
        if worker.step == "idle":
            yield from _requests(protocol, world, place)
            yield from _clicks(protocol, world, place)
        else:
            yield f"{worker.step} {worker.request}", getattr(protocol, worker.step)(world, place, worker)
            if world.crashes:
                killed = world._replace(crashes=world.crashes - 1).doing(place, IDLE)
                yield f"kill at {worker.step} {worker.request}", protocol.recover(killed)
    if world.crashes and any(worker != IDLE for worker in world.workers):
        fallen = world._replace(crashes=world.crashes - 1, workers=(IDLE,) * len(world.workers))
        yield "the database dies", protocol.recover(fallen)


def _requests(protocol: Protocol, world: World, place: int) -> Iterator[Step]:
    for request, left in enumerate(world.tries):
        if left:
            tried = world._replace(tries=_put(world.tries, request, left - 1))
            yield f"ask {request}", tried.doing(place, protocol.begin(world, request))


def _clicks(protocol: Protocol, world: World, place: int) -> Iterator[Step]:
    for request, left in enumerate(world.clicks):
        if not left or world.status[request] == NEW:
            continue
        for decision in (APPROVE, REFUSE):
            made = protocol.decide(world, place, request, decision)
            first_word = _put(world.decided, request, world.decided[request] or decision)
            yield (
                f"{decision} {request}",
                made._replace(decided=first_word, clicks=_put(world.clicks, request, left - 1)),
            )


# What must never be.


def wrong(scene: Scene, world: World) -> str:
    """The promise that this world breaks, or nothing."""
    standing = [spend for spend in world.spends if spend.draw != GIVEN_BACK]
    requests = [scene.requests[spend.request] for spend in standing]
    if sum(one.cost for one in requests) > scene.total:
        return "the data set is overspent"
    for asker, budget in scene.budgets.items():
        if sum(one.cost for one in requests if one.asker == asker) > budget:
            return f"{asker} is overspent"
    recorded = {spend.draw: scene.requests[spend.request].question for spend in standing if spend.draw is not None}
    for request, draw in world.left:
        if draw not in recorded:
            return "an answer got out that no spend stands for"
        if recorded[draw] != scene.requests[request].question:
            return "an answer got out to another question"
    for request, asked in enumerate(scene.requests):
        paid = sum(spend.request == request for spend in standing)
        out = any(one == request for one, _ in world.left)
        if asked.waits and world.decided[request] != APPROVE and (paid or out):
            return "answered or paid without an approval"
        if asked.waits and paid > 1:
            return "one approval was paid twice"
    return ""


@dataclass(frozen=True)
class Walk:
    """What a walk found: how many worlds there are, or the way to the first that is wrong."""

    worlds: int
    fault: str = ""
    way: tuple[str, ...] = ()
    answered: frozenset[int] = frozenset()
    """The requests that got an answer somewhere."""
    lost: bool = False
    """Whether there is an end with more spent than answered: what a crash may cost."""


def walk(protocol: Protocol) -> Walk:
    """Every world that can be reached, breadth-first; stops at the first that breaks a promise."""
    scene, start = protocol.scene, first(protocol.scene)
    came_from: dict[World, tuple[World, str] | None] = {start: None}
    here, answered, lost = [start], frozenset[int](), False
    while here:
        found: list[World] = []
        for world in here:
            answered |= {request for request, _ in world.left}
            ends = True
            for name, after in steps(protocol, world):
                ends = ends and after == world
                if after in came_from:
                    continue
                came_from[after] = world, name
                if fault := wrong(scene, after):
                    return Walk(len(came_from), fault, _way(came_from, after))
                found.append(after)
            lost = lost or (ends and any(spend.draw is None for spend in world.spends))
        here = found
    return Walk(len(came_from), answered=answered, lost=lost)


def _way(came_from: dict[World, tuple[World, str] | None], world: World) -> tuple[str, ...]:
    names: list[str] = []
    while (before := came_from[world]) is not None:
        world, name = before
        names.append(name)
    return tuple(reversed(names))


# Twins that are wrong, each in one step.


class RecordsFirst(Protocol):
    """Draws and answers, and pays afterwards."""

    def look(self, world: World, place: int, worker: Worker) -> World:
        made = super().look(world, place, worker)
        busy = next((n for n, one in enumerate(made.workers) if one == worker._replace(step="reserve")), None)
        return made if busy is None else made.doing(busy, worker._replace(step="draw"))

    def record(self, world: World, place: int, worker: Worker) -> World:
        assert worker.draw is not None
        out = world._replace(left=world.left | {(worker.request, worker.draw)})
        return out.doing(place, worker._replace(step="reserve"))

    def spend(self, world: World, place: int, worker: Worker, then: str) -> World:
        paid = world._replace(spends=(*world.spends, Spend(worker.request, worker.draw)))
        return paid.doing(place, IDLE)


class ChecksOutside(Protocol):
    """Looks whether the budget covers it in one transaction, and spends in another."""

    def reserve(self, world: World, place: int, worker: Worker) -> World:
        covered = self.covers(world, self.scene.requests[worker.request])
        return world.doing(place, worker._replace(step="pay") if covered else IDLE)

    def pay(self, world: World, place: int, worker: Worker) -> World:
        return self.spend(world, place, worker, "draw")


class ApprovesTwice(Protocol):
    """Takes every click of an approver, whatever was decided or done before."""

    def decide(self, world: World, place: int, request: int, decision: str) -> World:
        return self.decided(world, place, request, decision)


class ClaimsOutside(Protocol):
    """Looks whether a request waits in one transaction, and takes it in another."""

    def decide(self, world: World, place: int, request: int, decision: str) -> World:
        if decision == REFUSE or world.status[request] != WAITING:
            return super().decide(world, place, request, decision)
        return world.doing(place, Worker("take", request))

    def take(self, world: World, place: int, worker: Worker) -> World:
        return self.decided(world, place, worker.request, APPROVE)


class ReplaysPastApproval(Protocol):
    """Gives what is recorded before it asks whether somebody has to let it through."""

    def look(self, world: World, place: int, worker: Worker) -> World:
        known = self.recorded(world, worker.request, shared=True)
        if known is not None:
            return world.doing(place, worker._replace(step="deliver", draw=known))
        return super().look(world, place, worker)


class GivesBackAfterCrash(Protocol):
    """Takes back, after a crash, what was spent without an answer: another worker may be about to record it."""

    def recover(self, world: World) -> World:
        given_back = [Spend(one.request, GIVEN_BACK) if one.draw is None else one for one in world.spends]
        return world._replace(spends=tuple(given_back))

    def write(self, world: World, worker: Worker) -> World:
        assert worker.spend is not None
        taken_away = world.spends[worker.spend].draw == GIVEN_BACK
        return world if taken_away else super().write(world, worker)

    def spent(self, world: World, asker: str | None = None) -> int:
        return super().spent(_standing(world), asker)

    def recorded(self, world: World, request: int, *, shared: bool) -> int | None:
        return super().recorded(_standing(world), request, shared=shared)


def _standing(world: World) -> World:
    return world._replace(spends=tuple(one for one in world.spends if one.draw != GIVEN_BACK))


class ForgetsTheTotal(Protocol):
    """Looks at the asker's own budget alone."""

    def covers(self, world: World, asked: Request) -> bool:
        return self.spent(world, asked.asker) + asked.cost <= self.scene.budgets[asked.asker]


class ForgetsTheAsker(Protocol):
    """Looks at the data set's total alone."""

    def covers(self, world: World, asked: Request) -> bool:
        return self.spent(world) + asked.cost <= self.scene.total


class DeliversFirst(Protocol):
    """Hands an answer out before it is recorded."""

    def record(self, world: World, place: int, worker: Worker) -> World:
        assert worker.draw is not None
        out = world._replace(left=world.left | {(worker.request, worker.draw)})
        return out.doing(place, worker._replace(step="note"))

    def note(self, world: World, place: int, worker: Worker) -> World:
        return self.write(world, worker).doing(place, IDLE)
