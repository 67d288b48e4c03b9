"""The figures of previews: the numbers of the page, brute force on small tables, and OpenDP itself."""

from __future__ import annotations

import csv
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from quantile_oracle import cells as cells_of
from quantile_oracle import cut_heights, distances, tables, true_bin

from optimaldp.errors import QuestionError
from optimaldp.laws import quantile_rivals as rivals
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import accuracy_with_rivals, even_accuracy, summarise
from optimaldp.laws.quantile_rivals import even_cells, spread_of
from optimaldp.privacy import level
from optimaldp.privacy.balls import precision
from optimaldp.privacy.epsilon import Epsilon

HALF = Fraction(1, 2)
_ANES = Path(__file__).parents[2] / "examples" / "data" / "anes1996.csv"
_EDGES = (18, 30, 45, 60, 75)


def ages(edges: tuple[int, ...] | None = None) -> dict[int, int]:
    with _ANES.open() as file:
        read = [int(float(row["age"])) for row in csv.DictReader(file)]
    places = [age - 18 if edges is None else sum(age >= edge for edge in edges) - 1 for age in read]
    return dict(Counter(places))


@pytest.mark.parametrize(
    ("rank", "bins", "epsilon", "ours", "flip", "exponential", "floor"),
    [
        ("1/2", 82, "0.1", "0.385 4.78 0.44", "0.599 11.8 0.89", "0.656 13.7 1.01", "0.411 4.94 0.46"),
        ("1/2", 82, "0.5", "0.0143 0.122 0.014", "0.097 0.88 0.10", "0.167 1.5 0.17", "0.0139 0.119 0.014"),
        ("9/10", 82, "0.5", "0.286 0.72 0.30", "0.395 1.53 0.47", "0.482 1.99 0.58", "0.240 0.64 0.26"),
        ("1/2", 5, "0.1", "0.175 1.92 0.175", "0.288 3.17 0.288", "0.366 4.03 0.366", "0.175 1.92 0.175"),
        ("9/10", 5, "0.1", "0.032 0.89 0.032", "0.124 3.6 0.124", "0.199 5.7 0.199", "0.032 0.89 0.032"),
    ],
)
def test_ages_of_the_page(rank, bins, epsilon, ours, flip, exponential, floor) -> None:  # type: ignore[no-untyped-def]
    law = quantile_law(bins, Fraction(rank), level(epsilon))
    people = ages(None if bins == 82 else _EDGES)
    spread = spread_of(people, bins, law.rank)
    noise = rivals.rank_noise_groups(spread, float(epsilon), math.ceil(law.rank * 944))
    rows = [*accuracy_with_rivals(law, people)[:3], summarise("rank noise", spread, noise)]
    for row, wanted in zip(rows, (ours, flip, exponential, floor), strict=True):
        for figure, text in zip((row.wrong, row.rank_error, row.bins_off), wanted.split(), strict=True):
            last_digit = 10.0 ** -len(text.partition(".")[2])
            assert figure == pytest.approx(float(text), abs=0.6 * last_digit), row


def flip_by_permutations(coins: list[float]) -> list[float]:
    row = [0.0] * len(coins)
    orders = list(permutations(range(len(coins))))
    for order in orders:
        stays = 1.0
        for option in order:
            row[option] += stays * coins[option] / len(orders)
            stays *= 1 - coins[option]
    return row


@pytest.mark.long
@pytest.mark.parametrize("rank", [HALF, Fraction(1, 5), Fraction(1)])
def test_figures_are_those_of_the_dense_laws(rank: Fraction) -> None:
    bins, epsilon = 4, 0.7
    law = quantile_law(bins, rank, level("0.7"))
    for counts in tables(bins, 3):
        people = cells_of(counts[:-1])
        heights = cut_heights(counts[:-1], rank)
        d, truth = distances(heights), true_bin(heights)
        with precision(64):
            ours = [float(p) for p in law.probabilities(people)]
        scores = [math.exp(-epsilon * moves / 2) for moves in d]
        flip = flip_by_permutations(scores)
        below = [sum(counts[:j]) for j in range(bins)]
        above = [sum(counts[j + 1 : bins]) for j in range(bins)]
        off = [abs((1 - float(rank)) * low - float(rank) * high) for low, high in zip(below, above)]
        candidates = flip_by_permutations([math.exp(-epsilon * (score - min(off)) / 2) for score in off])
        rows = accuracy_with_rivals(law, people)
        for row, dense in zip(rows, (ours, flip, [s / sum(scores) for s in scores], candidates), strict=True):
            assert row.wrong == pytest.approx(1 - dense[truth], abs=1e-9), (counts, row)
            assert row.rank_error == pytest.approx(sum(p * m for p, m in zip(dense, d)), abs=1e-9)
            assert row.bins_off == pytest.approx(sum(p * abs(j - truth) for j, p in enumerate(dense)), abs=1e-9)
            upto = [sum(p for p, m in zip(dense, d) if m <= bound) for bound in range(max(d) + 1)]
            assert row.rank_bound == next(b for b, total in enumerate(upto) if total >= 0.95 - 1e-12)


