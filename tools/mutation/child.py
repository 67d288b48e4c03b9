"""Forked processes: work that may loop forever, eat all memory or leave processes behind, in a copy of this one."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

_LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "__pycache__", "*.egg-info", ".hypothesis", ".*_cache"
)
_HEAVY = (
    "pytest",
    "hypothesis",
    "numpy",
    "scipy.optimize",
    "flint",
    "scipy.stats",
    "ibis",
    "ibis.backends.duckdb",
    "duckdb",
    "pyarrow",
    "sqlglot",
    "dp_accounting.pld.privacy_loss_distribution",
    "rich",
    "typer",
)
_MOST_MEMORY = 3 << 30  # bytes of data: a fault that would eat more was noticed, and the machine lives on
_TOO_LONG = (-signal.SIGXCPU, -signal.SIGPROF, -signal.SIGKILL)
_PATIENCE = 10  # a process that only waits is given ten times as long as one that works


def preload() -> None:
    """Import what every child needs and no fault can touch."""
    for name in _HEAVY:
        with contextlib.suppress(ImportError):
            import_module(name)


def import_all(sources: Iterable[str]) -> None:
    """Import the modules of a target that are otherwise imported when they are used: once here, not in every fork.

    A function that exists already can be exchanged; for one that does not, everything would be imported again.
    """
    for path in sources:
        with contextlib.suppress(ImportError):
            import_module(".".join(Path(path).relative_to("src").with_suffix("").parts).removesuffix(".__init__"))


def copy_tree(root: Path, to: Path) -> Path:
    """A copy to work in, so that the tree may be edited meanwhile."""
    shutil.copytree(root, to, ignore=_LEFT_OUT, dirs_exist_ok=True)
    return to


class Child:
    """A fork that does *work*, which says lines, within *seconds* of the processor (see also :func:`allow`)."""

    def __init__(self, work: Callable[[Callable[[str], None]], None], *, seconds: float) -> None:
        self.start = time.monotonic()
        self._patience = _PATIENCE * seconds
        self._until, self._used = self.start + self._patience, 0
        reading, writing = os.pipe()
        self._pipe = reading
        self.process = os.fork()
        if self.process == 0:
            os.close(reading)
            _work_and_leave(work, writing, seconds)
        os.close(writing)
        self.seconds = 0.0
        self.said: list[str] = []
        self.too_long = False

    def ended(self) -> bool:
        """Whether it has ended by now, by itself or because its time was up."""
        done = os.waitid(os.P_PID, self.process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if not done and (time.monotonic() < self._until or self._works()):
            return False
        code = self.stop()
        self.seconds = time.monotonic() - self.start
        text = b""
        while part := os.read(self._pipe, 1 << 16):
            text += part
        os.close(self._pipe)
        self.said = text.decode().splitlines()
        self.too_long = not done or code in _TOO_LONG
        return True

    def _works(self) -> bool:
        """Whether it used the processor since this was asked last: on a busy machine it may be starved, not stuck."""
        used, before = _processor_ticks(self.process), self._used
        self._used, self._until = used, time.monotonic() + self._patience
        return used > before

    def stop(self) -> int:
        """End it and whatever it started, which might hold the pipe open; the code it ended with."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        _, status = os.waitpid(self.process, 0)
        return os.waitstatus_to_exitcode(status)


def _processor_ticks(process: int) -> int:
    """How long a process has used the processor, in ticks; 0 where nobody knows."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return 0


def allow(seconds: float) -> None:
    """This process ends if it uses more than *seconds* of the processor from now on."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def wait_for(children: list[Child]) -> list[Child]:
    """Those that still run; waits a moment if nobody has ended."""
    running = [child for child in children if not child.ended()]
    if len(running) == len(children):
        time.sleep(0.004)
    return running


def _work_and_leave(work: Callable[[Callable[[str], None]], None], writing: int, seconds: float) -> None:
    try:
        os.setsid()  # what the tests start ends with them
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silence, stream)
        most = math.ceil(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
        work(lambda line: _write(writing, line))
    finally:
        os._exit(0)


def _write(pipe: int, line: str) -> None:
    os.write(pipe, line.encode() + b"\n")


def live_in(tree: Path) -> None:
    """From now on optimaldp comes from *tree*, here and in every process that is started."""
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.path.insert(0, str(tree / "src"))
    for name in [name for name in sys.modules if name.partition(".")[0] == "optimaldp"]:
        del sys.modules[name]
    os.chdir(tree)
