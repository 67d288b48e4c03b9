"""The curator under load and under faults: ``make bench-service``.

A real service of four processes on one PostgreSQL, asked by two hundred askers through the asynchronous client on the loopback
address, beside the bare ledger on the same server in the same run. Then workers, clerks and the database are killed again and
again (kill -9) while everybody goes on asking. Bounded in count and in time.

    python -m benchmarks.service [--asks 600] [--kills 500] [--seconds 600]

What is counted afterwards comes from the ledger itself: nobody overspent, no answer that was given is missing in it, no spend was
answered twice, and what was spent is at least what was answered.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import secrets
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from optimaldp.client import AsyncCurator, connect
from optimaldp.errors import BudgetError, OptimalDPError
from optimaldp.ledger import Budget, open_ledger
from optimaldp.ledger.askers import AskersLedger, Behalf

EXAMPLE = Path(__file__).parents[1] / "examples" / "curator"
ASKERS = 200
PROCESSES = 4
GOAL = 0.7
CLERKS = 2
"""Processes that read tables, for each server process."""
COST = "0.01"
ANSWER_AFTER = 2.0
OWN = 50
"""The budget of each asker on the roomy data set."""
TIGHT, TIGHT_OWN = Fraction(1, 10), Fraction(1, 20)
"""The total of the tight data set, and of it each asker's: soon used up, so that everybody goes on asking past the limit."""
_PROGRAM = "from optimaldp.cli import main; main()"


# The service.


def write_configuration(folder: Path, ledger: str, *, answer_after: float, clerks: int) -> Path:
    """A curator of two data sets: in one there is room for everything, in the other soon for nothing."""
    for name in ("hospital.csv", "hospital.datapackage.json"):
        (folder / name).write_bytes((EXAMPLE / name).read_bytes())
    service = (
        f'port = 0\nledger = "{ledger}"\nanswer_after = {answer_after}\nrate = 1000000\nquestions_at_once = {clerks}\n'
    )
    described = 'description = "hospital.datapackage.json"\n'
    datasets = f"[datasets.roomy]\n{described}budget = {{epsilon = {ASKERS * OWN}}}\n"
    datasets += f"[datasets.tight]\n{described}budget = {{epsilon = {float(TIGHT)}}}\n"
    grants = f"{{roomy = {{epsilon = {OWN}}}, tight = {{epsilon = {float(TIGHT_OWN)}, shared = true}}}}"
    askers = "".join(f"[askers.{name}]\ndatasets = {grants}\n" for name in names())
    path = folder / "curator.toml"
    path.write_text(f"[service]\n{service}{datasets}{askers}")
    return path


def names() -> list[str]:
    return [f"asker{number}" for number in range(ASKERS)]


def make_keys(config: Path) -> dict[str, str]:
    from optimaldp.service.configuration import read_configuration
    from optimaldp.service.keys import create_key
    from optimaldp.service.store import ServiceStore

    read = read_configuration(config)
    store = ServiceStore(read.ledger)
    try:
        return {name: create_key(read, name, days=1, store=store) for name in names()}
    finally:
        store.close()


