"""``optimaldp audit``: does a black box keep the epsilon that it claims?"""

from __future__ import annotations

import sys
from typing import Any

import typer

from optimaldp.cli import app


@app.command()
def audit(
    samples: str = typer.Argument(
        help='A JSON file {"first": [...], "second": [...]}: outputs on two neighbouring inputs.'
    ),
    epsilon: str | None = typer.Option(None, help="The claim to test; without it only a lower bound is printed."),
    delta: str = typer.Option("0", help="The delta of the claim."),
    confidence: float = typer.Option(0.999, help="How sure the bound is."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
) -> None:
    """Bound epsilon from below by samples; exit code 1 if they refute the claim."""
    from optimaldp.channels.measures.audits import audit as run_audit
    from optimaldp.cli.files import read_json

    first, second = _two_lists(read_json(samples))
    found = run_audit(first, second, epsilon=epsilon, delta=delta, confidence=confidence)
    typer.echo(found.words if sys.stdout.isatty() and not as_json else found.to_json(indent=2))
    if found.violation:
        raise typer.Exit(1)


def _two_lists(document: Any) -> tuple[list[Any], list[Any]]:
    from optimaldp.errors import ChannelError

    if not isinstance(document, dict) or set(document) != {"first", "second"}:
        raise ChannelError("samples", document, "is not an object with the two lists first and second")
    lists = []
    for name in ("first", "second"):
        if not isinstance(document[name], list):
            raise ChannelError(name, document[name], "is not a list of outputs")
        lists.append([_output(value) for value in document[name]])
    return lists[0], lists[1]


def _output(value: Any) -> Any:
    from decimal import Decimal

    if isinstance(value, Decimal):
        return float(value)
    return tuple(_output(part) for part in value) if isinstance(value, list) else value
