"""The leading options as a question: text, truth and flips, release, referee."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest
from universe import Table, add_remove_flips, disagreements, substitution_flips, tables

import optimaldp as odp
from optimaldp.certify.leaders import examine_leading
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting
from optimaldp.laws.options import TopLaw, TopMode
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import precision
from optimaldp.questions import parse

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
TEXT = "top(vote, 2, ['a', 'b', 'c'])"


def question(size: int) -> odp.questions.Question:
    return odp.top("vote", size, ["a", "b", "c"])


@pytest.mark.parametrize("text", [TEXT, "top(vote, 3, ['a', 'b', 'c'] among age >= 18)", "top(vote, 1)"])
def test_text_parses_back(text: str) -> None:
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)
    assert parse(TEXT) == odp.top("vote", 2, ["a", "b", "c"])


@pytest.mark.parametrize("size", [1, 2, 3])
def test_flips_against_search(size: int) -> None:
    asked = question(size)

    def truth(table: Table) -> bool:  # search wants two answers: one list against all others, one list after the other
        return asked.truth(table) == wanted

    best: dict[tuple[Neighbours, Table], float] = {}
    for wanted in range(math.perm(3, size)):
        for neighbours, searched in (
            (SUBSTITUTION, substitution_flips(4, 5, truth)),
            (ADD_REMOVE, add_remove_flips(4, 9, truth)),
        ):
            for table, steps in searched.items():
                if asked.truth(table) == wanted:
                    best[neighbours, table] = steps
    for neighbours in Neighbours:
        known = {table: steps for (relation, table), steps in best.items() if relation is neighbours}
        room = None if neighbours is SUBSTITUTION else 9
        assert not disagreements(lambda t: asked.flips(t, neighbours), known, small=5, room=room)  # noqa: B023


def test_the_place_of_the_truth_is_that_of_all_lists_in_order() -> None:
    asked, law = question(2), TopLaw(3, 2, Epsilon.read(1), SUBSTITUTION)
    for table in tables(4, 4):
        ranking = law.rankings()[asked.truth(table)]
        assert table[ranking[0]] == max(table[:3])


@pytest.mark.parametrize("neighbours", Neighbours)
def test_the_bound_of_a_preview_holds_at_every_small_table(neighbours: Neighbours) -> None:
    asked = question(2)
    for forced in TopMode:
        law = TopLaw(3, 2, Epsilon.read(1), neighbours, forced)
        with precision(80):
            for table in tables(3, 9):
                margin = asked.flips((*table, 1), neighbours)
                wrong = 1 - law.probabilities(table)[law.rankings()[asked.truth((*table, 1))]]
                assert not wrong > law.most_wrong(int(margin)) + 1e-20


VOTES = pd.DataFrame({"vote": ["a"] * 30 + ["b"] * 200 + ["c"] * 100 + ["z"] * 50 + [None] * 9})


def test_a_release_names_the_leaders_in_order_and_spends_no_delta() -> None:
    made = odp.release(VOTES, TEXT, epsilon=5, delta=0.001)
    assert made.answer == ["b", "c"]
    assert made.to_document()["spent"]["delta"] == "0"
    assert odp.release(VOTES, "top(vote, 2, ['a', 'b', 'c'] among vote <> 'b')", epsilon=5).answer == ["c", "a"]


def test_the_referee_rejects_a_law_of_another_level() -> None:
    mechanism = question(2).mechanism(Setting(approximate(Epsilon.read(1)), SUBSTITUTION, 10))
    assert examine_leading(mechanism).private
    for wrong in (TopLaw(3, 2, Epsilon.read(2), SUBSTITUTION), TopLaw(3, 2, Epsilon.read(1), ADD_REMOVE)):
        assert not examine_leading(replace(mechanism, chosen=wrong)).private  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "text", ["top(vote, 4, ['a', 'b', 'c'])", "top(vote, 0, ['a'])", "top(vote, x, ['a'])", "top(vote)"]
)
def test_what_cannot_be_asked(text: str) -> None:
    with pytest.raises(QuestionError):
        parse(text)
