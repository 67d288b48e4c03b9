"""The referee of votes: accepts what the library draws, and rejects each of its wrong twins by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from searched_distances import examine_distance
from signed_distances import examine_signed_distance, examine_signed_law
from universe import sparse_counts

from optimaldp.certify.core.examined import Finding
from optimaldp.certify.votes import Inequality, Votes, count_of, examine_balanced, examine_weighted, mean_of, share_of
from optimaldp.certify.votes import Row as Table
from optimaldp.distances.linear import LinearCondition, MeanBound, count_condition, share_condition
from optimaldp.distances.two_groups import flips_of_share_difference, share_difference_holds
from optimaldp.laws.law import Aim
from optimaldp.laws.personal import threshold_sides
from optimaldp.laws.votes import Sides, sides_at
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, ball

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
THIRD = Fraction(1, 3)
VALUES = [Fraction(k) for k in range(1, 5)]
MEAN = MeanBound(">=", Fraction(7, 3), Fraction(1), Fraction(4), Fraction(1))
LEVELS = [Epsilon.read(text) for text in ("0.1", "ln(2)", "1")]
SIZES = [20, 3, 978]


def approximate(epsilon: object, delta: object = 0) -> ApproximateDP:
    made = level(epsilon, delta)
    assert isinstance(made, ApproximateDP)
    return made


# --- truth and moves ------------------------------------------------------------------------------------------------------------


def among(relation: Neighbours, flips: Callable[[Table], int | float] | None = None) -> Finding:
    return examine_distance(
        lambda t: share_condition(">=", THIRD).holds(*t[:2]),
        flips or (lambda t: share_condition(">=", THIRD).flips(*t, relation)),
        share_of(">=", THIRD, outside=True).holds,
        cells=3,
        people=6,
        relation=relation,
    )


@pytest.mark.parametrize("relation", Neighbours)
def test_among_passes(relation: Neighbours) -> None:
    assert among(relation).private


WRONG_MOVES: dict[str, Callable[[Table], int | float]] = {
    "people outside cannot come in": lambda t: share_condition(">=", THIRD).flips(t[0], t[1], 0, SUBSTITUTION),
    "outside counts as no": lambda t: share_condition(">=", THIRD).flips(t[0], t[1] + t[2], 0, SUBSTITUTION),
    "the other relation": lambda t: share_condition(">=", THIRD).flips(*t, ADD_REMOVE),
    "off by one": lambda t: 1 + share_condition(">=", THIRD).flips(*t, SUBSTITUTION),
    "nobody among them cannot change": lambda t: (
        math.inf if t[0] + t[1] == 0 else share_condition(">=", THIRD).flips(*t, SUBSTITUTION)
    ),
}


@pytest.mark.parametrize("name", WRONG_MOVES)
def test_wrong_moves_are_rejected(name: str) -> None:
    finding = among(SUBSTITUTION, WRONG_MOVES[name])
    assert not finding.private
    assert "search" in finding.failure


def test_a_wrong_truth_is_rejected() -> None:
    finding = examine_distance(
        lambda t: share_condition(">", THIRD).holds(*t[:2]),
        lambda t: share_condition(">", THIRD).flips(*t, SUBSTITUTION),
        share_of(">=", THIRD, outside=True).holds,
        cells=3,
        people=4,
        relation=SUBSTITUTION,
    )
    assert not finding.private
    assert "true answer" in finding.failure


@pytest.mark.parametrize("relation", Neighbours)
def test_two_private_groups_pass(relation: Neighbours) -> None:
    def meaning(t: Table) -> bool:
        return t[0] * (t[2] + t[3]) * 4 > t[2] * (t[0] + t[1]) * 4 + (t[0] + t[1]) * (t[2] + t[3])

    quarter = Fraction(1, 4)
    finding = examine_distance(
        lambda t: share_difference_holds(">", quarter, t),  # type: ignore[arg-type]
        lambda t: flips_of_share_difference(">", quarter, t, relation),  # type: ignore[arg-type]
        meaning,
        cells=5,
        people=5 if relation is SUBSTITUTION else 4,
        relation=relation,
    )
    assert finding.private, finding.failure


# --- the signed distance and its law --------------------------------------------------------------------------------------------


def mean_distance(
    relation: Neighbours, change: Callable[[Table, Fraction | float], Fraction | float] | None = None
) -> Finding:
    def shown(t: Table) -> Fraction | float:
        plain = MEAN.signed(sparse_counts(t[:-1]), t[-1], relation)
        return change(t, plain) if change else plain

    return examine_signed_distance(shown, mean_of(">=", Fraction(7, 3), VALUES), people=4, relation=relation)


@pytest.mark.parametrize("relation", Neighbours)
def test_the_mean_passes(relation: Neighbours) -> None:
    assert mean_distance(relation).private


@pytest.mark.parametrize("comparison", [">=", ">", "<=", "<"])
@pytest.mark.parametrize("relation", Neighbours)
def test_counts_and_shares_pass(comparison: str, relation: Neighbours) -> None:
    shares = examine_signed_distance(
        lambda t: share_condition(comparison, Fraction(3, 5)).signed(*t, relation),
        share_of(comparison, Fraction(3, 5), outside=True),
        people=5,
        relation=relation,
    )
    condition = count_condition(comparison, Fraction(5, 2))
    counts = examine_signed_distance(
        lambda t: condition.signed(t[0], t[1], 0, relation),
        count_of(comparison, Fraction(5, 2)),
        people=5,
        relation=relation,
    )
    assert shares.private, shares.failure
    assert counts.private, counts.failure


WRONG_DISTANCES: dict[str, Callable[[Table, Fraction | float], Fraction | float]] = {
    "a tenth too far": lambda t, w: w * Fraction(11, 10) if abs(w) < math.inf else w,
    "rounded up": lambda t, w: w if abs(w) == math.inf else math.copysign(math.ceil(abs(w)), w),
    "a half-unit on the wrong side": lambda t, w: MeanBound(">", MEAN.bound, MEAN.low, MEAN.high, MEAN.step).signed(
        sparse_counts(t[:-1]), t[-1], SUBSTITUTION
    ),
    "people without a value are left out": lambda t, w: MEAN.signed(sparse_counts(t[:-1]), 0, SUBSTITUTION),
    "the range taken for the gain": lambda t, w: Fraction(MEAN.double_excess(sparse_counts(t[:-1])), 18),
    "the sign turned": lambda t, w: -w,
}


@pytest.mark.parametrize("name", WRONG_DISTANCES)
def test_wrong_distances_are_rejected(name: str) -> None:
    assert not mean_distance(SUBSTITUTION, WRONG_DISTANCES[name]).private


@pytest.mark.parametrize(("epsilon", "delta"), [("ln(2)", 0), ("1", 0), ("0.3", "1/50"), ("0", "1/10"), ("0", 0)])
def test_the_signed_law_passes(epsilon: str, delta: object) -> None:
    promised = approximate(epsilon, delta)
    finding = examine_signed_law(lambda w: sides_at(w, promised.epsilon, promised.delta), promised)
    assert finding.private, finding.failure


def _tripled_delta(w: Fraction) -> Sides:
    return sides_at(w, Epsilon.read(1), Fraction(3, 50))


WRONG_LAWS: dict[str, Callable[[Fraction], Sides]] = {
    "epsilon 1.01": lambda w: sides_at(w, Epsilon.read("1.01"), Fraction(1, 50)),
    "delta three times": _tripled_delta,
    "delta forgotten": lambda w: sides_at(w, Epsilon.read(1)),
    "the truth for sure": lambda w: (Fraction(1), Fraction(0)) if w > 0 else (Fraction(0), Fraction(1)),
    "yes and no exchanged": lambda w: sides_at(-w, Epsilon.read(1), Fraction(1, 50)),
    "not a distribution": lambda w: (sides_at(w, Epsilon.read(1), Fraction(1, 50))[0],) * 2,
}


@pytest.mark.parametrize("name", WRONG_LAWS)
def test_wrong_laws_are_rejected(name: str) -> None:
    assert not examine_signed_law(WRONG_LAWS[name], approximate(1, "1/50")).private


# --- people with levels of their own --------------------------------------------------------------------------------


def drawn(condition: LinearCondition, aim: Aim, delta: Fraction = Fraction(0)) -> Callable[[Votes], Sides]:
    return lambda votes: threshold_sides(
        condition, [(e, y, n, 0) for e, (y, n) in zip(LEVELS, votes)], aim, delta=delta
    )


@pytest.mark.parametrize("least", [1, 2, 300, 501, 1000, 1001])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)])
def test_the_balanced_form_passes(least: int, delta: Fraction) -> None:
    finding = examine_balanced(
        drawn(count_condition(">=", least), Aim.EVERY_TABLE, delta), LEVELS, SIZES, least, delta=delta
    )
    assert finding.private, finding.failure
    assert "balanced form" in finding.checks[1]


def nudged(votes: Votes) -> Sides:
    yes, no = drawn(count_condition(">=", 501), Aim.EVERY_TABLE)(votes)
    small = Ball(1) / 10**6
    return ball(yes) * (1 - small) + ball(no) * small, ball(no) * (1 - small) + ball(yes) * small


WRONG_BALANCED: dict[str, Callable[[Votes], Sides]] = {
    "weighted votes": drawn(count_condition(">=", 501), Aim.TYPICAL),
    "another threshold": drawn(count_condition(">=", 502), Aim.EVERY_TABLE),
    "the dearest first": lambda votes: threshold_sides(
        count_condition(">=", 501), [(e, *v, 0) for e, v in zip(LEVELS[::-1], votes)], Aim.EVERY_TABLE
    ),
    "the loosest level for all": lambda votes: threshold_sides(
        count_condition(">=", 501), [(LEVELS[2], *v, 0) for v in votes], Aim.EVERY_TABLE
    ),
    "strict people left out": lambda votes: threshold_sides(
        count_condition(">=", 501), [(e, *v, 0) for e, v in zip(LEVELS[1:], votes[1:])], Aim.EVERY_TABLE
    ),
    "nudged by a millionth": nudged,
}


@pytest.mark.parametrize("name", WRONG_BALANCED)
def test_wrong_balanced_forms_are_rejected(name: str) -> None:
    assert not examine_balanced(WRONG_BALANCED[name], LEVELS, SIZES, 501).private


def test_levels_out_of_order_are_rejected() -> None:
    shown = drawn(count_condition(">=", 2), Aim.EVERY_TABLE)
    assert not examine_balanced(shown, LEVELS[::-1], SIZES, 2).private
    assert not examine_balanced(shown, [*LEVELS[:2], Epsilon.read("inf")], SIZES, 2).private


def weighted(
    condition: LinearCondition,
    question: Inequality,
    *,
    centred: bool,
    delta: Fraction = Fraction(0),
    levels: list[Epsilon] = LEVELS,
    aim: Aim = Aim.TYPICAL,
) -> Finding:
    def shown(table: list[Table]) -> Sides:
        rows = [(e, *(*row, 0)[:3]) for e, row in zip(levels, table)]
        return threshold_sides(condition, rows, aim, among=not centred, delta=delta)  # type: ignore[arg-type]

    return examine_weighted(shown, question, LEVELS, SIZES, centred=centred, delta=delta)


@pytest.mark.parametrize("comparison", [">=", ">", "<=", "<"])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 1000)])
def test_weighted_votes_pass(comparison: str, delta: Fraction) -> None:
    for condition, question, centred in (
        (count_condition(comparison, 300), count_of(comparison, Fraction(300)), True),
        (share_condition(comparison, THIRD), share_of(comparison, THIRD), True),
        (share_condition(comparison, THIRD), share_of(comparison, THIRD, outside=True), False),
    ):
        finding = weighted(condition, question, centred=centred, delta=delta)
        assert finding.private, finding.failure


def test_wrong_weights_are_rejected() -> None:
    majority, asked = share_condition(">", Fraction(1, 2)), share_of(">", Fraction(1, 2))
    doubled = [epsilon * 2 for epsilon in LEVELS]
    assert not weighted(majority, asked, centred=True, levels=doubled).private
    assert not weighted(majority, asked, centred=True, levels=[LEVELS[0], LEVELS[2], LEVELS[1]]).private
    assert not weighted(majority, asked, centred=True, aim=Aim.EVERY_TABLE).private
    assert not weighted(majority, asked, centred=True, levels=[LEVELS[2]] * 3).private
    assert not weighted(majority, share_of(">", THIRD), centred=True).private
    assert not weighted(share_condition(">", THIRD), share_of(">", Fraction(1, 2), outside=True), centred=False).private
