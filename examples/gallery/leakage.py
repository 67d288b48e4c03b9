"""What leaks, against ε.

What an attacker learns, in bits, who knew nothing about six voters and sees one private answer: the majority alone,
the number of yes-votes, or each vote by randomised response. The last is the most that any mechanism at this ε can
leak about a database of six bits. A question with two answers leaks at most one bit, however large ε is.
"""

from __future__ import annotations

import sys
from pathlib import Path

import optimaldp as odp
from optimaldp.channels import AnswerGraph, Channel, database_bound, extremal_channel, optimal_mechanism, range_bound
from optimaldp.plots.style import FAINT, figure, legend, look, save_for_screens

VOTERS = 6
EPSILONS = [k / 4 for k in range(1, 17)]


def majority(epsilon: float) -> Channel:
    best = odp.design(odp.graphs.votes(VOTERS), odp.graphs.majority, epsilon=epsilon, exact=False)
    return Channel.from_mechanism(best.mechanism)


def number_of_votes(epsilon: float) -> Channel:
    """The truncated geometric mechanism, seen from the databases: a row for each of the 64."""
    rows = optimal_mechanism(AnswerGraph.path(VOTERS + 1), epsilon).channel.rows
    return Channel([rows[bin(votes).count("1")] for votes in range(2**VOTERS)])


def randomised_response(epsilon: float) -> Channel:
    return extremal_channel(VOTERS, 2, epsilon)


CHANNELS = {
    "each vote, randomised response": randomised_response,
    "the number of votes": number_of_votes,
    "the majority alone": majority,
}


def draw(folder: Path) -> Path:
    picture, axes = figure(
        title=f"Leakage about {VOTERS} votes", x="ε (one vote replaced)", y="min-entropy leakage in bits"
    )
    for index, (words, channel) in enumerate(CHANNELS.items()):
        leaked = [channel(e).min_entropy_leakage() for e in EPSILONS]
        axes.plot(EPSILONS, leaked, **look(index).line_style(), label=words)
    limit = {"color": FAINT, "linewidth": 3, "zorder": 0}
    everything = [database_bound(VOTERS, 2, e).bits for e in EPSILONS]
    axes.plot(EPSILONS, everything, linestyle="--", label="bound for any mechanism", **limit)
    two_answers = [range_bound(VOTERS, 2, 2, e).bits for e in EPSILONS]
    axes.plot(EPSILONS, two_answers, linestyle=":", label="bound for two answers", **limit)
    legend(axes)
    return save_for_screens(picture, folder / "leakage.svg")


if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/gallery")
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))
