"""D'Oliveira, Médard, Sadeghi: Differential Privacy for Binary Functions via Randomized Graph Colorings."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optimaldp.designing import Design, design
from optimaldp.graphs import Preferences, boundary_graph, line, majority, majority_of_participants, participation, votes
from optimaldp.mechanisms import Mechanism
from optimaldp.mechanisms.dominance import compare
from optimaldp.papers.figure2 import colours, figure_2
from optimaldp.papers.record import Figure, Item, Paper, decimals, item
from optimaldp.plots.graphs import plot_line
from optimaldp.privacy import ApproximateDP, level
from optimaldp.privacy.lines import row_after, transitions

TENTH = level("ln(2)", "1/10")
THIRD = level("ln(13/10)", "1/10")


def items() -> list[Item]:
    """Every number that the paper prints."""
    return [
        *_example_1(),
        _example_2(),
        *_after_theorem_2(),
        *_example_3(),
        *_after_theorem_5(),
        *_voting(),
        *_distance(),
    ]


def _value(designed: Design, dataset: str, answer: str) -> Fraction:
    assert designed.mechanism is not None
    return designed.mechanism[dataset][answer]


def _example_1() -> list[Item]:
    pair = line(2, level=TENTH)
    wants = Preferences.read(pair, {"0": "1", "1": "2"}, ["1", "2"])
    made = [
        Mechanism.read(pair, wants, {"0": {"1": a, "2": 1 - a}, "1": {"1": 1 - b, "2": b}})
        for a, b in ((Fraction(58, 100), Fraction(76, 100)), (Fraction(64, 100), Fraction(73, 100)))
    ]
    relation = compare(*made).relation
    nothing = design(pair, wants, fixed={})
    return [
        item("Example 1", "two (ln 2, 0.1)-DP mechanisms, neither better", "not comparable", str(relation)),
        item("Example 1", "a best mechanism with nothing fixed", "none", str(nothing.status)),
    ]


def _example_2() -> Item:
    graph = votes(3, level=TENTH)
    chains = boundary_graph(graph, Preferences.read(graph, majority))
    image = chains.morphism.of
    third = sorted(name for name in graph.names if image[graph.numbers[name]] == image[graph.numbers["122"]])
    return item(
        "Example 2", "the votes that the boundary morphism sends to d3", "122, 211, 221", ", ".join(third),
        "211 has a majority for 1: a slip for 212.",
    )  # fmt: skip


def _after_theorem_2() -> list[Item]:
    given = {"h": {"blue": "0.6", "red": "0.4"}, "l": {"blue": "0.7", "red": "0.3"}}
    designed = design(figure_2(TENTH), colours(), answers=["blue", "red"], fixed=given)
    printed = {"a": "1", "g": "0.9", "c": "0.85", "q": "0.7", "i": "0.75", "m": "0.9", "d": "0.925", "e": "1"}
    rows = [
        item("after Theorem 2", f"truth at {name}, B_h = .6, B_l = .7", value,
             decimals(_value(designed, name, colours()[name])))
        for name, value in printed.items()
    ]  # fmt: skip
    strict = design(figure_2(level("ln(11/10)")), colours(), answers=["blue", "red"], fixed=given)
    rows.append(item("after Theorem 2", "the same boundary at (ln 1.1, 0)", "no mechanism", str(strict.status)))
    return rows


def _example_3() -> list[Item]:
    graph = line(7, level=THIRD)
    wants = {str(i): "blue" if i < 4 else "red" for i in range(7)}
    designed = design(graph, wants, answers=["blue", "red"], fixed={"3": {"blue": "0.2", "red": "0.8"}})
    where = "Example 3"
    return [
        item(where, "R_3 on the (4,3)-line, R_4 = .8", "0.64", decimals(_value(designed, "2", "red"))),
        item(where, "R_2", "0.432", decimals(_value(designed, "1", "red"))),
        item(where, "R_1", "0.2553", decimals(_value(designed, "0", "red")), "0.332/1.3 = 0.25538 rounds to 0.2554."),
        item(where, "B_5", "1/13", str(_value(designed, "4", "blue"))),
        item(where, "B_6 = B_7", "0", str(_value(designed, "5", "blue"))),
        item(
            where, "tau of the dual line", "-2", "-1",
            "Unclamped, the recurrence starts outside the blue set and breaks privacy; tau is at least -1.",
        ),
    ]  # fmt: skip


def _after_theorem_5() -> list[Item]:
    given = {name: {"blue": "12/13", "red": "1/13"} for name in "hl"}
    designed = design(figure_2(THIRD), colours(), answers=["blue", "red"], fixed=given)
    where, what = "after Theorem 5", "probability of red at {}, R_h = R_l = 1/13"
    rows = [
        item(where, what.format(name), value, decimals(_value(designed, name, "red")))
        for name, value in {"a": "0", "c": "0", "i": "0.2", "d": "0.36", "j": "0.568"}.items()
    ]
    slip = "0.74462 rounds to 0.7446."
    return [*rows, item(where, what.format("e"), "0.7447", decimals(_value(designed, "e", "red")), slip)]


def _voting() -> list[Item]:
    designed = design(votes(3), majority, epsilon="ln(2)", delta="1/10")
    printed = {"111": "0.1", "211": "0.3", "122": "0.7", "222": "0.9"}
    return [
        item(
            "after Corollary 2", f"R_{name}, balanced majority of three", value, decimals(_value(designed, name, "no"))
        )
        for name, value in printed.items()
    ]


def _distance() -> list[Item]:
    designed = design(line(2), {"0": "blue", "1": "red"}, epsilon="ln(2)")
    wrong = _value(designed, "0", "red")
    return [
        item(
            "Section I-A", "error of two neighbours of different colour at (ln 2, 0)", "1/6", str(wrong),
            "The distance is to the own boundary, one less than to the other colour; as printed 5/6 <= 2/6 would have to hold.",
        ),
        item(
            "Theorem 2, proof", "the most that a neighbour of .6 may have at (ln 2, 0.1)", "1.15",
            decimals(TENTH.step(Fraction(6, 10))), "e^eps multiplies once too often; (B + e^eps + delta - 1)/e^eps is right.",
        ),
    ]  # fmt: skip


def figures() -> list[Figure]:
    """Fig. 1 (votes, participation and their line), both halves of Fig. 2 as reconstructed, and the two phases of Fig. 3."""
    return [
        Figure("000-fig1a", "Balanced majority of three votes at (ln 2, 0.1).", _draw_votes),
        Figure("000-fig1b", "Who took part: the same boundary graph.", _draw_participation),
        Figure("000-fig1c", "The (2,2)-line, the boundary graph of both, and its optimum.", _draw_line),
        Figure("000-fig2", "Fig. 2, reconstructed, with B_h = .6 and B_l = .7 at (ln 2, 0.1).", _draw_figure_2),
        Figure(
            "000-fig2b",
            "The right half of Fig. 2: the (3,4)-line, with R_h = R_l = 1/13.",
            _draw_figure_2_line,
        ),
        Figure("000-fig3", "The blue side of an (n_B, n_R)-line at (ln 1.2, 0.001), R_{n_B} = .99.", _draw_phases),
    ]


def _draw_votes() -> Any:
    return design(votes(3), majority, epsilon="ln(2)", delta="1/10").plot()


def _draw_participation() -> Any:
    truth = majority_of_participants({"1": "yes", "2": "yes", "3": "no"})
    return design(participation(3), truth, epsilon="ln(2)", delta="1/10").plot()


def _draw_figure_2() -> Any:
    given = {"h": {"blue": "0.6", "red": "0.4"}, "l": {"blue": "0.7", "red": "0.3"}}
    return design(figure_2(TENTH), colours(), answers=["blue", "red"], fixed=given).plot()


def _draw_figure_2_line() -> Any:
    """The line onto which the boundary morphism sends the left half; what is pulled back from it is the optimum there."""
    graph = figure_2(THIRD)
    chains = boundary_graph(graph, Preferences.read(graph, colours()))
    given = {"blue": "12/13", "red": "1/13"}
    ends = [chains.graph.names[chains.morphism.of[graph.names.index(name)]] for name in "hl"]
    return design(chains.graph, chains.preferences, fixed=dict.fromkeys(ends, given)).plot()


def _draw_line() -> Any:
    graph = votes(3, level=TENTH)
    chains = boundary_graph(graph, Preferences.read(graph, majority))
    return design(chains.graph, chains.preferences).plot()


def _draw_phases() -> Any:
    """Theorem 4: R falls by the initial recurrence up to the transition, then by the terminal one."""
    promise, boundary_row = level("ln(6/5)", "1/1000"), (Fraction(1, 100), Fraction(99, 100))
    assert isinstance(promise, ApproximateDP)
    steps = list(range(41))
    table = [[float(p) for p in row_after(promise, boundary_row, t)] for t in steps]
    tau = transitions(promise, boundary_row)[:1]
    title = "000 Fig. 3: initial phase up to the transition, terminal phase beyond"
    return plot_line(steps, table, answers=["blue, true", "red"], transitions=tau, title=title)


PAPER = Paper(
    "000",
    "D'Oliveira, Médard, Sadeghi",
    "Differential Privacy for Binary Functions via Randomized Graph Colorings",
    items,
    figures,
)
