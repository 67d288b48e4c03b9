"""Choosing ε by the margin.

The question before every release: how close may the result be, so that the private answer is still right in 95 % of
cases? Across stands ε, up the least margin for which that holds: the number of people who would have to be different
to change the truth. Halving ε doubles the margin, and that is all. A δ of one in a million changes this line little
and, beyond another one, makes the answer right always.
"""

from __future__ import annotations

import sys
from pathlib import Path

import optimaldp as odp
from optimaldp.plots.style import figure, legend, look, save_for_screens

EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2")
CURVES = {
    "right in 95 % of cases, δ = 0": ("0", "at most 5 %"),
    "right in 99 %, δ = 0": ("0", "at most 1 %"),
    "right always, δ = 10⁻⁶": ("1e-6", "0"),
}


def margin(epsilon: str, delta: str, error: str) -> int:
    least = dict(odp.preview("majority(answer = 'yes')", epsilon=epsilon, delta=delta).reliable)[error]
    assert least is not None
    return least


def draw(folder: Path) -> Path:
    picture, axes = figure(
        title="A yes-or-no question: which margin is large enough?",
        x="ε (one person's record is replaced)",
        y="margin needed, in people",
    )
    for index, (words, (delta, error)) in enumerate(CURVES.items()):
        needed = [margin(epsilon, delta, error) for epsilon in EPSILONS]
        axes.loglog([float(epsilon) for epsilon in EPSILONS], needed, **look(index).line_style(), label=words)
    axes.set_xticks([float(epsilon) for epsilon in EPSILONS], EPSILONS)
    axes.set_yticks([1, 3, 10, 30, 100, 300, 1000, 3000], ["1", "3", "10", "30", "100", "300", "1000", "3000"])
    axes.minorticks_off()
    legend(axes)
    return save_for_screens(picture, folder / "choosing_epsilon.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
