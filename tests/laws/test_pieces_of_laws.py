"""The pieces that laws are made of, each against its definition: chains, transforms, logarithms, axes, scales and halves."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from optimaldp.errors import InputError, LevelError, QuestionError
from optimaldp.laws import level_accuracy
from optimaldp.laws.grid_law import GridLaw, Multiplier
from optimaldp.laws.law import Aim, Law, Setting, Table, certain, law_of, read_aim
from optimaldp.laws.level_accuracy import LevelSizes, hypergeometric_axis, level_sizes
from optimaldp.laws.log_number import ZERO, LogNumber, exact_or_decimal
from optimaldp.laws.options import KeysLaw
from optimaldp.laws.rank_scales import BallScale, RationalScale, rational_root
from optimaldp.laws.several_quantiles import JointQuartiles, RepeatedQuantiles, several_quantiles
from optimaldp.laws.votes import Chain, sides_at, stretched
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, Rational, fraction, precision

QUARTERS = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))


def approximate(epsilon: str, delta: str = "0") -> ApproximateDP:
    made = level(epsilon, delta)
    assert isinstance(made, ApproximateDP)
    return made


# The law of an answer.


def test_the_last_place_takes_what_the_others_leave() -> None:
    some = [Fraction(1, 8), Fraction(1, 2)]
    assert Law((2, 0, 1), row=lambda: some).probabilities() == [Fraction(1, 2), Fraction(3, 8), Fraction(1, 8)]
    assert Law((2, 0, 1), row=lambda: [*some, Fraction(3, 8)]).probabilities()[1] == Fraction(3, 8)
    ends = [Fraction(1, 8), Fraction(5, 8)]
    by_sums = Law((2, 0, 1), sums=lambda place: ends[place])
    assert by_sums.probabilities() == [Fraction(1, 2), Fraction(3, 8), Fraction(1, 8)]
    for law in (by_sums, Law((2, 0, 1), row=lambda: some)):
        assert [float(law.ends()(place)) for place in range(2)] == ends
    assert law_of(lambda: [Fraction(1, 2), Fraction(1, 8), Fraction(3, 8)], 0, 3).order == (1, 2, 0)
    assert [float(law_of(lambda: QUARTERS, 1, 3).ends()(place)) for place in range(2)] == [Fraction(1, 4), 1]


def test_an_answer_that_is_certain_and_one_of_two() -> None:
    assert certain(1, 3).probabilities() == [0, 1, 0]
    assert certain(1, 3).order == (0, 2, 1)
    assert Law((0,), row=lambda: [Fraction(1, 3)]).probabilities() == [1]
    assert Law((1, 0), lambda: [Fraction(1, 5)]).probabilities() == [Fraction(4, 5), Fraction(1, 5)]
    assert Law((0, 1), lambda: [Fraction(1, 5)]).probabilities() == [Fraction(1, 5), Fraction(4, 5)]


# The chain: from (1 - delta)/(1 + E) every move lowers the error e to (e - delta)/E, never below 0.


@pytest.mark.parametrize("ratio", [Fraction(2), Fraction(3, 2), Fraction(11, 10)])
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 50), Fraction(1, 1000)])
def test_errors_of_the_chain_step_by_step(ratio: Fraction, delta: Fraction) -> None:
    chain = Chain(approximate(f"ln({ratio})", str(delta)))
    error = (1 - delta) / (1 + ratio)
    for distance in range(12):
        assert chain.error(distance) == error
        error = max(Fraction(0), (error - delta) / ratio)
    assert chain.error(math.inf) == 0


def test_long_and_irrational_chains_are_enclosed() -> None:
    for epsilon in ("1", "0.1", "30"):
        rate = float(epsilon)
        for distance in (0, 1, 7):
            exact = math.exp(-rate * distance) / (1 + math.exp(rate))
            assert float(Chain(approximate(epsilon)).error(distance)) == pytest.approx(exact, rel=1e-12)
    assert isinstance(Chain(approximate("1")).error(math.inf), Ball)
    long = Chain(approximate("ln(2)"))
    # Two to the 13 bits: a head of three bits and two for every move.
    assert isinstance(long.error(2730), Fraction)
    assert isinstance(long.error(2731), Ball)
    with precision(128):
        assert abs(float(long.error(2731) * Ball(2) ** 2731) - 1 / 3) < 1e-30


# The signed distance.


@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 50)])
def test_the_signed_law_uses_all_that_it_may(delta: Fraction) -> None:
    """Neighbours are W and W + 1: the less likely side grows by exactly E times itself plus delta, up to one half."""
    epsilon, ratio = Epsilon.read("ln(3)"), 3
    yes = {half: sides_at(Fraction(half), epsilon, delta)[0] for half in range(-4, 5)}
    assert yes[0] == Fraction(1, 2)
    for low in range(-4, 4):
        assert yes[low] <= yes[low + 1]
        if yes[low] and low < 0:
            assert yes[low + 1] == min(Fraction(1, 2), ratio * yes[low] + delta)
    assert all(yes[w] + yes[-w] == 1 for w in yes)
    assert (yes[-4] == 0) is (delta > 0)


def test_signed_distances_at_the_ends() -> None:
    one = Epsilon.read("1")
    assert sides_at(math.inf, one) == (1, 0)
    assert sides_at(-math.inf, one) == (0, 1)
    zero = Epsilon.read("0")
    assert sides_at(Fraction(3), zero, Fraction(1, 10)) == (Fraction(4, 5), Fraction(1, 5))
    assert sides_at(Fraction(-3), zero, Fraction(1, 10)) == (Fraction(1, 5), Fraction(4, 5))
    assert sides_at(Fraction(9), zero, Fraction(1, 10)) == (1, 0)
    assert sides_at(Fraction(-9), zero, Fraction(1, 10)) == (0, 1)
    assert sides_at(Fraction(-9), zero) == (Fraction(1, 2), Fraction(1, 2))


def test_enclosed_and_exact_transforms_agree() -> None:
    delta = Fraction(1, 50)
    for chance in (Fraction(1, 3), Fraction(1, 100)):
        exact = stretched(chance, Epsilon.read("ln(3)"), delta)
        enclosed = stretched(Ball(chance.numerator) / chance.denominator, Epsilon.read("ln(3)"), delta)
        assert float(enclosed) == pytest.approx(float(exact), rel=1e-12, abs=1e-15)
    beta = 0.02 / (math.e - 1 + 0.04)
    assert float(stretched(Fraction(1, 3), Epsilon.read("1"), delta)) == pytest.approx(
        (1 / 3 - beta) / (1 - 2 * beta), rel=1e-12
    )
    assert stretched(Fraction(1, 3), Epsilon.read("0"), delta) == Fraction(1, 3)
    assert stretched(Fraction(1, 3), Epsilon.read("1"), Fraction(0)) == Fraction(1, 3)


def test_probabilities_that_people_read() -> None:
    assert exact_or_decimal(lambda: (Fraction(1, 3), Fraction(2, 3))) == Fraction(1, 3)
    third = exact_or_decimal(lambda: (Ball(1) / 3, Ball(2) / 3))
    assert str(third)[:42] == "0." + "3" * 40
    tiny = exact_or_decimal(lambda: ((-Ball(5000)).exp(), Ball(1)))
    assert 0 < tiny < Fraction(1, 10**2171)
    assert exact_or_decimal(lambda: (Ball(0), Ball(1))) == 0


# Sums of logarithms.

LOGS = ["0", "1/2", "3", "ln(2)", "ln(3)", "ln(9/8)", "1+ln(2)", "0.1+ln(6)"]


@pytest.mark.parametrize("first", LOGS)
@pytest.mark.parametrize("second", LOGS)
def test_arithmetic_of_logarithms(first: str, second: str) -> None:
    a, b = (LogNumber.of(Epsilon.read(text)) for text in (first, second))
    x, y = (float(Epsilon.read(text)) for text in (first, second))
    for number, value in ((a + b, x + y), (a - b, x - y), (a * 3 - b / 2, 3 * x - y / 2), (abs(b - a), abs(y - x))):
        assert float(number.ball()) == pytest.approx(value, abs=1e-12)
        assert float(number.exp()) == pytest.approx(math.exp(value), rel=1e-12)
        assert number.sign == (0 if abs(value) < 1e-12 else math.copysign(1, value))
    assert (a < b, a > b, a <= b, a == b) == (x < y, x > y, x <= y, x == y)
    assert a * 0 == ZERO
    assert sum([a, b]) == a + b


def test_powers_that_are_rational() -> None:
    half = LogNumber.of(Epsilon.read("ln(9/4)")) / 2
    assert half.rational_exp() == Fraction(3, 2)
    assert (-half * 4).rational_exp() == Fraction(16, 81)
    assert (half / 2).rational_exp() is None
    assert LogNumber.of(Epsilon.read("1")).rational_exp() is None
    two = LogNumber.of(Epsilon.read("ln(2)"))
    most = (1 << 16) // 2  # the prime 2 has two bits
    assert (two * most).rational_exp() == 2**most
    assert (two * (most + 1)).rational_exp() is None
    assert (two * -(most + 1)).rational_exp() is None


# Categories.


@pytest.mark.parametrize(("epsilon", "delta"), [("ln(2)", "1/10"), ("ln(3)", "1/1000"), ("0", "1/7"), ("1", "1/100")])
def test_from_when_on_a_category_is_always_kept(epsilon: str, delta: str) -> None:
    law = KeysLaw.at(Epsilon.read(epsilon), Fraction(delta), Neighbours.ADD_REMOVE)
    least = next(people for people in range(200) if law.kept(people)[1] == 0)
    assert law.surely_kept() == least
    assert law.kept(0)[0] == 0
    assert float(law.kept(1)[0]) == pytest.approx(float(Fraction(delta)), rel=1e-15)


def test_levels_of_categories_are_checked() -> None:
    with pytest.raises(LevelError, match="delta"):
        KeysLaw.at(Epsilon.read("1"), Fraction(0), Neighbours.ADD_REMOVE)
    with pytest.raises(LevelError, match="inf"):
        KeysLaw.at(Epsilon.read("inf"), Fraction(1, 10), Neighbours.ADD_REMOVE)


# Tables of probabilities in documents.


def test_a_grid_of_probabilities_reads_back() -> None:
    law = GridLaw(
        (((0, 0), Fraction(1, 3)), ((0, 1), Fraction(1, 2))),
        (Multiplier((0, 0), (0, 1), 0, Fraction(1, 7)), Multiplier((0, 1), (0, 0), 1, Fraction(2))),
        Fraction(1, 4),
    )
    document = law.to_document()
    assert GridLaw.read(document) == law
    assert document["multipliers"] == [["0,0", "0,1", "yes", "1/7"], ["0,1", "0,0", "no", "2"]]
    assert law.at((0, 1)) == Fraction(1, 2)
    for wrong in (
        {"yes": 3},
        {"yes": {"a": "1"}},
        {"multipliers": [["0", "1", "maybe", "1"]]},
        {"average_error": None},
    ):
        with pytest.raises(InputError):
            GridLaw.read(document | wrong)
    with pytest.raises(InputError):
        GridLaw.read({"yes": {}})


# Previews of people with levels of their own.

ERRORS = ("typical", "every_table", "strictest_for_all", "strict_left_out")
SMALL = LevelSizes(3, (0.2, 0.5, 1.0), (2, 1, 3))


def error_of(sizes: LevelSizes, name: str) -> Callable[[np.ndarray], np.ndarray]:
    function: Callable[[np.ndarray], np.ndarray] = getattr(sizes, name)
    return function


def tables_with(total: int) -> list[tuple[int, ...]]:
    return [row for row in product(*(range(size + 1) for size in SMALL.sizes)) if sum(row) == total]


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("truth", [True, False])
def test_averages_over_who_says_yes(name: str, truth: bool) -> None:
    error = error_of(SMALL, name)
    for margin in SMALL.margins(truth=truth):
        total = SMALL.total_at(margin, truth=truth)
        assert (total >= SMALL.least) is truth
        assert abs(total - (SMALL.least if truth else SMALL.least - 1)) + 1 == margin
        rows = tables_with(total)
        ways = [math.prod(math.comb(size, own) for size, own in zip(SMALL.sizes, row)) for row in rows]
        average = sum(way * error(np.array([row]))[0] for way, row in zip(ways, rows)) / sum(ways)
        assert SMALL.average_at(error, margin, truth=truth) == pytest.approx(average, rel=1e-9)
        if name in ("typical", "every_table"):
            worst = max(error(np.array([row]))[0] for row in rows)
            assert SMALL.worst_at(error, margin, truth=truth) == pytest.approx(worst, rel=1e-9)
    assert [*SMALL.margins(truth=True)] == [1, 2, 3, 4]
    assert [*SMALL.margins(truth=False)] == [1, 2, 3]


@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0])
def test_averages_over_independent_votes(chance: float) -> None:
    for name in ERRORS:
        expected = sum(
            math.prod(stats.binom.pmf(own, size, chance) for size, own in zip(SMALL.sizes, row))
            * error_of(SMALL, name)(np.array([row]))[0]
            for row in product(*(range(size + 1) for size in SMALL.sizes))
        )
        assert SMALL.average(error_of(SMALL, name), chance) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("yes", "size", "others"), [(5, 7, 9), (12, 7, 9), (0, 4, 4), (16, 7, 9), (300, 500, 700)])
def test_axes_are_the_known_distributions(yes: int, size: int, others: int) -> None:
    values, weights = hypergeometric_axis(yes, size, others)
    assert weights == pytest.approx(stats.hypergeom.pmf(values, size + others, size, yes), abs=1e-12)
    assert weights.sum() == pytest.approx(1)
    values, weights = level_accuracy._binomial_axis(size, 0.3)
    assert weights == pytest.approx(stats.binom.pmf(values, size, 0.3), abs=1e-12)
    assert hypergeometric_axis(17, 7, 9)[1].tolist() == [0.0]


def test_levels_are_sorted_merged_and_capped() -> None:
    sizes = level_sizes(4, [(1.0, 3), (0.2, 1), (0.7, 0), (1.0, 2)])
    assert sizes == LevelSizes(4, (0.2, 1.0), (1, 5))
    assert sizes.people == 6
    assert sizes.capped(0.5) == LevelSizes(4, (0.2, 0.5), (1, 5))
    assert sizes.capped(0.1) == LevelSizes(4, (0.1,), (6,))
    cap, average = sizes.best_cap(0.6)
    tried = np.geomspace(0.2, 1.0, 17)
    assert average == pytest.approx(min(sizes.capped(float(one)).average_weighted(0.6) for one in tried))
    assert sizes.capped(cap).average_weighted(0.6) == average
    nothing = level_sizes(4, [(0.0, 3), (0.5, 2), (1.0, 2)])
    assert nothing.best_cap(0.6)[0] in (0.5, 1.0)


# Scales.


def test_roots_that_are_rational() -> None:
    for base in (2, 3, 10, 1023, 1024, 1025):
        for degree in (1, 2, 3, 7):
            read = Epsilon.read(f"ln({base**degree})")
            assert rational_root(read, Fraction(1, degree)) == base
            assert rational_root(read, Fraction(2, degree)) == base**2
            if degree > 1:
                assert rational_root(Epsilon.read(f"ln({base**degree + 1})"), Fraction(1, degree)) is None
    assert rational_root(Epsilon.read("ln(9/2)"), Fraction(1, 2)) is None
    assert rational_root(Epsilon.read("ln(9/4)"), Fraction(-1, 2)) == Fraction(2, 3)


def test_both_scales_give_the_same_powers() -> None:
    levels, share = (Epsilon.read("ln(4)"), Epsilon.read("ln(9)")), Fraction(1, 2)
    exact, enclosed = RationalScale(levels, share), BallScale(levels, share)
    for height in (0, 1, -2, 5, (1, 0), (0, 1), (2, -3)):
        first, second = height if isinstance(height, tuple) else (height, 0)
        value = Fraction(2) ** -first * Fraction(3) ** -second
        assert fraction(exact.power(height)) == value
        assert float(enclosed.power(height)) == pytest.approx(float(value), rel=1e-12)
    assert enclosed.between(Ball(1), Ball(3)).contains(2)
    assert [float(enclosed.clipped(Ball(one))) for one in (-1, 2)] == [0, 1]
    assert [exact.clipped(Rational(one)) for one in (-1, 2)] == [0, 1]
    for scale, number in ((exact, Rational), (enclosed, Ball)):
        assert scale.places_around(number(7) / 2, 0, 10) == (3, 4)
        assert scale.places_around(number(-1), 0, 10) == (0, 0)
        assert scale.places_around(number(11), 0, 10) == (10, 10)
        assert scale.places_around(number(4), 0, 10) == (4, 4)
    assert enclosed.places_around(Ball(1) / Ball(0), 2, 9) == (2, 9)
    with pytest.raises(LevelError):
        RationalScale((Epsilon.read("1"),), Fraction(1)).power(1)
    with pytest.raises(LevelError):
        RationalScale((Epsilon.read("ln(2)"),), Fraction(1, 2)).power(1)


# Several quantiles.


@pytest.mark.parametrize(
    ("bins", "epsilon", "persons", "joint"),
    [
        (49, "0.5", None, False),
        (50, "0.5", None, True),
        (50, "1", None, False),
        (50, "0.99", None, True),
        (10, "0.8", 100, True),
        (10, "0.81", 100, False),
        (10, "5", 0, True),
    ],
)
def test_when_quartiles_are_drawn_jointly(bins: int, epsilon: str, persons: int | None, joint: bool) -> None:
    chosen = several_quantiles(bins, QUARTERS, level(epsilon), persons=persons)
    assert isinstance(chosen, JointQuartiles) is joint
    assert isinstance(
        several_quantiles(bins, QUARTERS, level(epsilon), persons=persons, joint=False), RepeatedQuantiles
    )
    assert isinstance(several_quantiles(bins, QUARTERS[:2], level(epsilon), persons=persons), RepeatedQuantiles)


def test_the_parts_of_several_quantiles_add_up() -> None:
    repeated = several_quantiles(5, QUARTERS[:2], level("1", "1/10"))
    assert isinstance(repeated, RepeatedQuantiles)
    assert repeated.ranks == QUARTERS[:2]
    assert [(law.share, law.level.delta) for law in repeated.laws] == [(Fraction(1, 2), Fraction(1, 20))] * 2
    joint = several_quantiles(60, QUARTERS, level("1/2", "3/10"), weights=tuple(map(Fraction, range(1, 61))))
    assert isinstance(joint, JointQuartiles)
    assert joint.ranks == QUARTERS
    lower, upper = joint.lower(20), joint.upper(20)
    assert lower is not None
    assert upper is not None
    assert (joint.middle.bins, lower.bins, upper.bins) == (60, 21, 40)
    for law in (joint.middle, lower, upper):
        assert (law.share, law.level.delta, law.rank) == (Fraction(1, 2), Fraction(1, 10), Fraction(1, 2))
    # Weights may be scaled; those of a half are those of its own bins.
    assert upper.weights is not None
    assert lower.weights is not None
    assert upper.weights[0] == lower.weights[-1]
    assert upper.weights[0] / lower.weights[0] == 21
    assert joint.lower(0) is None
    assert joint.upper(59) is None
    assert joint.lower(1) is not None


def test_half_of_the_median_s_bin_goes_to_either_side() -> None:
    joint = several_quantiles(60, QUARTERS, level("1/2"))
    assert isinstance(joint, JointQuartiles)
    cells = {0: 4, 7: 5, 9: 6}
    assert joint.lower_cells(cells, 7) == {0: (4,), 7: (Fraction(5, 2),)}
    assert joint.upper_cells(cells, 7) == {0: (Fraction(5, 2),), 2: (6,)}


@pytest.mark.parametrize("ranks", [(), (Fraction(1, 2), Fraction(1, 2)), (Fraction(3, 4), Fraction(1, 2))])
def test_ranks_rise(ranks: tuple[Fraction, ...]) -> None:
    with pytest.raises(QuestionError):
        several_quantiles(5, ranks, level("1"))


# Settings.


def test_aims_are_read() -> None:
    assert (read_aim("typical"), read_aim("every table")) == (Aim.TYPICAL, Aim.EVERY_TABLE)
    with pytest.raises(LevelError):
        read_aim("best")


def test_when_levels_are_personal() -> None:
    one, half = Epsilon.read("1"), Epsilon.read("1/2")
    base = Setting(approximate("1"), Neighbours.SUBSTITUTION)
    assert not base.personal
    assert not Setting(approximate("1"), Neighbours.SUBSTITUTION, levels=((one, 5),)).personal
    assert Setting(approximate("1"), Neighbours.SUBSTITUTION, levels=((half, 1), (one, 5))).personal
    table = Table({0: 2, 2: 5})
    assert (table.people, table.dense(4), repr(table)) == (7, (2, 0, 5, 0), "Table(private)")
