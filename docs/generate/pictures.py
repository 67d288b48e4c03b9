"""The pictures that stand in the repository, each with what makes it: ``python docs/generate/pictures.py`` writes them again.

A test runs every maker and compares what it draws with what is stored, so no picture shows an older version. The pictures of
``docs/architecture.md`` (``walk-*.svg``) are made by ``make trace`` and compared by their own test.
"""

from __future__ import annotations

import contextlib
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "images"


def first_picture(folder: Path) -> Path:
    """The picture of the README and of the first page: the gallery's first, for dense screens."""
    script = ROOT / "examples" / "gallery" / "with_and_without_you.py"
    drawn: Path = runpy.run_path(str(script))["draw"](folder)
    return drawn.with_suffix(".png")


def studio_picture(folder: Path) -> Path:
    """The studio's first page in a real browser, after one question about a public survey."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with _studio() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme="light")
        page.goto(f"{address}/release")
        page.wait_for_selector("#condition-column")
        page.select_option("#condition-column", "age")
        page.select_option("#condition-operator", ">=")
        page.fill("#condition-value", "65")
        page.fill("#epsilon", "0.5")
        page.click("#ask:not([disabled])")
        page.click("#yes")
        page.wait_for_selector("#answer-card:not([hidden])")
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=folder / "studio-release.png")
        browser.close()
    return folder / "studio-release.png"


@contextlib.contextmanager
def _studio() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = ("--ledger", f"{folder}/survey.ledger", "--budget", "3")
        data = ("--data", str(ROOT / "examples" / "data" / "anes1996.csv"))
        command = (sys.executable, "-m", "optimaldp", "studio", "--no-open", "--port", "0", *data, *ledger)
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            try:
                yield process.stdout.readline().split()[2].rstrip("/")
            finally:
                process.send_signal(signal.SIGINT)


MAKERS: dict[str, Callable[[Path], Path]] = {
    "with_and_without_you.png": first_picture,
    "studio-release.png": studio_picture,
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, make in MAKERS.items():
            shutil.copyfile(make(Path(folder)), STORED / name)
            print(STORED / name)


if __name__ == "__main__":
    main()
