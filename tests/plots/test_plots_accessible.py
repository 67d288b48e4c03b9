"""Every plot has the one look: colours of the palette, marks besides colour, labelled axes and colour bars."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import is_color_like, to_hex
from matplotlib.figure import Figure

import optimaldp as odp
from optimaldp.channels import AnswerGraph, Channel, extremal_channel
from optimaldp.graphs import Preferences, hot_deciding_vote, majority, votes
from optimaldp.histograms.lattice import constraint_graph
from optimaldp.plots import channels, graphs, histograms, preview, style

MODULES = ("channels", "graphs", "histograms", "preview")
_ALLOWED = {to_hex(colour) for colour in (*style.PALETTE, style.INK, style.FAINT, "white", "black")}
_ALLOWED_SHADES = {"cividis"}


def _preview() -> Any:
    return odp.preview("majority(x)", epsilon=1, delta="1e-6", n=100)


def _graph() -> tuple[Any, Any]:
    graph = hot_deciding_vote(3, level=odp.level("ln(2)"), hot=odp.level("ln(3/2)"))
    return graph, Preferences.read(graph, majority)


def _draw_errors() -> Any:
    _, axes = style.figure(title="errors", x="margin", y="probability of a wrong answer")
    preview.draw_errors(axes, _preview())
    return axes


SAMPLES: dict[str, Callable[[], Any]] = {
    "channels.heat_map": lambda: channels.heat_map(Channel([["3/4", "1/4"], ["1/4", "3/4"]])),
    "channels.bound_against_epsilon": lambda: channels.bound_against_epsilon(10, largest=2),
    "channels.leakage_against_epsilon": lambda: channels.leakage_against_epsilon(
        lambda e: extremal_channel(1, 2, e), [0.5, 1]
    ),
    "channels.utility_against_epsilon": lambda: channels.utility_against_epsilon(AnswerGraph.ring(5), [0.5, 1]),
    "graphs.plot_graph": lambda: graphs.plot_graph(*_graph(), title="votes"),
    "graphs.plot_line": lambda: graphs.plot_line(
        [0, 1, 2], [[0.5, 0.5], [0.7, 0.3], [0.9, 0.1]], transitions=[0, 1], title="a line"
    ),
    "histograms.draw_release": lambda: histograms.draw_release(odp.private_histogram([5, 9, 4], epsilon=1)),
    "histograms.draw_error_curve": lambda: histograms.draw_error_curve(3, epsilon=1),
    "histograms.draw_constraint_graph": lambda: histograms.draw_constraint_graph(constraint_graph(3, 4)),
    "histograms.draw_remap_errors": lambda: histograms.draw_remap_errors({"none": 3.0, "bayes": 2.0}, least=1.9),
    "preview.draw_preview": lambda: preview.draw_preview(_preview()),
    "preview.draw_errors": _draw_errors,
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


def complaints(picture: Figure) -> list[str]:
    """What a reader who sees no colours, or does not know the subject, would miss."""
    found = []
    for axes in picture.axes:
        found += [f"colour {colour}" for colour in _colours(axes) if colour not in _ALLOWED]
        found += [f"shades {shown}" for shown in _shades(axes) if shown not in _ALLOWED_SHADES]
        if axes.axison and not axes.get_label().startswith("<colorbar"):
            found += [] if axes.get_xlabel() or _names_ticks(axes) else ["no label on the x axis"]
            found += [] if axes.get_ylabel() else ["no label on the y axis"]
            found += [] if any(axes.get_title(loc=side) for side in ("left", "center")) else ["no title"]
        elif axes.axison:
            found += [] if axes.get_ylabel() or axes.get_xlabel() else ["no label on the colour bar"]
        found += _alike_without_colour(axes)
    return found


def _names_ticks(axes: Any) -> bool:
    return any(tick.get_text().strip("−-.0123456789") for tick in axes.get_xticklabels())


def _colours(axes: Any) -> list[str]:
    if axes.get_label().startswith("<colorbar"):
        return []
    plain = [line.get_color() for line in axes.lines] + [patch.get_facecolor() for patch in axes.patches]
    for collection in axes.collections:
        if collection.get_array() is None:
            plain += [row for row in np.atleast_2d(collection.get_facecolor()) if _is_flat(axes, collection)]
    return [to_hex(colour) for colour in plain if is_color_like(colour) or len(colour) in (3, 4)]


def _is_flat(axes: Any, collection: Any) -> bool:
    """Many different colours in one collection are shades of a quantity; those are checked by their order of lightness."""
    colours = np.atleast_2d(collection.get_facecolor())
    if len(np.unique(colours, axis=0)) <= 1:
        return True
    known = style.shades()(np.linspace(0, 1, 1025))[:, :3]
    assert all(np.abs(known - colour[:3]).sum(axis=1).min() < 0.02 for colour in colours), (
        "shades of another colour map"
    )
    return False


def _shades(axes: Any) -> list[str]:
    mapped = [*axes.images, *(one for one in axes.collections if one.get_array() is not None)]
    return [] if axes.get_label().startswith("<colorbar") else [one.get_cmap().name for one in mapped]


def _alike_without_colour(axes: Any) -> list[str]:
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    marks = {line.get_label(): (line.get_linestyle(), line.get_marker(), str(line._dash_pattern)) for line in lines}
    pairs = itertools.combinations(marks, 2)
    return [f"{a} and {b} look alike in grey" for a, b in pairs if marks[a] == marks[b]]


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
