"""Stated intervals cover at least what they say: by the exact law of 200 made-up tables, each recorded number and its interval.

Nothing is sampled. What is added up is a lower bound: noise that is too far away to be listed counts as a miss. Ends of intervals
are the doubles that a document writes, so the truth is compared as a double too: rounding to the nearest keeps the order.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.laws.crossing import Sums
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.privacy.balls import ball, lower, precision
from optimaldp.questions import parse

F = Fraction
LEVELS = ["0.3", "0.8", "ln(2)", "1.7", "4"]
SURE = ["0.8", "0.95", "0.99"]
_ENOUGH = F(1, 10**4)  # of noise that is not listed


def settings(dice: random.Random, people: int, *, replaced: bool | None = None, deltas: bool = True) -> Setting:
    relation = dice.choice([True, False]) if replaced is None else replaced
    at = level(dice.choice(LEVELS), dice.choice(["0", "1/100"]) if deltas else "0")
    return Setting(at, Neighbours.SUBSTITUTION if relation else Neighbours.ADD_REMOVE, people if relation else None)


def values(dice: random.Random, low: int, high: int) -> list[int | None]:
    """People's values: all alike, at the two ends, or anywhere; some have none."""
    people = dice.choice([1, 2, 7, 30, 200])
    shape = dice.choice(["alike", "ends", "anywhere"])
    alike = dice.randint(low, high)
    drawn = {
        "alike": lambda: alike,
        "ends": lambda: dice.choice([low, high]),
        "anywhere": lambda: dice.randint(low, high),
    }
    return [None if dice.random() < 0.2 else drawn[shape]() for _ in range(people)]


def covered_by_noise(mechanism: Any, z: int, truth: Fraction) -> Fraction:
    """The probability that the stated interval holds the truth, from the law of the noise and the details of each answer."""
    noise, linear = mechanism.noise(), mechanism.linear()
    last = noise.half_width(mechanism.question.said.confidence) + noise.sensitivity
    whole = F(0)
    for away in range(-last, last + 1):
        low, high = mechanism.details_of(linear.value(z + away), {})["interval"]
        if low <= float(truth) <= high:
            whole += F(noise.probability(away))
    return whole


def linear_cases() -> Iterator[tuple[str, Setting, int, Fraction, Fraction]]:
    dice = random.Random(28)
    for number in range(150):
        sure = dice.choice(SURE)
        if number < 60:
            people = dice.choice([1, 5, 60, 10**6])
            yes = dice.choice([0, people, dice.randint(0, people)])
            setting = settings(dice, people)
            share = number % 2 and setting.people is not None
            text = f"{'share' if share else 'count'}(a, confidence={sure})"
            yield text, setting, yes, F(yes, people) if share else F(yes), F(sure)
            continue
        low, high = dice.choice([(0, 9), (1, 4), (-3, 5), (-6, -2), (0, 30)])
        listed = values(dice, low, high)
        if number < 110:
            total = sum(value for value in listed if value is not None)
            text = f"sum(v, range=[{low}, {high}], confidence={sure})"
            yield text, settings(dice, len(listed)), total, F(total), F(sure)
            continue
        known = [value if value is not None else low for value in listed]
        text = f"mean(v, range=[{low}, {high}], complete=true, confidence={sure})"
        setting = settings(dice, len(known), replaced=True)
        yield text, setting, sum(value - low for value in known), F(sum(known), len(known)), F(sure)


@pytest.mark.slow
def test_intervals_of_counts_sums_and_means_of_a_public_number() -> None:
    tried, tight = 0, 0
    for text, setting, z, truth, sure in linear_cases():
        mechanism: Any = parse(text).mechanism(setting)
        assert mechanism.linear().value(z) == truth, "the table has this number"
        covered = covered_by_noise(mechanism, z, truth)
        assert covered >= sure, (text, setting)
        tried, tight = tried + 1, tight + (covered < sure + F(1, 50))
    assert tried == 150
    assert tight > 20, "and many intervals are no wider than they have to be"


