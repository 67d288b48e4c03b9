"""``optimaldp release``: private answers about a table."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimaldp.cli import app
from optimaldp.cli.options import (
    OF_QUESTION,
    AsJson,
    Asked,
    LedgerFile,
    MaybeData,
    MaybeEpsilon,
    PlanFile,
    asking,
    needed,
    plain,
)

if TYPE_CHECKING:
    from optimaldp.asking.result import Release

Proof = Annotated[
    bool, typer.Option("--proof", help="Show the proof: what was checked exactly, what rests on a theorem.")
]
After = Annotated[
    float | None,
    typer.Option("--after", help="Answer this many seconds after the question, so that the time tells nothing."),
]
AsCsv = Annotated[bool, typer.Option("--csv", help="Print one line for each answer: name, value.")]


@app.command("release")
@asking(*OF_QUESTION)
def release_command(
    *,
    data: MaybeData = None,
    question: Asked = None,
    epsilon: MaybeEpsilon = None,
    asked: dict[str, Any],
    ledger: LedgerFile = None,
    plan: PlanFile = None,
    after: After = None,
    proof: Proof = False,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """Answer questions about a table privately and print the answers, which may be published."""
    if plan is not None:
        from optimaldp.asking.plans import read_plan, release_plan

        _print(release_plan(read_plan(plan)), as_json=as_json, as_csv=as_csv, proof=proof, several=True)
        return
    from optimaldp.asking.releasing import release

    made = release(
        needed(data, "data"),
        list(needed(question, "question")),
        epsilon=needed(epsilon, "epsilon"),
        ledger=ledger,
        answer_after=after,
        **asked,
    )
    _print(made, as_json=as_json, as_csv=as_csv, proof=proof, several=len(made) > 1)


def _print(made: list[Release], *, as_json: bool, as_csv: bool, proof: bool, several: bool) -> None:
    for warning in dict.fromkeys(text for one in made for text in one.warnings):
        print(f"optimaldp: note: {warning}", file=sys.stderr)
    if as_json:
        documents = [one.to_document() for one in made]
        typer.echo(json.dumps(documents if several else documents[0], indent=2, ensure_ascii=False))
    elif as_csv:
        for one in made:
            typer.echo(one.to_csv(), nl=False)
    elif proof or sys.stdout.isatty():  # who asks for the proof wants to read it, in a file too
        for one in made:
            show(one, proof=proof)
    else:
        for one in made:
            typer.echo(plain(one.answer))


def show(made: Release, *, proof: bool) -> None:
    """The four things to know; with *proof* everything behind them."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(made.question, style="dim"))
    if isinstance(made.answer, dict):
        console.print(answer_table(made.answer))
    else:
        console.print(Text(made.said(), style="bold"))
    for sentence in made.sentences()[1:]:
        console.print(Text(sentence))
    if made.recorded:
        console.print(Text("This answer was already in the ledger: nothing was spent.", style="dim"))
    if proof:
        table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
        for name, value in made.proof():
            table.add_row(Text(name.replace("_", " "), style="dim"), Text(value))
        console.print(table)


def answer_table(answer: dict[str, Any]) -> Any:
    """Answers by group or counts by option; counts with bars."""
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    numbers = [value for value in answer.values() if isinstance(value, int)]
    most = max(numbers, default=0) or 1
    taken = max(map(len, answer), default=0) + len(str(most)) + 8  # names, counts and the space between them
    room = min(40, max(4, shutil.get_terminal_size().columns - taken))
    for name, value in answer.items():
        bar = "█" * round(room * value / most) if isinstance(value, int) else ""
        table.add_row(str(name), plain(value) if isinstance(value, str) else str(value), bar)
    return table
