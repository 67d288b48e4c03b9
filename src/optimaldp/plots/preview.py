"""The picture of a preview: probability of a wrong answer by margin, ours and the usual mechanisms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from optimaldp.plots.style import FAINT, figure, legend, look_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from optimaldp.asking.preview_result import Preview

_LEAST_ERROR_DRAWN = 1e-6  # errors below this are drawn on the lowest line: nobody can see the difference


def draw_preview(preview: Preview) -> Figure:
    """Error by margin on a logarithmic scale; an error of exactly 0 ends its line. Counts and numbers have no margin."""
    if not preview.margins:
        return _draw_counts(preview)
    picture, axes = figure(7.2, 4.4, title=_title(preview), x=_margin_words(preview), y="probability of a wrong answer")
    draw_errors(axes, preview)
    legend(axes)
    return picture


def draw_errors(axes: Axes, preview: Preview) -> None:
    """Draw into given axes, for figures that hold several previews."""
    for index, (name, errors) in enumerate(preview.series):
        shown = [(m, e) for m, e in zip(preview.margins, errors) if e >= _LEAST_ERROR_DRAWN]
        style = look_of(name, index).line_style() | (
            {"linewidth": 2.6, "zorder": 5} if index == 0 else {"linewidth": 1.3}
        )
        axes.plot([m for m, _ in shown], [e for _, e in shown], **style, label=name)
    for limit, label in ((0.05, "5 %"), (0.01, "1 %")):
        axes.axhline(limit, color=FAINT, linewidth=0.8)
        axes.annotate(label, (preview.margins[-1], limit), ha="right", va="bottom", fontsize=8)
    axes.set_yscale("log")
    if preview.margins[-1] > 200:
        axes.set_xscale("log")


def _draw_counts(preview: Preview) -> Figure:
    if "half_widths" in preview.more:
        return _draw_noise(preview)
    errors: Mapping[str, float] = preview.more.get("expected_error", {})
    picture, axes = figure(7.2, 3.0, title=_title(preview), x="expected sum of the errors of all counts, at most", y="")
    for index, (name, off) in enumerate(reversed(list(errors.items()))):
        axes.barh(name, off, **look_of(name, index).bar_style())
        axes.annotate(f" {off:.3g}", (off, index), ha="left", va="center", fontsize=8)
    return picture


def _draw_noise(preview: Preview) -> Figure:
    """How often a number is off by more than so much, on a logarithmic scale."""
    picture, axes = figure(7.2, 4.4, title=_title(preview), x="off by more than", y="probability, at most")
    for index, (name, widths) in enumerate(preview.more["half_widths"].items()):
        style = look_of(name, index).line_style() | {"linewidth": 1.3 if index else 2.6}
        axes.plot([*widths.values()], [1 - float(sure) for sure in widths], **style, label=name)
    axes.set_yscale("log")
    legend(axes)
    return picture


def _title(preview: Preview) -> str:
    question = preview.question if len(preview.question) <= 60 else preview.question[:59] + "…"
    return f"{question}\n{preview.level}, {preview.neighbours}"


def _margin_words(preview: Preview) -> str:
    return "margin: people who would have to change to change the answer"
