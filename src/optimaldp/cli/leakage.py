"""``optimaldp leakage``: what a channel tells an attacker."""

from __future__ import annotations

import sys

import typer

from optimaldp.cli import app


@app.command()
def leakage(
    channel: str = typer.Argument(help="A JSON file with inputs, outputs, rows and prior; - reads standard input."),
    words: bool = typer.Option(False, "--words", help="Say it in sentences, also when the output is piped."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
    gap: float = typer.Option(1e-9, help="How closely the Shannon capacity is bracketed, in bits."),
) -> None:
    """Measure what a channel leaks: success of one guess, min-entropy, Shannon, guesses, least epsilon."""
    from optimaldp.channels.documents import read_channel
    from optimaldp.channels.measures.report import leakage_report
    from optimaldp.cli.files import read_json

    read, prior = read_channel(read_json(channel))
    report = leakage_report(read, prior, gap=gap)
    if words or (sys.stdout.isatty() and not as_json):
        typer.echo(report.words)
    else:
        typer.echo(report.to_json(indent=2))
