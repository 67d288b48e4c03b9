"""Certificates as JSON, by names: who is given, and for each event from whom each bound comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optimaldp.errors import CertificateError, LevelError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.mechanisms.certificate import (
    FREE,
    ROOT,
    BoundTree,
    Certificate,
    Claimed,
    DualProof,
    Event,
    EventConstraint,
    How,
    Settling,
    Weighing,
    read_weighing,
    weighing_document,
)
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, GaussianDP, Level
from optimaldp.privacy.gaussian import read_gaussian
from optimaldp.privacy.numbers import fraction_text, read_number, read_probability

# Privacy levels as JSON: ``{"epsilon": "ln(2)", "delta": "0.1"}``, a list of such, ``{"mu": 1}``, or one per direction.


_WAY_OUT = 'write {"epsilon": "ln(2)", "delta": "0.1"}, a list of such, {"mu": 1}, or {"forward": …, "backward": …}'


def read_written_level(document: object, *, name: str) -> Level:
    """Read a level; errors name the field *name* and the value.

    >>> print(read_written_level({"epsilon": "ln(2)"}, name="privacy"), read_written_level({"mu": 1}, name="privacy"))
    (ln(2), 0)-DP 1-Gaussian DP
    """
    if isinstance(document, Mapping) and "mu" in document:
        return _read_gaussian(document, name)
    if isinstance(document, Mapping) and ("forward" in document or "backward" in document):
        _check_fields(document, name, required=("forward", "backward"))
        ahead, back = (_read_bounds(document[way], f"{name}.{way}") for way in ("forward", "backward"))
        return ApproximateDP(ahead, back)
    bounds = _read_bounds(document, name)
    return ApproximateDP(bounds, bounds)


def level_document(level: Level) -> Any:
    """Write a level such that :func:`read_written_level` gives it back exactly."""
    if isinstance(level, GaussianDP):
        return {"mu": fraction_text(level.mu)}
    if not isinstance(level, ApproximateDP):
        raise LevelError("level", str(level), "has no written form", "files hold (epsilon, delta) and Gaussian levels")
    if level.forward == level.backward:
        return _bounds_document(level.forward)
    return {"forward": _bounds_document(level.forward), "backward": _bounds_document(level.backward)}


def read_bound(document: object, *, name: str) -> Bound:
    """Read one promise ``{"epsilon": …, "delta": …}``; delta is 0 if it is left out, epsilon has no default."""
    if not isinstance(document, Mapping):
        raise LevelError(name, document, "is not a privacy level", _WAY_OUT)
    _check_fields(document, name, required=("epsilon",), optional=("delta",))
    return Bound(
        Epsilon.read(document["epsilon"], name=f"{name}.epsilon"),
        read_probability(document.get("delta", 0), name=f"{name}.delta", error=LevelError, tiny=False),
    )


def bound_document(bound: Bound) -> dict[str, Any]:
    """Write one promise exactly."""
    return {"epsilon": str(bound.epsilon), "delta": fraction_text(bound.delta)}


def _read_gaussian(document: Mapping[str, Any], name: str) -> GaussianDP:
    _check_fields(document, name, required=("mu",))
    return read_gaussian(document["mu"], name=f"{name}.mu")


def _read_bounds(document: object, name: str) -> tuple[Bound, ...]:
    if not isinstance(document, list):
        return (read_bound(document, name=name),)
    if not document:
        raise LevelError(name, document, "is empty", "name at least one level")
    return tuple(read_bound(item, name=f"{name}[{i}]") for i, item in enumerate(document))


def _bounds_document(bounds: tuple[Bound, ...]) -> Any:
    documents = [bound_document(bound) for bound in bounds]
    return documents[0] if len(documents) == 1 else documents


def _check_fields(
    document: Mapping[str, Any], name: str, *, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> None:
    if unknown := [field for field in document if field not in required + optional]:
        raise LevelError(name, unknown[0], "is an unknown field", _WAY_OUT)
    if missing := [field for field in required if field not in document]:
        raise LevelError(f"{name}.{missing[0]}", dict(document), "is missing it", "there is no default")


_MOST_NAMED = 2000  # datasets up to which a tree is written for people, by names; beyond, for machines, by numbers
_LARGEST_MULTIPLIER = 10**100  # beyond, no proof needs one
UNNAMED = -3  # the file says nothing about this dataset: the referee rejects the tree if it needs it


def certificate_document(certificate: Certificate, graph: DatasetGraph, answers: Sequence[str]) -> dict[str, Any]:
    """Write a certificate such that :func:`read_certificate` gives it back."""
    document: dict[str, Any] = {"claim": str(certificate.claim)}
    if certificate.statement:
        document["statement"] = certificate.statement
    names = graph.names[:]
    document["given"] = [names[v] for v in np.flatnonzero(certificate.given).tolist()]
    if certificate.weighing is not None:
        return document | weighing_document(certificate.weighing, Names(graph, tuple(answers)))
    document["trees"] = [_tree_document(tree, graph, answers) for tree in certificate.trees]
    if certificate.settling is not None:
        document["fair"] = _settling_document(certificate.settling, graph)
    if certificate.duals:
        document["duals"] = [_dual_document(dual, graph, answers) for dual in certificate.duals]
    return document


def read_certificate(document: Any, graph: DatasetGraph, answers: Sequence[str]) -> Certificate:
    """Read a certificate. It proves nothing until the referee has checked it."""
    proofs = ("trees", "duals", "fair", "classes", "weights", "multipliers")
    _check(document, "certificate", ("given",), ("claim", "statement", *proofs))
    given = np.zeros(len(graph), dtype=bool)
    given[_vertices(document["given"], graph, "certificate.given")] = True
    trees = _list(document.get("trees", []), "certificate.trees")
    duals = _list(document.get("duals", []), "certificate.duals")
    statement = document.get("statement", "")
    if not isinstance(statement, str):
        raise CertificateError("certificate.statement", statement, "is not text")
    claim = document.get("claim", Claimed.GREATEST)
    if claim not in tuple(Claimed):
        raise CertificateError("certificate.claim", claim, f"is none of {', '.join(Claimed)}")
    return Certificate(
        given,
        tuple(_read_tree(tree, graph, answers, f"certificate.trees[{i}]") for i, tree in enumerate(trees)),
        tuple(_read_dual(dual, graph, answers, f"certificate.duals[{i}]") for i, dual in enumerate(duals)),
        statement,
        Claimed(claim),
        _read_weighing(document, graph, answers, Claimed(claim)),
        _read_settling(document["fair"], graph, "certificate.fair") if "fair" in document else None,
    )


class Names(NamedTuple):
    """The names that a certificate may use."""

    graph: DatasetGraph
    answers: tuple[str, ...]


def _read_weighing(document: Any, graph: DatasetGraph, answers: Sequence[str], claim: Claimed) -> Weighing | None:
    if claim not in (Claimed.UNDOMINATED, Claimed.WITHIN_CLASSES):
        return None
    return read_weighing(document, Names(graph, tuple(answers)), within=claim is Claimed.WITHIN_CLASSES)


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


def _settling_document(settling: Settling, graph: DatasetGraph) -> dict[str, Any]:
    """``how``: ["same", u], ["across", u], ["pair", u], ["sure"] or ["given"] by dataset; ``order``: of settling."""
    if len(graph) > _MOST_NAMED:
        return {"numbers": [array.tolist() for array in (settling.how, settling.source, settling.order)]}
    names = graph.names[:]
    how = {
        name: [How(h).word] if u < 0 else [How(h).word, names[u]]
        for name, h, u in zip(names, settling.how.tolist(), settling.source.tolist())
    }
    return {"how": how, "order": [names[v] for v in settling.order.tolist()]}


def _read_settling(document: Any, graph: DatasetGraph, name: str) -> Settling:
    if isinstance(document, Mapping) and "numbers" in document:
        return _read_numbered_settling(document, graph, name)
    _check(document, name, ("how", "order"))
    if not isinstance(document["how"], Mapping) or len(document["how"]) != len(graph):
        raise CertificateError(f"{name}.how", "an object", f"with an entry for each of {len(graph)} datasets is needed")
    code = {how.word: how for how in How}
    hows, sources = np.zeros(len(graph), dtype=np.int8), np.full(len(graph), -1, dtype=np.int32)
    for vertex, (dataset, entry) in zip(
        _vertices(list(document["how"]), graph, f"{name}.how"), document["how"].items()
    ):
        words = entry if isinstance(entry, list) and entry and all(isinstance(word, str) for word in entry) else [""]
        named = words[0] in ("same", "across", "pair")
        if words[0] not in code or len(words) != 1 + named:
            raise CertificateError(f"{name}.how[{dataset}]", entry, "does not say how a dataset was settled")
        hows[vertex] = code[words[0]]
        if named:
            sources[vertex] = _vertices(words[1:], graph, f"{name}.how[{dataset}]")[0]
    order = _vertices(_list(document["order"], f"{name}.order"), graph, f"{name}.order")
    return Settling(hows, sources, np.array(order, dtype=np.int32))


def _read_numbered_settling(document: Mapping[str, Any], graph: DatasetGraph, name: str) -> Settling:
    """The short form: three lists of numbers, how, by whom and in which order."""
    _check(document, name, ("numbers",))
    lists = _list(document["numbers"], f"{name}.numbers")
    limits = (len(How), len(graph), len(graph))
    fits = len(lists) == len(limits) and all(
        isinstance(numbers, list)
        and set(map(type, numbers)) <= {int}
        and -1 <= min(numbers, default=0) <= max(numbers, default=0) < limit
        for numbers, limit in zip(lists, limits)
    )
    if not fits:
        raise CertificateError(f"{name}.numbers", "three lists", "of whole numbers are needed: how, by whom, order")
    how, source, order = lists
    return Settling(np.array(how, dtype=np.int8), np.array(source, dtype=np.int32), np.array(order, dtype=np.int32))


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
    multiplier = read_number(document["multiplier"], name=f"{name}.multiplier", error=CertificateError)
    if abs(multiplier) > _LARGEST_MULTIPLIER:
        raise CertificateError(f"{name}.multiplier", document["multiplier"], "is too large to prove anything")
    return constraint, multiplier


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
