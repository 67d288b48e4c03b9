"""Channel: what a matrix leaks, and the best private mechanism for a prior."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import optimaldp as odp
from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.channel import Channel
from optimaldp.channels.optimal import optimal_mechanism
from optimaldp.channels.reading import read_channel, read_graph_name, read_numbers
from optimaldp.channels.report import leakage_report
from optimaldp.designing import Design
from optimaldp.documents.json_text import json_text
from optimaldp.errors import GraphError
from optimaldp.graphs import DatasetGraph
from optimaldp.mechanisms.documents import problem_document, read_problem
from optimaldp.plots.graph_layouts import positions
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


# Design: a problem file in; the optimum with its certificate and everything that a picture of it needs out.


MOST_DRAWN = 400  # laying out more datasets takes longer than looking at them is worth

_SNIPPET = """import optimaldp as odp
from optimaldp.documents.json_text import read_json_text
from optimaldp.mechanisms.documents import read_problem

problem = read_problem(read_json_text({text}))
design = odp.solve(problem)
print(design)
if design.certificate:
    print(design.certificate.check())
"""


def design(body: Mapping[str, Any]) -> dict[str, Any]:
    """Solve a problem file: what ``optimaldp design --exact`` prints, and under ``studio`` what the page draws."""
    designed = odp.solve(read_problem(body))
    document: dict[str, Any] = designed.to_document()
    return document | {"studio": _view(designed)}


def _view(designed: Design) -> dict[str, Any]:
    graph = designed.problem.graph
    verdict = designed.certificate.check().to_document() if designed.certificate else None
    return {
        "summary": designed.summary(),
        "verdict": verdict,
        "claim": designed.certificate.proof.statement if designed.certificate else None,
        "points": _points(graph) if len(graph) <= MOST_DRAWN else None,
        "rows": _rows(designed),
        "levels": _edge_levels(graph) if len(graph) <= MOST_DRAWN else None,
        "python": python_snippet(designed),
    }


def python_snippet(designed: Design) -> str:
    """A program that makes the same design."""
    return _SNIPPET.format(text=_literal(json_text(problem_document(designed.problem), indent=1)))


def _literal(text: str) -> str:
    """A Python literal of JSON text: readable where nothing in it could end or escape the quotes."""
    plain = "\\" not in text and '"""' not in text and not text.endswith('"')
    return f'"""{text}"""' if plain else repr(text)


def _points(graph: DatasetGraph) -> dict[str, list[float]]:
    if len(graph) == 1:
        return {graph.names[0]: [0.5, 0.5]}
    return {name: [round(x, 4), round(1 - y, 4)] for name, (x, y) in zip(graph.names, positions(graph).tolist())}


def _rows(designed: Design) -> dict[str, dict[str, float]] | None:
    if designed.mechanism is None or len(designed.mechanism) > MOST_DRAWN:
        return None
    answers = designed.mechanism.answers
    table = np.asarray(designed.mechanism.to_array()).tolist()
    return {name: dict(zip(answers, row)) for name, row in zip(designed.mechanism.datasets, table)}


def _edge_levels(graph: DatasetGraph) -> list[str]:
    return [str(graph.levels[k]) for k in graph.level_of_edge.tolist()] if graph.has_levels else []
