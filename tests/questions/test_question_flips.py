"""Flips against breadth-first search over all tables of small universes, for both neighbour relations."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import ADD_REMOVE, SUBSTITUTION, searched, states

from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours
from optimaldp.questions import flips, parse
from optimaldp.questions.base import Question


def check(question: Question, cells: int, *, most: int, room: int) -> None:
    """Compare up to *most* people; under add/remove the search may walk through up to *room* people more."""
    read = question.read_counts
    for neighbours in Neighbours:
        size = most + (room if neighbours is ADD_REMOVE else 0)
        truth = searched(cells, size, neighbours, lambda state: question.truth(read(state)))
        wrong = [s for s in states(cells, most) if question.flips(read(s), neighbours) != truth[s]]
        assert not wrong, f"{question} under {neighbours}: {wrong[:3]}"


COMPARISONS = [">=", ">", "<=", "<"]


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("bound", ["-1", "0", "1", "2.5", "4", "9"])
def test_count(comparison: str, bound: str) -> None:
    check(parse(f"count(p) {comparison} {bound}"), 2, most=6, room=12)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("bound", ["0", "1/10", "1/3", "0.5", "0.7", "9/10", "1"])
def test_share(comparison: str, bound: str) -> None:
    check(parse(f"share(p) {comparison} {bound}"), 2, most=6, room=60)


@pytest.mark.parametrize("text", ["majority(p)", "any(p)", "all(p)"])
def test_words(text: str) -> None:
    check(parse(text), 2, most=8, room=10)


def test_compare_with_other_values() -> None:
    check(parse("compare(c, 'a', 'b')"), 3, most=7, room=9)


@pytest.mark.parametrize("options", [1, 2, 3])
def test_winner_with_people_outside(options: int) -> None:
    listed = ", ".join(f"'{i}'" for i in range(options))
    check(parse(f"winner(c, [{listed}])"), options + 1, most=5, room=6)


@pytest.mark.parametrize("rank", ["0.1", "1/3", "0.5", "0.75", "1"])
@pytest.mark.parametrize("edges", ["[0, 1, 2]", "[0, 1, 2, 3]"])
def test_quantile_with_people_without_a_value(rank: str, edges: str) -> None:
    question = parse(f"quantile(c, {rank}, bins={edges})")
    bins = edges.count(",")
    check(question, bins + 1, most=4, room=8 if bins == 3 else 20)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("bound", ["0", "1/3", "0.5", "1"])
def test_share_among(comparison: str, bound: str) -> None:
    check(parse(f"share(p among q) {comparison} {bound}"), 3, most=6, room=14)


@pytest.mark.parametrize("comparison", COMPARISONS)
@pytest.mark.parametrize("bound", ["0", "0.5", "1", "2"])
def test_mean(comparison: str, bound: str) -> None:
    check(parse(f"mean(c, range=[0, 2]) {comparison} {bound}"), 4, most=4, room=6)


@pytest.mark.parametrize("margin", ["", " + 0.2", " + 1"])
def test_two_private_groups(margin: str) -> None:
    question = parse(f"share(p among a) > share(p among b){margin}")
    truth = searched(5, 5, SUBSTITUTION, lambda state: question.truth(question.read_counts(state)))
    assert all(question.flips(question.read_counts(s), SUBSTITUTION) == truth[s] for s in states(5, 5))


def test_nobody_with_a_value_is_a_table_like_any_other() -> None:
    """One person's record decides there: an answer in clear would give it away."""
    assert flips("median(age, bins=[0, 50, 100])", [0, 0, 40]) == 1
    assert flips("median(age, bins=[0, 50, 100])", [0, 0, 0]) == math.inf
    assert flips("median(age, bins=[0, 50, 100])", [0, 0, 0], neighbours="add-remove") == 1
    assert flips("winner(vote, ['a', 'b'])", [0, 0, 40]) == 1
    assert flips("share(a among b) >= 0.2", [0, 0, 40]) == 1
    assert flips("mean(x, range=[0, 4]) >= 2", [0, 0, 0, 0, 0, 40]) == 1


