"""Pictures of dataset graphs and of answers along a line: where things are drawn, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from golden import vectors

from optimaldp.errors import GraphError, MechanismError
from optimaldp.graphs import (
    DatasetGraph,
    Preferences,
    clique,
    grid,
    group_counts,
    histogram_lattice,
    hot_deciding_vote,
    line,
    majority,
    participation,
    ring,
    values,
    votes,
)
from optimaldp.plots import style
from optimaldp.plots.graph_layouts import positions
from optimaldp.plots.graphs import plot_graph, plot_line
from optimaldp.privacy import level

GRAPHS = {
    "point": line(1),
    "pair": line(2),
    "line": line(7),
    "ring": ring(6),
    "clique": clique(5),
    "cube": votes(3),
    "layers": votes(5),
    "grid": grid((3, 4)),
    "group counts": group_counts([2, 3]),
    "values": values(3, 2),
    "lattice": histogram_lattice(3, 3),
    "subsets": participation(3),
    "two components": DatasetGraph.from_edges("abcde", [("a", "b"), ("b", "c"), ("d", "e")]),
    "no edges": DatasetGraph(["a", "b", "c"], [], []),
    "star": DatasetGraph.from_edges("abcde", [("a", x) for x in "bcde"]),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_dataset_has_a_place_of_its_own_inside_the_box(name):
    graph = GRAPHS[name]
    points = positions(graph)
    assert points.shape == (len(graph), 2)
    assert np.isfinite(points).all()
    assert points.min() >= -1e-9
    assert points.max() <= 1 + 1e-9
    apart = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(len(graph))
    assert apart.min() > 0.01
    assert np.array_equal(points, positions(graph))  # nothing is left to chance


def test_lines_are_straight_and_rings_are_round():
    shuffled = DatasetGraph.from_edges("abcd", [("c", "a"), ("a", "d"), ("d", "b")])
    points = positions(shuffled)
    assert np.ptp(points[:, 1]) == 0
    along = [shuffled.names[i] for i in np.argsort(points[:, 0])]
    assert "".join(along) in ("cadb", "bdac")
    around = positions(ring(8)) - 0.5
    assert np.allclose(np.linalg.norm(around, axis=1), 0.5)


def test_distances_in_the_picture_resemble_steps():
    """On a grid drawn by distances alone, neighbours are nearer than others on average."""
    graph = grid((4, 4))
    points = positions(graph, "distances")
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    near = apart[graph.tails, graph.heads]
    assert near.max() < np.median(apart)


@pytest.mark.parametrize(
    ("graph", "layout", "quoted"),
    [
        (line(3), "circle", "'circle' is not a layout"),
        (clique(4), "line", "no path and no ring"),
        (clique(4), "ring", "no path and no ring"),
        (DatasetGraph(["a", "b"], [], []), "line", "no path and no ring"),
        (clique(4), "grid", "no coordinates"),
        (votes(3), "grid", "3 coordinates"),
        (votes(2), "triangle", "2 coordinates"),
    ],
)
def test_layouts_that_do_not_fit_are_refused(graph, layout, quoted):
    with pytest.raises(GraphError, match=quoted):
        positions(graph, layout)


def written(picture) -> str:
    """All text in a picture."""
    from matplotlib.text import Text

    picture.canvas.draw()
    return "\n".join(text.get_text() for text in picture.findobj(Text))


def test_a_graph_by_preference_names_datasets_and_answers():
    graph = votes(3)
    text = written(plot_graph(graph, Preferences.read(graph, majority), title="Three voters"))
    assert all(name in text for name in graph.names)
    assert "true answer yes" in text
    assert "true answer no" in text
    assert "Three voters" in text


class Coin:
    def row(self, name):
        return {"yes": Fraction(1, 4), "no": Fraction(3, 4)}


def test_a_graph_by_probability_writes_the_probabilities():
    graph = votes(2)
    preferences = Preferences.read(graph, majority)
    text = written(plot_graph(graph, preferences, mechanism=Coin()))
    assert "11\n0.25" in text
    assert "22\n0.75" in text
    assert "probability of the favourite answer" in text
    text = written(plot_graph(graph, mechanism={name: Coin().row(name) for name in graph.names}, answer="yes"))
    assert "22\n0.25" in text
    assert "probability of 'yes'" in text


def test_stricter_edges_are_thicker_and_explained():
    from matplotlib.collections import LineCollection

    graph = hot_deciding_vote(level="ln(3)", hot="ln(2)")
    picture = plot_graph(graph, Preferences.read(graph, majority))
    lines = {one.get_label(): one for one in picture.findobj(LineCollection)}
    strict, loose = lines[str(level("ln(2)"))], lines[str(level("ln(3)"))]
    assert strict.get_linewidths()[0] > loose.get_linewidths()[0]
    assert len(strict.get_segments()) == 2
    assert len(loose.get_segments()) == 10


@pytest.mark.parametrize("name", GRAPHS)
def test_every_small_graph_can_be_drawn_and_saved(name, tmp_path):
    assert style.save(plot_graph(GRAPHS[name]), tmp_path / "graph.svg").stat().st_size > 500


@pytest.mark.parametrize(
    ("draw", "error", "quoted"),
    [
        (lambda: plot_graph(line(1501)), GraphError, "1501 datasets"),
        (lambda: plot_graph(line(2), mechanism=Coin()), GraphError, "name the answer to draw"),
        (lambda: plot_graph(line(2), mechanism=Coin(), answer="maybe"), MechanismError, "'maybe' is not one of"),
        (lambda: plot_line([0, 1], [[1.0]]), MechanismError, "one row per step"),
        (lambda: plot_line([0], [[0.5, 0.5]], answers=["a"]), MechanismError, "do not fit 2 columns"),
        (lambda: plot_line([0], [[0.5, 0.5]], transitions=[1, 2, 3]), MechanismError, "do not fit 2 columns"),
    ],
)
def test_what_cannot_be_drawn_is_refused(draw, error, quoted):
    with pytest.raises(error, match=quoted):
        draw()


@pytest.mark.long
@pytest.mark.parametrize(
    "instance", [x for x in vectors("graphs", "line") if "exact" in x["id"]], ids=lambda x: x["id"]
)
def test_the_lines_of_001_figures_3_to_5(instance):
    table = {int(t): row for t, row in instance["expect"]["M_t"].items()}
    steps = sorted(table)
    picture = plot_line(steps, [table[t] for t in steps], transitions=instance["expect"]["tau"])
    text = written(picture)
    inside = [tau for tau in instance["expect"]["tau"] if tau <= max(steps)]
    assert all(f"={tau}$" in text for tau in inside)
    drawn = [one for one in picture.axes[0].get_lines() if len(one.get_xdata()) == len(steps)]
    assert len(drawn) == 5
    assert np.allclose([one.get_ydata() for one in drawn], np.array([table[t] for t in steps]).T)


def test_transitions_that_coincide_share_one_mark():
    text = written(plot_line([0, 1, 2], [[0.2, 0.3, 0.5]] * 3, transitions=[2, 0, 0]))
    assert r"$\tau_{2},\tau_{3}=0$" in text
    assert r"\tau_{1}=2" in text
    assert "tau" not in written(plot_line([0, 1], [[0.5, 0.5]] * 2, transitions=[float("inf"), 9]))
