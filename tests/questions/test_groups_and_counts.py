"""Moves between public groups by search, and what a release of counts says under each relation."""

from __future__ import annotations

from itertools import product

import pytest

import optimaldp as odp
from optimaldp.histograms.noise import HistogramNoise
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.questions import parse

MEANS = "mean(v, range=[0, 2], step=1 among g = 'a') >= mean(v, range=[0, 2], step=1 among g = 'b')"
PLACES = 4  # 0, 1, 2 and nobody's value


def spread(people: int) -> list[tuple[int, ...]]:
    return [counts for counts in product(range(people + 1), repeat=PLACES) if sum(counts) == people]


def moved(counts: tuple[int, ...]) -> set[tuple[int, ...]]:
    steps = set()
    for source, target in product(range(PLACES), repeat=2):
        if counts[source] and source != target:
            changed = list(counts)
            changed[source] -= 1
            changed[target] += 1
            steps.add(tuple(changed))
    return steps


@pytest.mark.parametrize("sizes", [(2, 1), (1, 3)])
def test_moves_of_means_of_public_groups_are_the_least(sizes: tuple[int, int]) -> None:
    question = parse(MEANS)
    tables = [first + second for first, second in product(*map(spread, sizes))]
    truth = {table: question.truth(question.read_counts(table)) for table in tables}
    assert set(truth.values()) == {0, 1}
    for table in tables:
        reached, border, moves = {table}, {table}, 0
        while all(truth[one] == truth[table] for one in border):
            halves = ((one[:PLACES], one[PLACES:]) for one in border)
            border = {
                new
                for first, second in halves
                for new in ({other + second for other in moved(first)} | {first + other for other in moved(second)})
            } - reached
            reached |= border
            moves += 1
        assert question.flips(question.read_counts(table), Neighbours.SUBSTITUTION) == moves, table


def test_counts_of_two_public_groups_are_read_as_they_are_counted() -> None:
    """Of each group: the people at 0, 1 and 2, and those without a value, who count as the middle of the range."""
    question, groups = parse(MEANS), ((1, 2, 3, 5), (8, 13, 21, 34))
    cells = {PLACES * place + group: groups[group - 1][place] for place in range(PLACES) for group in (1, 2)}
    assert question.read_counts(groups[0] + groups[1]) == question.fold(cells)
    assert [question.truth(question.read_counts((0, 0, 0, 1, *other))) for other in ((0, 1, 0, 0), (0, 0, 1, 0))] == [
        0,  # a middle of 1 is at least 1, and less than 2
        1,
    ]


def test_counts_say_what_holds_under_their_relation() -> None:
    counts = parse("histogram(v, ['a', 'b'])")
    known, unknown = (
        counts.mechanism(Setting(level("1"), neighbours, 100))
        for neighbours in (Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE)
    )
    assert "least expected L1 error" in known.optimality
    assert unknown.optimality == "not claimed"
    # Laplace noise at epsilon 1 on three counts: 3 · 2x/(1 − x²) with x = 1/e, and less where the total is known.
    assert "at most 2.55 people" in unknown.reliability()
    expected = float(HistogramNoise(3, level("1").epsilon).expected_error())
    assert f"at most {expected:.3g} people" in known.reliability()
    assert f"at most {expected:.3g} people" not in unknown.reliability()


def test_a_histogram_is_drawn_from_noise_unless_the_optimum_is_named() -> None:
    assert parse("histogram(v, ['a', 'b'])") == odp.histogram("v", ["a", "b"], optimum=False)
    assert parse("histogram(v, ['a', 'b'])") != odp.histogram("v", ["a", "b"], optimum=True)


@pytest.mark.parametrize(("text", "column"), [('"a"', "a"), ('"a b"', "a b")])
def test_a_quoted_column_of_one_letter(text: str, column: str) -> None:
    assert parse(f"median({text}, bins=[0, 1, 2])") == odp.median(column, bins=[0, 1, 2])
