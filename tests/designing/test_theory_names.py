"""The papers' names: each does what the paper (corrected) says."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import optimaldp as odp
from optimaldp import graphs, theory
from optimaldp.errors import LevelError, NotCertifiedError
from optimaldp.mechanisms import Mechanism
from optimaldp.mechanisms.documents import read_problem

PROBLEMS = sorted((Path(__file__).parents[2] / "examples" / "problems").glob("*.json"))


@pytest.mark.parametrize("path", PROBLEMS, ids=lambda path: path.stem)
def test_the_shipped_problems_solve(path):
    found = odp.solve(read_problem(json.loads(path.read_text())))
    assert found.status == ("no-optimum" if path.stem == "no-optimum" else "optimal")
    assert found.proof == "exact"


def test_there_are_shipped_problems():
    assert len(PROBLEMS) >= 4


def test_the_frontier_is_what_the_other_side_can_have():
    level = odp.level("ln(2)", "0.1")
    blue, red = theory.frontier(level, Fraction(6, 10))
    assert red == level.step(1 - blue)
    fixed = {"0": {"yes": "0.6", "no": "0.4"}}
    found = odp.design(graphs.line(2).with_level(level), {"0": "yes", "1": "no"}, fixed=fixed)
    assert found.mechanism["1"]["no"] == red


def test_induced_bounds_with_their_paths():
    half, two, three = odp.level("ln(3/2)"), odp.level("ln(2)"), odp.level("ln(3)")
    graph = graphs.DatasetGraph.from_edges(
        "abcd", [("a", "b", three), ("b", "d", half), ("a", "c", two), ("c", "d", two)]
    )  # fmt: skip
    found = theory.induced_bounds(graph, "a", "1/10")
    assert found["b"] == Fraction(3, 10)
    assert found["c"] == Fraction(1, 5)
    assert found["d"] == min(Fraction(9, 20), Fraction(2, 5))
    assert found.path("d") == ["a", "c", "d"]
    assert found.to_document()["paths"]["a"] == ["a"]


@pytest.mark.parametrize("value", ["1/100", "1/10", "1/4", "3/5", "0", "1"])
def test_the_transition_of_a_path_is_where_growth_ends(value):
    levels = ["ln(2)", "ln(3/2)", "ln(3)", "ln(2)", "ln(5/4)"]
    tau, s = theory.path_transition(levels, value), Fraction(value)
    for i, text in enumerate(levels):
        level = odp.level(text)
        ratio = level.epsilon.exact_ratio
        if i < tau:
            assert level.step(s) == ratio * s
        else:
            assert level.step(s) == 1 - (1 - s) / ratio
        s = level.step(s)


def test_a_sweep_over_epsilon_and_over_delta():
    over = theory.sweep(graphs.votes(3), graphs.majority, epsilon=["ln(2)", "ln(3)", "ln(9)"])
    assert over.errors("112") == pytest.approx([1 / 3, 1 / 4, 1 / 10])
    assert over.plot(["112", "111"]).axes
    deltas = theory.sweep(graphs.votes(3), graphs.majority, epsilon="ln(2)", delta=["0", "0.1"])
    assert deltas.errors("111") == pytest.approx([1 / 6, 1 / 10])
    with pytest.raises(LevelError, match="one of them"):
        theory.sweep(graphs.votes(3), graphs.majority, epsilon=1)
    assert over.designs[0].plot_error().axes


class Written:
    """A source whose bits are those of one number."""

    def __init__(self, number: Fraction) -> None:
        self.number, self.used = number, 0

    def take(self, count: int) -> int:
        self.used += count
        return int(self.number * 2**self.used) % 2**count


def test_an_answer_is_drawn_exactly_and_only_from_what_is_private():
    found = odp.design(graphs.votes(3), graphs.majority, epsilon="ln(2)")
    hair = Fraction(1, 2**200)
    assert found.mechanism.sample("112", source=Written(Fraction(2, 3) - hair)) == "yes"
    assert found.mechanism.sample("112", source=Written(Fraction(2, 3) + hair)) == "no"
    assert {found.mechanism.sample("112") for _ in range(200)} == {"yes", "no"}
    rows = {name: {"yes": 1} if name < "122" else {"no": 1} for name in found.mechanism}
    sure = Mechanism.read(found.problem.graph, found.problem.preferences, rows)
    with pytest.raises(NotCertifiedError, match="nothing was drawn"):
        sure.sample("111")


def test_latex_of_a_mechanism_and_of_its_certificate():
    found = odp.design(graphs.votes(3), graphs.majority, epsilon="ln(2)")
    table = found.mechanism.to_latex()
    assert table.count(r"\\") == 9
    assert r"111 & $\tfrac{5}{6}$ & $\tfrac{1}{6}$ \\" in table
    assert r"\item in order of settling: 212 (pair 112)" in found.certificate.to_latex()
    balanced = odp.design(graphs.votes(3), graphs.majority, epsilon="ln(2)", boundary="balanced")
    assert r"\item \{yes\}" in balanced.certificate.to_latex()
    assert odp.mechanisms.mechanism.escaped("50%_a") == r"50\%\_a"


@pytest.mark.parametrize("value", ["0.6", 0.6, Fraction(3, 5), "3/5"])
def test_the_names_take_numbers_as_people_write_them(value):
    level = odp.level("ln(2)", "0.1")
    assert theory.frontier(level, value) == (Fraction(3, 5), Fraction(3, 4))
    row = [value, "0.3", 0.1]
    assert theory.row_after(level, row, 1) == [Fraction(17, 20), Fraction(3, 20), 0]
    assert theory.transitions(level, ["0.05", "0.15", 0.8]) == [2, 1, 0]
    assert [(p.turns, p.decays) for p in theory.phases(level, ["0.05", "0.15", 0.8])][1:] == [(1, 2), (0, 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda level: theory.frontier(level, "1.2"),
        lambda level: theory.row_after(level, ["0.5", "0.6"], 1),
        lambda level: theory.row_after(level, "0.5", 1),
        lambda level: theory.transitions(level, [True, False]),
        lambda level: theory.phases(level, 0.5),
        lambda level: theory.transitions(odp.level(mu=1), ["0.5", "0.5"]),
        lambda level: theory.phases(odp.level(mu=1), ["0.5", "0.5"]),
        lambda level: theory.sweep(graphs.votes(3), graphs.majority, epsilon=[]),
    ],
)
def test_what_is_no_row_is_refused_in_words(wrong):
    with pytest.raises(LevelError, match=r"^[\w\[\]]+: .* (is|names|has) "):
        wrong(odp.level("ln(2)"))


@pytest.mark.parametrize(
    ("row", "total"),
    [
        (["0.0005", "0.0081", "0.1364", "0.2727", "0.5820"], "0.9997"),  # five numbers of four places: at most 0.00025
        (["0.5", "0.4"], "0.9"),
        (["0.25", "0.74"], "0.99"),
        (["0.999", "0.0025", "0"], "1.0015"),
        (["1/3", "1/3", "0.3333"], "29999/30000"),
        (["0.5", "0.5", "1e-2"], "1.01"),
        (["1", "0.001", "0"], "1.001"),  # the last answer has nothing to give
        ([], "0"),
    ],
)
@pytest.mark.parametrize(
    "name", [lambda k, r: theory.row_after(k, r, 2), theory.transitions, theory.phases], ids=["row", "tau", "phases"]
)
def test_a_row_sums_to_one(name, row, total):
    with pytest.raises(LevelError) as refused:
        name(odp.level("ln(6/5)", "0.001"), row)
    assert str(refused.value).startswith(f"row: '{total}' is what the probabilities sum to, and not one; ")


@pytest.mark.parametrize(
    ("rounded", "meant"),
    [
        (["0.0005", "0.0081", "0.1364", "0.2727", "0.5822"], ["0.0005", "0.0081", "0.1364", "0.2727", "0.5823"]),  # 001
        (["0.333", "0.333", "0.333"], ["0.333", "0.333", "0.334"]),
        (["0.167", "0.167", "0.667"], ["0.167", "0.167", "0.666"]),
        ([1 / 3, 1 / 3, 1 / 3], ["0.3333333333333333", "0.3333333333333333", "0.3333333333333334"]),
    ],
)
def test_what_rounding_took_from_a_row_is_the_last_answers(rounded, meant):
    level = odp.level("ln(6/5)", "0.001")
    assert theory.row_after(level, rounded, 2) == theory.row_after(level, meant, 2)
    assert theory.transitions(level, rounded) == theory.transitions(level, meant)
    assert theory.transitions(level, rounded)[-1] == 0


def test_a_sweep_keeps_its_values_beside_their_errors():
    """At ln(2) the given values are too far apart: a gap in the curve, not a shorter curve."""
    fixed = {"0": {"yes": "0.9", "no": "0.1"}, "1": {"yes": "0.2", "no": "0.8"}}
    truth = {"0": "yes", "1": "no", "2": "no"}
    over = theory.sweep(graphs.line(3), truth, epsilon=np.array(["ln(2)", "ln(9)"]), fixed=fixed)
    errors = over.errors("2")
    assert np.isnan(errors[0])
    assert errors[1] == pytest.approx(0.2 / 9)
    assert over.to_document()["errors"]["2"][0] is None
    assert over.plot(["2"]).axes
