"""Privacy-loss distributions: never below the truth, close to it, and dominating every edge."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimaldp import Mechanism, design, graphs, level
from optimaldp.errors import InputError, MechanismError
from optimaldp.interop import loss_of_edge, worst_loss

pytest.importorskip("dp_accounting")

_GRID = 1e-3


def _hockey_stick(here: Any, there: Any, epsilon: float) -> float:
    return math.fsum(max(0.0, float(p) - math.exp(epsilon) * float(q)) for p, q in zip(here, there))


@st.composite
def mechanisms(draw: st.DrawFn) -> Mechanism:
    """Any rows on a path: they keep no promise, and their losses are what they are."""
    size, answers = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    names = ["a", "b", "c"][:answers]
    weights = [draw(st.lists(st.integers(0, 9), min_size=answers, max_size=answers)) for _ in range(size)]
    rows = {
        str(i): dict(zip(names, (Fraction(w + (not any(ws)), sum(ws) or answers) for w in ws)))
        for i, ws in enumerate(weights)
    }
    prefers = {str(i): names[i % answers] for i in range(size)}
    return Mechanism.read(
        graphs.line(size, level=level(1)),
        graphs.Preferences.read(graphs.line(size), {k: [v, *(n for n in names if n != v)] for k, v in prefers.items()}),
        rows,
    )


@pytest.mark.long
@settings(max_examples=40)
@given(mechanisms(), st.floats(0, 3))
def test_delta_is_never_below_the_truth_and_close_to_it(mechanism: Mechanism, epsilon: float) -> None:
    rows = [mechanism.rows.row(v) for v in range(len(mechanism))]
    truth = max(
        _hockey_stick(*pair, epsilon) for here, there in pairwise(rows) for pair in ((here, there), (there, here))
    )
    worst = worst_loss(mechanism, interval=_GRID).get_delta_for_epsilon(epsilon)
    assert truth - 1e-12 <= worst <= truth + 0.02
    edges = [loss_of_edge(mechanism, u, v, interval=_GRID) for u, v, _ in mechanism.graph.edges()]
    found = max(edge.get_delta_for_epsilon(epsilon) for edge in edges)
    assert truth - 1e-12 <= found <= truth + 3 * _GRID


def test_worst_loss_dominates_each_edge_also_composed() -> None:
    """Five answers about the same two datasets, all 32 outcomes summed up, against the composed distribution."""
    made = design(graphs.votes(3), truth=graphs.majority, epsilon="ln(2)", delta="0.05").mechanism
    assert made is not None
    together = worst_loss(made, interval=_GRID).self_compose(5)
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        truths = [
            _hockey_stick(_outcomes(made.row(a)), _outcomes(made.row(b)), epsilon)
            for u, v, _ in made.graph.edges()
            for a, b in ((u, v), (v, u))
        ]
        assert max(truths) - 1e-12 <= together.get_delta_for_epsilon(epsilon) <= max(truths) + 0.01


def _outcomes(row: dict[str, Fraction]) -> list[Fraction]:
    return [math.prod(row[answer] for answer in answers) for answers in product(("yes", "no"), repeat=5)]


def test_a_pure_level_has_no_infinite_loss() -> None:
    made = design(graphs.votes(3), truth=graphs.majority, epsilon=1).mechanism
    assert made is not None
    assert worst_loss(made).get_epsilon_for_delta(0) == pytest.approx(1, abs=2e-4)


def test_a_wrong_twin_shows() -> None:
    """The same rows but one nudged beyond its level: the loss must exceed the level."""
    pair, prefers = graphs.line(2, level=level("ln(2)")), {"0": "yes", "1": "no"}
    right = Mechanism.read(pair, prefers, {"0": {"yes": "2/3", "no": "1/3"}, "1": {"yes": "1/3", "no": "2/3"}})
    wrong = Mechanism.read(pair, prefers, {"0": {"yes": "0.67", "no": "0.33"}, "1": {"yes": "1/3", "no": "2/3"}})
    assert worst_loss(right).get_delta_for_epsilon(math.log(2) + 2e-4) == 0
    assert worst_loss(wrong).get_delta_for_epsilon(math.log(2) + 2e-4) > 0.003


def test_equal_rows_cost_nothing() -> None:
    even = {name: {"yes": "1/2", "no": "1/2"} for name in ("0", "1")}
    made = Mechanism.read(graphs.line(2, level=level(1)), {"0": "yes", "1": "no"}, even)
    assert worst_loss(made).get_delta_for_epsilon(0) == pytest.approx(0, abs=1e-12)


def test_bad_inputs_are_refused() -> None:
    made = design(graphs.votes(3), truth=graphs.majority, epsilon=1).mechanism
    assert made is not None
    with pytest.raises(InputError, match="interval"):
        worst_loss(made, interval=0)
    with pytest.raises(MechanismError, match="not a dataset"):
        loss_of_edge(made, "111", "nobody")
