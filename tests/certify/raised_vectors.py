"""Problems and proofs of the vectors of raised designs, as objects and as the JSON of a witness."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
from golden import VECTORS

from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.graphs.problem import Problem
from optimaldp.privacy import ApproximateDP, Bound, Epsilon

ANSWERS = "abcdefgh"


def raised(name: str) -> list[dict[str, Any]]:
    return json.loads((VECTORS / "raised.json").read_text())[name]


def problem_of(vector: dict[str, Any]) -> Problem:
    """The graph of the arcs, each pair of neighbours with all that both directions promise."""
    promises = {(u, v): tuple(_bound(*each) for each in level) for u, v, level in vector["arcs"]}
    names = [str(v) for v in range(vector["n"])]
    edges = [(str(u), str(v), ApproximateDP(promises[u, v], promises[v, u])) for u, v in promises if u < v]
    answers = tuple(ANSWERS[: vector["q"]])
    orders = list(dict.fromkeys(tuple(order) for order in vector["prefs"]))
    of = np.array([orders.index(tuple(order)) for order in vector["prefs"]], dtype=np.int32)
    fixed = {int(v): tuple(map(Fraction, row)) for v, row in vector.get("fixed", {}).items()}
    return Problem(DatasetGraph.from_edges(names, edges), Preferences(answers, tuple(orders), of), fixed)


def _bound(ratio: str, delta: str) -> Bound:
    return Bound(Epsilon(Fraction(0), Fraction(ratio)), Fraction(delta))


def multipliers_of(vector: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "from": str(u),
            "to": str(v),
            "event": [ANSWERS[a] for a in event],
            "epsilon": f"ln({ratio})",
            "delta": delta,
            "times": times,
        }
        for u, v, event, ratio, delta, times in vector["multipliers"]
    ]


def wanted_of(items: list[list[Any]]) -> list[dict[str, Any]]:
    return [{"dataset": str(v), "k": k, "times": times} for v, k, times in items]


def witness_of(vector: dict[str, Any]) -> dict[str, Any]:
    document = {"kind": vector["kind"], "multipliers": multipliers_of(vector)}
    if vector["kind"] == "no-optimum":
        document["wanted"] = wanted_of(vector["wanted"])
        document["mechanisms"] = [
            {str(v): dict(zip(ANSWERS, row)) for v, row in enumerate(rows)} for rows in vector["mechanisms"]
        ]
    return document
