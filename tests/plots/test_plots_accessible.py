"""Every plot has the one look: colours of the palette, marks besides colour, labelled axes and colour bars."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pyarrow
import pytest
from matplotlib.figure import Figure
from picture_complaints import complaints

import optimaldp as odp
from optimaldp.channels import AnswerGraph, Channel, extremal_channel, privacy_profile
from optimaldp.graphs import Preferences, hot_deciding_vote, majority, votes
from optimaldp.histograms.lattice import constraint_graph
from optimaldp.plots import channels, graphs, histograms, preview, style

MODULES = ("channels", "graphs", "histograms", "preview", "releases")
TABLE = pyarrow.table({"sex": ["m", "f"] * 20, "ward": ["a"] * 20 + ["b"] * 20})


def _preview() -> Any:
    return odp.preview("majority(x)", epsilon=1, delta="1e-6", n=100)


def _graph() -> tuple[Any, Any]:
    graph = hot_deciding_vote(3, level=odp.level("ln(2)"), hot=odp.level("ln(3/2)"))
    return graph, Preferences.read(graph, majority)


def _draw_errors() -> Any:
    _, axes = style.figure(title="errors", x="margin", y="probability of a wrong answer")
    preview.draw_errors(axes, _preview())
    return axes


def _cross_table() -> Any:
    people = pyarrow.table({"sex": ["m", "f"] * 30, "age": [*range(20, 80)]})
    return odp.release(people, "histogram(sex: ['m', 'f'], age: bins=[0, 40, 60, 90])", epsilon=2).crosstab()


SAMPLES: dict[str, Callable[[], Any]] = {
    "channels.heat_map": lambda: channels.heat_map(Channel([["3/4", "1/4"], ["1/4", "3/4"]])),
    "channels.bound_against_epsilon": lambda: channels.bound_against_epsilon(10, largest=2),
    "channels.leakage_against_epsilon": lambda: channels.leakage_against_epsilon(
        lambda e: extremal_channel(1, 2, e), [0.5, 1]
    ),
    "channels.utility_against_epsilon": lambda: channels.utility_against_epsilon(AnswerGraph.ring(5), [0.5, 1]),
    "channels.delta_against_epsilon": lambda: privacy_profile(Channel([["3/4", "1/4"], ["1/4", "3/4"]])).plot(),
    "graphs.plot_graph": lambda: graphs.plot_graph(*_graph(), title="votes"),
    "graphs.plot_line": lambda: graphs.plot_line(
        [0, 1, 2], [[0.5, 0.5], [0.7, 0.3], [0.9, 0.1]], transitions=[0, 1], title="a line"
    ),
    "histograms.draw_release": lambda: histograms.draw_release(odp.private_histogram([5, 9, 4], epsilon=1)),
    "histograms.draw_cross_table": lambda: histograms.draw_cross_table(_cross_table()),
    "histograms.draw_error_curve": lambda: histograms.draw_error_curve(3, epsilon=1),
    "histograms.draw_constraint_graph": lambda: histograms.draw_constraint_graph(constraint_graph(3, 4)),
    "histograms.draw_remap_errors": lambda: histograms.draw_remap_errors({"none": 3.0, "bayes": 2.0}, least=1.9),
    "preview.draw_preview": lambda: preview.draw_preview(_preview()),
    "preview.draw_errors": _draw_errors,
    "graphs.plot_errors": lambda: graphs.plot_errors(
        [1, 2], {"a": [0.3, 0.2], "b": [0.2, 0.1]}, x_label="epsilon", title="errors"
    ),
    "histograms.draw_margin": lambda: odp.sanitise(TABLE, columns={"sex": ["m", "f"]}, epsilon=1).plot(column="sex"),
    "releases.draw_release": lambda: odp.release(TABLE, "majority(sex = 'm')", epsilon=1).plot(),
    "a release of counts": lambda: odp.release(TABLE, "histogram(sex, ['m', 'f'])", epsilon=1).plot(),
    "a release by group": lambda: odp.release(
        TABLE, "majority(sex = 'm')", epsilon=1, by="ward", groups=["a", "b"]
    ).plot(),
    "a design": lambda: odp.design(votes(3), majority, epsilon=1).plot(),
}


def figure_of(drawn: Any) -> Figure:
    picture = drawn if isinstance(drawn, Figure) else drawn.figure
    assert isinstance(picture, Figure)
    return picture


def test_every_public_plot_has_a_sample() -> None:
    public = {
        f"{name}.{function}"
        for name in MODULES
        for function, value in vars(import_module(f"optimaldp.plots.{name}")).items()
        if inspect.isfunction(value) and value.__module__ == f"optimaldp.plots.{name}" and not function.startswith("_")
    }
    assert public <= set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_look(name: str) -> None:
    picture = figure_of(SAMPLES[name]())
    assert complaints(picture) == []


def test_wrong_plots_are_found() -> None:
    picture, axes = style.figure()
    axes.plot([0, 1], [0, 1], color="red", label="a")
    axes.plot([0, 1], [1, 0], color="red", label="b")
    axes.imshow([[0.0, 1.0]], cmap="jet")
    found = complaints(picture)
    wanted = [
        "colour #ff0000",
        "shades jet",
        "no label on the x axis",
        "no label on the y axis",
        "no title",
        "look alike",
    ]
    assert all(any(word in one for one in found) for word in wanted), found
