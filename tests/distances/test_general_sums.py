"""Any inequality of this form, and any list of leaders, against the search over what a table can become."""

from __future__ import annotations

import math
from itertools import permutations, product

import pytest

from optimaldp.distances.linear import LinearCondition
from optimaldp.distances.ranking import moves_to, true_ranking
from optimaldp.privacy import Neighbours

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
Table = tuple[int, int, int]

CONDITIONS = [
    LinearCondition(2, -4, 3),
    LinearCondition(-4, 2, -1),
    LinearCondition(-1, -2, -3),  # everybody lowers the sum: best to be outside
    LinearCondition(3, 3, 4),
    LinearCondition(-2, 0, -2),
    LinearCondition(6, 4, 9),
]


def moved(table: Table, other: Table, *, replaced: bool) -> int:
    """Replacements between two tables of one size, or arrivals and departures."""
    up = sum(max(0, b - a) for a, b in zip(table, other))
    down = sum(max(0, a - b) for a, b in zip(table, other))
    return up if replaced else up + down


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_any_inequality_by_search(condition: LinearCondition, neighbours: Neighbours) -> None:
    replaced = neighbours is SUBSTITUTION
    tables = [table for table in product(range(4), repeat=3) if not replaced or sum(table) == 3]
    reachable = tables if replaced else list(product(range(8), repeat=3))
    signed = {}
    for table in tables:
        truth = condition.holds(*table[:2])
        assert truth is (condition.yes_weight * table[0] + condition.no_weight * table[1] >= condition.need)
        others = [other for other in reachable if condition.holds(*other[:2]) is not truth]
        least = min((moved(table, other, replaced=replaced) for other in others), default=math.inf)
        assert condition.flips(*table, neighbours) == least, table
        assert condition.moves(*table, neighbours) == (0 if truth else least), table
        signed[table] = condition.signed(*table, neighbours)
        assert (signed[table] > 0) is truth
        assert math.isinf(signed[table]) or least - 1 < abs(signed[table]) <= least
    for table, other in product(tables, repeat=2):
        if moved(table, other, replaced=replaced) == 1 and not math.isinf(signed[table]):
            assert abs(signed[table] - signed[other]) <= 1


@pytest.mark.parametrize("counts", [(0, 0, 0, 2, 2), (2, 0, 1, 0, 3), (1, 3, 0, 0, 2)])
@pytest.mark.parametrize("size", [2, 3])
def test_lists_of_five_options_under_add_remove_by_search(counts: tuple[int, ...], size: int) -> None:
    """Two others above three leaders cost less to lower than the three to raise: both prices are 1."""
    best: dict[tuple[int, ...], int] = {}
    for after in product(range(5), repeat=5):
        ranking, moves = true_ranking(after, size), sum(abs(a - b) for a, b in zip(counts, after))
        best[ranking] = min(best.get(ranking, moves), moves)
    for ranking in permutations(range(5), size):
        assert moves_to(counts, ranking, ADD_REMOVE) == best[ranking], ranking
