"""What weights on the privacy constraints prove: as they are defined, and in floats never less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from small_bounds import (
    HALF,
    LINE,
    MIXED,
    ONE,
    RING,
    THIRD,
    TWO,
    WEIGHTS,
    ZERO,
    edges_of,
    masses_of,
    random_numbers,
)

from optimaldp.certify.channels import potentials as flows
from optimaldp.certify.channels.potentials import by_flows
from optimaldp.certify.channels.reading import UNIT, AnswerPair, as_floats, certificate_number
from optimaldp.errors import CertificateError


def test_numbers_of_a_certificate() -> None:
    assert certificate_number(0.1, "flow") == Fraction(0.1) != Fraction(1, 10)
    assert certificate_number("1/3", "flow") == THIRD
    assert certificate_number(0, "flow") == certificate_number(0.0, "flow") == 0
    assert certificate_number("-1/3", "flow", signed=True) == -THIRD
    for number in (-1, "-1/1000000000", -0.25):
        with pytest.raises(CertificateError, match="is negative"):
            certificate_number(number, "flow")
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(CertificateError, match=r"flow.*is not a number"):
            certificate_number(number, "flow", signed=True)
    assert as_floats([THIRD, HALF]).tolist() == [1 / 3, 0.5]
    assert np.finfo(float).eps / 2 == UNIT


def _flow_bound(rows: list[Any], edges: list[AnswerPair], worth: Sequence[Sequence[Fraction]]) -> Fraction:
    """The definition: what each cell is worth after the weights, the best of each row."""
    left = [list(row) for row in worth]
    factor = {frozenset((e.one, e.other)): TWO.between(e.length)[1] for e in edges}
    for y, other, guess, weight in rows:
        left[y][guess] -= weight
        left[other][guess] += factor[frozenset((y, other))] * weight
    return sum((max(row) for row in left), ZERO)


@pytest.mark.parametrize("in_floats", [False, True])
@pytest.mark.parametrize("edges", [LINE, RING, MIXED], ids=["line", "ring", "mixed"])
def test_flows_are_added_up_as_they_are_defined(
    in_floats: bool, edges: list[AnswerPair], monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_floats:
        monkeypatch.setattr(flows, "EXACT_ANSWERS", 3)
    generator = np.random.default_rng(5)
    diagonal = [[WEIGHTS[y] if y == z else ZERO for z in range(4)] for y in range(4)]
    for _ in range(20):
        ends = [(e.one, e.other) if generator.random() < 0.5 else (e.other, e.one) for e in edges]
        rows = [
            [*ends[k], int(generator.integers(3)), weight]
            for k, weight in zip([0, 1, 2, 2], random_numbers(generator, 4))
        ]
        worth = [random_numbers(generator, 3, signed=True) for _ in range(4)]
        told = by_flows(rows, edges, TWO, WEIGHTS, worth)
        exact = _flow_bound(rows, edges, worth)
        assert "weights" in told.reason
        assert exact <= told.value <= exact + abs(exact) * Fraction(1, 10**12) + Fraction(1, 10**12)
        assert in_floats or told.value == exact
        # Without a gain fewer guesses count, those that a best channel needs.
        assert by_flows(rows, edges, TWO, WEIGHTS, None).value <= by_flows(rows, edges, TWO, WEIGHTS, diagonal).value


@pytest.mark.parametrize("in_floats", [False, True])
def test_flows_on_ranges_of_guesses(in_floats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if in_floats:
        monkeypatch.setattr(flows, "EXACT_ANSWERS", 3)
    worth = [[ZERO] * 5 for _ in range(4)]
    many = by_flows([[0, 1, [[0, 2], [3, 5]], "1/8"]], LINE, TWO, WEIGHTS, worth).value
    single = by_flows([[0, 1, z, "1/8"] for z in (0, 1, 3, 4)], LINE, TWO, WEIGHTS, worth).value
    assert float(many) == pytest.approx(float(single), abs=1e-14)
    assert float(many) == pytest.approx(0.25)  # row 0 keeps guess 2, row 1 has twice the weight
    whole = by_flows([[0, 1, [[0, 5]], "1/8"]], LINE, TWO, WEIGHTS, worth).value
    assert float(whole) == pytest.approx(0.125)


@pytest.mark.parametrize("in_floats", [False, True])
def test_without_a_gain_only_useful_guesses_count(in_floats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 1 has half the mass of its neighbour at a factor of 2: guessing it is never needed."""
    if in_floats:
        monkeypatch.setattr(flows, "EXACT_ANSWERS", 1)
    pair = edges_of([(0, 1)])
    assert float(by_flows([], pair, TWO, masses_of(2, 1), None).value) == pytest.approx(2 / 3)
    assert float(by_flows([], pair, TWO, masses_of(3, 2), None).value) == pytest.approx(1)
    # Its weight on a guess that is not needed changes nothing; on the other one it does: -1/3 and +2/3.
    assert float(by_flows([[1, 0, 1, "1/3"]], pair, TWO, masses_of(2, 1), None).value) == pytest.approx(2 / 3)
    assert float(by_flows([[1, 0, 0, "1/3"]], pair, TWO, masses_of(2, 1), None).value) == pytest.approx(1)
    assert float(by_flows([[0, 1, 0, "1/3"]], pair, TWO, masses_of(2, 1), None).value) == pytest.approx(1)


