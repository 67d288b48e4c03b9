"""Questions about a table: the true answer and its distance to another answer, from a few counts.

The function ``optimaldp.winner`` is not repeated here, because ``optimaldp.laws.winner`` is the package with its mechanism.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optimaldp.privacy import Neighbours, read_neighbours
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.choices import Compare, Histogram, Winner, compare, histogram
from optimaldp.questions.quantiles import Quantile, median, quantile
from optimaldp.questions.text import parse
from optimaldp.questions.thresholds import Both, Quantity, Threshold, all_, any_, count, majority, share

__all__ = [
    "Both",
    "Compare",
    "Histogram",
    "Quantile",
    "Quantity",
    "Question",
    "Threshold",
    "Winner",
    "all_",
    "any_",
    "as_question",
    "compare",
    "count",
    "flips",
    "histogram",
    "majority",
    "median",
    "parse",
    "quantile",
    "quantile_probabilities",
    "share",
    "winner_probabilities",
]


def flips(
    question: Question | str, counts: Sequence[int], *, neighbours: str | Neighbours = Neighbours.SUBSTITUTION
) -> int | float:
    """The least number of neighbour moves that change the true answer; ``math.inf`` if nothing can.

    *counts* as the question's tally orders them: (yes, no) for a condition, one for each option or bin (everybody else may be
    left out or come last), (yes yes, yes no, no yes, no no) for two conditions. This is a calculation about counts that the
    caller already knows: of private counts the result is private too.

    >>> flips("winner(vote, ['a', 'b'])", [10, 7]), flips("count(x > 1) >= 5", [2, 9], neighbours="add-remove")
    (2, 3)
    """
    return as_question(question).flips(counts, read_neighbours(neighbours))


def __getattr__(name: str) -> Any:
    if name == "winner_probabilities":  # its arithmetic loads on first use
        from optimaldp.laws.winner import winner_probabilities

        return winner_probabilities
    if name == "quantile_probabilities":
        from optimaldp.laws.quantile import quantile_probabilities

        return quantile_probabilities
    raise AttributeError(f"module 'optimaldp.questions' has no attribute {name!r}")
