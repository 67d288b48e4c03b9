"""The picture of a ledger's history: how much of the budget was used, question by question."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from optimaldp.plots.style import INK, figure, legend, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from optimaldp.ledger.history import History
    from optimaldp.ledger.people import Group

_AFTER_EACH: dict[str, Any] = {"where": "post", "markersize": 4}


def draw_history(history: History) -> Figure:
    """The total over time as steps, with the budget as a line; a level group with a budget of its own has its own steps."""
    title = f"{history.opening.dataset}: privacy used by {len(history)} questions"
    picture, axes = figure(7.2, 4.0, title=title, x="time (UTC)", y="epsilon used")
    _draw_steps(axes, history, None, 0)
    for index, (group, _) in enumerate(history.opening.groups, start=1):
        if group.column is not None:
            _draw_steps(axes, history, group, index)
    axes.set_ylim(bottom=0)
    picture.autofmt_xdate()
    legend(axes, loc="upper left")
    return picture


def _draw_steps(axes: Axes, history: History, group: Group | None, index: int) -> None:
    budget = dict(history.opening.groups)[group] if group is not None else history.opening.budget
    totals = [float(bound.epsilon) for bound in history.spent_so_far(group)]
    times: Any = [datetime.fromisoformat(text) for text in (history.opening.time, *(one.time for one in history))]
    name = "everybody" if group is None else f"people with {group}"
    axes.step(times, [0.0, *totals], **look(index).line_style(), **_AFTER_EACH, label=name)
    if not budget.unlimited:
        style: dict[str, Any] = {
            "color": INK if group is None else look(index).colour,
            "linewidth": 1.0,
            "linestyle": "--",
        }
        axes.axhline(float(budget.epsilon), **style, label=f"budget of {name}")
