"""``optimaldp audit``: does a black box keep the epsilon that it claims?"""

from __future__ import annotations

import sys

import typer

from optimaldp.cli import app
from optimaldp.cli.channel import samples_from


@app.command()
def audit(
    samples: str = typer.Argument(
        help='Outputs on two neighbouring inputs: JSON {"first": [...], "second": [...]}, or CSV with these two columns.'
    ),
    epsilon: str | None = typer.Option(None, help="The claim to test; without it only a lower bound is printed."),
    delta: str = typer.Option("0", help="The delta of the claim."),
    confidence: float = typer.Option(0.999, help="How sure the bound is."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
) -> None:
    """Test a claimed epsilon with samples of a mechanism; exit code 1 if they refute the claim."""
    from optimaldp.channels.report import audit as run_audit  # numpy

    first, second = samples_from(samples, "first", "second")
    audited = run_audit(first, second, epsilon=epsilon, delta=delta, confidence=confidence)
    typer.echo(audited.words if sys.stdout.isatty() and not as_json else audited.to_json(indent=2))
    if audited.violation:
        raise typer.Exit(1)
