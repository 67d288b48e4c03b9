"""Whether a law for people's own levels *is* the form that its theorem speaks of, at the public sizes and at the draw.

The balanced closed form for counts and shares of everybody; weighted votes for every question that is one sum: counts, shares,
shares among some people, comparisons of two options, means. What the sum is, the referee reads from the question's plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.certify.findings import Finding
from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.tables import watched_cells
from optimaldp.certify.votes.balanced import agrees_balanced, examine_balanced
from optimaldp.certify.votes.meaning import Inequality, count_of, mean_of, share_of
from optimaldp.certify.votes.weighted import agrees_weighted, examine_weighted
from optimaldp.laws.setting import Table
from optimaldp.privacy import Epsilon
from optimaldp.privacy.trajectory import Number

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
    asked = _sum_of(mechanism.question.spec()) if len(levels) > 1 else None
    if asked is None:
        return Finding(True, ())
    delta = mechanism.setting.level.delta
    if mechanism.name == "weighted votes":
        shown = _shown(mechanism, asked.cells, levels)
        return examine_weighted(shown, asked.question, levels, sizes, centred=asked.centred, delta=delta)
    if mechanism.name == "balanced levels" and asked.centred and len(asked.cells) == 2:
        at_least = _at_least(mechanism, asked, levels)
        return examine_balanced(at_least, levels, sizes, _least(asked.question, sum(sizes)), delta=delta)
    return Finding(True, ())


def confirms_form(mechanism: Examined, table: Table) -> bool:
    """The same for the very table that was drawn from: a second routine computes its number. True where there is no form."""
    levels, sizes = _held(mechanism)
    asked = _sum_of(mechanism.question.spec(), all_values=True) if len(levels) > 1 else None
    if asked is None:
        return True
    by_level = dict(table.by_level)
    rows = [tuple(by_level[epsilon].get(cell, 0) for cell in asked.cells) for epsilon in levels]
    rows = [(*row[:-1], size - sum(row[:-1])) for row, size in zip(rows, sizes)]  # several cells may add nothing
    delta = mechanism.setting.level.delta
    if mechanism.name == "weighted votes":

        def known(_: Any) -> tuple[Number, Number]:
            return _both(mechanism.law(table).probabilities())

        return agrees_weighted(known, asked.question, levels, rows, centred=asked.centred, delta=delta)
    if mechanism.name == "balanced levels" and asked.centred and len(asked.cells) == 2:
        votes = [(row[0], row[1]) for row in rows]
        more = asked.question.asks_for_more

        def at_least(_: Any) -> tuple[Number, Number]:
            yes, no = _both(mechanism.law(table).probabilities())
            return (yes, no) if more else (no, yes)

        return agrees_balanced(at_least, levels, votes, _least(asked.question, sum(sizes)), delta)
    return True


def _held(mechanism: Examined) -> tuple[list[Epsilon], list[int]]:
    """The levels that somebody has: one that nobody has decides nothing."""
    held = [(epsilon, people) for epsilon, people in mechanism.setting.levels if people]
    return [epsilon for epsilon, _ in held], [people for _, people in held]


def _sum_of(spec: Mapping[str, Any], *, all_values: bool = False) -> _Sum | None:
    """The sum behind a question; the last cell is somebody outside, who adds nothing, wherever there is one."""
    kind, among = spec["kind"], spec.get("among", False)
    step = 2 if among else 1
    if kind in ("count", "share"):
        make: Callable[..., Inequality] = count_of if kind == "count" else share_of
        question = make(spec["comparison"], spec["bound"], outside=among)
        # A share of none or of all among some people is a count of everybody.
        count = not among or 0 in question.adds[:2]
        return _Sum(question, (0, 2, 1) if among else (0, 1), count)
    if kind == "compare":
        return _Sum(Inequality((Fraction(1), Fraction(-1), Fraction(0)), ">", Fraction(0)), (0, step, 2 * step), False)
    if kind == "mean":
        values = int((spec["high"] - spec["low"]) / spec["step"]) + 1
        places = range(values) if all_values else watched_cells(values, _WATCHED)
        read = [spec["low"] + place * spec["step"] for place in places]
        cells = (*(place * step for place in places), values * step)
        return _Sum(mean_of(spec["comparison"], spec["bound"], read), cells, False)
    return None


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
