"""How the studio is looked at in a real browser: the browser, the screens, and small helpers.

Screenshots are kept in ``test-artefacts/studio``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

PICTURES = Path(__file__).parents[2] / "test-artefacts" / "studio"
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1366, "height": 768}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1366, "height": 768}, "color_scheme": "dark"},
    "wide": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "has_touch": True},
    "half": {"viewport": {"width": 640, "height": 768}, "color_scheme": "light"},
    "zoomed": {"viewport": {"width": 683, "height": 384}, "device_scale_factor": 2, "color_scheme": "light"},
}
PATHS = {
    "explore": "/explore",
    "release": "/release",
    "sanitise": "/sanitise",
    "design": "/design",
    "research": "/research",
    "channel": "/channel",
    "api": "/api",
}


def saved(page: Any, button: str) -> str:
    """What a button downloads."""
    with page.expect_download() as caught:
        page.click(button)
    return Path(caught.value.path()).read_text("utf-8")


def picture(name: str) -> str:
    PICTURES.mkdir(parents=True, exist_ok=True)
    return str(PICTURES / f"{name}.png")


def too_wide(page: Any) -> int:
    """By how many pixels the page is wider than its screen."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.id"))
