"""Golden numbers, and the laws that every distribution obeys."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from elections import elections, permute_and_flip
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.winner import (
    ball_power,
    continuum_probabilities,
    lattice_probabilities,
    permute_and_flip_probabilities,
)
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import precision
from optimaldp.questions import winner_probabilities

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "winner.json").read_text())["instances"]


def near(found: Decimal, wanted: str, digits: int = 38) -> bool:
    with localcontext(prec=60):
        return abs(found - Decimal(wanted)) <= abs(Decimal(wanted)) * Decimal(10) ** -digits


@pytest.mark.parametrize("case", [v for v in VECTORS if v["mode"] == "lattice"], ids=lambda v: str(v["counts"]))
def test_lattice_vectors(case: dict[str, object]) -> None:
    x = Fraction(str(case["exp_minus_eps"]))
    found = lattice_probabilities(case["counts"], lambda moves: x**moves)  # type: ignore[arg-type]
    assert found == [Fraction(p) for p in case["probs"]]  # type: ignore[union-attr]


@pytest.mark.parametrize("case", [v for v in VECTORS if v["mode"] == "continuum"], ids=lambda v: str(v["counts"]))
def test_continuum_vectors(case: dict[str, object]) -> None:
    with precision(256):
        found = continuum_probabilities(case["counts"], ball_power(Epsilon.read(case["eps"])))  # type: ignore[arg-type]
        texts = [Decimal(p.str(45, radius=False)) for p in found]
    assert all(near(text, wanted) for text, wanted in zip(texts, case["probs"]))  # type: ignore[call-overload]


def test_public_name_gives_exact_rationals_where_the_lattice_is_proven() -> None:
    assert winner_probabilities([5, 5, 4], epsilon="ln(10/9)") == [Fraction(10, 29), Fraction(10, 29), Fraction(9, 29)]
    assert winner_probabilities([6, 6, 0], epsilon="ln(8/3)")[2] == Fraction(27, 4096)
    assert winner_probabilities([5, 4, 3, 3], epsilon="ln(2)") == [Fraction(n, 21) for n in (10, 5, 3, 3)]
    assert winner_probabilities([6, 5, 5, 5, 5], epsilon="ln(8/3)")[0] == Fraction(2, 5)


def test_public_name_at_a_billion_votes() -> None:
    case = next(v for v in VECTORS if v["counts"][0] == 500_000_000)
    found = winner_probabilities(case["counts"], epsilon=case["eps"])
    assert all(isinstance(p, Decimal) and near(p, wanted, 39) for p, wanted in zip(found, case["probs"]))
    # Exact rationals would have a hundred million digits here.
    assert isinstance(winner_probabilities([10**9, 5], epsilon="ln(2)")[1], Decimal)


def test_numbers_of_the_documentation() -> None:
    assert round(1 - winner_probabilities([303, 298, 134, 133, 133], epsilon=2)[0], 5) == Decimal("0.00218")
    assert round(1 - winner_probabilities([201, 200, 200, 200, 200], epsilon=2)[0], 3) == Decimal("0.351")


@pytest.mark.parametrize("gap", range(9))
def test_two_options_reach_the_known_optimum(gap: int) -> None:
    x = Fraction(2, 5)
    error = x ** (gap // 2) / 2 if gap % 2 == 0 else x ** ((gap + 1) // 2) / (1 + x)
    assert winner_probabilities([3 + gap, 3], epsilon="ln(5/2)")[1] == error


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_permute_and_flip_is_its_definition(neighbours: Neighbours) -> None:
    epsilon = Epsilon.read("ln(9/4)")
    root = Fraction(2, 3) if neighbours is Neighbours.SUBSTITUTION else Fraction(4, 9)
    for counts in elections(4, 7):
        wanted = permute_and_flip(counts, lambda gap: root**gap)
        with precision(160):
            found = permute_and_flip_probabilities(counts, ball_power(epsilon), neighbours)
            assert all(abs(p - w.numerator / p.__class__(w.denominator)) < 1e-40 for p, w in zip(found, wanted))


def test_long_permute_and_flip_polynomials_are_cut_rigorously() -> None:
    counts = [40 - i // 5 for i in range(200)]
    rows = []
    for bits in (30, 400):
        with precision(bits):
            rows.append(permute_and_flip_probabilities(counts, ball_power(Epsilon.read("2")), Neighbours.SUBSTITUTION))
    assert all(rough.overlaps(fine) for rough, fine in zip(*rows))
    assert abs(float(sum(rows[1])) - 1) < 1e-12


votes = st.lists(st.integers(0, 40), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(votes, st.sampled_from(["ln(2)", "ln(7)", "0.3", "1"]), st.sampled_from(["0", "0.01", "1/3", "1"]), st.randoms())
def test_relabelling_changes_nothing_and_rows_sum_to_one(counts: list[int], epsilon: str, delta: str, rng) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(counts)))
    rng.shuffle(order)
    plain = winner_probabilities(counts, epsilon=epsilon, delta=delta)
    shuffled = winner_probabilities([counts[i] for i in order], epsilon=epsilon, delta=delta)
    assert shuffled == [plain[i] for i in order]
    assert abs(sum(Fraction(p) for p in plain) - 1) < Fraction(1, 10**40)
    assert min(plain) >= 0


@settings(max_examples=60, deadline=None)
@given(votes, st.integers(1, 9))
def test_only_gaps_matter(counts: list[int], shift: int) -> None:
    assert winner_probabilities(counts, epsilon="1") == winner_probabilities([c + shift for c in counts], epsilon="1")


def test_edges_of_the_input() -> None:
    assert winner_probabilities([7], epsilon=1) == [Decimal(1)]
    assert winner_probabilities([0, 0], epsilon="ln(2)") == [Fraction(1, 2)] * 2
    assert winner_probabilities([9, 1, 1], epsilon=0) == [Fraction(1, 3)] * 3
    uniform = winner_probabilities([9, 1, 1, 1, 1, 1], epsilon=0)
    assert all(near(p, "0.1666666666666666666666666666666666666666666") for p in uniform)


@pytest.mark.parametrize("counts", [[], [1, -2], [1.5, 2], ["a"], [True, 1], 7])
def test_bad_counts_are_refused_without_quoting_them(counts: object) -> None:
    with pytest.raises(QuestionError) as caught:
        winner_probabilities(counts, epsilon=1)  # type: ignore[arg-type]
    assert "1.5" not in str(caught.value)
    assert "-2" not in str(caught.value)


def test_levels_that_make_no_sense_here() -> None:
    with pytest.raises(LevelError, match="finite"):
        winner_probabilities([1, 2], epsilon="inf")
    with pytest.raises(LevelError, match="negative"):
        winner_probabilities([1, 2], epsilon=-1)
    with pytest.raises(LevelError, match="neighbour relation"):
        winner_probabilities([1, 2], epsilon=1, neighbours="friends")
    with pytest.raises(QuestionError, match="too many to list"):
        winner_probabilities([1] * 1000, epsilon=1)
