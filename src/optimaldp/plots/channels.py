"""Pictures of channels: heat maps, leakage against epsilon with its bound, utility against epsilon."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.channel import Channel
from optimaldp.channels.optimal import optimal_mechanism
from optimaldp.channels.privacy import PrivacyProfile
from optimaldp.channels.report import database_bound
from optimaldp.plots import style
from optimaldp.progress import track

_MOST_LABELLED = 30  # rows or columns up to which their names fit beside a heat map


def _axes(axes: object, *, grid: bool = True) -> Any:
    """The given axes, or those of a new figure in the look of all plots."""
    return axes if axes is not None else style.figure(grid=grid)[1]


def heat_map(channel: Channel, axes: object = None) -> Any:
    """The channel as a heat map: inputs down, outputs across."""
    chosen = _axes(axes, grid=False)
    image = chosen.imshow(channel.array, vmin=0, cmap=style.shades(), aspect="auto")
    chosen.figure.colorbar(image, ax=chosen, label="probability")
    style.describe(chosen, title="Channel", x="output", y="input")
    for names, ticks in ((channel.outputs, chosen.set_xticks), (channel.inputs, chosen.set_yticks)):
        if len(names) <= _MOST_LABELLED:
            ticks(range(len(names)), [str(name) for name in names])
    return chosen


def bound_against_epsilon(
    individuals: int = 100, values: Sequence[int] = (2, 10, 100), *, largest: float = 10, axes: object = None
) -> Any:
    """Figure 3 of paper 004: how Theorem 1's bound grows with epsilon, towards the ``u log2 v`` bits of the whole database."""
    chosen = _axes(axes)
    grid = np.linspace(0, largest, 101)
    for index, v in enumerate(values):
        curve = [database_bound(individuals, v, float(epsilon)).bits for epsilon in grid.round(6)]
        chosen.plot(grid, curve, **style.look(index).line_style(), markevery=10, label=f"v = {v}")
    style.describe(chosen, title=f"{individuals} individuals with v values", x="epsilon", y="leakage at most (bits)")
    style.legend(chosen)
    return chosen


def leakage_against_epsilon(
    channel_of: Callable[[float], Channel],
    epsilons: Sequence[float],
    *,
    individuals: int = 1,
    values: int = 2,
    prior: object = None,
    axes: object = None,
) -> Any:
    """The min-entropy leakage of a family of channels, and the bound that no epsilon-DP channel on the databases exceeds."""
    chosen = _axes(axes)
    leaked = [channel_of(e).min_entropy_leakage(prior) for e in track(epsilons, "leakage", total=len(epsilons))]
    bounds = [database_bound(individuals, values, e).bits for e in epsilons]
    for index, (bits, label) in enumerate([(leaked, "leakage"), (bounds, "bound (004 Theorem 1)")]):
        chosen.plot(epsilons, bits, **style.look(index).line_style(), label=label)
    style.describe(chosen, title="Min-entropy leakage by epsilon", x="epsilon", y="bits")
    style.legend(chosen)
    return chosen


def utility_against_epsilon(
    graph: AnswerGraph, epsilons: Sequence[float], *, prior: object = None, gain: object = "binary", axes: object = None
) -> Any:
    """The best utility on a graph of answers as epsilon grows."""
    chosen = _axes(axes)
    utilities = [
        float(optimal_mechanism(graph, e, prior=prior, gain=gain).utility)
        for e in track(epsilons, "utility", total=len(epsilons))
    ]
    chosen.plot(epsilons, utilities, **style.look(0).line_style())
    label = "chance of the right answer" if gain == "binary" else "expected gain"
    style.describe(chosen, title=graph.summary(), x="epsilon", y=label)
    return chosen


def delta_against_epsilon(profile: PrivacyProfile, *, points: int = 121, axes: object = None) -> Any:
    """The privacy profile of a channel: the delta with which it is private, for each epsilon."""
    chosen = _axes(axes)
    pure = profile.epsilon(0)
    grid = np.linspace(0, 8.0 if pure == float("inf") else max(pure, 0.1), points).round(9)
    chosen.plot(
        grid, [float(profile.delta(float(epsilon))) for epsilon in grid], **style.look(0).line_style(), markevery=12
    )
    style.describe(chosen, title="Privacy profile", x="epsilon", y="delta")
    return chosen
