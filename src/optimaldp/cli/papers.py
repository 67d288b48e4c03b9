"""``optimaldp papers``: every number and figure of the five papers, beside what they print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from optimaldp.cli import app
from optimaldp.errors import InputError
from optimaldp.papers import NUMBERS, Paper
from optimaldp.papers import paper as numbered
from optimaldp.progress import track


@app.command()
def papers(
    number: Annotated[str | None, typer.Argument(help="One paper (000 to 004); all of them if left out.")] = None,
    figures: Annotated[str | None, typer.Option(help="Write the figures into this folder.")] = None,
    form: Annotated[str, typer.Option("--format", help="Of the figures: png or svg.")] = "png",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Regenerate what the papers print, mark where they are wrong, and say why in one sentence.

    Exit code 0 whether a paper is right or not: an erratum is a result.
    """
    from optimaldp.documents.json_text import json_text

    if form not in ("png", "svg"):
        raise InputError("format", form, "is not a format of figures", "use png or svg")
    chosen = [numbered(one) for one in ([number] if number else NUMBERS)]
    if json or not sys.stdout.isatty():
        typer.echo(json_text([_document(one) for one in track(chosen, "regenerating")], indent=2))
    else:
        for one in chosen:
            _show(one)
    if figures is not None:
        for one in chosen:
            _draw(one, Path(figures), form)


def _document(paper: Paper) -> dict[str, Any]:
    from dataclasses import asdict

    return {"paper": paper.number, "title": paper.title, "items": [asdict(item) for item in paper.items()]}


def _show(paper: Paper) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("where", "what", "printed", "ours", "", title=f"{paper.number}  {paper.title}", title_justify="left")
    for item in paper.items():
        mark = "=" if item.agrees else "✗"
        table.add_row(item.where, item.what, item.printed, item.ours, mark)
        if item.erratum:
            table.add_row("", f"[italic]{item.erratum}[/italic]", "", "", "")
    Console().print(table)


def _draw(paper: Paper, folder: Path, form: str) -> None:
    from optimaldp.plots.style import save

    folder.mkdir(parents=True, exist_ok=True)
    for figure in paper.figures():
        path = save(figure.draw(), folder / f"{figure.name}.{form}")
        typer.echo(f"{path}: {figure.caption}", err=True)