class Service:
    """The service as a supervisor keeps it: started again, on the same port, where all of it has ended."""

    def __init__(self, config: Path) -> None:
        self._config, self._port, self.restarts = config, free_port(), -1
        self.url = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def ensure(self) -> None:
        """Start it where it does not run, and wait until it listens."""
        if self._process is not None and self._process.poll() is None:
            return
        command = [sys.executable, "-c", _PROGRAM, "serve", "--config", str(self._config)]
        options = ["--workers", str(PROCESSES), "--port", str(self._port)]
        with (self._config.parent / "service.log").open("ab") as log:
            self._process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=log, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()
        self.restarts += 1

    def stop(self) -> None:
        if self._process is None:
            return
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(30)
        for pid in [self.pid, *children(self.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


@contextlib.contextmanager
def serving(config: Path) -> Iterator[Service]:
    """The service, until the end of the block."""
    service = Service(config)
    try:
        service.ensure()
        yield service
    finally:
        service.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# Asking.


@dataclass
class Given:
    """What askers were given."""

    answers: list[tuple[str, str, str, Any]] = field(default_factory=list)
    """(data set, asker, number of the request, answer) of everything that was paid for."""
    seconds: list[float] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)
    """When each answer came."""
    refused: int = 0
    failed: Counter[str] = field(default_factory=Counter)


_numbers = iter(range(10**9))


def new_question() -> str:
    """A question that nobody has asked."""
    number = next(_numbers)
    return f"count(age >= {number % 110}) >= {1 + number // 110}"


async def ask_once(curator: AsyncCurator, name: str, dataset: str, given: Given) -> None:
    start = time.perf_counter()
    body = {"dataset": dataset, "question": new_question(), "epsilon": COST}
    try:
        document = await curator.send(_call(body))
    except BudgetError:
        given.refused += 1
    except OptimalDPError as error:
        given.failed[f"{type(error).__name__} {getattr(error, 'status', '')}".strip()] += 1
    else:
        given.moments.append(time.perf_counter())
        given.seconds.append(given.moments[-1] - start)
        if document.get("recorded") is not True:
            given.answers.append((dataset, name, document["request"], document["answer"]))


def _call(body: dict[str, Any]) -> Any:
    """An ask whose whole document is kept: the number of its request is what the ledger is searched for."""
    from optimaldp.client import SentCall

    return SentCall("ask", lambda document: document, body, ticket=secrets.token_urlsafe(24))


@contextlib.asynccontextmanager
async def connected(url: str, keys: dict[str, str]) -> AsyncIterator[dict[str, AsyncCurator]]:
    made = {name: connect(url, key, asynchronous=True, timeout=200) for name, key in keys.items()}
    try:
        yield made
    finally:
        await asyncio.gather(*(one.close() for one in made.values()))


async def load(url: str, keys: dict[str, str], asks: int, given: Given) -> float:
    """All askers at once, each one question after the other; how many seconds that took."""
    async with connected(url, keys) as curators:
        await asyncio.gather(*(one.send(_datasets()) for one in list(curators.values())[:PROCESSES]))
        start = time.perf_counter()

        async def one_asker(name: str) -> None:
            for _ in range(max(1, asks // ASKERS)):
                await ask_once(curators[name], name, "roomy", given)

        await asyncio.gather(*(one_asker(name) for name in curators))
        return time.perf_counter() - start


def _datasets() -> Any:
    from optimaldp.client import SentCall

    return SentCall("datasets", lambda document: document)


def steady_rate(given: Given) -> float:
    """Answers per second between the first tenth and the last: at both ends clerks have nothing to do.

    Nobody is answered before ``answer_after`` has passed, and at the end nobody asks while the last answers wait for their time.
    The bare ledger has no such waits.
    """
    moments = sorted(given.moments)
    first, last = len(moments) // 10, len(moments) - 1 - len(moments) // 10
    return (last - first) / (moments[last] - moments[first]) if last > first else 0.0


# The bare ledger.


def bare_spends(
    url: str, entries: list[tuple[str, dict[str, Any], Any, Any]], ready: Any
) -> tuple[float, float, float]:
    """One process that reserves and records what the service did, by the same code: its begin, its end, what it used."""
    with open_ledger(url) as ledger:
        ready.wait()
        start, used = time.time(), time.process_time()
        for asker, charge, answer, statement in entries:
            held = AskersLedger(ledger, Behalf(asker, Budget(OWN), request=secrets.token_hex(16))).reserve(**charge)
            held.record(answer, statement)
        return start, time.time(), time.process_time() - used


def bare_rate(url: str, entries: list[tuple[str, dict[str, Any], Any, Any]]) -> tuple[float, float]:
    """The same spends per second without a service, by as many processes as read tables, and processor seconds for each."""
    with open_ledger(url, dataset="bare", budget=Budget(ASKERS * OWN)):
        pass
    context, number = get_context("spawn"), PROCESSES * CLERKS
    with context.Manager() as manager, context.Pool(number) as pool:
        ready = manager.Barrier(number)
        parts = [(url, entries[place::number], ready) for place in range(number)]
        times = pool.starmap(bare_spends, parts, chunksize=1)
    taken = max(end for _, end, _ in times) - min(start for start, _, _ in times)
    return len(entries) / taken, sum(used for _, _, used in times) / len(entries)


def written_entries(url: str) -> list[tuple[str, dict[str, Any], Any, Any]]:
    """What the service wrote: who asked, what was charged, the answer and its statement."""
    from optimaldp.privacy import level

    with open_ledger(url) as ledger:
        records = [one for one in ledger.history() if one.recorded is not None]
    return [
        (
            str(one.spend.asker),
            {
                "question": one.spend.question,
                "level": level(one.spend.bound.epsilon),
                "data_version": "1",
                "meaning": one.spend.meaning,
                "reading": dict(one.spend.reading),
            },
            one.answer,
            one.recorded.statement,
        )
        for one in records
        if one.recorded is not None
    ]


# Processor time: what a busy machine does not change much.


def processor_seconds(service: Service, database: Any) -> Counter[str]:
    """What everybody who takes part has used so far: those who ask, the server processes, the clerks, the database."""
    used: Counter[str] = Counter()
    for pid in [os.getpid(), *children(service.pid), *children(database.pid)]:
        command = command_of(pid)
        name = "clerks" if "service.clerk" in command else "database" if "postgres" in command else "servers"
        with contextlib.suppress(OSError):
            ticks = sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]))
            used["askers" if pid == os.getpid() else name] += ticks / os.sysconf("SC_CLK_TCK")  # type: ignore[assignment]
    return used


