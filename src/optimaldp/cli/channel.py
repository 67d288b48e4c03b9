"""What the channel commands are given: channels as JSON, CSV or .npy, graphs, numbers that were typed, and samples."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from optimaldp.cli import app
from optimaldp.cli.options import read_json, read_text
from optimaldp.errors import ChannelError, GraphError

if TYPE_CHECKING:
    from optimaldp.channels import AnswerGraph, Channel, OptimalMechanism
    from optimaldp.channels.vulnerability import Prior

FAMILIES = "path:6, ring:7, clique:5, hypercube:3, grid:3x4, tree:2x2, histograms:4x3"


def channel_from(path: str, prior: str | None = None) -> tuple[Channel, Prior]:
    """A channel and its prior from a file (``-`` is standard input); a prior that was typed takes the place of the file's."""
    return channel_from_document(document_from(path), prior)


def channel_from_document(document: dict[str, Any], prior: str | None = None) -> tuple[Channel, Prior]:
    """The same from a document that was read."""
    from optimaldp.channels.reading import read_channel  # numpy

    return read_channel(document if prior is None else document | {"prior": numbers_from(prior, "prior")})


def document_from(path: str) -> dict[str, Any]:
    """A channel's document: JSON as it is, a table of numbers (CSV, ``.npy``) as the rows that it holds."""
    from optimaldp.channels.reading import rows_of_array, rows_of_csv  # numpy
    from optimaldp.documents.json_text import read_json_text  # exact numbers: not for a page of help

    if path.lower().endswith(".npy"):
        return rows_of_array(path)
    text = read_text(path)
    if path.lower().endswith(".csv") or (path == "-" and text.strip() and text.lstrip()[0] not in "{["):
        return rows_of_csv(text, source=path)
    document = read_json_text(text, source=path)
    if isinstance(document, list):
        return {"rows": document}
    if not isinstance(document, dict):
        raise ChannelError("channel", document, "is not an object with inputs, outputs and rows")
    return document


def graph_from(text: str) -> AnswerGraph:
    """A graph by the name of its family, or from a JSON file."""
    from optimaldp.channels.answer_graph import AnswerGraph
    from optimaldp.channels.reading import read_graph_name  # numpy

    named = read_graph_name(text)
    if named is not None:
        return named
    if text != "-" and not is_file(text):
        raise GraphError("graph", text, "is neither a family nor a file", f"write {FAMILIES} or a JSON file's path")
    return AnswerGraph.from_document(read_json(text))


def numbers_from(text: str, name: str) -> Any:
    """Numbers that were typed, or those of a JSON file."""
    from optimaldp.channels.reading import read_numbers  # numpy

    return read_json(text) if text == "-" or is_file(text) else read_numbers(text, name=name)


