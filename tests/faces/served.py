"""A curator that listens: the real command in a process of its own, with a key for everybody."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "curator"
PROGRAM = "from optimaldp.cli import main; main()"
PEOPLE = ("ann", "ben", "dora", "sue", "otto")


@dataclass(frozen=True)
class Served:
    """Where a curator listens, and the key of each person."""

    url: str
    keys: dict[str, str]
    folder: Path
    pid: int


def copied(folder: Path, **service: object) -> Path:
    """The configuration of the example in *folder*, with other settings of the service."""
    for one in EXAMPLE.iterdir():
        if one.suffix in (".toml", ".csv", ".json"):
            shutil.copy(one, folder)
    path = folder / "curator.toml"
    lines = path.read_text().splitlines()
    settings = {"port": 0, "answer_after": 3.0, "rate": 100_000, **service}
    kept = [line for line in lines if line.split("=")[0].strip() not in settings]
    at = kept.index("[service]") + 1
    written = [
        f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}" for name, value in settings.items()
    ]
    path.write_text("\n".join([*kept[:at], *written, *kept[at:]]) + "\n")
    return path


def made_keys(config: Path) -> dict[str, str]:
    """A fresh key for everybody."""
    from optimaldp.service.configuration import read_configuration
    from optimaldp.service.keys import create_key

    read = read_configuration(config)
    return {name: create_key(read, name, days=1) for name in PEOPLE}


@contextlib.contextmanager
def served(folder: Path, *options: str, keys: dict[str, str] | None = None, **service: object) -> Iterator[Served]:
    """The example's curator in *folder*, until the end of the block; then it is told to stop, and has to."""
    config = folder / "curator.toml"
    if not config.exists():
        copied(folder, **service)
    keys = made_keys(config) if keys is None else keys
    with (folder / "log").open("ab") as log:
        command = [sys.executable, "-c", PROGRAM, "serve", "--config", str(config), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=dict(os.environ))
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()[-2000:]
        yield Served(line.split()[-1], keys, folder, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(15)
        process.kill()
        process.wait()
        process.stdout.close()
