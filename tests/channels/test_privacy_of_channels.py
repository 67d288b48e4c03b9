"""Privacy of channels at the edge: what floats clear must hold in rationals, and one unit more must not pass."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from optimaldp.certify.channels import privacy
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.privacy import PrivacyFinding, check_channel_privacy
from optimaldp.certify.channels.reading import (
    Matrix,
    Neighbours,
    all_are_neighbours,
    only_length,
    read_edges,
    read_masses,
    read_matrix,
    read_worth,
)
from optimaldp.channels import AnswerGraph
from optimaldp.errors import ChannelError
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.epsilon import Epsilon

ONE, HALF = Fraction(1), Fraction(1, 2)
TWO = Factors(Epsilon.read("ln(2)"))


def _edges(pairs: Any, length: Fraction = ONE) -> list[Neighbours]:
    return [Neighbours(one, other, length) for one, other in pairs]


def _matrix(rows: Any) -> Matrix:
    kept = np.array(rows) if isinstance(rows[0][0], float) else tuple(tuple(map(Fraction, row)) for row in rows)
    return Matrix(tuple(range(len(rows))), tuple(range(len(rows[0]))), kept)


PATH = _edges([(0, 1), (1, 2)])
CLIQUE = _edges(combinations(range(3), 2))


# --- factors ---------------------------------------------------------------------------------------------------------


def test_factors_lie_between_rationals() -> None:
    assert TWO.between(Fraction(3)) == (8, 8)
    low, high = TWO.between(HALF)
    assert low**2 < 2 < high**2
    assert 0 < high - low < Fraction(1, 2**150)
    assert TWO.between(HALF) is TWO.between(HALF)  # kept
    wide, wider = TWO.between(HALF, bits=40), TWO.between(HALF, bits=20)
    assert wider[1] - wider[0] > wide[1] - wide[0] > high - low
    real = Factors(Epsilon.read("0.7"))
    for length in (ONE, HALF, Fraction(5, 3)):
        low, high = real.between(length)
        with precision(400):
            exact = (Epsilon.read("0.7").ball() * ball(length)).exp()
            assert ball(low) < exact < ball(high)
    assert Factors(Epsilon.read("1e-60")).between(ONE)[0] == 1  # never below one, though an enclosure is


@pytest.mark.parametrize(
    ("epsilon", "length", "factor"),
    [("ln(2)", ONE, 2), ("ln(4)", HALF, 2), ("ln(4)", Fraction(3, 2), 8), ("ln(2)", Fraction(3), 8), ("0", ONE, 1)],
)
def test_a_factor_that_is_rational_is_met_exactly(epsilon: str, length: Fraction, factor: int) -> None:
    factors, low = Factors(Epsilon.read(epsilon)), Fraction(1, 10)
    assert factors.allows(factor * low, low, length)
    assert not factors.allows(factor * low + Fraction(1, 10**90), low, length)
    assert factors.allows(low, low, length)
    assert factors.allows(Fraction(0), Fraction(0), length)
    assert not factors.allows(Fraction(1, 10**90), Fraction(0), length)


@pytest.mark.parametrize("bits", [100, 200, 5000])
def test_a_factor_that_is_irrational_is_told_from_its_neighbours(bits: int) -> None:
    epsilon, low = Epsilon.read("0.7"), Fraction(1, 7)
    factors = Factors(epsilon)
    assert factors.allows(epsilon.ratio_below(bits=bits) * low, low, ONE)
    assert not factors.allows(epsilon.ratio_above(bits=bits) * low, low, ONE)
    root = factors.between(HALF, bits=bits)
    assert factors.allows(root[0], ONE, HALF)
    assert not factors.allows(root[1], ONE, HALF)
    assert TWO.allows(TWO.between(HALF, bits=bits)[0], ONE, HALF)
    assert not TWO.allows(TWO.between(HALF, bits=bits)[1], ONE, HALF)


def test_what_no_precision_tells_apart_is_refused() -> None:
    epsilon = Epsilon.read("0.7")
    assert not Factors(epsilon).allows(epsilon.ratio_below(bits=140_000), ONE, ONE)
    assert Factors(epsilon).allows(epsilon.ratio_below(bits=20_000), ONE, ONE)


# --- every edge, every output ----------------------------------------------------------------------------------------


def _oracle(matrix: Matrix, edges: list[Neighbours], factor: Fraction) -> bool:
    """Both directions of every edge in rationals, for an ``e^epsilon`` that is rational and edges of length 1."""
    return all(
        matrix.share(y, z) <= factor * matrix.share(other, z)
        for edge in edges
        for y, other in ((edge.one, edge.other), (edge.other, edge.one))
        for z in range(len(matrix.outputs))
    )


def _least(matrix: Matrix, edges: list[Neighbours]) -> float:
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
        return _matrix(rows)
    numbers = [[Fraction(cell) for cell in row[:-1]] for row in rows]
    return _matrix([[*row, 1 - sum(row)] for row in numbers])


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("edges", [PATH, CLIQUE], ids=["path", "clique"])
def test_floats_clear_nothing_that_rationals_refuse(exact: bool, edges: list[Neighbours]) -> None:
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
def test_a_unit_more_than_the_factor_is_found(exact: bool, edges: list[Neighbours], scale: float) -> None:
    """Cells of all sizes: ordinary, below what floats may compare, and below what floats can be precise about."""
    for high in (2 * scale, math.nextafter(2 * scale, 1.0)):
        cells = [scale, scale, high]
        rows = [[c, 1.0 - c] if not exact else [Fraction(c), 1 - Fraction(c)] for c in cells]
        matrix = _matrix(rows)
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
            matrix = _matrix([[tiny, 1 - tiny], [tiny * factor, 1 - tiny * factor], [tiny * factor, 1 - tiny * factor]])
            finding = check_channel_privacy(matrix, edges, TWO)
            assert finding.private is private
            assert finding.epsilon == pytest.approx(math.log(factor), rel=1e-9)
    matrix = _matrix([[tiny, 1 - tiny], [Fraction(0), ONE], [tiny, 1 - tiny]])
    for edges in (PATH, CLIQUE):
        assert check_channel_privacy(matrix, edges, TWO) == PrivacyFinding(False, math.inf, (0, 1, 0))
    same = _matrix([[Fraction(0), HALF, HALF]] * 3)
    assert check_channel_privacy(same, PATH, TWO) == PrivacyFinding(True, 0.0, None)
    assert check_channel_privacy(same, CLIQUE, TWO) == PrivacyFinding(True, 0.0, None)


@pytest.mark.parametrize("edges", [PATH, CLIQUE], ids=["path", "clique"])
def test_rows_of_floats_are_divided_by_their_sums(edges: list[Neighbours]) -> None:
    """A row that misses one by 1e-10 is the distribution next to it."""
    low, high = 0.25, 0.5
    for stretch, private in ((1 + 1e-10, True), (1 - 1e-10, False)):
        rows = np.array([[low, 1 - low], [low, 1 - low], [high, (1 - high) * stretch]])
        finding = check_channel_privacy(_matrix(rows.tolist()), edges, TWO)
        assert finding.private is private
        least = _least(_matrix(rows.tolist()), edges)
        assert least <= finding.epsilon <= least + 1e-12
    # The same in the row that is compared with: less of the rest makes the small cell larger.
    for stretch, private in ((1 + 1e-10, False), (1 - 1e-10, True)):
        rows = np.array([[low, (1 - low) * stretch]] * 2 + [[high, 1 - high]])
        assert check_channel_privacy(_matrix(rows.tolist()), edges, TWO).private is private


def test_in_a_clique_the_largest_share_counts_and_not_the_largest_cell() -> None:
    """The first row has the smaller cell and the larger share: more than twice the last one."""
    rows = [[0.5 - 5e-11, 0.5 - 3.5e-10], [0.5, 0.5], [0.25, 0.75]]
    finding = check_channel_privacy(_matrix(rows), CLIQUE, TWO)
    assert (finding.private, finding.worst) == (False, (0, 2, 0))
    assert check_channel_privacy(_matrix(rows[1:] + rows[1:2]), CLIQUE, TWO).private
    # The same for the smallest.
    rows = [[0.25 + 5e-11, 0.75 + 5.5e-10], [0.25, 0.75], [0.5, 0.5]]
    finding = check_channel_privacy(_matrix(rows), CLIQUE, TWO)
    assert (finding.private, finding.worst) == (False, (2, 0, 0))


def test_without_neighbours_there_is_nothing_to_break() -> None:
    assert check_channel_privacy(_matrix([[ONE, 0], [0, ONE]]), [], TWO) == PrivacyFinding(True, 0.0, None)


def test_outputs_that_neither_gives_hide_nothing() -> None:
    matrix = _matrix([[0, HALF, HALF], [0, Fraction(1, 4), Fraction(3, 4)], [0, Fraction(1, 4), Fraction(3, 4)]])
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
            matrix, edges = _matrix([[p, 1 - p], [q, 1 - q]]), [Neighbours(0, 1, length)]
            least = _least(matrix, edges)
            assert least <= check_channel_privacy(matrix, edges, TWO).epsilon <= least * (1 + 1e-11)


def test_lengths_multiply_epsilon() -> None:
    rows = [[Fraction(4, 10), Fraction(6, 10)], [Fraction(1, 10), Fraction(9, 10)]]
    for length, private in ((Fraction(2), True), (Fraction(199, 100), False), (Fraction(201, 100), True)):
        finding = check_channel_privacy(_matrix(rows), [Neighbours(0, 1, length)], TWO)
        assert finding.private is private
        assert finding.epsilon == pytest.approx(math.log(4) / float(length), rel=1e-9)
        assert finding.epsilon >= math.log(4) / float(length)
        assert finding.worst == (0, 1, 0)
    turned = check_channel_privacy(_matrix(rows[::-1]), [Neighbours(0, 1, Fraction(2))], TWO)
    assert turned.worst == (1, 0, 0)


def test_different_lengths_on_all_pairs_are_not_one_length() -> None:
    rows = [[Fraction(4, 10), Fraction(6, 10)], [Fraction(2, 10), Fraction(8, 10)], [Fraction(1, 10), Fraction(9, 10)]]
    edges = [Neighbours(0, 1, ONE), Neighbours(1, 2, ONE), Neighbours(0, 2, Fraction(2))]
    assert check_channel_privacy(_matrix(rows), edges, TWO).private
    assert not check_channel_privacy(_matrix(rows), CLIQUE, TWO).private


def test_without_privacy_everything_is_kept_and_still_measured() -> None:
    endless = Factors(Epsilon.read("inf"))
    matrix = _matrix([[ONE, Fraction(0)], [Fraction(0), ONE], [HALF, HALF]])
    for edges in (PATH, CLIQUE):
        finding = check_channel_privacy(matrix, edges, endless)
        assert finding.private
        assert finding.epsilon == math.inf


def test_floats_decide_where_it_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rationals are asked about the cells next to the factor, and about nothing else."""
    for exact in (True, False):
        rows = [[0.25, 0.75], [0.5, 0.5], [0.4, 0.6]]
        matrix = _matrix([[Fraction(p) for p in row] for row in rows] if exact else rows)
        arcs = [(y, other, ONE) for y in range(3) for other in range(3) if y != other]
        assert [one[:3] for one in privacy._suspects(matrix, arcs, TWO)] == [(1, 0, 0)]
        nothing = _matrix([[Fraction(0), ONE]] * 2 if exact else [[0.0, 1.0]] * 2)
        assert len(list(privacy._suspects(nothing, [(0, 1, ONE)], TWO))) == int(exact)
        assert not list(privacy._suspects(nothing, [(0, 1, ONE)], Factors(Epsilon.read("inf"))))
    # The huge factor of a long edge is no float: what is clear stays clear.
    far = Factors(Epsilon.read("5000"))
    matrix = _matrix([[0.25, 0.75], [0.5, 0.5]])
    assert not list(privacy._suspects(matrix, [(0, 1, ONE), (1, 0, ONE)], far))
    assert list(privacy._suspects(_matrix([[1e-299, 1.0], [0.5, 0.5]]), [(1, 0, ONE)], far))


