"""What each question means, read anew from its plain numbers: the referee shares no code with the questions themselves.

A table is a tuple of counts, one for each cell that a record can fall into, in the order of the tally: the question's own
readings first, the condition behind ``among`` last (0: asked, 1: not asked).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

Spec = Mapping[str, Any]
Counts = Mapping[int, int]
Meaning = Callable[[Counts], int]

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
}


def meaning_of(spec: Spec) -> Meaning | None:
    """The position of the true answer as a function of the table; ``None`` for kinds that the referee does not know."""
    make = _MEANINGS.get(spec["kind"])
    return None if make is None else make(spec)


def is_known(spec: Spec) -> bool:
    """Whether the referee knows by itself what such a question means."""
    return spec["kind"] in _MEANINGS


def _asked(table: Counts, spec: Spec) -> dict[int, int]:
    """People by the question's own reading; those who are not asked are left out."""
    if not spec["among"]:
        return dict(table)
    return {cell // 2: people for cell, people in table.items() if cell % 2 == 0}


def _threshold(spec: Spec) -> Meaning:
    def truth(table: Counts) -> int:
        asked = _asked(table, spec)
        return 0 if _holds(spec, asked.get(0, 0), asked.get(1, 0)) else 1

    return truth


def _holds(spec: Spec, yes: int, no: int) -> bool:
    # A share of nobody: both sides multiplied by the number of people, so 0 is compared with 0.
    bound = spec["bound"] if spec["kind"] == "count" else spec["bound"] * (yes + no)
    return _COMPARE[spec["comparison"]](yes, bound)


def _several(spec: Spec) -> Meaning:
    parts = spec["thresholds"]
    last = max(max(part["reads"], part["asks"] or 0) for part in parts)

    @cache
    def says(cell: int) -> list[bool | None]:
        """What a person of this cell says to each part; ``None``: not asked."""
        holds = [not (cell >> (last - place)) & 1 for place in range(last + 1)]
        return [holds[part["reads"]] if part["asks"] is None or holds[part["asks"]] else None for part in parts]

    def truth(table: Counts) -> int:
        answers = [(says(cell), people) for cell, people in table.items()]
        held = []
        for place, part in enumerate(parts):
            yes, no = (sum(people for said, people in answers if said[place] is side) for side in (True, False))
            held.append(_holds(part, yes, no))
        return 0 if (all(held) if spec["word"] == "and" else any(held)) else 1

    return truth


def _compare(spec: Spec) -> Meaning:
    def truth(table: Counts) -> int:
        asked = _asked(table, spec)
        return 0 if asked.get(0, 0) > asked.get(1, 0) else 1

    return truth


def _winner(spec: Spec) -> Meaning:
    def truth(table: Counts) -> int:
        asked = _asked(table, spec)
        return max(range(spec["options"]), key=lambda option: (asked.get(option, 0), -option))

    return truth


def _quantile(spec: Spec) -> Meaning:
    def truth(table: Counts) -> int:
        asked = {cell: people for cell, people in _asked(table, spec).items() if cell < spec["bins"]}
        total, below = sum(asked.values()), 0
        for cell in sorted(asked):
            below += asked[cell]
            if below >= spec["rank"] * total and below:
                return cell
        return 0

    return truth


def _values(spec: Spec) -> int:
    return int((spec["high"] - spec["low"]) / spec["step"]) + 1


def _mean(spec: Spec) -> Meaning:
    values = _values(spec)

    def truth(table: Counts) -> int:
        asked = {cell: people for cell, people in _asked(table, spec).items() if cell < values}
        total = sum((spec["low"] + cell * spec["step"]) * people for cell, people in asked.items())
        return 0 if _COMPARE[spec["comparison"]](total, spec["bound"] * sum(asked.values())) else 1

    return truth


def _share_difference(spec: Spec) -> Meaning:
    (reads_a, in_a), (reads_b, in_b) = spec["first"], spec["second"]
    readings = 1 + max(reads_a, in_a, reads_b, in_b)

    def truth(table: Counts) -> int:
        a = [0, 0]
        b = [0, 0]
        for cell, people in table.items():
            holds = [not (cell >> (readings - 1 - place)) & 1 for place in range(readings)]
            if holds[in_a] and not holds[in_b]:
                a[not holds[reads_a]] += people
            elif holds[in_b] and not holds[in_a]:
                b[not holds[reads_b]] += people
        left = Fraction(a[0]) * sum(b)
        right = Fraction(b[0]) * sum(a) + spec["margin"] * sum(a) * sum(b)
        return 0 if _COMPARE[spec["comparison"]](left, right) else 1

    return truth


def _mean_difference(spec: Spec) -> Meaning:
    values = _values(spec)
    middle = Fraction(spec["low"] + spec["high"]) / 2

    def truth(table: Counts) -> int:
        sums, sizes = [Fraction(0), Fraction(0)], [0, 0]
        for cell, people in table.items():
            place, membership = divmod(cell, 4)
            if membership in (1, 2):
                value = spec["low"] + place * spec["step"] if place < values else middle
                sums[membership - 1] += people * value
                sizes[membership - 1] += people
        left = sums[0] * sizes[1]
        right = sums[1] * sizes[0] + spec["margin"] * sizes[0] * sizes[1]
        return 0 if _COMPARE[spec["comparison"]](left, right) else 1

    return truth


_MEANINGS: dict[str, Callable[[Spec], Meaning]] = {
    "count": _threshold,
    "share": _threshold,
    "several": _several,
    "compare": _compare,
    "winner": _winner,
    "quantile": _quantile,
    "mean": _mean,
    "share-difference": _share_difference,
    "mean-difference": _mean_difference,
}


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


def cell_values(spec: Spec, cells: Sequence[int]) -> list[Fraction] | None:
    """What a person of each cell adds to the sum whose sign decides, where there is one such sum."""
    weigh = _WEIGHTS.get(spec["kind"])
    if weigh is None:
        return None
    if not spec["among"]:
        return [Fraction(weigh(spec, cell)) for cell in cells]
    # The odd cells hold the people who are not asked: they weigh nothing.
    return [Fraction(0 if cell % 2 else weigh(spec, cell // 2)) for cell in cells]


def _count_weight(spec: Spec, own: int) -> Fraction | int:
    return int(own == 0)


def _share_weight(spec: Spec, own: int) -> Fraction | int:
    return 1 - spec["bound"] if own == 0 else -spec["bound"]  # type: ignore[no-any-return]


def _compare_weight(spec: Spec, own: int) -> Fraction | int:
    return {0: 1, 1: -1}.get(own, 0)


def _mean_weight(spec: Spec, own: int) -> Fraction | int:
    if own >= _values(spec):
        return 0
    return spec["low"] + own * spec["step"] - spec["bound"]  # type: ignore[no-any-return]


# What a person adds who is asked, by the cell of the question's own reading.
_WEIGHTS: dict[str, Callable[[Spec, int], Fraction | int]] = {
    "count": _count_weight,
    "share": _share_weight,
    "compare": _compare_weight,
    "mean": _mean_weight,
}


def sum_needed(spec: Spec) -> tuple[Fraction, str]:
    """What the sum of :func:`cell_values` is compared with, and how."""
    if spec["kind"] == "compare":
        return Fraction(0), ">"
    return (Fraction(spec["bound"]) if spec["kind"] == "count" else Fraction(0)), spec["comparison"]
