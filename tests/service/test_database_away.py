"""A process that is started while the database is away waits for it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from optimaldp.errors import LedgerError
from optimaldp.service import app as served


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
