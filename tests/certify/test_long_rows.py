"""Rows of long rationals: enclosures say what rationals say."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from small_walks import LEVELS

from optimaldp.certify.graphs.privacy import LongRows, _certainly_kept, _epsilon, _exactly_kept
from optimaldp.certify.graphs.rounding import check_pair
from optimaldp.privacy import level
from optimaldp.privacy.balls import ball, precision


def test_when_enclosures_pay():
    long, short = (Fraction(1, 2**1024), 1 - Fraction(1, 2**1024)), (Fraction(1, 3), Fraction(2, 3))
    assert LongRows.pays([short, long], [level(1)])
    assert not LongRows.pays([short, (Fraction(1, 2**1023), 1 - Fraction(1, 2**1023))], [level(1)])
    assert not LongRows.pays([long], [level("inf")])
    assert not LongRows.pays([long], [level(1), level(mu=1)])
    assert not LongRows.pays([short], [level(1)], pairs=2000)
    assert LongRows.pays([short], [level(1)], pairs=2001)
    assert not LongRows.pays([], [level(1)], pairs=10**6)
    assert not LongRows.pays([short], [level("inf")], pairs=10**6)


PAIRS = [
    ((Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 2))),
    ((Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)), (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))),
    ((Fraction(1, 5), Fraction(0), Fraction(4, 5)), (Fraction(2, 5), Fraction(0), Fraction(3, 5))),
    ((Fraction(0), Fraction(1)), (Fraction(1, 10), Fraction(9, 10))),
    ((Fraction(1, 3), Fraction(2, 3)), (Fraction(1, 3), Fraction(2, 3))),
]


@pytest.mark.parametrize(
    "promised", [*LEVELS, level("ln(5/2)"), level("ln(4/3)", "2/15"), level(0, "2/5"), level("ln(2)", "1/10")], ids=str
)
def test_enclosures_say_what_rationals_say(promised):
    for first, second in PAIRS:
        for tail, head in ((first, second), (second, first)):
            if promised.bounds[0].delta == Fraction(1, 10) and 0 in (tail[0], head[0]):
                continue  # delta covers it to the last digit, which no enclosure tells: then the promise is shown
            exact = check_pair(promised, tail, head)
            used = LongRows([tail, head]).used(promised, 0, 1)
            assert (used is not None) == exact.kept
            if used is not None:
                assert exact.used * (1 - 1e-15) <= used <= exact.used * (1 + 2e-12) + 2e-12


def test_each_bound_by_enclosures_and_by_rationals():
    bound, tight = level("ln(2)", "1/10").bounds[0], level("ln(2)").bounds[0]
    above, below = (Fraction(3, 5), Fraction(2, 5)), (Fraction(1, 4), Fraction(3, 4))
    hair = Fraction(1, 10**60)
    with precision(LongRows.bits):

        def both(bound, above, below):
            return _certainly_kept(bound, [ball(p) for p in above], [ball(p) for p in below]), _exactly_kept(
                bound, above, below
            )

        assert both(bound, above, below)[1]  # 3/5 = 2/4 + 1/10
        assert both(bound, (above[0] - hair, above[1] + hair), below) == (True, True)
        assert both(bound, (above[0] + hair, above[1] - hair), below) == (False, False)
        assert both(tight, (Fraction(1, 2) - hair, Fraction(1, 2) + hair), below) == (True, True)
        assert both(tight, (Fraction(1, 2) + hair, Fraction(1, 2) - hair), below) == (False, False)
        assert both(tight, (Fraction(1, 2), Fraction(1, 2)), below)[1]
        assert not _exactly_kept(
            level(1).bounds[0], above, above
        )  # an irrational promise is never met to the last digit
        # Two answers share one delta.
        three = (Fraction(3, 10), Fraction(3, 10), Fraction(4, 10)), (Fraction(1, 8), Fraction(1, 8), Fraction(6, 8))
        assert both(level("ln(2)", "1/10").bounds[0], *three)[1]
        assert both(level("ln(2)", "99/1000").bounds[0], *three) == (False, False)
        assert both(level("ln(2)", "101/1000").bounds[0], *three) == (True, True)
        assert _epsilon(level(3, "1/10").bounds[0], *([ball(p) for p in row] for row in three)) == pytest.approx(
            math.log(2)
        )
        assert _epsilon(level(3).bounds[0], *([ball(p) for p in row] for row in three)) == pytest.approx(math.log(2.4))
        assert _epsilon(level("0.1", "2/5").bounds[0], *([ball(p) for p in row] for row in three)) == 0.0
        assert _epsilon(level("ln(2)").bounds[0], *([ball(p) for p in row] for row in three)) == pytest.approx(
            math.log(2)
        )


def test_what_is_no_larger_than_known_is_not_measured_again():
    rows = [(Fraction(1, 4), Fraction(3, 4)), (Fraction(1, 2), Fraction(1, 2)), (Fraction(9, 40), Fraction(31, 40))]
    enclosed = LongRows(rows)
    assert enclosed.used(level(2), 0, 1) == pytest.approx(math.log(2))
    assert enclosed.used(level("0.5"), 0, 2) == 0.0
    assert enclosed.used(level("0.7"), 0, 2) == pytest.approx(math.log(10 / 9))
    assert enclosed.used(level("0.7"), 0, 1) == pytest.approx(math.log(2))
    assert enclosed.used(level("0.6"), 0, 1) is None


def test_answers_that_the_other_row_never_gives_come_first():
    above, below = (Fraction(3, 10), Fraction(6, 10), Fraction(1, 10)), (Fraction(1, 10), Fraction(9, 10), Fraction(0))
    with precision(LongRows.bits):
        told = _epsilon(level(3, "1/10").bounds[0], [ball(p) for p in above], [ball(p) for p in below])
    assert told >= math.log(3) * (1 - 1e-12)
