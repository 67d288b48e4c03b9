"""Every number and figure of the papers beside what they print."""

from __future__ import annotations

import re
from pathlib import Path

from optimaldp.papers import NUMBERS, Item, Paper, paper
from optimaldp.plots.style import save

_INTRODUCTION = """# The papers, regenerated

Five papers say what the best private answer is. This page computes every number and figure in them again, beside the
printed value. A cross marks where the print is wrong, with the reason in one sentence; the software computes the right-hand
value, and [what is proven](../proven.md) says what follows. `optimaldp papers` prints the same tables in a terminal,
`optimaldp papers 001 --figures DIR` writes the figures.

Where nothing was printed, or where a value cannot be compared, the column says so.
"""


def write_papers(folder: Path) -> None:
    """One page, ``papers.md``, with the figures in ``papers/``."""
    (folder / "papers").mkdir(parents=True, exist_ok=True)
    sections = [_section(paper(number), folder) for number in NUMBERS]
    (folder / "papers.md").write_text("\n".join([_INTRODUCTION, *sections]))


def _section(one: Paper, folder: Path) -> str:
    items = one.items()
    wrong = sum(not item.agrees for item in items)
    lines = [
        f"## {one.number}: {escaped(one.title)}",
        "",
        f"{escaped(one.authors)}. {len(items)} values, {wrong} of them printed wrongly.",
        "",
        "| where | what | printed | computed | |",
        "| --- | --- | --- | --- | --- |",
        *(_row(item) for item in items),
        "",
    ]
    for figure in one.figures():
        path = save(figure.draw(), folder / "papers" / f"{figure.name}.png")
        lines += [
            f"![{escaped(figure.caption)}](papers/{path.name})",
            "",
            f"*{figure.name}*: {escaped(figure.caption)}",
            "",
        ]
    return "\n".join(lines)


def _row(item: Item) -> str:
    mark = "=" if item.agrees else "✗"
    why = f"<br>✗ {escaped(item.erratum)}" if item.erratum else ""
    cells = [escaped(item.where), escaped(item.what) + why, escaped(item.printed), escaped(item.ours), mark]
    return f"| {' | '.join(cells)} |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]<>|$~^])", r"\\\1", " ".join(text.split()))
