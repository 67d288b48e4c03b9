"""The service as it runs: real processes, a real PostgreSQL, work that is cut off, several servers on one ledger, the command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from postgres_server import postgres_server, why_missing
from running import SETTINGS, SHARE, curator, merged, running, write_data

from optimaldp.errors import LedgerError
from optimaldp.ledger import open_ledger, verify_ledger
from optimaldp.service.keys import create_key, new_key
from optimaldp.service.refusals import FAILED
from optimaldp.service.store import MIGRATIONS, RequestRecord, ServiceStore, TakenError

needs_postgres = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
ROOM = 6.0  # seconds of a question: enough on a machine that does other things too


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    with postgres_server() as server:
        yield server


def client(url: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=120)


@pytest.fixture
def flag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that makes clerks slow."""
    monkeypatch.setattr("optimaldp.service.workers._MODULE", "slow_clerk")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)]))
    monkeypatch.setenv("SLOW_FLAG", str(tmp_path / "slow"))
    return tmp_path / "slow"


def spent(caller: httpx.Client) -> str:
    remaining = caller.get("/v1/remaining", params={"dataset": "hospital"}).json()["remaining"]
    return str(remaining["spent"]["epsilon"])


@pytest.mark.slow
def test_work_that_takes_too_long_is_cut_off_and_stays_paid(tmp_path: Path, flag: Path) -> None:
    made = curator(tmp_path, service={"answer_after": ROOM, "questions_at_once": 1})
    with running(made.config) as url, client(url, made.keys["ben"]) as ben:
        assert ben.post("/v1/ask", json=SHARE).status_code == 200
        flag.touch()
        slow = ben.post("/v1/ask", json=SHARE | {"epsilon": "0.5"})
        assert (slow.status_code, slow.json()["error"]["message"]) == (500, FAILED)
        flag.unlink()
        assert spent(ben) == "0.75"
        assert [one["status"] for one in ben.get("/v1/requests").json()["requests"]] == ["failed", "answered"]
        assert ben.post("/v1/ask", json=SHARE | {"epsilon": "0.1"}).status_code == 200  # by a clerk who took his place


