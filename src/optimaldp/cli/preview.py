"""``optimaldp preview``: how often the private answer will be right, before anything is read or spent."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from optimaldp.cli import app
from optimaldp.cli.release import (
    AsJson,
    Asked,
    DeltaOption,
    EpsilonOption,
    LedgerFile,
    Levels,
    NeighboursOption,
    Part,
    Reduce,
    ReduceOrder,
    Types,
    Unit,
    Where,
)

NotRead = Annotated[
    str | None, typer.Option("--data", help="Accepted so that a release's options can stay; never opened.")
]
Persons = Annotated[int | None, typer.Option("--n", help="The public number of persons, to show margins as shares.")]
Picture = Annotated[str | None, typer.Option("--plot", help="Also draw a picture into this file (.png, .svg, .pdf).")]


@app.command("preview")
def preview_command(
    question: Asked,
    epsilon: EpsilonOption,
    delta: DeltaOption = "0",
    neighbours: NeighboursOption = "substitution",
    n: Persons = None,
    plot: Picture = None,
    as_json: AsJson = False,
    data: NotRead = None,
    unit: Unit = None,
    reduce: Reduce = None,
    reduce_order: ReduceOrder = None,
    levels: Levels = None,
    where: Where = None,
    ledger: LedgerFile = None,
    part: Part = None,
    types: Types = None,
) -> None:
    """Show the probability of a wrong answer by margin, next to other mechanisms. Reads no table and spends nothing."""
    from optimaldp.preview import preview

    made = preview(question, epsilon=epsilon, delta=delta, neighbours=neighbours, n=n)
    if plot is not None:
        from optimaldp.plots.style import save

        save(made.plot(), plot)
    if as_json or not sys.stdout.isatty():
        typer.echo(made.to_json(indent=2))
        return
    from rich.console import Console

    Console().print(made)
