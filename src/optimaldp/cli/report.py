"""``optimaldp report``: what was asked and answered, as one page to hand over."""

from __future__ import annotations

from typing import Annotated

import typer

from optimaldp.cli import app


@app.command("report")
def report_command(
    ledger: Annotated[str, typer.Option("--ledger", help="A ledger file, or postgresql://host/database?ledger=name.")],
    output: Annotated[str, typer.Option("--output", help="The HTML file to write; a browser prints it as PDF.")],
) -> None:
    """Write questions, answers, what they mean, what remains and the proofs as one HTML file. Reads no data, spends nothing."""
    from optimaldp.reporting.report import write_report

    typer.echo(str(write_report(ledger, output)))
