"""Counts as bars in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import typer

_WIDTH = 40  # characters of the longest bar
_MOST = 40  # bars that are worth a screen
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar_lines(names: Sequence[str], counts: Sequence[int]) -> list[str]:
    """One line for each count: its name, a bar, the number. Negative counts have no bar.

    >>> print("\\n".join(bar_lines(["yes", "no"], [40, 10])))
    yes  ████████████████████████████████████████ 40
    no   ██████████ 10
    """
    largest = max([*counts, 1])
    width = max((len(name) for name in names), default=0)
    lines = [f"{name:<{width}}  {_bar(count, largest)}{count}" for name, count in list(zip(names, counts))[:_MOST]]
    return lines if len(counts) <= _MOST else [*lines, f"… and {len(counts) - _MOST} more"]


def _bar(count: int, largest: int) -> str:
    eighths = max(0, count) * 8 * _WIDTH // largest
    whole, rest = divmod(eighths, 8)
    bar = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return f"{bar} " if bar else ""


def print_bars(names: Sequence[str], counts: Sequence[int]) -> None:
    for line in bar_lines(names, counts):
        typer.echo(line)
