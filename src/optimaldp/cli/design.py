"""``optimaldp design``: the best private mechanism for a problem file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from optimaldp.cli import app
from optimaldp.cli.options import read_json
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
    """Find the best private mechanism on a graph of datasets, with its claim and its proof, or say why there is none.

    Exit code 0: a mechanism whose claim is proven. 1: infeasible or no optimum (the witness says why). 2: bad input.
    """
    from optimaldp.designing import Status, solve
    from optimaldp.documents.json_text import json_text
    from optimaldp.mechanisms.documents import read_problem

    designed = solve(read_problem(read_json(problem)))
    text = json_text(designed.to_document(digits=_digits(designed, exact=exact)))
    if output is not None:
        _write(output, text)
    if plot is not None and designed.mechanism is not None:
        from optimaldp.plots.style import save

        save(designed.plot(), plot)
    if sys.stdout.isatty():
        _show(designed)
    elif output is None:
        typer.echo(text)
    raise typer.Exit(0 if designed.status in (Status.OPTIMAL, None) else 1)


def _digits(designed: Design, *, exact: bool) -> int | None:
    """How numbers are printed: exactly, with 30 digits where that is impossible, or as JSON numbers of 17."""
    if not exact:
        return 17
    return None if all(level.is_rational for level in designed.problem.graph.levels) else 30


def _write(path: str, text: str) -> None:
    try:
        Path(path).write_text(text + "\n", "utf-8")
    except OSError as error:
        raise InputError("output", path, f"cannot be written ({error.strerror})", "check the path") from None


def _show(designed: Design) -> None:
    """A readable view for a terminal: the verdict, and the first datasets."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{designed.status_line}[/bold] ({designed.route}): {len(designed.problem.graph)} datasets")
    if designed.witness:
        console.print(designed.witness["reason"])
    if designed.mechanism is None:
        return
    most = 24
    table = Table("dataset", *designed.problem.answers)
    for name in list(designed.mechanism.graph.names[:most]):
        row = designed.mechanism[name]
        table.add_row(name, *(f"{float(row[answer]):.6g}" for answer in designed.problem.answers))
    console.print(table)
    if len(designed.mechanism) > most:
        console.print(f"… and {len(designed.mechanism) - most} more (use --output to write all of them)")
