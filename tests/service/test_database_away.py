"""A process that is started while the database is away waits for it; what the log says meanwhile."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from optimaldp.errors import LedgerError
from optimaldp.service import app as served
from optimaldp.service.watching import log, log_to_stderr


@pytest.mark.parametrize(("workers", "opens"), [(2, True), (1, False)])
def test_one_of_several_processes_waits_for_the_database(
    monkeypatch: pytest.MonkeyPatch, workers: int, opens: bool
) -> None:
    tried: list[object] = []

    def desk(config: object) -> str:
        tried.append(config)
        if len(tried) < 3:
            raise LedgerError("ledger", "postgresql://…", "cannot be reached", "start the database")
        return "a desk"

    async def at_once(_: float) -> None: ...

    monkeypatch.setattr(served, "CuratorDesk", desk)
    monkeypatch.setattr(served.asyncio, "sleep", at_once)
    service: Any = SimpleNamespace(config=SimpleNamespace(workers=workers))
    if opens:
        assert asyncio.run(served.Service._opened_desk(service)) == "a desk"
    else:
        with pytest.raises(LedgerError):
            asyncio.run(served.Service._opened_desk(service))


def test_what_a_library_logs_is_a_line_of_json_without_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.getLogger().handlers[:]
    try:
        log_to_stderr()
        log("started", datasets=["hospital"])
        try:
            raise ValueError("row 17 is secret")
        except ValueError:
            logging.getLogger("uvicorn.error").exception("Exception in ASGI application of a secret")
    finally:
        logging.getLogger().handlers[:] = before
    first, second = capsys.readouterr().err.splitlines()
    assert json.loads(first).items() >= {"event": "started", "datasets": ["hospital"]}.items()
    assert json.loads(second).items() >= {"level": "error", "library": "uvicorn.error", "kind": "ValueError"}.items()
    assert "secret" not in second
