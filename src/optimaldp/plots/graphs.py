"""Pictures of dataset graphs, coloured by preference or probability, and of answers along a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optimaldp.errors import GraphError, MechanismError
from optimaldp.extras import requiring
from optimaldp.graphs import DatasetGraph, Preferences
from optimaldp.plots import style
from optimaldp.plots.graph_layouts import Points, positions
from optimaldp.privacy import ApproximateDP, Level

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_DRAWN = 1500  # beyond this a picture of vertices is a blot
_MOST_LABELLED = 64  # up to here every dataset is called by its name


def plot_graph(
    graph: DatasetGraph,
    preferences: Preferences | None = None,
    *,
    mechanism: object = None,
    answer: str | None = None,
    layout: str = "auto",
    orders: bool = False,
    title: str = "",
) -> Figure:
    """Draw a dataset graph.

    Datasets have the colour and mark of their favourite answer. When a *mechanism* is given (a mapping from names to rows,
    or anything with ``row(name)``) they are shaded by the probability of their favourite, or of *answer*. Stricter edges are
    thicker, as in 003 Fig. 1. With *orders* the whole preference of each dataset stands beside its name (001 Figs 1 and 2).

    >>> from optimaldp.graphs import majority, votes
    >>> graph = votes(3, level="ln(2)")
    >>> picture = plot_graph(graph, Preferences.read(graph, majority), title="Three voters")
    """
    if len(graph) > MOST_DRAWN:
        way_out = "draw a quotient of it, or its boundary graph"
        raise GraphError(
            "graph", f"{len(graph)} datasets", f"are more than the {MOST_DRAWN} that can be drawn", way_out
        )
    points = positions(graph, layout)
    shares = None if mechanism is None else _probabilities(graph, preferences, mechanism, answer)
    picture, axes = style.figure(*_size(graph, points), grid=False)
    axes.set_title(title, loc="left", pad=18)  # room for the names above the highest datasets
    axes.set_axis_off()
    axes.set_aspect("equal", adjustable="box")
    axes.margins(0.1)
    _draw_edges(axes, graph, points)
    shaded = _draw_datasets(axes, graph, points, preferences, shares)
    if shaded is not None:
        what = "the favourite answer" if answer is None else repr(answer)
        apart = "\n" if picture.get_figheight() < 3 else " "  # beside a low picture one line would be cut off
        picture.colorbar(shaded, ax=axes, shrink=0.8, label=f"probability of{apart}{what}")
    _write_labels(axes, graph, points, shares, preferences if orders else None)
    style.legend(axes, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, markerscale=0.6)
    return picture


def _size(graph: DatasetGraph, points: Points) -> tuple[float, float]:
    """Inches that suit the shape of the layout: a line is low, and as wide as its names need."""
    height = float(np.ptp(points[:, 1]))
    names = 1.8 + 0.085 * sum(len(name) + 1 for name in graph.names) if not height else 0.0
    return float(np.clip(names, 6.4, 12.0)), float(np.clip(1.5 + 6.2 * height, 2.0, 6.4))


def _probabilities(
    graph: DatasetGraph, preferences: Preferences | None, mechanism: Any, answer: str | None
) -> list[float]:
    if answer is None and preferences is None:
        raise GraphError("answer", None, "is missing", "name the answer to draw, or give preferences")
    shares = []
    for vertex, name in enumerate(graph.names):
        row = mechanism.row(name) if hasattr(mechanism, "row") else mechanism[name]
        wanted = answer if answer is not None else preferences.words(vertex)[0] if preferences is not None else ""
        if wanted not in row:
            raise MechanismError(f"row of {name}", wanted, "is not one of its answers")
        shares.append(float(row[wanted]))
    return shares


def _draw_edges(axes: Axes, graph: DatasetGraph, points: Points) -> None:
    with requiring("matplotlib"):
        from matplotlib.collections import LineCollection

    ranks = _strictness(graph.levels)
    several = len(set(ranks)) > 1
    for rank in sorted(set(ranks)):
        mine = np.isin(graph.level_of_edge, [k for k, one in enumerate(ranks) if one == rank])
        segments = np.stack([points[graph.tails[mine]], points[graph.heads[mine]]], axis=1)
        label = str(graph.levels[ranks.index(rank)]) if several else None
        dashes = "-" if rank == 0 else (0, (4, 1 + rank))
        width = max(1.0, 3.2 - 1.1 * rank) if several else 1.4
        lines = LineCollection(list(segments), colors=style.FAINT, linewidths=width, linestyles=[dashes], zorder=1)
        lines.set_label(label or "_edges")
        axes.add_collection(lines)


def _strictness(levels: Sequence[Level]) -> list[int]:
    """For each level its rank among the distinct ones, the strictest (smallest epsilon) first."""
    distinct = sorted(dict.fromkeys(levels), key=_looseness)
    return [distinct.index(level) for level in levels] or [0]


def _looseness(level: Level) -> tuple[float, float]:
    if isinstance(level, ApproximateDP):
        return min(float(b.epsilon) for b in level.bounds), min(float(b.delta) for b in level.bounds)
    return float(getattr(level, "mu", 0)), 0.0


def _draw_datasets(
    axes: Axes, graph: DatasetGraph, points: Points, preferences: Preferences | None, shares: list[float] | None
) -> Any:
    """Marks by favourite; filled by its colour, or by the shade of a probability. Returns what the colour bar explains."""
    favourites = np.zeros(len(graph), dtype=np.int64) if preferences is None else preferences.favourites
    outline: dict[str, Any] = {"s": _mark_size(graph), "edgecolors": style.INK, "linewidths": 1.0, "clip_on": False}
    shade: dict[str, Any] = {"cmap": style.shades(), "vmin": 0, "vmax": 1}
    shaded = None
    for k in np.unique(favourites).tolist():
        x, y = points[favourites == k].T
        look = style.look(k)
        fill = look.colour if shares is None else "white"
        shown = (x, y) if shares is None else ([], [])  # beside shades the legend explains the marks alone
        axes.scatter(*shown, color=fill, marker=look.marker, label=_favourite(preferences, k), zorder=2, **outline)
        if shares is not None:
            values = np.array(shares)[favourites == k]
            shaded = axes.scatter(x, y, c=values, marker=look.marker, zorder=2, **shade, **outline)
    return shaded


def _favourite(preferences: Preferences | None, answer: int) -> str:
    if preferences is None:
        return "_datasets"
    what = "true answer" if len(preferences.answers) == 2 else "favourite"
    return f"{what} {preferences.answers[answer]}"


def _mark_size(graph: DatasetGraph) -> float:
    """The area of a dataset's mark, in square points."""
    return float(np.clip(9000 / len(graph), 30, 420))


