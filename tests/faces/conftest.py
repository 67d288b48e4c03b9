"""One curator for the tests of its faces, and a real browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# How the studio's pages are looked at, and how a page of the documentation is followed.
sys.path += [str(Path(__file__).parents[1] / name) for name in ("studio", "walks")]


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The example's curator, listening."""
    pytest.importorskip("uvicorn", reason="the service extra is not installed")
    from served import served

    with served(tmp_path_factory.mktemp("curator")) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One for each module: while it runs, no other event loop can run in this thread."""
    from browser_views import CHROMIUM, OPTIONS

    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield made
        made.close()
