"""Preferences: from a true answer, a function, a full order; the dual; and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from optimaldp.errors import ProblemError
from optimaldp.graphs import Preferences, line

GRAPH = line(3, names=["a", "b", "c"])


def test_the_same_preferences_in_many_ways():
    mapping = Preferences.read(GRAPH, {"a": "yes", "b": "no", "c": "yes"})
    function = Preferences.read(GRAPH, lambda name: name != "b")
    orders = Preferences.read(GRAPH, {"a": ["yes", "no"], "b": ["no", "yes"], "c": ["yes", "no"]}, ["yes", "no"])
    truth = Preferences.of_truth(("yes", "no"), np.array([False, True, False]))
    assert mapping == function == orders == truth
    assert mapping.words(1) == ("no", "yes")
    assert mapping.favourites.tolist() == [0, 1, 0]
    assert mapping != Preferences.of_truth(("yes", "no"), [0, 1, 1])
    assert mapping != "something else"


def test_the_dual_swaps_two_answers_and_is_its_own_inverse():
    truth = Preferences.of_truth(("blue", "red"), [0, 1, 0])
    assert truth.dual() == Preferences.of_truth(("blue", "red"), [1, 0, 1])
    assert truth.dual().dual() == truth


@pytest.mark.parametrize(
    ("make", "quoted"),
    [
        (lambda: Preferences.read(GRAPH, {"a": "yes", "b": "no"}), "'c' has no preference"),
        (
            lambda: Preferences.read(GRAPH, {"a": "yes", "b": "no", "c": "maybe"}, ["yes", "no"]),
            "'maybe' is not one of",
        ),
        (lambda: Preferences.read(GRAPH, lambda _: "x", ["x", "y", "z"]), "not a full order"),
        (lambda: Preferences.read(GRAPH, lambda _: ["x", "x"], ["x", "y"]), "each answer once"),
        (lambda: Preferences.read(GRAPH, lambda _: "x"), "nothing to choose"),
        (lambda: Preferences.read(GRAPH, lambda _: "x", ["x", "x"]), "'x' is listed twice"),
        (lambda: Preferences.of_truth(("a", "b", "c"), [0]), "need a full order"),
        (lambda: Preferences.of_truth(("a", "b"), [0, 2]), "is not the number of an answer"),
        (lambda: Preferences.of_truth(("a", "b"), [0.0, 1.0]), "is not the number of an answer"),
        (lambda: Preferences(("a", "b"), ((0, 1), (0, 1)), np.zeros(1, dtype=np.int32)), "is listed twice"),
        (lambda: Preferences(("a", "b"), ((0, 0),), np.zeros(1, dtype=np.int32)), "each of 2 answers once"),
        (lambda: Preferences(("a", "b"), ((0, 1),), np.ones(1, dtype=np.int32)), "1 is not one of 1 orders"),
    ],
)
def test_broken_preferences_are_refused(make, quoted):
    with pytest.raises(ProblemError, match=quoted):
        make()
