"""Where two pieces meet, where exact numbers become too long, where a probability is next to 1: one step further is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import pytest

from optimaldp.errors import InputError, LevelError
from optimaldp.privacy import (
    ApproximateDP,
    Epsilon,
    Neighbours,
    all_of,
    approximate,
    directed,
    level,
    read_number,
)
from optimaldp.privacy.balls import Ball, ball, dyadic, precision, sign
from optimaldp.privacy.trajectory import Line, lower_hull

HALF = Fraction(1, 2)
LONG_TWO = 2 + Fraction(1, 10**4000)  # hardly more than 2, and from its 79th power on longer than we write out


def single(ratio: Fraction, delta: Fraction) -> ApproximateDP:
    return approximate(Epsilon(Fraction(0), ratio), delta)


def as_ball(number: Fraction | Ball) -> Ball:
    return number if isinstance(number, Ball) else ball(number)


@pytest.mark.parametrize("steps", range(1, 6))
@pytest.mark.parametrize("ratio", [2, 3, Fraction(3, 2)])
def test_the_transition_counts_a_step_that_ends_exactly_where_the_pieces_meet(ratio: Fraction, steps: int) -> None:
    meeting = Fraction(1) / (ratio + 1)
    edge = single(Fraction(ratio), Fraction(0))
    hair = Fraction(1, 10**30)
    assert edge.transition(meeting / Fraction(ratio) ** steps) == steps
    assert edge.transition(meeting / Fraction(ratio) ** steps + hair) == steps
    assert edge.transition(meeting / Fraction(ratio) ** steps - hair) == steps + 1


def test_two_pieces_of_falling_slope_that_meet_after_whole_steps() -> None:
    """1 - F is the larger of c/4 + 1/8... and c/2: from c = 1 it halves until the other line takes over, exactly there."""
    edge = directed(forward=level("ln(1000)"), backward=all_of(level("ln(3)"), level("ln(4)", "1/16"), level(0, "1/4")))
    for start in (HALF, Fraction(1, 4), Fraction(63, 64), Fraction(3, 4)):
        value = start
        for steps in range(9):
            assert edge.sides(start, steps) == (value, 1 - value)
            falls = max((1 - value) / 3, (1 - value - Fraction(1, 16)) / 4, 1 - value - Fraction(1, 4))
            value = min(1000 * value, 1 - falls)


@pytest.mark.parametrize("zeros", [60, 200])
@pytest.mark.parametrize("edge", [level(1), level("0.5", "1e-300"), level(mu=1)])
def test_a_probability_next_to_one_keeps_its_complement(edge: ApproximateDP, zeros: int) -> None:
    """The complement is far below the precision, so a detour by way of the probability would leave nothing of it."""
    start = 1 - Fraction(1, 10**zeros)
    rest = as_ball(edge.sides(start, 1)[1])
    with precision(3000):
        true = as_ball(edge.sides(start, 1)[1])
        assert true > 0
    assert rest.overlaps(true)
    assert rest.rad() < rest.mid() / 2**40


def test_after_infinitely_many_steps_nothing_is_left() -> None:
    for edge in (level("ln(2)"), level(1), level(0, "0.1"), level("ln(2)", "0.1")):
        assert edge.sides(Fraction(1, 5), math.inf) == (1, 0)


@pytest.mark.parametrize("other", [level("ln(2)"), level(1), level("1e-9")])
def test_where_one_direction_promises_everything_nothing_moves(other: ApproximateDP) -> None:
    third = Fraction(1, 3)
    for edge in (directed(forward=level(0), backward=other), directed(forward=other, backward=level(0))):
        for steps in (1, 7, math.inf):
            value, rest = edge.sides(third, steps)
            assert as_ball(value).overlaps(ball(third))
            assert as_ball(rest).overlaps(ball(1 - third))
            assert as_ball(value).rad() < 1e-15


def test_a_long_walk_on_the_first_piece_before_a_short_one_on_the_second() -> None:
    """Backward delta ends the walk quickly, forward epsilon begins it slowly: 10^9 exact steps are never written out."""
    edge = directed(forward=level("ln(1000000001/1000000000)"), backward=level("ln(2)", "1e-12"))
    value, rest = edge.sides(Fraction(1, 10), 10**9)
    assert float(value) == pytest.approx(math.e / 10, rel=1e-8)
    assert float(rest) == pytest.approx(1 - math.e / 10, rel=1e-8)
    value, rest = edge.sides(Fraction(1, 10), 10**10)
    assert as_ball(value).overlaps(Ball(1))
    assert as_ball(rest).overlaps(Ball(0))


@pytest.mark.parametrize("steps", [79, 99, 100, 10**9])
def test_the_end_is_exactly_one_as_soon_as_that_is_certain_and_never_before(steps: int) -> None:
    """From 1/2 the complement is (1/2 + delta)/2^t - delta: a third of delta at t = 99, nothing from t = 100 on."""
    delta = Fraction(3, 2**102)
    value, rest = single(LONG_TWO, delta).sides(HALF, steps)
    if steps < 100:
        assert float(rest) == pytest.approx(float((HALF + delta) / 2**steps - delta), rel=1e-9, abs=0)
        assert as_ball(value + rest).overlaps(Ball(1))
    else:
        assert (value, rest) == (1, 0)
        assert isinstance(rest, Fraction)


def test_whoever_is_almost_there_still_has_to_walk() -> None:
    """Next to 1 a small epsilon and its delta weigh alike: the complement is 0.03 / 1.001^t - 0.01, so 1099 steps."""
    edge = single(Fraction(1001, 1000) + Fraction(1, 10**4000), Fraction(1, 10**5))
    start = Fraction(49, 50)
    assert float(edge.sides(start, 500)[1]) == pytest.approx(0.03 / 1.001**500 - 0.01, rel=1e-9)
    assert as_ball(edge.sides(start, 1099)[1]) > 0
    assert edge.sides(start, 1100) == (1, 0)


def test_an_exact_walk_of_several_pieces_stays_exact() -> None:
    edge = single(Fraction(2), Fraction(1, 2**30))
    value, rest = edge.sides(Fraction(1, 2**40), 2**19)
    assert (value, rest) == (1, 0)
    value, rest = edge.sides(Fraction(1, 2**40), 20)
    assert value == (Fraction(1, 2**40) + Fraction(1, 2**30)) * 2**20 - Fraction(1, 2**30)
    assert rest == 1 - value


def test_a_real_number_of_steps_is_never_cut_to_a_whole_one() -> None:
    assert float(level("ln(4)").power(Fraction(1, 100), 0.5)) == pytest.approx(0.02, rel=1e-14)
    assert float(level("ln(4)").sides(Fraction(99, 100), 1.5)[1]) == pytest.approx(0.01 / 8, rel=1e-12)
    assert float(level("ln(4)", "0.01").sides(Fraction(1, 10), Fraction(0))[0]) == pytest.approx(0.1)
    assert level("ln(4)").sides(Fraction(1, 100), 2.0) == (Fraction(16, 100), Fraction(84, 100))


@pytest.mark.parametrize("piece", [Line.rising, Line.falling])
def test_a_line_seen_from_the_top_is_the_same_line(piece: Callable[[Fraction, Fraction], Line]) -> None:
    line = piece(Fraction(3), Fraction(1, 7))
    for s in (Fraction(0), Fraction(1, 5), Fraction(1)):
        assert 1 - line.at(s) == line.slope * (1 - s) + line.complement


def test_the_lower_of_two_parallel_lines_stays_also_below_a_steeper_one() -> None:
    def line(slope: int | Fraction, intercept: Fraction) -> Line:
        return Line(Fraction(slope), intercept, 1 - slope - intercept)

    quarter, third = line(1, Fraction(1, 4)), line(1, Fraction(1, 3))
    assert lower_hull([line(4, HALF), third, quarter]) == (quarter,)
    assert lower_hull([line(4, HALF), quarter]) == (quarter,)


def test_of_two_bounds_with_one_number_in_common_the_stricter_one_is_kept() -> None:
    assert all_of(level("ln(3)", "0.1"), level("ln(3)")) == level("ln(3)")
    assert all_of(level("ln(3)", "0.1"), level("ln(2)", "0.1")) == level("ln(2)", "0.1")


def test_without_a_delta_a_level_has_none() -> None:
    assert approximate(Epsilon.read(1)) == level(1) == level(1, 0)


def test_a_relation_that_is_none_is_refused_with_those_that_are() -> None:
    assert Neighbours("add-remove") is Neighbours.ADD_REMOVE
    assert Neighbours(Neighbours.SUBSTITUTION) is Neighbours.SUBSTITUTION
    with pytest.raises(LevelError, match=r"'substitution'.*'add-remove'"):
        Neighbours("unbounded")


def test_numbers_of_any_kind_become_the_same_ball() -> None:
    assert ball(Decimal("0.25")) == ball(Fraction(1, 4))  # type: ignore[arg-type]
    assert [dyadic(Ball(n) / 2) for n in (1, 2, 3, 4)] == [HALF, 1, Fraction(3, 2), 2]


def test_a_difference_that_is_exactly_nothing_has_no_sign() -> None:
    with pytest.raises(ArithmeticError, match="they are equal"):
        sign(lambda: Ball(0), most_bits=256)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("30%", "write a percentage as a part of 1: 0.3"),
        ("0.5 %", "write a percentage as a part of 1: 0.005"),
        ("1.2345678%", "write a percentage as a part of 1: 0.012345678"),
        ("12.3456789%", "write 0.1, '1/3' or 1e-6"),
        ("1/3%", "write 0.1, '1/3' or 1e-6"),
        ("1e2%", "write 0.1, '1/3' or 1e-6"),
        ("1E2%", "write 0.1, '1/3' or 1e-6"),
        ("a%", "write 0.1, '1/3' or 1e-6"),
        ("30 30", "write 0.1, '1/3' or 1e-6"),
        ("30x", "write 0.1, '1/3' or 1e-6"),
    ],
)
def test_a_percentage_is_told_the_number_to_write(text: str, way: str) -> None:
    with pytest.raises(InputError, match="is not a number") as caught:
        read_number(text, name="delta")
    assert way in str(caught.value)


def test_what_never_moves_does_not_move_in_millions_of_steps_either() -> None:
    value, rest = level("ln(3/2)").sides(Fraction(0), 2**21)
    assert (as_ball(value) == 0, as_ball(rest) == 1) == (True, True)
