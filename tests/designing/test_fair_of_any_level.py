"""Fair designs at Gaussian, directed, infinite and (epsilon, delta) levels together, by an oracle that knows no level.

The oracle needs nothing but F: values with given bounds from below exist exactly if the greatest values under the bounds
from above reach them. So for each dataset it asks whether more is possible without taking from those that have no more.
"""

from __future__ import annotations

import math
import random
from fractions import Fraction
from statistics import NormalDist

import pytest

import optimaldp as odp
from optimaldp.errors import ProblemError
from optimaldp.graphs import DatasetGraph
from optimaldp.privacy import GaussianDP, Level

MORE, ROUNDING = 1e-6, 1e-10
_NORMAL = NormalDist()


def most(level: Level, s: float) -> float:
    """The most that the head may give an event to which the tail gives *s*."""
    if isinstance(level, GaussianDP):
        return s if s in (0.0, 1.0) else _NORMAL.cdf(_NORMAL.inv_cdf(s) + float(level.mu))
    bounds = [1.0]
    for bound in level.forward:
        ratio, delta = math.exp(min(float(bound.epsilon), 700.0)), float(bound.delta)
        bounds.append(ratio * s + delta)
    for bound in level.backward:
        ratio, delta = math.exp(min(float(bound.epsilon), 700.0)), float(bound.delta)
        bounds.append(1 - (1 - s - delta) / ratio)
    return min(bounds)


def reached(graph: DatasetGraph, low: list[float], high: list[float]) -> bool:
    """Whether a private mechanism gives the first answer at least *low* and at most *high*."""
    arcs = [arc for u, v, one in numbered(graph) for arc in ((u, v, one), (v, u, one.reversed()))]
    high = list(high)
    for _ in graph.names:
        for u, v, one in arcs:
            high[v] = min(high[v], most(one, high[u]))
    return all(b >= a - ROUNDING for a, b in zip(low, high))


def numbered(graph: DatasetGraph) -> list[tuple[int, int, Level]]:
    return [(graph.number(u), graph.number(v), one) for u, v, one in graph.edges()]


def random_level(rng: random.Random) -> Level:
    kind = rng.choice(["gaussian", "gaussian", "plain", "delta", "directed", "infinite"])
    if kind == "gaussian":
        return odp.level(mu=rng.choice(["1/3", "1/2", "1", "2"]))
    if kind == "directed":
        return odp.directed(forward=odp.level(rng.choice(["ln(2)", "0.3"])), backward=odp.level("ln(3)", "0.05"))
    if kind == "infinite":
        return odp.level("inf", "0.2")
    return odp.level(rng.choice(["0.3", "1", "ln(2)", "0"]), "0.1" if kind == "delta" else 0)


def check_fair(graph: DatasetGraph, truth: list[int], found: odp.Design, fixed: set[int]) -> None:
    assert found.claim == "fair" or found.status == "optimal"
    mechanism = found.mechanism
    assert mechanism is not None
    first = [float(mechanism.rows.row(v)[0]) for v in range(len(graph))]
    chances = [p if of == 0 else 1 - p for p, of in zip(first, truth)]
    assert reached(graph, first, first), "not private"
    for v, mine in enumerate(chances):
        if v in fixed or mine > 1 - 2 * MORE:
            continue
        floors = [t + MORE if w == v else t if t <= mine + ROUNDING else 0.0 for w, t in enumerate(chances)]
        low = [first[w] if w in fixed else f if truth[w] == 0 else 0.0 for w, f in enumerate(floors)]
        high = [first[w] if w in fixed else 1.0 if truth[w] == 0 else 1 - f for w, f in enumerate(floors)]
        assert not reached(graph, low, high), f"{graph.names[v]} can have more"


@pytest.mark.parametrize("seed", range(60))
def test_nobody_can_have_more_whatever_the_levels(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(2, 6)
    names = [f"d{k}" for k in range(count)]
    pairs = [(u, v) for u in range(count) for v in range(u) if rng.random() < 0.55] or [(1, 0)]
    graph = DatasetGraph.from_edges(names, [(names[u], names[v], random_level(rng)) for u, v in pairs])
    truth = [rng.randrange(2) for _ in names]
    wants = [["a", "b"][::-1] if of else ["a", "b"] for of in truth]
    try:
        found = odp.design(graph, wants, answers=["a", "b"])
    except ProblemError as refusal:
        assert "no max-min fair mechanism" in str(refusal)  # noqa: PT017
        return
    check_fair(graph, truth, found, set())
    assert odp.verify(found)
    assert found.mechanism is not None
    chosen = rng.sample(range(count), rng.randint(1, max(1, count // 2)))
    kept = Fraction(rng.randint(0, 4), 4)  # a mean of private mechanisms is private
    rows = {v: [kept * p + (1 - kept) / 2 for p in found.mechanism.rows.row(v)] for v in chosen}
    given = {names[v]: {"a": row[0], "b": row[1]} for v, row in rows.items()}
    try:
        again = odp.design(graph, wants, answers=["a", "b"], fixed=given)
    except ProblemError as refusal:
        assert "no max-min fair mechanism" in str(refusal)  # noqa: PT017
        return
    if again.mechanism is not None:
        check_fair(graph, truth, again, set(chosen))
    else:
        assert any("inf" in str(one) for one in graph.levels)
