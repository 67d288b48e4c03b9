"""Edges of infinite epsilon: only delta counts, and a supremum that is not attained is no optimum."""

from __future__ import annotations

from fractions import Fraction

from optimaldp.certify import verify
from optimaldp.designing import Status, design
from optimaldp.graphs import line
from optimaldp.privacy import level


def test_a_bound_that_nothing_attains_is_no_optimum() -> None:
    graph = line(2, level=level("inf"))
    found = design(graph, {"0": "a", "1": "b"}, answers=["a", "b"], fixed={"0": {"a": "1/2", "b": "1/2"}})
    assert found.status is Status.NO_OPTIMUM
    assert "infinite" in found.witness["reason"]


def test_an_impossible_answer_stays_within_delta() -> None:
    graph = line(2, level=level("inf", "1/10"))
    found = design(graph, {"0": "a", "1": "b"}, answers=["a", "b"], fixed={"0": {"a": "1", "b": "0"}})
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    assert found.mechanism["1"]["b"] == Fraction(1, 10)
    assert verify(found.mechanism).private


def test_a_value_within_delta_of_sure_may_become_sure() -> None:
    graph = line(2, level=level("inf", "1/10"))
    found = design(graph, {"0": "a", "1": "a"}, answers=["a", "b"], fixed={"0": {"a": "0.95", "b": "0.05"}})
    assert found.status is Status.OPTIMAL
    assert found.mechanism is not None
    assert found.mechanism["1"]["a"] == 1