def clerks() -> list[str]:
    """The clerks of this process."""
    own = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    children = [pid for listed in own for pid in listed.read_text().split()]
    return [pid for pid in children if b"slow_clerk" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@pytest.mark.long
def test_a_question_that_needs_too_much_memory_fails_alone_and_stays_paid(tmp_path: Path, flag: Path) -> None:
    made = curator(tmp_path, service={"answer_after": ROOM, "questions_at_once": 1, "memory": 4096})
    with running(made.config) as url, client(url, made.keys["ben"]) as ben:
        assert ben.post("/v1/ask", json=SHARE).status_code == 200
        before = clerks()
        flag.write_text("memory")
        large = ben.post("/v1/ask", json=SHARE | {"epsilon": "0.5"})
        assert (large.status_code, large.json()["error"]["message"]) == (500, FAILED)
        flag.unlink()
        assert spent(ben) == "0.75"
        assert ben.post("/v1/ask", json=SHARE | {"epsilon": "0.1"}).status_code == 200
        assert clerks() == before  # the same one, which was not harmed


_SLOWED = "import optimaldp.service.workers as w; w._MODULE = 'slow_clerk'; "


def written(folder: Path, **service: Any) -> dict[str, str]:
    """A configuration of a curator on one file, and its askers' keys."""
    from optimaldp.service.configuration import read_configuration

    write_data(folder)
    own = {"service": {"ledger": "c.db", "answer_after": ROOM, "port": 0, **service}}
    (folder / "curator.toml").write_text(_toml(merged(SETTINGS, own)))
    config = read_configuration(folder / "curator.toml")
    return {name: create_key(config, name) for name in ("ann", "ben", "otto")}


def until(holds: Any) -> Any:
    """Wait until it does."""
    for _ in range(600):
        if found := holds():
            return found
        time.sleep(0.1)
    raise AssertionError("it never did")


@pytest.mark.long
def test_who_goes_away_finds_her_answer_and_who_waits_at_the_stop_gets_it(tmp_path: Path, flag: Path) -> None:
    keys = written(tmp_path, questions_at_once=1)
    once = {"Idempotency-Key": "once"}
    started = command("--config", "curator.toml", folder=tmp_path, prelude=_SLOWED)
    with started as (process, lines), client(lines[-1].split()[-1], keys["ben"]) as ben:
        assert ben.post("/v1/ask", json=SHARE).status_code == 200  # from here on the clerk is ready
        flag.write_text("2")
        with pytest.raises(httpx.ReadTimeout):
            ben.post("/v1/ask", json=SHARE | {"epsilon": "0.5"}, headers=once, timeout=1)
        listed = until(lambda: [r for r in ben.get("/v1/requests").json()["requests"] if r["status"] == "answered"][1:])
        newest = max(ben.get("/v1/requests").json()["requests"], key=lambda one: str(one["created"]))
        answer = ben.get(f"/v1/requests/{newest['request']}").json()["answer"]["answer"]
        assert listed
        again = ben.post("/v1/ask", json=SHARE | {"epsilon": "0.5"}, headers=once).json()
        assert (again["answer"], again["request"], spent(ben)) == (answer, newest["request"], "0.75")

        def ask() -> httpx.Response:
            with client(str(ben.base_url), keys["ben"]) as other:
                return other.post("/v1/ask", json=SHARE | {"epsilon": "1"})

        with ThreadPoolExecutor(1) as thread:
            waiting = thread.submit(ask)
            until(lambda: spent(ben) == "1.75")
            process.send_signal(signal.SIGTERM)
            ben.close()
            assert waiting.result().json()["answer"] in ("yes", "no")
    assert process.returncode == 0
    with open_ledger(tmp_path / "c.hospital.ledger") as ledger:
        assert [(str(one.spend.bound.epsilon), one.recorded is not None) for one in ledger.history()] == [
            ("0.25", True),
            ("0.5", True),
            ("1", True),
        ]


@pytest.mark.slow
def test_a_stop_cuts_off_what_would_never_end_and_it_stays_paid(tmp_path: Path, flag: Path) -> None:
    keys = written(tmp_path, questions_at_once=1)
    started = command("--config", "curator.toml", folder=tmp_path, prelude=_SLOWED)
    with (
        started as (process, lines),
        ThreadPoolExecutor(1) as thread,
        client(lines[-1].split()[-1], keys["ben"]) as ben,
    ):
        assert ben.post("/v1/ask", json=SHARE).status_code == 200
        flag.touch()
        waiting = thread.submit(ben.post, "/v1/ask", json=SHARE | {"epsilon": "0.5"})
        with client(str(ben.base_url), keys["otto"]) as otto:
            until(lambda: spent(otto) == "0.75")
        process.send_signal(signal.SIGTERM)
        cut = waiting.result()
        assert (cut.status_code, cut.json()["error"]["message"]) == (500, FAILED)
    assert process.returncode == 0
    with open_ledger(tmp_path / "c.hospital.ledger") as ledger:
        assert [one.recorded is not None for one in ledger.history()] == [True, False]
        assert str(ledger.remaining().spent.epsilon) == "0.75"


@contextlib.contextmanager
def command(*words: str, folder: Path, prelude: str = "") -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """``optimaldp serve`` in a process of its own, and the lines that it prints until it listens."""
    program = [sys.executable, "-c", f"{prelude}from optimaldp.cli import main; main()", "serve", *words]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
        assert process.stdout is not None
        lines: list[str] = []
        try:
            while not lines or not lines[-1].startswith("optimaldp serve: "):
                lines.append(process.stdout.readline())
                assert lines[-1], (folder / "log").read_text()
            yield process, [line.strip() for line in lines]
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.mark.long
def test_the_demo_from_start_to_stop(tmp_path: Path) -> None:
    with command("--demo", "--port", "0", folder=tmp_path) as (process, lines):
        path = tmp_path / "demo-keys.json"
        assert lines[0] == str(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        keys = json.loads(path.read_text())
        assert list(keys) == ["url", "dataset", "steward", "approver", "auditor", "askers"]
        assert lines[1] == f"optimaldp serve: {keys['url']}"
        asked = {"dataset": keys["dataset"], "question": "share(smokes) >= 0.2", "epsilon": 0.5}
        with client(keys["url"], keys["askers"][0]) as ann, client(keys["url"], keys["askers"][1]) as ben:
            assert ann.post("/v1/ask", json=asked).json()["answer"] in ("yes", "no")
            assert ben.post("/v1/ask", json=asked).json()["replayed"] is True
            left = ben.get("/v1/remaining", params={"dataset": keys["dataset"]}).json()
            assert left["usable"] == {"epsilon": "0.5", "delta": "0"}  # they share it
            assert ben.post("/v1/ask", json=asked | {"epsilon": 0.6}).status_code == 202
            port = str(ben.base_url.port)
            with socket.create_connection(("127.0.0.1", int(port))) as stranger:
                stranger.sendall(b"no HTTP at all\r\n\r\n")
                assert stranger.recv(100).startswith(b"HTTP/1.1 400")
            # A second one that finds the port taken leaves the keys of the first as they are.
            taken = [sys.executable, "-m", "optimaldp", "serve", "--demo", "--port", port]
            second = subprocess.run(taken, cwd=tmp_path, capture_output=True, text=True, timeout=120)
            assert (second.returncode, second.stdout) == (2, "")
            assert "cannot be listened on" in second.stderr
            assert json.loads(path.read_text()) == keys
    assert process.returncode == 0
    events = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert [events[0]["event"], events[-1]["event"]] == ["started", "stopped"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["demo-keys.json", "log"]


def _toml(document: dict[str, Any]) -> str:
    """JSON is TOML for the inside of a table."""
    lines = []
    for section, tables in document.items():
        if section == "service":
            lines += ["[service]", *(f"{name} = {json.dumps(value)}" for name, value in tables.items())]
            continue
        for name, table in tables.items():
            lines.append(f"[{section}.{name}]")
            lines += [f"{key} = {_inline(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.slow
@needs_postgres
def test_several_processes_on_one_postgresql_spend_nothing_twice(tmp_path: Path, postgres: Any) -> None:
    database = postgres.new_database("curator")
    keys = written(tmp_path, ledger=database)
    with command("--config", "curator.toml", "--workers", "2", folder=tmp_path) as (process, lines):
        url = lines[-1].split()[-1]

        def ask(number: int) -> tuple[str, httpx.Response]:
            who = ("ann", "ben")[number % 2]
            # Each question twice, with one idempotency key: done once.
            sent = SHARE | {"question": f"share(smokes) >= 0.{number // 4 + 1}", "epsilon": "0.5"}
            with client(url, keys[who]) as caller:
                headers = {"Idempotency-Key": f"{who}{number // 4}"}
                return who, caller.post("/v1/ask", json=sent, headers=headers)

        with ThreadPoolExecutor(8) as threads:
            made = list(threads.map(ask, range(20)))
        with client(url, keys["otto"]) as otto:
            history = otto.get("/v1/history", params={"dataset": "hospital"}).json()["history"]
            requests = otto.get("/v1/requests").json()["requests"]
    assert process.returncode == 0
    answered = {one.json()["request"] for _, one in made if one.status_code == 200}
    assert {one.status_code for _, one in made} <= {200, 409}
    assert {one["request"] for one in history} == answered == {one["request"] for one in requests}
    assert len({one["request"] for one in history}) == len(history)
    spent = {who: sum(one["asker"] == who for one in history) for who in ("ann", "ben")}
    assert spent == {"ann": 2, "ben": 4}  # exactly what each has, in halves
    assert verify_ledger(f"{database}?ledger=hospital").intact


@pytest.mark.long
@pytest.mark.parametrize("server", [False, pytest.param(True, marks=needs_postgres)], ids=["SQLite", "PostgreSQL"])
def test_the_store_is_migrated_once_and_a_later_one_is_refused(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, server: bool
) -> None:
    place = request.getfixturevalue("postgres").new_database("store") if server else str(tmp_path / "s.db")
    store = ServiceStore(place)
    _, record = new_key("ann")
    store.add_key(record)
    store.add_request(RequestRecord("1", "ask", "ann", "hospital", "{}", "waiting", record.created, idempotency="k"))
    with pytest.raises(TakenError):
        store.add_request(
            RequestRecord("2", "ask", "ann", "hospital", "{}", "running", record.created, idempotency="k")
        )
    with ThreadPoolExecutor(4) as threads:  # of several approvers one lets it through
        moved = list(threads.map(lambda _: store.move_request("1", "waiting", status="running"), range(8)))
    assert sorted(moved) == [False] * 7 + [True]
    store.close()
    monkeypatch.setattr(
        "optimaldp.service.store.MIGRATIONS",
        (*MIGRATIONS, ("ALTER TABLE optimaldp_service_keys ADD COLUMN note TEXT",)),
    )
    for _ in range(2):  # the second time there is nothing to do
        later = ServiceStore(place)
        assert "note" in later._table("keys").c
        assert later._table("keys").c.keys()[:2] == ["id", "name"]
        later.close()
    monkeypatch.undo()
    number = len(MIGRATIONS)
    with pytest.raises(LedgerError, match=f"has version {number + 1}, and this optimaldp knows version {number}"):
        ServiceStore(place)
