"""Counts as bars in a terminal."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import typer

_LONGEST_BAR = 40  # characters of the longest bar
_LEAST_WIDTH = 4  # the same in a narrow terminal
_MOST_BARS = 40  # bars that are worth a screen
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar_lines(names: Sequence[str], counts: Sequence[int], *, columns: int = 80) -> list[str]:
    """One line for each count: its name, a bar, the number. Negative counts have no bar. No line is wider than *columns*.

    >>> print("\\n".join(bar_lines(["yes", "no"], [40, 10])))
    yes  ████████████████████████████████████████ 40
    no   ██████████ 10
    """
    largest, shown = max([*counts, 1]), list(zip(names, counts))[:_MOST_BARS]
    digits = max((len(str(count)) for _, count in shown), default=1)
    wanted = max((len(name) for name, _ in shown), default=0)
    width = min(wanted, max(columns - digits - _LEAST_WIDTH - 3, _LEAST_WIDTH))
    room = min(_LONGEST_BAR, max(columns - width - digits - 3, 0))
    lines = [f"{_shortened(name, width):<{width}}  {_bar(count, largest, room)}{count}" for name, count in shown]
    return lines if len(counts) <= _MOST_BARS else [*lines, f"… and {len(counts) - _MOST_BARS} more"]


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else f"{name[: width - 1]}…"


def _bar(count: int, largest: int, room: int) -> str:
    eighths = max(0, count) * 8 * room // largest
    whole, rest = divmod(eighths, 8)
    bar = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return f"{bar} " if bar else ""


def print_bars(names: Sequence[str], counts: Sequence[int], *, err: bool = False) -> None:
    """The bars as wide as the terminal allows."""
    for line in bar_lines(names, counts, columns=shutil.get_terminal_size().columns):
        typer.echo(line, err=err)
