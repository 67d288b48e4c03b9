"""Noise on whole numbers and the smoothed crossing: golden vectors, exact privacy on every small table, exact draws."""

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.certify.numbers import direct_sums
from optimaldp.errors import NotCertifiedError
from optimaldp.laws import crossing
from optimaldp.laws.crossing import CrossingLaw, Family, LadderLaw, Sums, ladder, mean_family, ratio_family
from optimaldp.laws.law import Loss
from optimaldp.laws.number_noise import NoiseLaw, bayes_step, best_width, noise_law_for
from optimaldp.privacy import Epsilon, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.sampling import SystemBits, enumerate_bits

F = Fraction
ENTRIES = json.loads((Path(__file__).parents[1] / "vectors" / "numbers.json").read_text())["entries"]


def entries(kind):
    found = [entry for entry in ENTRIES if entry["kind"] == kind]
    assert found
    return found


def level_of(entry):
    return Epsilon.read(f"ln({1 / F(entry['b'])})")


def root_of(entry):
    base, power = entry["root"].split("= (")[1].split(")^")
    return approximate(Epsilon.read(f"ln({1 / F(base) ** (2 * int(power))})"))


@pytest.mark.parametrize("entry", entries("cut_geometric") + entries("staircase") + entries("staircase_cut"))
def test_noise_has_the_vectors_numbers(entry):
    law = NoiseLaw(level_of(entry), F(entry.get("delta", 0)), entry.get("Delta", 1), entry.get("r", 1))
    assert [law.probability(k) for k in range(len(entry["p"]))] == [F(p) for p in entry["p"]]
    assert [law.tail(k) for k in entry.get("tail_at", [])] == [F(p) for p in entry.get("tail", [])]
    assert law.largest == entry.get("largest")
    assert "width95" not in entry or law.half_width() == entry["width95"]
    if "mean_abs" in entry:
        assert (law.mean_error, law.mean_square) == (F(entry["mean_abs"]), F(entry["mean_square"]))
    if law.largest is not None:
        inside = range(-law.largest, law.largest + 1)
        assert sum(law.probability(k) for k in inside) == 1
        assert sum(abs(k) * law.probability(k) for k in inside) == law.mean_error


@pytest.mark.parametrize("entry", entries("staircase_best_r"))
def test_the_best_width(entry):
    assert best_width(entry["Delta"], level_of(entry)) == entry["L1"]
    assert best_width(entry["Delta"], level_of(entry), Loss.SQUARED) == entry["L2"]


@pytest.mark.parametrize("entry", entries("count_clamped"))
def test_clamped_counts(entry):
    law, n, true = noise_law_for(level_of(entry), F(entry["delta"])), entry["n"], entry["true"]
    shown = [law.probability(z - true) for z in range(n + 1)]
    shown[0], shown[n] = 1 - law.tail(-true), law.tail(n - 1 - true)
    assert shown == [F(p) for p in entry["law"]]


@pytest.mark.parametrize("entry", entries("count_remap"))
def test_the_bayes_step(entry):
    law, n, prior = noise_law_for(level_of(entry)), entry["n"], [F(p) for p in entry["prior"]]
    loss = {"L1": Loss.ABSOLUTE, "L2": Loss.SQUARED, "01": Loss.EXACT}[entry["loss"]]
    assert [bayes_step(z, prior, law, loss) for z in range(n + 1)] == entry["remap"]
    cost = {Loss.ABSOLUTE: abs, Loss.SQUARED: lambda e: e * e, Loss.EXACT: bool}[loss]
    total = F(0)
    for true, weight in enumerate(prior):
        for z in range(n + 1):
            chance = law.probability(z - true)
            chance = 1 - law.tail(-true) if z == 0 else law.tail(n - 1 - true) if z == n else chance
            total += weight * chance * cost(entry["remap"][z] - true)
    assert total == F(entry["expected_loss"])


def test_a_bayes_step_at_a_real_level_breaks_ties_downwards():
    law = noise_law_for(Epsilon.read("0.7"))
    assert bayes_step(2, [1, 1, 1, 1, 1], law) == 2
    assert bayes_step(1, [1, 0, 1], law, Loss.EXACT) == 0  # both are as likely
    assert bayes_step(50, [0, 1, 0], noise_law_for(Epsilon.read(1), F(1, 100))) == 2  # the prior excludes it: clamped


