"""The curator's tutorial, followed with a real server, browser and PostgreSQL; and what compose.yaml starts."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("uvicorn", reason="the service extra is not installed")

from browser_views import needs_chromium
from postgres_server import PostgresServer, postgres_server, why_missing
from served import EXAMPLE, PROGRAM, Served
from test_assistant import talk
from test_pages import ask, fill, opened, sign_in
from walking import _FENCE, _environment, _example, commands, run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorials" / "curator.md"
pytestmark = pytest.mark.long
needs_postgres = pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))


@pytest.fixture(scope="module")
def database() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def source_with(folder: Path, ledger: str) -> Path:
    """The project's examples with another ledger, and with time enough for a machine that does other work too."""
    made = folder / "source" / "examples" / "curator"
    shutil.copytree(EXAMPLE, made, ignore=shutil.ignore_patterns("*.db*", "*.ledger*"))
    config = made / "curator.toml"
    text = config.read_text().replace('ledger = "curator.db"', f'ledger = "{ledger}"')
    config.write_text(text.replace("answer_after = 2.0", "answer_after = 5.0"))
    return folder / "source"


def follow(text: str, folder: Path, environment: dict[str, str], names: dict[str, Any]) -> int:
    """Run the blocks of a part of the page."""
    followed = 0
    for language, block in _FENCE.findall(text):
        if language == "console":
            for command in commands(block):
                run(command, folder, environment)
        elif language == "python":
            _example(block, PAGE.name, names)
        else:
            continue
        followed += 1
    return followed


@pytest.mark.slow
@needs_chromium
@needs_postgres
def test_the_tutorial_can_be_followed(
    tmp_path: Path, browser: Any, database: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, port = tmp_path / "walk", str(free_port())
    folder.mkdir()
    monkeypatch.chdir(folder)
    source = source_with(tmp_path, database.new_database("tutorial"))
    environment = {**_environment(folder), "SOURCE": str(source)}
    before, after = PAGE.read_text("utf-8").replace("8080", port).split("## On the page")
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        assert follow(before, folder, environment, names) == 5
        on_the_page(browser, f"http://127.0.0.1:{port}", folder)
        with_an_assistant(f"http://127.0.0.1:{port}", folder)
        assert follow(after, folder, environment, names) == 3
    finally:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((folder / "curator.pid").read_text()), signal.SIGTERM)


def on_the_page(browser: Any, url: str, folder: Path) -> None:
    """What the page says that Ben and Dora do."""

    keys = {name: (folder / f"{name}.key").read_text().strip() for name in ("ben", "dora")}
    here = Served(url, keys, folder, 0)
    with opened(browser) as ben, opened(browser) as dora:
        sign_in(ben, here, "ben")
        fill(ben, "count(days >= 7)", "0.6")
        ben.click("#ask")
        ben.click("#yes")
        ben.wait_for_selector("#answer .badge.is-waiting")
        sign_in(dora, here, "dora")
        dora.click("tr:has-text('count(days >= 7)') .refuse")
        dora.fill("#reason", "Half of that is enough.")
        dora.click("#refuse-yes")
        ben.wait_for_selector("#answer .badge.is-refused")
        assert "Half of that is enough." in ben.inner_text("#answer")
        ask(ben, "count(days >= 7)", "0.3")
        ben.wait_for_selector("#answer .big")
        assert ben.inner_text("#answer .big")[0].isdigit()


def with_an_assistant(url: str, folder: Path) -> None:
    """The arguments that the page gives an assistant, and a question above the level."""
    said = {"question": "majority(days >= 7)", "epsilon": "0.1"}
    above = {"question": "majority(days >= 8)", "epsilon": "0.9"}
    tools, schema, answer, waits = talk(
        ["--url", url, "--key-file", str(folder / "ben.key")], [("schema", {}), ("ask", said), ("ask", above)]
    )
    assert {tool.name for tool in tools} == {"schema", "preview", "ask", "remaining", "request"}
    assert "Cardiology" in schema[1]
    assert not answer[0]
    assert '"answer": "' in answer[1] or '"answer":"' in answer[1]
    assert "An approver has to let this question through" in waits[1]


