"""Epsilon as a number: its order, its sums, its bounds and its limits, each at the edge where one step further is wrong."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.errors import InputError, LevelError
from optimaldp.privacy import Epsilon, read_number, read_probability
from optimaldp.privacy.balls import Ball, ball, context, dyadic, precision, sign
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.numbers import fraction_text, shown_text

INFINITE, ZERO = Epsilon.read("inf"), Epsilon.read(0)
ORDERED = [
    ZERO,
    *map(Epsilon.read, ("1e-1000", "0.1", "0.5", "ln(2)", "0.7", "ln(3)", "0.5+ln(2)", "1+ln(2)", "1000000")),
    INFINITE,
]


def test_every_pair_is_in_order() -> None:
    for i, a in enumerate(ORDERED):
        for j, b in enumerate(ORDERED):
            assert (a < b, a <= b, a > b, a >= b, a == b) == (i < j, i <= j, i > j, i >= j, i == j), (a, b)


def test_floats_follow_the_order_and_infinity_is_infinite() -> None:
    values = [float(one) for one in ORDERED]
    assert values == sorted(values)
    assert values[-1] == math.inf
    assert values[4] == math.log(2)
    assert values[7] == pytest.approx(0.5 + math.log(2), rel=1e-15)


def test_infinity_absorbs_sums_and_only_no_times_infinity_is_nothing() -> None:
    one = Epsilon.read(1)
    assert one + INFINITE == INFINITE + one == INFINITE + INFINITE == INFINITE
    assert INFINITE * 3 == INFINITE
    assert INFINITE * 0 == ZERO == one * 0
    assert not one.infinite
    with pytest.raises(LevelError, match="no finite value"):
        _ = INFINITE.finite_parts
    with pytest.raises(LevelError, match="no finite value"):
        INFINITE.ball()


@pytest.mark.parametrize("value", [math.inf, Decimal("inf"), "inf", "infinity", "∞", " inf "])
def test_infinity_is_read_in_each_spelling(value: object) -> None:
    assert Epsilon.read(value) == INFINITE


def test_is_zero_and_the_exact_ratio() -> None:
    assert [one.is_zero for one in ORDERED] == [True] + [False] * 10
    assert Epsilon.read("ln(3/2)").exact_ratio == Fraction(3, 2)
    assert Epsilon.read("0.5+ln(2)").exact_ratio is None
    assert ZERO.exact_ratio == 1


@pytest.mark.parametrize("text", ["0.5", "ln(2)", "0.5+ln(2)", "3+ln(7/3)"])
def test_balls_hold_epsilon_and_its_exponential(text: str) -> None:
    epsilon = Epsilon.read(text)
    plain, ratio = epsilon.finite_parts
    assert epsilon.ball().overlaps(ball(plain) + ball(ratio).log())
    assert float(epsilon.exp()) == pytest.approx(math.exp(plain) * ratio, rel=1e-14)
    assert float(epsilon.ball()) == pytest.approx(float(plain) + math.log(ratio), rel=1e-14)


@pytest.mark.parametrize("text", ["1", "700", "0.5+ln(1000)", "1e-9", "1000+ln(3)", "1000000"])
@pytest.mark.parametrize("bits", [10, 80])
def test_rational_bounds_are_as_close_as_promised(text: str, bits: int) -> None:
    epsilon = Epsilon.read(text)
    below, above = epsilon.ratio_below(bits=bits), epsilon.ratio_above(bits=bits)
    with precision(4000):
        true = epsilon.exp()
        assert ball(below) < true < ball(above)
        assert true - ball(below) < true / 2**bits
        assert ball(above) - true < true / 2**bits
    assert Epsilon.read("ln(2)").ratio_below(bits=bits) == Epsilon.read("ln(2)").ratio_above(bits=bits) == 2


def test_a_tiny_ratio_is_never_below_one() -> None:
    assert Epsilon.read("1e-300").ratio_below(bits=20) == 1
    assert Epsilon.read("1e-300").ratio_above(bits=20) > 1


@pytest.mark.parametrize(
    ("text", "zeros"),
    [
        ("1", 0),
        ("0.5", 1),
        ("7", 0),
        ("1/1024", 10),
        ("ln(2)", 1),
        ("ln(1025/1024)", 10),
        ("ln(100)", 0),
        ("1/1024+ln(9)", 10),
    ],
)
def test_leading_zeros_of_epsilon(text: str, zeros: int) -> None:
    """They size the precision that tells e^epsilon from 1, so they may be too many by one and never too few."""
    assert Epsilon.read(text).leading_zeros == zeros


@pytest.mark.parametrize(
    ("text", "above"),
    [
        ("0", 0),
        ("1", 1),
        ("0.5", 1),
        ("1.001", 2),
        ("ln(2)", 1),
        ("ln(2.5)", 2),
        ("ln(4)", 2),
        ("ln(5)", 3),
        ("1+ln(2)", 2),
    ],
)
def test_a_whole_number_that_epsilon_does_not_exceed(text: str, above: int) -> None:
    assert Epsilon.read(text).ceiling == above
    assert float(Epsilon.read(text)) <= above


def test_enclosures_are_kept_for_a_few_precisions() -> None:
    """A process that runs for long meets many of them."""
    epsilon = Epsilon.read("0.5+ln(2)")
    for bits in range(60, 90):
        with precision(bits):
            assert epsilon.ball() is epsilon.ball()
            assert epsilon.exp() is epsilon.exp()
        assert len(epsilon.kept_balls) == len(epsilon.kept_exponentials) == (bits - 60) % 8 + 1


def test_text_of_epsilon() -> None:
    assert [str(one) for one in ORDERED] == [
        "0", fraction_text(Fraction(1, 10**1000)), "0.1", "0.5", "ln(2)", "0.7", "ln(3)", "0.5+ln(2)", "1+ln(2)",
        "1000000", "inf",
    ]  # fmt: skip
    assert str(INFINITE) == "inf"
    assert repr(Epsilon.read("0.5+ln(3/2)")) == "Epsilon(0.5+ln(3/2))"
    assert Epsilon.read("log( 3/2 )") == Epsilon.read("ln(3/2)")
    assert Epsilon.read("ln(2)+0.25+ln(3)") == Epsilon(Fraction(1, 4), Fraction(6))


@pytest.mark.parametrize("bad", ["1e-1001", "9e-1001", "1000000.000001", "1e7", -1e-9, "0.5+0.5", "ln(0.999)"])
def test_what_lies_just_outside_is_refused(bad: object) -> None:
    with pytest.raises(LevelError, match="epsilon"):
        Epsilon.read(bad)
    assert Epsilon.read("1000000").plain == 10**6
    assert Epsilon.read("1e-1000").plain == Fraction(1, 10**1000)


def test_a_delta_is_nothing_or_large_enough_to_mean_something() -> None:
    for delta in (Fraction(0), Fraction(1, 10**1000), Fraction(1)):
        assert Bound(ZERO, delta).delta == delta
    with pytest.raises(LevelError, match="too small to mean anything"):
        Bound(ZERO, Fraction(1, 10**1000 + 1))


@pytest.mark.long
def test_numbers_at_the_edge_of_what_is_meant() -> None:
    assert read_number(Decimal("1e99999"), name="x") == 10**99999
    assert read_number(Decimal("1e100000"), name="x") == 10**100000
    for bad in (Decimal("1e100001"), Decimal("1e-100001"), "1" * 100_001, "1e100000", "1/0", " 1 2", "1/2/3"):
        with pytest.raises(InputError, match=r"^x: "):
            read_number(bad, name="x")
    assert read_number("1" * 100_000, name="x") == (10**100_000 - 1) // 9
    assert read_number(" 2/7 ", name="x") == Fraction(2, 7)
    assert read_number("-.5e1", name="x") == -5
    assert [read_probability(p, name="p") for p in (0, "1", 0.5)] == [0, 1, Fraction(1, 2)]
    for bad in (-1e-9, "1.000001"):
        with pytest.raises(InputError, match="between 0 and 1"):
            read_probability(bad, name="p")


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(7), "7"), (Fraction(1, 3), "1/3"), (Fraction(1, 4), "0.25"), (Fraction(10**400, 3), f"1{'0' * 400}/3"),
        (Fraction(-5, 2), "-2.5"), (Fraction(10**5000), f"1{'0' * 5000}"),
    ],
)  # fmt: skip
def test_text_of_a_number(number: Fraction, text: str) -> None:
    assert fraction_text(number) == text


@given(st.integers(-(10**6), 10**6), st.integers(-80, 80))
def test_a_ball_without_radius_is_a_dyadic_number(mantissa: int, exponent: int) -> None:
    assert dyadic(Ball(mantissa) * Ball(2) ** exponent) == Fraction(mantissa) * Fraction(2) ** exponent


def test_precision_holds_inside_the_block_alone() -> None:
    before = context.prec
    with precision(333):
        assert context.prec == 333
    assert context.prec == before
    with pytest.raises(KeyError), precision(77):
        raise KeyError
    assert context.prec == before


@pytest.mark.parametrize("distance", [1, 50, 200, 5000])
def test_the_sign_of_a_small_difference(distance: int) -> None:
    assert sign(lambda: (Ball(2).sqrt() + Ball(2) ** -distance) ** 2 - 2) == 1
    assert sign(lambda: (Ball(2).sqrt() - Ball(2) ** -distance) ** 2 - 2) == -1


def test_a_difference_of_nothing_ends_with_an_error() -> None:
    tried: list[int] = []

    def nothing() -> Ball:
        tried.append(context.prec)
        return Ball(2).sqrt() ** 2 - 2

    with pytest.raises(ArithmeticError, match="agree to 1024 bits"):
        sign(nothing, start_bits=64, most_bits=1024)
    assert tried == [64, 128, 256, 512, 1024]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("two", "epsilon: 'two' is not a privacy parameter; write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"),
        ("ln(2", "epsilon: 'ln(2' is not a privacy parameter; write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"),
        ("0.5+lnx", "epsilon: 'lnx' is not a privacy parameter; write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"),
        ("ln(2)+x", "epsilon: 'x' is not a privacy parameter; write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"),
        ([1], "epsilon: [1] is not a privacy parameter; write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"),
        (True, "epsilon: True is not a privacy parameter; write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"),
        (math.nan, "epsilon: nan is not a privacy parameter; write 0.5, '1/2', 'ln(2)', 'ln(3/2)' or 'inf'"),
        ("-1", "epsilon: '-1' is negative; a privacy parameter is 0 or more"),
        ("ln(1/2)", "epsilon: 'ln(1/2)' is negative or no number; a ratio must be at least 1"),
        (2e6, "epsilon: 2000000.0 is too large to mean privacy; write 'inf' for no constraint beyond delta"),
        ("1e-1001", "epsilon: '1e-1001' is too small to mean anything; write 0, or a number from 1e-1000 on"),
    ],
)
def test_what_is_said_about_a_bad_epsilon(bad: object, words: str) -> None:
    with pytest.raises(LevelError) as refused:
        Epsilon.read(bad)
    assert str(refused.value) == f"{words}."


def test_equal_epsilons_are_one_key_also_when_they_come_from_elsewhere() -> None:
    for one in ORDERED:
        if not one.infinite:  # a used one too: the balls that it keeps cannot be sent elsewhere
            one.exp(), one.ball()
        again = pickle.loads(pickle.dumps(one))
        assert again == one
        assert hash(again) == hash(one)
        assert (again.infinite, again.is_zero, again.exact_ratio, again.leading_zeros, again.ceiling) == (
            one.infinite, one.is_zero, one.exact_ratio, one.leading_zeros, one.ceiling,
        )  # fmt: skip
    assert len({*ORDERED, *map(Epsilon.read, map(str, ORDERED))}) == len(ORDERED)
    assert ZERO.leading_zeros == INFINITE.leading_zeros == 0
    assert len({hash(one) for one in ORDERED}) == len(ORDERED)  # not by chance: they are numbers, the same on every day
    unbounded = Epsilon(None, None)
    assert (unbounded.infinite, unbounded.is_zero, unbounded.exact_ratio, unbounded.leading_zeros) == (
        True,
        False,
        None,
        0,
    )
    assert unbounded == INFINITE
    assert hash(unbounded) == hash(INFINITE)


def test_long_probabilities_are_shown_by_what_can_be_read_of_them() -> None:
    assert shown_text(Fraction(2, 3)) == "2/3"
    assert shown_text(Fraction(1, 2**63)) == str(Fraction(1, 2**63))
    assert shown_text(Fraction(1, 2**64)) == "about 5.42101086E-20"
    assert shown_text(Fraction(1, 2**4096)).startswith("about 9.57497746E-1234")
    assert shown_text(1 - Fraction(1, 3) ** 3000) == "1 - about 4.32748769E-1432"
    assert shown_text(Fraction(999, 1000) + Fraction(1, 3**3000)).startswith("1 - about 0.001")
    assert shown_text(Fraction(999, 1000) - Fraction(1, 3**3000)) == "about 0.999000000"
    assert shown_text(Fraction(1, 3) + Fraction(1, 3**3000)) == "about 0.333333333"
    assert shown_text(1 + Fraction(1, 3**3000)) == "about 1.00000000"
