"""No interleaving of workers, crashes, repeats and clicks overspends, answers without approval, or answers without a spend."""

from __future__ import annotations

import pytest
from curator_model import (
    ApprovesTwice,
    ChecksOutside,
    ClaimsOutside,
    DeliversFirst,
    ForgetsTheAsker,
    ForgetsTheTotal,
    GivesBackAfterCrash,
    Protocol,
    RecordsFirst,
    ReplaysPastApproval,
    Request,
    Scene,
    walk,
)

# The budgets of both askers together are more than the total: they share it.
SHARED = {"ann": 2, "bob": 2}
SCENES = {
    "two askers, one question each that is alike": Scene(
        (Request("ann", "x", 2, waits=True), Request("bob", "x", 2), Request("ann", "y", 1)), 3, SHARED, crashes=2
    ),
    "both want more than there is": Scene(
        (Request("ann", "x", 2), Request("bob", "y", 2), Request("ann", "z", 1)), 3, SHARED, crashes=2
    ),
    "an approver clicks twice": Scene(
        (Request("ann", "x", 1, waits=True), Request("bob", "y", 1)), 3, SHARED, tries=2, clicks=2, crashes=2
    ),
    "three workers": Scene(
        (Request("ann", "x", 2), Request("bob", "x", 2), Request("bob", "y", 1, waits=True)), 3, SHARED, workers=3
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SCENES)
def test_no_interleaving_breaks_a_promise(name: str) -> None:
    found = walk(Protocol(SCENES[name]))
    assert (found.fault, found.way) == ("", ())
    # The walk is not empty: every request is answered somewhere, and a crash loses budget somewhere.
    assert found.answered == set(range(len(SCENES[name].requests)))
    assert found.lost
    assert found.worlds > 1000


@pytest.mark.parametrize(
    ("twin", "fault"),
    [
        (RecordsFirst, "an answer got out that no spend stands for"),
        (DeliversFirst, "an answer got out that no spend stands for"),
        (GivesBackAfterCrash, "an answer got out that no spend stands for"),
        (ChecksOutside, "the data set is overspent"),
        (ForgetsTheTotal, "the data set is overspent"),
        (ForgetsTheAsker, "ann is overspent"),
        (ApprovesTwice, "answered or paid without an approval"),
        (ReplaysPastApproval, "answered or paid without an approval"),
        (ClaimsOutside, "one approval was paid twice"),
    ],
)
def test_the_walk_finds_what_is_wrong_with_each_twin(twin: type[Protocol], fault: str) -> None:
    assert any(walk(twin(scene)).fault == fault for scene in SCENES.values())
