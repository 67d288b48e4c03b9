"""The parts of the referee of releases, each at the edge where it turns over, and its tables against all tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from optimaldp.certify.asked import groups_together, require_groups_together
from optimaldp.certify.core.drawing import close, is_distribution, stand_in
from optimaldp.certify.core.meanings import small_tables, watched_cells
from optimaldp.certify.folding import check_fold
from optimaldp.errors import NotCertifiedError
from optimaldp.laws.law import Setting
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions import parse

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
HAIR = Fraction(1, 10**40)


def at(epsilon: str, delta: str = "0") -> ApproximateDP:
    return approximate(Epsilon.read(epsilon), Fraction(delta))


def rows(more: Fraction = Fraction(0)) -> tuple[list[Fraction], list[Fraction]]:
    """Randomised response among three answers at ratio 2, the first one likelier by *more*."""
    first = [Fraction(1, 2) + more, Fraction(1, 4) - more, Fraction(1, 4)]
    return first, [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]


@pytest.mark.parametrize("exact", [True, False])
def test_two_laws_are_close_up_to_equality(exact: bool) -> None:
    def are_close(more: Fraction, ratio: Fraction, delta: Fraction) -> bool:
        first, second = rows(more)
        if exact:
            return close(first, second, ratio, delta) and close(second, first, ratio, delta)
        with precision(256):
            balls = [[ball(p) for p in row] for row in (first, second)]
            return close(balls[0], balls[1], ball(ratio), delta) and close(balls[1], balls[0], ball(ratio), delta)

    hair = HAIR if exact else Fraction(1, 2**60)
    assert are_close(Fraction(0), Fraction(2), Fraction(0))
    assert not are_close(hair, Fraction(2), Fraction(0))
    assert not are_close(Fraction(0), 2 - 8 * hair, Fraction(0))
    # One more in the first answer and one less in the second: 1/2 + more - 2/4, and 1/2 - 2 (1/4 - more) the other way.
    assert are_close(Fraction(1, 100), Fraction(2), Fraction(2, 100))
    assert not are_close(Fraction(1, 100), Fraction(2), Fraction(2, 100) - hair)
    assert not are_close(Fraction(1, 100), Fraction(2), Fraction(1, 100))
    # Events, not single answers: two answers exceed the bound by 1/8 each.
    up, down = [Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)], [Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)]
    if exact:
        assert close(up, down, Fraction(2), Fraction(1, 4))
        assert not close(up, down, Fraction(2), Fraction(1, 4) - HAIR)


def test_what_is_a_distribution() -> None:
    half = Fraction(1, 2)
    assert is_distribution([half, half])
    assert is_distribution([Fraction(1), Fraction(0)])
    assert not is_distribution([half, half + HAIR])
    assert not is_distribution([half, half - HAIR])
    assert not is_distribution([1 + half, -half])
    with precision(128):
        third = Ball(1) / 3
        assert is_distribution([third, third, third])
        assert not is_distribution([third, third, third + Ball(2) ** -60])
        assert not is_distribution([third, third + third + Ball(2) ** -60, -(Ball(2) ** -60)])


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "ln(2)", "ln(4)", "3", "8", "9", "40", "2000"])
def test_the_level_next_to_the_real_one(epsilon: str) -> None:
    """A little looser, never stricter, with a rational e^(epsilon/2); of a large epsilon 60 is large enough."""
    level = at(epsilon, "1/100")
    near = stand_in(level)
    root = near.epsilon.exact_ratio
    assert root is not None
    assert math.isqrt(root.numerator) ** 2 == root.numerator
    assert math.isqrt(root.denominator) ** 2 == root.denominator
    assert near.delta == level.delta
    if float(level.epsilon) < 2 * math.log(60) - 0.1:
        assert near.epsilon >= level.epsilon or epsilon.startswith("ln")
        assert float(near.epsilon) <= 1.2 * float(level.epsilon)
        assert float(near.epsilon) >= (1 - 1e-12) * float(level.epsilon)
    else:
        assert root == 3600
    assert stand_in(at("0", "1/100")) == at("0", "1/100")


TOGETHER = [
    (SUBSTITUTION, "ln(4)", "3/100", ADD_REMOVE, "ln(2)", "1/100", False, True),
    (SUBSTITUTION, "ln(4)", "3/100", ADD_REMOVE, "ln(2)", "101/10000", False, False),
    (SUBSTITUTION, "ln(4)", "3/100", ADD_REMOVE, "ln(2.01)", "1/1000", False, False),
    (SUBSTITUTION, "ln(4)", "3/100", SUBSTITUTION, "ln(2)", "1/100", False, False),
    (SUBSTITUTION, "ln(4)", "0", ADD_REMOVE, "ln(2)", "0", False, True),
    (SUBSTITUTION, "1", "1/10", ADD_REMOVE, "1/2", "0.0377", False, True),  # 0.1 / (1 + e^(1/2)) = 0.03775...
    (SUBSTITUTION, "1", "1/10", ADD_REMOVE, "1/2", "0.0378", False, False),
    (SUBSTITUTION, "1", "1/10", SUBSTITUTION, "1", "1/10", True, True),
    (SUBSTITUTION, "1", "1/10", ADD_REMOVE, "1", "1/10", True, False),
    (SUBSTITUTION, "1", "1/10", SUBSTITUTION, "1.01", "1/10", True, False),
    (SUBSTITUTION, "1", "1/10", SUBSTITUTION, "1", "0.101", True, False),
    (ADD_REMOVE, "1", "1/10", ADD_REMOVE, "1", "1/10", False, True),
    (ADD_REMOVE, "1", "1/10", SUBSTITUTION, "1", "1/10", False, False),
    (ADD_REMOVE, "1", "1/10", ADD_REMOVE, "1.01", "0", False, False),
]


@pytest.mark.parametrize(("relation", "epsilon", "delta", "inside", "each", "part", "public", "passes"), TOGETHER)
def test_groups_add_up_to_the_level(
    relation: Neighbours, epsilon: str, delta: str, inside: Neighbours, each: str, part: str, public: bool, passes: bool
) -> None:
    def check() -> None:
        require_groups_together(at(epsilon, delta), relation, Setting(at(each, part), inside), groups=2, public=public)

    if passes:
        check()
        return
    with pytest.raises(NotCertifiedError):
        check()


SEVERAL = [
    # relation, each, delta of each, groups of a person, passes: of (ln(16), 3/50)
    (ADD_REMOVE, "ln(4)", "3/100", 2, True),
    (ADD_REMOVE, "ln(4.01)", "3/100", 2, False),
    (ADD_REMOVE, "ln(4)", "0.0301", 2, False),
    (ADD_REMOVE, "ln(4)", "1/100", 3, False),
    (ADD_REMOVE, "ln(2)", "3/200", 4, True),
    (SUBSTITUTION, "ln(2)", "1/100", 2, True),
    (SUBSTITUTION, "ln(2.01)", "0", 2, False),
    (SUBSTITUTION, "ln(2)", "0.0101", 2, False),
    (SUBSTITUTION, "ln(2)", "1/1000", 3, False),
    (SUBSTITUTION, "1/4", "0.013134", 2, True),  # 0.03 / (1 + e^(1/4)) = 0.0131347...
    (SUBSTITUTION, "1/4", "0.013135", 2, False),
    (ADD_REMOVE, "ln(2)", "0", 0, False),
]


@pytest.mark.parametrize(("relation", "each", "delta", "per_person", "passes"), SEVERAL)
def test_several_groups_of_a_person_add_up_to_the_level(
    relation: Neighbours, each: str, delta: str, per_person: int, passes: bool
) -> None:
    whole = at("ln(16)", "3/50")
    assert (
        groups_together(
            whole, relation, Setting(at(each, delta), ADD_REMOVE), groups=9, public=False, per_person=per_person
        )
        is passes
    )
    assert not groups_together(
        whole, SUBSTITUTION, Setting(at(each, delta), SUBSTITUTION), groups=9, public=True, per_person=2
    )


def dense(people: tuple[int, ...], cells: int) -> tuple[int, ...]:
    """How many people are in each cell."""
    return tuple(people.count(cell) for cell in range(cells))


@pytest.mark.parametrize("relation", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize(("cells", "most"), [(1, 4), (2, 4), (3, 4), (4, 4), (5, 2)])
def test_small_tables_are_all_tables_with_all_their_neighbours(cells: int, most: int, relation: Neighbours) -> None:
    near, people = small_tables(range(cells), relation)
    assert people == most
    largest = most + (relation is ADD_REMOVE)
    wanted = [table for table in product(range(largest + 1), repeat=cells) if sum(table) <= largest]
    assert sorted(dense(one, cells) for one in near) == sorted(wanted)
    assert all(list(one) == sorted(one) for one in near), "one list for each table"
    distance = 2 if relation is SUBSTITUTION else 1
    for one, others in near.items():
        here = dense(one, cells)
        alike = [other for other in wanted if relation is ADD_REMOVE or sum(other) == sum(here)]
        around = [other for other in alike if sum(abs(a - b) for a, b in zip(here, other)) == distance]
        assert sorted(dense(other, cells) for other in others) == sorted(around)


def test_nobody_leaves_a_public_group() -> None:
    near, _ = small_tables(range(4), SUBSTITUTION, lambda cell: cell // 2)
    free, _ = small_tables(range(4), SUBSTITUTION)
    assert set(near) == set(free)
    for one, others in near.items():
        first = sum(dense(one, 4)[:2])
        assert others == {other for other in free[one] if sum(dense(other, 4)[:2]) == first}


def test_which_of_many_cells_are_watched() -> None:
    assert watched_cells(4, 4) == [0, 1, 2, 3]
    assert watched_cells(5, 4) == [0, 1, 3, 4]
    assert watched_cells(12, 7) == [0, 1, 4, 6, 8, 10, 11]
    assert watched_cells(7, 7) == [0, 1, 2, 3, 4, 5, 6]


@dataclass
class Folding:
    """What :func:`check_fold` sees of a mechanism."""

    question: Any


class Wrong:
    """A question whose fold is broken in one way."""

    def __init__(self, question: Any, fold: Any) -> None:
        self.cells, self.spec, self.fold = question.cells, question.spec, lambda cells: fold(question.fold(cells))


FOLDED = ["histogram(v, ['a', 'b'])", "histogram(v, ['a', 'b', 'c'] among q)", "top(v, 2, ['a', 'b', 'c'] among q)"]


@pytest.mark.parametrize("text", [*FOLDED, "quantiles(x, [0.25, 0.5], bins=[0, 1, 2, 3] among q)"])
def test_everybody_is_in_one_place(text: str) -> None:
    assert check_fold(Folding(parse(text))) == ""


@pytest.mark.parametrize("text", FOLDED)
@pytest.mark.parametrize(
    "broken",
    [
        lambda counts: tuple(2 * n for n in counts),
        lambda counts: (counts[0] + counts[-1], *counts[1:]),
        lambda counts: (*counts[:-1], 0),
        lambda counts: (counts[1], counts[0], *counts[2:]),
        lambda counts: (*counts[:-1], counts[-1] + 1),
        lambda counts: tuple(min(n, 2) for n in counts),
    ],
)
def test_a_person_who_counts_twice_or_elsewhere_is_found(text: str, broken: Any) -> None:
    assert check_fold(Folding(Wrong(parse(text), broken)))
