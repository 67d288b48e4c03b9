"""An optimum that does not exist.

Two neighbouring datasets with different true answers, and nothing fixed. The grey set holds every private mechanism:
how often the first tells the truth, across, and how often the second does, up. Each could be right always, but not
both: the best corner lies outside, and every point of the frontier is better than the others somewhere. So the
designer answers *no optimum exists*, with the two wishes that exclude each other, and asks you to choose a point, for
instance the balanced one.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import optimaldp as odp
from optimaldp.plots.style import FAINT, INK, figure, legend, look, save_for_screens

LEVEL = odp.level("ln(2)", "0.1")
GRID = [Fraction(k, 200) for k in range(201)]


def draw(folder: Path) -> Path:
    pair = odp.graphs.line(2, level=LEVEL)
    nothing = odp.design(pair, {"0": "blue", "1": "red"}, answers=["blue", "red"], fixed={})
    assert nothing.status == "no-optimum", nothing.witness
    balanced = float(odp.design(pair, {"0": "blue", "1": "red"}, answers=["blue", "red"]).mechanism["0"]["blue"])
    picture, axes = figure(5.8, 5.2, title="Two neighbours that want different answers, (ln 2, 0.1)-DP",
                           x="truth at the first dataset", y="truth at the second dataset")  # fmt: skip
    most = [float(LEVEL.step(1 - p)) for p in GRID]
    least = [1 - float(LEVEL.step(p)) for p in GRID]
    across = [float(p) for p in GRID]
    axes.fill_between(across, least, most, facecolor=FAINT, alpha=0.45, label="private mechanisms")
    axes.plot(across[20:], most[20:], color=INK, linewidth=2.4, label="frontier: none is better everywhere")
    axes.scatter([1], [1], s=140, label="both always true: not private", **look(4).point_style())
    axes.scatter(
        [balanced], [balanced], s=110, zorder=5, label=f"balanced: {balanced:.2f} each", **look(0).point_style()
    )
    axes.set_aspect("equal")
    axes.set(xlim=(0, 1.06), ylim=(0, 1.06))
    legend(axes, loc="lower left")
    return save_for_screens(picture, folder / "no_optimum.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
