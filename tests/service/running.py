"""A curator for tests: made-up patients, two data sets, everybody with a key; in this process or behind a real address."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.testclient import TestClient

from optimaldp.service.app import create_app
from optimaldp.service.clerk import Clerk
from optimaldp.service.configuration import Configuration, configuration_of
from optimaldp.service.keys import create_key

PEOPLE = 400
DESCRIPTION: dict[str, Any] = {
    "name": "hospital",
    "resources": [
        {
            "name": "patients",
            "path": "patients.csv",
            "schema": {
                "fields": [
                    {"name": "ward", "type": "string", "constraints": {"enum": ["north", "south"]}},
                    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
                    {"name": "smokes", "type": "boolean", "trueValues": ["yes"], "falseValues": ["no"]},
                ]
            },
        }
    ],
    "optimaldp": {"person": None, "neighbours": "substitution", "reviewed": True},
}
SETTINGS: dict[str, Any] = {
    "service": {"answer_after": 0.01, "rate": 100_000},
    "datasets": {
        "hospital": {"description": "hospital.datapackage.json", "budget": {"epsilon": 3, "delta": "1e-6"}},
        "clinic": {"description": "hospital.datapackage.json", "budget": {"epsilon": 1}},
    },
    "askers": {
        "ann": {"datasets": {"hospital": {"epsilon": 1}}, "approve_above": "0.5"},
        "ben": {"datasets": {"hospital": {"epsilon": 2}}},
        "cleo": {"datasets": {"clinic": {"epsilon": 1}}},
    },
    "approvers": {"dora": {}, "ben": {}, "carl": {"datasets": ["clinic"]}},
    "stewards": {"sue": {}, "stan": {"datasets": ["clinic"]}},
    "auditors": {"otto": {}},
}
SHARE = {"dataset": "hospital", "question": "share(smokes) >= 0.2", "epsilon": "0.25"}


@dataclass(frozen=True)
class Curator:
    """A configuration with a key for everybody in it."""

    config: Configuration
    keys: Mapping[str, str] = field(repr=False)

    def headers(self, name: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[name]}"}


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """*base* with *changes*, table by table; ``None`` takes a key away."""
    made = dict(base)
    for name, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(made.get(name), Mapping)
        made[name] = merged(made[name], value) if both else value
    return {name: value for name, value in made.items() if value is not None}


def write_data(folder: Path) -> None:
    rows = [f"{'north' if n % 3 else 'south'},{n % 90},{'yes' if n % 2 else 'no'}" for n in range(PEOPLE)]
    (folder / "patients.csv").write_text("\n".join(["ward,age,smokes", *rows]) + "\n")
    (folder / "hospital.datapackage.json").write_text(json.dumps(DESCRIPTION))


def curator(folder: Path, **changes: Any) -> Curator:
    """Write a table and its description into *folder*, and make keys."""
    write_data(folder)
    config = configuration_of(merged(SETTINGS, changes), folder)
    named = {*config.askers, *(name for people in config.others.values() for name in people)}
    return Curator(config, {name: create_key(config, name) for name in sorted(named)})


class InlineWorkers:
    """Clerks without processes of their own: the same code, quick to start."""

    def __init__(self, settings: Mapping[str, Any], number: int) -> None:
        self.clerk = Clerk(settings)

    def start(self) -> None: ...

    async def run(self, name: str, body: str, *, seconds: float) -> tuple[int, str]:
        return await run_in_threadpool(self.clerk.run, name, body)

    async def run_by(self, clock: Any, name: str, body: str) -> tuple[int, str]:
        return await run_in_threadpool(self.clerk.run, name, body)

    async def close(self) -> None:
        self.clerk.close()


class Caller:
    """Calls on behalf of the people of a curator."""

    def __init__(self, made: Curator, client: TestClient) -> None:
        self.curator, self.client = made, client

    def get(self, who: str, path: str, **options: Any) -> Any:
        return self.client.get(path, headers=self.curator.headers(who), **options)

    def post(self, who: str, path: str, body: Any = None, **headers: str) -> Any:
        sent = {} if body is None else body
        return self.client.post(path, json=sent, headers=self.curator.headers(who) | headers)

    def call(self, who: str, method: str, path: str, **options: Any) -> Any:
        return self.client.request(method, path, headers=self.curator.headers(who), **options)

    def ask(self, who: str, **changes: Any) -> Any:
        return self.post(who, "/v1/ask", SHARE | changes)

    def spent(self, dataset: str = "hospital") -> str:
        """What everybody spent, as the auditor sees it."""
        return str(
            self.get("otto", "/v1/remaining", params={"dataset": dataset}).json()["remaining"]["spent"]["epsilon"]
        )


@contextlib.contextmanager
def inline(made: Curator, monkeypatch: Any) -> Iterator[Caller]:
    """The service in this process, with clerks that are not processes."""
    monkeypatch.setattr("optimaldp.service.app.Workers", InlineWorkers)
    with TestClient(create_app(made.config)) as client:
        yield Caller(made, client)


@contextlib.contextmanager
def running(config: Configuration) -> Iterator[str]:
    """The address of a real server in a thread, with real clerks; stopped at the end."""
    import socket

    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    options = {"lifespan": "on", "access_log": False, "log_config": None}
    server = uvicorn.Server(uvicorn.Config(create_app(config), **options))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        assert server.started
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
