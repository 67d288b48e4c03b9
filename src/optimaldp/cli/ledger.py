"""``optimaldp ledger``: make a ledger, look at it, check it."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimaldp.cli import app
from optimaldp.cli.options import OF_FILE, OF_TABLE, asking
from optimaldp.errors import InputError

if TYPE_CHECKING:
    from optimaldp.ledger import Budget, Ledger

ledger_app = typer.Typer(
    help="A budget that cannot be overspent: create, show, remaining, history, export, verify.", no_args_is_help=True
)
app.add_typer(ledger_app, name="ledger")

Location = Annotated[
    str, typer.Argument(help="A ledger file, or postgresql://host/database?ledger=name.", metavar="LEDGER")
]
_LEVEL_BUDGET = re.compile(
    r"\s*(?P<column>[^=]*[^=\s])\s*=\s*(?P<level>[^:]+?)\s*:\s*(?P<epsilon>[^,]+?)\s*(?:,\s*(?P<delta>.+?)\s*)?"
)
Json = Annotated[bool, typer.Option("--json", help="Print JSON, as is always done when the output is not a terminal.")]


@ledger_app.command("create")
@asking(*OF_TABLE)
def create(
    *,
    location: Location,
    dataset: Annotated[str, typer.Option(help="The steward's name for the data set.")],
    epsilon: Annotated[str, typer.Option(help="The budget: 3, 1/2, ln(3), or inf for a record without a limit.")],
    delta: Annotated[str, typer.Option(help="The budget's delta.")] = "0",
    asked: dict[str, Any],
    each_epsilon: Annotated[
        str | None, typer.Option(help="Compose optimally: every spend at this epsilon at most.")
    ] = None,
    each_delta: Annotated[str, typer.Option(help="The delta of each spend under --each-epsilon.")] = "0",
    part: Annotated[
        list[str] | None,
        typer.Option(help="A disjoint part of the people: a value of one column, region = 'north'; may be repeated."),
    ] = None,
    unit_has_one_part: Annotated[
        bool, typer.Option("--unit-has-one-part", help="Declare that every unit has one part, and that it is public.")
    ] = False,
    level_budget: Annotated[
        list[str] | None,
        typer.Option(
            help="What people of one level may lose in all, trust = 0.1: 0.5 (a column of levels, a level, an epsilon, "
            "and after a comma a delta); may be repeated."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Make a new ledger. What it is told here never changes."""
    from optimaldp.ledger import Budget, Optimal, ledger_exists, open_ledger

    if ledger_exists(location):
        raise InputError("ledger", location, "exists already", "look at it with optimaldp ledger show")
    rule = Optimal(each_epsilon, each_delta) if each_epsilon is not None else None
    reading = {name: asked[name] for name in OF_FILE if asked[name] is not None}
    options: dict[str, Any] = {"neighbours": asked["neighbours"], "unit": asked["unit"], "composition": rule}
    options |= {"parts": part, "unit_has_one_part": unit_has_one_part or None}
    options |= {"groups": _level_budgets(level_budget or []), "settings": reading or None}
    with open_ledger(location, dataset=dataset, budget=Budget(epsilon, delta), **options) as ledger:
        _print_remaining(ledger, as_json)


def _level_budgets(texts: list[str]) -> dict[str, dict[str, Budget]] | None:
    """``trust = 0.1: 0.5`` or ``trust = 0.1: 0.5, 1e-6``, each a column, a level and a budget."""
    from optimaldp.ledger import Budget

    budgets: dict[str, dict[str, Budget]] = {}
    for text in texts:
        match = _LEVEL_BUDGET.fullmatch(text)
        if match is None:
            raise InputError("level-budget", text, "does not say column = level: epsilon", "write 'trust = 0.1: 0.5'")
        of_column = budgets.setdefault(match["column"], {})
        if match["level"] in of_column:
            raise InputError("level-budget", text, "names a level twice", "name each level once")
        of_column[match["level"]] = Budget(match["epsilon"], match["delta"] or 0)
    return budgets or None


