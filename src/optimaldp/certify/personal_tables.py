"""Elections in which all options are near each other: where a flip envelope that is not private shows it.

The theorems behind the two envelopes have conditions; a mechanism that was chosen where they do not hold breaks its level first
on such tables. What the referee knows of the theorems by itself: divisible votes are proven for up to five options.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, combinations_with_replacement, product
from typing import Any

from optimaldp.certify.core.drawing import close, draws_follow, is_distribution
from optimaldp.certify.core.examined import Examined, Finding
from optimaldp.certify.core.meanings import Meaning, People, known_kind, meaning_of, watched_cells
from optimaldp.certify.races import handed_on, treated_alike
from optimaldp.certify.votes import (
    Inequality,
    agrees_balanced,
    agrees_fair,
    agrees_hedge,
    agrees_weighted,
    examine_balanced,
    examine_fair,
    examine_hedge,
    examine_weighted,
)
from optimaldp.laws.law import Table
from optimaldp.privacy import Epsilon, approximate
from optimaldp.privacy.balls import precision
from optimaldp.privacy.numbers import first_where
from optimaldp.privacy.trajectory import Number

# Small tables of people with levels of their own: each person is compared at their own level.


# People with levels of their own at their public numbers: where the answer changes, near to it and further away.


_AWAY = (-15, -2, -1, 0, 1, 2, 3, 14)  # people from the place where the answer changes
_AWAY_OF_MANY = (-1, 0, 3)  # with many answers, whose laws take longer

Groups = tuple[Mapping[int, int], ...]
"""People by cell, for each level."""


def check_personal_lines(mechanism: Examined) -> str:
    """What is wrong, or nothing: everybody is compared at their own level."""
    meaning = meaning_of(mechanism)
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

    def state(self, moved: int) -> Groups:
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
        if meaning(_total(self.state(self.people))) == at_first:
            return None
        return first_where(lambda gone: meaning(_total(self.state(gone))) != at_first, 1, self.people) - 1

    def neighbours(self, state: Groups) -> Iterator[tuple[int, Groups]]:
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


def _total(state: Groups) -> dict[int, int]:
    total: dict[int, int] = {}
    for cells in state:
        for cell, people in cells.items():
            total[cell] = total.get(cell, 0) + people
    return total


def _failure(mechanism: Examined, meaning: Meaning, line: _Line, change: int) -> str:
    epsilons = [epsilon for epsilon, _ in line.levels]

    def row(state: Groups) -> Any:
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
        if mechanism.name in ("balanced levels", "fair levels") and here[truth] < here[1 - truth]:
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


# Whether a law for people's own levels *is* the form that its theorem speaks of, at the public sizes and at the draw.
#
# The fair law, the hedge and the balanced form for counts and shares of everybody; weighted votes for every question that is one
# sum: counts, shares, shares among some people, comparisons of two options, means. What the sum is, the referee reads from the
# question's plain numbers.


_WATCHED = 3  # values of a mean that are tried, both ends among them


@dataclass(frozen=True)
class _Sum:
    """A question as one sum: which cells of the tally are told apart, what each adds, and whether n people decide the middle."""

    question: Inequality
    cells: tuple[int, ...]
    centred: bool


def examine_form(mechanism: Examined) -> Finding:
    """The law at tables of the public sizes against the form; passed without a word where there is no such form."""
    levels, sizes = _held(mechanism)
    asked, delta = _form_of(mechanism, levels), mechanism.setting.level.delta
    if asked is None:
        return Finding(True, ())
    if mechanism.name == "weighted votes":
        shown = _shown(mechanism, asked.cells, levels)
        return examine_weighted(shown, asked.question, levels, sizes, centred=asked.centred, delta=delta)
    at_least, least = _at_least(mechanism, asked, levels), _least(asked.question, sum(sizes))
    if mechanism.name == "balanced levels":
        return examine_balanced(at_least, levels, sizes, least, delta=delta)
    written = _Written.of(mechanism)
    if written.law != 2:
        return Finding(False, (), "its law has another version than the one that it names")
    if mechanism.name == "fair levels":
        return examine_fair(at_least, levels, sizes, least, alpha=written.alpha, delta=delta)
    return examine_hedge(
        at_least, levels, sizes, least, width=written.width, cap=written.cap, alpha=written.alpha, delta=delta
    )


def confirms_form(mechanism: Examined, table: Table) -> bool:
    """The same for the very table that was drawn from: a second routine computes its number. True where there is no form."""
    levels, sizes = _held(mechanism)
    asked, delta = _form_of(mechanism, levels, all_values=True), mechanism.setting.level.delta
    if asked is None:
        return True
    by_level = dict(table.by_level)
    rows = [tuple(by_level[epsilon].get(cell, 0) for cell in asked.cells) for epsilon in levels]
    rows = [(*row[:-1], size - sum(row[:-1])) for row, size in zip(rows, sizes)]  # several cells may add nothing
    more = asked.question.asks_for_more

    def known(_: Any) -> tuple[Number, Number]:
        return _both(mechanism.law(table).probabilities())

    def at_least(_: Any) -> tuple[Number, Number]:
        return known(_) if more else known(_)[::-1]

    if mechanism.name == "weighted votes":
        return agrees_weighted(known, asked.question, levels, rows, centred=asked.centred, delta=delta)
    votes, least = [(row[0], row[1]) for row in rows], _least(asked.question, sum(sizes))
    if mechanism.name == "balanced levels":
        return agrees_balanced(at_least, levels, votes, least, delta)
    if mechanism.name == "fair levels":
        return agrees_fair(at_least, levels, votes, least, delta)
    written = _Written.of(mechanism)
    return agrees_hedge(at_least, levels, votes, least, written.width, written.cap, delta)


_ABOUT_EVERYBODY = ("fair levels", "hedged votes")


def _form_of(mechanism: Examined, levels: Sequence[Epsilon], *, all_values: bool = False) -> _Sum | None:
    """The sum behind a law that has a form of its own; ``None`` where it has none."""
    asked = _sum_of(mechanism.question.spec(), all_values=all_values)
    everybody = asked is not None and asked.centred and len(asked.cells) == 2
    if mechanism.name in _ABOUT_EVERYBODY:
        if not everybody:
            raise ArithmeticError("the law is made for yes and no about everybody")
        return asked
    formed = mechanism.name == "weighted votes" or (mechanism.name == "balanced levels" and everybody)
    return asked if formed and len(levels) > 1 else None


@dataclass(frozen=True)
class _Written:
    """The public numbers of a law for yes and no about everybody, as its document has them."""

    law: int
    alpha: Epsilon
    width: Fraction
    cap: Epsilon | None

    @staticmethod
    def of(mechanism: Examined) -> _Written:
        known: Mapping[str, Any] = mechanism.parameters()
        cap = known.get("cap")
        return _Written(
            known["law"],
            Epsilon.read(known["alpha"]),
            Fraction(known.get("M", 0)),
            None if cap is None else Epsilon.read(cap),
        )


def _held(mechanism: Examined) -> tuple[list[Epsilon], list[int]]:
    """The levels that somebody has: one that nobody has decides nothing."""
    held = [(epsilon, people) for epsilon, people in mechanism.setting.levels if people]
    return [epsilon for epsilon, _ in held], [people for _, people in held]


def _sum_of(spec: Mapping[str, Any], *, all_values: bool = False) -> _Sum | None:
    """The sum behind a question; the last cell is somebody outside, who adds nothing, wherever there is one."""
    known, among = known_kind(spec), spec.get("among", False)
    if known.sum is None:
        return None
    adds, comparison, bound = known.sum(spec)
    step, yes_or_no = 2 if among else 1, len(adds) == 2  # else the last cell is that of people without a value
    values = len(adds) if yes_or_no else len(adds) - 1
    places = range(values) if all_values else watched_cells(values, _WATCHED)
    cells, read = [place * step for place in places], [adds[place] for place in places]
    if among or not yes_or_no:
        cells, read = [*cells, 1 if yes_or_no else values * step], [*read, Fraction(0)]
    # A share of none or of all among some people is a count of everybody.
    everybody = yes_or_no and (not among or 0 in adds)
    return _Sum(Inequality(tuple(read), comparison, bound), tuple(cells), everybody)


def _least(question: Inequality, people: int) -> int:
    """From how many yes on the sum is on its upper side."""
    good, bad = question.adds[0], question.adds[1]
    border = (question.bound - people * bad) / (good - bad)
    return math.ceil(border) if question.comparison in (">=", "<") else math.floor(border) + 1


def _both(row: Sequence[Number]) -> tuple[Number, Number]:
    yes, no = row
    return yes, no


def _shown(
    mechanism: Examined, cells: Sequence[int], levels: Sequence[Epsilon]
) -> Callable[[Sequence[Sequence[int]]], tuple[Number, Number]]:
    def shown(table: Sequence[Sequence[int]]) -> tuple[Number, Number]:
        total: dict[int, int] = {}
        by_level = []
        for epsilon, row in zip(levels, table):
            own = {cell: people for cell, people in zip(cells, row) if people}
            by_level.append((epsilon, own))
            for cell, people in own.items():
                total[cell] = total.get(cell, 0) + people
        return _both(mechanism.law(Table(total, tuple(by_level))).probabilities())

    return shown


def _at_least(
    mechanism: Examined, asked: _Sum, levels: Sequence[Epsilon]
) -> Callable[[Sequence[Sequence[int]]], tuple[Number, Number]]:
    shown = _shown(mechanism, asked.cells, levels)
    return shown if asked.question.asks_for_more else lambda table: shown(table)[::-1]


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
    if not known_kind(mechanism.question.spec()).votes:
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
