"""``optimaldp leakage``: what a channel tells an attacker."""

from __future__ import annotations

import json
import sys

import typer

from optimaldp.cli import app
from optimaldp.cli.channel import FAMILIES, channel_from, graph_from


@app.command()
def leakage(
    channel: str = typer.Argument(
        help="A channel: JSON with inputs, outputs, rows and prior, a CSV table or a .npy matrix; - reads standard input."
    ),
    prior: str | None = typer.Option(
        None, help="Numbers such as 1/10,1/5,7/10, or a JSON file; without it the file's, or uniform."
    ),
    graph: str | None = typer.Option(
        None, help=f"Adds the least epsilon on a graph of the inputs: {FAMILIES}, or a JSON file."
    ),
    words: bool = typer.Option(False, "--words", help="Say it in sentences, also when the output is piped."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
    gap: float = typer.Option(1e-9, help="How closely the Shannon capacity is bracketed, in bits."),
) -> None:
    """Measure what a channel leaks: success of one guess, min-entropy, Shannon, guesses, least epsilon."""
    from optimaldp.channels.privacy import least_epsilon  # numpy
    from optimaldp.channels.report import leakage_report

    read, masses = channel_from(channel, prior)
    report = leakage_report(read, masses, gap=gap)
    on_graph = None if graph is None else least_epsilon(read, graph_from(graph))
    if words or (sys.stdout.isatty() and not as_json):
        typer.echo(report.words)
        if on_graph is not None:
            typer.echo(f"On the graph {graph} its least epsilon is {on_graph.epsilon:.6g}.")
        return
    document = report.to_document()
    if on_graph is not None:
        document["epsilon_on_graph"] = "inf" if on_graph.epsilon == float("inf") else on_graph.epsilon
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False))
