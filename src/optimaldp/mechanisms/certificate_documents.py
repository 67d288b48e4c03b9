"""Certificates as JSON, by names: who is given, and for each event from whom each bound comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import CertificateError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.mechanisms.certificate import FREE, ROOT, BoundTree, Certificate, DualProof, Event, EventConstraint
from optimaldp.mechanisms.level_documents import bound_document, read_bound
from optimaldp.privacy.numbers import fraction_text, read_number

_MOST_NAMED = 2000  # datasets up to which a tree is written for people, by names; beyond, for machines, by numbers
UNNAMED = -3  # the file says nothing about this dataset: the referee rejects the tree if it needs it


def certificate_document(certificate: Certificate, graph: DatasetGraph, answers: Sequence[str]) -> dict[str, Any]:
    """Write a certificate such that :func:`read_certificate` gives it back."""
    document: dict[str, Any] = {"statement": certificate.statement} if certificate.statement else {}
    names = graph.names[:]
    document["given"] = [names[v] for v in np.flatnonzero(certificate.given).tolist()]
    document["trees"] = [_tree_document(tree, graph, answers) for tree in certificate.trees]
    if certificate.duals:
        document["duals"] = [_dual_document(dual, graph, answers) for dual in certificate.duals]
    return document


def read_certificate(document: Any, graph: DatasetGraph, answers: Sequence[str]) -> Certificate:
    """Read a certificate. It proves nothing until the referee has checked it."""
    _check(document, "certificate", ("given",), ("trees", "duals", "statement"))
    given = np.zeros(len(graph), dtype=bool)
    given[_vertices(document["given"], graph, "certificate.given")] = True
    trees = _list(document.get("trees", []), "certificate.trees")
    duals = _list(document.get("duals", []), "certificate.duals")
    statement = document.get("statement", "")
    if not isinstance(statement, str):
        raise CertificateError("certificate.statement", statement, "is not text")
    return Certificate(
        given,
        tuple(_read_tree(tree, graph, answers, f"certificate.trees[{i}]") for i, tree in enumerate(trees)),
        tuple(_read_dual(dual, graph, answers, f"certificate.duals[{i}]") for i, dual in enumerate(duals)),
        statement,
    )


def _tree_document(tree: BoundTree, graph: DatasetGraph, answers: Sequence[str]) -> dict[str, Any]:
    names = graph.names
    document: dict[str, Any] = {"event": [answers[a] for a in tree.event]}
    if len(graph) > _MOST_NAMED:
        return document | {"predecessors": tree.predecessor.tolist()}
    for field, code in (("roots", ROOT), ("free", FREE)):
        document[field] = [names[v] for v in np.flatnonzero(tree.predecessor == code).tolist()]
    bound = np.flatnonzero(tree.predecessor >= 0)
    document["predecessor"] = {names[v]: names[u] for v, u in zip(bound.tolist(), tree.predecessor[bound].tolist())}
    return document


def _read_tree(document: Any, graph: DatasetGraph, answers: Sequence[str], name: str) -> BoundTree:
    if isinstance(document, Mapping) and "predecessors" in document:
        return _read_numbered_tree(document, graph, answers, name)
    _check(document, name, ("event", "predecessor"), ("roots", "free"))
    predecessor: npt.NDArray[np.int32] = np.full(len(graph), UNNAMED, dtype=np.int32)
    named = document["predecessor"]
    if not isinstance(named, Mapping):
        raise CertificateError(f"{name}.predecessor", named, "is not an object of datasets and their predecessors")
    predecessor[_vertices(document.get("roots", []), graph, f"{name}.roots")] = ROOT
    predecessor[_vertices(document.get("free", []), graph, f"{name}.free")] = FREE
    heads = _vertices(list(named), graph, f"{name}.predecessor")
    predecessor[heads] = _vertices(list(named.values()), graph, f"{name}.predecessor")
    return BoundTree(_event(document["event"], answers, f"{name}.event"), predecessor)


def _read_numbered_tree(document: Any, graph: DatasetGraph, answers: Sequence[str], name: str) -> BoundTree:
    """The short form: for each dataset, in the order of ``prefers``, the place of its predecessor, or ROOT or FREE."""
    _check(document, name, ("event", "predecessors"))
    field, numbers = f"{name}.predecessors", _list(document["predecessors"], f"{name}.predecessors")
    if len(numbers) != len(graph):
        raise CertificateError(field, len(numbers), f"numbers do not fit {len(graph)} datasets")
    size = len(graph)
    whole = set(map(type, numbers)) <= {int}  # and no bool, which is a number to Python
    if not whole or not FREE <= min(numbers, default=0) <= max(numbers, default=0) < size:
        wrong = next(number for number in numbers if type(number) is not int or not FREE <= number < size)
        raise CertificateError(
            field, wrong, "is not the place of a dataset", f"they are counted from 0 to {len(graph) - 1}"
        )
    return BoundTree(_event(document["event"], answers, f"{name}.event"), np.array(numbers, dtype=np.int32))


def _dual_document(dual: DualProof, graph: DatasetGraph, answers: Sequence[str]) -> dict[str, Any]:
    return {
        "vertex": graph.names[dual.vertex],
        "event": [answers[a] for a in dual.event],
        "value": fraction_text(dual.value),
        "multipliers": [
            _constraint_document(constraint, graph, answers) | {"multiplier": fraction_text(multiplier)}
            for constraint, multiplier in dual.multipliers
        ],
    }


def _constraint_document(constraint: EventConstraint, graph: DatasetGraph, answers: Sequence[str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "tail": graph.names[constraint.tail],
        "head": graph.names[constraint.head],
        "event": [answers[a] for a in constraint.event],
    }
    if constraint.bound is not None:
        document["bound"] = bound_document(constraint.bound)
    return document


def _read_dual(document: Any, graph: DatasetGraph, answers: Sequence[str], name: str) -> DualProof:
    _check(document, name, ("vertex", "event", "value", "multipliers"))
    terms = _list(document["multipliers"], f"{name}.multipliers")
    return DualProof(
        _vertices([document["vertex"]], graph, f"{name}.vertex")[0],
        _event(document["event"], answers, f"{name}.event"),
        read_number(document["value"], name=f"{name}.value", error=CertificateError),
        tuple(_read_term(term, graph, answers, f"{name}.multipliers[{i}]") for i, term in enumerate(terms)),
    )


def _read_term(document: Any, graph: DatasetGraph, answers: Sequence[str], name: str) -> Any:
    _check(document, name, ("tail", "head", "event", "multiplier"), ("bound",))
    tail, head = _vertices([document["tail"], document["head"]], graph, name)
    bound = read_bound(document["bound"], name=f"{name}.bound") if "bound" in document else None
    constraint = EventConstraint(tail, head, _event(document["event"], answers, f"{name}.event"), bound)
    return constraint, read_number(document["multiplier"], name=f"{name}.multiplier", error=CertificateError)


def _vertices(names: Any, graph: DatasetGraph, field: str) -> list[int]:
    number = graph.numbers
    try:
        return [number[name] for name in _list(names, field)]
    except (KeyError, TypeError):
        wrong = next(name for name in names if not isinstance(name, str) or name not in number)
        raise CertificateError(field, wrong, "is not a dataset of this graph") from None


def _event(words: Any, answers: Sequence[str], field: str) -> Event:
    if unknown := [word for word in _list(words, field) if word not in answers]:
        raise CertificateError(field, unknown[0], f"is not one of the answers {list(answers)}")
    return tuple(sorted({list(answers).index(word) for word in words}))


def _list(value: object, field: str) -> list[Any]:
    if not isinstance(value, list):
        raise CertificateError(field, value, "is not a list")
    return value


def _check(document: object, name: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    if not isinstance(document, Mapping):
        raise CertificateError(name, document, "is not an object")
    if unknown := [field for field in document if field not in required + optional]:
        raise CertificateError(name, unknown[0], "is an unknown field")
    if missing := [field for field in required if field not in document]:
        has = ", ".join(map(str, document)) or "nothing"
        raise CertificateError(name, missing[0], "is missing", f"there is: {has}")
