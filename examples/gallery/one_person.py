"""What ε means for one person.

An attacker knows everybody else's record and every public fact, and has a guess about one person: a coin flip between
two values, or one of ten, or of a hundred. However the answer was made, if it is ε-private the chance that the guess
is right cannot rise above these lines. They are tight: some mechanism attains each. At ε = 0.1 nobody learns much; at
ε = 5 nearly everything may be told.
"""

from __future__ import annotations

import sys
from pathlib import Path

from optimaldp.channels import individual_bound
from optimaldp.plots.style import figure, legend, look, save_for_screens

EPSILONS = [k / 10 for k in range(51)]


def draw(folder: Path) -> Path:
    picture, axes = figure(
        height=4.6,
        title="One person's secret: the best guess after one private answer",
        x="ε (that person's record is replaced)",
        y="chance that the guess is right, at most",
    )
    for index, values in enumerate((2, 10, 100)):
        chances = [float(individual_bound(values, epsilon).factor) / values for epsilon in EPSILONS]
        before = f"{100 / values:g} % before"
        axes.plot(
            EPSILONS, chances, **look(index).line_style(), markevery=5, label=f"{values} possible values: {before}"
        )
    axes.set_ylim(0, 1.03)
    legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return save_for_screens(picture, folder / "one_person.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
