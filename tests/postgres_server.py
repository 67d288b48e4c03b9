"""A real PostgreSQL server for tests: started in a temporary folder, stopped and removed at the end.

    with postgres_server() as server:
        server.url                      # "postgresql://tester@127.0.0.1:54321/postgres"
        server.new_database("ledger")   # the URL of a fresh, empty database

PostgreSQL refuses to run as root, so root starts it as the system's ``postgres`` (or ``nobody``) user.
``why_missing()`` gives the reason to skip where no server can be started, or None.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_ROLE = "tester"
_OTHER_USERS = ("postgres", "nobody")  # who runs the server when we are root


class ServerError(RuntimeError):
    """The server could not be started."""


@dataclass(frozen=True)
class PostgresServer:
    """A running server that trusts local connections."""

    port: int
    folder: Path
    programs: Path
    durable: bool = False
    """Whether it waits for the disk. A test server has nothing to lose in a power cut of the machine."""

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        return f"postgresql://{_ROLE}@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        """Its first process."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def kill(self) -> None:
        """End every process of the server at once (kill -9), as a power cut would."""
        first = self.pid
        for pid in [first, *_children(first)]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while Path(f"/proc/{first}").exists():
            time.sleep(0.01)

    def start(self) -> None:
        """Start the server, or start it again; it recovers from its log."""
        control = [self.programs / "pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "-t", "30"]
        waits = "on" if self.durable else "off"
        options = (
            f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c fsync={waits} -c max_connections=100"
        )
        _run([*control, "-o", options, "start"])

    def stop(self) -> None:
        _run([self.programs / "pg_ctl", "-D", self.folder / "data", "-w", "-t", "30", "-m", "immediate", "stop"])

    def new_database(self, name: str) -> str:
        """Create an empty database (dropping an old one of that name) and return its URL."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.url_of(name)


def why_missing() -> str | None:
    """The reason why no server can be started here, or None."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed (extra: postgres)"
    if _programs() is None:
        return "no PostgreSQL server on this machine (initdb and postgres not found)"
    if os.geteuid() == 0 and (_other_user() is None or shutil.which("setpriv") is None):
        return "PostgreSQL refuses to run as root and there is no other user to run it"
    return None


@contextmanager
def postgres_server(*, durable: bool = False) -> Iterator[PostgresServer]:
    """Start a server, yield it, stop it and remove its files."""
    programs = _programs()
    if programs is None:
        raise ServerError("initdb and postgres not found")
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        _hand_over(folder)
        _run(
            [
                programs / "initdb",
                "-D",
                folder / "data",
                "-U",
                _ROLE,
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--locale=C.UTF-8",
                "-N",
            ]
        )
        server = PostgresServer(_free_port(), folder, programs, durable)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _children(pid: int) -> list[int]:
    """The processes that this process started, and theirs."""
    try:
        own = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [*own, *(more for child in own for more in _children(child))]


def _programs() -> Path | None:
    """The folder that holds initdb, pg_ctl and postgres; Debian keeps them off the PATH."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in found if all((f / name).exists() for name in ("initdb", "pg_ctl", "postgres"))), None)


def _other_user() -> pwd.struct_passwd | None:
    for name in _OTHER_USERS:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def _hand_over(folder: Path) -> None:
    user = _other_user()
    if os.geteuid() == 0 and user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)


def _run(command: list[str | Path]) -> None:
    words = [str(word) for word in command]
    user = _other_user()
    if os.geteuid() == 0 and user is not None:
        words = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", *words]
    # pg_ctl's children keep its output open: a pipe would wait for the server to end, a file does not.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL, cwd="/", timeout=60)
        if done.returncode:
            output.seek(0)
            raise ServerError(output.read().decode(errors="replace")[-800:])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