@pytest.mark.parametrize("loss", list(Loss))
@pytest.mark.parametrize(("steps", "ratio"), [(7, "2"), (20, "9/8"), (100, "3"), (130, "30")])
def test_no_other_width_is_better(steps, ratio, loss):
    epsilon = Epsilon.read(f"ln({ratio})")
    chosen = best_width(steps, epsilon, loss)
    laws = [NoiseLaw(epsilon, F(0), steps, width) for width in range(1, steps + 1)]
    cost = {
        Loss.ABSOLUTE: lambda law: law.mean_error,
        Loss.SQUARED: lambda law: law.mean_square,
        Loss.EXACT: lambda law: -law.probability(0),
    }[loss]
    assert cost(laws[chosen - 1]) == min(map(cost, laws))


@pytest.mark.parametrize("delta", [F(0), F(1, 50), F(1, 4)])
@pytest.mark.parametrize(("steps", "width"), [(1, 1), (2, 1), (3, 2), (5, 2), (4, 4)])
def test_noise_is_private_at_every_shift_and_exactly_so(steps, width, delta):
    law, ratio = NoiseLaw(Epsilon.read("ln(2)"), delta, steps, width), F(2)
    reach = 4 * steps if law.largest is None else law.largest + steps
    chances = {k: law.probability(k) for k in range(-reach - steps, reach + steps + 1)}
    worst_ratio, worst_excess = F(0), F(0)
    for shift in range(1, steps + 1):
        for sign in (1, -1):
            pairs = [(chances[k], chances[k + sign * shift]) for k in range(-reach, reach + 1)]
            worst_excess = max(worst_excess, sum(max(F(0), p - ratio * q) for p, q in pairs))
            worst_ratio = max(
                worst_ratio, max(p / q for p, q in pairs if q and law.largest is None) if not delta else 0
            )
    assert worst_excess <= delta
    if delta:
        assert worst_excess == delta or law.largest < steps
    else:
        assert worst_ratio == ratio


def test_epsilon_zero_has_a_branch_of_its_own():
    law = noise_law_for(Epsilon.read(0), F(1, 10))
    chances = {k: law.probability(k) for k in range(-7, 8)}
    assert (sum(chances.values()), law.largest) == (1, 5)
    assert sum(max(F(0), chances[k] - chances.get(k + 1, F(0))) for k in chances) == F(1, 10)
    assert sum(abs(k) * p for k, p in chances.items()) == law.mean_error


@pytest.mark.parametrize(
    "law",
    [
        NoiseLaw(Epsilon.read("ln(2)"), F(0), 3, 2),
        NoiseLaw(Epsilon.read("ln(3)"), F(1, 20), 1, 1),
        NoiseLaw(Epsilon.read(0), F(1, 6), 1, 1),
        NoiseLaw(Epsilon.read("0.9"), F(1, 20), 4, 2, F(7, 10)),
    ],
    ids=str,
)
def test_draws_follow_the_law_by_all_sequences_of_bits(law):
    drawn = Counter()
    for outcome, chance in enumerate_bits(lambda source: law.draw(source, first_bits=1), depth=10):
        drawn[outcome] += chance
    for k in range(-8, 9):
        assert drawn[k] <= F(law.probability(k)) <= drawn[k] + drawn[None]
    assert drawn[None] < F(1, 10)


def test_small_levels_and_far_numbers_are_drawn_quickly():
    law = noise_law_for(Epsilon.read("1e-9"), F(1, 10**12), 10**6)
    assert abs(law.draw(SystemBits())) <= law.largest
    assert 0 < law.tail(5 * 10**15) < F(1, 100)
    assert law.tail(10**16) == 0


def tables(values, most):
    """Every table of up to *most* people over *values*, and its neighbours under both relations."""
    return [table for n in range(most + 1) for table in combinations_with_replacement(values, n)]


def moves(values, table, replaced):
    rest = [table[:i] + table[i + 1 :] for i in range(len(table))]
    if not replaced:
        return {tuple(sorted(one, key=repr)) for one in rest}
    return {tuple(sorted((*one, value), key=repr)) for one in rest for value in values}