def _write_labels(
    axes: Axes, graph: DatasetGraph, points: Points, shares: list[float] | None, preferences: Preferences | None
) -> None:
    if len(graph) > _MOST_LABELLED:
        return
    # On white: an edge that passes behind a number must not look like a digit.
    paper = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
    options: dict[str, Any] = {
        "textcoords": "offset points",
        "ha": "center",
        "va": "bottom",
        "zorder": 3,
        "bbox": paper,
    }
    above = _mark_size(graph) ** 0.5 / 2 + 2
    for vertex, name in enumerate(graph.names):
        text = name if shares is None else f"{name}\n{shares[vertex]:.3g}"
        text += "" if preferences is None else "\n" + ">".join(preferences.words(vertex))
        size = 8 if len(graph) <= 20 else 6
        axes.annotate(text, (points[vertex, 0], points[vertex, 1]), xytext=(0, above), fontsize=size, **options)


def plot_line(
    steps: object,
    probabilities: object,
    *,
    answers: Sequence[str] | None = None,
    transitions: Sequence[float] | None = None,
    title: str = "",
) -> Figure:
    """Draw how each answer's probability changes with the distance from the boundary (001, Figs 3 to 5).

    *probabilities* has one row per entry of *steps* and one column per answer, most wanted first; *transitions* are the
    tau of each answer, marked where they lie inside the picture.

    >>> picture = plot_line([0, 1, 2], [[0.5, 0.5], [0.75, 0.25], [0.875, 0.125]], transitions=[0, 0])
    """
    t, table = np.asarray(steps, dtype=float), np.asarray(probabilities, dtype=float)
    if t.ndim != 1 or table.ndim != 2 or len(table) != len(t) or not table.size:
        raise MechanismError("probabilities", table.shape, f"do not fit {t.shape} steps", "one row per step")
    names = [f"answer {k + 1}" for k in range(table.shape[1])] if answers is None else list(answers)
    if len(names) != table.shape[1] or (transitions is not None and len(transitions) > table.shape[1]):
        raise MechanismError("answers", names, f"do not fit {table.shape[1]} columns", "name each answer once")
    picture, axes = style.figure(6.8, 4.2, title=title, x="distance t from the boundary", y="probability of the answer")
    for k, name in enumerate(names):
        options = {**style.look(k).line_style(), "markevery": max(1, len(t) // 12)}
        axes.plot(t, table[:, k], label=name, **options)
    _mark_transitions(axes, t, table, transitions or ())
    axes.set_ylim(-0.02, max(1.02, float(table.max()) + 0.02))
    style.legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture


def plot_errors(x: Sequence[float], errors: dict[str, list[float]], *, x_label: str, title: str = "") -> Figure:
    """Draw probabilities of a wrong answer, one line for each name, on a logarithmic scale where they are positive.

    >>> picture = plot_errors([1, 2], {"a": [0.3, 0.2], "b": [0.2, 0.1]}, x_label="epsilon")
    """
    picture, axes = style.figure(6.8, 4.2, title=title, x=x_label, y="probability of a wrong answer")
    for k, (name, values) in enumerate(errors.items()):
        axes.plot(x, values, label=name, **{**style.look(k).line_style(), "markevery": max(1, len(values) // 12)})
    if any(value > 0 for values in errors.values() for value in values):
        axes.set_yscale("log")
    style.legend(axes, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return picture


def _mark_transitions(axes: Axes, t: Any, table: Any, transitions: Sequence[float]) -> None:
    """A faint upright at each tau, named at the top; those that coincide share one."""
    named: dict[float, list[int]] = {}
    for k, tau in enumerate(transitions):
        if t.min() <= tau <= t.max():
            named.setdefault(float(tau), []).append(k)
    before, crowded = -np.inf, 0.04 * float(np.ptp(t))
    for tau, which in sorted(named.items()):
        axes.axvline(tau, color=style.FAINT, linewidth=0.9, linestyle=":", zorder=0)
        text = "$" + ",".join(rf"\tau_{{{k + 1}}}" for k in which) + f"={tau:g}$"
        side = "left" if tau - before < crowded else "right"  # two close ones are written on either side
        place: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "ha": side, "va": "top", "rotation": 90}
        axes.annotate(text, (tau, 0.99), fontsize=8, color=style.INK, **place)
        before = tau
        for k in which:
            axes.plot([tau], [np.interp(tau, t, table[:, k])], color=style.look(k).colour, marker="|", markersize=14)
