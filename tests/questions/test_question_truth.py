"""The true answer of every kind on all small tables, from the people themselves: nothing of the question's own arithmetic."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from optimaldp.privacy import Neighbours
from optimaldp.questions import parse
from optimaldp.questions.kinds import compare

COMPARE = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}
Person = tuple[int, ...]
"""One place for each reading, as a tally counts people: 0 for yes and 1 for no, an option or a bin, the last one for none."""


def check(text: str, sizes: Sequence[int], truth: Callable[[Sequence[Person]], Any], *, most: int = 4) -> None:
    """Compare with *truth* on all tables of at most *most* people, whose places in the tally are numbers to a mixed base."""
    question = parse(text)
    kinds = [*product(*(range(size) for size in sizes))]
    for number in range(most + 1):
        for people in combinations_with_replacement(range(len(kinds)), number):
            answer = question.truth(question.fold(Counter(people)))
            assert question.answers is not None
            expected = truth([kinds[person] for person in people])
            assert question.answers[answer] == (("no", "yes")[expected] if isinstance(expected, bool) else expected), (
                people
            )


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("bound", ["0", "1", "3/2", "2"])
def test_counts(comparison: str, bound: str) -> None:
    compare = COMPARE[comparison]
    check(
        f"count(p) {comparison} {bound}", [2], lambda people: compare(sum(p == 0 for (p,) in people), Fraction(bound))
    )
    check(
        f"count(p among q) {comparison} {bound}",
        [2, 2],
        lambda people: compare(sum(p == q == 0 for p, q in people), Fraction(bound)),
    )


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("bound", ["0", "1/3", "1/2", "1"])
def test_shares(comparison: str, bound: str) -> None:
    """Compared after multiplying out, so that nobody at all gives 0 on both sides."""
    compare = COMPARE[comparison]

    def share(asked: Sequence[int]) -> bool:
        return bool(compare(sum(p == 0 for p in asked), Fraction(bound) * len(asked)))

    check(f"share(p) {comparison} {bound}", [2], lambda people: share([p for (p,) in people]))
    check(f"share(p among q) {comparison} {bound}", [2, 2], lambda people: share([p for p, q in people if q == 0]))


def test_words() -> None:
    check("majority(p)", [2], lambda people: sum(1 if p == 0 else -1 for (p,) in people) > 0)
    check("any(p)", [2], lambda people: any(p == 0 for (p,) in people))
    check("all(p)", [2], lambda people: all(p == 0 for (p,) in people))
    check("any(p among q)", [2, 2], lambda people: any(p == q == 0 for p, q in people))


def test_several() -> None:
    check(
        "count(p) >= 2 and majority(q)",
        [2, 2],
        lambda people: sum(p == 0 for p, _ in people) >= 2 and sum(1 if q == 0 else -1 for _, q in people) > 0,
    )
    check(
        "any(p among q) or count(r) >= 3",
        [2, 2, 2],
        lambda people: any(p == q == 0 for p, q, _ in people) or sum(r == 0 for *_, r in people) >= 3,
        most=3,
    )
    check(
        "share(p among q) >= 1/2 and any(r)",
        [2, 2, 2],
        lambda people: (
            2 * sum(p == q == 0 for p, q, _ in people) >= sum(q == 0 for _, q, _ in people)
            and any(r == 0 for *_, r in people)
        ),
        most=3,
    )
    check("any(p) and any(p)", [2], lambda people: any(p == 0 for (p,) in people))
    check("any(p) or any(q)", [2, 2], lambda people: any(p == 0 or q == 0 for p, q in people))


def test_compare_gives_a_tie_to_the_second() -> None:
    def leader(people: Sequence[int]) -> str:
        return "a" if people.count(0) > people.count(1) else "b"

    check("compare(v, 'a', 'b')", [3], lambda people: leader([v for (v,) in people]))
    check("compare(v, 'a', 'b' among q)", [3, 2], lambda people: leader([v for v, q in people if q == 0]))


@pytest.mark.parametrize("options", [1, 2, 3])
def test_winner_gives_a_tie_to_the_first(options: int) -> None:
    listed = ", ".join(f"'{i}'" for i in range(options))

    def leader(votes: Sequence[int]) -> str:
        counts = [votes.count(option) for option in range(options)]
        return str(counts.index(max(counts)))

    check(f"winner(v, [{listed}])", [options + 1], lambda people: leader([v for (v,) in people]))
    check(
        f"winner(v, [{listed}] among q)",
        [options + 1, 2],
        lambda people: leader([v for v, q in people if q == 0]),
        most=3,
    )


@pytest.mark.parametrize("rank", ["1/10", "1/3", "1/2", "3/4", "1"])
def test_quantiles_by_sorting(rank: str) -> None:
    """The value of the person number ceil(rank n) in order; the first bin where nobody has one."""

    def wanted(values: Sequence[int]) -> str:
        known = sorted(value for value in values if value < 3)
        return ["[0, 1)", "[1, 2)", "[2, 3]"][known[math.ceil(Fraction(rank) * len(known)) - 1] if known else 0]

    check(f"quantile(x, {rank}, bins=[0, 1, 2, 3])", [4], lambda people: wanted([x for (x,) in people]))
    check(
        f"quantile(x, {rank}, bins=[0, 1, 2, 3] among q)",
        [4, 2],
        lambda people: wanted([x for x, q in people if q == 0]),
        most=3,
    )


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("bound", ["1", "4/3", "2"])
def test_means_by_addition(comparison: str, bound: str) -> None:
    """Values 1, 1.5 and 2; people without a value change nothing."""
    compare = COMPARE[comparison]

    def mean(places: Sequence[int]) -> bool:
        values = [1 + Fraction(place, 2) for place in places if place < 3]
        return bool(compare(sum(values), Fraction(bound) * len(values)))

    question = f"mean(x, range=[1, 2], step=0.5{{}}) {comparison} {bound}"
    check(question.format(""), [4], lambda people: mean([x for (x,) in people]))
    check(question.format(" among q"), [4, 2], lambda people: mean([x for x, q in people if q == 0]), most=3)


@pytest.mark.parametrize("comparison", COMPARE)
@pytest.mark.parametrize("margin", ["0", "1/4", "1"])
def test_differences_of_shares(comparison: str, margin: str) -> None:
    """Multiplied out with both sizes; whoever is in both groups is in neither."""
    compare = COMPARE[comparison]

    def larger(people: Sequence[Person]) -> bool:
        first = [p for p, a, b in people if a == 0 and b == 1]
        second = [p for p, a, b in people if b == 0 and a == 1]
        sides = first.count(0) * len(second), second.count(0) * len(first) + Fraction(margin) * len(first) * len(second)
        return bool(compare(*sides))

    check(f"share(p among a) {comparison} share(p among b) + {margin}", [2, 2, 2], larger, most=3)


PROTECTED = {
    "share(p) >= 0.5": ('NULL counts as "no" and is protected',),
    "share(p among q) >= 0.5": ("is protected", "everybody is protected, inside or outside"),
    "compare(v, 'a', 'b')": ("a tie goes to b", "are protected"),
    "winner(v, ['a', 'b'])": ("a tie goes to the option named first", "are protected"),
    "top(v, 2, ['a', 'b', 'c'])": ("a tie goes to the option named first", "are protected"),
    "median(x, bins=[0, 1, 2])": ("above the last into the last", "are protected"),
    "quantiles(x, [0.25, 0.5], bins=[0, 1, 2])": ("above the last into the last", "are protected"),
    "mean(x, range=[0, 1]) >= 0.5": ("clipped to [0, 1] and rounded to multiples of 1", "are protected"),
    "count(p) >= 1 and any(q)": ("is protected", "can only protect more"),
    "share(p among a) > share(p among b)": ("is protected", "in both groups counts as in neither"),
    "histogram(v, ['a', 'b'])": ("are protected",),
}


@pytest.mark.parametrize("text", PROTECTED)
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_who_is_counted_and_protected_is_said(text: str, neighbours: Neighbours) -> None:
    notes = parse(text).notes(neighbours)
    assert len(notes) == len(PROTECTED[text])
    assert all(said in note for said, note in zip(PROTECTED[text], notes))


def test_the_form_says_who_wins_a_tie() -> None:
    [sheet] = compare.SHEETS
    assert {blank.name: "tie" in blank.hint for blank in sheet.blanks if blank.role == "option"} == {
        "first": False,
        "second": True,
    }
