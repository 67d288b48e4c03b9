"""Personal levels with delta > 0: no closed form is known, so the grid of counts by level is designed while it is small.

A point of the grid says how many persons of each level say yes; an edge changes one person and carries that person's level. The
design is exact and checked by the referee before anything is drawn. The grid depends on public things only: the question, the
levels, and how many persons have each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from optimaldp.certify.findings import Certified, Finding
from optimaldp.errors import LevelError
from optimaldp.privacy import Epsilon, level
from optimaldp.questions.thresholds import Threshold

if TYPE_CHECKING:
    from fractions import Fraction

    from optimaldp.designing import Design
    from optimaldp.graphs import DatasetGraph
    from optimaldp.mechanisms import Mechanism

MOST_POINTS = 5_000  # of a grid that is designed exactly: a second or two


def point(yes_by_level: Sequence[int]) -> str:
    """The name of a point of the grid."""
    return ",".join(map(str, yes_by_level))


@lru_cache(maxsize=16)
def grid_mechanism(
    question: Threshold, levels: tuple[Epsilon, ...], sizes: tuple[int, ...], delta: Fraction
) -> Certified[Mechanism]:
    """The balanced optimum on the grid, passed by the referee.

    **Guarantee.** Private on every edge at the level (that person's epsilon, *delta*), and greatest among the private mechanisms
    with the same balanced boundary (paper 003, generalised to delta > 0).
    """
    from optimaldp.designing import design

    points = prod(size + 1 for size in sizes)
    if points > MOST_POINTS:
        shown = f"{len(levels)} levels with delta above 0"
        raise LevelError("levels", shown, f"need a grid of more than {MOST_POINTS} counts", "use delta=0, at any size")
    graph = _grid(levels, sizes, delta)
    total = sum(sizes)

    def truth(name: str) -> str:
        yes = sum(map(int, name.split(",")))
        return "yes" if question.condition.holds(yes, total - yes) else "no"

    found = design(graph, truth, answers=["yes", "no"], boundary="balanced")
    return _passed(found)


def _grid(levels: Sequence[Epsilon], sizes: Sequence[int], delta: Fraction) -> DatasetGraph:
    from optimaldp.graphs import DatasetGraph

    bounds = [level(epsilon, delta) for epsilon in levels]
    grid = list(product(*(range(size + 1) for size in sizes)))
    edges = [
        (point(at), point((*at[:g], at[g] + 1, *at[g + 1 :])), bounds[g])
        for at in grid
        for g in range(len(sizes))
        if at[g] < sizes[g]
    ]
    return DatasetGraph.from_edges(map(point, grid), edges)


def _passed(found: Design) -> Certified[Mechanism]:
    if found.mechanism is None or found.certificate is None:
        raise LevelError("levels", str(found.status), "admit no balanced optimum on this grid", "use delta=0")
    report = found.certificate.check()
    words = (
        "every edge of the grid of counts keeps its own level",
        "every value meets the bound that a neighbour imposes",
    )
    return Certified(found.mechanism, Finding(bool(report.private and report.optimal), words, str(report)))
