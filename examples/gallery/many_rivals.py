"""The winner among many rivals.

Five options and about a thousand votes at ε = 2: how often is the wrong one announced when one option leads four
equal rivals by a few votes? The flip envelope gives every loser exactly the least that privacy demands. Permute-and-
flip gives them more, above all when the lead is odd, and the exponential mechanism more again.
"""

from __future__ import annotations

import sys
from math import exp
from pathlib import Path

import optimaldp as odp
from optimaldp.laws.winner import ball_power, win_probability
from optimaldp.plots.style import figure, legend, look_of, save_for_screens
from optimaldp.privacy import Epsilon, Neighbours

EPSILON = "2"
RIVAL = 200
LEADS = range(11)


def counts(lead: int) -> list[int]:
    return [RIVAL + lead, *[RIVAL] * 4]


def envelope(lead: int) -> float:
    return 1 - float(odp.questions.winner_probabilities(counts(lead), epsilon=EPSILON)[0])


def permute_and_flip(lead: int) -> float:
    power = ball_power(Epsilon.read(EPSILON))
    return 1 - float(win_probability(counts(lead), 0, power, Neighbours.SUBSTITUTION))


def exponential(lead: int) -> float:
    odds = 4 * exp(-float(EPSILON) * lead / 2)
    return odds / (1 + odds)


def draw(folder: Path) -> Path:
    picture, axes = figure(
        title="Who wins? Five options, ε = 2, one vote replaced",
        x="lead of the winner over each of its four equal rivals, in votes",
        y="probability of a wrong winner",
    )
    mechanisms = {"optimaldp": envelope, "permute-and-flip": permute_and_flip, "exponential": exponential}
    for name, error in mechanisms.items():
        words = "flip envelope (ours)" if name == "optimaldp" else name
        axes.semilogy(LEADS, [error(lead) for lead in LEADS], **look_of(name).line_style(), label=words)
    legend(axes)
    return save_for_screens(picture, folder / "many_rivals.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
