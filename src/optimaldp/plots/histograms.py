"""Pictures of histograms: a release with its error bars, the least error by epsilon, the graph of privacy constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from optimaldp.errors import HistogramError
from optimaldp.plots.style import FAINT, INK, figure, legend, look, readable_on, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optimaldp.histograms.lattice import ConstraintGraph
    from optimaldp.histograms.margins import CrossTable
    from optimaldp.histograms.release import HistogramRelease
    from optimaldp.sanitising.noisy import Margin

_MOST_BARS = 60  # beyond this, labels and error bars are unreadable and a line is drawn instead
_MOST_DRAWN = 400  # histograms in a picture of the constraint graph

# Corners of the triangle and, for four bins, of a tetrahedron seen from one side.
_CORNERS: Mapping[int, Sequence[tuple[float, float]]] = {
    2: ((0.0, 0.0), (1.0, 0.0)),
    3: ((0.0, 0.0), (1.0, 0.0), (0.5, math.sqrt(3) / 2)),
    4: ((0.0, 0.0), (1.0, 0.06), (0.38, -0.36), (0.48, 0.85)),
}


def draw_release(release: HistogramRelease, *, level: object = "0.95") -> Figure:
    """A bar for each released count, with the interval that covers the true count."""
    from optimaldp.histograms.noise.quantiles import read_confidence

    percent = f"{100 * float(read_confidence(level)):g} %"
    picture, axes = figure(
        width=min(14.0, 3.0 + 0.45 * release.bins),
        title=f"Private histogram, epsilon {release.epsilon} ({release.neighbours.value})",
        x="bin",
        y="people",
    )
    intervals, places = release.intervals(level), range(release.bins)
    if release.bins > _MOST_BARS:
        axes.plot(places, release.counts, color=look(0).colour, linewidth=0.8, label="released")
        return picture
    axes.bar(places, release.counts, **look(0).bar_style(), label="released")
    axes.vlines(places, [low for low, _ in intervals], [high for _, high in intervals], color=INK, linewidth=1.5)
    for position, (low, high) in enumerate(intervals):
        axes.hlines([low, high], position - 0.12, position + 0.12, color=INK, linewidth=1.5)
    axes.plot([], [], color=INK, label=f"{percent} interval for the true count, each bin by itself")
    axes.set_xticks(list(places), release.labels, rotation=0 if release.bins <= 10 else 60)
    legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    return picture


def draw_cross_table(table: CrossTable) -> Figure:
    """A heat map: a line for each combination of all columns but the last, the counts written in."""
    import numpy as np

    width = table.shape[-1]
    counts = np.asarray(table.counts, dtype=float).reshape(-1, width)
    if len(counts) > _MOST_BARS or width > _MOST_BARS:
        raise HistogramError("table", table.shape, "is too large for a picture", "draw one of its margins")
    rows = [", ".join(values) for values in product(*table.labels[:-1])]
    picture, axes = figure(
        width=min(14.0, 4.0 + 0.7 * width), title=table.summary(), x=table.names[-1], y=", ".join(table.names[:-1])
    )
    most = max(1.0, float(counts.max()))
    axes.imshow(counts, aspect="auto", cmap=shades(), vmin=0, vmax=most)
    for (row, column), count in np.ndenumerate(counts):
        axes.text(column, row, f"{count:g}", ha="center", va="center", color=readable_on(shades()(count / most)))
    axes.set_xticks(range(width), table.labels[-1], rotation=0 if width <= 6 else 60)
    axes.set_yticks(range(len(rows)), rows)
    return picture


def draw_margin(margin: Margin, *, level: object = "0.95") -> Figure:
    """A bar for each count of one column's margin, with the interval that covers the true count."""
    names = ["(no value)" if label is None else label for label in margin.columns[0].labels]
    counts, reach = margin.counts.tolist(), margin.reach(level)
    picture, axes = figure(
        width=min(14.0, 3.0 + 0.45 * len(names)),
        title=f"{margin.columns[0].name}, epsilon {margin.error.epsilon} ({margin.error.neighbours.value})",
        x=margin.columns[0].name,
        y="people",
    )
    places = range(len(names))
    if len(names) > _MOST_BARS:
        axes.plot(places, counts, color=look(0).colour, linewidth=0.8)
        return picture
    axes.bar(places, counts, **look(0).bar_style(), label="from the noisy table")
    axes.vlines(
        places, [count - reach for count in counts], [count + reach for count in counts], color=INK, linewidth=1.5
    )
    axes.set_xticks(list(places), names, rotation=0 if len(names) <= 10 else 60)
    legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    return picture


