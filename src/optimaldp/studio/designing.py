"""Design: a problem file in; the optimum with its certificate and everything that a picture of it needs out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import optimaldp as odp
from optimaldp.designing import Design
from optimaldp.documents.json_text import json_text
from optimaldp.graphs import DatasetGraph
from optimaldp.mechanisms.documents import problem_document, read_problem
from optimaldp.plots.graph_layouts import positions

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
