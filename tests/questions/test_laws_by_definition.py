"""The law of an answer from its definition: the referee's own meaning, and a search for the nearest other answer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import combinations_with_replacement, permutations
from typing import Any

import pytest

from optimaldp.certify.core.meanings import KINDS
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.questions import parse

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
RATIO = 3
MOST = 5  # people of a table that others may become

QUESTIONS = [
    *(f"count(p) {sign} 2" for sign in (">=", ">", "<=", "<")),
    *(f"share(p) {sign} 1/3" for sign in (">=", ">", "<=", "<")),
    "count(p among q) >= 1",
    "share(p among q) >= 1/2",
    "share(p among q) < 1/4",
    "majority(p)",
    "all(p among q)",
    "compare(v, 'a', 'b')",
    "compare(v, 'a', 'b' among q)",
    "mean(x, range=[0, 1]) > 1/3",
    "share(p among a) > share(p among b)",
    "share(p among a) <= share(p among b) + 0.5",
]
JOINED = ["count(p) >= 1 and share(q) < 0.5", "any(p) or share(q) >= 0.5", "share(p among q) >= 0.5 and any(r)"]
MANY = [
    "winner(v, ['a', 'b', 'c'])",
    "median(x, bins=[0, 1, 2, 3])",
    "quantile(x, 0.2, bins=[0, 1, 2, 3] among q)",
    "quantile(x, 0.9, bins=[0, 1, 2, 3])",
]

Counts = tuple[int, ...]


@cache
def tables(size: int, people: int) -> tuple[Counts, ...]:
    return tuple(
        tuple(cells.count(cell) for cell in range(size)) for cells in combinations_with_replacement(range(size), people)
    )


def least_moves(question: Any, neighbours: Neighbours) -> Iterator[tuple[Counts, int, float]]:
    """Every small table, its true answer, and the moves to the nearest table with another one."""
    size, spec = question.tally.size, question.spec()
    meaning = partial(KINDS[spec["kind"]].truth, spec)
    if neighbours is SUBSTITUTION:
        for people in range(4):  # their number is public and stays
            truth = {table: meaning(dict(enumerate(table))) for table in tables(size, people)}
            for table in truth:
                yield table, truth[table], nearest(table, truth) / 2
        return
    universe = [table for people in range(MOST if size > 4 else 7) for table in tables(size, people)]
    most = max(map(sum, universe))
    truth = {table: meaning(dict(enumerate(table))) for table in universe}
    for table in universe:
        if sum(table) <= 2 and (moves := nearest(table, truth)) <= most - sum(table):
            yield table, truth[table], moves  # else a table outside might be nearer


def nearest(table: Counts, truth: dict[Counts, int]) -> float:
    """How far the counts of the nearest table with another answer are away."""
    others = (other for other, answer in truth.items() if answer != truth[table])
    return min((sum(abs(a - b) for a, b in zip(table, other)) for other in others), default=math.inf)


@pytest.mark.parametrize("text", [*QUESTIONS, *JOINED, *MANY])
@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_flips_are_the_least_moves(text: str, neighbours: Neighbours) -> None:
    question: Any = parse(text)
    compared = 0
    for table, _, moves in least_moves(question, neighbours):
        assert question.flips(question.fold(dict(enumerate(table))), neighbours) == moves, table
        compared += 1
    assert compared > 3


@pytest.mark.parametrize("text", [*QUESTIONS, *JOINED])
@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_the_law_is_the_closed_form_at_the_least_moves(text: str, neighbours: Neighbours) -> None:
    question: Any = parse(text)
    mechanism = question.mechanism(Setting(level("ln(3)"), neighbours))
    for table, truth, moves in least_moves(question, neighbours):
        error = Fraction(0) if moves == math.inf else Fraction(1, (1 + RATIO) * RATIO ** (int(moves) - 1))
        row = mechanism.law(Table({cell: people for cell, people in enumerate(table) if people})).probabilities()
        if text in JOINED:  # people may be moved in part: never surer than the whole moves allow
            assert row[truth] <= 1 - error
            assert row[truth] > Fraction(1, 2)
        else:
            assert row == [1 - error if place == truth else error for place in range(2)], table


@pytest.mark.parametrize(
    "text", ["winner(v, ['a', 'b', 'c'])", "top(v, 1, ['a', 'b', 'c'])", "top(v, 2, ['a', 'b', 'c'])"]
)
@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_lists_of_leaders_by_search(text: str, neighbours: Neighbours) -> None:
    question: Any = parse(text)
    replaced = neighbours is SUBSTITUTION
    worlds = [tables(4, people) for people in (0, 1, 4)] if replaced else [[t for n in range(7) for t in tables(4, n)]]

    def leaders(table: Counts) -> list[int]:
        return sorted(range(3), key=lambda option: (-table[option], option))[: question.spec().get("size", 1)]

    for world in worlds:
        for table in (one for one in world if replaced or sum(one) <= 2):
            lists = list(permutations(range(3), len(leaders(table))))  # all answers, in the order of the options
            assert lists[question.truth(table)] == tuple(leaders(table))
            others = [other for other in world if leaders(other) != leaders(table)]
            off = min((sum(abs(a - b) for a, b in zip(table, other)) for other in others), default=math.inf)
            assert question.flips(table, neighbours) == (off / 2 if replaced else off), table


LEVELS = ((Epsilon.read("ln(2)"), 1), (Epsilon.read("ln(3)"), 2))


def test_what_two_groups_cannot_be_asked() -> None:
    shares, means = (
        "share(p among a) > share(p among b)",
        "mean(x, range=[1, 2] among a) > mean(x, range=[1, 2] among b)",
    )
    for text in (shares, means):
        question = parse(text)
        with pytest.raises(QuestionError, match="personal levels"):
            question.mechanism(Setting(level("ln(3)"), SUBSTITUTION, people=3, levels=LEVELS, public_groups=True))
        with pytest.raises(QuestionError, match="substitution"):
            question.mechanism(Setting(level(1), ADD_REMOVE, public_groups=True))
        assert question.mechanism(Setting(level(1), SUBSTITUTION, public_groups=True)).name == "signed distance"
    with pytest.raises(QuestionError, match="private groups"):
        parse(means).mechanism(Setting(level(1), SUBSTITUTION))
    with pytest.raises(QuestionError, match="substitution"):
        parse(means).flips(parse(means).read_counts([1] * 6), ADD_REMOVE)
    assert parse(shares).mechanism(Setting(level(1), ADD_REMOVE)).name == "balanced chain"


@pytest.mark.parametrize(
    "text",
    [
        "share(p) > share(p among b)",
        "share(p among a) > share(p)",
        "count(p among a) > share(p among b)",
        "share(p among a) > mean(x, range=[1, 2] among b)",
        "mean(x, range=[1, 2] among a) > mean(y, range=[1, 2] among b)",
        "mean(x, range=[1, 2] among a) > mean(x, range=[1, 3] among b)",
        "mean(x, range=[0, 2] among a) > mean(x, range=[1, 2] among b)",
        "mean(x, range=[1, 2] among a) > mean(x, range=[1, 2], step=0.5 among b)",
        "mean(x, range=[1, 2]) > mean(x, range=[1, 2] among b)",
        "share(p among a) > share(p among b) + 1.1",
    ],
)
def test_two_unlike_numbers(text: str) -> None:
    with pytest.raises(QuestionError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("majority(p)", 2, 3),
        ("majority(p among q)", 3, 3),
        ("compare(v, 'a', 'b')", 2, 3),
        ("winner(v, ['a', 'b', 'c'])", 3, 4),
        ("top(v, 2, ['a', 'b', 'c'])", 3, 4),
        ("median(x, bins=[0, 1, 2, 3])", 3, 4),
        ("quantiles(x, [0.2, 0.5], bins=[0, 1, 2, 3])", 3, 4),
        ("mean(x, range=[1, 3]) > 2", 3, 4),
        ("histogram(v, ['a', 'b'])", 2, 3),
        ("any(p) and any(q)", 4, 4),
        ("share(p among q) > 0.5 or any(r)", 6, 6),
        ("share(p among a) > share(p among b)", 4, 5),
        ("mean(x, range=[1, 2] among a) > mean(x, range=[1, 2] among b)", 6, 6),
    ],
)
def test_how_many_counts_a_question_takes(text: str, least: int, most: int) -> None:
    """The last ones may be left out where that means nobody."""
    question = parse(text)
    for length in range(most + 3):
        counts = [place + 1 for place in range(length)]
        if not least <= length <= most:
            with pytest.raises(QuestionError, match="counts"):
                question.read_counts(counts)
            continue
        assert question.read_counts(counts) == question.read_counts(counts + [0] * (most - length))
