"""Thresholds in which every person has a privacy level of their own (paper 003, on real tables).

To change the answer takes k persons who answer differently. Of those available the k cheapest matter: with m the largest
epsilon among them the balanced optimum errs with probability ``exp(-(sum of the k - m)) / (1 + e^m)``, at any number of persons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from optimaldp.errors import LevelError, QuestionError, TableError
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball
from optimaldp.questions.base import Question
from optimaldp.questions.thresholds import Threshold
from optimaldp.tables.tally import Counted


@dataclass(frozen=True)
class PersonalLevels:
    """The balanced mechanism of a threshold for persons of several levels, given in rising order.

    >>> two = PersonalLevels((Epsilon.read("ln(2)"), Epsilon.read("ln(3)")))
    >>> round(float(two.error(2, (1, 5))), 6)  # flips ln(2) and ln(3): e^-ln(2) / (1 + 3)
    0.125
    """

    levels: tuple[Epsilon, ...]

    def error(self, flips: int, available: Sequence[int]) -> Ball:
        """The probability of a wrong answer when *flips* persons must change and *available* could, level by level."""
        left, total, last = flips, Ball(0), Ball(0)
        for epsilon, persons in zip(self.levels, available):
            used = min(left, persons)
            if used:
                last = epsilon.ball()
                total = total + last * used
            left -= used
        return Ball(0) if left else (last - total).exp() / (1 + last.exp())


@dataclass(frozen=True, repr=False)
class PersonalState:
    """Where the actual table stands: private, and only passed from counting to drawing."""

    truth: int
    flips: int
    available: tuple[int, ...]

    def __repr__(self) -> str:
        return "PersonalState(private)"


def check_personal(question: Question, neighbours: Neighbours) -> Threshold:
    """Whether personal levels can be honoured for this question: where it is proven, and nowhere else."""
    if not isinstance(question, Threshold):
        raise QuestionError(
            "levels", str(question), "cannot honour personal levels", "ask a count, share, majority, any or all"
        )
    if neighbours is not Neighbours.SUBSTITUTION:
        raise LevelError("neighbours", str(neighbours), "is not proven for personal levels", "use 'substitution'")
    return question


def read_levels(counted: Counted, most: Epsilon) -> tuple[tuple[Epsilon, tuple[int, ...]], ...]:
    """The counts by level, in rising order; nobody's level is above *most*. The levels are public, the counts are not."""
    merged: dict[Epsilon, tuple[int, ...]] = {}
    for text, cells in counted.by_level or ():
        own, counts = min(_read_level(text), most), counted.dense(cells)
        before = merged.get(own, (0,) * len(counts))
        merged[own] = tuple(a + b for a, b in zip(before, counts))
    return tuple(sorted(merged.items(), key=lambda item: item[0]))


def _read_level(text: str) -> Epsilon:
    broken = False
    try:
        return Epsilon.read(text, name="levels")
    except LevelError:
        broken = True  # the message quotes the cell: leave this block before raising another
    assert broken
    raise TableError("levels", "a value of the column", "is not a privacy level", "write 0.5, 'ln(2)' or 'inf'")


def state(question: Threshold, by_level: Sequence[tuple[Epsilon, tuple[int, ...]]]) -> PersonalState:
    """The truth, the flips and who could flip, from the counts by level."""
    yes = sum(counts[0] for _, counts in by_level)
    no = sum(counts[1] for _, counts in by_level)
    holds = question.condition.holds(yes, no)
    target = question.condition.negated() if holds else question.condition
    # Replacing one bad person by a good one gains add + remove; whether enough bad ones exist, available tells.
    flips = -(-target.gap(yes, no) // (target.add + target.remove))
    available = tuple(target.split(*counts)[1] for _, counts in by_level)
    return PersonalState(0 if holds else 1, flips, available)
