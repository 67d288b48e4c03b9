"""``optimaldp design``: the best private mechanism for a problem file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimaldp.cli import app
from optimaldp.errors import InputError

if TYPE_CHECKING:
    from optimaldp.designing import Design


@app.command()
def design(
    problem: Annotated[str, typer.Argument(help="A problem file (JSON), or - for standard input.")],
    exact: Annotated[
        bool, typer.Option("--exact", help="Exact rationals, or 30 digits where they are irrational.")
    ] = False,
    output: Annotated[str | None, typer.Option(help="Write the result to this file instead of printing it.")] = None,
    plot: Annotated[str | None, typer.Option(help="Also draw the mechanism to this PNG or SVG file.")] = None,
) -> None:
    """Find the best private mechanism on a graph of datasets, or say why there is none.

    Exit code 0: optimal. 1: infeasible or no optimum (the witness says why). 2: bad input.
    """
    from optimaldp.cli.files import read_json
    from optimaldp.designing import Status, solve
    from optimaldp.documents.json_text import json_text
    from optimaldp.mechanisms.documents import read_problem

    found = solve(read_problem(read_json(problem)))
    text = json_text(found.to_document(digits=_digits(found, exact=exact)))
    if output is not None:
        _write(output, text)
    if plot is not None and found.mechanism is not None:
        from optimaldp.plots.style import save

        save(found.plot(), plot)
    if sys.stdout.isatty():
        _show(found)
    elif output is None:
        typer.echo(text)
    raise typer.Exit(0 if found.status is Status.OPTIMAL else 1)


def _digits(found: Design, *, exact: bool) -> int | None:
    """How numbers are printed: exactly, with 30 digits where that is impossible, or as JSON numbers of 17."""
    if not exact:
        return 17
    return None if all(level.is_rational for level in found.problem.graph.levels) else 30


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text + "\n", "utf-8")
    except OSError as error:
        raise InputError("output", path, f"cannot be written ({error.strerror})", "check the path") from None


def _show(found: Design) -> None:
    """A readable view for a terminal: the verdict, and the first datasets."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{found.status_line}[/bold] ({found.route}): {len(found.problem.graph)} datasets")
    if found.witness:
        console.print(found.witness["reason"])
    if found.mechanism is None:
        return
    most = 24
    table = Table("dataset", *found.problem.answers)
    for name in list(found.mechanism.datasets[:most]):
        row = found.mechanism[name]
        table.add_row(name, *(f"{float(row[answer]):.6g}" for answer in found.problem.answers))
    console.print(table)
    if len(found.mechanism) > most:
        console.print(f"… and {len(found.mechanism) - most} more (use --output to write all of them)")