def covered_by_crossing(mechanism: Any, people: int, total: int) -> Fraction:
    """The same for an interval that was bought: over all answers of the crossing and the noise on the number of people."""
    law, noise, truth = mechanism.crossing(), mechanism.counting(), F(total, people)
    with precision(160):
        chances = [max(F(0), lower(ball(p))) for p in law.probabilities(Sums((F(people),), (F(total),)))]
    last = noise.half_width(1 - _ENOUGH)
    ways = [(people + away, F(noise.probability(away))) for away in range(-last, last + 1)]
    whole = F(0)
    for place, chance in enumerate(chances):
        answer = law.family.answer(place)
        for said, weight in ways if chance > _ENOUGH**2 else ():
            low, high = mechanism.details_of(answer, {"people": said})["interval"]
            whole += chance * weight * (low <= float(truth) <= high)
    return whole


@pytest.mark.slow
def test_intervals_that_are_bought_for_a_mean_of_some_people() -> None:
    dice, tried, informative = random.Random(29), 0, 0
    while tried < 50:
        low, high = dice.choice([(0, 9), (-3, 5), (18, 48)])
        known = [value for value in values(dice, low, high) if value is not None]
        if not known:
            continue  # nobody has a value: there is no number to cover
        setting = Setting(
            level(dice.choice(["1", "ln(6)", "4", "9"])),
            dice.choice([Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE]),
            None,
        )
        sure = dice.choice(["0.8", "0.95"])
        gap = F(high - low, dice.choice([3, 10, 24]))
        text = f"mean(v, range=[{low}, {high}], grid={gap}, interval=true, confidence={sure})"
        mechanism: Any = parse(text).mechanism(setting)
        assert covered_by_crossing(mechanism, len(known), sum(known)) >= F(sure), (text, setting, len(known))
        tried += 1
        shown = mechanism.details_of(law_middle(mechanism), {"people": len(known)})["interval"]
        informative += shown != [low, high]
    assert informative > 10, "and some of them are narrower than the range"


def law_middle(mechanism: Any) -> Fraction:
    family = mechanism.family()
    return family.answer(family.answers // 2)


@given(
    st.fractions(0, 1, max_denominator=10**6),
    st.fractions(0, 2, max_denominator=10**6),
    st.sampled_from(["count", "share"]),
)
def test_a_rounded_number_says_no_smaller_error(exact: Fraction, width: Fraction, kind: str) -> None:
    """The interval as somebody reads it holds the stated one: rounding the number and its error never costs coverage."""
    details = {
        "exact": str(exact),
        "interval": (exact - width, exact + width),
        "confidence": "0.95",
        "largest_error": str(3 * width),
    }
    said = parse(f"{kind}(a)").number_words(details, None).replace(", 95 %", "")
    shown, near, never = (F(number) / (100 if kind == "share" else 1) for number in re.findall(r"[\d.]+", said))
    assert shown - near <= exact - width
    assert exact + width <= shown + near
    assert abs(shown - exact) + 3 * width <= never


def test_the_error_of_several_groups_is_that_of_the_smallest() -> None:
    table = pa.table({"a": [1] * 30, "g": ["x"] * 20 + ["y"] * 10})
    groups = {"by": "g", "groups": ["x", "y"], "public_groups": True}
    for asked in ("share(a = 1) >= 0.5", "mean(a, range=[0, 3])", "median(a, bins=[0, 1, 2, 3])"):
        assert odp.verify(odp.release(table, asked, epsilon=1, **groups)).holds
    made = odp.release(table, "share(a = 1)", epsilon=1, **groups)
    assert odp.verify(made).holds
    assert made.statement["reliable"].startswith("In y, the smallest group: within 30 points of the truth")
    among = "share(a = 1 among g = 'x') - share(a = 1 among g = 'y')"
    gap = odp.release(table, among, epsilon=1, public_groups=True)
    assert "depends on the sizes" in gap.statement["reliable"]
    assert odp.preview(among, epsilon=1, public_groups=True).sentences() == [gap.statement["reliable"]]


def test_several_quantiles_are_as_reliable_as_their_part_of_epsilon() -> None:
    bins = "bins=[0, 1, 2, 3, 4]"
    both = parse(f"quantiles(x, [0.5, 0.9], {bins})").mechanism(Setting(level(1), Neighbours.ADD_REMOVE)).reliability()
    alone = parse(f"median(x, {bins})").mechanism(Setting(level("0.5"), Neighbours.ADD_REMOVE)).reliability()
    assert both == f"The quantile 0.5, with 1/2 of epsilon: a{alone[1:]}"
