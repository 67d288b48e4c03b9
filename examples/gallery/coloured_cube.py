"""The coloured cube of votes.

Three people vote 1 or 2: eight datasets, an edge for every single changed vote. The mark says which side truly has
the majority, the shade how likely the best private mechanism says so. On the boundary both sides can be no better than
randomised response; the two unanimous corners are one step away from it, and right nine times out of ten.
"""

from __future__ import annotations

import sys
from pathlib import Path

import optimaldp as odp
from optimaldp.plots.style import save_for_screens


def draw(folder: Path) -> Path:
    best = odp.design(odp.graphs.votes(3), odp.graphs.majority, epsilon="ln(2)", delta="0.1")
    assert best.certificate is not None
    assert best.certificate.check().optimal
    picture = best.plot(title="Majority of three votes, (ln 2, 0.1)-DP, one vote replaced")
    return save_for_screens(picture, folder / "coloured_cube.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
