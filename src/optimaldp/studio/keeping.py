"""Sanitised tables of this session: kept in the studio's own folder until they are downloaded, and gone with it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optimaldp.sanitising.sanitised import Sanitised


def keep_table(made: Sanitised, folder: Path, *, labels: bool) -> int:
    """Write the rows and the statement; the number under which they are downloaded."""
    number = 1
    while True:
        path = folder / f"clean-{number}.csv"
        try:  # several processes may keep tables at once: a name is taken by making its file
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            number += 1
            continue
        made.save(path, labels=labels)
        return number


def kept_tables(folder: Path | None) -> list[dict[str, Any]]:
    """What was kept, the last one first, in public words."""
    if folder is None:
        return []
    statements = sorted(folder.glob("clean-*.csv.json"), key=_number, reverse=True)
    return [_line(path) for path in statements]


def _number(path: Path) -> int:
    return int(path.name.removeprefix("clean-").removesuffix(".csv.json"))


def _line(path: Path) -> dict[str, Any]:
    said = json.loads(path.read_text("utf-8"))
    columns = [column["name"] for column in said["columns"]]
    return {"number": _number(path), "columns": columns, "epsilon": said["epsilon"], "time": said["time"]}
