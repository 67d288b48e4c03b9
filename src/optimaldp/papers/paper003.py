"""Torkamani, Ebrahimi, Sadeghi, D'Oliveira, Médard: Heterogeneous Differential Privacy via Graphs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

from optimaldp.designing import Design, design
from optimaldp.graphs import DatasetGraph, hot_deciding_vote, majority, votes
from optimaldp.papers.record import Figure, Item, Paper, item
from optimaldp.privacy import level

LOOSE, STRICT = level("ln(2)"), level("ln(3/2)")
_MAXIMIN = {"yes": "3/5", "no": "2/5"}


def _with_boundary(graph: DatasetGraph) -> Design:
    """The boundary at 3/5, the largest value that the strictest crossing edge allows to both its ends."""
    fixed = {
        name: _MAXIMIN if majority(name) == "yes" else {"yes": "2/5", "no": "3/5"}
        for name in graph.names
        if name not in ("111", "222")
    }
    return design(graph, majority, fixed=fixed)


def _hot() -> Design:
    return _with_boundary(hot_deciding_vote(3, level=LOOSE, hot=STRICT))


def _personal() -> Design:
    return _with_boundary(votes(3, levels=[STRICT, LOOSE, LOOSE]))


def _balanced() -> Design:
    return design(hot_deciding_vote(3, level=LOOSE, hot=STRICT), majority, boundary="balanced")


def items() -> list[Item]:
    """Every number that follows from the paper's figure and formulas."""
    return [*_figure_1(), *_formulas()]


def _truth(designed: Design, name: str) -> str:
    assert designed.mechanism is not None
    return str(designed.mechanism[name][majority(name)])


def _figure_1() -> list[Item]:
    where = "Fig. 1, e^eps1 = 2, e^eps2 = 3/2"
    return [
        item(where, "truth at 111, the first vote stricter where it decides", "no value", _truth(_hot(), "111")),
        item(where, "truth at 111, the first person stricter everywhere", "no value", _truth(_personal(), "111")),
        item(where, "truth at 122, balanced edge by edge", "no value", _truth(_balanced(), "122")),
    ]


def _formulas() -> list[Item]:
    return [
        item(
            "Corollary 1", "two steps from 1/4 at ln 2", "-63/64", str(LOOSE.power(Fraction(1, 4), 2)),
            "Signs in two exponents are lost: 1 - e^(-(i-tau)eps) + e^(-(i-2tau)eps) alpha is right.",
        ),
        item(
            "(17), Theorem 3", "one step from 3/5 at ln 2", "6/5", str(LOOSE.step(Fraction(3, 5))),
            "The index starts at 0; as printed a probability exceeds 1.",
        ),
        item(
            "(35)", "one step from 99/100 at ln 2", "699/800", str(LOOSE.step(Fraction(99, 100))),
            "tau is clamped at 0; as printed 0.126 <= 2 · 0.01 would have to hold.",
        ),
        item(
            "Algorithm 2", "blue at c on the path a (blue, 2/3), b (red, 1/3), c (red)", "5/6", _path(),
            "The bound on the other answer must be complemented.",
        ),
        item(
            "Theorem 5", "cost of deciding compatibility", "O(V³E)", "O((V+E) log V)",
            "One search from all given datasets at once decides it.",
        ),
    ]  # fmt: skip


def _path() -> str:
    graph = DatasetGraph.from_edges(list("abc"), [("a", "b"), ("b", "c")], level=LOOSE)
    fixed = {"a": {"blue": "2/3", "red": "1/3"}, "b": {"blue": "1/3", "red": "2/3"}}
    designed = design(graph, {"a": "blue", "b": "red", "c": "red"}, answers=["blue", "red"], fixed=fixed)
    assert designed.mechanism is not None
    return str(designed.mechanism["c"]["blue"])


def figures() -> list[Figure]:
    """Fig. 1: three ways to give some votes more protection."""
    return [
        Figure("003-fig1a", "The first vote is stricter where it decides.", lambda: _draw(_hot())),
        Figure("003-fig1b", "The first person is stricter everywhere.", lambda: _draw(_personal())),
        Figure(
            "003-fig1c",
            "Metric privacy: every two datasets have a level, the sum along the cheapest way.",
            _draw_metric,
        ),
        Figure("003-balanced", "Balanced edge by edge: what the paper leaves open.", lambda: _draw(_balanced())),
    ]


def _metric() -> DatasetGraph:
    """The third panel: a level between all datasets, here the least that keeps the triangle inequality beside the first."""
    sparse = hot_deciding_vote(3, level=LOOSE, hot=STRICT)
    factors = {STRICT: Fraction(3, 2), LOOSE: Fraction(2)}
    names = list(sparse.names)
    least = {(a, b): Fraction(1) for a in names for b in names if a == b}
    for tail, head, own in zip(sparse.tails.tolist(), sparse.heads.tolist(), sparse.level_of_edge.tolist()):
        for pair in ((names[tail], names[head]), (names[head], names[tail])):
            least[pair] = factors[sparse.levels[own]]
    for through in names:
        for a in names:
            for b in names:
                if (a, through) in least and (through, b) in least:
                    way = least[a, through] * least[through, b]
                    least[a, b] = min(least.get((a, b), way), way)
    ratios = sorted(set(least.values()) - {Fraction(1)})
    pairs = list(combinations(range(len(names)), 2))
    own_levels = [ratios.index(least[names[a], names[b]]) for a, b in pairs]
    tails, heads = zip(*pairs)
    levels = [level(f"ln({ratio})") for ratio in ratios]
    return DatasetGraph(sparse.names, tails, heads, levels=levels, level_of_edge=own_levels)


def _draw_metric() -> Any:
    designed = _with_boundary(_metric())
    return designed.plot(layout="cube")


def _draw(designed: Design) -> Any:
    return designed.plot()


PAPER = Paper(
    "003",
    "Torkamani, Ebrahimi, Sadeghi, D'Oliveira, Médard",
    "Heterogeneous Differential Privacy via Graphs",
    items,
    figures,
)
