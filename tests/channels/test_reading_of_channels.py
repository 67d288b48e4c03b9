"""Channels, graphs, priors and gains as the referee reads them: nothing is taken on trust."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from small_matrices import CLIQUE, HALF, PATH, matrix_of

from optimaldp.certify.channels.reading import (
    AnswerPair,
    all_are_neighbours,
    only_length,
    read_edges,
    read_masses,
    read_matrix,
    read_worth,
)
from optimaldp.channels import AnswerGraph
from optimaldp.errors import ChannelError


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
    floats = matrix_of([[0.1, 0.9000000001], [0.25, 0.75]])
    assert floats.total(0) == Fraction(0.1) + Fraction(0.9000000001)
    assert floats.total(0) == floats.total(0)
    assert floats.share(0, 0) == Fraction(0.1) / (Fraction(0.1) + Fraction(0.9000000001))
    assert floats.cell(1, 1) == Fraction(3, 4)
    assert floats.sums == [math.fsum([0.1, 0.9000000001]), 1.0]
    assert matrix_of([[HALF, HALF]]).total(0) == 1


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
    assert read_edges(graph) == [AnswerPair(0, 2, short), AnswerPair(2, 1, Fraction(2))]


def test_one_length_and_all_pairs() -> None:
    assert only_length(CLIQUE) == 1
    assert only_length([*CLIQUE, AnswerPair(0, 3, HALF)]) is None
    assert only_length([]) is None
    assert only_length([AnswerPair(0, 1, Fraction(2)), AnswerPair(1, 2, Fraction(2))]) == 2
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
