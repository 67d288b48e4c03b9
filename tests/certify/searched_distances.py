"""Truth and number of moves on all small tables, by breadth-first search from a definition of neighbours and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable

from optimaldp.certify.core.examined import Finding
from optimaldp.certify.leaders import neighbours_of, tables
from optimaldp.certify.votes import Row as Table
from optimaldp.privacy import Neighbours

Truth = Callable[[Table], bool]
Number = Callable[[Table], int | float]


def examine_distance(
    truth: Truth, flips: Number, meaning: Truth, *, cells: int, people: int, relation: Neighbours
) -> Finding:
    """Whether *truth* and *flips* are what *meaning* says, for all tables of up to *people* people.

    Under add/remove the search goes through tables with up to twice as many, and trusts what it found inside of them.
    """
    room = people if relation is Neighbours.SUBSTITUTION else 2 * people
    universe = [table for total in range(room + 1) for table in tables(cells, total)]
    answers = {table: meaning(table) for table in universe}
    if any(truth(table) is not answers[table] for table in universe):
        return Finding(False, (), "the true answer of a small table is another one")
    steps = _steps(answers, relation)
    for table in universe:
        size, own = sum(table), steps[table]
        if size > people:
            continue
        # A way out of the universe needs more than room - size moves, so only what is longer may be shorter than what was found.
        least = own if relation is Neighbours.SUBSTITUTION else min(own, room - size + 1)
        if not least <= flips(table) <= own:
            return Finding(False, (), "the number of people who must change is not what a search finds")
    counted = f"{relation.words}: all tables of up to {people} people over {cells} cells"
    return Finding(True, (f"the true answer and the moves to another one, by breadth-first search ({counted})",))


def _steps(answers: dict[Table, bool], relation: Neighbours) -> dict[Table, int | float]:
    """How many moves lead from each table to one with another answer."""
    around = {t: [s for s in neighbours_of(t, relation) if s in answers] for t in answers}
    steps: dict[Table, int | float] = dict.fromkeys(answers, math.inf)
    front = [t for t in answers if any(answers[s] is not answers[t] for s in around[t])]
    number = 0
    while front:
        number += 1
        for table in front:
            steps[table] = number
        front = list({s for t in front for s in around[t] if steps[s] == math.inf and answers[s] is answers[t]})
    return steps
