"""Privacy of channels at the edge: what floats clear must hold in rationals, and one unit more must not pass."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from small_matrices import CLIQUE, HALF, ONE, PATH, TWO, edges_of, matrix_of

from optimaldp.certify.channels import verdict as privacy
from optimaldp.certify.channels.reading import (
    AnswerPair,
    Factors,
    Matrix,
)
from optimaldp.certify.channels.verdict import check_channel_privacy
from optimaldp.certify.core.examined import LeastLevel
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon


def _oracle(matrix: Matrix, edges: list[AnswerPair], factor: Fraction) -> bool:
    """Both directions of every edge in rationals, for an ``e^epsilon`` that is rational and edges of length 1."""
    return all(
        matrix.share(y, z) <= factor * matrix.share(other, z)
        for edge in edges
        for y, other in ((edge.one, edge.other), (edge.other, edge.one))
        for z in range(len(matrix.outputs))
    )


def _least(matrix: Matrix, edges: list[AnswerPair]) -> float:
    """The least epsilon by logarithms, edge by edge."""
    used = [0.0]
    for edge in edges:
        for y, other in ((edge.one, edge.other), (edge.other, edge.one)):
            for z in range(len(matrix.outputs)):
                high, low = matrix.share(y, z), matrix.share(other, z)
                if high:
                    used.append(_log(high / low) / float(edge.length) if low else math.inf)
    return max(used)


def _log(ratio: Fraction) -> float:
    with precision(200):
        return float(ball(ratio).log())


def _near_tight(generator: np.random.Generator, exact: bool) -> Matrix:
    """Three rows whose first cells are within a few units in the last place of a factor of 2, some of them tiny."""
    scale = float(generator.choice([0.25, 0.1, 1e-13, 1e-200, 1e-300, 5e-324 * 8]))
    rows = []
    for row in range(3):
        cells = [scale * (2.0 if row == generator.integers(3) else 1.0)]
        cells.append(0.125 * float(generator.choice([1.0, 2.0])))
        cells = [
            math.nextafter(cell, generator.choice([0.0, 1.0])) if generator.random() < 0.5 else cell for cell in cells
        ]
        rows.append([*cells, 1.0 - sum(cells)])
    if not exact:
        return matrix_of(rows)
    numbers = [[Fraction(cell) for cell in row[:-1]] for row in rows]
    return matrix_of([[*row, 1 - sum(row)] for row in numbers])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("edges", [PATH, CLIQUE], ids=["path", "clique"])
def test_floats_clear_nothing_that_rationals_refuse(exact: bool, edges: list[AnswerPair]) -> None:
    generator, verdicts = np.random.default_rng(3), set()
    for _ in range(40):
        matrix = _near_tight(generator, exact)
        finding = check_channel_privacy(matrix, edges, TWO)
        assert finding.private == _oracle(matrix, edges, Fraction(2))
        least = _least(matrix, edges)
        assert finding.epsilon == pytest.approx(least, rel=1e-11, abs=1e-11)
        assert finding.epsilon >= least - 1e-12 * (least < 1e-12)
        if finding.worst is not None and not finding.private:
            y, other, z = finding.worst
            assert matrix.share(y, z) > 2 * matrix.share(other, z)
        verdicts.add(finding.private)
    assert verdicts == {True, False}


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("edges", [PATH, CLIQUE], ids=["path", "clique"])
@pytest.mark.parametrize("scale", [0.25, 1e-3, 2.0**-960, 2.0**-970, 2.0**-1060])
def test_a_unit_more_than_the_factor_is_found(exact: bool, edges: list[AnswerPair], scale: float) -> None:
    """Cells of all sizes: ordinary, below what floats may compare, and below what floats can be precise about."""
    for high in (2 * scale, math.nextafter(2 * scale, 1.0)):
        cells = [scale, scale, high]
        rows = [[c, 1.0 - c] if not exact else [Fraction(c), 1 - Fraction(c)] for c in cells]
        matrix = matrix_of(rows)
        finding = check_channel_privacy(matrix, edges, TWO)
        assert finding.private == _oracle(matrix, edges, Fraction(2))
        if exact:
            assert finding.private == (high == 2 * scale)
            assert finding.epsilon == pytest.approx(_least(matrix, edges), rel=1e-9)
            assert finding.worst == (2, 1, 0) if edges is PATH else finding.worst in ((2, 0, 0), (2, 1, 0))


def test_rationals_below_every_float_are_compared() -> None:
    tiny = Fraction(1, 10**400)
    for factor, private in ((2, True), (3, False)):
        for edges in (PATH, CLIQUE):
            matrix = matrix_of(
                [[tiny, 1 - tiny], [tiny * factor, 1 - tiny * factor], [tiny * factor, 1 - tiny * factor]]
            )
            finding = check_channel_privacy(matrix, edges, TWO)
            assert finding.private is private
            assert finding.epsilon == pytest.approx(math.log(factor), rel=1e-9)
    matrix = matrix_of([[tiny, 1 - tiny], [Fraction(0), ONE], [tiny, 1 - tiny]])
    for edges in (PATH, CLIQUE):
        assert check_channel_privacy(matrix, edges, TWO) == LeastLevel(False, math.inf, (0, 1, 0))
    same = matrix_of([[Fraction(0), HALF, HALF]] * 3)
    assert check_channel_privacy(same, PATH, TWO) == LeastLevel(True, 0.0, None)
    assert check_channel_privacy(same, CLIQUE, TWO) == LeastLevel(True, 0.0, None)


@pytest.mark.parametrize("edges", [PATH, CLIQUE], ids=["path", "clique"])
def test_rows_of_floats_are_divided_by_their_sums(edges: list[AnswerPair]) -> None:
    """A row that misses one by 1e-10 is the distribution next to it."""
    low, high = 0.25, 0.5
    for stretch, private in ((1 + 1e-10, True), (1 - 1e-10, False)):
        rows = np.array([[low, 1 - low], [low, 1 - low], [high, (1 - high) * stretch]])
        finding = check_channel_privacy(matrix_of(rows.tolist()), edges, TWO)
        assert finding.private is private
        least = _least(matrix_of(rows.tolist()), edges)
        assert least <= finding.epsilon <= least + 1e-12
    # The same in the row that is compared with: less of the rest makes the small cell larger.
    for stretch, private in ((1 + 1e-10, False), (1 - 1e-10, True)):
        rows = np.array([[low, (1 - low) * stretch]] * 2 + [[high, 1 - high]])
        assert check_channel_privacy(matrix_of(rows.tolist()), edges, TWO).private is private


def test_in_a_clique_the_largest_share_counts_and_not_the_largest_cell() -> None:
    """The first row has the smaller cell and the larger share: more than twice the last one."""
    rows = [[0.5 - 5e-11, 0.5 - 3.5e-10], [0.5, 0.5], [0.25, 0.75]]
    finding = check_channel_privacy(matrix_of(rows), CLIQUE, TWO)
    assert (finding.private, finding.worst) == (False, (0, 2, 0))
    assert check_channel_privacy(matrix_of(rows[1:] + rows[1:2]), CLIQUE, TWO).private
    # The same for the smallest.
    rows = [[0.25 + 5e-11, 0.75 + 5.5e-10], [0.25, 0.75], [0.5, 0.5]]
    finding = check_channel_privacy(matrix_of(rows), CLIQUE, TWO)
    assert (finding.private, finding.worst) == (False, (2, 0, 0))


def test_without_neighbours_there_is_nothing_to_break() -> None:
    assert check_channel_privacy(matrix_of([[ONE, 0], [0, ONE]]), [], TWO) == LeastLevel(True, 0.0, None)


def test_outputs_that_neither_gives_hide_nothing() -> None:
    matrix = matrix_of([[0, HALF, HALF], [0, Fraction(1, 4), Fraction(3, 4)], [0, Fraction(1, 4), Fraction(3, 4)]])
    for edges in (PATH, CLIQUE):
        finding = check_channel_privacy(matrix, edges, TWO)
        assert finding.private
        assert finding.worst is not None
        assert (finding.worst[0], finding.worst[2]) == (0, 1)
        assert finding.epsilon == pytest.approx(math.log(2))


def test_the_least_epsilon_is_rounded_up_by_as_much_as_its_length_asks_for() -> None:
    generator = np.random.default_rng(8)
    for length in (Fraction(1, 2**20), Fraction(2**20)):
        for p, q in generator.random((15, 2)).tolist():
            matrix, edges = matrix_of([[p, 1 - p], [q, 1 - q]]), [AnswerPair(0, 1, length)]
            least = _least(matrix, edges)
            assert least <= check_channel_privacy(matrix, edges, TWO).epsilon <= least * (1 + 1e-11)


def test_lengths_multiply_epsilon() -> None:
    rows = [[Fraction(4, 10), Fraction(6, 10)], [Fraction(1, 10), Fraction(9, 10)]]
    for length, private in ((Fraction(2), True), (Fraction(199, 100), False), (Fraction(201, 100), True)):
        finding = check_channel_privacy(matrix_of(rows), [AnswerPair(0, 1, length)], TWO)
        assert finding.private is private
        assert finding.epsilon == pytest.approx(math.log(4) / float(length), rel=1e-9)
        assert finding.epsilon >= math.log(4) / float(length)
        assert finding.worst == (0, 1, 0)
    turned = check_channel_privacy(matrix_of(rows[::-1]), [AnswerPair(0, 1, Fraction(2))], TWO)
    assert turned.worst == (1, 0, 0)


def test_different_lengths_on_all_pairs_are_not_one_length() -> None:
    rows = [[Fraction(4, 10), Fraction(6, 10)], [Fraction(2, 10), Fraction(8, 10)], [Fraction(1, 10), Fraction(9, 10)]]
    edges = [AnswerPair(0, 1, ONE), AnswerPair(1, 2, ONE), AnswerPair(0, 2, Fraction(2))]
    assert check_channel_privacy(matrix_of(rows), edges, TWO).private
    assert not check_channel_privacy(matrix_of(rows), CLIQUE, TWO).private


def test_without_privacy_everything_is_kept_and_still_measured() -> None:
    endless = Factors(Epsilon.read("inf"))
    matrix = matrix_of([[ONE, Fraction(0)], [Fraction(0), ONE], [HALF, HALF]])
    for edges in (PATH, CLIQUE):
        finding = check_channel_privacy(matrix, edges, endless)
        assert finding.private
        assert finding.epsilon == math.inf


def test_floats_decide_where_it_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rationals are asked about the cells next to the factor, and about nothing else."""
    for exact in (True, False):
        rows = [[0.25, 0.75], [0.5, 0.5], [0.4, 0.6]]
        matrix = matrix_of([[Fraction(p) for p in row] for row in rows] if exact else rows)
        arcs = [(y, other, ONE) for y in range(3) for other in range(3) if y != other]
        assert [one[:3] for one in privacy._suspects(matrix, arcs, TWO)] == [(1, 0, 0)]
        nothing = matrix_of([[Fraction(0), ONE]] * 2 if exact else [[0.0, 1.0]] * 2)
        assert not list(privacy._suspects(nothing, [(0, 1, ONE)], TWO))
        assert not list(privacy._suspects(nothing, [(0, 1, ONE)], Factors(Epsilon.read("inf"))))
    # A rational whose float is 0 need not be 0.
    faint = Fraction(1, 10**400)
    matrix = matrix_of([[faint, 1 - faint], [Fraction(0), ONE]])
    assert [one[:3] for one in privacy._suspects(matrix, [(0, 1, ONE)], TWO)] == [(0, 1, 0)]
    # The huge factor of a long edge is no float: what is clear stays clear.
    far = Factors(Epsilon.read("5000"))
    matrix = matrix_of([[0.25, 0.75], [0.5, 0.5]])
    assert not list(privacy._suspects(matrix, [(0, 1, ONE), (1, 0, ONE)], far))
    assert list(privacy._suspects(matrix_of([[1e-299, 1.0], [0.5, 0.5]]), [(1, 0, ONE)], far))


