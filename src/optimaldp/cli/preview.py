"""``optimaldp preview``: how often the private answer will be right, before anything is read or spent."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from optimaldp.asking.ask import Ask
from optimaldp.cli import app, note
from optimaldp.cli.options import OF_QUESTION, AsJson, Asked, LedgerFile, MaybeEpsilon, PlanFile, asking, needed
from optimaldp.errors import InputError, QuestionError

DataPath = Annotated[
    str | None, typer.Option("--data", help="A table to check the question against: its columns, never its rows.")
]
Persons = Annotated[int | None, typer.Option("--n", help="The public number of people, to show margins as shares.")]
Picture = Annotated[str | None, typer.Option("--plot", help="Also draw a picture into this file (.png, .svg, .pdf).")]
LevelSizes = Annotated[
    str | None, typer.Option("--level-sizes", help='How many people have each level of their own: "0.1: 20, 1: 981".')
]


@app.command("preview")
@asking(*OF_QUESTION)
def preview_command(
    *,
    question: Asked = None,
    epsilon: MaybeEpsilon = None,
    data: DataPath = None,
    n: Persons = None,
    level_sizes: LevelSizes = None,
    asked: dict[str, Any],
    ledger: LedgerFile = None,
    plot: Picture = None,
    as_json: AsJson = False,
    plan: PlanFile = None,
) -> None:
    """Show how reliable an answer would be, next to other mechanisms. Reads no row and spends nothing."""
    if plan is not None:
        from optimaldp.asking.plans import preview_plan, read_plan

        priced = preview_plan(read_plan(plan))
        if as_json or not sys.stdout.isatty():
            typer.echo(json.dumps(priced, indent=2, ensure_ascii=False))
        else:
            from optimaldp.cli.release import show_prices

            show_prices(priced)
        return
    from optimaldp.asking.checking import check_request
    from optimaldp.asking.previewing import preview_of

    levels = asked.pop("levels")
    if levels is not None and level_sizes is None:
        remedy = 'a preview reads no table: say how many people have each level, --level-sizes "0.1: 20, 1: 981"'
        raise QuestionError("levels", levels, "is a column, which a preview does not read", remedy)
    requests = [
        check_request(
            one,
            epsilon=needed(epsilon, "epsilon"),
            personal=level_sizes is not None,
            data=data,
            ledger=ledger,
            **asked,
        )
        for one in needed(question, "question")
    ]
    if data is not None:
        _print_cautions(requests, Ask("", 0, **asked), data, n)
    made = [preview_of(request, n=n, level_sizes=_sizes(level_sizes)) for request in requests]
    if plot is not None:
        from optimaldp.plots.style import save

        save(made[0].plot(), plot)
    if as_json or not sys.stdout.isatty():
        documents = [one.to_document() for one in made]
        typer.echo(json.dumps(documents if len(documents) > 1 else documents[0], indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    for one in made:
        Console().print(one)


def _print_cautions(requests: list[Any], said: Ask, data: str, n: int | None) -> None:
    """What a careful colleague would say before this is asked: from names, types and public numbers alone."""
    from optimaldp.asking.releasing import open_asked
    from optimaldp.asking.statements import cautions

    # As it was said: what a description adds to a request cannot be said beside the description.
    schema = open_asked(data, [said]).schema
    for text in dict.fromkeys(text for request in requests for text in cautions(request, schema, n)):
        note(text)


def _sizes(text: str | None) -> dict[Any, int] | None:
    """``"0.1: 20, 1: 981"``."""
    if text is None:
        return None
    pairs = [part.split(":") for part in text.split(",")]
    if any(len(pair) != 2 or not pair[1].strip().isdecimal() for pair in pairs):
        raise InputError("level-sizes", text, "does not say level: people", 'write "0.1: 20, 1: 981"')
    return {level.strip(): int(people) for level, people in pairs}
