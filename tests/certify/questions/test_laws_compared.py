"""Two laws in every event: at the edge of equality, at large and at tiny levels, exactly and in balls."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from made_up import MadeUp, level_of, setting

from optimaldp.certify.core.drawing import close, is_distribution, stand_in
from optimaldp.certify.core.referee import examine_release
from optimaldp.privacy.balls import Ball, Rational, ball, context, precision

HALF = Fraction(1, 2)


@pytest.mark.parametrize(
    ("epsilon", "root"),
    [
        ("ln(4)", Fraction(1, 2)),  # 60 parts of a half are 120
        ("ln(3600)", Fraction(1, 60)),
        ("ln(3599)", Fraction(1, 62)),
        ("ln(3601)", Fraction(1, 60)),
        ("2000", Fraction(1, 60)),
        ("ln(9/4)", Fraction(119, 180)),  # the float of 2/3 is a little below it
        ("ln(16/9)", Fraction(3, 4)),
        ("1e-30", 1 - Fraction(1, 10**9)),
    ],
)
def test_the_stand_in_is_the_next_rational_level(epsilon: str, root: Fraction) -> None:
    ratio = stand_in(level_of(epsilon)).epsilon.exact_ratio
    assert ratio is not None
    if epsilon in ("ln(9/4)", "ln(3600)", "ln(3599)"):  # whichever side the float falls on
        assert abs(1 / ratio - root**2) <= root / 60
    else:
        assert 1 / ratio == root**2


@pytest.mark.parametrize("epsilon", ["0.001", "0.37", "1", "5", "8.1"])
def test_the_stand_in_is_no_farther_than_a_sixtieth(epsilon: str) -> None:
    ratio = stand_in(level_of(epsilon)).epsilon.exact_ratio
    assert ratio is not None
    root, near = math.exp(-float(epsilon) / 2), 1 / math.sqrt(ratio)
    assert root - (1 - root) / 60 <= near <= root
    assert math.isqrt(ratio.numerator) <= 61 / (1 - root), "short numbers: all sums stay exact and quick"


def bits_for(epsilon: str, delta: str = "0") -> int:
    """The precision at which a mechanism of this level is examined: its laws see it."""
    seen: list[int] = []
    asked = {"kind": "nobody knows", "among": False}
    level = setting(4, level=level_of(epsilon, delta))
    assert examine_release(MadeUp(("yes", "no"), 2, asked, level, lambda cells: seen.append(context.prec))).private
    assert context.prec in seen, "a draw is examined at no precision but its own"
    (bits,) = set(seen) - {context.prec}
    return bits


def test_precision_grows_with_what_must_be_told_apart() -> None:
    assert bits_for("1") == 192 + 3
    assert bits_for("2") == 192 + 6
    assert bits_for("0") == 192
    assert bits_for("0", "1/1024") == 192 + 3 * 10
    assert bits_for("1/1024") >= 192 + 3 * 9
    assert bits_for("0", "3/4") == 192 + 3
    assert bits_for("0", "1/3") == 192 + 3
    assert bits_for("0", "1/2") == 192 + 3
    assert bits_for("1/4", "1/1024") - bits_for("1/4") == 3 * 10


def test_numbers_of_every_exact_kind() -> None:
    """They do not mix in one expression; in one law they may, and every hair of them counts."""
    hair = Fraction(1, 2**300)
    assert is_distribution([0, HALF, Rational(1, 2)])
    assert not is_distribution([0, HALF, Rational(1, 2) - Rational(1, 2**300)])
    assert close([0, HALF, Rational(1, 2)], [0, Rational(1, 2), HALF], 1, 0)
    assert not close([HALF + hair, Rational(1, 2), 0], [HALF, HALF, 0], 1, 0)
    with precision(128):
        assert is_distribution([HALF, ball(HALF)])
        assert close([HALF, ball(HALF)], [ball(HALF), HALF], 1, 0)
        assert not close([HALF, ball(HALF), 0], [ball(HALF), Rational(1, 4), Fraction(1, 4)], 1, 0)


def test_in_balls_an_excess_is_seen_unless_delta_pays_for_it() -> None:
    with precision(256):
        up, down = [ball(Fraction(3, 5)), ball(Fraction(2, 5))], [ball(Fraction(1, 5)), ball(Fraction(4, 5))]
        # 3/5 - 2/5 = 1/5 one way; 4/5 - 2 * 2/5 = 0 the other.
        for first, second in ((up, down), (down, up)):
            assert close(first, second, ball(2), Fraction(1, 5))
            assert close(first, second, 2, Fraction(1, 5))
            assert not close(first, second, ball(2), Fraction(1, 5) - Fraction(1, 2**60))
            assert not close(first, second, ball(2), 0)
        # Two answers that are above together, each by a tenth.
        wide = [ball(Fraction(3, 10)), ball(Fraction(3, 10)), ball(Fraction(4, 10))]
        narrow = [ball(Fraction(1, 10)), ball(Fraction(1, 10)), ball(Fraction(8, 10))]
        assert close(wide, narrow, ball(2), Fraction(1, 5))
        assert not close(wide, narrow, ball(2), Fraction(15, 100))


def test_in_balls_equality_is_met_to_eighty_bits_and_no_fewer() -> None:
    with precision(256):
        for bits, passes in ((81, True), (79, False)):
            more = ball(HALF) + Ball(2) ** -(bits + 1)  # of a half
            assert close([more, 1 - more], [ball(Fraction(1, 4)), ball(Fraction(3, 4))], ball(2), 0) is passes
        # A probability that the enclosure leaves open is not close.
        open_one = Ball(0).union(Ball(1))
        assert not close([open_one, 1 - open_one], [ball(HALF), ball(HALF)], ball(Fraction(5, 4)), 0)
        # A delta that is exceeded by less than 2^-80 of itself.
        for bits, passes in ((90, True), (70, False)):
            more = ball(Fraction(3, 4)) + Ball(2) ** -bits
            assert close([more, 1 - more], [ball(HALF), ball(HALF)], ball(1), Fraction(1, 4)) is passes


def test_an_answer_that_one_table_excludes() -> None:
    with precision(256):
        assert not close([Ball(1), Ball(0)], [Ball(1) - Ball(2) ** -70, Ball(2) ** -70], ball(2), 0)
        assert close([Ball(1), Ball(0)], [Ball(1), Ball(0)], ball(2), 0)
    assert not close([1, 0], [Fraction(999, 1000), Fraction(1, 1000)], 2, 0)


def test_distributions_in_balls() -> None:
    with precision(128):
        third = Ball(1) / 3
        assert not is_distribution([third, third])
        assert not is_distribution([third * 4, -third])
        assert is_distribution([Ball(1), Ball(0)])
        assert is_distribution([third + third, third])
    assert not is_distribution([Fraction(-1, 2), Fraction(3, 2)])
