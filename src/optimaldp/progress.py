"""Progress of long work: shown on a terminal, silent everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def track(items: Iterable[Item], description: str, *, total: int | None = None) -> Iterator[Item]:
    """Yield *items*, with a progress bar on standard error when that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track as rich_track

    yield from rich_track(items, description=description, total=total, console=Console(stderr=True), transient=True)
