"""What the theorem on lines proves where it holds, where it does not, and what a channel is worth."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from small_bounds import (
    HALF,
    LINE,
    ONE,
    PARTS,
    RING,
    SEVEN,
    TWO,
    WEIGHTS,
    ZERO,
    edges_of,
    masses_of,
)

from optimaldp.certify.channels import potentials as theorems
from optimaldp.certify.channels import verdict as optimality
from optimaldp.certify.channels.potentials import by_theorem
from optimaldp.certify.channels.reading import AnswerPair, Factors, Matrix, UtilityBound
from optimaldp.certify.channels.verdict import proven_bound, utility
from optimaldp.errors import CertificateError
from optimaldp.privacy.epsilon import Epsilon


def _geometric(masses: Sequence[Fraction], t: Fraction, worth: Sequence[Sequence[Fraction]] | None) -> Fraction:
    """The truncated geometric mechanism, read by the best guess at every output."""
    size, value = len(masses), ZERO
    for z in range(size):
        end = z in (0, size - 1)
        column = [t ** abs(y - z) / (1 + t) * (1 if end else 1 - t) for y in range(size)]
        gains = worth or [[masses[y] * (y == g) for g in range(size)] for y in range(size)]
        value += max(sum((gains[y][g] * column[y] for y in range(size)), ZERO) for g in range(len(gains[0])))
    return value


@pytest.mark.parametrize("in_floats", [False, True])
@pytest.mark.parametrize("factors", [TWO, SEVEN], ids=["ln(2)", "0.7"])
@pytest.mark.parametrize("gain", [None, "distance"])
def test_the_theorem_on_lines(
    in_floats: bool, factors: Factors, gain: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_floats:
        monkeypatch.setattr(theorems, "EXACT_ANSWERS", 3)
    order = [2, 0, 4, 1, 3]
    edges = edges_of(pairwise(order), Fraction(2))
    masses = masses_of(5, 1, 2, 4, 3)
    place = {y: k for k, y in enumerate(order)}
    worth = None
    if gain:
        worth = [[masses[y] * (3 - Fraction(abs(place[y] - place[z]), 3)) for z in range(5)] for y in range(5)]
    told = by_theorem(edges, factors, masses, worth)
    t = 1 / factors.between(Fraction(2))[1]
    table = None if worth is None else [[worth[y][z] for z in order] for y in order]
    exact = _geometric([masses[y] for y in order], t, table)
    assert exact <= told.value <= exact * (1 + Fraction(1, 10**11))
    assert in_floats or told.value == exact
    assert "Ghosh" in told.reason


def as_table(worth: list[list[Fraction]] | None) -> Any:
    return None if worth is None else np.array([[float(w) for w in row] for row in worth])


def test_the_geometric_value_in_floats_is_never_below() -> None:
    generator = np.random.default_rng(17)
    for size in (2, 5, 11):
        for t in (Fraction(1, 2), Fraction(999, 1000), Fraction(1, 10**6)):
            weights = [Fraction(int(n)) for n in generator.integers(1, 10**6, size)]
            masses = [w / sum(weights) for w in weights]
            scaled = [[m * (1000 - abs(y - z)) for z in range(size)] for y, m in enumerate(masses)]
            for worth in (None, scaled):
                exact = theorems._geometric_value(masses, t, worth)
                rough = theorems._geometric_value_in_floats(masses, t, as_table(worth))
                scale = 1 if worth is None else 1000
                assert exact < rough <= exact + Fraction(scale, 10**11)
                # The rounding of so many sums is covered, and not only when it happens to go up.
                assert rough - exact >= size * Fraction(scale, 2**54)


def test_margins_grow_with_the_number_of_answers() -> None:
    """A sum of many terms may miss by as many units of its size: so much is added, or taken off, always."""
    size, unit = 300, Fraction(1, 2**53)
    masses = [Fraction(1, size)] * size
    one_guess = [[1000 * mass] + [ZERO] * (size - 1) for mass in masses]
    for worth, exact in ((None, 1), (one_guess, 1000)):  # without noise
        assert theorems._geometric_value_in_floats(masses, ZERO, as_table(worth)) - exact >= size * unit * exact
        matrix = Matrix(tuple(range(size)), tuple(range(size)), np.eye(size))
        assert exact - utility(matrix, tuple(masses), worth) >= size * unit * exact


def test_a_line_of_two() -> None:
    assert by_theorem(edges_of([(0, 1)]), TWO, masses_of(1, 1), None).value == Fraction(2, 3)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (1, 2), (2, 3), (3, 0)],  # a ring
        [(0, 1), (0, 2), (0, 3)],  # a star
        [(0, 1), (2, 3)],  # two lines
        [(0, 1), (1, 2), (2, 0)],  # a ring, and one alone
        [(0, 1), (1, 0), (2, 3)],
        [(0, 1), (1, 2), (1, 2)],
    ],
    ids=str,
)
def test_what_is_no_line(pairs: Any) -> None:
    assert theorems._line(4, edges_of(pairs)) is None
    with pytest.raises(CertificateError, match="speaks of a line"):
        by_theorem(edges_of(pairs), TWO, WEIGHTS, None)


def test_what_is_a_line() -> None:
    assert theorems._line(4, LINE) in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert theorems._line(2, edges_of([(0, 1)])) in ([0, 1], [1, 0])
    assert theorems._line(4, edges_of([(2, 0), (3, 2), (1, 3)])) in ([0, 2, 3, 1], [1, 3, 2, 0])
    assert theorems._line(4, [*LINE[:2], AnswerPair(2, 3, HALF)]) is None
    assert theorems._line(5, edges_of([(0, 1), (2, 3), (3, 4), (4, 2)])) is None  # a line and a ring
    assert theorems._line(6, edges_of([(0, 1), (1, 2), (1, 3), (2, 3), (4, 5)])) is None


FALLS = [[WEIGHTS[y] * (5 - abs(y - z)) for z in range(4)] for y in range(4)]


def _changed(y: int, z: int, value: Fraction) -> list[list[Fraction]]:
    return [[value if (a, b) == (y, z) else cell for b, cell in enumerate(row)] for a, row in enumerate(FALLS)]


def test_gains_that_only_fall() -> None:
    order = [0, 1, 2, 3]
    assert theorems._only_falls(FALLS, WEIGHTS, order)
    assert theorems._only_falls([[WEIGHTS[y] for _ in range(4)] for y in range(4)], WEIGHTS, order)
    assert not theorems._only_falls([row[:3] for row in FALLS], WEIGHTS, order)
    assert not theorems._only_falls(
        _changed(1, 0, FALLS[1][0] - Fraction(1, 10**9)), WEIGHTS, order
    )  # another left than right
    assert not theorems._only_falls(_changed(0, 3, FALLS[0][2] + Fraction(1, 10**9)), WEIGHTS, order)
    assert theorems._only_falls(_changed(0, 3, FALLS[0][2]), WEIGHTS, order)
    assert not theorems._only_falls(_changed(3, 0, FALLS[3][1] + Fraction(1, 10**9)), WEIGHTS, order)
    assert not theorems._only_falls(_changed(0, 1, FALLS[0][0] + Fraction(1, 10**9)), WEIGHTS, order)
    silent = masses_of(0, 1, 2, 4)
    assert theorems._only_falls(_changed(0, 3, Fraction(99)), silent, order)
    assert not theorems._only_falls(_changed(3, 0, Fraction(99)), silent, order)
    with pytest.raises(CertificateError, match="speaks of a line"):
        by_theorem(LINE, TWO, WEIGHTS, _changed(3, 0, Fraction(99)))


def test_one_guess_for_each_part() -> None:
    worth = [[WEIGHTS[y] * g for g in gains] for y, gains in enumerate(([1, 0], [0, 3], [5, 1], [1, 2]))]
    alike, endless = Factors(Epsilon.read("0")), Factors(Epsilon.read("inf"))
    for edges, parts in ((PARTS, [[0, 1], [2, 3]]), (LINE, [[0, 1, 2, 3]]), (RING[1:], [[0, 1, 2, 3]])):
        assert sorted(map(sorted, theorems._parts(4, edges))) == parts
        told = by_theorem(edges, alike, WEIGHTS, None)
        assert told == UtilityBound(
            sum((max(WEIGHTS[y] for y in part) for part in parts), ZERO), "one guess for each part of the graph"
        )
        told = by_theorem(edges, alike, WEIGHTS, worth)
        assert told.value == sum((max(sum(worth[y][g] for y in part) for g in range(2)) for part in parts), ZERO)
        assert by_theorem(edges, endless, WEIGHTS, None).value == 1
        assert by_theorem(edges, endless, WEIGHTS, worth).value == sum(map(max, worth), ZERO)
    assert by_theorem([], TWO, WEIGHTS, None).value == 1
    assert [sorted(part) for part in theorems._parts(5, edges_of([(0, 4), (4, 2), (2, 0)]))] == [[0, 2, 4], [1], [3]]


def test_edges_may_be_cut() -> None:
    line = by_theorem(LINE, TWO, WEIGHTS, None)
    assert by_theorem(RING, TWO, WEIGHTS, None, cut=[[0, 3]]) == line
    assert by_theorem(RING, TWO, WEIGHTS, None, cut=[(3, 0), [0, 2]]) == line
    for cut in ("03", 5, [[0, 3, 1]], [5], {"0": 3}):
        with pytest.raises(CertificateError, match="is not a list of"):
            by_theorem(RING, TWO, WEIGHTS, None, cut=cut)
    for cut in ([], [[0, 2]], [[0.0, 3.0]]):
        with pytest.raises(CertificateError, match="speaks of a line"):
            by_theorem(RING, TWO, WEIGHTS, None, cut=cut)
    every = [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert by_theorem(RING, TWO, WEIGHTS, None, cut=every).value == 1


def test_the_utility_is_that_of_the_best_guesses() -> None:
    rows = ((HALF, Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 8), Fraction(3, 4), Fraction(1, 8)))
    masses = masses_of(1, 3)
    worth = [[masses[0] * 2, ZERO, -masses[0]], [ZERO, masses[1], -2 * masses[1]]]
    for floats in (False, True):
        cells: Any = np.array([[float(p) for p in row] for row in rows]) if floats else rows
        matrix = Matrix((0, 1), ("a", "b", "c"), cells)
        plain, gained = utility(matrix, masses, None), utility(matrix, masses, worth)
        exact = Fraction(1, 8) + Fraction(9, 16) + Fraction(3, 32)
        assert exact - Fraction(1, 10**12) < plain <= exact
        best = Fraction(1, 4) + Fraction(9, 16) + Fraction(1, 8)
        assert best - Fraction(1, 10**12) < gained <= best
        assert floats or (plain, gained) == (exact, best)
        if floats:
            assert exact - plain >= 3 * Fraction(1, 2**53)
            assert best - gained >= 3 * Fraction(1, 2**53)


def test_the_utility_in_floats_is_never_above() -> None:
    generator = np.random.default_rng(19)
    for _ in range(12):
        rows = generator.random((6, 5))
        rows /= rows.sum(axis=1)[:, None]
        rows[0] *= 1 + 3e-10
        weights = generator.random(6)
        masses = tuple(Fraction(w) / sum(map(Fraction, weights)) for w in weights.tolist())
        shares = [[Fraction(c) / sum(map(Fraction, row)) for c in row] for row in rows.tolist()]
        matrix = Matrix(tuple(range(6)), tuple(range(5)), rows)
        table = [
            [m * Fraction(g) for g in row] for m, row in zip(masses, (1e6 * generator.random((6, 4)) - 5e5).tolist())
        ]
        for worth in (None, table):
            gains = worth or [[m * (y == g) for g in range(6)] for y, m in enumerate(masses)]
            exact = sum(
                (
                    max(sum(gain * row[z] for gain, row in zip(guess, shares)) for guess in zip(*gains))
                    for z in range(5)
                ),
                ZERO,
            )
            scale = 1 if worth is None else 10**6
            assert exact - Fraction(scale, 10**12) <= utility(matrix, masses, worth) <= exact


def test_each_kind_of_certificate_has_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("by_potential", "by_flows", "by_theorem"):
        monkeypatch.setattr(optimality, name, lambda *_, name=name, **more: (name, more))
    worth = [[ONE]] * 4

    def told(kind: str, gain: Any = None) -> Any:
        return proven_bound({"kind": kind, "cut": [[0, 1]]}, RING, TWO, WEIGHTS, gain)

    assert told("potential")[0] == "by_potential"
    assert told("linear-program dual")[0] == told("linear-program dual", worth)[0] == "by_flows"
    assert told("theorem") == told("theorem", worth) == ("by_theorem", {"cut": [[0, 1]]})
    for kind, gain in (("potential", worth), ("faith", None), (None, None)):
        with pytest.raises(CertificateError, match="is no kind of proof"):
            told(kind, gain)  # type: ignore[arg-type]
