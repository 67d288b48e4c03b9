"""The numbers behind the figures, computed again from the papers' own text: no function of the package computes them here."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from itertools import product

import pytest

from optimaldp.papers import paper
from optimaldp.papers.rainbow import example_1, figure_1
from optimaldp.privacy import level


def drawn(name: str):
    figure = next(one for one in paper(name[:3]).figures() if one.name == name)
    return figure.draw()


def texts(picture) -> list[str]:
    return [words for axes in picture.axes for text in axes.texts for words in text.get_text().split("\n")]


def curves(picture) -> dict[str, list[float]]:
    (axes,) = picture.axes
    return {line.get_label(): [float(y) for y in line.get_ydata()] for line in axes.lines}


def test_000_figure_3_is_the_larger_of_the_bounds_6_and_7():
    """R_i >= 1 - e + e R_(i+1) - delta and R_i >= (R_(i+1) - delta)/e; the larger one, and never below 0."""
    e, delta, red = Fraction(6, 5), Fraction(1, 1000), [Fraction(99, 100)]
    initial = 0
    for _ in range(40):
        six, seven = 1 - e + e * red[-1] - delta, (red[-1] - delta) / e
        initial += six > seven
        red.append(max(Fraction(0), six, seven))
    picture = drawn("000-fig3")
    found = curves(picture)
    assert found["red"] == pytest.approx([float(r) for r in red], abs=1e-12)
    assert found["blue, true"] == pytest.approx([float(1 - r) for r in red], abs=1e-12)
    # Definition 8, clamped at -1 (erratum 000-5): the initial recurrence holds for i <= tau + 1.
    eps, d, r = math.log(1.2), 0.001, 0.99
    above, below = math.exp(eps) + 2 * d - 1, (1 - r) * (math.exp(3 * eps) - math.exp(eps)) + d * (1.44 + 1.2)
    tau = max(-1, math.ceil(math.log(above / below) / eps))
    assert tau + 1 == initial
    assert any(words.endswith(f"={initial}$") for words in texts(picture))
    # Definitions 9 and 10 in closed form, on both sides of the transition.
    rho = d / 0.2
    for i in (1, initial // 2, initial):
        assert found["red"][i] == pytest.approx(1 - 1.2**i * (1 - r) - rho * (1.2**i - 1), abs=1e-9)
    for i in (initial + 1, 30, 36):
        t = i - initial
        later = (found["red"][initial] - rho * (1.2**t - 1)) / 1.2**t
        assert found["red"][i] == pytest.approx(max(0.0, later), abs=1e-9)


def test_000_figure_1c_is_what_the_cube_of_votes_collapses_to():
    """Balanced: (e + delta)/(e + 1) for the truth at the boundary, one step on (R - delta)/e for the other answer."""
    e, delta = Fraction(2), Fraction(1, 10)
    cube = ["".join(votes) for votes in product("12", repeat=3)]
    ones = {votes: votes.count("1") for votes in cube}
    red = {3: Fraction(1, 10), 2: Fraction(3, 10), 1: Fraction(7, 10), 0: Fraction(9, 10)}  # as after Corollary 2
    assert red[1] == (e + delta) / (e + 1)
    assert red[3] == (red[2] - delta) / e
    tight = set()
    for a, b in product(cube, repeat=2):
        if sum(x != y for x, y in zip(a, b)) == 1:
            r, s = red[ones[a]], red[ones[b]]
            assert r <= e * s + delta
            assert 1 - r <= e * (1 - s) + delta
            tight |= {(ones[a], ones[b])} if r == e * s + delta else set()
    assert {(2, 3), (1, 2)} <= tight  # nothing can be lowered
    picture = drawn("000-fig1c")
    truth = sorted(float(words) for words in texts(picture) if words.startswith("0."))
    assert truth == sorted([float(1 - red[3]), float(1 - red[2]), float(red[1]), float(red[0])])


def by_hand(graph, preferences) -> tuple[dict[str, tuple[str, int]], set[frozenset]]:
    """Definition 8 of 001: (rainbow, distance to its boundary) of each dataset, and the edges between such places."""
    near = {name: set() for name in graph.names}
    for u, v, _ in graph.edges():
        near[u].add(v)
        near[v].add(u)
    rainbow = {name: ">".join(preferences.words(graph.numbers[name])) for name in graph.names}
    distance = {name: 0 for name in near if any(rainbow[other] != rainbow[name] for other in near[name])}
    queue = deque(distance)
    while queue:
        u = queue.popleft()
        for v in near[u]:
            if rainbow[v] == rainbow[u] and v not in distance:
                distance[v] = distance[u] + 1
                queue.append(v)
    place = {name: (rainbow[name], distance[name]) for name in near}
    edges = {frozenset((place[u], place[v])) for u in near for v in near[u] if place[u] != place[v]}
    return place, edges


def test_001_figure_1_b_is_the_boundary_graph_of_a():
    graph, preferences = figure_1(level("ln(2)"))
    place, edges = by_hand(graph, preferences)
    longest: dict[str, int] = {}
    for rainbow, distance in place.values():
        longest[rainbow] = max(distance, longest.get(rainbow, 0))
    assert longest == {"blue>red>green": 1, "red>green>blue": 2, "red>blue>green": 2, "green>red>blue": 1}
    # A union of lines, and edges between their heads alone.
    chains = {frozenset(((c, t), (c, t + 1))) for c, last in longest.items() for t in range(last)}
    heads = {edge for edge in edges if len({c for c, _ in edge}) == 2}
    assert edges == chains | heads
    assert all(t == 0 for edge in heads for _, t in edge)
    picture = drawn("001-fig1b")
    words = set(texts(picture))
    assert {f"({c}, {t})" for c, t in place.values()} <= words
    assert drawn_edges(picture) == len(edges)
    assert drawn_edges(drawn("001-fig1a")) == graph.edge_count == 22


def drawn_edges(picture) -> int:
    """How many segments join two points of the picture."""
    (axes,) = picture.axes
    return sum(len(lines.get_segments()) for lines in axes.collections if hasattr(lines, "get_segments"))


def test_001_figure_2_is_the_ring_whose_two_bounds_exclude_each_other():
    """Example 1: d_1 bounds d_2 and d_4 bounds d_3, and the two rows that they allow are not close."""
    graph, preferences = example_1(level("ln(2)"))
    assert {frozenset((u, v)) for u, v, _ in graph.edges()} == {frozenset((str(k), str((k + 1) % 5))) for k in range(5)}
    orders = [preferences.words(graph.numbers[str(k)]) for k in range(5)]
    assert orders == [("1", "2", "3")] * 4 + [("1", "3", "2")]

    def most(row):
        """One step of e = 2, delta = 0 on every prefix sum."""
        sums, row = [], [Fraction(p) for p in row]
        for k in range(len(row)):
            s = sum(row[: k + 1])
            sums.append(min(2 * s, 1 - (1 - s) / 2))
        return [sums[0], sums[1] - sums[0], 1 - sums[1]]

    second, third = most(("0.2", "0.1", "0.7")), most(("0.4", "0.1", "0.5"))
    assert [str(float(p)) for p in second] == ["0.4", "0.2", "0.4"]
    assert [str(float(p)) for p in third] == ["0.7", "0.05", "0.25"]
    assert second[1] > 2 * third[1]
    picture = drawn("001-fig2")
    assert sorted(words for words in texts(picture) if ">" in words) == ["1>2>3"] * 4 + ["1>3>2"]
    assert drawn_edges(picture) == 5
