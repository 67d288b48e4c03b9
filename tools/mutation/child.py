"""Pytest in a forked child: what is slow to import is loaded once, what is under test anew each time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

PYTEST_OPTIONS = (
    *("-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist"),
    *("-m", "not slow and not spark", "--hypothesis-seed=0"),
)
_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "__pycache__", "*.egg-info", ".hypothesis", ".*_cache"
)
_HEAVY = (
    "pytest",
    "hypothesis",
    "numpy",
    "scipy.optimize",
    "flint",
    "ibis",
    "duckdb",
    "pyarrow",
    "sqlglot",
    "rich",
    "typer",
)


def preload() -> None:
    """Import what every child needs and no fault can touch."""
    for name in _HEAVY:
        with contextlib.suppress(ImportError):
            import_module(name)


def copy_tree(root: Path, to: Path) -> Path:
    """A copy to spoil; the tree itself is never written to."""
    shutil.copytree(root, to, ignore=_LEFT_OUT, dirs_exist_ok=True)
    return to


def run_in_child(tree: Path, work: Callable[[], int], *, most_seconds: float) -> tuple[int | None, float]:
    """The exit code of *work*, run in a fork that imports optimaldp from *tree*, or ``None`` if it took too long."""
    start = time.monotonic()
    process = os.fork()
    if process == 0:
        _work_and_leave(tree, work)
    status = None
    try:
        while status is None and time.monotonic() - start < most_seconds:
            status = _status(process)
    finally:  # also when this process is told to stop
        if status is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
    return status, time.monotonic() - start


def _status(process: int) -> int | None:
    ended, status = os.waitpid(process, os.WNOHANG)
    if ended:
        return os.waitstatus_to_exitcode(status)
    time.sleep(0.01)
    return None


def _work_and_leave(tree: Path, work: Callable[[], int]) -> None:
    code = 70
    try:
        os.setsid()  # what the tests start ends with them
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        sys.dont_write_bytecode = True
        os.environ |= {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        sys.path.insert(0, str(tree / "src"))
        for name in [name for name in sys.modules if name.partition(".")[0] == "optimaldp"]:
            del sys.modules[name]  # whoever imported it before the fork had the sound one
        os.chdir(tree)
        code = work()
    finally:
        os._exit(code)
