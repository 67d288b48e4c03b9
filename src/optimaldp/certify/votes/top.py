"""The leading options: every small table, people without an option included, and every neighbour, list by list.

The lists are compared one by one, which is all events where delta is not used. What is drawn for larger tables rests on the
theorem that the law names. Equalities are common (a private law uses its level up), so a quotient may exceed its bound by 2^-80
of itself, the width of the enclosures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

from optimaldp.certify.findings import Finding
from optimaldp.certify.votes.meaning import Table
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number

# All small tables, and the neighbours of each.


def tables(cells: int, people: int) -> Iterator[Table]:
    """All tables of exactly so many people."""
    if cells == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for rest in tables(cells - 1, people - first):
            yield (first, *rest)


def neighbours_of(table: Table, relation: Neighbours) -> Iterator[Table]:
    """One record replaced by any other; or one person more or less."""
    for giver, people in enumerate(table):
        without = (*table[:giver], people - 1, *table[giver + 1 :])
        if relation is Neighbours.ADD_REMOVE:
            if people:
                yield without
            yield (*table[:giver], people + 1, *table[giver + 1 :])
        elif people:
            for taker in range(len(table)):
                if taker != giver:
                    yield (*without[:taker], without[taker] + 1, *without[taker + 1 :])


Listing = tuple[int, ...]
Shown = Callable[[Sequence[int]], Mapping[Listing, Number]]
"""The probability of every list of leaders, from the counts of the options."""

_BITS = 192


def examine_top(
    shown: Shown, *, options: int, size: int, epsilon: Epsilon, relation: Neighbours, people: int = 4
) -> Finding:
    """Whether the law is a distribution, likeliest at the truth, and close on all neighbours among tables of up to *people*."""
    if epsilon.infinite:
        return Finding(False, (), "an infinite epsilon promises nothing")
    lists = set(permutations(range(options), size))
    known: dict[Table, dict[Listing, Ball]] = {}
    with precision(_BITS):
        limit = epsilon.exp() * (1 + Ball(2) ** -80)
        for table in (t for total in range(people + 1) for t in tables(options + 1, total)):
            row = {listing: ball(chance) for listing, chance in shown(table[:options]).items()}
            if (
                set(row) != lists
                or not sum(row.values(), Ball(0)).overlaps(Ball(1))
                or min(map(float, row.values())) <= 0
            ):
                return Finding(False, (), "the law of a small table is no distribution on all lists")
            likeliest = row[_leaders(table[:options], size)]
            if any(chance > likeliest for chance in row.values()):
                return Finding(False, (), "the true list of a small table is not the likeliest one")
            known[table] = row
        for table, row in known.items():
            for other in neighbours_of(table, relation):
                there = known.get(other)
                if there is not None and any(row[listing] > limit * there[listing] for listing in lists):
                    return Finding(False, (), "two small tables that differ in one person are not close")
    tables_tried = (
        f"all tables of up to {people} people over {options} options and none, and all neighbours ({relation.words})"
    )
    return Finding(True, (f"every list of {size} leaders: {tables_tried}",))


def examine_leading(mechanism: Any) -> Finding:
    """A mechanism of a release: made for its own level and neighbours, and the same law on few options, on all small tables."""
    law, setting = mechanism.chosen, mechanism.setting
    if law.epsilon != setting.level.epsilon or law.neighbours is not setting.neighbours:
        return Finding(False, (), "the law is made for another level or for other neighbours")
    options, size = min(3, law.options), min(2, law.size)
    # Forced: of few options the law might choose another way to draw, and that one would be examined instead.
    few = replace(law, options=options, size=size, forced=law.mode)
    finding = examine_top(
        few.probabilities, options=options, size=size, epsilon=setting.level.epsilon, relation=setting.neighbours
    )
    return replace(finding, checks=(*finding.checks, f"for all other tables, by theorem: {mechanism.proof}"))


def _leaders(counts: Sequence[int], size: int) -> Listing:
    """Highest count first, ties to the option that was named first: one leader after the other."""
    remaining, leaders = list(range(len(counts))), list[int]()
    while len(leaders) < size:
        best = max(counts[option] for option in remaining)
        leaders.append(next(option for option in remaining if counts[option] == best))
        remaining.remove(leaders[-1])
    return tuple(leaders)
