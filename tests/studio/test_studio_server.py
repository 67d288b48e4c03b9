"""The command, its ports, its processes, and how a call is cancelled."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import run_cli

pytest.importorskip("starlette", reason="the studio extra is not installed")
pytest.importorskip("uvicorn", reason="the studio extra is not installed")

from studio_server import SLOW_QUESTION, running_studio, write_survey

from optimaldp.studio.pool import Pool, WorkerLostError
from optimaldp.studio.server import _keep_to_ourselves
from optimaldp.studio.settings import AtWork

NO_TABLE = AtWork()
QUICK = '{"question": "majority(x)", "epsilon": 1}'
SLOW = json.dumps({"question": SLOW_QUESTION, "epsilon": "0.001"})


def workers_of(parent: int) -> set[int]:
    """The computing processes that a process has started and that still live."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            _name, _, rest = entry.read_text().rpartition(")")
            command = (entry.parent / "cmdline").read_bytes()
        except OSError:
            continue
        state, owner = rest.split()[:2]
        if int(owner) == parent and state != "Z" and b"optimaldp.studio.worker" in command:
            found.add(int(entry.parent.name))
    return found


def eventually(holds: Callable[[], bool]) -> bool:
    for _ in range(200):
        if holds():
            return True
        time.sleep(0.05)
    return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are counted in /proc")


@needs_proc
def test_a_cancelled_call_leaves_no_process_behind() -> None:
    async def scenario() -> None:
        pool = Pool(NO_TABLE)
        work = asyncio.create_task(pool.run("preview", SLOW, seconds=None))
        async with asyncio.timeout(30):
            while not workers_of(os.getpid()):
                await asyncio.sleep(0.02)
        (busy,) = workers_of(os.getpid())
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        status, _ = await pool.run("preview", QUICK, seconds=None)
        assert status == 200
        assert busy not in workers_of(os.getpid())
        await pool.close()
        assert not workers_of(os.getpid())

    asyncio.run(scenario())


@pytest.mark.long
@needs_proc
def test_a_worker_that_dies_is_an_error_and_the_next_call_works() -> None:
    async def scenario() -> None:
        pool = Pool(NO_TABLE)
        await pool.run("preview", QUICK, seconds=None)
        work = asyncio.create_task(pool.run("preview", SLOW, seconds=None))
        await asyncio.sleep(0.2)
        for busy in workers_of(os.getpid()):
            os.kill(busy, 9)
        with pytest.raises(WorkerLostError):
            await work
        assert (await pool.run("preview", QUICK, seconds=None))[0] == 200
        await pool.close()

    asyncio.run(scenario())


@pytest.mark.long
@needs_proc
def test_public_calls_never_run_where_a_table_was_opened(tmp_path: Path) -> None:
    async def scenario() -> None:
        pool = Pool(AtWork(str(write_survey(tmp_path)), str(tmp_path / "none.ledger")))
        await pool.run("session", "{}", seconds=None)
        table = workers_of(os.getpid())
        await pool.run("preview", QUICK, seconds=None)
        assert len(workers_of(os.getpid()) - table) == 1
        await pool.close()

    asyncio.run(scenario())


@pytest.mark.slow
@needs_proc
def test_a_closed_tab_stops_the_work() -> None:
    with running_studio() as address:
        with urllib.request.urlopen(f"{address}/api/session") as answer:  # the workers are there
            assert answer.status == 200
        listener = int(address.rpartition(":")[2])
        server = next(pid for pid in workers_parents() if pid != os.getpid())
        connection = http.client.HTTPConnection("127.0.0.1", listener)
        connection.request("POST", "/api/preview", SLOW, {"Content-Type": "application/json"})
        time.sleep(1)
        during = workers_of(server)
        assert during
        connection.close()
        assert eventually(lambda: not during <= workers_of(server))


def workers_parents() -> set[int]:
    """Children of this process that run the studio."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            owner = int(entry.read_text().rpartition(")")[2].split()[1])
            command = (entry.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if owner == os.getpid() and b"studio" in command:
            found.add(int(entry.parent.name))
    return found


def test_the_page_comes_from_the_command() -> None:
    with running_studio() as address, urllib.request.urlopen(address) as answer:
        assert address.startswith("http://127.0.0.1:")
        assert b"optimaldp" in answer.read()


def test_bound_elsewhere_the_address_holds_a_token() -> None:
    with running_studio("--host", "0.0.0.0") as address:
        assert "/?token=" in address


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--data", "nowhere.csv"), "nowhere.csv"),
        (("--ledger", "some.ledger"), "without a table"),
        (("--budget", "-1", "--data", "nowhere.csv"), "epsilon"),
        (("--host", "nowhere.invalid"), "nowhere.invalid"),
    ],
)
def test_bad_options_are_one_line_and_exit_code_2(options: tuple[str, ...], words: str) -> None:
    ran = run_cli("studio", "--no-open", *options)
    assert ran.code == 2
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_taken_port_is_told() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = run_cli("studio", "--no-open", "--port", str(taken.getsockname()[1]))
    assert ran.code == 2
    assert "taken" in ran.stderr


@pytest.mark.parametrize(("exclusive", "wanted"), [(None, socket.SO_REUSEADDR), (-5, -5)])
def test_a_port_in_use_is_never_shared(monkeypatch: pytest.MonkeyPatch, exclusive: int | None, wanted: int) -> None:
    """On Windows SO_REUSEADDR would let another program take the port: there the exclusive option is set, and only it."""
    if exclusive is None:
        monkeypatch.delattr(socket, "SO_EXCLUSIVEADDRUSE", raising=False)
    else:
        monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", exclusive, raising=False)
    options: list[tuple[int, int, int]] = []

    class Listener:
        def setsockopt(self, *option: int) -> None:
            options.append(option)  # type: ignore[arg-type]

    _keep_to_ourselves(Listener())  # type: ignore[arg-type]
    assert options == [(socket.SOL_SOCKET, wanted, 1)]


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("ending", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_nothing_of_a_session_is_left_behind(tmp_path: Path, ending: signal.Signals) -> None:
    """Without a ledger the record is kept for this session alone; so are files that were given to the page."""
    survey, kept = write_survey(tmp_path), tmp_path / "kept"
    kept.mkdir()
    program = "from optimaldp.cli import main; main()"
    command = [sys.executable, "-c", program, "studio", "--no-open", "--port", "0", "--data", str(survey)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(kept)})
    assert process.stdout is not None
    address = process.stdout.readline().split()[2]
    page = urllib.request.urlopen(address).read().decode()
    token = re.search('studio-token" content="([^"]*)"', page)
    assert token is not None
    headers = {"Content-Type": "application/json", "X-Studio-Token": token[1]}
    urllib.request.urlopen(urllib.request.Request(f"{address}api/open", b"{}", headers)).close()
    assert list(kept.glob("*/session.ledger"))
    process.send_signal(ending)
    process.wait(30)
    process.stdout.close()
    assert list(kept.iterdir()) == []


def test_a_worker_prints_no_caution_on_the_terminal() -> None:
    program = """
import warnings
from optimaldp.studio.worker import serve_calls
class Calls:
    def run(self, call, body):
        warnings.warn("each row counts as one person")
        return 200, body
    def close(self):
        pass
serve_calls(lambda settings: Calls())
"""
    asked = '{}\n{"call": "release", "body": "x"}\n'
    done = subprocess.run([sys.executable, "-c", program], input=asked, capture_output=True, text=True, check=True)
    assert (json.loads(done.stdout)["body"], done.stderr) == ("x", "")