def draw_error_curve(bins: int, *, epsilon: object = None) -> Figure:
    """The least expected L1 error by epsilon, with its limit and independent Laplace noise at the same level."""
    from optimaldp.histograms.error import many_bins_error, optimal_error, small_epsilon_error
    from optimaldp.histograms.parameters import read_positive_epsilon

    grid = [10 ** (-2 + 3 * i / 40) for i in range(41)]
    picture, axes = figure(
        title=f"Least expected L1 error, {bins} bins, total public",
        x="epsilon (one record replaced)",
        y="expected L1 error",
    )
    curves: tuple[tuple[str, Callable[..., float], str, str], ...] = (
        ("least possible, for many people", optimal_error, look(0).colour, "-"),
        ("independent discrete Laplace, scale 2/epsilon: K / sinh(epsilon/2)", many_bins_error, look(1).colour, "--"),
        ("2 (K-1) / epsilon, its limit for small epsilon", small_epsilon_error, FAINT, ":"),
    )
    for label, error, colour, dashes in curves:
        axes.loglog(grid, [error(bins, epsilon=x) for x in grid], color=colour, linestyle=dashes, label=label)
    if epsilon is not None:
        chosen = read_positive_epsilon(epsilon)
        axes.plot([float(chosen)], [optimal_error(bins, epsilon=chosen)], **look(0).line_style())
    axes.set_ylim(bottom=optimal_error(bins, epsilon=10) / 2)
    legend(axes)
    return picture


def draw_constraint_graph(graph: ConstraintGraph) -> Figure:
    """The histograms as points and the privacy constraints as lines (002 Fig. 2); colour is the distance from the first
    one."""
    if graph.bins not in _CORNERS:
        raise HistogramError("bins", graph.bins, "cannot be drawn in the plane", "draw two, three or four bins")
    if len(graph.vertices) > _MOST_DRAWN:
        raise HistogramError("persons", graph.persons, f"makes more than {_MOST_DRAWN} points", "draw fewer people")
    picture, axes = figure(
        height=2.2 if graph.bins == 2 else 5.4,
        title=f"Privacy constraints, {graph.bins} bins, {graph.persons} people",
        grid=False,
    )
    points = [_place(vertex, graph.bins) for vertex in graph.vertices]
    for i, j in graph.edges:
        axes.plot(*zip(points[i], points[j]), color=FAINT, linewidth=1, zorder=1)
    colours = [
        shades()(sum(abs(a - b) for a, b in zip(v, graph.vertices[0])) / (2 * graph.persons)) for v in graph.vertices
    ]
    across, up = zip(*points)
    axes.scatter(across, up, c=colours, s=620 if len(points) <= 30 else 60, edgecolors=INK, zorder=2)
    if len(points) <= 30:
        for point, vertex, colour in zip(points, graph.vertices, colours):
            text = ",".join(map(str, vertex))
            axes.annotate(
                text,
                point,
                ha="center",
                va="center",
                fontsize=8 if graph.bins < 4 else 6,
                color=readable_on(colour),
                zorder=3,
            )
    axes.set_axis_off()
    axes.margins(0.12)
    return picture


def _place(histogram: tuple[int, ...], bins: int) -> tuple[float, float]:
    corners = _CORNERS[bins]
    x = sum(count * corner[0] for count, corner in zip(histogram, corners))
    return x, sum(count * corner[1] for count, corner in zip(histogram, corners))


def draw_remap_errors(
    errors: Mapping[str, float], *, least: float | None = None, title: str = "Expected L1 error by remap"
) -> Figure:
    """Bars of the expected error of each remap, with the least possible error as a line."""
    picture, axes = figure(title=title, y="expected L1 error")
    for index, (name, error) in enumerate(errors.items()):
        axes.bar([name], [error], **look(index).bar_style())
    if least is not None:
        axes.axhline(least, color=INK, linestyle="--", label="least possible at this number of people")
    legend(axes)
    return picture
