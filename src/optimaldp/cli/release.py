"""The prices of a plan for a person to read: a line for each question, the total, and whether the budget covers it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from optimaldp.cli import app, note
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
    from rich.console import Console

    from optimaldp.asking.result import Release
    from optimaldp.histograms.margins import CrossTable

_RIGHT = {"at most 5 %": "95 %", "at most 1 %": "99 %", "0": "always"}


def show_prices(priced: Mapping[str, Any], console: Console | None = None) -> None:
    """Print what each question costs, from which margin on it is right, and what all of them cost together."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    screen = console or Console()
    questions = priced["questions"]
    with_delta = priced["delta"] != "0"
    table = Table(title=Text("What the plan costs, and how reliable its answers are"), title_justify="left")
    table.add_column("#", justify="right")
    table.add_column("question", overflow="fold")
    for name in ("epsilon", *(["delta"] if with_delta else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("right from a margin of", overflow="fold")
    for number, one in enumerate(questions, start=1):
        price = [one["epsilon"], *([one["delta"]] if with_delta else [])]
        # Texts, not markup: a question may hold square brackets.
        table.add_row(str(number), Text(one["question"]), *price, Text(_reliable(one)))
    table.add_section()
    table.add_row("", Text("together"), priced["epsilon"], *([priced["delta"]] if with_delta else []), "")
    screen.print(table)
    for number, one in enumerate(questions, start=1):
        for remark in one.get("notes", ()):
            screen.print(Text(f"{number}: {remark}"))
    screen.print(Text(_covered(priced)))


def _reliable(one: Mapping[str, Any]) -> str:
    margins = [
        f"{margin} ({_RIGHT[name]})" for name, margin in one.get("reliable_from", {}).items() if margin is not None
    ]
    return ", ".join(margins) or "; ".join(one.get("off", ())) or "no margin: see the note"


def _covered(priced: Mapping[str, Any]) -> str:
    """Whether there is enough for all of it: in the ledger if there is one, else in the budget that the plan names."""
    nothing = "Nothing was read or spent."
    if priced["covered"] is None:
        return f"The plan names no budget and no ledger: nobody counts what is spent. {nothing}"
    verdict = "is covered" if priced["covered"] else "is not covered, and would be refused as a whole"
    if priced["remaining"] is None:
        budget = priced["budget"]
        return (
            f"The plan {verdict}: its budget is epsilon {budget['epsilon']}, delta {budget.get('delta', 0)}. {nothing}"
        )
    rest = priced["remaining"]
    return (
        f"The plan {verdict}: the ledger has epsilon {rest['epsilon']}, delta {rest['delta']} left. "
        f"What is on record already costs nothing. {nothing}"
    )


# ``optimaldp release``: private answers about a table.


Proof = Annotated[
    bool, typer.Option("--proof", help="Show the proof: what was checked exactly, what rests on a theorem.")
]
After = Annotated[
    float | None,
    typer.Option("--after", help="Answer this many seconds after the question, so that the time tells nothing."),
]
Percent = Annotated[
    str | None,
    typer.Option("--percent", help="Percentages beside the counts of a cross table: of rows, columns or all."),
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
    percent: Percent = None,
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

    questions = list(needed(question, "question"))
    if percent is not None:
        from optimaldp.questions.kinds.crosstab import with_percent

        questions = [with_percent(text, percent) for text in questions]
    made = release(
        needed(data, "data"),
        questions,
        epsilon=needed(epsilon, "epsilon"),
        ledger=ledger,
        answer_after=after,
        **asked,
    )
    _print(made, as_json=as_json, as_csv=as_csv, proof=proof, several=len(made) > 1)


def _print(made: list[Release], *, as_json: bool, as_csv: bool, proof: bool, several: bool) -> None:
    for warning in dict.fromkeys(text for one in made for text in one.warnings):
        note(warning)
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
    """What to know; with *proof* everything behind it."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    console.print(Text(made.words()), Text(made.question, style="dim"), sep="\n")
    if made.crossed:
        console.print(cross_table(made.crosstab()))
    elif isinstance(made.answer, dict):
        console.print(answer_table(made, made.answer))
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


def cross_table(made: CrossTable) -> Any:
    """The cells with their sums. Counts as small as their noise carry a star: the words would not fit beside many columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    flag, last = f" [unreliable: ± {made.reach}]", f"{made.names[-1]}: "
    head, *lines = [[word.replace(flag, " *") for word in line] for line in made.grid()]
    flagged = any(word.endswith(" *") for line in lines for word in line)
    table = Table(box=SIMPLE_HEAD, title=Text(made.names[-1]), caption=Text(f"* {flag[2:-1]}") if flagged else None)
    for place, word in enumerate(head):
        named = place < len(made.names) - 1
        table.add_column(Text(word.removeprefix(last)), justify="left" if named else "right", overflow="fold")
    for place, line in enumerate(lines):
        table.add_row(*map(Text, line), end_section=place == len(lines) - 2)
    return table


def answer_table(made: Release, answer: Mapping[str, object]) -> Any:
    """Answers by group or counts by option: numbers in words, counts with their intervals, both with bars."""
    from rich.table import Table

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    words, intervals = made.asked.group_words(made.statement), made.intervals()
    lines = [(str(name), words.get(name) or _plain(value), _ends(intervals[name])) for name, value in answer.items()]
    numbers = [value for value in answer.values() if isinstance(value, (int, float))]
    most = max(numbers, default=0) or 1
    taken = sum(max((len(line[place]) for line in lines), default=0) + 2 for place in range(3))
    room = min(40, max(4, shutil.get_terminal_size().columns - taken))
    for line, value in zip(lines, answer.values()):
        bar = "█" * round(room * value / most) if isinstance(value, (int, float)) else ""
        table.add_row(line[0], line[1], "" if words else line[2], bar)
    return table


def _plain(value: object) -> str:
    return plain(value) if isinstance(value, str) else str(value)


def _ends(interval: tuple[Any, Any] | None) -> str:
    return "" if interval is None else f"{interval[0]:g} to {interval[1]:g}"
