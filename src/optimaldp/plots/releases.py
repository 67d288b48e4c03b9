"""The picture of a release: counts as bars, answers by group side by side, everything else by how reliable it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimaldp.laws.options import KeysLaw
from optimaldp.plots.histograms import draw_cross_table
from optimaldp.plots.preview import draw_preview
from optimaldp.plots.style import INK, figure, look
from optimaldp.reporting.report import reliability_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optimaldp.asking.result import Release

_INCHES_PER_ROW = 0.32
_CURVE_POINTS = 40  # of a curve


def draw_release(release: Release) -> Figure:
    """Numbers, counts and groups as they were answered, with their intervals; a cross table as a heat map.

    Another single answer by the probability of a wrong one at each margin; a list of categories by the probability that one is
    named.
    """
    if release.crossed:
        return draw_cross_table(release.crosstab())
    values = list(release.answers().values())
    if values and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return _numbers(release)
    if isinstance(release.answer, dict):
        return _groups(release)
    preview = reliability_of(release.question, release.statement)
    if preview is None:
        return _kept(release)
    picture = draw_preview(preview)
    picture.axes[0].set_title(f"{_short(release.question)}: {release.answer}\n{release.level}", loc="left")
    return picture


def _numbers(release: Release) -> Figure:
    """A bar for each count, a point for each other number, and a whisker over its interval where there is one."""
    counted = all(isinstance(value, int) for value in release.answers().values()) and isinstance(release.answer, dict)
    names, values = list(release.answers()), list(release.answers().values())
    shown = [""] if names == ["answer"] else names
    unit = getattr(release.asked, "unit_words", "") or ("people" if counted else "answer")
    picture, axes = _rows(release, unit, "counted" if counted else "")
    if counted:
        axes.barh(shown, values, **look(0).bar_style())
    else:
        axes.set_ymargin(0.4)
        axes.scatter(values, shown, s=70, zorder=3, **look(0).point_style())
    for name, value, ends in zip(shown, values, release.intervals().values()):
        if ends is not None:
            reach = [[max(0, value - ends[0])], [max(0, ends[1] - value)]]
            axes.errorbar(
                [value], [name], xerr=reach, fmt="none", color=INK, ecolor=INK, elinewidth=1.4, capsize=4, zorder=2
            )
    axes.invert_yaxis()
    axes.set_title(
        f"{_short(release.said())}\n{release.level}" if shown == [""] else axes.get_title(loc="left"), loc="left"
    )
    return picture


def _kept(release: Release) -> Figure:
    """Which categories occur has no margin: how often one is named depends on how many people have it."""
    law = KeysLaw.at(release.level.epsilon, release.level.delta, release.neighbours)
    sure = law.surely_kept()
    sizes = sorted({round(sure * place / _CURVE_POINTS) for place in range(_CURVE_POINTS + 1)})
    title = f"{_short(release.question)}: {len(release.answers())} named\n{release.level}"
    picture, axes = figure(title=title, x="people with a category", y="probability that it is named")
    axes.plot(sizes, [float(law.kept(size)[0]) for size in sizes], **look(0).line_style(), markevery=5)
    axes.set_ylim(-0.02, 1.02)
    return picture


def _groups(release: Release) -> Figure:
    """One row for each group, one place for each answer: a mark where they meet."""
    picture, axes = _rows(release, "answer", "group")
    answers = list(dict.fromkeys(str(value) for value in release.answers().values()))
    for index, answer in enumerate(answers):
        own = [str(name) for name, value in release.answers().items() if str(value) == answer]
        axes.scatter([index] * len(own), own, s=90, **look(index).point_style(), label=answer)
    axes.set_xticks(range(len(answers)), answers)
    axes.set_xlim(-0.5, len(answers) - 0.5)
    axes.invert_yaxis()
    return picture


def _rows(release: Release, across: str, down: str) -> tuple[Figure, Any]:
    height = min(12.0, 1.6 + _INCHES_PER_ROW * len(release.answers()))
    return figure(6.8, height, title=f"{_short(release.question)}\n{release.level}", x=across, y=down)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
