"""The parts of the referee of votes: meanings, weights, errors and lists of leaders, each at the edge where it turns over."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import pytest
from refusals import refusal

from optimaldp.certify import votes as balanced
from optimaldp.certify import votes as weighted
from optimaldp.certify.leaders import _leaders, examine_leading, examine_top
from optimaldp.certify.votes import (
    Inequality,
    _error,
    _one_person_at_most_one,
    _placed,
    _rises,
    _stretched,
    _weights,
    agrees_balanced,
    agrees_weighted,
    count_of,
    examine_balanced,
    examine_prior,
    examine_weighted,
    mean_of,
    share_of,
)
from optimaldp.certify.votes import weighted_probes as probes
from optimaldp.distances.linear import count_condition
from optimaldp.laws.grid_law import GridLaw, Multiplier
from optimaldp.laws.law import Aim, Setting
from optimaldp.laws.options import TopLaw
from optimaldp.laws.personal import threshold_sides
from optimaldp.laws.prior import read_prior
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions import majority, parse
from optimaldp.questions.personal import PriorVotes

READ = Epsilon.read
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


@pytest.mark.parametrize(
    ("comparison", "holds"), [(">=", (0, 1, 1)), (">", (0, 0, 1)), ("<=", (1, 1, 0)), ("<", (1, 0, 0))]
)
def test_what_a_comparison_means(comparison: str, holds: tuple[int, ...]) -> None:
    question = Inequality((Fraction(1), Fraction(-1)), comparison, Fraction(1))
    assert [question.holds(table) for table in ((2, 2), (3, 2), (4, 2))] == list(map(bool, holds))
    assert question.asks_for_more is (comparison in (">=", ">"))
    assert question.total((3, 5)) == -2


def test_what_records_add() -> None:
    assert count_of(">=", Fraction(2)).adds == (1, 0)
    assert count_of(">=", Fraction(2), outside=True) == Inequality(
        (Fraction(1), Fraction(0), Fraction(0)), ">=", Fraction(2)
    )
    assert share_of(">=", THIRD, outside=True) == Inequality((1 - THIRD, -THIRD, Fraction(0)), ">=", Fraction(0))
    assert mean_of("<", Fraction(2), [Fraction(1), Fraction(5)]) == Inequality(
        (Fraction(-1), Fraction(3), Fraction(0)), "<", Fraction(0)
    )


# --- weighted votes ---------------------------------------------------------------------------------------------------------


def test_weights_of_everybody_and_of_some() -> None:
    """At least 3 of 5: yes against 5/2 of 5. A share among some: in units of the span."""
    assert _weights(count_of(">=", Fraction(3)), 5, centred=True) == (HALF, -HALF)
    assert _weights(count_of(">", Fraction(2)), 5, centred=True) == (HALF, -HALF)
    assert _weights(count_of("<", Fraction(3)), 5, centred=True) == (-HALF, HALF)
    assert _weights(count_of("<=", Fraction(2)), 5, centred=True) == (-HALF, HALF)
    assert _weights(count_of(">=", Fraction(1)), 5, centred=True) == (Fraction(9, 10), -Fraction(1, 10))
    assert _weights(count_of(">=", Fraction(5)), 5, centred=True) == (Fraction(1, 10), -Fraction(9, 10))
    for never in (0, 6):
        assert _weights(count_of(">=", Fraction(never)), 5, centred=True) is None
    assert _weights(share_of(">=", HALF), 5, centred=True) == (HALF, -HALF)
    assert _weights(share_of(">=", THIRD, outside=True), 5, centred=False) == (1 - THIRD, -THIRD, 0)
    assert _weights(mean_of("<", Fraction(2), [Fraction(1), Fraction(5)]), 5, centred=False) == (
        Fraction(1, 4),
        Fraction(-3, 4),
        0,
    )


def test_one_person_moves_at_most_their_level(monkeypatch: pytest.MonkeyPatch) -> None:
    for weights, fine in (
        ((1, 0), True),
        ((Fraction(2, 3), -THIRD), True),
        ((Fraction(2, 3), Fraction(-2, 3)), False),
        ((2, 1), True),
    ):
        assert _one_person_at_most_one([Fraction(w) for w in weights]) is fine
    monkeypatch.setattr(weighted, "_weights", lambda *_, **__: (Fraction(1), Fraction(-1)))
    finding = examine_weighted(
        lambda table: (HALF, HALF), count_of(">=", Fraction(1)), [READ(1), READ(2)], [2, 2], centred=True
    )
    assert "more than their level" in finding.failure


def test_every_pair_of_cells_and_every_level_is_tried() -> None:
    tables = list(probes(share_of(">=", THIRD, outside=True), [6, 9]))
    for near in range(3):
        for other in {0, 1, 2} - {near}:
            for level, size in enumerate((6, 9)):
                for moved in (0, 1, size // 3, size // 2, size - 1, size):
                    row = tuple(size - moved if cell == near else moved if cell == other else 0 for cell in range(3))
                    rest = (9, 6)[level]
                    gone = rest // 2
                    others = tuple(rest - gone if c == near else gone if c == other else 0 for c in range(3))
                    assert [row, others][:: 1 if level == 0 else -1] in tables, (near, other, level, moved)
    assert all(sum(map(sum, table)) == 15 for table in tables)


LEVELS, SIZES = [READ("0.1"), READ("ln(2)")], [2, 3]


def sides(aim: Aim, least: int, delta: Fraction = Fraction(0)) -> Any:
    condition = count_condition(">=", least)
    return lambda table: threshold_sides(
        condition, [(e, row[0], row[1], 0) for e, row in zip(LEVELS, table)], aim, among=False, delta=delta
    )


def test_levels_that_make_no_sense_are_refused() -> None:
    shown = sides(Aim.TYPICAL, 2)
    question = count_of(">=", Fraction(2))
    assert examine_weighted(shown, question, LEVELS, SIZES, centred=True).private
    for levels, sizes in (([LEVELS[0], READ("inf")], SIZES), (LEVELS, [5]), ([LEVELS[0]] * 2, SIZES)):
        assert "levels are not" in refusal(examine_weighted(shown, question, levels, sizes, centred=True))
    every = sides(Aim.EVERY_TABLE, 2)
    assert examine_balanced(every, LEVELS, SIZES, 2).private
    for levels, sizes in (
        ([LEVELS[0], READ("inf")], SIZES),
        (LEVELS, [5]),
        (LEVELS[::-1], SIZES),
        ([LEVELS[0]] * 2, SIZES),
    ):
        assert "levels are not" in refusal(examine_balanced(every, levels, sizes, 2))


def test_an_answer_that_is_always_the_same() -> None:
    """More than everybody, or nobody: the answer is certain, and anything else is refused."""
    for least, truth in ((0, 0), (6, 1)):
        certain = (Fraction(1), Fraction(0)) if truth == 0 else (Fraction(0), Fraction(1))
        nearly = (1 - Fraction(1, 10**30), Fraction(1, 10**30))
        question = count_of(">=", Fraction(least))
        for row, fine in ((certain, True), (certain[::-1], False), (nearly if truth == 0 else nearly[::-1], False)):
            assert examine_weighted(lambda _, row=row: row, question, LEVELS, SIZES, centred=True).private is fine  # type: ignore[misc]
            assert examine_balanced(lambda _, row=row: row, LEVELS, SIZES, least).private is fine  # type: ignore[misc]
        assert not examine_balanced(lambda _: (Fraction(1), Fraction(1)), LEVELS, SIZES, least).private


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)])
def test_both_sides_of_the_law_are_looked_at(delta: Fraction) -> None:
    """The less likely answer right, the other one not what it leaves; or a tie that is none."""
    table = [(1, 1), (2, 1)]
    for aim in (Aim.TYPICAL, Aim.EVERY_TABLE):
        shown = sides(aim, 2, delta)

        def agrees(law: Any, aim: Aim = aim) -> bool:
            if aim is Aim.TYPICAL:
                return agrees_weighted(law, count_of(">=", Fraction(2)), LEVELS, table, centred=True, delta=delta)  # type: ignore[arg-type]
            return agrees_balanced(law, LEVELS, table, 2, delta)

        yes, no = shown(table)
        with precision(300):
            yes, no = shown(table)
            assert agrees(shown)
            assert not agrees(lambda _, yes=yes, no=no: (yes - Ball(2) ** -60, no))
            assert not agrees(lambda _, yes=yes, no=no: (yes + Ball(2) ** -60, no))
            assert not agrees(lambda _, yes=yes, no=no: (yes + no * Ball(2) ** -60, no * (1 - Ball(2) ** -60)))
            assert not agrees(lambda _, yes=yes, no=no: (no, yes))
    # A tie: one of each level on either side of a border in the middle.
    tie = [(1, 1), (1, 1)]
    question = share_of(">=", HALF, outside=True)
    rows = [(*row, 0) for row in tie]
    assert agrees_weighted(lambda _: (HALF, HALF), question, LEVELS, rows, centred=False)  # type: ignore[arg-type]
    for off in (Fraction(1, 2**100), -Fraction(1, 2**100)):
        assert not agrees_weighted(lambda _, off=off: (HALF + off, HALF - off), question, LEVELS, rows, centred=False)  # type: ignore[arg-type, misc]
        assert not agrees_weighted(lambda _, off=off: (HALF + off, HALF), question, LEVELS, rows, centred=False)  # type: ignore[arg-type, misc]
        assert not agrees_weighted(lambda _, off=off: (HALF, HALF + off), question, LEVELS, rows, centred=False)  # type: ignore[arg-type, misc]


def test_a_small_error_is_known_by_its_own_size() -> None:
    """Hundreds of people agree: an enclosure from 0 to e^-300 confirms neither."""
    table = [(400, 0), (400, 0)]
    question = count_of(">=", Fraction(400))
    shown = sides(Aim.TYPICAL, 400, Fraction(0))

    def agrees(law: Any) -> bool:
        return agrees_weighted(law, question, LEVELS, table, centred=True)  # type: ignore[arg-type]

    with precision(600):
        yes, no = map(ball, shown(table))
        assert no < Ball(2) ** -150
        assert agrees(lambda _: (yes, no))
        assert not agrees(lambda _: (yes, no.union(Ball(0))))
        assert not agrees(lambda _: (yes, no.union(2 * no)))


# --- the balanced form ------------------------------------------------------------------------------------------------------


def test_errors_of_the_balanced_form() -> None:
    """e^-(a_1 + ... + a_(k-1)) / (1 + e^(a_k)), the strictest who could change first."""
    levels = [READ("ln(2)"), READ("ln(3)")]
    with precision(128):
        for could, moves, wanted in (
            ([2, 2], 1, Fraction(1, 3)),
            ([2, 2], 2, Fraction(1, 6)),
            ([2, 2], 3, Fraction(1, 16)),
            ([2, 2], 4, Fraction(1, 48)),
            ([0, 2], 1, Fraction(1, 4)),
            ([1, 2], 2, Fraction(1, 8)),
        ):
            assert _error(levels, could, moves).overlaps(Ball(wanted.numerator) / wanted.denominator), (could, moves)
        assert _error(levels, [2, 2], 5) == 0
        # Stretched by rho = delta / (e^largest - 1): (1 + 2 rho) error - rho, not below 0.
        quarter = Ball(1) / 4
        assert _stretched(quarter, READ("ln(3)"), Fraction(1, 10)).overlaps(Ball(11) / 10 / 4 - Ball(1) / 20)
        assert _stretched(Ball(1) / 100, READ("ln(3)"), Fraction(1, 10)) == 0
        assert _stretched(quarter, READ("ln(3)"), Fraction(0)) == quarter
        assert _stretched(quarter, READ(0), Fraction(1, 10)) == quarter
        assert weighted._stretched(quarter, READ("ln(3)"), Fraction(1, 10)).overlaps(Ball(9) / 40)
        assert weighted._stretched(Ball(1) / 100, READ("ln(3)"), Fraction(1, 10)) == 0
        assert weighted._stretched(quarter, READ(0), Fraction(1, 10)) == quarter


def test_the_inequality_of_the_theorem() -> None:
    assert _rises(READ("0.1"), READ("0.2"))
    assert _rises(READ("ln(2)"), READ("ln(2)"))
    assert not _rises(READ("0.2"), READ("0.1"))
    finding = examine_balanced(sides(Aim.EVERY_TABLE, 2), LEVELS, SIZES, 2)
    assert finding.checks[0].startswith("3 inequalities")
    assert f"at {len(list(balanced.probes(SIZES, 2)))} tables" in finding.checks[1]


def test_people_who_could_change_are_placed() -> None:
    assert _placed([3, 4, 5], 1, 2, 6, 1) == [3, 2, 4]
    assert _placed([3, 4, 5], 1, 2, 6, 0) == [0, 2, 4]
    assert _placed([3, 4, 5], 1, 1, 8, 0) == [0, 3, 5]
    assert _placed([3, 4, 5], 1, 4, 4, 0) == [0, 4, 0]
    assert _placed([3, 4, 5], 1, 1, 10, 0) is None
    assert _placed([3, 4, 5], 1, 3, 2, 0) is None
    assert _placed([3, 4, 5, 6], 0, 1, 9, 0) == [1, 4, 4, 0]


# --- lists of leaders ---------------------------------------------------------------------------------------------------


def test_leaders_one_after_the_other() -> None:
    assert _leaders([1, 3, 3, 0], 1) == (1,)
    assert _leaders([1, 3, 3, 0], 2) == (1, 2)
    assert _leaders([1, 3, 3, 0], 4) == (1, 2, 0, 3)
    assert _leaders([0, 0, 0], 2) == (0, 1)


@pytest.mark.parametrize("wrong", [(4, 0, 0), (0, 0, 4), (0, 4, 0), (0, 0, 0), (1, 1, 1), (2, 2, 0)])
def test_lists_of_two_among_three_are_tried_for_up_to_four_people(wrong: tuple[int, ...]) -> None:
    own = parse("top(v, 3, ['a', 'b', 'c', 'd'])").mechanism(
        Setting(approximate(READ("1")), Neighbours.SUBSTITUTION, 300)
    )

    class Wrong(TopLaw):
        def probabilities(self, counts: Any) -> Any:
            row = super().probabilities(counts)
            if tuple(counts) != wrong or len(counts) != 3:
                return row
            first, second = list(row)[:2]
            return {**row, first: row[first] + row[second] - Ball(10) ** -9, second: Ball(10) ** -9}

    assert examine_leading(own).private
    chosen: Any = own.chosen  # type: ignore[attr-defined]
    twin = Wrong(chosen.options, chosen.size, chosen.epsilon, chosen.neighbours, chosen.forced)
    assert not examine_leading(replace(own, chosen=twin)).private  # type: ignore[call-arg]
    for changed in ({"epsilon": READ("1.01")}, {"neighbours": Neighbours.ADD_REMOVE}):
        assert "another level" in refusal(examine_leading(replace(own, chosen=replace(chosen, **changed))))  # type: ignore[call-arg]
    assert "list of 2 leaders" in examine_leading(own).checks[1]
    assert "over 3 options" in examine_leading(own).checks[1]


def test_a_list_that_is_impossible_or_a_hair_too_likely() -> None:
    """Two options: the ratio of neighbouring tables is e^epsilon exactly; a hair more, and it is refused."""
    epsilon = READ("ln(2)")

    def law(more: Any, least: Any = 0) -> Any:
        def shown(counts: Any) -> Any:
            lead = counts[0] - counts[1]
            first = Ball(1) / 2 if not lead else Ball(2) / 3 + more if lead > 0 else Ball(1) / 3 - more
            return {(0,): first - least, (1,): 1 - first + least}

        return shown

    def passes(shown: Any) -> bool:
        return examine_top(shown, options=2, size=1, epsilon=epsilon, relation=Neighbours.ADD_REMOVE, people=3).private

    with precision(192):
        assert passes(law(0))
        assert not passes(law(Ball(1) / 10))
        for bits, fine in ((90, True), (70, False)):
            # From a half to a third less a hair, at ratio 3/2 and a hair.
            close = READ("ln(3/2)")
            found = examine_top(
                law(Ball(2) ** -bits), options=2, size=1, epsilon=close, relation=Neighbours.ADD_REMOVE, people=3
            )
            assert found.private is fine, bits
        assert "infinite" in refusal(
            examine_top(law(0), options=2, size=1, epsilon=READ("inf"), relation=Neighbours.ADD_REMOVE)
        )
        assert not passes(lambda counts: {(0,): Ball(1), (1,): Ball(0)})


# --- the least average over a prior -----------------------------------------------------------------------------------


@cache
def optimum() -> PriorVotes:
    own = ((READ("ln(2)"), 2), (READ("ln(3)"), 3))
    return PriorVotes.of(
        majority("x"),
        Setting(approximate(READ("ln(3)")), Neighbours.SUBSTITUTION, 5, own, read_prior({"prior": "1/3"})),
    )


def test_four_hundred_points_are_a_small_table() -> None:
    own = optimum()
    for people, small in ((399, True), (400, False)):
        setting = replace(own.setting, people=people, levels=((READ("ln(2)"), people),))
        failure = refusal(examine_prior(replace(own, setting=setting)))
        assert ("small table" not in failure) is small


def test_multipliers_belong_to_neighbours_and_to_an_answer() -> None:
    own = optimum()
    assert examine_prior(own).private
    for tail, head, answer, weight in (
        ((0, 0), (0, 2), 0, 1),
        ((0, 0), (0, 0), 0, 1),
        ((1, 1), (0, 2), 0, 1),
        ((0, 0), (0, 1), 2, 1),
        ((0, 0), (0, 1), -1, 1),
        ((0, 0), (0, 1), 1, -1),
        ((2, 3), (2, 4), 0, 1),
        ((2, 4), (2, 3), 0, 1),
    ):
        more = Multiplier(tail, head, answer, Fraction(weight, 1000))
        known: GridLaw = own.optimum
        twin = replace(own, optimum=replace(known, multipliers=(*known.multipliers, more)))
        assert "negative or does not belong" in refusal(examine_prior(twin)), (tail, head, answer)
    for tail, head in (((0, 0), (0, 1)), ((0, 1), (0, 0)), ((1, 0), (0, 0))):
        for answer in (0, 1):
            nothing = Multiplier(tail, head, answer, Fraction(0))
            twin = replace(own, optimum=replace(own.optimum, multipliers=(*own.optimum.multipliers, nothing)))
            assert examine_prior(twin).private


def test_an_average_that_is_not_the_least_by_more_than_a_millionth() -> None:
    """A fair coin now and then: private, and its stated average is true, but it is not the least."""
    own = optimum()
    weights = own.setting.aim.weights([n for _, n in own.setting.levels])  # type: ignore[union-attr]
    assert abs(sum(weights.values()) - 1) == 0
    for often, fine in ((Fraction(1, 10**7), True), (Fraction(1, 10**5), False)):
        yes = tuple((point, (1 - often) * chance + often / 2) for point, chance in own.optimum.yes)
        error = (1 - often) * own.optimum.average_error + often / 2
        twin = replace(own, optimum=replace(own.optimum, yes=yes, average_error=error))
        finding = examine_prior(twin)
        assert finding.private is fine, finding.failure