def is_file(text: str) -> bool:
    """Whether a text names a file; numbers that were typed may be longer than any name of a file."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def samples_from(path: str, first: str, second: str) -> tuple[list[Any], list[Any]]:
    """Two lists of samples: a JSON object with the two names, or a CSV file with two columns of these names."""
    from optimaldp.channels.reading import columns_of_csv  # numpy

    if path.lower().endswith(".csv"):
        return columns_of_csv(read_text(path), (first, second), source=path)
    document = read_json(path)
    if not isinstance(document, dict) or set(document) != {first, second}:
        raise ChannelError("samples", document, f"is not an object with the two lists {first} and {second}")
    for name in (first, second):
        if not isinstance(document[name], list):
            raise ChannelError(name, document[name], "is not a list")
    return [_plain(value) for value in document[first]], [_plain(value) for value in document[second]]


def _plain(value: object) -> Any:
    """A sample as it can be counted: lists as tuples, decimals as floats."""
    if isinstance(value, list):
        return tuple(_plain(part) for part in value)
    if isinstance(value, (Decimal, float)):
        return float(value)
    if value is not None and not isinstance(value, (str, int)):
        raise ChannelError("sample", value, "is neither a text nor a number nor a list of them")
    return value


# ``optimaldp channel``: the most useful private channel, and what an epsilon means for one person.


channel_app = typer.Typer(help="Make a private channel on a graph of answers.", no_args_is_help=True)
app.add_typer(channel_app, name="channel")


@channel_app.command()
def optimal(
    graph: str = typer.Option(..., help=f"{FAMILIES}, or a JSON file with vertices and edges; - reads standard input."),
    epsilon: str = typer.Option(..., help="0.5, 1/2, ln(2), …; there is no default."),
    prior: str = typer.Option("uniform", help="uniform, numbers such as 1/10,1/5,7/10, or a JSON file."),
    gain: str = typer.Option(
        "binary", help="binary, negdist, rows such as 1,0;0,1, or a JSON file: gain[answer][guess]."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
) -> None:
    """Find the private channel with the greatest expected gain on a graph of answers, with a proof."""
    from optimaldp.channels.optimal import optimal_mechanism

    chosen_prior = None if prior == "uniform" else numbers_from(prior, "prior")
    chosen_gain = gain if gain in ("binary", "negdist") else numbers_from(gain, "gain")
    optimum = optimal_mechanism(graph_from(graph), epsilon, prior=chosen_prior, gain=chosen_gain)
    if sys.stdout.isatty() and not as_json:
        _show(optimum)
    else:
        typer.echo(optimum.to_json())


@channel_app.command()
def explain(
    epsilon: str = typer.Option(..., help="0.5, 1/2, ln(2), …; there is no default."),
    values: int = typer.Option(2, min=2, help="How many values one person's record can have."),
) -> None:
    """Say in words what an epsilon means for one person."""
    from optimaldp.channels.report import explain_epsilon

    typer.echo(explain_epsilon(epsilon, values=values))


@channel_app.command()
def verify(
    channel: str = typer.Argument(help="What 'channel optimal' printed, or any channel; - reads standard input."),
    graph: str | None = typer.Option(
        None, help=f"{FAMILIES}, or a JSON file; without it the graph that the file holds."
    ),
    epsilon: str | None = typer.Option(None, help="0.5, 1/2, ln(2), …; without it the epsilon that the file holds."),
    prior: str = typer.Option(
        None, help="Numbers such as 1/10,1/5,7/10, or a JSON file; without it the file's, or uniform."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
) -> None:
    """Let the referee check a channel: private on the graph, and optimal if it holds a proof; exit code 1 if not."""
    from optimaldp.certify.channels import verify_channel  # numpy
    from optimaldp.channels.answer_graph import AnswerGraph

    document = document_from(channel)
    read, masses = channel_from_document(document, prior)
    if graph is None and "graph" not in document:
        raise ChannelError("graph", None, "is missing", f"add --graph: {FAMILIES} or a JSON file")
    if epsilon is None and "epsilon" not in document:
        raise ChannelError("epsilon", None, "is missing", "add --epsilon; there is no default")
    verdict = verify_channel(
        read,
        AnswerGraph.from_document(document["graph"]) if graph is None else graph_from(graph),
        epsilon=document["epsilon"] if epsilon is None else epsilon,
        prior=list(masses),
        gain=document.get("gain"),
        certificate=document.get("certificate"),
    )
    typer.echo(verdict.to_json(indent=2) if as_json or not sys.stdout.isatty() else f"{verdict}\n{verdict.reason}")
    if not verdict:
        raise typer.Exit(1)


@channel_app.command()
def estimate(
    samples: str = typer.Argument(
        help='Pairs: JSON {"secrets": [...], "observations": [...]}, or CSV with these two columns; - reads standard input.'
    ),
    confidence: float = typer.Option(0.999, help="How sure the bounds are."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON, also on a terminal."),
) -> None:
    """Bound from below, by samples alone, what observations tell about secrets."""
    from optimaldp.channels.report import estimate_leakage  # numpy

    estimated = estimate_leakage(*samples_from(samples, "secrets", "observations"), confidence=confidence)
    typer.echo(estimated.words if sys.stdout.isatty() and not as_json else estimated.to_json(indent=2))


def _show(optimum: OptimalMechanism) -> None:
    from rich.console import Console
    from rich.table import Table

    from optimaldp.channels.numbers import cell_text

    console = Console()
    if len(optimum.graph.vertices) <= 16:
        table = Table("answer", *(str(z) for z in optimum.channel.outputs))
        for y in optimum.channel.inputs:
            table.add_row(str(y), *(_short(cell) for cell in optimum.channel.row(y).values()))
        console.print(table)
    console.print(
        f"utility {cell_text(optimum.utility)} ({float(optimum.utility):.6g}), found by {optimum.route}",
        highlight=False,
    )
    console.print(optimum.claim, highlight=False)


def _short(cell: Fraction | float) -> str:
    text = str(cell)
    return text if len(text) <= 8 else f"{float(cell):.4g}"