def test_which_guesses_are_needed() -> None:
    above = {(0, 1): Fraction(2), (1, 0): Fraction(2)}
    assert flows._useful(above, masses_of(2, 1)) == [0]
    assert flows._useful(above, masses_of(1, 2)) == [1]
    assert flows._useful(above, masses_of(1999, 1000)) == [0, 1]
    assert flows._useful({(0, 1): ONE, (1, 0): ONE}, masses_of(1, 1)) == [0, 1]
    assert flows._useful(above, masses_of(0, 0, 1)) == [0, 1, 2]


def test_sums_of_floats_that_lose_all_they_add_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of weights, each just below half a unit of the cell: floats add none of them."""
    monkeypatch.setattr(flows, "EXACT_ANSWERS", 1)
    pair, times = edges_of([(0, 1)]), 250
    for size in (ONE, Fraction(2) ** 20):
        weight = size * Fraction(99, 200) * Fraction(1, 2**53)
        rows = [[0, 1, 0, str(weight)]] * times
        worth = [[ZERO, ZERO], [size, ZERO]]
        exact = _flow_bound([[0, 1, 0, weight]] * times, pair, worth)
        assert exact > size
        told = by_flows(rows, pair, TWO, masses_of(1, 1), worth).value
        assert exact <= told <= exact + 10 * (exact - size)
        # The other way round, floats take nothing away: that is above already, and stays near.
        taken = by_flows([[1, 0, 0, str(weight)]] * times, pair, TWO, masses_of(1, 1), worth).value
        assert size <= taken <= size + 20 * (exact - size)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("none", "not a list of"),
        ([[0, 1, 0]], "is not \\[answer"),
        ([5], "is not \\[answer"),
        ([[0, 1.0, 0, 1]], "is not \\[answer"),
        ([[False, 1, 0, 1]], "is not \\[answer"),
        ([[0, 2, 0, 1]], "not between two neighbours"),
        ([[0, 1, 4, 1]], "not between two neighbours"),
        ([[0, 1, -1, 1]], "not between two neighbours"),
        ([[0, 1, [[1, 1]], 1]], "not between two neighbours"),
        ([[0, 1, [[0, 5]], 1]], "not between two neighbours"),
        ([[0, 1, [[0, 1, 2]], 1]], "neither a guess nor"),
        ([[0, 1, "01", 1]], "neither a guess nor"),
        ([[0, 1, [[0, 1.0]], 1]], "neither a guess nor"),
        ([[0, 1, [5], 1]], "neither a guess nor"),
        ([[0, 1, 0, -1]], "is negative"),
    ],
)
def test_flows_that_are_none(rows: Any, words: str) -> None:
    with pytest.raises(CertificateError, match=words):
        by_flows(rows, LINE, TWO, WEIGHTS, None)
