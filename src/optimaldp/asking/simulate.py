"""Simulation with made-up counts: never about a real table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from optimaldp.asking.ask import Ask
from optimaldp.certify.questions import certify
from optimaldp.errors import QuestionError
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import ball
from optimaldp.questions.base import Question
from optimaldp.sampling.batch import draw_many
from optimaldp.tables.tally import KeyTally

if TYPE_CHECKING:
    from optimaldp.asking.ask import LevelLike


def release_many(
    question: Question | str,
    counts: Sequence[int],
    *,
    draws: int,
    epsilon: LevelLike,
    delta: LevelLike = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> dict[str, int]:
    """NOT a release: simulate *draws* answers for hypothetical *counts*, and say how often each came.

    For studies of accuracy with made-up counts, one for each cell of the question's tally. Many answers about one real table
    spend the budget many times, so no table is accepted here.

    >>> sum(release_many("majority(x)", [60, 40], draws=100, epsilon=1).values())
    100
    """
    request = Ask(question, epsilon, delta, neighbours=neighbours).request()
    asked, tally = request.question, request.question.tally
    if (
        isinstance(tally, KeyTally)
        or asked.answers is None
        or len(asked.answers) > 10_000
        or "histogram" in str(asked)[:9]
    ):
        remedy = "simulate it with optimaldp.histograms"
        raise QuestionError("question", str(asked), "has no short list of answers", remedy)
    asked.read_counts(counts)
    table = Table({cell: int(people) for cell, people in enumerate(counts) if people})
    setting = Setting(request.level, request.neighbours, table.people)
    law = certify(asked.mechanism(setting)).mechanism.law(table)
    drawn = draw_many(lambda: [ball(p) for p in law.probabilities()], draws)
    return {name: int((drawn == position).sum()) for position, name in enumerate(asked.answers)}
