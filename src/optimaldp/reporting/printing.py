"""A page as PDF, by whichever program on this machine prints pages: a browser without a window, or a printer of HTML."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from optimaldp.errors import InputError

_TIMEOUT_SECONDS = 120
_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
    # Where installers put them when they do not extend the path.
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)

Command = Sequence[str]
Writer = Callable[[Path, Path, Path], Command]
"""From the page, the PDF and an empty folder: the command that prints one as the other."""


def print_page(page: str, target: Path) -> None:
    """Print *page*, which needs no network and runs no scripts, as the PDF *target*.

    **Guarantee.** *target* is written whole or not at all.
    """
    printers = list(_printers())
    if not printers:
        rule = "needs a program that prints pages, and none was found"
        remedy = (
            "write an .html and print it in a browser, or install Chromium, Chrome, Edge, WeasyPrint or wkhtmltopdf"
        )
        raise InputError("output", str(target), rule, remedy)
    with tempfile.TemporaryDirectory(prefix="optimaldp-") as folder:
        source, printed = Path(folder, "page.html"), Path(folder, "page.pdf")
        source.write_text(page, "utf-8")
        if not any(_succeeds(command(source, printed, Path(folder, "profile")), printed) for command in printers):
            rule = "could not be printed by any program that was found"
            raise InputError("output", str(target), rule, "write an .html and print it in a browser")
        try:
            shutil.move(printed, target)
        except OSError as error:
            rule = f"cannot be written ({error.strerror})"
            raise InputError("output", str(target), rule, "check the folder") from None


def _printers() -> Iterator[Writer]:
    for name in ("weasyprint", "wkhtmltopdf"):
        if (program := shutil.which(name)) is not None:
            yield _plain(program)
    for name in _BROWSERS:
        if (program := shutil.which(name)) is not None:
            yield _browser(program)


def _plain(program: str) -> Writer:
    return lambda page, printed, _: [program, str(page), str(printed)]


def _browser(program: str) -> Writer:
    # A browser refuses to build its sandbox for root. The page runs no scripts and fetches nothing, by its own policy.
    as_root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []

    def command(page: Path, printed: Path, profile: Path) -> Command:
        return [
            program,
            "--headless",
            "--disable-gpu",
            "--no-first-run",
            *as_root,
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={printed}",
            page.as_uri(),
        ]

    return command


def _succeeds(command: Command, printed: Path) -> bool:
    try:
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_SECONDS,
        )
        return printed.read_bytes()[:5] == b"%PDF-"
    except (OSError, subprocess.SubprocessError):
        return False
