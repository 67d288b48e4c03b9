"""Every combination of bounds against the formula, iterated; and what a level says about others and about itself."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import LevelError
from optimaldp.privacy import ApproximateDP, Epsilon, Level, Neighbours, all_of, directed, level
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.lines import OrderedDistribution, Phases, row_after, transitions
from optimaldp.privacy.trajectory import Line, lower_hull

ONE = Fraction(1)
bounds = st.lists(
    st.tuples(
        st.sampled_from([ONE, Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(5), None]),
        st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 10), Fraction(1, 3), ONE]),
    ),
    min_size=1,
    max_size=3,
)
probabilities = st.sampled_from([Fraction(k, 24) for k in range(25)]) | st.fractions(0, 1, max_denominator=10**6)


def promise(
    forward: list[tuple[Fraction | None, Fraction]], backward: list[tuple[Fraction | None, Fraction]]
) -> ApproximateDP:
    def made(pairs: list[tuple[Fraction | None, Fraction]]) -> tuple[Bound, ...]:
        return tuple(Bound(Epsilon.read("inf") if r is None else Epsilon(Fraction(0), r), d) for r, d in pairs)

    return ApproximateDP(made(forward), made(backward))


def one_step(
    forward: list[tuple[Fraction | None, Fraction]], backward: list[tuple[Fraction | None, Fraction]], s: Fraction
) -> Fraction:
    """The definition: the least of all that the bounds allow, with infinity times nothing being nothing."""
    ahead = [d + (0 if s == 0 else ONE) if r is None else r * s + d for r, d in forward]
    back = [1 - (1 - s - d) / r for r, d in backward if r is not None]
    return min([ONE, *ahead, *back])


@settings(max_examples=120, deadline=None)
@given(bounds, bounds, probabilities, st.integers(0, 12))
def test_any_bounds_in_either_direction_are_the_iterated_formula(
    forward: list[tuple[Fraction | None, Fraction]],
    backward: list[tuple[Fraction | None, Fraction]],
    s: Fraction,
    steps: int,
) -> None:
    value = s
    for _ in range(steps):
        value = one_step(forward, backward, value)
    edge = promise(forward, backward)
    assert edge.sides(s, steps) == (value, 1 - value)
    assert edge.step(s) == one_step(forward, backward, s)
    enclosed, rest = edge.sides(ball(s), steps)
    for number, expected in ((enclosed, value), (rest, 1 - value)):
        assert (number if isinstance(number, Ball) else ball(number)).overlaps(ball(expected)) or s == 0


def test_the_delta_of_an_infinite_epsilon_still_counts_beside_a_finite_one() -> None:
    both = all_of(level("inf", "1/100"), level("ln(2)", "1/10"))
    assert [both.power(Fraction(0), t) for t in (0, 1, 2)] == [0, Fraction(1, 100), Fraction(3, 25)]
    assert both.step(Fraction(1, 100)) == Fraction(3, 25)
    one_way = directed(forward=level("inf"), backward=level("ln(2)"))
    assert one_way.power(Fraction(0), 5) == 0
    assert one_way.step(Fraction(1, 10)) == Fraction(11, 20)
    irrational = all_of(level("inf", "1/100"), level(1, "1/10"))
    assert irrational.step(Fraction(0)).overlaps(ball(Fraction(1, 100)))
    assert float(irrational.power(Fraction(0), 2)) == pytest.approx(math.e / 100 + 0.1, rel=1e-12)


def test_a_piece_of_slope_one_is_left_when_the_next_one_is_lower() -> None:
    """2 s up to 1/20, then s + 1/20 up to 9/10, then (1 + s)/2."""
    both = all_of(level(0, "1/20"), level("ln(2)"))
    value = start = Fraction(1, 100)
    for steps in range(30):
        assert both.power(start, steps) == value
        value = min(2 * value, value + Fraction(1, 20), (1 + value) / 2)
    assert value > Fraction(9, 10)


def test_an_infinite_epsilon_both_ways() -> None:
    edge = level("inf", "1/10")
    assert edge.sides(Fraction(0), 1) == (Fraction(1, 10), Fraction(9, 10))
    assert edge.sides(Fraction(0), 2) == edge.sides(Fraction(1, 50), 1) == (1, 0)
    assert edge.sides(Fraction(0), 0) == (0, 1)
    assert level("inf").sides(Fraction(0), 7) == (0, 1)
    assert (edge.transition(Fraction(0)), edge.transition(Fraction(1, 2)), level("inf").transition(Fraction(0))) == (
        0,
        0,
        math.inf,
    )


def test_a_level_implies_another_if_it_does_in_both_directions() -> None:
    strict, loose = level("ln(2)"), level("ln(3)", "0.1")
    ahead = directed(forward=strict, backward=loose)
    assert strict.implies(ahead)
    assert ahead.implies(loose)
    assert not ahead.implies(strict)
    assert not loose.implies(ahead)
    assert not ahead.implies(ahead.reversed())
    assert level(mu=1).implies(level(mu=1))
    assert level(mu=1).implies(level(mu=2))
    assert not level(mu=2).implies(level(mu=1))
    assert not level(1).implies(level(mu=1))


def test_what_a_stricter_bound_implies_is_left_out() -> None:
    a, b, c = level("ln(2)", "0.1"), level("ln(3)"), level("ln(3)", "0.1")
    assert all_of(a, b, c, a) == all_of(a, b)
    assert [str(bound) for bound in all_of(a, b, c).forward] == ["(ln(2), 0.1)", "(ln(3), 0)"]
    assert all_of(a).is_single
    assert not all_of(a, b).is_single
    assert all_of(a, b).symmetric
    assert not directed(forward=a, backward=b).symmetric
    with pytest.raises(LevelError, match="empty"):
        all_of()
    with pytest.raises(LevelError, match="parallel edges"):
        all_of(level(mu=1))
    with pytest.raises(LevelError, match="single"):
        _ = all_of(a, b).epsilon


def test_levels_in_words() -> None:
    a, b = level("ln(2)", "0.1"), level(3)
    assert str(a) == "(ln(2), 0.1)-DP"
    assert str(all_of(a, b)) == "(ln(2), 0.1) and (3, 0)-DP"
    assert str(directed(forward=a, backward=b)) == "(ln(2), 0.1)-DP forward, (3, 0)-DP backward"
    assert str(level(mu="0.5")) == "0.5-Gaussian DP"


def test_what_is_rational() -> None:
    assert level("ln(2)", "0.1").is_rational
    assert level("inf", "0.1").is_rational
    assert not level(1).is_rational
    assert not all_of(level("ln(2)", "0.1"), level(1)).is_rational
    assert level(mu=0).is_rational
    assert not level(mu="0.1").is_rational


def test_gaussian_levels_at_their_ends() -> None:
    third = Fraction(1, 3)
    assert level(mu=0).sides(third, 5) == (third, 1 - third)
    for steps in (0, 1, 9):
        assert level(mu=1).sides(Fraction(0), steps) == (0, 1)
        assert level(mu=1).sides(ONE, steps) == (1, 0)
    assert level(mu=1).sides(third, 0) == (third, 1 - third)
    assert level(mu=1).sides(third, math.inf) == (1, 0)
    with pytest.raises(LevelError, match="negative"):
        level(mu=-1)
    with pytest.raises(LevelError, match="together with epsilon"):
        level(1, mu=1)


@pytest.mark.parametrize(
    "s", [Fraction(1, 10**30), Fraction(1, 7), Fraction(1, 2), Fraction(6, 7), 1 - Fraction(1, 10**30)]
)
def test_gaussian_steps_there_and_back(s: Fraction) -> None:
    edge = level(mu="0.7")
    with precision(300):
        value, rest = edge.sides(s, 1)
        assert (value + rest).overlaps(Ball(1))
        assert value > ball(s)
        assert 0 < rest < ball(1 - s)
        assert (1 - edge.sides(rest, 1)[0]).overlaps(ball(s))  # the least s is what the mirrored step leaves
    assert edge.reversed() is edge
    assert float(edge.sides(Fraction(1, 2), 2)[1]) == pytest.approx(0.0807566592337710, rel=1e-12)  # Phi(-1.4)


@pytest.mark.parametrize("edge", [level(1, "1e-3"), level("0.01"), level(mu=1), level("ln(2)", "0.1")])
@pytest.mark.parametrize("bits", [20, 100])
def test_rounded_steps_are_as_close_as_promised(edge: ApproximateDP, bits: int) -> None:
    for s in (
        Fraction(0),
        Fraction(1, 10**20),
        Fraction(1, 4),
        Fraction(1, 4) + Fraction(1, 10**9),
        Fraction(1, 2),
        1 - Fraction(1, 10**20),
        ONE,
    ):
        below = edge.step_below(s, bits=bits)
        assert s <= below <= 1
        with precision(1000):
            value, rest = ((one if isinstance(one, Ball) else ball(one)) for one in edge.sides(s, 1))
            assert value - ball(below) >= 0 or (value - ball(below)).overlaps(Ball(0))
            assert value - ball(below) <= value / 2**bits
            assert s <= Fraction(1, 4) or ball(1 - below) - rest <= rest / 2**bits


def test_lines_that_are_smallest_nowhere_are_left_out() -> None:
    def line(slope: Fraction | int, intercept: Fraction | int) -> Line:
        return Line(Fraction(slope), Fraction(intercept), 1 - Fraction(slope) - intercept)

    steep, middle, flat = line(3, 0), line(1, Fraction(1, 3)), line(Fraction(1, 3), Fraction(2, 3))
    assert lower_hull([flat, steep, middle]) == (steep, middle, flat)
    assert lower_hull([flat, steep, line(1, Fraction(1, 2)), line(1, Fraction(2, 3))]) == (
        steep,
        flat,
    )  # three through one point
    assert lower_hull([steep, line(3, Fraction(1, 9)), flat]) == (steep, flat)
    assert lower_hull([line(4, Fraction(1, 2)), line(1, Fraction(1, 2)), flat]) == (line(1, Fraction(1, 2)), flat)
    assert lower_hull([steep, line(Fraction(1, 2), Fraction(5, 2))]) == (steep,)
    assert lower_hull([middle]) == (middle,)
    assert lower_hull([]) == ()


@pytest.mark.parametrize("edge", [level("ln(2)", "1/10"), level(mu=1)])
def test_one_step_and_its_inverse(edge: Level) -> None:
    third = Fraction(1, 3)
    assert str(edge.step(third)) == str(edge.sides(third, 1)[0])
    back = edge.inverse(edge.step(third))
    assert back == third or (isinstance(back, Ball) and back.overlaps(ball(third)))


def test_without_epsilon_nothing_moves_also_in_balls() -> None:
    still = level(0).sides(ball(Fraction(1, 3)), math.inf)
    assert [float(one) for one in still] == [pytest.approx(1 / 3), pytest.approx(2 / 3)]


def test_an_open_interval_may_stay_where_it_is() -> None:
    assert OrderedDistribution(lambda x: Fraction(x)).after(level("ln(2)", "1/10"), 0)(Fraction(1, 3)) == Fraction(1, 3)


def test_neighbours_in_words() -> None:
    assert "replaced by another" in Neighbours.SUBSTITUTION.words
    assert "appears or disappears" in Neighbours.ADD_REMOVE.words


def test_phases_turn_at_their_times() -> None:
    assert [Phases(2, 5).at(t) for t in (0, 1, 2, 4, 5, 6)] == [1, 1, 2, 2, 3, 3]
    assert [Phases(0, 0).at(t) for t in (0, 1)] == [3, 3]


def test_rows_of_one_and_of_three_answers() -> None:
    half = level("ln(2)")
    assert row_after(half, [ONE], 3) == [1]
    assert row_after(half, [Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)], 1) == [
        Fraction(1, 4),
        Fraction(1, 2),
        Fraction(1, 4),
    ]
    assert transitions(half, [Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)]) == [2, 0, 0]


def test_an_exact_answer_stays_exact_as_long_as_it_fits_and_becomes_a_ball_beyond() -> None:
    edge = level("ln(2)")
    rest = edge.sides(Fraction(1, 3), 2**20)[1]
    assert isinstance(rest, Fraction)
    assert rest == Fraction(1, 3) / 2 ** (2**20 - 1)
    beyond = edge.sides(Fraction(1, 3), 2**20 + 1)[1]
    assert isinstance(beyond, Ball)
    assert (beyond * Ball(2) ** (2**20)).overlaps(ball(Fraction(1, 3)))


@pytest.mark.parametrize("delta", ["1/1000", "1e-9"])
def test_real_numbers_of_steps_lie_on_one_curve(delta: str) -> None:
    """Half a step twice is a step, inside a piece; the sum of both sides stays 1."""
    edge = level("ln(2)", delta)
    for start in (Fraction(1, 100), Fraction(9, 10)):
        half = edge.sides(start, Fraction(1, 2))
        assert edge.power(half[0], Fraction(1, 2)).overlaps(ball(edge.step(start)))
        assert (half[0] + half[1]).overlaps(Ball(1))


def test_a_level_that_was_used_can_be_sent_elsewhere() -> None:
    used = level(1, "0.01")
    before = used.sides(Fraction(1, 3), 2)
    again = pickle.loads(pickle.dumps(used))
    assert again == used
    assert hash(again) == hash(used)
    assert all(a.overlaps(b) for a, b in zip(again.sides(Fraction(1, 3), 2), before))


def test_several_epsilons_with_delta_zero_are_the_strictest_of_them() -> None:
    """Their lines meet at 0 and at 1, which balls do not decide by where they cross."""
    several = tuple(Bound(Epsilon.read(epsilon), Fraction(0)) for epsilon in ("1", "ln(3)", "1.5"))
    promise, strictest = ApproximateDP(several, several), level(1)
    assert promise.step(Fraction(0)) == 0
    assert promise.step(Fraction(1)) == 1
    for s in (Fraction(1, 10), Fraction(1, 2), Fraction(999, 1000)):
        for t in (1, 2, 40):
            assert promise.power(s, t).overlaps(strictest.power(s, t))


@pytest.mark.parametrize("steps", ["3/2", None, -1, math.nan, [1]])
def test_what_is_no_number_of_steps_is_refused_in_words(steps: object) -> None:
    for promise in (level("ln(2)"), level(mu=1)):
        with pytest.raises(LevelError, match="is not a number of steps; it must be 0 or more"):
            row_after(promise, ["1/4", "3/4"], steps)  # type: ignore[arg-type]
