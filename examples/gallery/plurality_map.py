"""A map of a plurality.

Thirty people choose between A, B and C. Every point of the triangle is one possible result; its mark is the true
winner, its shade the probability that the private announcement names it. Doubt lives on the three borders, a few
votes wide, and is largest in the middle, where all three meet. Far inside each third the announcement is right, and
nothing is lost to privacy.
"""

from __future__ import annotations

import sys
from math import sqrt
from pathlib import Path
from typing import Any

import optimaldp as odp
from optimaldp.plots.style import INK, figure, legend, look, save_for_screens, shades

PERSONS = 30
OPTIONS = ("A", "B", "C")


def results() -> list[tuple[int, int, int]]:
    return [(a, b, PERSONS - a - b) for a in range(PERSONS + 1) for b in range(PERSONS + 1 - a)]


def place(result: tuple[int, ...]) -> tuple[float, float]:
    """A at the lower left, B at the lower right, C at the top."""
    return (result[1] + result[2] / 2) / PERSONS, result[2] * sqrt(3) / 2 / PERSONS


def draw(folder: Path) -> Path:
    picture, axes = figure(7.2, 5.6, title=f"Who wins? {PERSONS} people, ε = ln 2, one vote replaced", grid=False)
    for option, name in enumerate(OPTIONS):
        mine = [r for r in results() if r.index(max(r)) == option]  # a tie goes to the earlier option
        chance = [float(odp.questions.winner_probabilities(r, epsilon="ln(2)")[option]) for r in mine]
        marks: dict[str, Any] = {"marker": look(option).marker, "s": 46, "edgecolors": INK, "linewidths": 0.3}
        points = axes.scatter(*zip(*map(place, mine)), c=chance, vmin=1 / 3, vmax=1, cmap=shades(), **marks)
        axes.scatter([], [], color="white", label=f"{name} has most votes", **marks | {"linewidths": 1.0})
    picture.colorbar(points, ax=axes, shrink=0.8, label="probability that the true winner is announced")
    for corner, name in enumerate(OPTIONS):
        x, y = place(tuple(PERSONS * (i == corner) for i in range(3)))
        axes.annotate(
            f"all for {name}", (x, y), xytext=(0, 10 if corner == 2 else -16), textcoords="offset points", ha="center"
        )
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.margins(0.08)
    legend(axes, loc="upper left")
    return save_for_screens(picture, folder / "plurality_map.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