@pytest.mark.parametrize("block", [1, 2, 4, 5])
def test_arcs_are_looked_at_in_blocks_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    arcs = [(k, k + 1, ONE) for k in range(7)]
    monkeypatch.setattr(privacy, "_BLOCK", block)
    parts = list(privacy._blocks(arcs, 2))
    assert [arc for part in parts for arc in part] == arcs
    assert all(2 * len(part) <= max(2, block) for part in parts)
    for place in range(6):
        rows = [[0.25, 0.75]] * (place + 1) + [[0.5000001, 0.4999999]] * (6 - place)
        edges = _edges((k, k + 1) for k in range(6))
        finding = check_channel_privacy(_matrix(rows), edges, TWO)
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
        matrix = _matrix([[first[k], 1 - first[k]] for k in order])
        arcs = list(privacy._extreme_pairs(matrix, ONE, TWO))
        assert arcs[0] == (order.index(1), order.index(3), ONE)
        finding = check_channel_privacy(matrix, _edges(combinations(range(5), 2)), TWO)
        assert not finding.private
        assert finding.worst == (order.index(1), order.index(3), 0)
        loose = Factors(Epsilon.read("ln(3)"))
        high, low, _ = next(iter(privacy._extreme_pairs(matrix, ONE, loose)))
        assert (order[high] in (0, 1), order[low] in (2, 3)) == (True, True)