def excess(p, q, ratio):
    return sum(max(F(0), a - ratio * b) for a, b in zip(p, q))


NOTHING = None
CASES = {
    "mean replaced": (mean_family(F(0), F(2), F(1), replaced=True), [0, 1, 2, NOTHING], "3^12", (True, False)),
    "mean come and go": (mean_family(F(0), F(2), F(1), replaced=False), [0, 1, 2, NOTHING], "3^12", (False,)),
    "negative mean": (mean_family(F(-1), F(1), F(1), replaced=False), [-1, 0, 1, NOTHING], "3^12", (False,)),
    "ratio replaced": (
        ratio_family((F(1), F(1)), (F(0), F(2), F(1)), replaced=True),
        [(0, 0), (0, 1), (1, 0), (1, 1)],
        "2^60",
        (True, False),
    ),
    "ratio come and go": (
        ratio_family((F(1), F(1)), (F(0), F(2), F(1)), replaced=False),
        [(0, 0), (0, 1), (1, 0), (1, 1)],
        "2^12",
        (False,),
    ),
}


def sums_of_table(table):
    pairs = [(1, value) if isinstance(value, int) else value[::-1] for value in table if value is not NOTHING]
    return Sums((F(sum(x for x, _ in pairs)),), (F(sum(y for _, y in pairs)),))


@pytest.mark.parametrize("delta", [F(0), F(1, 40)])
@pytest.mark.parametrize("case", CASES)
def test_a_crossing_is_private_at_every_small_table(case, delta):
    family, values, text, relations = CASES[case]
    base, power = text.split("^")
    root = F(int(base) + 4, int(base) + 3)  # a rational whose power is e^epsilon, so that every number is exact
    ratio = root ** int(power)
    law = CrossingLaw(family, approximate(Epsilon.read(f"ln({ratio})"), delta))
    rows = {}
    for table in tables(values, 3):
        row = law.probabilities(sums_of_table(table), exact=True)
        assert sum(row) == 1
        assert min(row) >= 0 if delta else min(row) > 0
        rows[tuple(sorted(table, key=repr))] = row
    pairs = 0
    for replaced in relations:
        for table, row in rows.items():
            for other in moves(values, table, replaced):
                assert excess(row, rows[other], ratio) <= delta
                assert excess(rows[other], row, ratio) <= delta
                pairs += 1
    assert pairs > 50


def test_a_single_cut_of_delta_is_too_much_for_a_ratio():
    """The counterexample of the page: one person (1, 1) more moves the lower cut down and the upper one up."""
    delta, ratio = F(1, 10), F(201, 200) ** 200
    spent = {}
    for both in (True, False):
        family = Family(F(0), F(1), 3, ((F(1), F(0)), (F(0), F(1))), both, (F(1, 100), F(100)))
        law = CrossingLaw(family, approximate(Epsilon.read(f"ln({ratio})"), delta))
        one, two = (law.probabilities(Sums((F(n),), (F(n),)), exact=True) for n in (1, 2))
        spent[both] = max(excess(one, two, ratio), excess(two, one, ratio)) / delta
    assert spent[True] < 1 < F(13, 10) < spent[False]


@pytest.mark.parametrize("people", [0, 1, 30])
@pytest.mark.parametrize("replaced", [True, False])
def test_trees_of_sums_and_closed_forms_agree_with_direct_sums(replaced, people):
    family = mean_family(F(0), F(10), F(1, 5), replaced=replaced)
    law = CrossingLaw(family, approximate(Epsilon.read("0.8"), F(1, 1000)))
    sums = Sums((F(people),), (F(people) * F(7, 2),))
    with precision(160):
        epsilon = Ball("0.8")
        heights = [(family.cut(t) * people - sums.above[0]) / family.most(family.cut(t)) for t in range(50)]
        left = [(epsilon * ball(h) / 2).exp() for h in heights]
        right = [(-epsilon * ball(h) / 2).exp() for h in heights]
        delta = ball(F(1, 1000))
        beta = delta / (epsilon.exp() - 1 + 2 * delta)
        for near in (True, False):
            ends = law.ends(sums, near=near)
            for t in range(50):
                rho = sum(left[: t + 1], Ball(0)) / sum(right[t:], Ball(0))
                plain = rho / 2 if rho <= 1 else 1 - 1 / (2 * rho)
                wanted = ((plain - beta) / (1 - 2 * beta)).max(Ball(0)).min(Ball(1))
                assert abs(ends.end(t) - wanted) < Ball(2) ** -60
                assert abs(ends.rest(t) + wanted - 1) < Ball(2) ** -60