@pytest.mark.parametrize("block", [1, 2, 4, 5])
def test_arcs_are_looked_at_in_blocks_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    arcs = [(k, k + 1, ONE) for k in range(7)]
    monkeypatch.setattr(privacy, "_BLOCK", block)
    parts = list(privacy._blocks(arcs, 2))
    assert [arc for part in parts for arc in part] == arcs
    assert all(2 * len(part) <= max(2, block) for part in parts)
    for place in range(6):
        rows = [[0.25, 0.75]] * (place + 1) + [[0.5000001, 0.4999999]] * (6 - place)
        edges = edges_of((k, k + 1) for k in range(6))
        finding = check_channel_privacy(matrix_of(rows), edges, TWO)
        assert (finding.private, finding.worst) == (False, (place + 1, place, 0))


def test_factors_as_floats_are_never_above() -> None:
    for factor in (
        Fraction(2),
        Fraction(1, 3) + 1,
        Fraction(10**17 + 1, 3),
        Fraction(2) ** 999 + 1,
        Fraction(2) ** 1000,
    ):
        below = privacy._float_below(factor)
        assert Fraction(below) < factor or factor == 2**1000
        assert below == pytest.approx(float(factor), rel=1e-15)
    for factor in (Fraction(2) ** 1030, Fraction(3) ** 1000):  # no floats
        assert privacy._float_below(factor) == 2.0**1000


def test_in_a_clique_the_extremes_decide() -> None:
    """Floats that are equal may differ as rationals: the largest of the equals is compared with the least."""
    hair = Fraction(1, 10**30)
    first = [HALF, HALF + hair, Fraction(1, 4), Fraction(1, 4) - hair, Fraction(1, 3)]
    for order in ([0, 1, 2, 3, 4], [3, 2, 1, 0, 4], [1, 4, 3, 0, 2]):
        matrix = matrix_of([[first[k], 1 - first[k]] for k in order])
        arcs = list(privacy._extreme_pairs(matrix, ONE, TWO))
        assert arcs[0] == (order.index(1), order.index(3), ONE)
        finding = check_channel_privacy(matrix, edges_of(combinations(range(5), 2)), TWO)
        assert not finding.private
        assert finding.worst == (order.index(1), order.index(3), 0)
        loose = Factors(Epsilon.read("ln(3)"))
        high, low, _ = next(iter(privacy._extreme_pairs(matrix, ONE, loose)))
        assert (order[high] in (0, 1), order[low] in (2, 3)) == (True, True)
