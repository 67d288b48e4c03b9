"""Previews for people with levels of their own: both aims, on average and at worst, from public numbers."""

from __future__ import annotations

import math

import pytest

import optimaldp as odp

SIZES = {0.1: 20, 1: 981}


def test_both_aims_are_shown_and_the_chosen_one_comes_first() -> None:
    typical = odp.preview("majority(x)", epsilon=1, level_sizes=SIZES)
    every = odp.preview("majority(x)", epsilon=1, level_sizes=SIZES, aim="every table")
    assert typical.series[0][0] == "typical, average"
    assert every.series[0][0] == "every table, worst"
    names = {name for name, _ in typical.series}
    assert names == {name for name, _ in every.series} >= {"strictest for all", "strict left out, average"}
    assert typical.to_document()["aim"] == "typical"
    assert typical.persons == 1001


def test_the_numbers_are_those_of_the_closed_forms() -> None:
    made = dict(odp.preview("majority(x)", epsilon=1, level_sizes=SIZES, margins=[15]).to_document()["error"])
    margins = odp.preview("majority(x)", epsilon=1, level_sizes=SIZES, margins=[15]).margins
    place = margins.index(15)
    assert made["every table, worst"][place] == pytest.approx(math.exp(-1.4) / (1 + math.exp(0.1)))
    assert made["strictest for all"][place] == pytest.approx(math.exp(-1.4) / (1 + math.exp(0.1)))
    # All twenty strict people say yes, 495 of the others: W = 0.1 * 10 + (495 - 490.5)
    assert made["typical, worst"][place] == pytest.approx(math.exp(-(0.1 * 10 + 495 - 490.5)) / 2)
    assert (
        made["typical, average"][place] < made["strict left out, average"][place] < made["every table, average"][place]
    )


def test_levels_are_cut_to_the_epsilon_of_the_release() -> None:
    made = odp.preview("majority(x)", epsilon=0.1, level_sizes=SIZES)
    assert [name for name, _ in made.series] == ["optimaldp"]


def test_a_cap_is_offered_where_it_helps() -> None:
    large = odp.preview("majority(x)", epsilon=1, level_sizes={0.1: 100_000, 1: 900_001})
    assert any("looser levels are cut" in note for note in large.notes)
    small = odp.preview("majority(x)", epsilon=1, level_sizes=SIZES)
    assert not any("looser levels are cut" in note for note in small.notes)
    assert any("disagree" in note for note in small.notes)


def test_other_kinds_say_that_levels_are_not_shown() -> None:
    made = odp.preview("winner(x, ['a', 'b'])", epsilon=1, level_sizes=SIZES)
    assert any("not part of this preview" in note for note in made.notes)
