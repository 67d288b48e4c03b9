"""People with levels of their own at their public numbers: where the answer changes, near to it and further away."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.laws_compared import close, draws_follow
from optimaldp.certify.questions.meanings import MEANINGS, Meaning, own_meaning
from optimaldp.certify.questions.tables import watched_cells
from optimaldp.laws.setting import Table
from optimaldp.privacy import Epsilon

_AWAY = (-15, -2, -1, 0, 1, 2, 3, 14)  # people from the place where the answer changes
_AWAY_OF_MANY = (-1, 0, 3)  # with many answers, whose laws take longer

State = tuple[Mapping[int, int], ...]
"""People by cell, for each level."""


def check_personal_lines(mechanism: Examined) -> str:
    """What is wrong, or nothing: everybody is compared at their own level."""
    spec = mechanism.question.spec()
    known = MEANINGS.get(spec["kind"])
    meaning = own_meaning(mechanism) if known is None else partial(known, spec)
    for first, second in combinations(watched_cells(mechanism.question.cells, 4), 2):
        lines = [_Line(mechanism.setting.levels, first, second, strict_first) for strict_first in (True, False)]
        changes = [line.change(meaning) for line in lines]
        if None not in changes:  # the first two cells between which the answer changes
            failures = [_failure(mechanism, meaning, line, change or 0) for line, change in zip(lines, changes)]
            return next(filter(None, failures), "")
    return ""


class _Line:
    """People go from the first cell to the second one by one, those of the strictest level first or last."""

    def __init__(self, levels: Sequence[tuple[Epsilon, int]], first: int, second: int, strict_first: bool) -> None:
        self.levels, self.first, self.second = levels, first, second
        self._order = range(len(levels)) if strict_first else range(len(levels))[::-1]
        self.people = sum(people for _, people in levels)

    def state(self, moved: int) -> State:
        cells: dict[int, dict[int, int]] = {}
        for place in self._order:
            people = self.levels[place][1]
            gone = min(moved, people)
            moved -= gone
            cells[place] = {c: n for c, n in ((self.first, people - gone), (self.second, gone)) if n}
        return tuple(cells[place] for place in range(len(self.levels)))

    def change(self, meaning: Meaning) -> int | None:
        """Where the true answer changes; ``None`` where it does not."""
        at_first = meaning(_total(self.state(0)))
        low, high = 0, self.people
        if meaning(_total(self.state(high))) == at_first:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if meaning(_total(self.state(middle))) == at_first else (low, middle)
        return low

    def neighbours(self, state: State) -> Iterator[tuple[int, State]]:
        """One person of the strictest, a middle or the loosest level goes to the other cell."""
        size = len(self.levels)
        for place in sorted({0, size // 2, size - 1}):
            for source, target in ((self.first, self.second), (self.second, self.first)):
                if state[place].get(source):
                    moved = dict(state[place])
                    moved[source] -= 1
                    moved[target] = moved.get(target, 0) + 1
                    changed = {cell: people for cell, people in moved.items() if people}
                    yield place, (*state[:place], changed, *state[place + 1 :])


def _total(state: State) -> dict[int, int]:
    total: dict[int, int] = {}
    for cells in state:
        for cell, people in cells.items():
            total[cell] = total.get(cell, 0) + people
    return total


def _failure(mechanism: Examined, meaning: Meaning, line: _Line, change: int) -> str:
    epsilons = [epsilon for epsilon, _ in line.levels]

    def row(state: State) -> Any:
        return mechanism.law(Table(_total(state), tuple(zip(epsilons, state)))).probabilities()

    for away in _AWAY if len(mechanism.question.answers) == 2 else _AWAY_OF_MANY:
        if not 0 <= change + away <= line.people:
            continue
        state = line.state(change + away)
        here, truth = row(state), meaning(_total(state))
        table = Table(_total(state), tuple(zip(epsilons, state)))
        if not away and not draws_follow(mechanism, table, near_ends=False):
            return "the sampler does not follow the law that was examined"
        # Weighted votes are right on average; the other law is right at every table.
        if mechanism.name == "balanced levels" and here[truth] < here[1 - truth]:
            return "the true answer of a table of the public sizes is not the likeliest one"
        for place, other in line.neighbours(state):
            own = epsilons[place]
            ratio = own.exact_ratio if own.exact_ratio is not None else own.exp()
            # At level 0 a person changes nothing at all, so there is nothing for delta to cover.
            delta = Fraction(0) if own.is_zero else mechanism.setting.level.delta
            if not close(here, row(other), ratio, delta):
                return (
                    "two tables of the public sizes that differ in one person are not close at that person's own level"
                )
    return ""
