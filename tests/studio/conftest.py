"""A real browser for the tests of the studio, and pages that fail on any error of their scripts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser_views import CHROMIUM, OPTIONS, VIEWS
from studio_server import running_studio


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One for each module: while it runs, no other event loop can run in this thread."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def studio() -> Iterator[str]:
    """A studio without a table, for tests that open none."""
    with running_studio() as address:
        yield address


@pytest.fixture
def view() -> str:
    """The screen; a test may choose others."""
    return "light"


@pytest.fixture
def page(browser: Any, view: str) -> Iterator[Any]:
    """A page that fails the test on any error of its scripts or of its content security policy."""
    context = browser.new_context(**VIEWS[view], accept_downloads=True)
    context.set_default_timeout(40_000)
    made = context.new_page()
    problems: list[str] = []
    made.on("pageerror", lambda error: problems.append(f"{error.message}\n{error.stack}"))
    made.on("console", lambda line: problems.append(line.text) if _is_problem(line) else None)
    yield made
    context.close()
    assert problems == []


def _is_problem(line: Any) -> bool:
    return line.type == "error" and "Failed to load resource" not in line.text  # a refused call is logged so
