"""The picture of a release: counts as bars, answers by group side by side, everything else by how reliable it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimaldp.laws.options import KeysLaw
from optimaldp.plots.preview import draw_preview
from optimaldp.plots.style import figure, look
from optimaldp.reporting.report import reliability_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optimaldp.asking.result import Release

_INCHES_PER_ROW = 0.32
_CURVE_POINTS = 40  # of a curve


def draw_release(release: Release) -> Figure:
    """Counts and groups as they were answered; a single answer by the probability of a wrong one at each margin.

    A list of categories by the probability that one is named.
    """
    if isinstance(release.answer, dict):
        values = list(release.answer.values())
        counted = bool(values) and all(isinstance(value, int) for value in values)
        return _counts(release) if counted else _groups(release)
    preview = reliability_of(release.question, release.statement)
    if preview is None:
        return _kept(release)
    picture = draw_preview(preview)
    picture.axes[0].set_title(f"{_short(release.question)}: {release.answer}\n{release.level}", loc="left")
    return picture


def _counts(release: Release) -> Figure:
    picture, axes = _rows(release, "people", "counted")
    axes.barh(list(release.answers()), list(release.answers().values()), **look(0).bar_style())
    axes.invert_yaxis()
    return picture


def _kept(release: Release) -> Figure:
    """Which categories occur has no margin: how often one is named depends on how many people have it."""
    law = KeysLaw.at(release.level.epsilon, release.level.delta, release.neighbours)
    sure = law.surely_kept()
    sizes = sorted({round(sure * place / _CURVE_POINTS) for place in range(_CURVE_POINTS + 1)})
    title = f"{_short(release.question)}: {len(release.answer)} named\n{release.level}"
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
    height = min(12.0, 1.6 + _INCHES_PER_ROW * len(release.answer))
    return figure(6.8, height, title=f"{_short(release.question)}\n{release.level}", x=across, y=down)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
