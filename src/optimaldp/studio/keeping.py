"""Sanitised tables of this session: kept in the studio's own folder until they are downloaded, and gone with it."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from optimaldp.errors import TableError


@contextlib.contextmanager
def room_for_table(folder: Path | None) -> Iterator[Path]:
    """A file for rows that are still to be drawn; it goes again if nothing comes into it."""
    if folder is None or not folder.is_dir():
        raise TableError("folder", str(folder), "is not there to keep the rows", "start the studio again")
    path = _own_file(folder)
    try:
        yield path
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _own_file(folder: Path) -> Path:
    for number in count(1):
        path = folder / f"clean-{number}.csv"
        try:  # several processes may keep tables at once: a name is taken by making its file
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always a next number")


def kept_tables(folder: Path | None) -> list[dict[str, Any]]:
    """What was kept, the last one first, in public words."""
    if folder is None:
        return []
    statements = sorted(folder.glob("clean-*.csv.json"), key=number_of, reverse=True)
    return [_line(path) for path in statements]


def number_of(path: Path) -> int:
    """The number under which a table is downloaded."""
    return int(path.name.split(".")[0].removeprefix("clean-"))


def _line(path: Path) -> dict[str, Any]:
    said = json.loads(path.read_text("utf-8"))
    columns = [column["name"] for column in said["columns"]]
    return {"number": number_of(path), "columns": columns, "epsilon": said["epsilon"], "time": said["time"]}
