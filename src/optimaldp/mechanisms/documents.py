"""Problems, mechanisms and designs as JSON files, read strictly and written exactly.

What is written here and read back is the same object: exact numbers are strings such as ``"9/10"`` or ``"ln(2)"``. Numbers that
a file holds as JSON numbers are read by their decimal text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import MechanismError, ProblemError
from optimaldp.graphs.dataset_graph import DatasetGraph, first_places, number_levels
from optimaldp.graphs.problem import Preferences, Problem, Row, default_rule, preference_text, read_boundary, read_fixed
from optimaldp.mechanisms.certificate import Certificate
from optimaldp.mechanisms.certificate_documents import (
    certificate_document,
    level_document,
    read_certificate,
    read_written_level,
)
from optimaldp.mechanisms.mechanism import Mechanism
from optimaldp.mechanisms.rows import FloatRows, Rows, SharedRows, TwoSides, written_rows, written_sides
from optimaldp.privacy import Level
from optimaldp.privacy.numbers import fraction_text

# The three long fields of a design (edges, preferences, rows) as JSON text, without a Python object for each of their parts.
#
# The text is the very one that ``json.dumps`` writes of the document; what repeats is written once, and arrays of
# texts are joined by numpy. A document of half a million small lists takes five times as long to make and to write.


Texts = npt.NDArray[np.object_]
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f]')

write = json.JSONEncoder(ensure_ascii=False).encode


def object_text(fields: Mapping[str, str]) -> str:
    """An object of fields whose values are texts already."""
    return "{" + ", ".join(f"{write(name)}: {text}" for name, text in fields.items()) + "}"


def quoted_names(names: Sequence[str]) -> Texts:
    """Each name as a JSON string."""
    plain = list(names)
    if _TO_ESCAPE.search("".join(plain)):
        return _texts(map(write, plain))
    return _texts(f'"{name}"' for name in plain)


def edges_text(graph: DatasetGraph, names: Texts, levels: Sequence[Any], default: int) -> str:
    """All edges ``[tail, head]``, with their level where it is not the default one."""
    ends = _texts("]" if k == default else f", {write(level)}]" for k, level in enumerate(levels))
    if not len(ends):
        ends = _texts(["]"])
    edges = _joined(names, "[", ", ")[graph.tails] + names[graph.heads] + ends[graph.level_of_edge]
    return "[" + ", ".join(edges.tolist()) + "]"


def prefers_text(preferences: Preferences, names: Texts, orders: Sequence[Any]) -> str:
    """All datasets with their preferences; *orders* are the different ones, as documents."""
    return _members(names, _texts(map(write, orders))[preferences.of])


def rows_text(rows: Rows, answers: Sequence[str], names: Texts) -> str:
    """All datasets with their rows."""
    if isinstance(rows, SharedRows):
        written = _texts(_row(answers, tuple(map(fraction_text, row))) for row in rows.rows)
        return _members(names, written[rows.of])
    if isinstance(rows, TwoSides):
        pairs, which = written_sides(rows)
        return _members(names, _texts(_row(answers, pair) for pair in pairs)[which])
    assert isinstance(rows, FloatRows)
    return _members(names, _texts(_row(answers, row) for row in written_rows(rows)))


def _row(answers: Sequence[str], numbers: tuple[str, ...]) -> str:
    return write(dict(zip(answers, numbers)))


def _members(names: Texts, values: Texts) -> str:
    return "{" + ", ".join((_joined(names, "", ": ") + values).tolist()) + "}"


def _joined(names: Texts, before: str, after: str) -> Texts:
    return _texts(f"{before}{name}{after}" for name in names.tolist())


def _texts(items: Any) -> Texts:
    texts = list(items)
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


PROBLEM_FIELDS = ("answers", "privacy", "edges", "prefers", "fixed", "boundary", "rule")
_DESIGN_FIELDS = (
    "status",
    "claim",
    "route",
    "proof",
    "mechanism",
    "certificate",
    "witness",
    "gap",
    "statement",
    "reason",
)


def read_problem(document: Any) -> Problem:
    """Read a design problem.

    >>> read_problem({"answers": ["yes", "no"], "privacy": {"epsilon": "ln(2)"}, "edges": [["a", "b"]],
    ...               "prefers": {"a": "yes", "b": "no"}, "boundary": "balanced"})
    Problem(2 datasets, 2 answers, boundary balanced)
    """
    _check_fields(document, PROBLEM_FIELDS, required=("answers", "edges", "prefers"))
    if "fixed" in document and "boundary" in document:
        raise ProblemError("boundary", document["boundary"], "was given together with fixed", "give one of them")
    answers = _read_words(document["answers"], "answers")
    graph, preferences = _read_graph(document, answers)
    rule = None if "fixed" in document else default_rule(preferences)
    boundary = read_boundary(preferences, document["boundary"]) if "boundary" in document else rule
    return Problem(graph, preferences, _read_given(document, graph, preferences), boundary, _read_rule(document))


def read_mechanism(document: Any) -> tuple[Mechanism, Certificate | None]:
    """Read a mechanism with its graph, and its certificate if it has one; the answers may be left out."""
    _check_fields(document, PROBLEM_FIELDS + _DESIGN_FIELDS, required=("mechanism", "edges", "prefers"))
    rows = document["mechanism"]
    if not isinstance(rows, Mapping):
        raise MechanismError("mechanism", rows, "is not an object of datasets and distributions")
    answers = _read_words(document["answers"], "answers") if "answers" in document else _answers_of(rows)
    graph, preferences = _read_graph(document, answers)
    mechanism = Mechanism.read(graph, preferences, rows)
    certificate = document.get("certificate")
    return mechanism, None if certificate is None else read_certificate(certificate, graph, answers)


def read_whole_design(document: Any) -> tuple[Problem, Mechanism, Certificate | None]:
    """The problem, its mechanism and its certificate; the graph, which they share, is read once."""
    _check_fields(document, PROBLEM_FIELDS + _DESIGN_FIELDS, required=("answers", "mechanism", "edges", "prefers"))
    mechanism, certificate = read_mechanism(document)
    given = read_given(document, mechanism)
    problem = Problem(
        mechanism.graph, mechanism.preferences, given.get("fixed", {}), given.get("boundary"), _read_rule(document)
    )
    return problem, mechanism, certificate


def _read_rule(document: Mapping[str, Any]) -> str | None:
    rule = document.get("rule")
    if rule is not None and not isinstance(rule, str):
        raise ProblemError("rule", rule, "is not the name of a rule", "it says which rule chose the boundary")
    return rule


def read_given(document: Mapping[str, Any], mechanism: Mechanism) -> dict[str, Any]:
    """What a design was given, for :func:`optimaldp.verify`: ``fixed`` distributions or a ``boundary``; else nothing."""
    if "boundary" in document:
        return {"boundary": read_boundary(mechanism.preferences, document["boundary"])}
    return {"fixed": _read_given(document, mechanism.graph, mechanism.preferences)}


def problem_document(problem: Problem) -> dict[str, Any]:
    """Write a problem such that :func:`read_problem` gives it back."""
    document = _graph_document(problem.graph, problem.preferences)
    return document | _given_document(problem)


def mechanism_document(mechanism: Mechanism, *, rows: Iterable[Sequence[Any]] | None = None) -> dict[str, Any]:
    """Write a mechanism with its graph, exactly; *rows* (one per dataset) replaces the numbers as they are written."""
    document = _graph_document(mechanism.graph, mechanism.preferences)
    document["mechanism"] = _rows_document(mechanism, rows)
    return document


def design_document(
    *,
    status: str | None,
    route: str | None = None,
    proof: str | None = None,
    claim: str | None = None,
    gap: float | None = None,
    problem: Problem | None = None,
    mechanism: Mechanism | None = None,
    certificate: Certificate | None = None,
    witness: object = None,
    rows: Iterable[Sequence[Any]] | None = None,
    **more: object,
) -> dict[str, Any]:
    """Write what a design found, with everything that :func:`read_mechanism` needs to check it.

    *rows* are the numbers to print (see :func:`optimaldp.mechanisms.decimals.printable`); left out, they are exact strings.
    """
    said = {"claim": claim, "gap": gap_above(gap), "route": route, "proof": proof}
    document: dict[str, Any] = {"status": status} | {field: value for field, value in said.items() if value is not None}
    if mechanism is not None:
        document |= _graph_document(mechanism.graph, mechanism.preferences)
    elif problem is not None:
        document |= _graph_document(problem.graph, problem.preferences)
    if problem is not None:
        document |= _given_document(problem)
    if mechanism is not None:
        document["mechanism"] = _rows_document(mechanism, rows)
    if certificate is not None and mechanism is not None:
        document["certificate"] = certificate_document(certificate, mechanism.graph, mechanism.answers)
    if witness is not None:
        document["witness"] = witness
    return document | more


def design_text(
    *,
    status: str | None,
    route: str,
    proof: str,
    claim: str | None,
    gap: float | None,
    problem: Problem,
    mechanism: Mechanism,
    certificate: Certificate | None = None,
    witness: object = None,
) -> str:
    """The JSON text of :func:`design_document` for the same design, much sooner where there are many datasets."""
    graph, preferences = mechanism.graph, mechanism.preferences
    names, default = quoted_names(graph.names), _commonest_level(graph)
    levels = [level_document(level) for level in graph.levels]
    orders = [_order_document(preferences, order) for order in preferences.orders]
    said = {"claim": claim, "gap": gap_above(gap), "route": route, "proof": proof}
    fields = {"status": write(status)} | {field: write(value) for field, value in said.items() if value is not None}
    fields["answers"] = write(list(preferences.answers))
    if levels:
        fields["privacy"] = write(levels[default])
    fields["edges"] = edges_text(graph, names, levels, default)
    fields["prefers"] = prefers_text(preferences, names, orders)
    fields |= {field: write(value) for field, value in _given_document(problem).items()}
    fields["mechanism"] = rows_text(mechanism.rows, mechanism.answers, names)
    if certificate is not None:
        fields["certificate"] = write(certificate_document(certificate, graph, mechanism.answers))
    if witness is not None:
        fields["witness"] = write(witness)
    return object_text(fields)


def gap_above(gap: float | None) -> float | int | None:
    """How a gap is written: 0, or the next power of ten, so that whoever computes it a little differently agrees.

    >>> gap_above(3.2e-14), gap_above(1e-11 + 1e-26), gap_above(0.0)
    (1e-13, 1e-10, 0)
    """
    if not gap:
        return None if gap is None else 0
    power = math.ceil(math.log10(gap))
    return next(above for k in (power, power + 1) if (above := float(f"1e{k}")) >= gap)  # a logarithm rounds, too


def _check_fields(document: object, known: tuple[str, ...], *, required: tuple[str, ...]) -> None:
    if not isinstance(document, Mapping):
        raise ProblemError("file", document, "is not an object", "a problem or mechanism is a JSON object")
    if unknown := [field for field in document if field not in known]:
        raise ProblemError("file", unknown[0], "is an unknown field", f"the fields are {', '.join(known)}")
    if missing := [field for field in required if field not in document]:
        raise ProblemError("file", missing[0], "is missing", _what_there_is(document))


def _what_there_is(document: Mapping[str, Any]) -> str:
    if document.get("status") in ("infeasible", "no-optimum"):
        return f"a design that is {document['status']} has none"
    return f"the file has: {', '.join(document) or 'nothing'}"


def _read_words(words: object, name: str) -> list[str]:
    if not isinstance(words, list):
        raise ProblemError(name, words, "is not a list of words")
    for word in words:
        if not isinstance(word, str):
            raise ProblemError(name, word, "is not a word", "answers are strings")
    return words


def _answers_of(rows: Mapping[str, Any]) -> list[str]:
    answers: dict[str, None] = {}
    for row in rows.values():
        answers.update(dict.fromkeys(row if isinstance(row, Mapping) else ()))
    return list(answers)


def _read_graph(document: Mapping[str, Any], answers: list[str]) -> tuple[DatasetGraph, Preferences]:
    prefers = _read_prefers(document["prefers"])
    default = read_written_level(document["privacy"], name="privacy") if document.get("privacy") is not None else None
    edges = document["edges"]
    if not isinstance(edges, list):
        raise ProblemError("edges", edges, "is not a list", 'write [["a", "b"], ["b", "c"]]')
    number = {name: i for i, name in enumerate(prefers)}
    tails, heads, given, kinds = _read_edges(edges, number, default)
    levels, place = number_levels(given)  # two ways of writing may mean one level
    which = place[kinds] if edges else None
    if not levels and default is not None:
        levels = (default,)
    graph = DatasetGraph(list(prefers), tails, heads, levels=levels, level_of_edge=which)
    return graph, Preferences.read(graph, prefers, answers)


def _read_prefers(prefers: object) -> Mapping[str, Any]:
    if not isinstance(prefers, Mapping):
        raise ProblemError("prefers", prefers, "is not an object of datasets and preferences")
    if not prefers:
        raise ProblemError("prefers", {}, "names no dataset", "a graph needs at least one")
    for name, order in prefers.items():
        if not isinstance(order, str):
            _read_words(order, f"prefers[{name}]")
    return prefers


def _read_edges(
    edges: list[Any], number: Mapping[str, int], default: Level | None
) -> tuple[list[int], list[int], tuple[Level, ...], npt.NDArray[np.int64]]:
    """Tails, heads, the different levels (the default one first, if an edge has it) and which of them each edge has."""
    if not set(map(type, edges)) <= {list} or not set(map(len, edges)) <= {2, 3}:
        _refuse_edge(edges)
    try:
        tails = list(map(number.__getitem__, map(itemgetter(0), edges)))
        heads = list(map(number.__getitem__, map(itemgetter(1), edges)))
    except (KeyError, TypeError):  # the loop below says which
        tails = [_end(edge[0], number, i) for i, edge in enumerate(edges)]
        heads = [_end(edge[1], number, i) for i, edge in enumerate(edges)]
    # Files repeat their few levels on many edges: each way of writing is read once, where it occurs first.
    own = np.flatnonzero(np.fromiter(map(len, edges), dtype=np.int8, count=len(edges)) == 3)
    texts = list(map(repr, [edge[2] for edge in edges if len(edge) == 3]))
    places = first_places(texts)
    if len(own) == len(edges):
        default = None
    elif default is None:
        i = next(i for i, edge in enumerate(edges) if len(edge) == 2)
        raise ProblemError(f"edges[{i}]", edges[i], "has no privacy level", "give it one, or a default in privacy")
    levels = [read_written_level(edges[i][2], name=f"edges[{i}]") for i in own[list(places.values())].tolist()]
    known = {text: place for place, text in enumerate(places, start=1)}
    which = np.zeros(len(edges), dtype=np.int64)
    which[own] = list(map(known.__getitem__, texts))
    return (
        (tails, heads, (default, *levels), which) if default is not None else (tails, heads, tuple(levels), which - 1)
    )


def _refuse_edge(edges: list[Any]) -> None:
    for i, edge in enumerate(edges):
        if type(edge) is not list or not 2 <= len(edge) <= 3:
            rule, way_out = "is not an edge", 'write ["a", "b"] or ["a", "b", {"epsilon": …}]'
            raise ProblemError(f"edges[{i}]", edge, rule, way_out)


def _end(name: object, number: Mapping[str, int], i: int) -> int:
    if not isinstance(name, str):
        raise ProblemError(f"edges[{i}]", name, "is not the name of a dataset", "names are strings")
    try:
        return number[name]
    except KeyError:
        raise ProblemError(f"edges[{i}]", name, "is not a dataset of this graph", "name it in prefers") from None


def _read_given(document: Mapping[str, Any], graph: DatasetGraph, preferences: Preferences) -> dict[int, Row]:
    fixed = document.get("fixed", {})
    if not isinstance(fixed, Mapping):
        raise ProblemError("fixed", fixed, "is not an object of datasets and distributions")
    return read_fixed(graph, preferences.answers, fixed)


def _graph_document(graph: DatasetGraph, preferences: Preferences) -> dict[str, Any]:
    """The answers, the commonest level as the default, the edges with their own level where it differs, the preferences."""
    document: dict[str, Any] = {"answers": list(preferences.answers)}
    default = _commonest_level(graph)
    if graph.levels:
        document["privacy"] = level_document(graph.levels[default])
    written = [level_document(level) for level in graph.levels]
    ends = zip(graph.tails.tolist(), graph.heads.tolist(), graph.level_of_edge.tolist())
    names = list(graph.names)
    document["edges"] = [[names[u], names[v]] if k == default else [names[u], names[v], written[k]] for u, v, k in ends]
    orders = [_order_document(preferences, order) for order in preferences.orders]
    document["prefers"] = {name: orders[k] for name, k in zip(names, preferences.of.tolist())}
    return document


def _commonest_level(graph: DatasetGraph) -> int:
    """Which level most edges have; of several the one that comes first, so that writing what was read changes nothing."""
    if graph.edge_count == 0:
        return 0
    counts = np.bincount(graph.level_of_edge)
    most = (counts == counts.max())[graph.level_of_edge]
    return int(graph.level_of_edge[most.argmax()])


def _order_document(preferences: Preferences, order: tuple[int, ...]) -> str | list[str]:
    ranked = [preferences.answers[answer] for answer in order]
    return ranked[0] if len(ranked) == 2 else ranked


def _given_document(problem: Problem) -> dict[str, Any]:
    if isinstance(problem.boundary, str):
        return {"boundary": problem.boundary}
    if problem.boundary is not None:
        rows = {
            preference_text(problem.preferences, number): _row_document(problem.answers, row)
            for number, row in problem.boundary.items()
        }
        return {"boundary": rows} | ({"rule": problem.rule} if problem.rule else {})
    names = problem.graph.names
    return {"fixed": {names[v]: _row_document(problem.answers, row) for v, row in problem.fixed.items()}}


def _rows_document(mechanism: Mechanism, rows: Iterable[Sequence[Any]] | None) -> dict[str, Any]:
    if rows is not None:
        return {name: dict(zip(mechanism.answers, row)) for name, row in zip(mechanism.graph.names, rows)}
    if isinstance(mechanism.rows, SharedRows):
        written = [_row_document(mechanism.answers, row) for row in mechanism.rows.rows]
        return {name: written[k] for name, k in zip(mechanism.graph.names, mechanism.rows.of.tolist())}
    answers = mechanism.answers
    return {name: dict(zip(answers, row)) for name, row in zip(mechanism.graph.names, written_rows(mechanism.rows))}


def _row_document(answers: tuple[str, ...], row: Row) -> dict[str, str]:
    return {answer: fraction_text(probability) for answer, probability in zip(answers, row)}
