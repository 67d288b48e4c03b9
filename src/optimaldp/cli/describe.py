"""``optimaldp describe``: make, check and accept the public description of a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import typer

from optimaldp.cli import app
from optimaldp.errors import printable


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
        typer.echo(f"  {printable(str(one))}", err=True)
    typer.echo("These cells count as missing. A word such as NA that means so belongs into missingValues.", err=True)


def _ask(proposal: Any) -> None:
    """Who is a person, and what may be public: only what is typed here goes into the file."""
    schema, own = proposal.document["resources"][0]["schema"], proposal.document["optimaldp"]
    person = _person(own, [field["name"] for field in schema["fields"]])
    typer.echo("What you type from here on becomes public. Leave it empty to say nothing.")
    schema["missingValues"] += _words("Words that mean no value, such as NA, with commas between them")
    rules: dict[str, str] = {}
    for field in schema["fields"]:
        name, kind = field["name"], field["type"]
        if name == person:
            continue
        if kind in ("integer", "number"):
            limits = {word: _typed(f"{name}: {word}", partial(_number, name, word)) for word in ("minimum", "maximum")}
        else:
            values = _words(f"{name}: its values, with commas between them") if kind == "string" else []
            limits = {"enum": values or None}
        constraints = {word: limit for word, limit in limits.items() if limit is not None}
        if constraints:
            field["constraints"] = constraints
        if own.get("reduce") is not None and (fitting := _RULES.get(kind)):
            rule = _typed(f"{name} of a person with several rows ({', '.join(fitting)})", partial(_rule, fitting))
            rules |= {name: rule} if rule else {}
    if "reduce" in own:
        own["reduce"] = rules


# First and last need an order of rows, which is written into the file by hand.
_RULES = {
    **dict.fromkeys(("integer", "number"), ("sum", "mean", "median", "min", "max", "count")),
    **dict.fromkeys(("date", "datetime"), ("median", "min", "max", "count")),
}


def _person(own: dict[str, Any], columns: list[str]) -> str | None:
    """Who is a person, and whether a person can have several rows."""

    def read(typed: str) -> str:
        if typed and typed not in columns:
            raise typer.BadParameter(printable(f"{typed} is not a column; the columns are {', '.join(columns)}"))
        return typed

    person: str | None = _typed("Which column names a person? (empty: each row is a person)", read) or None
    own["person"] = person
    if person and typer.confirm("Can a person have several rows?", default=True):
        own["reduce"] = {}
    return person


def _typed(asked: str, read: Callable[[str], Any]) -> Any:
    """What is typed, read; None for nothing. Asked again where it cannot be read."""
    return typer.prompt(
        printable(asked), default="", show_default=False, value_proc=lambda text: read(text) if text else None
    )


def _words(asked: str) -> list[str]:
    return _typed(asked, lambda text: [word.strip() for word in text.split(",") if word.strip()]) or []


def _rule(fitting: tuple[str, ...], typed: str) -> str:
    if typed not in fitting:
        raise typer.BadParameter(printable(f"{typed} is not a rule here; the rules are {', '.join(fitting)}"))
    return typed


def _number(column: str, word: str, typed: str) -> int | float:
    for number in (int, float):
        with suppress(ValueError):
            return number(typed)
    said = f"{typed} is not a number; write the {word} of {column} like 1234.5"
    raise typer.BadParameter(printable(said))