# --- reading ---------------------------------------------------------------------------------------------------------


def _channel(rows: Any, inputs: Any = (0, 1), outputs: Any = ("a", "b")) -> Any:
    return SimpleNamespace(inputs=inputs, outputs=outputs, rows=rows)


def test_rows_come_in_the_order_of_the_graph() -> None:
    graph = AnswerGraph(["u", "v", "w"], [("u", "v"), ("w", "v")])
    rows = [[1, 0], ["1/2", "1/2"], [0, 1]]
    matrix = read_matrix(_channel(rows, ("w", "u", "v")), graph)
    assert matrix.rows == ((HALF, HALF), (0, 1), (1, 0))
    assert matrix.names == ("u", "v", "w")
    floats = read_matrix(_channel(np.array([[1.0, 0], [0.5, 0.5], [0, 1]]), ("w", "u", "v")), graph)
    assert floats.rows.tolist() == [[0.5, 0.5], [0, 1], [1, 0]]
    assert matrix.exact
    assert not floats.exact
    assert matrix.floats.tolist() == floats.floats.tolist()
    assert {frozenset((edge.one, edge.other)) for edge in read_edges(graph)} == {frozenset((0, 1)), frozenset((1, 2))}


def test_totals_are_those_of_the_rows() -> None:
    floats = _matrix([[0.1, 0.9000000001], [0.25, 0.75]])
    assert floats.total(0) == Fraction(0.1) + Fraction(0.9000000001)
    assert floats.total(0) == floats.total(0)
    assert floats.share(0, 0) == Fraction(0.1) / (Fraction(0.1) + Fraction(0.9000000001))
    assert floats.cell(1, 1) == Fraction(3, 4)
    assert floats.sums == [math.fsum([0.1, 0.9000000001]), 1.0]
    assert _matrix([[HALF, HALF]]).total(0) == 1


