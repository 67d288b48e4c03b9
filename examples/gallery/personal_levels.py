"""Personal levels.

A hundred persons, ten of whom asked for much more privacy (ε = 0.1) than the others (ε = 1). The usual way protects
everybody by the strictest wish, and the majority vote drowns in noise. Here each person has the level they asked for:
the ten are protected as much as before, and the error falls as soon as more than ten persons would have to change
their minds.
"""

from __future__ import annotations

import sys
from pathlib import Path

from optimaldp.plots.style import figure, legend, look, save
from optimaldp.privacy import Epsilon
from optimaldp.questions.personal import PersonalLevels

STRICT, LOOSE = Epsilon.read("0.1"), Epsilon.read("1")
GROUPS = {
    "everybody at 0.1, the strictest wish": (100, 0),
    "each at the level they asked for": (10, 90),
    "everybody at 1": (0, 100),
}


def draw(folder: Path) -> Path:
    people = PersonalLevels((STRICT, LOOSE))
    picture, axes = figure(
        height=4.8,
        title="Majority of 100 persons, ten of them stricter; one record replaced",
        x="margin: persons who would have to change to change the answer",
        y="probability of a wrong answer",
    )
    margins = range(1, 31)
    for index, (words, persons) in enumerate(GROUPS.items()):
        errors = [float(people.error(margin, persons)) for margin in margins]
        axes.semilogy(margins, errors, **look(index).line_style(), label=words)
    axes.set_ylim(1e-6, 1)
    legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    return save(picture, folder / "personal_levels.png")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
