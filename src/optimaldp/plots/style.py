"""One look for all plots: colours that colour-blind readers tell apart, doubled by hatches, markers and dashes for grey print.

Figures are made by the object interface of matplotlib, so nothing is registered in ``pyplot``, no window opens, no
backend is chosen and no setting of the caller changes.

>>> picture, axes = figure(title="Error by margin", x="margin", y="probability of a wrong answer")
>>> _ = axes.plot([0, 1, 2], [1 / 3, 1 / 6, 1 / 12], **look(0).line_style(), label="optimal")
>>> legend(axes)
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.errors import InputError
from optimaldp.extras import requiring

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure
    from matplotlib.typing import ColorType

# Okabe and Ito's colours, ordered so that neighbours in the list differ in lightness too.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#56B4E9", "#D55E00", "#CC79A7", "#000000", "#F0E442")
HATCHES = ("", "//", "..", "xx", "\\\\", "--", "++", "oo")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))
INK = "#222222"  # text and outlines
FAINT = "#9A9A9A"  # grid lines, edges of graphs, reference lines

SETTINGS: dict[Any, Any] = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "grid.color": FAINT,
    "grid.alpha": 0.4,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.0,
    "figure.dpi": 120.0,
}


@dataclass(frozen=True)
class Look:
    """How the i-th answer, series or region looks everywhere: by colour, and without colour."""

    colour: str
    hatch: str
    marker: str
    dashes: Any

    def line_style(self) -> dict[str, Any]:
        """Keywords for ``axes.plot``."""
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dashes, "markeredgecolor": INK}

    def bar_style(self) -> dict[str, Any]:
        """Keywords for ``axes.bar``, ``axes.barh`` and ``axes.fill_between``."""
        return {"facecolor": self.colour, "hatch": self.hatch, "edgecolor": INK, "linewidth": 0.8}

    def point_style(self) -> dict[str, Any]:
        """Keywords for ``axes.scatter``."""
        return {"color": self.colour, "marker": self.marker, "edgecolors": INK, "linewidths": 0.8}


def look(index: int) -> Look:
    """The look of number *index*; from the ninth on colours return with other marks."""
    turn = index + index // len(
        PALETTE
    )  # one place further per round, so that no pair of colour and mark repeats early
    return Look(
        PALETTE[index % len(PALETTE)],
        HATCHES[turn % len(HATCHES)],
        MARKERS[turn % len(MARKERS)],
        DASHES[turn % len(DASHES)],
    )


# The colour of each mechanism that a preview names, in every picture; what a release would use is ours, and comes first.
_COLOURS = {
    **dict.fromkeys(("optimaldp", "typical", "either aim", "each kept by their level"), 0),
    "exponential": 1,
    "permute-and-flip": 2,
    "discrete Laplace": 3,
    "randomised response": 4,
    "every table": 5,
    "strictest for all": 6,
    "strict left out": 7,
}


def look_of(name: str, index: int = 0) -> Look:
    """The look of a mechanism by its name, the same in every picture; one that has no name here looks like number *index*.

    Two curves of one mechanism ("typical, average" and "typical, worst") share its colour and differ in their marks.
    """
    mechanism, _, case = name.partition(", ")
    colour = _COLOURS.get(mechanism, index)
    return replace(look(colour + (case == "worst")), colour=look(colour).colour)


def figure(
    width: float = 6.4, height: float = 4.0, *, title: str = "", x: str = "", y: str = "", grid: bool = True
) -> tuple[Figure, Axes]:
    """A new figure with one pair of labelled axes, in inches; see :func:`panels` for several."""
    picture, (axes,) = panels(1, width=width, height=height, grid=grid)
    describe(axes, title=title, x=x, y=y)
    return picture, axes


def panels(
    count: int, *, columns: int | None = None, width: float = 6.4, height: float = 4.0, grid: bool = True
) -> tuple[Figure, tuple[Axes, ...]]:
    """A new figure with *count* axes in reading order; *width* and *height* are of the whole figure."""
    with requiring("matplotlib"):
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg

    across = min(count, columns or count)
    with matplotlib.rc_context(SETTINGS):
        picture = _shown_figure()(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(picture)
        axes = tuple(picture.add_subplot(-(-count // across), across, i + 1) for i in range(count))
    for one in axes:
        one.set_axisbelow(True)
        one.grid(grid)
    return picture, axes


@cache
def _shown_figure() -> type[Figure]:
    """Figures that a notebook shows by themselves: no magic command, no backend."""
    with requiring("matplotlib"):
        from matplotlib.figure import Figure

    class ShownFigure(Figure):
        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png", metadata={"Software": None})
            return written.getvalue()

    return ShownFigure


def describe(axes: Axes, *, title: str = "", x: str = "", y: str = "") -> None:
    """Set the title and the axis labels."""
    axes.set_title(title, loc="left", fontsize=SETTINGS["axes.titlesize"])
    axes.set_xlabel(x)
    axes.set_ylabel(y)


def legend(axes: Axes, **options: Any) -> None:
    """A quiet legend of everything that has a label; nothing if nothing has."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=SETTINGS["font.size"] - 1, **options)


def shades() -> Colormap:
    """The colour map for probabilities and errors: monotone in lightness, so grey print keeps the order."""
    with requiring("matplotlib"):
        import matplotlib

    return matplotlib.colormaps["cividis"]


def readable_on(colour: ColorType) -> str:
    """Black or white, whichever can be read on *colour*."""
    with requiring("matplotlib"):
        from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#FFFFFF"


def drawn(picture: Figure, path: str | Path | None = None) -> Figure:
    """The figure, also written to *path* if one is given."""
    if path is not None:
        save(picture, path)
    return picture


def axes_drawn(axes: Axes, path: str | Path | None = None) -> Axes:
    """The axes; their figure is also written to *path* if one is given."""
    figure = axes.get_figure(root=True)
    if figure is not None:
        drawn(figure, path)
    return axes


def save_for_screens(picture: Figure, path: str | Path) -> Path:
    """Write a figure as an SVG, which is returned, and beside it as a PNG with twice the points, for dense screens."""
    target = Path(path)
    save(picture, target.with_suffix(".png"), scale=2)
    return save(picture, target.with_suffix(".svg"))


def save(picture: Figure, path: str | Path, *, scale: float = 1) -> Path:
    """Write a figure as PNG, SVG or PDF, by the ending of *path*; *scale* 2 is twice the points in each direction.

    **Guarantee.** The same figure gives the same bytes: no date is written, and names inside an SVG do not vary.
    """
    with requiring("matplotlib"):
        import matplotlib

    target = Path(path)
    undated = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    ending = target.suffix.lower()
    if ending not in undated:
        raise InputError("path", str(path), "is not a kind of picture that can be written", "use .png, .svg or .pdf")
    try:
        with matplotlib.rc_context({"svg.hashsalt": "optimaldp"}):
            picture.savefig(target, metadata=undated[ending], dpi=scale * picture.dpi)
    except OSError as error:
        raise InputError("path", str(path), f"cannot be written ({error.strerror})", "check the folder") from None
    return target
