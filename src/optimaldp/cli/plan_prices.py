"""The prices of a plan for a person to read: a line for each question, the total, and whether the budget covers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

_RIGHT = {"at most 5 %": "95 %", "at most 1 %": "99 %", "0": "always"}


def show_prices(priced: Mapping[str, Any], console: Console | None = None) -> None:
    """Print what each question costs, from which margin on it is right, and what all of them cost together."""
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
        for note in one.get("notes", ()):
            screen.print(Text(f"{number}: {note}"))
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