def test_long_runs_are_grouped() -> None:
    people = {3: 5, 700: 4, 9000: 6}
    law = quantile_law(10_000, HALF, level(1))
    spread = spread_of(people, 10_000, HALF)
    assert len(spread.size) < 10
    assert spread.size.sum() == 10_000
    assert spread.truth == 700
    with precision(96):
        dense = [float(p) for p in law.probabilities(people)]
    groups = rivals.our_groups(law, people, spread)
    for first, size, p in zip(spread.first, spread.size, groups):
        assert p == pytest.approx(sum(dense[int(first) : int(first + size)]), abs=1e-12)


def test_even_tables_keep_their_people() -> None:
    for bins, persons in ((10, 95), (1000, 10**6), (10**6, 500), (7, 0)):
        for rank in (HALF, Fraction(9, 10)):
            assert sum(even_cells(bins, persons, rank, 0.1).values()) == persons
    near, far = even_cells(1000, 10**6, HALF, 1.0), even_cells(1000, 10**6, HALF, 1e-4)
    assert len(near) < 10 < len(far)
    law = quantile_law(1000, HALF, level(1))
    exact, heaped = accuracy_with_rivals(law, far), accuracy_with_rivals(law, near)
    assert [row.wrong for row in exact] == pytest.approx([row.wrong for row in heaped], rel=1e-9)


def test_fewer_people_per_bin_or_less_epsilon_is_less_right() -> None:
    law = quantile_law(100, HALF, level("0.2"))
    errors = [even_accuracy(law, persons)[0].wrong for persons in (200, 2000, 20_050)]
    assert errors == sorted(errors, reverse=True)
    weaker = replace(law, level=level("0.05"))
    assert even_accuracy(weaker, 2000)[0].rank_error > even_accuracy(law, 2000)[0].rank_error


def test_words_and_refusal() -> None:
    row = even_accuracy(quantile_law(100, HALF, level("0.2")), 5050)[0]
    assert "people" in row.sentence()
    assert "95 %" in row.sentence()
    assert set(row.to_document()) >= {"wrong", "rank_error", "rank_bound_95", "bins_bound_95"}
    own = quantile_law(3, HALF, level(1), levels=(Epsilon.read(1),))
    with pytest.raises(QuestionError, match="levels"):
        even_accuracy(own, 10)


@pytest.mark.long
def test_the_formula_for_opendp_is_what_opendp_draws() -> None:
    dp = pytest.importorskip("opendp.prelude", reason="opendp is not installed (extra: opendp)")
    dp.enable_features("contrib")
    people, rank, epsilon = [0, 1, 1, 1, 1, 2, 3, 3, 4, 5], Fraction(3, 5), 2.0
    domain = dp.vector_domain(dp.atom_domain(T=int), size=len(people))
    draw = dp.m.make_private_quantile(
        domain, dp.symmetric_distance(), dp.max_divergence(), list(range(6)), float(rank), 2 / epsilon
    )
    assert draw.map(2) == pytest.approx(epsilon)
    spread = spread_of(Counter(people), 6, rank)
    wanted = rivals.candidate_groups(spread, epsilon, rank)
    drawn = Counter(draw(people) for _ in range(4000))
    for candidate, p in enumerate(wanted):
        assert drawn[candidate] / 4000 == pytest.approx(p, abs=5 * math.sqrt(p * (1 - p) / 4000) + 1e-3)
