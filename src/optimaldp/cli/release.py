"""``optimaldp release``: one private answer about a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimaldp.cli import app

if TYPE_CHECKING:
    from optimaldp.release import Release

Data = Annotated[
    str, typer.Option("--data", help="A CSV or Parquet path, duckdb:///file.db?table=t, or any Ibis URL with a table.")
]
Asked = Annotated[str, typer.Option("--question", help="For example \"share(smokes = 'yes') >= 0.3\".")]
EpsilonOption = Annotated[str, typer.Option("--epsilon", help="The privacy level: 0.5, 'ln(2)'. There is no default.")]
DeltaOption = Annotated[str, typer.Option("--delta", help="The delta of the level.")]
NeighboursOption = Annotated[
    str,
    typer.Option(
        "--neighbours",
        help="substitution: one record replaced, the number of persons is public; add-remove: one person more or less.",
    ),
]
Unit = Annotated[str | None, typer.Option("--unit", help="The column that identifies a person; else each row is one.")]
Reduce = Annotated[
    str | None,
    typer.Option("--reduce", help="How several rows of a person become one value: any, all, most-frequent, first."),
]
ReduceOrder = Annotated[str | None, typer.Option("--reduce-order", help="The column whose order 'first' follows.")]
Levels = Annotated[str | None, typer.Option("--levels", help="A public column with each person's own epsilon.")]
Where = Annotated[str | None, typer.Option("--where", help="Only rows with this SQL condition speak for their person.")]
LedgerFile = Annotated[
    str | None,
    typer.Option("--ledger", help="A ledger that pays for the answer; make one with: optimaldp ledger create."),
]
Part = Annotated[
    str | None,
    typer.Option("--part", help="Ask and charge only this disjoint part, a SQL condition that the ledger declares."),
]
Types = Annotated[
    list[str] | None,
    typer.Option(
        "--type",
        help="Declare the type of a CSV column, age=int64, instead of finding it in the data; may be repeated. "
        "Then all other columns are text, and a cell that does not fit is NULL.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the answer with its certificate as JSON.")]


@app.command("release")
def release_command(
    data: Data,
    question: Asked,
    epsilon: EpsilonOption,
    delta: DeltaOption = "0",
    neighbours: NeighboursOption = "substitution",
    unit: Unit = None,
    reduce: Reduce = None,
    reduce_order: ReduceOrder = None,
    levels: Levels = None,
    where: Where = None,
    ledger: LedgerFile = None,
    part: Part = None,
    types: Types = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question about a table privately and print the answer, which may be published."""
    from optimaldp.release import release

    made = release(
        _source(data, types),
        question,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        unit=unit,
        reduce=reduce,
        reduce_order=reduce_order,
        levels=levels,
        where=where,
        part=part,
        ledger=ledger,
    )
    if as_json:
        typer.echo(made.to_json(indent=2))
    elif sys.stdout.isatty():
        _show(made)
    else:
        typer.echo(_plain(made))


def _source(data: str, types: list[str] | None) -> Any:
    """The source as it was typed, or opened with its declared types."""
    if not types:
        return data
    from optimaldp.errors import InputError
    from optimaldp.tables import open_source

    declared = dict(text.split("=", 1) for text in types if "=" in text)
    if len(declared) < len(types):
        raise InputError("type", types, "does not say name=type once for each column", "write --type age=int64")
    return open_source(data, types=declared)


def _plain(made: Release) -> str:
    """The bare answer for a pipe: a text, or a histogram as JSON."""
    import json

    return made.answer if isinstance(made.answer, str) else json.dumps(made.answer, ensure_ascii=False)


def _show(made: Release) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(_plain(made), style="bold"))
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    for name, value in made.details():
        if name != "answer":
            table.add_row(Text(name.replace("_", " "), style="dim"), Text(value))
    console.print(table)