# Faults.


def children(pid: int) -> list[int]:
    try:
        own = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*own, *(more for child in own for more in children(child))]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kill_one(first: int, kind: str, chance: random.Random) -> bool:
    """Kill a clerk or a server process among those that our service started."""
    found = [pid for pid in children(first) if ("service.clerk" in command_of(pid)) == (kind == "clerk")]
    found = [pid for pid in found if kind == "clerk" or "spawn_main" in command_of(pid)]
    if not found:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(chance.choice(found), signal.SIGKILL)
        return True
    return False


@dataclass
class Kills:
    clerks: int = 0
    servers: int = 0
    databases: int = 0

    @property
    def total(self) -> int:
        return self.clerks + self.servers + self.databases


async def fault_storm(
    service: Service, keys: dict[str, str], database: Any, kills: int, seconds: float, given: Given
) -> Kills:
    """Everybody asks, and all the while something is killed."""
    chance, made, end = random.Random(31), Kills(), time.monotonic() + seconds
    going = True

    async with connected(service.url, keys) as curators:

        async def one_asker(name: str, own: random.Random) -> None:
            while going:
                await ask_once(curators[name], name, own.choice(["roomy", "roomy", "tight"]), given)
                await asyncio.sleep(own.uniform(0.0, 0.4))

        askers = [asyncio.create_task(one_asker(name, random.Random(name))) for name in list(curators)[:24]]
        while made.total < kills and time.monotonic() < end:
            await asyncio.to_thread(service.ensure)
            draw = chance.random()
            if draw < 0.04:
                await asyncio.to_thread(database.kill)
                await asyncio.to_thread(database.start)
                made.databases += 1
            elif draw < 0.16:
                made.servers += kill_one(service.pid, "server", chance)
            else:
                made.clerks += kill_one(service.pid, "clerk", chance)
            await asyncio.sleep(chance.uniform(0.2, 2.0))
        going = False
        await asyncio.wait(askers, timeout=240)
        for task in askers:
            task.cancel()
        await asyncio.gather(*askers, return_exceptions=True)
    return made


# What the ledger says afterwards.


@dataclass(frozen=True)
class Examined:
    """What must be nothing, and how much was spent and answered."""

    overspent: int
    lost: int
    twice: int
    spent: Fraction
    answered: Fraction

    @property
    def holds(self) -> bool:
        return not (self.overspent or self.lost or self.twice) and self.spent >= self.answered


def examined(ledgers: dict[str, str], given: Given) -> Examined:
    """Compare what was given out with what the ledgers hold."""
    overspent = lost = twice = 0
    spent = Fraction(0)
    for dataset, url in ledgers.items():
        with open_ledger(url) as ledger:
            records = list(ledger.history())
        by_asker: Counter[str] = Counter()
        for record in records:
            by_asker[str(record.spend.asker)] += Fraction(str(record.spend.bound.epsilon))  # type: ignore[assignment]
        total = Fraction(sum(by_asker.values()))
        spent += total
        own = Fraction(OWN) if dataset == "roomy" else TIGHT_OWN
        overspent += total > (ASKERS * OWN if dataset == "roomy" else TIGHT)
        overspent += sum(one > own for one in by_asker.values())
        requests = Counter(record.spend.request for record in records)
        twice += sum(number > 1 for request, number in requests.items() if request is not None)
        recorded = {record.spend.request: record.answer for record in records if record.recorded is not None}
        mine = [(request, answer) for name, _, request, answer in given.answers if name == dataset]
        lost += sum(recorded.get(request) != answer for request, answer in mine)
        twice += len(mine) - len({request for request, _ in mine})
    return Examined(overspent, lost, twice, spent, len(given.answers) * Fraction(COST))