FAMILIES = {
    "mean": lambda answers, low, top, bottom: mean_family(low, low + top, top / (answers - 1), replaced=False),
    "ratio, replaced": lambda answers, low, top, bottom: ratio_family(
        (top, bottom), (F(0), F(50), F(50, answers - 1)), replaced=True
    ),
    "ratio": lambda answers, low, top, bottom: ratio_family(
        (top, bottom), (F(0), F(50), F(50, answers - 1)), replaced=False
    ),
}


@st.composite
def large_crossings(draw):
    """A law without a closed form, two sums for each level, and some cuts: steep and flat, with kinks and without."""
    answers = draw(st.sampled_from([2, 3, 33, 64, 500, 3000]))
    low, top, bottom = (F(draw(st.integers(*ends))) for ends in ((-5, 5), (1, 500), (1, 30)))
    name = draw(st.sampled_from(sorted(FAMILIES)))
    people = draw(st.lists(st.sampled_from([0, 1, 40, 10**4, 10**8]), min_size=1, max_size=2))
    parts = [F(draw(st.integers(0, 20)), 20) for _ in people]
    if name == "mean":
        sums = Sums(tuple(map(F, people)), tuple(n * (low + part * top) for n, part in zip(people, parts)))
    else:
        sums = Sums(tuple(n * bottom / 3 for n in people), tuple(n * part * top for n, part in zip(people, parts)))
    levels = tuple(Epsilon.read(draw(st.sampled_from(["0.001", "0.3", "4"]))) for _ in people)
    own = None if len(people) == 1 else levels
    family = FAMILIES[name](answers, low, top, bottom)
    law = CrossingLaw(family, approximate(max(levels), draw(st.sampled_from([F(0), F(1, 90)]))), F(9, 10), own)
    cuts = draw(st.lists(st.integers(0, answers - 2), min_size=1, max_size=4))
    return law, sums, [0, *cuts, answers - 2]


@given(large_crossings())
@settings(max_examples=12, deadline=None)
def test_blocks_of_cuts_sum_up_to_what_one_by_one_gives(case):
    """The quick sums against the recursion over all cuts, and against the referee's integrals: one number, three ways."""
    law, sums, cuts = case
    with precision(192):
        quick, slow = law.ends(sums, near=True), law.ends(sums)
        growth, delta = (law.level.epsilon.ball() * ball(law.share)).exp(), ball(law.level.delta)
        beta = delta / ((2 if law.family.both_tails else 1) * (growth - 1) + 2 * delta)
        for cut in cuts:
            direct = direct_sums.by_direct_sums(cut, law.family.answers, direct_sums.exponents(law, sums))
            kept = ((direct - beta) / (1 - 2 * beta)).max(Ball(0)).min(Ball(1))
            # The referee's integrals leave out the end of a series: they are the widest, and enclose what they leave out.
            for known, bits in ((quick.end(cut), 150), (slow.end(cut), 150), (kept, 30)):
                assert quick.end(cut).overlaps(known)
                assert known.rad() < Ball(2) ** -bits


@pytest.mark.parametrize(("slope", "bend"), [("0.9", "0.05"), ("-1.5", "0.06"), ("0.2", "-0.01")])
def test_what_a_series_leaves_out_is_enclosed(slope, bend):
    """With few terms the sum is rough, and still encloses the number."""
    with precision(256):
        slope, bend = Ball(slope), Ball(bend)
        places = [Ball(k) / 64 for k in range(-63, 64, 2)]
        known = sum(((slope * s / (1 + bend * s)).exp() for s in places), Ball(0))
        for degree in (2, 6, 12):
            rough = crossing._sum_of_series(slope, bend, 3, 6, degree)
            assert rough.overlaps(known)
            assert not rough.mid().overlaps(known), "few terms leave something out"


