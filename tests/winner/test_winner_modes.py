"""Which mechanism is used: from public numbers alone, and only where it is proven."""

from __future__ import annotations

import inspect
import json

import pytest

from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.winner import MOST_FLATTENED, WinnerMode, draw_winner, winner_claim, winner_probabilities
from optimaldp.privacy import all_of, level

LATTICE, CONTINUUM, FLIP = WinnerMode.LATTICE, WinnerMode.CONTINUUM, WinnerMode.PERMUTE_AND_FLIP


@pytest.mark.parametrize(
    ("options", "epsilon", "mode", "words"),
    [
        (1, "0.001", LATTICE, "three options"),
        (3, "0.0001", LATTICE, "three options"),
        (3, "50", LATTICE, "three options"),
        (4, "1.2", LATTICE, "H1 and H2"),
        (4, "0.5", LATTICE, "finite certificate"),
        (4, "0.05", CONTINUUM, "five options"),
        (5, "1.6", LATTICE, "H1 and H2"),
        (5, "1", LATTICE, "finite certificate"),
        (5, "0.1", CONTINUUM, "five options"),
        (5, "0", CONTINUUM, "five options"),
        (6, "1", LATTICE, "finite certificate"),
        (6, "0.1", FLIP, "any number"),
        (7, "ln(10/9)", FLIP, "any number"),
        (8, "0.25", FLIP, "any number"),
        (8, "0.3", FLIP, "any number"),
        (9, "2", LATTICE, "finite certificate"),
        (10, "3", LATTICE, "H1 and H2"),
        (10, "2", FLIP, "any number"),
        (11, "20", FLIP, "any number"),
        (10_000, "1", FLIP, "any number"),
    ],
)
def test_the_proven_mode(options: int, epsilon: str, mode: WinnerMode, words: str) -> None:
    claim = winner_claim(options, level(epsilon))
    assert claim.mode is mode
    assert words in claim.proof


@pytest.mark.parametrize("options", [2, 3, 5, 12])
def test_add_remove_is_always_permute_and_flip(options: int) -> None:
    assert winner_claim(options, level(3), "add-remove").mode is FLIP


def test_delta_does_not_change_the_mode() -> None:
    for options in range(2, 9):
        assert winner_claim(options, level(1)).mode is winner_claim(options, level(1, "1e-6")).mode


def test_no_caller_can_choose_a_mode() -> None:
    for function in (draw_winner, winner_probabilities, winner_claim):
        assert not {"mode", "mechanism", "force"} & set(inspect.signature(function).parameters)


def test_the_claim_says_what_it_is() -> None:
    claim = winner_claim(5, level(1, "0.01"))
    assert repr(claim) == (
        "WinnerClaim(flip envelope (lattice), 5 options, (1, 0.01)-DP, substitution, proven for every n: finite certificate)"
    )
    assert json.loads(claim.to_json())["mechanism"] == "flip envelope (lattice)"
    assert "record is replaced by another" in claim._repr_html_()


def test_other_guarantees_are_refused() -> None:
    with pytest.raises(LevelError, match="single"):
        winner_claim(3, level(mu=1))
    with pytest.raises(LevelError, match="single"):
        winner_claim(3, all_of(level(1), level("0.5", "0.01")))
    with pytest.raises(LevelError, match="finite"):
        winner_claim(3, level("inf"))
    with pytest.raises(QuestionError, match="nobody"):
        winner_claim(0, level(1))


def test_the_recursion_is_kept_short() -> None:
    assert winner_claim(MOST_FLATTENED, level(50)).mode is LATTICE
    assert winner_claim(MOST_FLATTENED + 1, level(50)).mode is FLIP
