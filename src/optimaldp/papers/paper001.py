"""Gu, Zhou, Günlü, D'Oliveira, Sadeghi, Médard, Schaefer: Generalized Rainbow Differential Privacy."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optimaldp.certify import verify
from optimaldp.designing import design, solve
from optimaldp.designing.choosing import lexicographic
from optimaldp.graphs import DatasetGraph, Preferences, boundary_graph
from optimaldp.graphs.problem import Problem
from optimaldp.mechanisms import Mechanism
from optimaldp.mechanisms.dominance import compare
from optimaldp.papers.rainbow import example_1, figure_1
from optimaldp.papers.record import Figure, Item, Paper, decimals, item
from optimaldp.plots.graphs import plot_graph, plot_line
from optimaldp.privacy import ApproximateDP, level
from optimaldp.privacy.lines import row_after, transitions

BOUNDARY = tuple(Fraction(p) for p in ("3/5500", "9/1100", "3/22", "3/11", "1601/2750"))
# As section 5.3 prints it, except for the last value: the paper has 0.5822, with which the row sums to 0.9999. Completed by hand
# to one; a transition belongs to a prefix sum, and the last prefix sum is one whatever is printed, so none depends on it.
ROUNDED = tuple(Fraction(p) for p in ("0.0005", "0.0081", "0.1364", "0.2727", "0.5823"))
FIGURES = {"3": ("0", "38, 22, 7, 1, 0"), "4": ("1/1000", "25, 20, 7, 1, 0"), "5": ("1/100", "13, 12, 6, 1, 0")}


def items() -> list[Item]:
    """Every number that the paper prints."""
    return [*_example_1(), *_operator(), *_figures_3_to_5(), _open_question()]


def _example_1() -> list[Item]:
    graph, wants = example_1(level("ln(2)"))
    answers = wants.answers
    given = {"0": ("0.2", "0.1", "0.7"), "3": ("0.4", "0.1", "0.5"), "4": ("0.3", "0.1", "0.6")}
    rows = [
        {**given, "1": ("0.4", "0.2", "0.4"), "2": ("0.4", "0.2", "0.4")},
        {**given, "1": ("0.4", "0.1", "0.5"), "2": ("0.7", "0.05", "0.25")},
    ]
    made = [Mechanism.read(graph, wants, {n: dict(zip(answers, row)) for n, row in each.items()}) for each in rows]
    fixed = {n: dict(zip(answers, row)) for n, row in given.items()}
    designed = design(graph, wants, fixed=fixed)
    both = all(verify(mechanism).private for mechanism in made)
    return [
        item("Example 1", "M1 and M2 are (ln 2, 0)-DP", "yes", "yes" if both else "no"),
        item("Example 1", "M1 against M2", "neither dominates", str(compare(*made).relation)),
        item("Example 1", "an optimal mechanism with this boundary", "does not exist", str(designed.status)),
    ]


def _operator() -> list[Item]:
    return [
        item(
            "(4.3)", "first prefix sum one step from .8 at (ln 2, 0.1)", "1",
            decimals(level("ln(2)", "1/10").step(Fraction(4, 5))),
            "delta must stand inside the second branch; as printed the operator is only (eps, e^eps delta)-DP.",
        ),
        item(
            "(5.1), (5.2)", "prefix sum one step from 1/2 at (ln 2, 0)", "1", str(level("ln(2)").step(Fraction(1, 2))),
            "tau has a +1 too many, and an answer loses its support.",
        ),
    ]  # fmt: skip


def _figures_3_to_5() -> list[Item]:
    rows = []
    for number, (delta, printed) in FIGURES.items():
        promise = level("ln(6/5)", delta)
        assert isinstance(promise, ApproximateDP)
        exact = ", ".join(map(str, transitions(promise, BOUNDARY)))
        rounded = ", ".join(map(str, transitions(promise, ROUNDED)))
        slip = "" if exact == printed else f"38 belongs to the rounded boundary ({rounded}); the exact one gives 37."
        rows.append(item(f"Fig. {number}", f"tau_1 to tau_5 at (ln 1.2, {delta})", printed, exact, slip))
    rows.append(
        item(
            "Section 5.3",
            "second boundary value, 0.015 · 1.2/2.2",
            "0.0081",
            decimals(BOUNDARY[1]),
            "0.00818 rounds to 0.0082.",
        )
    )
    return rows


def _open_question() -> Item:
    answers = ["1", "2", "3", "4"]
    graph = DatasetGraph.from_edges(
        list("uvwx"), [("u", "v"), ("v", "w"), ("w", "x"), ("x", "u")], level=level("ln(2)", "1/10")
    )
    given = {
        "u": ("4/10", "3/10", "2/10", "1/10"),
        "x": ("4/10", "3/10", "2/10", "1/10"),
        "w": ("4/10", "4/10", "1/10", "1/10"),
    }
    order = dict.fromkeys("uvwx", answers)
    preferences = Preferences.read(graph, order, answers)
    rows = {graph.numbers[n]: tuple(Fraction(p) for p in row) for n, row in given.items()}
    problem = Problem(graph, preferences, rows)
    ours = f"{lexicographic(problem).status} lexicographically, {solve(problem).status} by dominance"
    return item(
        "Section 6.3", "a lexicographic optimum without a dominance optimum", "not found", ours,
        "It exists for delta > 0: a ring of four datasets and four answers.",
    )  # fmt: skip


def figures() -> list[Figure]:
    """Figs 1 and 2: rainbow graphs; Figs 3 to 5: the five answers along the line, with their transitions."""
    return [
        Figure("001-fig1a", "Fig. 1 (A), reconstructed from its caption: a rainbow graph.", _draw_rainbow_graph),
        Figure("001-fig1b", "Fig. 1 (B): its boundary rainbow graph.", _draw_boundary_graph),
        Figure("001-fig2", "Fig. 2: the ring of Example 1, which has no optimum.", _draw_example_1),
    ] + [
        Figure(f"001-fig{number}", f"Optimal (ln 1.2, {delta})-DP mechanism along a line.", _draw(number, delta))
        for number, (delta, _) in FIGURES.items()
    ]


def _draw_rainbow_graph() -> Any:
    graph, preferences = figure_1(level("ln(2)"))
    return plot_graph(graph, preferences, orders=True, title="001 Fig. 1 (A): a rainbow graph")


def _draw_boundary_graph() -> Any:
    chains = boundary_graph(*figure_1(level("ln(2)")))
    return plot_graph(chains.graph, chains.preferences, title="001 Fig. 1 (B): its boundary rainbow graph")


def _draw_example_1() -> Any:
    graph, preferences = example_1(level("ln(2)"))
    return plot_graph(graph, preferences, orders=True, title="001 Fig. 2: the graph of Example 1")


def _draw(number: str, delta: str) -> Any:
    def draw() -> Any:
        promise = level("ln(6/5)", delta)
        assert isinstance(promise, ApproximateDP)
        steps = [k / 4 for k in range(241)]
        table = [[float(p) for p in row_after(promise, BOUNDARY, t)] for t in steps]
        labels = [f"answer {k}" for k in range(1, 6)]
        title = f"001 Fig. {number}: (ln 1.2, {delta})-DP"
        return plot_line(steps, table, answers=labels, transitions=transitions(promise, BOUNDARY), title=title)

    return draw


PAPER = Paper(
    "001",
    "Gu, Zhou, Günlü, D'Oliveira, Sadeghi, Médard, Schaefer",
    "Generalized Rainbow Differential Privacy",
    items,
    figures,
)
