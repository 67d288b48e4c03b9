"""Questions about a table: what is true, how far that is from another answer, and how it is answered privately."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from optimaldp.privacy import Neighbours
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.text import parse

if TYPE_CHECKING:
    from optimaldp.laws.law import AimLike
    from optimaldp.laws.quantile_accuracy import quantile_probabilities
    from optimaldp.laws.winner import winner_probabilities
    from optimaldp.questions.kinds.compare import Compare, compare
    from optimaldp.questions.kinds.difference import CountDifference, MeanGap, ShareGap
    from optimaldp.questions.kinds.histogram import Histogram, histogram
    from optimaldp.questions.kinds.mean import Average, MeanThreshold, mean
    from optimaldp.questions.kinds.quantile import Quantile, median, quantile
    from optimaldp.questions.kinds.ratio import Ratio, ratio
    from optimaldp.questions.kinds.several import Several
    from optimaldp.questions.kinds.sum import Total, sum_
    from optimaldp.questions.kinds.threshold import PeopleWho, Threshold, all_, any_, count, majority, share
    from optimaldp.questions.kinds.two_groups import MeanDifference, ShareDifference
    from optimaldp.questions.kinds.winner import Winner, winner
    from optimaldp.questions.number_mechanisms import noise_law, number_probabilities
    from optimaldp.questions.numbers import Quantity

__all__ = [
    "Average",
    "Compare",
    "CountDifference",
    "Histogram",
    "MeanDifference",
    "MeanGap",
    "MeanThreshold",
    "PeopleWho",
    "Quantile",
    "Quantity",
    "Question",
    "Ratio",
    "Several",
    "ShareDifference",
    "ShareGap",
    "Threshold",
    "Total",
    "Winner",
    "all_",
    "any_",
    "as_question",
    "compare",
    "count",
    "flips",
    "histogram",
    "majority",
    "mean",
    "median",
    "noise_law",
    "number_probabilities",
    "parse",
    "quantile",
    "quantile_probabilities",
    "ratio",
    "share",
    "sum_",
    "winner",
    "winner_probabilities",
    "yes_probability",
]


def flips(
    question: Question | str, counts: Sequence[int], *, neighbours: str | Neighbours = Neighbours.SUBSTITUTION
) -> int | float:
    """The least number of neighbour moves that change the true answer; ``math.inf`` if nothing can.

    *counts* in the order of the question: (yes, no) for a condition, (yes, no, outside) with ``among``, one for each option or
    bin (everybody else may be left out or come last), one for each value of a mean's grid (people without a value may come
    last), (A yes, A no, B yes, B no, outside) for two groups. This is a calculation about counts that the caller already knows:
    of private counts the result is private too.

    >>> flips("winner(vote, ['a', 'b'])", [10, 7]), flips("count(x > 1) >= 5", [2, 9], neighbours="add-remove")
    (2, 3)
    """
    asked = as_question(question)
    return asked.flips(asked.read_counts(counts), Neighbours(neighbours))


# name -> where it lives: a kind of question and its arithmetic load when they are asked for.
_HOMES = {
    "winner_probabilities": "laws.winner",
    "quantile_probabilities": "laws.quantile_accuracy",
    **dict.fromkeys(("Compare", "compare"), "questions.kinds.compare"),
    **dict.fromkeys(("Histogram", "histogram"), "questions.kinds.histogram"),
    **dict.fromkeys(("Average", "MeanThreshold", "mean"), "questions.kinds.mean"),
    **dict.fromkeys(("Quantile", "median", "quantile"), "questions.kinds.quantile"),
    "Several": "questions.kinds.several",
    **dict.fromkeys(("Ratio", "ratio"), "questions.kinds.ratio"),
    **dict.fromkeys(("Total", "sum_"), "questions.kinds.sum"),
    **dict.fromkeys(("CountDifference", "MeanGap", "ShareGap"), "questions.kinds.difference"),
    "Quantity": "questions.numbers",
    **dict.fromkeys(("noise_law", "number_probabilities"), "questions.number_mechanisms"),
    **dict.fromkeys(
        ("PeopleWho", "Threshold", "all_", "any_", "count", "majority", "share"), "questions.kinds.threshold"
    ),
    **dict.fromkeys(("MeanDifference", "ShareDifference"), "questions.kinds.two_groups"),
    **dict.fromkeys(("Winner", "winner"), "questions.kinds.winner"),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'optimaldp.questions' has no attribute {name!r}")
        return getattr(import_module(f"optimaldp.{_HOMES[name]}"), name)


def yes_probability(
    question: Question | str, by_level: Sequence[tuple[Any, int, int]], *, aim: AimLike = "typical"
) -> Any:
    """The probability of "yes" where people have levels of their own: ``by_level`` lists (epsilon, yes, no).

    *aim*: "typical" (of a count or share without *among* the law with the least average error, else weighted votes), "every
    table" (the fair law, else the best gain for its level first), or ``{"prior": 0.5}`` in a small table. Exact where it is
    rational, else a decimal.

    >>> yes_probability("count(x) >= 4", [("ln(2)", 0, 1), ("ln(3)", 4, 1)], aim="every table")
    Fraction(7, 9)
    """
    from optimaldp.questions.personal import yes_probability_of

    return yes_probability_of(as_question(question), by_level, aim)