BOTH = [
    "count(p) >= 2 and count(q) >= 3",
    "count(p) >= 2 and count(q) <= 1",
    "count(p) < 2 and count(q) <= 1",
    "count(p) <= -1 and count(q) >= 1",
    "share(p) >= 0.5 and share(q) > 0.5",
    "share(p) >= 0.75 and share(q) >= 0.75",
    "share(p) >= 0.9 and share(q) > 2/3",
    "share(p) <= 0.2 and share(q) >= 2/3",
    "share(p) < 1/3 and count(q) >= 2",
    "share(p) >= 1 and count(q) <= 2",
    "all(p) and any(q)",
    "majority(p) and majority(q)",
]


@pytest.mark.parametrize("text", BOTH)
def test_two_thresholds_under_substitution(text: str) -> None:
    question = parse(text)
    truth = searched(4, 6, SUBSTITUTION, question.truth)
    wrong = [s for s in states(4, 6) if question.flips(s, SUBSTITUTION) != truth[s]]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("text", BOTH)
def test_two_thresholds_under_add_remove(text: str) -> None:
    question = parse(text)
    truth = searched(4, 13, ADD_REMOVE, question.truth)
    # A way that leaves the searched universe may be missing from the search: then its result is larger than the room.
    wrong = []
    for state in states(4, 4):
        ours, theirs = question.flips(state, ADD_REMOVE), truth[state]
        if ours != theirs and (theirs <= 13 - sum(state) or ours > theirs):
            wrong.append((state, ours, theirs))
    assert not wrong, wrong[:3]


def least_by_enumeration(question: Question, cells: tuple[int, ...]) -> int:
    """Try every set of removals, then add persons who are good for both until both hold."""
    best = 10**9
    for removed in itertools.product(*(range(count + 1) for count in cells)):
        left = [count - gone for count, gone in zip(cells, removed)]
        for added in range(best - sum(removed)):
            if question.truth((left[0] + added, *left[1:])) == 0:
                best = sum(removed) + added
                break
    return best


high = st.sampled_from(["0.5", "0.6", "2/3", "0.75", "0.8", "0.9"])
few = st.integers(0, 7)


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(high, high, st.tuples(few, few, few, few))
def test_two_high_shares_under_add_remove_by_enumeration(a: str, b: str, cells: tuple[int, int, int, int]) -> None:
    """Both conditions gain more by removing than by adding: the case in which the two requirements chase each other."""
    question = parse(f"share(p) >= {a} and share(q) > {b}")
    if question.truth(cells) == 1:
        assert question.flips(cells, ADD_REMOVE) == least_by_enumeration(question, cells)


def test_large_counts_are_instant_and_exact() -> None:
    n = 10**9
    assert flips("count(p) >= 1", [n, 0]) == n
    assert flips("share(p) >= 0.3", [3 * n, 7 * n], neighbours="add-remove") == 1
    assert flips("share(p) >= 0.75 and share(q) >= 0.75", [0, n, n, 0], neighbours="add-remove") > n // 2
    assert flips("share(p) >= 0.9 and share(q) >= 0.8", [n, n, n, n], neighbours="add-remove") < 4 * n


def test_what_cannot_flip() -> None:
    assert flips("count(p) >= 0", [3, 4]) == math.inf
    assert flips("count(p) >= 8", [3, 4]) == math.inf
    assert flips("count(p) >= 8", [3, 4], neighbours="add-remove") == 5
    assert flips("share(p) >= 0", [3, 4], neighbours="add-remove") == math.inf
    assert flips("winner(c, ['only'])", [3]) == math.inf
    assert flips("winner(c, ['a', 'b'])", [0, 0]) == math.inf
    assert flips("winner(c, ['a', 'b'])", [0, 0], neighbours="add-remove") == 1


@pytest.mark.parametrize("counts", [[1], [1, 2, 3, 4], [-1, 2], [1.0, 2], [True, 2]])
def test_counts_are_checked_and_never_quoted(counts: list[int]) -> None:
    with pytest.raises(QuestionError):
        flips("count(p) >= 1", counts)


def test_counts_of_numpy_are_counts() -> None:
    import numpy as np

    assert flips("majority(x)", np.array([2, 9])) == flips("majority(x)", [2, 9]) == 4
    with pytest.raises(QuestionError):
        flips("majority(x)", np.array([2.0, 9.0]))  # type: ignore[arg-type]
