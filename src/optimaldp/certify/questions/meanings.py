"""What each question means, read anew from its plain numbers: the referee shares no code with the questions themselves.

A table is given by its occupied cells. A cell is a number for each way in which a record can be read, in the order of the tally:
the question's own readings first, the condition behind ``among`` last (0: asked, 1: not asked).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from optimaldp.certify.questions.examined import Examined

Spec = Mapping[str, Any]
Counts = Mapping[int, int]
Meaning = Callable[[Counts], int]
"""The position of the true answer at a table."""

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


def own_meaning(mechanism: Examined) -> Meaning:
    """Of a question of a kind that the referee does not know: where its answer changes, it must say itself."""
    return lambda table: mechanism.question.truth(mechanism.question.fold(table))


def _thresholds(spec: Spec, table: Counts) -> int:
    """Counts and shares: one of them, or several that are joined by "and" or "or".

    A cell has one bit for each condition, the first one on top, and 0 says that it holds. A part reads one of them and may ask
    that another one holds: whoever is not asked is left out.
    """
    alone = spec["kind"] != "several"
    parts = [{**spec, "reads": 0, "asks": 1 if spec["among"] else None}] if alone else spec["thresholds"]
    last = max(max(part["reads"], part["asks"] or 0) for part in parts)
    held = []
    for part in parts:
        said = [0, 0]
        for cell, people in table.items():
            if part["asks"] is None or not cell >> (last - part["asks"]) & 1:
                said[cell >> (last - part["reads"]) & 1] += people
        # A share of nobody: both sides multiplied by the number of people, so 0 is compared with 0.
        bound = part["bound"] if part["kind"] == "count" else part["bound"] * sum(said)
        held.append(_COMPARE[part["comparison"]](said[0], bound))
    return 0 if (all(held) if alone or spec["word"] == "and" else any(held)) else 1


def _asked(spec: Spec, table: Counts) -> dict[int, int]:
    """People by the question's own reading; those who are not asked are left out."""
    if not spec["among"]:
        return dict(table)
    return {cell // 2: people for cell, people in table.items() if cell % 2 == 0}


def _compare(spec: Spec, table: Counts) -> int:
    asked = _asked(spec, table)
    return 0 if asked.get(0, 0) > asked.get(1, 0) else 1


def _winner(spec: Spec, table: Counts) -> int:
    asked = _asked(spec, table)
    return max(range(spec["options"]), key=lambda option: (asked.get(option, 0), -option))


def _quantile(spec: Spec, table: Counts) -> int:
    asked = {cell: people for cell, people in _asked(spec, table).items() if cell < spec["bins"]}
    total, below = sum(asked.values()), 0
    for cell in sorted(asked):
        below += asked[cell]
        if below >= spec["rank"] * total and below:
            return cell
    return 0


def _values(spec: Spec) -> int:
    """How many values a record can have; the cell behind them is for people without one."""
    return int((spec["high"] - spec["low"]) / spec["step"]) + 1


def _mean(spec: Spec, table: Counts) -> int:
    values = _values(spec)
    asked = {cell: people for cell, people in _asked(spec, table).items() if cell < values}
    total = sum((spec["low"] + cell * spec["step"]) * people for cell, people in asked.items())
    return 0 if _COMPARE[spec["comparison"]](total, spec["bound"] * sum(asked.values())) else 1


def _share_difference(spec: Spec, table: Counts) -> int:
    (reads_a, in_a), (reads_b, in_b) = spec["first"], spec["second"]
    last = max(reads_a, in_a, reads_b, in_b)
    a, b = [0, 0], [0, 0]  # who says yes and who says no
    for cell, people in table.items():
        says = [cell >> (last - place) & 1 for place in range(last + 1)]  # 0: the condition holds
        if says[in_a] < says[in_b]:  # in the first group alone; who is in both, or in none, is in no comparison
            a[says[reads_a]] += people
        elif says[in_b] < says[in_a]:
            b[says[reads_b]] += people
    # Both sides multiplied by both sizes: nothing is divided, and two empty groups are equal.
    left = Fraction(a[0]) * sum(b)
    right = Fraction(b[0]) * sum(a) + spec["margin"] * sum(a) * sum(b)
    return 0 if _COMPARE[spec["comparison"]](left, right) else 1


def _mean_difference(spec: Spec, table: Counts) -> int:
    values, middle = _values(spec), Fraction(spec["low"] + spec["high"]) / 2
    sums, sizes = [Fraction(0), Fraction(0)], [0, 0]
    for cell, people in table.items():
        place, membership = divmod(cell, 4)  # 1: in the first group alone, 2: in the second alone
        if membership in (1, 2):
            # Who is in a public group stays in it, also without a value: then the middle of the range stands for it.
            value = spec["low"] + place * spec["step"] if place < values else middle
            sums[membership - 1] += people * value
            sizes[membership - 1] += people
    left = sums[0] * sizes[1]
    right = sums[1] * sizes[0] + spec["margin"] * sizes[0] * sizes[1]
    return 0 if _COMPARE[spec["comparison"]](left, right) else 1


MEANINGS: dict[str, Callable[[Spec, Counts], int]] = {
    "count": _thresholds,
    "share": _thresholds,
    "several": _thresholds,
    "compare": _compare,
    "winner": _winner,
    "quantile": _quantile,
    "mean": _mean,
    "share-difference": _share_difference,
    "mean-difference": _mean_difference,
}
"""The kinds that the referee knows by itself: where the true answer stands, from a question's plain numbers and a table."""


def public_group(spec: Spec, cell: int) -> Any:
    """Of two groups whose members are public: to which a record of this cell belongs. Nobody leaves theirs."""
    if spec["kind"] == "mean-difference":
        return cell % 4
    (reads_a, in_a), (reads_b, in_b) = spec["first"], spec["second"]
    last = max(reads_a, in_a, reads_b, in_b)
    return tuple((cell >> (last - place)) & 1 for place in (in_a, in_b))


def cells_of_groups(spec: Spec, size: int) -> list[int]:
    """Of each public group the first, the last and the last but one of its cells."""
    groups: dict[Any, list[int]] = {}
    for cell in range(size):
        groups.setdefault(public_group(spec, cell), []).append(cell)
    return sorted({cell for cells in groups.values() for cell in (cells[0], cells[-1], cells[-2])})
