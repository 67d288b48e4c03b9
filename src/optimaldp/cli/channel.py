"""``optimaldp channel``: the most useful private channel, and what an epsilon means for one person."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from optimaldp.cli import app

if TYPE_CHECKING:
    from optimaldp.channels import AnswerGraph, OptimalMechanism

channel_app = typer.Typer(help="Private channels on a graph of answers.", no_args_is_help=True)
app.add_typer(channel_app, name="channel")

_FAMILIES = "path:6, ring:7, clique:5, hypercube:3, grid:3x4, tree:2x2"


@channel_app.command()
def optimal(
    graph: str = typer.Option(
        ..., help=f"{_FAMILIES}, or a JSON file with vertices and edges; - reads standard input."
    ),
    epsilon: str = typer.Option(..., help="0.5, 1/2, ln(2), …; there is no default."),
    prior: str = typer.Option("uniform", help="uniform, numbers such as 1/10,1/5,7/10, or a JSON file."),
    gain: str = typer.Option(
        "binary", help="binary, negdist, rows such as 1,0;0,1, or a JSON file: gain[answer][guess]."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
) -> None:
    """Find the private channel with the greatest expected gain on a graph of answers, with a proof."""
    from optimaldp.channels.optimal import optimal_mechanism

    chosen_prior = None if prior == "uniform" else _numbers(prior, "prior")
    chosen_gain = gain if gain in ("binary", "negdist") else _numbers(gain, "gain")
    found = optimal_mechanism(_graph(graph), epsilon, prior=chosen_prior, gain=chosen_gain)
    if sys.stdout.isatty() and not as_json:
        _show(found)
    else:
        typer.echo(found.to_json())


@channel_app.command()
def explain(
    epsilon: str = typer.Option(..., help="0.5, 1/2, ln(2), …; there is no default."),
    values: int = typer.Option(2, min=2, help="How many values one person's record can have."),
) -> None:
    """Say in words what an epsilon means for one person."""
    from optimaldp.channels.measures.report import explain_epsilon

    typer.echo(explain_epsilon(epsilon, values=values))


def _graph(text: str) -> AnswerGraph:
    from optimaldp.channels.documents import read_graph_name
    from optimaldp.channels.graphs.answer_graph import AnswerGraph
    from optimaldp.cli.files import read_json
    from optimaldp.errors import GraphError

    named = read_graph_name(text)
    if named is not None:
        return named
    if text != "-" and not Path(text).exists():
        raise GraphError("graph", text, "is neither a family nor a file", f"write {_FAMILIES} or a JSON file's path")
    return AnswerGraph.from_document(read_json(text))


def _numbers(text: str, name: str) -> Any:
    from optimaldp.channels.documents import read_numbers
    from optimaldp.cli.files import read_json

    return read_json(text) if text == "-" or Path(text).is_file() else read_numbers(text, name=name)


def _show(found: OptimalMechanism) -> None:
    from rich.console import Console
    from rich.table import Table

    from optimaldp.channels.numbers import cell_text

    console = Console()
    if len(found.graph.vertices) <= 16:
        table = Table("answer", *(str(z) for z in found.channel.outputs))
        for y in found.channel.inputs:
            table.add_row(str(y), *(_short(cell) for cell in found.channel.row(y).values()))
        console.print(table)
    console.print(
        f"utility {cell_text(found.utility)} ({float(found.utility):.6g}), found by {found.route}", highlight=False
    )
    console.print(found.claim, highlight=False)


def _short(cell: Any) -> str:
    text = str(cell)
    return text if len(text) <= 8 else f"{float(cell):.4g}"