@pytest.mark.parametrize("missing", [0.9e-9, -0.9e-9])
def test_floats_may_miss_one_by_rounding_and_rationals_may_not(missing: float) -> None:
    graph = AnswerGraph.path(2)
    read_matrix(_channel(np.array([[0.5, 0.5 + missing], [0.5, 0.5]])), graph)
    with pytest.raises(ChannelError, match=r"row 0.*sums to"):
        read_matrix(_channel(np.array([[0.5, 0.5 + 1.2 * missing], [0.5, 0.5]])), graph)
    with pytest.raises(ChannelError, match=r"row 1.*sums to"):
        read_matrix(_channel([[HALF, HALF], [HALF, HALF + Fraction(missing) / 10**20]]), graph)


def test_what_is_no_probability_is_named() -> None:
    graph = AnswerGraph.path(2)
    for rows in ([[1, 0], [Fraction(3, 2), -HALF]], np.array([[1.0, 0.0], [1.5, -0.5]])):
        with pytest.raises(ChannelError, match=r"row 1.*-0.5.*not a probability"):
            read_matrix(_channel(rows), graph)
    with pytest.raises(ChannelError, match="not a probability"):
        read_matrix(_channel(np.array([[1.0, 0.0], [np.inf, 0.5]])), graph)
    with pytest.raises(ChannelError, match=r"row 1.*3.*number of outputs, 2"):
        read_matrix(_channel([[1, 0], [1, 0, 0]]), graph)
    for inputs in ((0, 1, 1), (0, 2), (0,)):
        with pytest.raises(ChannelError, match="are not the inputs"):
            read_matrix(_channel([[1, 0]] * len(inputs), inputs), graph)


