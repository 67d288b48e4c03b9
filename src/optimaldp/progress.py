"""Progress of long work: shown on a terminal and in a notebook, silent everywhere else."""

from __future__ import annotations

import html
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

Item = TypeVar("Item")


def track(
    items: Iterable[Item],
    description: str,
    *,
    total: int | None = None,
    note: Callable[[Item], str] | None = None,
) -> Iterator[Item]:
    """Yield *items* with a progress bar: on standard error when that is a terminal, or below the cell of a notebook.

    *note* says something public about an item that is worked on, such as what was spent so far.
    """
    if _in_notebook():
        yield from _track_in_notebook(items, description, total, note)
    elif sys.stderr.isatty():
        yield from _track_on_terminal(items, description, total, note)
    else:
        yield from items


def _track_on_terminal(
    items: Iterable[Item], description: str, total: int | None, note: Callable[[Item], str] | None
) -> Iterator[Item]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
    known = _total(items, total)
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(description, total=known, note="")
        for item in items:
            shown.update(task, note="" if note is None else note(item))
            yield item
            shown.advance(task)


def _total(items: Iterable[Any], total: int | None) -> int | None:
    return len(items) if total is None and isinstance(items, Sized) else total


def _in_notebook() -> bool:
    """Whether this runs in a notebook; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def _track_in_notebook(
    items: Iterable[Item], description: str, total: int | None, note: Callable[[Item], str] | None
) -> Iterator[Item]:
    known = _total(items, total)
    shown = None
    for done, item in enumerate(items):
        bar = _bar(description, done, known, "" if note is None else note(item))
        shown = _display(bar, shown)
        yield item
    if shown is not None:
        _display("", shown)  # as on a terminal, the bar goes when the work is done


def _bar(description: str, done: int, total: int | None, note: str) -> str:
    most = "" if total is None else f' max="{total}"'
    counted = f"{done}" if total is None else f"{done} of {total}"
    bar = f'<progress value="{done}"{most}></progress>'
    return f"<div>{html.escape(description)} {bar} {counted} {html.escape(note)}</div>"


def _display(content: str, shown: Any) -> Any:
    from IPython import display

    written: Any = display.HTML(content)  # type: ignore[no-untyped-call]
    if shown is None:
        return display.display(written, display_id=True)  # type: ignore[no-untyped-call]
    shown.update(written)
    return shown
