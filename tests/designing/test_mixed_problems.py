"""Random problems with levels of all kinds and two to four answers: none wrong, none refused without a true reason."""

from __future__ import annotations

import pytest
from mixed_problems import complaint, float_complaint, one_way_level, random_problem

QUICK, ALL = 60, 3000
ONE_WAY = 1000


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, QUICK, 15))
def test_a_sample(start):
    wrong = {seed: words for seed in range(start, start + 15) if (words := complaint(random_problem(seed)))}
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, ALL, 60))
def test_three_thousand(start):
    wrong = {seed: words for seed in range(start, start + 60) if (words := complaint(random_problem(seed)))}
    assert not wrong


@pytest.mark.long
@pytest.mark.parametrize("start", range(0, QUICK, 15))
def test_a_sample_of_promises_in_one_direction(start):
    seeds = range(start, start + 15)
    wrong = {s: words for s in seeds if (words := complaint(random_problem(s, random_level=one_way_level)))}
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, ONE_WAY, 60))
def test_a_thousand_promises_in_one_direction(start):
    seeds = range(start, start + 60)
    wrong = {s: words for s in seeds if (words := complaint(random_problem(s, random_level=one_way_level)))}
    assert not wrong


# Given values that are sure, and tight: floats have no room for them, which is no reason to call them infeasible.
SURE_AND_TIGHT = (30920,)


@pytest.mark.long
@pytest.mark.parametrize("start", range(30000, 30100, 25))
def test_floats_say_what_rationals_say(start):
    assert not {s: words for s in range(start, start + 25) if (words := float_complaint(random_problem(s)))}
    assert not {s: words for s in SURE_AND_TIGHT if (words := float_complaint(random_problem(s)))}
