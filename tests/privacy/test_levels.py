"""The step function: closed form and iteration agree over the whole range, and the papers' misprints do not."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from golden import vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import LevelError
from optimaldp.privacy import ApproximateDP, Epsilon, Level, all_of, directed, level
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.levels import part_of
from optimaldp.privacy.units import Limited, level_of_several

RATIOS = [Fraction(r) for r in ("1", "11/10", "6/5", "3/2", "2", "3", "10", "1000")]
DELTAS = [Fraction(d) for d in ("0", "1/1000", "1/100", "1/10", "1/3", "1/2", "1")]

ratios = st.sampled_from(RATIOS)
deltas = st.sampled_from(DELTAS)
probabilities = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 2)]),
    st.fractions(0, 1, max_denominator=200),
    st.integers(1, 40).map(lambda k: Fraction(1, 10**k)),
    st.integers(1, 40).map(lambda k: 1 - Fraction(1, 10**k)),
)


def make(ratio: Fraction, delta: Fraction) -> ApproximateDP:
    made = level(f"ln({ratio})", delta)
    assert isinstance(made, ApproximateDP)
    return made


def F(s: Fraction, ratio: Fraction, delta: Fraction) -> Fraction:  # noqa: N802
    """The definition, straight from the theory."""
    return min(Fraction(1), ratio * s + delta, 1 - (1 - s - delta) / ratio)


@pytest.mark.long
@settings(max_examples=400, deadline=None)
@given(ratios, deltas, probabilities, st.integers(0, 40))
def test_closed_form_equals_iteration_exactly(ratio: Fraction, delta: Fraction, s: Fraction, steps: int) -> None:
    value = s
    for _ in range(steps):
        value = F(value, ratio, delta)
    assert make(ratio, delta).sides(s, steps) == (value, 1 - value)


@settings(max_examples=200, deadline=None)
@given(ratios, deltas, probabilities)
def test_the_properties_that_everything_rests_on(ratio: Fraction, delta: Fraction, s: Fraction) -> None:
    step = make(ratio, delta).step
    assert step(s) >= s
    assert step(Fraction(0)) == delta
    assert (step(s) == 1) == (s >= 1 - delta)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(ratios, deltas, probabilities, probabilities)
def test_duality_and_inverse(ratio: Fraction, delta: Fraction, x: Fraction, y: Fraction) -> None:
    promise = make(ratio, delta)
    assert (x <= promise.step(y)) == (1 - y <= promise.step(1 - x))
    least = promise.inverse(x)
    assert promise.step(max(least, Fraction(0))) >= x
    assert (y >= least) == (promise.step(y) >= x)


@settings(max_examples=150, deadline=None)
@given(ratios, deltas, probabilities, st.integers(0, 30), st.integers(0, 30))
def test_steps_add_up(ratio: Fraction, delta: Fraction, s: Fraction, a: int, b: int) -> None:
    promise = make(ratio, delta)
    assert promise.power(promise.power(s, a), b) == promise.power(s, a + b)


@pytest.mark.parametrize("epsilon", ["1", "0.5", "0.001", "20", "1e-30"])
@pytest.mark.parametrize("delta", ["0", "1e-6", "0.3"])
@pytest.mark.parametrize("s", ["0", "1e-30", "0.2", "0.5", "0.999", "1"])
def test_balls_enclose_the_iteration(epsilon: str, delta: str, s: str) -> None:
    promise, start = level(epsilon, delta), Fraction(s)
    with precision(400):
        value = ball(start)
        for _ in range(17):
            value = promise.step(value)
        reference, rest = value, 1 - value
    got, complement = promise.sides(start, 17)
    for number, exact in ((got, reference), (complement, rest)):
        enclosure = number if isinstance(number, Ball) else ball(number)
        assert enclosure.overlaps(exact)
        assert enclosure.rad() < 1e-12


def test_a_billion_steps_keep_the_small_side() -> None:
    value, rest = level(1).sides(Fraction(1, 3), 10**9)
    assert value.overlaps(Ball(1))
    assert 0 < rest < ball(Fraction(1, 2)) ** 10**9
    # F^(a+b) = F^b after F^a, with b from deep inside the decay: the complement shrinks by exactly e^-b.
    earlier = level(1).sides(Fraction(1, 3), 10**9 - 5)[1]
    assert rest.overlaps(earlier * (ball(Fraction(-5))).exp())


def test_with_delta_the_answer_is_exactly_right_from_a_finite_distance() -> None:
    promise = level("ln(2)", "1/100")
    reached = [promise.power(Fraction(1, 2), t) for t in range(12)]
    assert reached[0] == Fraction(1, 2)
    assert reached[-1] == 1
    assert promise.power(Fraction(1, 2), 10**9) == 1


@pytest.mark.parametrize(
    ("promise", "s", "limit"),
    [
        (level("ln(2)"), Fraction(1, 5), 1),
        (level("ln(2)"), Fraction(0), 0),
        (level(0), Fraction(1, 5), Fraction(1, 5)),
        (level(0, "0.1"), Fraction(0), 1),
        (level("inf"), Fraction(0), 0),
        (level("inf", "0.1"), Fraction(0), 1),
        (level(mu=1), Fraction(1, 5), 1),
    ],
)
def test_infinitely_many_steps(promise: Level, s: Fraction, limit: Fraction) -> None:
    assert promise.power(s, math.inf) == limit


def test_epsilon_infinite_is_not_no_edge() -> None:
    promise = level("inf", "1/10")
    assert promise.step(Fraction(0)) == Fraction(1, 10)
    assert promise.step(Fraction(1, 10**9)) == 1
    assert promise.power(Fraction(0), 2) == 1


def test_several_levels_at_once_are_the_smallest_step() -> None:
    parts = [("3", "0"), ("2", "1/10"), ("3/2", "1/5")]
    promise = all_of(*(level(f"ln({r})", d) for r, d in parts))
    for k in range(21):
        value = start = Fraction(k, 20)
        for steps in range(25):
            assert promise.power(start, steps) == value
            value = min(F(value, Fraction(r), Fraction(d)) for r, d in parts)


def test_a_directed_edge_steps_differently_each_way() -> None:
    promise = directed(forward=level("ln(2)"), backward=level("ln(4)", "1/10"))
    s = Fraction(3, 5)
    assert promise.step(s) == min(2 * s, 1 - (1 - s - Fraction(1, 10)) / 4, Fraction(1))
    assert promise.reversed().step(s) == min(4 * s + Fraction(1, 10), 1 - (1 - s) / 2, Fraction(1))
    assert promise.reversed().reversed() == promise


def test_a_gaussian_level_shows_its_mu_alone() -> None:
    assert repr(level(mu="1/2")) == "GaussianDP(mu=Fraction(1, 2))"


def test_gaussian_steps_add_their_mu() -> None:
    s = Fraction(1, 7)
    twice = level(mu=2).step(s)
    assert level(mu=1).power(s, 2).overlaps(twice)
    assert level(mu=1).step(level(mu=1).step(s)).overlaps(twice)
    # Phi(Phi^-1(1/2) + 1) = Phi(1)
    assert float(level(mu=1).step(Fraction(1, 2))) == pytest.approx(0.8413447460685429, abs=1e-15)


@pytest.mark.parametrize("promise", [level(1), level("0.3", "1e-5"), level(mu="0.7")])
def test_rounded_steps_never_exceed_the_true_step(promise: Level) -> None:
    for k in range(1, 40):
        s = Fraction(k, 40)
        below = promise.step_below(s, bits=60)
        assert s <= below
        with precision(300):
            gap = promise.step(ball(s)) - ball(below)
            assert gap > 0 or below == s
            assert gap < 1e-15


def test_real_steps_interpolate_between_whole_ones() -> None:
    promise = make(Fraction(2), Fraction(0))
    for steps in range(6):
        whole = promise.power(Fraction(1, 20), steps)
        following = promise.power(Fraction(1, 20), steps + 1)
        half = promise.power(Fraction(1, 20), steps + 0.5)
        assert ball(whole) < half < ball(following)


@pytest.mark.parametrize("instance", vectors("graphs", "scalar"), ids=lambda x: x["id"])
def test_errata_numbers(instance: dict[str, object]) -> None:
    """R01-R09: the corrected value, never the printed one."""
    arguments = instance["args"]
    assert isinstance(arguments, dict)
    got = _scalar(str(instance["function"]), arguments)
    assert got == Fraction(str(instance["expect"]))
    assert got != Fraction(str(instance["naive_paper_value"]).split()[0])


def _scalar(function: str, args: dict[str, str]) -> Fraction | int | float:
    if function == "path bound":
        value = Fraction(args["alpha"])
        for ratio, delta in args["steps"]:
            value = make(Fraction(ratio), Fraction(delta)).step(value)
        return value
    promise = make(Fraction(args["E"]), Fraction(args["delta"]))
    if function.startswith("tau"):
        return promise.transition(Fraction(args["s"]))
    if function.startswith("balanced error"):
        from optimaldp.designing.two_answers import balanced_value

        return 1 - balanced_value(promise)
    if function.startswith("binary upper bound"):
        return promise.step(Fraction(args["B"]))
    return promise.power(Fraction(args["s"]), int(args.get("t", 1)))


@settings(max_examples=200, deadline=None)
@given(ratios, deltas, probabilities)
def test_transition_is_where_growth_gives_way(ratio: Fraction, delta: Fraction, s: Fraction) -> None:
    """000-5, 001-3, 001-4, 003-3, 003-4: clamped at 0, no '+1', infinite only where nothing grows."""
    if ratio == 1:
        return
    promise = make(ratio, delta)
    switch = (1 - delta) / (ratio + 1)
    tau = promise.transition(s)
    if s == 0 and delta == 0:
        assert tau == math.inf
        return
    value, steps = s, 0
    while value < switch:
        value, steps = F(value, ratio, delta), steps + 1
    assert tau == steps


def test_the_printed_operator_of_001_is_not_what_we_compute() -> None:
    """001-1: min{E s, 1 - (1-s)/E} + delta is only (epsilon, e^epsilon delta)-private."""
    s, ratio, delta = Fraction(4, 5), Fraction(2), Fraction(1, 10)
    printed = min(Fraction(1), min(ratio * s, 1 - (1 - s) / ratio) + delta)
    assert printed == 1
    assert make(ratio, delta).step(s) == Fraction(19, 20)
    assert 1 - s > ratio * (1 - printed) + delta  # the printed value breaks the promise


def test_order_of_edges_matters() -> None:
    """Natural conjecture 4: composing two levels is not a function of the sum of their epsilons."""
    three, half_more = make(Fraction(3), Fraction(0)), make(Fraction(3, 2), Fraction(0))
    s = Fraction(3, 10)
    assert half_more.step(three.step(s)) == Fraction(38, 45)
    assert three.step(half_more.step(s)) == Fraction(49, 60)


@pytest.mark.parametrize("bad", [0.5, "0.5", Fraction(3, 2), Fraction(-1, 2)])
def test_only_exact_probabilities_step(bad: object) -> None:
    with pytest.raises(LevelError):
        level(1).step(bad)


@pytest.mark.parametrize("bad", [-1, math.nan, -0.5])
def test_steps_are_not_negative(bad: float) -> None:
    with pytest.raises(LevelError):
        level(1).power(Fraction(1, 2), bad)


@pytest.mark.parametrize("arguments", [{"delta": 2}, {"delta": -0.1}, {"delta": "x"}, {"delta": math.nan}])
def test_bad_delta(arguments: dict[str, object]) -> None:
    with pytest.raises(LevelError, match="delta"):
        level(1, **arguments)


def test_there_is_no_default_epsilon() -> None:
    with pytest.raises(LevelError, match="there is no default"):
        level()


def test_implication_of_levels() -> None:
    assert level(1).implies(level(1, 0.1))
    assert not level(1, 0.1).implies(level(1))
    assert all_of(level(1), level(0.5, 0.1)).implies(level("0.7", "0.2"))
    assert not level(mu=1).implies(level(1))


@pytest.mark.parametrize(
    "epsilon", ["1e-50", "ln(1.0000000000001)", "1e-59", "ln(1.00000000000000000000000000000000000001)"]
)
@pytest.mark.parametrize("delta", ["0", "1e-6", "1e-59"])
def test_steps_of_a_tiny_epsilon_take_no_longer(epsilon: str, delta: str) -> None:
    """The switch lies 10^50 steps away, with as many candidates when the balls are wide: neither is walked through."""
    promise = level(epsilon, delta)
    with precision(128):
        for steps in (1, 100, 10**5):  # so few that F(s) is s + delta but for a hair
            reached, rest = promise.sides(ball(Fraction(1, 10)), steps)
            expected = ball(Fraction(1, 10) + steps * promise.delta)
            assert abs(reached - expected) < ball(Fraction(1, 10**7))
            assert (reached + rest).overlaps(Ball(1))


def test_transition_of_a_tiny_rational_epsilon_is_not_computed_by_huge_powers() -> None:
    steps = level("ln(1.0000000000001)").transition(Fraction(1, 10))
    assert steps == pytest.approx(math.log(5) / math.log1p(1e-13), rel=1e-9)


def test_a_ratio_above_every_float() -> None:
    promise = level("ln(1e400)", "1e-9")
    assert promise.sides(Fraction(1, 2), 1)[1] == (Fraction(1, 2) - Fraction(1, 10**9)) / 10**400


def test_a_billion_steps_are_as_quick_as_ten():
    """A power of a billion digits is never made: with delta above 0 the end is 1, exactly."""
    start = Fraction(1, 10**6)
    for promise in (level("ln(2)", "0.1"), level("ln(3/2)", "1e-9")):
        assert promise.sides(start, 10**9) == (1, 0)
    tiny = level("ln(1000000001/1000000000)", "1e-30")
    assert float(tiny.power(start, 10**9)) == pytest.approx(2.718281827e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [("ln(3)", "0.001"), ("1/2", "0.001"), ("2", "0")])
def test_several_records_lose_what_their_steps_add_up_to(epsilon: str, delta: str) -> None:
    found = level_of_several(level(epsilon, delta), 4)
    assert found is not None
    assert found.epsilon == Epsilon.read(epsilon) * 4
    exact = float(Fraction(delta)) * sum(math.exp(float(Epsilon.read(epsilon))) ** step for step in range(4))
    assert exact * (1 - 1e-12) <= float(found.delta) <= exact * 1.1, "rounded up to two digits"
    assert level_of_several(level(epsilon, "0.3"), 4) is None, "a delta of 1 promises nothing"


@pytest.mark.parametrize(("text", "parts"), [("ln(2)", 3), ("1/3+ln(5)", 7)])
def test_a_part_of_epsilon_is_hardly_less_than_its_share(text: str, parts: int) -> None:
    whole = Epsilon.read(text)
    together = part_of(whole, parts) * parts
    assert together < whole < together + Epsilon.read(Fraction(parts, 2**127))


def test_a_person_limited_in_time_is_named_by_what_limits() -> None:
    assert Limited(("patient_id", "month(admitted)")).noun == "month"
    assert Limited(("patient_id", "week(admitted)", "ward")).noun == "week and value of ward"