# The whole run.


def run(asks: int, kills: int, seconds: float) -> dict[str, Any]:
    """Load, then faults, on one PostgreSQL; everything that was measured."""
    servers = import_module("postgres_server")  # of the tests
    if (reason := servers.why_missing()) is not None:
        return {"skipped": reason}
    with servers.postgres_server(durable=True) as database, tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        result: dict[str, Any] = {}
        if asks:
            result["load"] = _load(folder, database, asks)
        if kills:
            result["faults"] = _faults(folder, database, kills, seconds)
    result["holds"] = all(part["holds"] for part in result.values())
    return result


def _ledgers(url: str) -> dict[str, str]:
    return {name: f"{url}?ledger={name}" for name in ("roomy", "tight")}


def _load(folder: Path, database: Any, asks: int) -> dict[str, Any]:
    url = database.new_database("load")
    config = write_configuration(folder, url, answer_after=ANSWER_AFTER, clerks=CLERKS)
    keys, given = make_keys(config), Given()
    with serving(config) as service:
        warm = Given()
        asyncio.run(load(service.url, dict(list(keys.items())[: 2 * PROCESSES]), 1, warm))
        before = processor_seconds(service, database)
        taken = asyncio.run(load(service.url, keys, asks, given))
        used = processor_seconds(service, database)
        used.subtract(before)
    found = examined(_ledgers(url), Given(given.answers + warm.answers))
    if not given.answers:  # no clerk was ready in time: there is nothing to compare
        return {"answered": 0, "failed": dict(given.failed), **_shown(found), "holds": False}
    bare, bare_used = bare_rate(f"{database.new_database('bare')}?ledger=bare", written_entries(_ledgers(url)["roomy"]))
    rate, times = steady_rate(given), sorted(given.seconds)
    return {
        "askers": ASKERS,
        "processes": PROCESSES,
        "answered": len(given.answers),
        "failed": dict(given.failed),
        "asks_per_second": round(rate, 2),
        "asks_per_second_with_start_and_end": round(len(given.answers) / taken, 2),
        "bare_ledger_per_second": round(bare, 2),
        "ratio": round(rate / bare, 3),
        "goal": GOAL,
        "reached": rate >= GOAL * bare,
        "processor_milliseconds_per_ask": {
            name: round(1000 * seconds / max(1, len(given.answers)), 1) for name, seconds in used.items()
        }
        | {"bare ledger": round(1000 * bare_used, 1)},
        "median_seconds": round(statistics.median(times), 2) if times else None,
        "p95_seconds": round(times[int(0.95 * (len(times) - 1))], 2) if times else None,
        **_shown(found),
    }


def _faults(folder: Path, database: Any, kills: int, seconds: float) -> dict[str, Any]:
    url = database.new_database("faults")
    config = write_configuration(folder, url, answer_after=ANSWER_AFTER, clerks=1)
    keys, given = make_keys(config), Given()
    with serving(config) as service:
        done = asyncio.run(fault_storm(service, keys, database, kills, seconds, given))
    found = examined(_ledgers(url), given)
    killed = {"clerks": done.clerks, "servers": done.servers, "databases": done.databases, "total": done.total}
    outcome: dict[str, Any] = {"answered": len(given.answers), "refused": given.refused, "failed": dict(given.failed)}
    outcome["service_started_again"] = service.restarts
    return {"killed": killed, **outcome, **_shown(found)}


def _shown(found: Examined) -> dict[str, Any]:
    return {
        "overspent": found.overspent,
        "lost": found.lost,
        "answered_twice": found.twice,
        "spent": float(found.spent),
        "answered_epsilon": float(found.answered),
        "holds": found.holds,
    }


def main() -> int:
    reader = argparse.ArgumentParser(description="The curator under load and under faults.")
    reader.add_argument("--asks", type=int, default=600, help="questions under load; 0 leaves the load out")
    reader.add_argument("--kills", type=int, default=500, help="processes that are killed; 0 leaves the faults out")
    reader.add_argument("--seconds", type=float, default=900, help="for how long at most")
    said = reader.parse_args()
    result = run(said.asks, said.kills, said.seconds)
    print(json.dumps(result, indent=2))
    return 0 if result.get("holds", True) else 1


if __name__ == "__main__":
    sys.exit(main())