@ledger_app.command("show")
def show(location: Location, as_json: Json = False) -> None:
    """Print every question with its level, answer and time, and what is left."""
    with _read(location) as ledger:
        history = ledger.history()
        if as_json or not sys.stdout.isatty():
            _print(
                _about(ledger)
                | {"remaining": ledger.remaining().to_document(), "history": history.to_document()["history"]}
            )
            return
        from rich.console import Console

        console = Console()
        console.print(history)
        console.print(ledger.remaining().summary(), markup=False, highlight=False)
        console.print(f"head {ledger.head}")


@ledger_app.command("remaining")
def remaining(
    location: Location,
    part: Annotated[str | None, typer.Option(help="Of one declared part only: north, or region = 'north'.")] = None,
    group: Annotated[str | None, typer.Option(help="Of the people of one level only: trust = 0.1.")] = None,
    as_json: Json = False,
) -> None:
    """Print what is left of the budget."""
    with _read(location) as ledger:
        _print_remaining(ledger, as_json, part=part, group=group)


@ledger_app.command("history")
def history(
    location: Location,
    output: Annotated[str, typer.Option(help="A file to write: .csv, .json, .html, or a picture .png, .svg, .pdf.")],
) -> None:
    """Write every question with its level, answer and time as a file, or the budget used over time as a picture."""
    with _read(location) as ledger:
        asked = ledger.history()
    if output.lower().endswith((".png", ".svg", ".pdf")):
        asked.plot(output)
    else:
        asked.save(output)


@ledger_app.command("export")
def export(
    location: Location,
    output: Annotated[str | None, typer.Option(help="A file to write; standard output if it is left out.")] = None,
) -> None:
    """Write every entry as one line of JSON each, with its hash: others can check the chain without optimaldp."""
    with _read(location) as ledger:
        lines = [
            json.dumps({"hash": digest, "entry": entry.text()})
            for digest, entry in zip(ledger.hashes(), ledger.entries())
        ]
    text = "\n".join(lines) + "\n"
    if output is None:
        typer.echo(text, nl=False)
    else:
        _write(output, text)


@ledger_app.command("verify")
def verify(
    location: Location,
    head: Annotated[str | None, typer.Option(help="A hash that was noted earlier: is it still in the chain?")] = None,
) -> None:
    """Check that the ledger is whole and unchanged. Exit code 0 if it is, else 1."""
    from optimaldp.ledger import ledger_exists, verify_ledger

    if not ledger_exists(location):
        raise InputError("ledger", location, "does not exist", "check the path")
    verdict = verify_ledger(location, head=head)
    _print(verdict.to_document())
    raise typer.Exit(0 if verdict.intact else 1)


def _read(location: str) -> Ledger:
    from optimaldp.ledger import open_ledger

    return open_ledger(location, readonly=True)


def _about(ledger: Ledger) -> dict[str, Any]:
    content = ledger.opening.content()
    content["neighbours_in_words"] = ledger.neighbours_words
    groups = {str(group): remaining.to_document() for group, remaining in ledger.groups().items()}
    return content | {"head": ledger.head, "level_groups": groups}


def _print_remaining(ledger: Ledger, as_json: bool, *, part: str | None = None, group: str | None = None) -> None:
    rest = ledger.remaining(part=part, group=group)
    if as_json or not sys.stdout.isatty():
        _print({"dataset": ledger.opening.dataset, "neighbours": ledger.opening.neighbours.value} | rest.to_document())
    else:
        typer.echo(f"{ledger.opening.dataset}: {rest.summary()}\nneighbours: {ledger.neighbours_words}")


def _print(document: dict[str, Any]) -> None:
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _write(path: str, text: str) -> None:
    from pathlib import Path

    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise InputError("output", path, f"cannot be written ({error.strerror})", "check the path") from None
