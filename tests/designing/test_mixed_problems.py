"""Random problems with levels of all kinds and two to four answers: none wrong, none refused without a true reason."""

from __future__ import annotations

import pytest
from mixed_problems import complaint, random_problem

QUICK, ALL = 60, 3000


@pytest.mark.parametrize("start", range(0, QUICK, 15))
def test_a_sample(start):
    wrong = {seed: words for seed in range(start, start + 15) if (words := complaint(random_problem(seed)))}
    assert not wrong


@pytest.mark.slow
@pytest.mark.parametrize("start", range(QUICK, ALL, 60))
def test_three_thousand(start):
    wrong = {seed: words for seed in range(start, start + 60) if (words := complaint(random_problem(seed)))}
    assert not wrong