def test_lengths_are_positive() -> None:
    for length in (0, -1):
        graph = SimpleNamespace(vertices=(0, 1), lengths={(0, 1): Fraction(length)})
        with pytest.raises(ChannelError, match=r"is not positive.*\(0, 1\)"):
            read_edges(graph)
    short = Fraction(1, 10**9)
    graph = SimpleNamespace(vertices=(5, 7, 9), lengths={(5, 9): short, (9, 7): Fraction(2)})
    assert read_edges(graph) == [Neighbours(0, 2, short), Neighbours(2, 1, Fraction(2))]


def test_one_length_and_all_pairs() -> None:
    assert only_length(CLIQUE) == 1
    assert only_length([*CLIQUE, Neighbours(0, 3, HALF)]) is None
    assert only_length([]) is None
    assert only_length([Neighbours(0, 1, Fraction(2)), Neighbours(1, 2, Fraction(2))]) == 2
    assert all_are_neighbours(3, CLIQUE)
    assert not all_are_neighbours(3, PATH)
    assert not all_are_neighbours(4, CLIQUE)
    assert all_are_neighbours(2, PATH[:1])


def test_priors_are_read_exactly() -> None:
    assert read_masses(None, 3) == (Fraction(1, 3),) * 3
    assert read_masses(["1/2", 0, "1/2"], 3) == (HALF, 0, HALF)
    rounded = read_masses([0.1, 0.9], 2)
    assert sum(rounded) == 1
    assert rounded[0] == Fraction(0.1) / (Fraction(0.1) + Fraction(0.9))
    assert read_masses([HALF, HALF, 0], 3) == (HALF, HALF, 0)
    for numbers in ([HALF, HALF, 0, 0], ["3/2", "-1/2", 0], [HALF, HALF, "1e-8"], [HALF, "1/3", 0]):
        with pytest.raises(ChannelError, match="are not a prior of 3 answers"):
            read_masses(numbers, 3)
    assert sum(read_masses([HALF, HALF, "1e-9"], 3)) == 1
    with pytest.raises(ChannelError, match="are not a prior"):
        read_masses([HALF, HALF, "-1e-10"], 3)


def test_gains_are_weighed_by_the_prior() -> None:
    masses = (Fraction(1, 4), Fraction(3, 4))
    assert read_worth(None, masses) is None
    assert read_worth([[1, 0, "1/3"], [0, -2, np.float64(0.1)]], masses) == [
        [Fraction(1, 4), 0, Fraction(1, 12)],
        [0, Fraction(-3, 2), Fraction(3, 4) * Fraction(0.1)],
    ]
    for gain in ([[1, 0]], [[1, 0]] * 3, [[1, 0], [1]]):
        with pytest.raises(ChannelError, match="are not one for each of 2 answers"):
            read_worth(gain, masses)
