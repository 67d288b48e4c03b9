"""The least epsilon of a channel: arrays against a plain loop over rationals, on cliques, graphs and metrics."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp.channels import AnswerGraph, Channel, leakage_report, least_epsilon, posterior_vulnerability
from optimaldp.errors import ChannelError


def _by_hand(channel: Channel, graph: AnswerGraph) -> Any:
    worst: Any = Fraction(1)
    for (a, b), length in graph.lengths.items():
        for one, two in ((a, b), (b, a)):
            for p, q in zip(channel.row(one).values(), channel.row(two).values()):
                if p > 0 and q == 0:
                    return math.inf
                ratio = p / q if q else Fraction(1)
                worst = max(worst, ratio if length == 1 else float(ratio) ** float(1 / length))
    return worst


weights = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=4, max_size=4).filter(
    lambda rows: all(any(row) for row in rows)
)


@given(weights, st.sampled_from(["clique", "ring", "path", "metric"]), st.booleans())
@settings(max_examples=200, deadline=None)
def test_arrays_agree_with_a_loop(rows: list[list[int]], family: str, exact: bool) -> None:
    cells: Any = [[Fraction(cell, sum(row)) for cell in row] for row in rows]
    channel = Channel(cells if exact else np.array(cells, dtype=float))
    graph = {
        "clique": AnswerGraph.clique(4),
        "ring": AnswerGraph.ring(4),
        "path": AnswerGraph.path(4),
        "metric": AnswerGraph.metric(range(4), lambda a, b: abs(a - b)),
    }[family]
    found, expected = least_epsilon(channel, graph), _by_hand(channel, graph)
    assert found.ratio == (expected if exact and family != "metric" else pytest.approx(float(expected)))
    if found.ratio != 1:
        assert found.edge is not None
        p, q = (channel.row(vertex)[found.output] for vertex in found.edge)
        assert (math.inf if q == 0 else p / q) >= found.ratio


def test_vertices_may_come_in_another_order() -> None:
    channel = Channel([["1/2", "1/2"], ["1/4", "3/4"], ["1/8", "7/8"]], ["a", "b", "c"])
    assert least_epsilon(channel, AnswerGraph.path(["c", "b", "a"])).ratio == 2
    assert least_epsilon(channel, AnswerGraph.path(["b", "a", "c"])).ratio == 4
    with pytest.raises(ChannelError, match="without a partner"):
        least_epsilon(channel, AnswerGraph.clique(["a", "b"]))
    with pytest.raises(ChannelError, match="without a partner"):
        least_epsilon(channel, AnswerGraph(["a"], []))


def test_rationals_that_are_nothing_as_floats() -> None:
    """10^-400 against 10^-401 is a ratio of ten; as floats both are zero and would pass."""
    tiny = Fraction(1, 10**400)
    rows = [[tiny, 1 - tiny], [tiny / 10, 1 - tiny / 10], [tiny / 10, 1 - tiny / 10]]
    for graph in (None, AnswerGraph.clique(3), AnswerGraph.path(3)):
        assert least_epsilon(Channel(rows), graph).ratio == 10
    with_zero = Channel([*rows[:2], [0, 1]])
    assert least_epsilon(with_zero).ratio == math.inf
    assert least_epsilon(with_zero, AnswerGraph.path(3)).ratio == math.inf
    assert posterior_vulnerability(Channel(rows[:2]), [tiny, 1 - tiny]) == (1 - tiny / 10) * (1 - tiny) + max(
        tiny * tiny, tiny / 10 * (1 - tiny)
    )


@pytest.mark.long
def test_a_report_of_a_large_channel_needs_no_pairs_of_inputs() -> None:
    """500 inputs have 125 000 pairs: the extremes of each column say the same."""
    rows = np.random.default_rng(5).random((500, 400)) + 0.1
    rows /= rows.sum(axis=1, keepdims=True)
    report = leakage_report(Channel(rows))
    assert report.epsilon == pytest.approx(float(np.log(rows.max(axis=0) / rows.min(axis=0)).max()))
    assert report.shannon_capacity_upper - report.shannon_capacity <= 1e-9
    assert report.mutual_information <= report.shannon_capacity_upper


@pytest.mark.long
def test_a_large_exact_channel_keeps_its_success_exact() -> None:
    numbers = np.random.default_rng(6).integers(1, 50, (210, 200)).tolist()
    channel = Channel([[Fraction(cell, sum(row)) for cell in row] for row in numbers])
    report = leakage_report(channel)
    expected = sum((max(column) for column in zip(*channel.exact_rows)), Fraction(0)) / 210
    assert report.after == expected
    assert isinstance(report.guesses_after, float)
