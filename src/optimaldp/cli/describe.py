"""``optimaldp describe``: make, check and accept the public description of a table."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from optimaldp.cli import app


@app.command()
def describe(
    source: str = typer.Argument(
        help="A table: a path or URL. With --check or --accept: NAME.datapackage.json or .toml."
    ),
    encoding: str | None = typer.Option(None, help="The encoding of a CSV, such as latin-1."),
    delimiter: str | None = typer.Option(None, help="The delimiter of a CSV."),
    output: str | None = typer.Option(
        None, help="Where the proposal is written; an existing file is never overwritten."
    ),
    check: bool = typer.Option(
        False, "--check", help="Say which cells cannot be read as described. Not for publication."
    ),
    accept: bool = typer.Option(False, "--accept", help="Say that the description was reviewed."),
) -> None:
    """Propose a description of a table for its steward, check one, or accept it."""
    from optimaldp.tables.describing import accept as accepted
    from optimaldp.tables.describing import check_description
    from optimaldp.tables.describing import describe as proposed
    from optimaldp.tables.description import read_description

    if check or accept:
        if check:
            _say_unread(check_description(read_description(source)))
        if accept:
            made = accepted(source)
            typer.echo(f"{source} is reviewed; its hash is {made.hash[:16]}.")
        return
    proposal = proposed(source, encoding=encoding, delimiter=delimiter)
    talks = sys.stdin.isatty() and sys.stdout.isatty()
    if talks:
        _say_unread(proposal.unread())
        _ask(proposal)
    file = proposal.save(output or f"{proposal.document['name']}.datapackage.json")
    typer.echo(
        f"{file} is written and not reviewed yet. Read it, add what anybody may know, then: optimaldp describe {file} --accept"
    )


def _say_unread(found: list[Any]) -> None:
    if not found:
        typer.echo("Every cell can be read as described.", err=True)
        return
    typer.echo("Not for publication: this was computed from the data.", err=True)
    for one in found:
        typer.echo(f"  {one}", err=True)


def _ask(proposal: Any) -> None:
    """Who is a person, and what may be public: only what is typed here goes into the file."""
    columns = [field["name"] for field in proposal.document["resources"][0]["schema"]["fields"]]
    own = proposal.document["optimaldp"]
    person = typer.prompt("Which column names a person? (empty: each row is a person)", default="", show_default=False)
    if person and person not in columns:
        raise typer.BadParameter(f"{person} is not a column; the columns are {', '.join(columns)}")
    own["person"] = person or None
    typer.echo("What you type from here on becomes public. Leave it empty to say nothing.")
    for field in proposal.document["resources"][0]["schema"]["fields"]:
        constraints: dict[str, Any] = {}
        if field["type"] in ("integer", "number"):
            for word in ("minimum", "maximum"):
                typed = typer.prompt(f"{field['name']}: {word}", default="", show_default=False)
                if typed:
                    constraints[word] = json.loads(typed)
        elif field["type"] == "string" and field["name"] != person:
            typed = typer.prompt(
                f"{field['name']}: its values, with commas between them", default="", show_default=False
            )
            if typed:
                constraints["enum"] = [value.strip() for value in typed.split(",")]
        if constraints:
            field["constraints"] = constraints
