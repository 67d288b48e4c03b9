"""A private histogram.

How 944 respondents of a public election survey described their party, released at ε = 0.5 with the exact total kept.
The uprights cover the true count of each bin with 95 %; they were known before anything was released. (The survey is
public, so the true counts may stand beside them; of a secret table nobody would see them.)
"""

from __future__ import annotations

import sys
from collections import Counter
from csv import DictReader
from pathlib import Path

import optimaldp as odp
from optimaldp.plots.style import look, save_for_screens

SURVEY = Path(__file__).parents[1] / "data" / "anes1996.csv"
PARTIES = [
    "strong Democrat",
    "weak Democrat",
    "independent Democrat",
    "independent",
    "independent Republican",
    "weak Republican",
    "strong Republican",
]


def draw(folder: Path) -> Path:
    with SURVEY.open() as rows:
        truth = Counter(row["party"] for row in DictReader(rows))
    counts = [truth[party] for party in PARTIES]
    release = odp.private_histogram(counts, epsilon="0.5", labels=[party.replace(" ", "\n") for party in PARTIES])
    assert sum(release.counts) == sum(counts)
    picture = release.plot()
    picture.set_size_inches(8.4, 4.4)
    axes = picture.axes[0]
    axes.scatter(
        range(len(counts)), counts, **look(1).point_style(), zorder=5, label="true count (this survey is public)"
    )
    axes.set_xlabel("how respondents describe their party")
    axes.legend(frameon=False, loc="upper right", fontsize=8)
    axes.set_ylim(0, 290)
    return save_for_screens(picture, folder / "private_histogram.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
