"""Geo-indistinguishability on a grid.

Somebody stands in one of 81 blocks of a city and an app reports one block. Neighbouring blocks must stay
indistinguishable up to ε = ln 2, far ones less so. This is the channel that names the right block most often among
all that keep this promise, with a proof. From a corner it can hide in fewer directions, so it puts more weight on the
place itself and along the walls.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from optimaldp.channels import AnswerGraph, optimal_mechanism
from optimaldp.plots.style import INK, describe, panels, readable_on, save_for_screens, shades

SIDE = 9


def draw(folder: Path) -> Path:
    best = optimal_mechanism(AnswerGraph.grid(SIDE, SIDE), "ln(2)")
    assert best.check()  # private, and nothing is more useful: checked from the proof's own rationals
    picture, all_axes = panels(3, width=10.5, height=3.9, grid=False)
    for axes, (words, block) in zip(
        all_axes, {"in the centre": (4, 4), "at the edge": (0, 4), "in a corner": (8, 0)}.items()
    ):
        row = np.array([float(p) for p in best.channel.rows[block[0] * SIDE + block[1]]]).reshape(SIDE, SIDE)
        image = axes.imshow(row, cmap=shades(), vmin=0, vmax=0.45, origin="lower")
        axes.annotate(
            "×",
            (block[1], block[0]),
            ha="center",
            va="center",
            fontsize=16,
            color=readable_on(image.cmap(image.norm(row[block]))),
        )
        describe(axes, title=f"standing {words} (×)", x="block, west to east", y="block, south to north")
        for spine in axes.spines.values():
            spine.set(visible=True, color=INK)
    picture.colorbar(image, ax=all_axes, shrink=0.75, label="probability of the report")
    return save_for_screens(picture, folder / "places_on_a_grid.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
