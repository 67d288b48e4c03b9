"""Pictures of where a dataset can stand: all datasets of a few people, or the chains towards the boundary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import optimaldp as odp
from optimaldp.asking.previewing import preview_of, read_level_sizes
from optimaldp.asking.request import Request
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours
from optimaldp.privacy.balls import precision
from optimaldp.questions.base import Question
from optimaldp.questions.kinds.compare import Compare
from optimaldp.questions.kinds.threshold import Threshold
from optimaldp.questions.kinds.winner import Winner

MOST_DATASETS = 128  # a larger universe is a blot on the screen
_CHAIN = 8  # steps of a chain that are drawn
_VALUES = "abcdefghijklmnopqrstuvwxyz"

Groups = tuple[tuple[Epsilon, ...], tuple[int, ...]]
BarRow = dict[str, float]


def level_sizes(request: Request, sizes: Mapping[str, int] | None) -> Groups | None:
    """People's own levels in rising order with how many people have each; nobody's is above the level of the request."""
    if sizes is None:
        return None
    read = read_level_sizes(sizes, request.level.epsilon)
    return tuple(own for own, _ in read), tuple(people for _, people in read)


def small_view(request: Request, n: object, groups: Groups | None) -> dict[str, Any] | None:
    """Every dataset of *n* people with what would be answered, or ``None`` if there are too many of them."""
    question, level, neighbours = request.question, request.level, request.neighbours
    if request.groups is not None:
        return None
    persons = sum(groups[1]) if groups else n
    if not isinstance(persons, int) or persons < 1 or neighbours is not Neighbours.SUBSTITUTION:
        return None
    values = kinds(question)
    if not values or persons > 12 or len(values) ** persons > MOST_DATASETS:
        return None
    if groups is not None:
        return _personal_view(question, groups) if isinstance(question, Threshold) else None
    rows = {name: _position(question, level, neighbours, name, values) for name in _names(values, persons)}
    return _document(question, values, persons, rows)


def kinds(question: Question) -> str:
    """One letter for each way in which a person can count: y and n, or a, b, c … for options and bins; none if too many."""
    if isinstance(question, Threshold) and question.among is None:
        return "yn"
    if not isinstance(question, (Compare, Winner)) or question.answers is None or question.among is not None:
        return ""
    size = len(question.answers)
    return _VALUES[:size] if size <= len(_VALUES) else ""


def _names(values: str, persons: int) -> Iterator[str]:
    return map("".join, product(values, repeat=persons))


def _position(
    question: Question, level: ApproximateDP, neighbours: Neighbours, name: str, values: str
) -> dict[str, Any]:
    counts = tuple(name.count(value) for value in values)
    return _of_counts(question, level, neighbours, counts)


@cache
def _of_counts(
    question: Question, level: ApproximateDP, neighbours: Neighbours, counts: tuple[int, ...]
) -> dict[str, Any]:
    """The row that a release would sample from at these made-up counts."""
    with precision(96):
        mechanism = question.mechanism(Setting(level, neighbours, sum(counts)))
        law = mechanism.law(Table({cell: people for cell, people in enumerate(counts) if people}))
        row = [float(p) if isinstance(p, Fraction) else float(p.mid()) for p in law.probabilities()]
    answers = question.answers or ()
    moves = question.flips(question.read_counts(counts), neighbours)
    distance = None if moves == float("inf") else int(moves) - 1
    return {
        "row": dict(zip(answers, row)),
        "truth": answers[question.truth(question.read_counts(counts))],
        "distance": distance,
    }


def _document(question: Question, values: str, persons: int, rows: dict[str, dict[str, Any]]) -> dict[str, Any]:
    names = list(rows)
    edges = [[name, other] for name in names for other in _neighbours(name, values) if name < other]
    paths = {} if isinstance(question, Winner) else _towards_boundary(rows, values)
    return {
        "kind": "datasets",
        "words": f"all {len(names)} datasets of {persons} people; each edge changes one person's value",
        "answers": list(question.answers or ()),
        "points": _layout(names, values),
        "edges": edges,
        "vertices": rows,
        "towards": paths,
    }


def _neighbours(name: str, values: str) -> Iterator[str]:
    for i, own in enumerate(name):
        yield from (name[:i] + other + name[i + 1 :] for other in values if other != own)


def _towards_boundary(rows: dict[str, dict[str, Any]], values: str) -> dict[str, str]:
    """For each dataset inside its region the next one on a shortest path to the boundary: where its bound comes from."""
    towards: dict[str, str] = {}
    for name, own in rows.items():
        if own["distance"]:
            nearer = (own["truth"], own["distance"] - 1)
            steps = (o for o in _neighbours(name, values) if (rows[o]["truth"], rows[o]["distance"]) == nearer)
            towards[name] = next(steps)
    return towards


def _layout(names: list[str], values: str) -> dict[str, list[float]]:
    """Layers by the number of people with the first value; each layer from top to bottom."""
    layers: dict[int, list[str]] = {}
    for name in names:
        layers.setdefault(name.count(values[0]), []).append(name)
    across = max(1, len(layers) - 1)
    return {
        name: [1 - layer / across, (i + 0.5) / len(inside)]
        for layer, inside in layers.items()
        for i, name in enumerate(inside)
    }


def _personal_view(question: Threshold, groups: Groups) -> dict[str, Any] | None:
    """The whole graph when every person has a level: the balanced design of paper 003, with its own tree of bounds."""
    levels = [own for own, persons in zip(*groups) for _ in range(persons)]
    graph = odp.graphs.values(2, len(levels), levels=levels, names=["y", "n"])

    def truth(name: str) -> str:
        return "yes" if question.truth((name.count("y"), name.count("n"), 0)) == 0 else "no"

    if len({truth(name) for name in graph.names}) < 2:
        return None
    designed = odp.design(graph, truth, answers=["yes", "no"])
    assert designed.mechanism is not None
    assert designed.certificate is not None
    tree = designed.certificate.proof.trees[0].predecessor.tolist()
    rows = {
        name: {
            "row": {a: float(p) for a, p in designed.mechanism[name].items()},
            "truth": truth(name),
            "distance": None,
        }
        for name in graph.names
    }
    document = _document(question, "yn", len(levels), rows)
    marks = ", ".join(f"{persons} with ε = {own}" for own, persons in zip(*groups))
    towards = {graph.names[v]: graph.names[u] for v, u in enumerate(tree) if u >= 0}
    return document | {"towards": towards, "words": f"{document['words']}; in order {marks}"}


def boundary_view(request: Request, n: object) -> dict[str, Any]:
    """One chain for each answer, by the distance from the boundary; the heads are joined where regions touch."""
    most = min(_CHAIN, max(1, n // 2)) if isinstance(n, int) and n > 0 else _CHAIN
    made = preview_of(request, margins=range(1, most + 1))
    answers = list(request.question.answers or ())
    shown = answers[:6]
    right = [1 - error for error in made.series[0][1]]
    return {
        "kind": "boundary",
        "words": "the boundary graph: one chain for each answer, by the distance from the boundary (0: one person decides)",
        "answers": shown,
        "more": max(0, len(answers) - len(shown)),
        "chains": dict.fromkeys(shown, right),
    }
