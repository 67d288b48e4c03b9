"""The questions and the referee say what is true, each with its own code: on all small tables they say the same."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import pytest

from optimaldp.certify.core.meanings import KINDS, cells_of_groups, public_group
from optimaldp.certify.core.referee import SecondCalculation
from optimaldp.laws.law import Setting
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.questions import parse

SETTING = Setting(approximate(Epsilon.read(1)), Neighbours.SUBSTITUTION, 4)
COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}

SUMS = [
    *(f"count(p) {sign} 2" for sign in COMPARE),
    *(f"share(p) {sign} 1/3" for sign in COMPARE),
    "count(p among q) >= 1",
    *(f"share(p among q) {sign} 1/2" for sign in (">=", "<")),
    "majority(p)",
    "any(p)",
    "all(p among q)",
    "compare(v, 'a', 'b')",
    "compare(v, 'a', 'b' among q)",
    *(f"mean(x, range=[1, 3]) {sign} 2" for sign in COMPARE),
    "mean(x, range=[0, 1], step=0.5 among q) > 0.25",
]
OTHERS = [
    "winner(v, ['a', 'b', 'c'])",
    "winner(v, ['a', 'b', 'c'] among q)",
    "median(x, bins=[0, 1, 2, 3])",
    "quantile(x, 0.3, bins=[0, 1, 2, 3] among q)",
    "quantile(x, 1, bins=[0, 1, 2, 3])",
    "count(p) >= 1 and share(q) < 0.5",
    "count(p) >= 2 or share(q) >= 0.5",
    "share(p among q) >= 0.5 and any(r)",
    "any(r) and share(p among q) >= 0.5",
    "any(p) or all(q) or count(r) >= 2",
    "share(p among a) > share(p among b)",
    "share(p among a) >= share(p among b) + 0.5",
    "share(p among a) < share(q among b) + 0.25",
    "mean(x, range=[1, 2] among a) > mean(x, range=[1, 2] among b)",
    "mean(x, range=[1, 3] among a) <= mean(x, range=[1, 3] among b) + 0.5",
]


def small_tables(size: int) -> Iterator[dict[int, int]]:
    """Every table of few people over the cells of a tally: up to four people in few cells, two in many."""
    for people in range(5 if size <= 6 else 4 if size <= 10 else 3):
        for cells in combinations_with_replacement(range(size), people):
            yield dict(Counter(cells))


@pytest.mark.parametrize("text", [*SUMS, *OTHERS])
def test_both_say_the_same_at_every_small_table(text: str) -> None:
    question: Any = parse(text)
    spec = question.spec()
    meaning = KINDS[spec["kind"]].truth
    answers = set()
    for table in small_tables(question.tally.size):
        truth = question.truth(question.fold(table))
        assert meaning(spec, table) == truth, table
        answers.add(truth)
    assert len(answers) == len(question.answers), "every answer is true somewhere"


@dataclass(frozen=True, eq=False)
class Chained:
    """What the second calculation reads of a mechanism, whatever its question is."""

    question: Any
    name: str = "balanced chain"
    setting: Setting = SETTING


@pytest.mark.parametrize("text", SUMS)
def test_the_sum_that_decides(text: str) -> None:
    question: Any = parse(text)
    second = SecondCalculation.of(Chained(question))  # type: ignore[arg-type]
    assert second is not None
    assert len(second.values) == question.tally.size
    for table in small_tables(question.tally.size):
        total = sum(second.values[cell] * people for cell, people in table.items())
        holds = COMPARE[second.comparison](total, second.bound)
        assert (0 if holds else 1) == question.truth(question.fold(table)), table


def test_kinds_without_one_sum_and_kinds_that_nobody_knows() -> None:
    for text in OTHERS:
        assert SecondCalculation.of(Chained(parse(text))) is None  # type: ignore[arg-type]
    assert "new" not in KINDS


@pytest.mark.parametrize("text", [text for text in OTHERS if text.startswith(("share(p among a)", "mean"))])
def test_public_groups_are_told_by_their_cells(text: str) -> None:
    """A cell's group is whether it is in A and in B: the last two conditions of a mean, two of the conditions of a share."""
    question: Any = parse(text)
    spec, size = question.spec(), question.tally.size
    conditions = [reading.text for reading in question.readings if hasattr(reading, "text")]
    groups: dict[object, list[int]] = {}
    for cell in range(size):
        bits = [(cell >> (len(conditions) - 1 - place)) & 1 for place in range(len(conditions))]
        membership = tuple(bits[conditions.index(name)] for name in "ab")
        groups.setdefault(membership, []).append(cell)
        own = public_group(spec, cell)
        assert (own if isinstance(own, tuple) else divmod(own, 2)) == membership
    wanted = {cell for cells in groups.values() for cell in (cells[0], cells[-1], cells[-2])}
    assert cells_of_groups(spec, size) == sorted(wanted)
