"""Channel: what a matrix leaks, and the best private mechanism for a prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optimaldp.channels.channel import Channel
from optimaldp.channels.documents import read_channel, read_graph_name, read_numbers
from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.measures.report import leakage_report
from optimaldp.channels.optimal import optimal_mechanism
from optimaldp.errors import GraphError
from optimaldp.studio.calls import read_fields

MOST_CELLS = 10_000  # a larger matrix is measured but not drawn


def leakage(body: Mapping[str, Any]) -> dict[str, Any]:
    """All measures of a channel: what ``optimaldp leakage`` prints, and under ``studio`` what the page draws."""
    channel, prior = read_channel(dict(body))
    report = leakage_report(channel, prior)
    return report.to_document() | {"studio": _matrix(channel) | {"words": report.words.splitlines()}}


def optimal(body: Mapping[str, Any]) -> dict[str, Any]:
    """The most useful private channel on a graph of answers, with its claim."""
    fields = read_fields(body, ("graph", "epsilon"), ("prior", "gain"))
    prior, gain = fields.get("prior", "uniform"), fields.get("gain", "binary")
    best = optimal_mechanism(
        _read_graph(fields["graph"]),
        fields["epsilon"],
        prior=None if prior == "uniform" else _numbers(prior, "prior"),
        gain=gain if gain in ("binary", "negdist") else _numbers(gain, "gain"),
    )
    return best.to_document() | {"studio": _matrix(best.channel) | {"utility": float(best.utility)}}


def _numbers(value: object, name: str) -> Any:
    return read_numbers(value, name=name) if isinstance(value, str) else value


def _read_graph(described: object) -> AnswerGraph:
    """A family by its name, or a graph as a document; never a path: nothing from the browser reaches the file system."""
    if not isinstance(described, str):
        return AnswerGraph.from_document(described)
    named = read_graph_name(described)
    if named is None:
        families = "path:6, ring:7, clique:5, hypercube:3, grid:3x4, tree:2x2"
        raise GraphError("graph", described, "is not a family of graphs", f"write {families}")
    return named


def _matrix(channel: Channel) -> dict[str, Any]:
    drawn = len(channel.inputs) * len(channel.outputs) <= MOST_CELLS
    return {
        "inputs": [str(name) for name in channel.inputs],
        "outputs": [str(name) for name in channel.outputs],
        "matrix": channel.array.tolist() if drawn else None,
        "exact": channel.exact,
    }
