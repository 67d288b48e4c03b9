"""Padakandla, Kumar, Szpankowski: Preserving Privacy and Fidelity via Ehrhart Theory."""

from __future__ import annotations

from fractions import Fraction
from math import cos, log, pi, sin, sqrt
from typing import Any

from optimaldp import histograms
from optimaldp.histograms.lattice import sphere_size
from optimaldp.papers.record import Figure, Item, Paper, decimals, item
from optimaldp.plots import style
from optimaldp.plots.histograms import draw_error_curve

HALF = "ln(2)"  # theta = 1/2


def items() -> list[Item]:
    """Every number and formula that the paper prints, at theta = 1/2 unless it says otherwise."""
    return [*_theorem_1(), *_lattice(), *_program(), *_mechanisms()]


def _theorem_1() -> list[Item]:
    legendre = (
        "The Legendre form has a wrong first term; K (P_K(y)/P_{K-1}(y) - y) with y = (1+theta)/(1-theta) is right."
    )
    rows = [
        item(
            "Theorem 1 (i)",
            "least error for K = 2, 4 theta/(1 - theta²)",
            "8/3",
            str(histograms.exact_error(2, epsilon=HALF)),
        )
    ]
    for bins, printed in ((2, _printed_corollary(2)), (3, _printed_corollary(3))):
        ours = str(histograms.exact_error(bins, epsilon=HALF))
        rows.append(item("Corollary 1", f"least error for K = {bins}", printed, ours, legendre))
    rows.append(
        item(
            "(8)",
            "normaliser for K = 5, theta = 1/3, as a Legendre polynomial",
            "443/8",
            str(histograms.normaliser(5, epsilon="ln(3)")),
        )
    )
    return rows


def _printed_corollary(bins: int) -> str:
    """The corollary exactly as it is printed."""
    theta = Fraction(1, 2)
    y = (1 + theta) / (1 - theta)
    p = [Fraction(1), y]
    for k in range(1, bins):
        p.append(((2 * k + 1) * y * p[k] - k * p[k - 1]) / (k + 1))
    return str(bins * ((1 + 4 * theta - theta**2) / (1 - theta) + p[bins] / p[bins - 1]))


def _lattice() -> list[Item]:
    rows = []
    for bins in (3, 4):
        ours = ", ".join(str(sphere_size(bins, d)) for d in range(5))
        printed = {3: "1, 6, 12, 18, 24", 4: "1, 12, 42, 92, 162"}[bins]
        rows.append(item("(13)", f"points at distance 0 to 4, K = {bins}", printed, ours))
    return rows


def _program() -> list[Item]:
    slip = "Histograms are counted as if they were vectors in a box: C(n+K-1, K-1)² variables are right."
    rows = []
    for bins, persons in ((2, 3), (3, 4)):
        variables, _ = histograms.program_size(bins, persons)
        printed = str((persons + 1) ** (2 * bins))
        rows.append(
            item("Remark 1", f"variables of the program, K = {bins}, n = {persons}", printed, str(variables), slip)
        )
    graph = histograms.constraint_graph(3, 2)
    drawn = f"{len(graph.vertices)} histograms, {len(graph.edges)} edges"
    rows.append(item("Fig. 2", "constraint graph, K = 3, n = 2", "6 histograms, 9 edges", drawn))
    best = histograms.finite_optimum(3, 2, epsilon=HALF)
    rows.append(item("(3)-(6)", "least error at n = 2, K = 3", "no value", str(best.exact)))
    return rows


def _mechanisms() -> list[Item]:
    failing = histograms.normalised_geometric(2, 5, epsilon=HALF)
    two = histograms.two_bin_optimum(30, epsilon=HALF)
    rate = "The balls have radius n^(2/3): moderate deviations, exp(-c n^(1/3)), which still tends to 0."
    return [
        item("(14)", "true theta of the mechanism for 1/2, K = 2, n = 5", "not 1/2", str(failing.actual_theta)),
        item("Section IV", "how fast the far histograms vanish", "exp(-n alpha)", "exp(-c n^(1/3))", rate),
        item("Section II", "multinomial priors are", "the most generic", "K - 1 of many parameters", "Any prior is allowed."),
        item("Theorem 1", "least error at n = 30, K = 2, against its limit", "tends to 8/3", decimals(two)),
        item(
            "Section IV", "the map V sends far histograms to", "np", "np, rounded by largest remainder",
            "np is not a histogram unless it is integral.",
        ),
    ]  # fmt: skip


def figures() -> list[Figure]:
    """Figs 2 and 3, and the curve that the theorem describes."""
    return [
        Figure(
            "002-fig2",
            "Privacy constraints of three bins and two people.",
            lambda: histograms.constraint_graph(3, 2).plot(),
        ),
        Figure(
            "002-fig3",
            "Histograms far from the boundary see the same number of others at each distance.",
            _draw_distances,
        ),
        Figure("002-curve", "Least expected error by epsilon, K = 3.", _draw_curve),
    ]


_PEOPLE, _RADIUS = 18, 3
_NODES = ((6, 6, 6), (8, 5, 5), (5, 8, 5), (12, 3, 3))  # the last one lies outside of the dotted circle


def _draw_distances() -> Any:
    """Left: the histograms of three bins with a dotted circle around the middle. Right: how many lie at each distance of some."""
    picture, (left, right) = style.panels(2, width=9.2, height=4.2)
    points = [(a, b, _PEOPLE - a - b) for a in range(_PEOPLE + 1) for b in range(_PEOPLE + 1 - a)]
    across, up = zip(*map(_place, points))
    left.scatter(across, up, s=8, color=style.FAINT)
    angles = [2 * pi * k / 120 for k in range(121)]
    x, y = _place(_NODES[0])
    left.plot([x + _RADIUS * cos(t) for t in angles], [y + _RADIUS * sin(t) for t in angles], ":", color=style.INK)
    left.set_aspect("equal")
    left.set_axis_off()
    steps = range(1, 13)
    for number, node in enumerate(_NODES):
        look = style.look(number)
        x, y = _place(node)
        left.scatter([x], [y], s=60, color=look.colour, marker=look.marker, edgecolors=style.INK, zorder=2)
        counted = [sum(_apart(node, other) == d for other in points) for d in steps]
        right.plot(steps, counted, label=f"from {node}", **look.line_style())
    right.plot(steps, [sphere_size(3, d) for d in steps], ":", color=style.INK, label="no boundary")
    style.describe(left, title=f"Three bins, {_PEOPLE} people")
    style.describe(right, title="The heads agree", x="distance d", y="histograms at distance d")
    style.legend(right)
    return picture


def _place(node: tuple[int, int, int]) -> tuple[float, float]:
    """A point of the triangle."""
    return node[1] + node[2] / 2, node[2] * sqrt(3) / 2


def _apart(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    return sum(abs(a - b) for a, b in zip(one, other)) // 2


def _draw_curve() -> Any:
    return draw_error_curve(3, epsilon=log(2))


PAPER = Paper(
    "002",
    "Padakandla, Kumar, Szpankowski",
    "Preserving Privacy and Fidelity via Ehrhart Theory",
    items,
    figures,
)