@pytest.mark.parametrize("sign", [1, -1])
def test_what_an_integral_leaves_out_is_enclosed(sign):
    law = CrossingLaw(mean_family(F(0), F(10), F(1, 30), replaced=False), approximate(Epsilon.read(1)))
    with precision(256):
        exponent = direct_sums.exponents(law, Sums((F(40),), (F(130),)))
        ends = (10, 110)
        here = exponent(ends[sign > 0])
        known = sum(((sign * (exponent(i) - here) / 2).exp() for i in range(ends[0], ends[1] + 1)), Ball(0))
        for terms in (2, 5, 10):
            rough = direct_sums.as_integral(*ends, exponent, here, sign, terms)
            assert rough.overlaps(known)
            assert not rough.mid().overlaps(known), "few terms leave something out"
        assert direct_sums.as_integral(100, 200, exponent, here, sign, 10) is None, "D has a kink there"


def test_a_million_answers_without_a_closed_form_are_drawn_and_confirmed():
    """The same words of bits on both sides of an answer's ends; the second reading refuses the answer beside it."""
    law = CrossingLaw(
        ratio_family((F(500), F(30)), (F(0), F(50), F(1, 20000)), replaced=False), approximate(Epsilon.read(1))
    )
    sums = Sums((F(4500),), (F(60000),))
    confirm = direct_sums.confirm_crossing(law, sums)
    for word in (2**62, 2**63 + 2**40, 2**64 - 2**50):
        place = law.draw(sums, ScriptedBits(word))
        confirm(word, 64, place)
        for other in (place - 1, place + 1):
            with pytest.raises(NotCertifiedError):
                confirm(word, 64, other)


class ScriptedBits:
    def __init__(self, word):
        self._word = word

    def take(self, count):
        assert count == 64, "one word decides"
        return self._word


@pytest.mark.parametrize("replaced", [True, False])
def test_people_with_levels_of_their_own_lose_their_own_level(replaced):
    """Exact: two levels, e^(1/12) and twice that, every table of up to three people with a level each."""
    root = F(11, 10)
    levels = (Epsilon.read(f"ln({root**4})"), Epsilon.read(f"ln({root**8})"))
    family = mean_family(F(0), F(1), F(1), replaced=replaced)
    law = CrossingLaw(family, approximate(levels[1]), levels=levels)
    people = [(level, value) for level in (0, 1) for value in (0, 1, NOTHING)]

    def row(table):
        of = [[value for level, value in table if level == own and value is not NOTHING] for own in (0, 1)]
        return law.probabilities(Sums(*(tuple(F(f(x)) for x in of) for f in (len, sum))), exact=True)

    for table in tables(people, 3):
        here = row(table)
        for i, (level, _) in enumerate(table):
            for value in (0, 1, NOTHING) if replaced else (NOTHING,):
                there = row((*table[:i], (level, value), *table[i + 1 :]))
                assert excess(here, there, root ** (4 * (level + 1))) == 0


def test_the_ladder_is_private_for_every_move_of_one_person():
    edges = ladder(F(9), F(1))
    assert edges == tuple(map(F, (1, 2, 3, 4, 5, 7, 9)))
    law = LadderLaw(edges, Epsilon.read(2), F(3, 10))

    def row(values):
        above = [sum(value > edge for value in values) for edge in edges[:-1]]
        ends = [law.ends(above).end(t) for t in range(len(above))]
        return [b - a for a, b in zip([Ball(0), *ends], [*ends, Ball(1)])]

    with precision(200):
        ratio = (ball(F(6, 10))).exp() + Ball(2) ** -100
        for values in ([], [9], [0, 3, 9], [2] * 5, [9] * 12):
            for value in (*range(10), None):
                for rest in {tuple(values[1:]), tuple(values)} if values else {()}:
                    other = [*rest] if value is None else [*rest, value]
                    for p, q in zip(row(values), row(other)):
                        assert p < ratio * q
                        assert q < ratio * p


def test_a_million_answers_are_drawn_from_a_closed_form():
    family = mean_family(F(0), F(100), F(1, 10**4), replaced=True)
    law = CrossingLaw(family, approximate(Epsilon.read(1)))
    for people in (0, 1, 10**7):
        place = law.draw(Sums((F(people),), (F(37 * people),)), SystemBits())
        assert 0 <= place <= 10**6
    assert abs(family.answer(place) - 37) < F(1, 10)
