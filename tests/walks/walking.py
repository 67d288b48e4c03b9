"""Run a walk of docs/walks from top to bottom in a folder of its own: files are written, commands and examples are run.

A block whose first line is a comment with a file name (``# plan.toml``) is that file. A block of language ``console`` has
commands behind ``$`` with what they print; ``…`` stands for anything. A command that prints "optimaldp: ..." is refused with
exit code 2, every other one ends with 0. Other blocks of language ``python`` are examples in one namespace.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w-]+\.\w+)\n")
_SHIMS = {
    "optimaldp": 'exec "{python}" -W ignore -c "from optimaldp.cli import main; main()" "$@"',
    "python": 'exec "{python}" -W ignore "$@"',
    "pip": 'exec "{python}" -m pip --disable-pip-version-check "$@"',
    "mypy": 'exec "{python}" -m mypy "$@"',
}


class Command(NamedTuple):
    """A command line and what it should print."""

    line: str
    printed: str


def commands(text: str) -> Iterator[Command]:
    """The commands of a console block."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        yield Command(line, printed.strip())


def walk(page: Path, folder: Path, more: Mapping[str, str] | None = None) -> int:
    """Follow *page* in *folder*; what differs from the page is an AssertionError. How many blocks were followed."""
    environment = _environment(folder) | dict(more or {})
    names: dict[str, Any] = {"__name__": "__main__"}
    followed = 0
    for language, text in _FENCE.findall(page.read_text("utf-8")):
        if named := _FILE.match(text):
            (folder / named[1]).write_text(text, "utf-8")
        elif language == "console":
            for command in commands(text):
                run(command, folder, environment)
        elif language == "python":
            _example(text, page.name, names)
        else:
            continue
        followed += 1
    return followed


def run(command: Command, folder: Path, environment: Mapping[str, str]) -> None:
    """Run one command and compare."""
    done = subprocess.run(
        ["sh", "-c", command.line],
        cwd=folder,
        env=dict(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    expected = 2 if command.printed.startswith("optimaldp: ") else 0
    assert done.returncode == expected, f"{command.line}\nexit code {done.returncode}\n{done.stdout}"
    pattern = ".*".join(map(re.escape, command.printed.split("…")))
    assert re.fullmatch(pattern, done.stdout.strip(), re.DOTALL), f"{command.line}\n{done.stdout}"


def _environment(folder: Path) -> dict[str, str]:
    shims = folder / ".bin"
    shims.mkdir()
    for name, body in _SHIMS.items():
        shim = shims / name
        shim.write_text("#!/bin/sh\n" + body.format(python=sys.executable) + "\n")
        shim.chmod(0o755)
    return os.environ | {"PATH": f"{shims}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}


def _example(text: str, name: str, names: dict[str, Any]) -> None:
    if not text.lstrip().startswith(">>>"):
        exec(compile(text, name, "exec"), names)
        return
    said: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    outcome = doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not outcome.failed, "".join(said)
