"""The phases of a line.

Walk away from the boundary, one changed record at a time, and follow the best private probability of the true answer
when it starts as low as 1 %. First it grows by a factor of $e^ε$ (or more) with each step; past the dotted line the
*error* shrinks by that factor. With $δ > 0$ there is an end: from a finite distance on the private answer is the true
one, always.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import optimaldp as odp
from optimaldp.plots.style import FAINT, describe, legend, look, panels, save_for_screens

START = Fraction(1, 100)
STEPS = range(41)


def draw(folder: Path) -> Path:
    picture, (truth, error) = panels(2, width=9.6, height=4.0)
    for index, delta in enumerate(("0", "1e-3", "1e-2")):
        level = odp.level("ln(6/5)", delta)
        values = [level.power(START, t) for t in STEPS]
        style = look(index).line_style() | {"markevery": 4, "label": f"δ = {delta}"}
        truth.plot(STEPS, [float(p) for p in values], **style)
        shown = [(t, float(1 - p)) for t, p in zip(STEPS, values) if p < 1]
        error.semilogy(*zip(*shown), **style)
        truth.axvline(level.transition(START), color=FAINT, linewidth=1.6, linestyle=":")
    describe(
        truth,
        title="Growth, then decay of the error (dotted: the switch)",
        x="steps from the boundary",
        y="P(true answer)",
    )
    describe(error, title="With δ > 0 the error ends", x="steps from the boundary", y="P(wrong answer)")
    legend(truth, loc="lower right")
    legend(error, loc="lower left")
    return save_for_screens(picture, folder / "line_phases.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
