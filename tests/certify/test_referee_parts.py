"""The small parts that referees are made of, each at the edge where it turns over."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from optimaldp.certify.core.closeness import (
    Exponentials,
    _gaussian_pair,
    close,
    enclosure,
    least_ratio,
    normal_quantile,
    positive_part,
    ratio_within,
)
from optimaldp.certify.core.examined import Certified, Finding, mint, same
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy import Epsilon
from optimaldp.privacy.balls import Ball, precision

E = Exponentials.exp(Epsilon.read(1))
TWO = Exponentials.exp(Epsilon.read("ln(2)"))
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def test_sums_of_exponentials() -> None:
    assert Exponentials.of(2) == TWO
    assert Exponentials.exp(Epsilon.read("1+ln(2)"), 3) == E * E * E * 8
    assert Exponentials.exp(Epsilon.read("1+ln(2)"), -1) * E == Exponentials.of(HALF)
    assert (E - E).terms == {}
    assert Exponentials.of(1) == (E + 1 - E)
    assert (-E + E).sign() == 0
    assert [(E - Fraction(p, 10**6)).sign() for p in (2718281, 2718282)] == [1, -1]
    assert (E * 2 - E).sign() == 1
    assert len({E, E + 1, E + 1 - 1}) == 2
    assert repr(E * 2 - 1) == "-1·e^0 + 2·e^1"
    assert repr(E - E) == "0"
    assert float((E * 3 + HALF).ball()) == pytest.approx(3 * math.e + 0.5, rel=1e-14)
    assert positive_part(E) == E
    assert positive_part(-E) == positive_part(E - E) == Exponentials({})
    assert E != 3


def test_closeness_by_exponentials() -> None:
    """Randomised response at epsilon: as close as e^epsilon exactly, and no closer."""
    row, mirrored = [E, Exponentials.of(1)], [Exponentials.of(1), E]
    nothing = Exponentials({})
    assert close(E, nothing, row, mirrored)
    assert not close(E - Fraction(1, 10**30), nothing, row, mirrored)
    assert not close(TWO, nothing, row, mirrored)
    assert close(TWO, E - 2, row, mirrored)
    assert not close(TWO, E - 2 - Fraction(1, 10**30), row, mirrored)
    assert not close(TWO, nothing, mirrored, row)
    # Two answers each short of the bound by delta / 2: together they are at the bound, a third one is too much.
    up, down = (
        [Exponentials.of(3), Exponentials.of(3), Exponentials.of(0)],
        [Exponentials.of(1), Exponentials.of(1), Exponentials.of(4)],
    )
    assert close(TWO, Exponentials.of(4), up, down)
    assert not close(TWO, Exponentials.of(Fraction(39, 10)), up, down)


def test_least_ratios_at_their_edges() -> None:
    row, other = (Fraction(3, 4), Fraction(1, 4)), (HALF, HALF)
    assert least_ratio(row, other, Fraction(0)) == Fraction(3, 2)
    assert least_ratio(row, other, Fraction(1, 4)) == 1
    assert least_ratio((ONE := Fraction(1), Fraction(0)), (Fraction(0), ONE), Fraction(0)) is None
    assert least_ratio((ONE, Fraction(0)), (Fraction(0), ONE), ONE) == 1
    assert least_ratio((THIRD, THIRD, THIRD), (Fraction(0), HALF, HALF), THIRD) == 1
    assert least_ratio((THIRD, THIRD, THIRD), (Fraction(0), HALF, HALF), Fraction(3, 10)) is None


def test_ratios_within_a_level() -> None:
    two, one = Epsilon.read("ln(2)"), Epsilon.read(1)
    assert ratio_within(Fraction(2), two)
    assert not ratio_within(2 + Fraction(1, 10**50), two)
    near = Fraction(27182818284590452353602874713526624977572, 10**40)
    assert ratio_within(near, one)
    assert not ratio_within(near + Fraction(1, 10**40), one)
    assert ratio_within(Fraction(10**99), Epsilon.read("inf"))
    assert not ratio_within(None, Epsilon.read("inf"))
    assert not ratio_within(None, one)
    low, high = enclosure(one, 64)
    assert low < near < high
    assert high - low < Fraction(1, 2**50)


def test_gaussian_pairs() -> None:
    """Phi(1) = 0.841344746068542948..."""
    below, near = HALF, Fraction(841344746068542948585232545632, 10**30)
    assert _gaussian_pair(near, below, Fraction(1))
    assert not _gaussian_pair(near + Fraction(1, 10**29), below, Fraction(1))
    assert _gaussian_pair(HALF, HALF, Fraction(0))
    assert not _gaussian_pair(HALF + Fraction(1, 10**9), HALF, Fraction(0))
    assert not _gaussian_pair(THIRD, Fraction(0), Fraction(5))
    assert not _gaussian_pair(Fraction(1), HALF, Fraction(5))
    assert _gaussian_pair(Fraction(1), Fraction(1), Fraction(0))
    for p in (Fraction(1, 1000), THIRD, HALF, Fraction(2, 3), Fraction(999, 1000)):
        there = normal_quantile(p)
        assert float((-there / Ball(2).sqrt()).erfc() / 2) == pytest.approx(float(p), rel=1e-12)
        assert (there + normal_quantile(1 - p)).overlaps(Ball(0))


def test_only_a_passed_finding_is_certified() -> None:
    passed, failed = Finding(True, ("all",)), Finding(False, (), "it is not")
    assert mint("mechanism", passed).mechanism == "mechanism"
    assert (str(passed), str(failed)) == ("certified", "not certified: it is not")
    with pytest.raises(NotCertifiedError, match="it is not"):
        mint("mechanism", failed)
    with pytest.raises(NotCertifiedError, match="Only the referee"):
        Certified("mechanism", passed)
    with pytest.raises(NotCertifiedError, match="Only the referee"):
        Certified("mechanism", passed, mint=True)


def test_enclosures_agree_by_their_own_size() -> None:
    with precision(300):
        one, tiny, nothing = Ball(1), (Ball(-1000)).exp(), Ball(0)
        assert same(one, one, nothing)
        assert same(tiny, tiny, nothing)
        assert not same(tiny, nothing, nothing)
        assert same(nothing, nothing, nothing)
        for bits, agrees in ((99, False), (98, False), (100, True), (120, True)):
            assert same(Ball(1, Ball(2) ** -bits), one, nothing) is agrees, bits
        assert not same(one, one + Ball(2) ** -120, nothing)
        assert same(Ball(1, Ball(2) ** -40), one, Ball(2) ** -39)
        assert not same(Ball(1, Ball(2) ** -40), one, Ball(2) ** -41)
