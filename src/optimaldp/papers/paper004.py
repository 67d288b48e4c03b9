"""Alvim, Andrés, Chatzikokolakis, Degano, Palamidessi: on the trade-off between Utility and Information Leakage."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from optimaldp.channels import (
    AnswerGraph,
    Channel,
    Databases,
    compare_with_all,
    database_bound,
    doubled_even_ring,
    extremal_channel,
    individual_bound,
    optimal_mechanism,
    proposition_2,
    range_bound,
)
from optimaldp.channels.optimal.closed_forms import truncated_geometric
from optimaldp.channels.vulnerability import column_maxima_sum, posterior_vulnerability
from optimaldp.papers.record import Figure, Item, Paper, decimals, item
from optimaldp.plots.channels import bound_against_epsilon

TWO = "ln(2)"
PRIOR = [Fraction(p) for p in ("1/10", "1/5", "1/5", "1/5", "1/5", "1/10")]


def items() -> list[Item]:
    """Every number that the paper prints."""
    return [*_leakage(), *_bounds(), *_table_1(), *_table_2(), *_majority()]


def _leakage() -> list[Item]:
    symmetric = Channel([["2/3", "1/3"], ["1/3", "2/3"]])
    skewed = Channel([["3/5", "2/5"], ["2/5", "3/5"]])
    leak = skewed.min_entropy_leakage([Fraction(9, 10), Fraction(1, 10)])
    return [
        item(
            "Section 2.2", "min-capacity of [[2/3, 1/3], [1/3, 2/3]]", str(column_maxima_sum(symmetric)),
            f"{decimals(symmetric.min_capacity())} bits", "The logarithm is missing.",
        ),
        item(
            "Section 2.2", "zero leakage means independence", "iff", f"leakage {decimals(leak)} of a dependent channel",
            "Only one direction holds: prior (.9, .1), channel [[.6, .4], [.4, .6]].",
        ),
    ]  # fmt: skip


def _bounds() -> list[Item]:
    channel = extremal_channel(2, 3, TWO)
    fig3 = [decimals(database_bound(100, v, "0.5").bits, 2) for v in (2, 10)]
    return [
        item("Fig. 3", "Theorem 1 at u = 100, epsilon = .5, v = 2 and 10", "a curve", " and ".join(fig3) + " bits"),
        item(
            "Example 1", "a for u = 2, v = 3, e^eps = 2", "3/2", str(channel.exact_rows[0][0]),
            "a is (x/(v-1+x))^u; as printed a probability exceeds 1.",
        ),
        item("Theorem 1", "column maxima of that channel", "9/4", str(database_bound(2, 3, TWO).factor)),
        item(
            "Theorem 2", "one individual, v = 2, e^eps = 3", "3", str(individual_bound(2, "ln(3)").factor),
            "Valid but never tight: v x/(v-1+x) is attained.",
        ),
        item(
            "Proposition 2", "factor for u = v = 2, r = 3, e^eps = 2", str(proposition_2(2, 2, 3, TWO).factor),
            str(range_bound(2, 2, 3, TWO).factor), "Valid, but worse than Theorem 1 here.",
        ),
    ]  # fmt: skip


def _utility(rows: object, prior: object = None) -> Any:
    return posterior_vulnerability(Channel(rows), prior)


def _table_1() -> list[Item]:
    clique = AnswerGraph.clique(6)
    uniform, skewed = optimal_mechanism(clique, TWO), optimal_mechanism(clique, TWO, prior=PRIOR)
    theta = 2 ** (-1 / 5)
    geometric = [[float(p) for p in row] for row in truncated_geometric(6, Fraction(theta))]
    return [
        item("Table 1", "M_2, clique of six, uniform prior", "2/7", str(uniform.utility)),
        item("Table 1", "M_1, geometric with theta = 2^(-1/5)", "0.2243", decimals(_utility(geometric))),
        item(
            "Example 2", "M_1 at the prior (.1, .2, .2, .2, .2, .1)", "0.2412", decimals(_utility(geometric, PRIOR)),
            "Computed from rounded entries.",
        ),
        item(
            "Example 2", "the best at that prior", "2/7", str(skewed.utility),
            "M_2 is best for the uniform prior only; the clique's optimum is max_k (top k)/(1+(k-1)/e^eps).",
        ),
    ]  # fmt: skip


def _table_2() -> list[Item]:
    line, ring = optimal_mechanism(AnswerGraph.path(6), TWO), optimal_mechanism(AnswerGraph.ring(6), TWO)
    doubled = doubled_even_ring(6, Fraction(1, 2))
    return [
        item("Table 2 (a)", "M_1 on the line of six", "4/9", str(line.utility)),
        item("Table 2 (b)", "M_2, Remark 1's matrix on the ring of six", "4/11", str(_utility(doubled.exact_rows))),
        item(
            "Remark 1", "the best on that ring", "4/11", str(ring.utility),
            "The matrix is legal for e^(2 eps) >= 2, but not optimal: e^(-eps d) needs no doubling.",
        ),
    ]  # fmt: skip


def _majority() -> list[Item]:
    voters = Databases.of_values((0, 1), 3)
    comparison = compare_with_all(lambda database: sum(database) > 1, voters, TWO)
    ours = f"{comparison.oblivious.utility} oblivious, {comparison.unrestricted.utility} at all"
    return [
        item(
            "Section 5", "majority of three at e^eps = 2", "2/3 (optimal)", ours,
            "Optimal among oblivious mechanisms only.",
        )
    ]  # fmt: skip


def figures() -> list[Figure]:
    """Fig. 3, Fig. 4 and the two tables as heat maps."""
    return [
        Figure("004-fig3", "Theorem 1's bound against epsilon, 100 individuals.", _draw_bound),
        Figure(
            "004-fig4", "The extremal channel for u = 2, v = 3, e^eps = 2.", lambda: _heat(extremal_channel(2, 3, TWO))
        ),
        Figure(
            "004-table1",
            "The best mechanism on a clique of six.",
            lambda: _heat(optimal_mechanism(AnswerGraph.clique(6), TWO).channel),
        ),
        Figure(
            "004-table2",
            "The best mechanism on a ring of six.",
            lambda: _heat(optimal_mechanism(AnswerGraph.ring(6), TWO).channel),
        ),
    ]


def _draw_bound() -> Any:
    return bound_against_epsilon().figure


def _heat(channel: Channel) -> Any:
    return channel.plot().figure


PAPER = Paper(
    "004",
    "Alvim, Andrés, Chatzikokolakis, Degano, Palamidessi",
    "Differential Privacy: on the trade-off between Utility and Information Leakage",
    items,
    figures,
)
