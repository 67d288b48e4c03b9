"""Small tables of people with levels of their own: each person is compared at their own level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain, combinations_with_replacement, product
from typing import Any

from optimaldp.certify.findings import Finding
from optimaldp.certify.questions.close_races import handed_on, treated_alike
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.laws_compared import close, draws_follow, is_distribution
from optimaldp.certify.questions.personal_forms import examine_form
from optimaldp.certify.questions.personal_lines import check_personal_lines
from optimaldp.certify.questions.tables import People, watched_cells
from optimaldp.laws.setting import Table
from optimaldp.privacy import Epsilon, approximate
from optimaldp.privacy.balls import precision
from optimaldp.privacy.trajectory import Number

_BITS = 192
_SIZES = ((1, 1), (2, 1))
State = tuple[People, ...]
"""Where the people of each level are."""


def examine_personal(mechanism: Examined) -> Finding:
    """Every table of up to two people of the strictest level and one of the loosest, and everybody who could change."""
    levels = [epsilon for epsilon, _ in mechanism.setting.levels]
    pair = (levels[0], levels[-1])
    cells = watched_cells(mechanism.question.cells, 3)
    with precision(_BITS):
        for real in (False, True):
            used = pair if real else _rational(pair)
            for sizes in _SIZES if not real else _SIZES[-1:]:
                failure = _Tables(_resized(mechanism, used, sizes), used, cells).failure()
                if failure:
                    return Finding(False, (), failure)
        if failure := check_personal_lines(mechanism) or _unlike(mechanism, pair):
            return Finding(False, (), failure)
        if not (form := examine_form(mechanism)).private:
            return form
        small = _resized(mechanism, pair, (2, 1))
        first, last = cells[0], cells[-1]
        states = (((first, first), (last,)), ((last, last), (first,)))
        if not all(draws_follow(small, _table(state, pair)) for state in states):
            return Finding(False, (), "the sampler does not follow the law that was examined")
    return Finding(
        True,
        (
            "every table of up to two people of the strictest level and one of the loosest, and everybody who could "
            "change: all events at that person's own level",
            "tables of the public sizes, the strictest or the loosest people first, near every place where the answer "
            "changes: all events at that person's own level",
            *form.checks,
            "the sampler gives each answer exactly where its law says so, by scripted bits",
            f"for all other tables, by theorem: {mechanism.proof}",
        ),
    )


def _unlike(mechanism: Any, pair: tuple[Epsilon, Epsilon]) -> str:
    """Few cells are watched: that no option of an election counts more than another is looked at in all of them."""
    if mechanism.question.spec()["kind"] != "winner":
        return ""
    options = len(mechanism.question.answers)
    step = mechanism.question.cells // (options + 1)
    rows = []
    for votes in handed_on(options):
        people = tuple(option * step for option, number in enumerate(votes) for _ in range(number))
        tried = _resized(mechanism, pair, (len(people), len(people)))
        rows.append(tried.law(_table((people, people), pair)).probabilities())
    return "" if treated_alike(*rows) else "the options are not treated alike"


def _rational(levels: tuple[Epsilon, Epsilon]) -> tuple[Epsilon, Epsilon]:
    """Levels next to the real ones whose ``e^epsilon`` is rational; different where the real ones are."""
    # Rounded up (but for the cap): a proof that needs epsilon to be large enough keeps it.
    ratios = [
        1 + Fraction(int(60 * (float(level.exp()) - 1)) + 1, 60) if not level.is_zero else Fraction(1)
        for level in levels
    ]
    ratios = [min(ratio, Fraction(3600)) for ratio in ratios]
    if levels[0] != levels[1] and ratios[0] == ratios[1]:
        ratios[1] += Fraction(1, 60)
    return Epsilon(Fraction(0), ratios[0]), Epsilon(Fraction(0), ratios[1])


def _resized(mechanism: Any, levels: tuple[Epsilon, Epsilon], sizes: tuple[int, int]) -> Any:
    setting = mechanism.setting
    level = approximate(levels[1], setting.level.delta)
    changed = replace(setting, level=level, people=sum(sizes), levels=tuple(zip(levels, sizes)))
    return replace(mechanism, setting=changed)


def _table(state: State, levels: Sequence[Epsilon]) -> Table:
    by_level = tuple((epsilon, dict(Counter(people))) for epsilon, people in zip(levels, state))
    return Table(dict(Counter(chain(*state))), by_level)


class _Tables:
    def __init__(self, mechanism: Examined, levels: tuple[Epsilon, Epsilon], cells: Sequence[int]) -> None:
        self.mechanism, self.levels, self.cells = mechanism, levels, cells
        self.rows: dict[State, list[Number]] = {}

    def failure(self) -> str:
        sizes = [people for _, people in self.mechanism.setting.levels]
        ratios: list[Number] = [
            level.exact_ratio if level.exact_ratio is not None else level.exp() for level in self.levels
        ]
        for state in product(*(list(combinations_with_replacement(self.cells, size)) for size in sizes)):
            for place, other in self._neighbours(state):
                delta = Fraction(0) if self.levels[place].is_zero else self.mechanism.setting.level.delta
                if not close(self._row(state), self._row(other), ratios[place], delta):
                    return "two small tables that differ in one person are not close at that person's own level"
        return ""

    def _neighbours(self, state: State) -> Iterator[tuple[int, State]]:
        for place, own in enumerate(state):
            for source, target in product(sorted(set(own)), self.cells):  # people of one cell are alike
                if target != source:
                    first = own.index(source)
                    changed = tuple(sorted((*own[:first], target, *own[first + 1 :])))
                    yield place, (*state[:place], changed, *state[place + 1 :])

    def _row(self, state: State) -> list[Number]:
        if state not in self.rows:
            row = self.mechanism.law(_table(state, self.levels)).probabilities()
            if not is_distribution(row):
                raise ArithmeticError("the law of a small table is no distribution")
            self.rows[state] = row
        return self.rows[state]
