"""Personal levels: two aims.

A thousand and one people vote; twenty asked for much more privacy (ε = 0.1) than the others (ε = 1). Both aims keep
everybody's own level. The *typical* aim has the least average error over votes by fair coins: nearly as good as if nobody were
strict. Where all twenty stand on the winning side it hears them less, and is wrong more often than not at small margins. The aim
*every table* is never worse than the strictest level for everybody, and pays for that at each typical table.
"""

from __future__ import annotations

import sys
from pathlib import Path

from optimaldp.laws.level_accuracy import level_sizes
from optimaldp.plots.style import figure, legend, look_of, save_for_screens

STRICT, PEOPLE = 20, 1001
MARGINS = range(1, 41)


def draw(folder: Path) -> Path:
    asked = level_sizes(PEOPLE // 2 + 1, [(0.1, STRICT), (1.0, PEOPLE - STRICT)])
    aims = {"typical": asked.typical, "every table": asked.every_table}
    picture, axes = figure(
        height=5.0,
        title=f"Majority of {PEOPLE} people, {STRICT} of them stricter; one record replaced",
        x="margin: people who would have to change to change the answer",
        y="probability of a wrong answer",
    )
    for name, wrong in aims.items():
        style = look_of(f"{name}, average").line_style() | {"markevery": 5}
        average = [asked.average_at(wrong, margin) for margin in MARGINS]
        worst = [asked.worst_at(wrong, margin) for margin in MARGINS]
        axes.semilogy(MARGINS, average, **style | {"linestyle": "-"}, label=f"{name}, on average")
        axes.semilogy(MARGINS, worst, **style | {"linestyle": "--"}, label=f"{name}, at worst")
    strictest = [asked.worst_at(asked.strictest_for_all, margin) for margin in MARGINS]
    axes.semilogy(
        MARGINS, strictest, **look_of("strictest for all").line_style() | {"markevery": 5}, label="everybody at 0.1"
    )
    axes.set_ylim(1e-6, 1.5)
    legend(axes, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return save_for_screens(picture, folder / "personal_levels.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
