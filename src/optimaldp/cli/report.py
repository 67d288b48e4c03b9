"""``optimaldp report``: what was asked and answered, as one page to hand over."""

from __future__ import annotations

from typing import Annotated

import typer

from optimaldp.cli import app


@app.command("report")
def report_command(
    output: Annotated[
        str,
        typer.Option(
            "--output",
            help="The page to write: .html, or .pdf where a browser or another printer of pages is installed.",
        ),
    ],
    documents: Annotated[
        list[str] | None,
        typer.Argument(help="Without a ledger: files that release --json wrote.", metavar="[RELEASE]..."),
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="A ledger file, or postgresql://host/database?ledger=name.")
    ] = None,
) -> None:
    """Write questions, answers, what they mean, what remains and the proofs as one page. Reads no data, spends nothing."""
    from optimaldp.reporting.report import write_report

    typer.echo(str(write_report(ledger, output, documents=documents or [])))