# What compose.yaml starts, without Docker: the same command, configuration and file of passwords, on a real PostgreSQL.


def test_compose_and_dockerfile_fit_together() -> None:
    composed = yaml.safe_load((ROOT / "compose.yaml").read_text())
    curator, database = composed["services"]["curator"], composed["services"]["database"]
    docker = (ROOT / "Dockerfile").read_text()
    assert curator["build"] == "."
    assert curator["command"][0] == "serve"
    assert 'ENTRYPOINT ["optimaldp"]' in docker
    extras = re.search(r"ARG EXTRAS=(\S+)", docker)
    assert extras is not None
    assert {"service", "postgres"} <= set(extras[1].split(","))
    assert all(port.startswith("127.0.0.1:") for port in curator["ports"])  # nothing listens beyond this machine
    assert "ports" not in database
    assert "PASSWORD" not in " ".join(curator["environment"])
    assert "POSTGRES_PASSWORD" not in database["environment"]
    mounted = curator["volumes"][0].split(":")
    assert (ROOT / mounted[0]).is_dir()
    assert (ROOT / mounted[0] / Path(curator["command"][2]).name).is_file()


def test_the_first_steps_of_compose_make_passwords_that_the_curator_alone_reads(tmp_path: Path) -> None:
    """Compose mounts a secret that is a file as it is: owner and mode have to be right before."""
    text = (ROOT / "compose.yaml").read_text()
    composed = yaml.safe_load(text)
    steps = [line.removeprefix("#   ") for line in text.splitlines() if line.startswith("#   ")]
    before = "\n".join(line for line in steps if not line.startswith("docker "))
    run = ["sh", "-ec", f'umask 022\n{before}\nprintf %s "$CURATOR_UID"']
    user = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert composed["services"]["curator"]["user"] == "${CURATOR_UID:-1000}"
    for secret in composed["secrets"].values():
        made = (tmp_path / secret["file"]).stat()
        assert (made.st_mode & 0o777, str(made.st_uid)) == (0o600, user)
    assert composed["services"]["curator"]["secrets"] == ["pgpass"]
    password = (tmp_path / "database.password").read_text()
    assert (tmp_path / "database.pgpass").read_text() == f"*:*:*:curator:{password}\n"


@pytest.mark.slow
@needs_postgres
def test_what_compose_starts_answers(tmp_path: Path, database: PostgresServer) -> None:
    import optimaldp as odp

    command = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["curator"]["command"]
    shutil.copytree(EXAMPLE, tmp_path / "data")
    config = tmp_path / "data" / Path(command[2]).name
    address = database.new_database("composed").replace("tester@", "curator@")
    _with_password(database)
    text = config.read_text().replace("postgresql://curator@database/curator", address).replace("0.0.0.0", "127.0.0.1")
    config.write_text(text.replace("answer_after = 2.0", "answer_after = 5.0"))
    passwords = tmp_path / "pgpass"
    passwords.write_text("*:*:*:curator:open sesame\n".replace(" ", "-"))
    passwords.chmod(0o400)
    environment = {**os.environ, "PGPASSFILE": str(passwords)}
    started = [str(config) if part == command[2] else part for part in command]
    base = [sys.executable, "-c", PROGRAM, *started[:3]]
    key = subprocess.run([*base, "key", "create", "ann"], env=environment, capture_output=True, text=True, timeout=60)
    assert key.returncode == 0, key.stderr
    serving = [*base, "--port", str(free_port()), *started[3:]]
    process = subprocess.Popen(serving, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    try:
        url = process.stdout.readline().split()[-1]
        with odp.connect(url, key.stdout) as curator:
            assert curator.table("hospital").ask("majority(smokes)", epsilon=0.5).answer == "no"  # type: ignore[union-attr]
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        process.stdout.close()


def _with_password(database: PostgresServer) -> None:
    """A role that needs its password."""
    import psycopg

    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("CREATE ROLE curator LOGIN SUPERUSER PASSWORD 'open-sesame'")
