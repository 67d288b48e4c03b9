"""Priors over who says yes: what is read, what is written, and that their weights are those of all people one by one."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimaldp.errors import InputError, LevelError
from optimaldp.laws.grid_law import GridLaw, Multiplier
from optimaldp.laws.law import Aim, read_aim
from optimaldp.laws.prior import Prior, read_prior


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ({"prior": 0.3}, "prior: 0.3"),
        ({"prior": "1/3"}, "prior: 1/3"),
        ("prior: 0.3", "prior: 0.3"),
        ("prior:1/2", "prior: 0.5"),
        ({"prior": [0, "1/3", "2/3"]}, "prior: [0, 1/3, 2/3]"),
        ("prior: [0.25, 0.5, 0.25]", "prior: [0.25, 0.5, 0.25]"),
    ],
)
def test_an_aim_with_a_prior_is_written_in_two_ways_and_reads_back(written: Any, text: str) -> None:
    aim = read_aim(written)
    assert isinstance(aim, Prior)
    assert str(aim) == text
    assert read_aim(str(aim)) == aim == read_aim(aim)


def test_a_prior_says_over_which_votes_it_averages() -> None:
    assert read_prior({"prior": 0.25}).words == "votes in which everybody says yes independently with chance 0.25"
    assert read_prior({"prior": ["1/2", "1/4", "1/4"]}).words == "votes with the given prior of how many say yes"


def test_the_other_aims_are_words() -> None:
    assert read_aim("typical") is Aim.TYPICAL
    assert read_aim("every table") is read_aim("every-table") is Aim.EVERY_TABLE


@pytest.mark.parametrize(
    "written",
    [
        "prior",
        "prior:",
        "prior: much",
        "prior: 2",
        {"prior": -1},
        {"prior": None},
        {"chance": 0.5},
        {},
        "prior: [1, 1]",
        {"prior": [0.5, 0.6]},
        {"prior": []},
        {"prior": 0.5, "more": 1},
        "best",
        "typical: 0.5",
    ],
)
def test_what_is_no_aim_is_refused_with_the_way_out(written: Any) -> None:
    with pytest.raises(LevelError, match="write"):
        read_aim(written)


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=3).filter(lambda sizes: sum(sizes) <= 6),
    st.fractions(0, 1, max_denominator=5),
)
def test_weights_are_those_of_people_one_by_one(sizes: list[int], chance: Fraction) -> None:
    people, place = sum(sizes), [g for g, size in enumerate(sizes) for _ in range(size)]
    uniform = Prior(None, tuple(Fraction(1, people + 1) for _ in range(people + 1)))
    for prior in (Prior(chance), uniform):
        weights = prior.weights(sizes)
        found = dict.fromkeys(weights, Fraction(0))
        for votes in itertools.product((0, 1), repeat=people):
            point = tuple(sum(v for v, g in zip(votes, place) if g == level) for level in range(len(sizes)))
            yes = sum(votes)
            ways = sum(1 for other in itertools.product((0, 1), repeat=people) if sum(other) == yes)
            independent = chance**yes * (1 - chance) ** (people - yes)
            found[point] += independent if prior.chance is not None else Fraction(1, (people + 1) * ways)
        assert found == weights
        assert sum(weights.values()) == 1


def test_a_list_has_one_probability_for_each_number_of_yes() -> None:
    with pytest.raises(LevelError, match="3 probabilities, and 3 people can say yes in 4 numbers"):
        read_prior({"prior": [0, 1, 0]}).weights([1, 2])


def test_a_table_of_probabilities_reads_back() -> None:
    yes = (((0, 0), Fraction(1, 3)), ((1, 0), Fraction(2, 3)))
    law = GridLaw(yes, (Multiplier((0, 0), (1, 0), 1, Fraction(1, 7)),), Fraction(1, 9))
    assert GridLaw.read(law.to_document()) == law
    assert law.at((1, 0)) == Fraction(2, 3)
    for wrong in ({}, law.to_document() | {"yes": {"a": "1"}}, law.to_document() | {"multipliers": [["0", "1"]]}):
        with pytest.raises(InputError, match="no readable table"):
            GridLaw.read(wrong)
    with pytest.raises(InputError):
        GridLaw.read(law.to_document() | {"yes": {"0,0": "3/2"}})
