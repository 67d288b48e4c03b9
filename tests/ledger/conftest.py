"""Ledgers to test with: the same in every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from postgres_server import PostgresServer, postgres_server, why_missing

from optimaldp.ledger import Budget, Ledger, open_ledger
from optimaldp.privacy import level

Opener = Callable[..., Ledger]


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    reason = why_missing()
    if reason:
        pytest.skip(reason)
    with postgres_server() as running:
        yield running


@pytest.fixture(params=["sqlite", "postgres"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger can be made: a new place for every test."""
    if request.param == "sqlite":
        return str(tmp_path / "survey.ledger")
    running = request.getfixturevalue("server")
    return str(running.new_database("ledgers")) + "?ledger=survey"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "survey.ledger"


def make(location: str | Path, epsilon: Any = 1, delta: Any = 0, **options: Any) -> Ledger:
    """A ledger of the data set "survey"."""
    return open_ledger(location, dataset="survey", budget=Budget(epsilon, delta), **options)


def spend(ledger: Ledger, epsilon: Any, delta: Any = 0, *, question: str = "majority(smokes)", **options: Any) -> Any:
    """Reserve under the neighbours that :func:`make` uses."""
    options = {"neighbours": "substitution", **options}
    return ledger.reserve(question=question, level=level(epsilon, delta), **options)
