"""People with levels of their own: right for the typical table, or right at every table. A public choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from optimaldp.distances.linear import LinearCondition
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Law, law_of
from optimaldp.laws.personal import mean_sides, merged_rows, threshold_sides, yes_probability_from
from optimaldp.laws.prior import Prior
from optimaldp.laws.setting import Aim, AimLike, Table, read_aim
from optimaldp.laws.signed import Sides
from optimaldp.privacy import approximate
from optimaldp.privacy.balls import ball, context
from optimaldp.questions.base import Question
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.prior_votes import optimum_at

COMPARED = LinearCondition(1, -1, 1)  # more people have the first option than the second


def _linear(question: Any) -> tuple[LinearCondition, bool]:
    """The question as one inequality, and whether people can be outside of it."""
    condition = getattr(question, "condition", None)
    return (COMPARED, True) if condition is None else (condition, question.among is not None)


@dataclass(frozen=True)
class WeightedVotes(QuestionMechanism):
    """Yes/no with the least error on average: everybody's vote weighs as much as their own level."""

    name = "weighted votes"
    proof = (
        "one person moves the weighted sum by at most their own level, and the logarithm of both answers' probabilities "
        "moves by no more than the sum"
    )
    optimality = (
        "not claimed; on average over independent votes it was within 2 % of the least possible error where most are "
        "alike"
    )

    def law(self, table: Table) -> Law:
        return law_of_sides(lambda: self.sides(table))

    def sides(self, table: Table) -> Sides:
        condition, among = _linear(self.question)
        rows = [(epsilon, *self.question.fold(cells)) for epsilon, cells in table.by_level]
        return threshold_sides(condition, rows, self.aim, among=among, delta=self.setting.level.delta)

    @property
    def aim(self) -> Aim:
        return Aim.TYPICAL


@dataclass(frozen=True)
class AtTheWorstTable(WeightedVotes):
    """The least error at the worst table instead of the typical one."""

    name = "balanced levels"

    @property
    def aim(self) -> Aim:
        return Aim.EVERY_TABLE

    def reliability(self) -> str:
        """What holds at every table: the balanced laws are never worse than the strictest level for all."""
        strictest = approximate(min(epsilon for epsilon, _ in self.setting.levels), self.setting.level.delta)
        return self.question.accuracy(replace(self.setting, level=strictest, levels=())).sentence()


@dataclass(frozen=True)
class Balanced(AtTheWorstTable):
    """Yes/no at the worst table: the cheapest set of people who could change the answer decides."""

    proof = (
        "with the levels of those who could change the answer in rising order the error is "
        "e^-(a_1 + ... + a_(k-1)) / (1 + e^(a_k)); whoever changes alters it by at most their own factor, in any table"
    )

    optimality = "the greatest balanced mechanism on the grid of counts by level (paper 003), at delta 0"


@dataclass(frozen=True)
class WeightedMean(WeightedVotes):
    """A mean with everybody's value weighed by their own level."""

    def sides(self, table: Table) -> Sides:
        question: Any = self.question
        counts = [(epsilon, question.fold(cells)) for epsilon, cells in table.by_level]
        rows = [(epsilon, own.values, own.without) for epsilon, own in counts]
        return mean_sides(question.inequality, rows, self.aim, delta=self.setting.level.delta)


@dataclass(frozen=True)
class BalancedMean(AtTheWorstTable, WeightedMean):
    """A mean at the worst table: the people with the best gain for their level decide."""

    optimality = "not claimed"


def law_of_sides(sides: Callable[[], Sides]) -> Law:
    """The law of yes and no; the likelier one takes what the other leaves."""
    known: dict[int, Sides] = {}

    def at_precision() -> Sides:
        bits = context.prec
        if bits not in known:
            known[bits] = sides()
        return known[bits]

    yes, no = at_precision()
    return law_of(at_precision, 0 if bool(ball(yes) >= ball(no)) else 1, 2)


def yes_probability_of(
    question: Question, by_level: Sequence[tuple[Any, int, int]], aim: AimLike
) -> Fraction | Decimal:
    """P(yes) for counts by level that the caller made up: exact where it is rational, else a decimal."""
    if not hasattr(question, "condition") and type(question).__name__ != "Compare":
        remedy = "ask a count, share, majority, any, all or compare"
        raise QuestionError("question", str(question), "has no counts of yes and no by level", remedy)
    condition, among = _linear(question)
    wanted = read_aim(aim)
    if isinstance(wanted, Prior):
        return _least_average(question, by_level, wanted)
    return yes_probability_from(condition, list(by_level), wanted, among=among)


def _least_average(question: Question, by_level: Sequence[tuple[Any, int, int]], prior: Prior) -> Fraction:
    if not question.takes_prior:
        rule = f"is an aim for yes and no about everybody, which {question} is not"
        raise QuestionError("aim", str(prior), rule, "use the aim 'typical' or 'every table'")
    rows = merged_rows(by_level)
    sizes = tuple((epsilon, yes + no) for epsilon, (yes, no) in rows)
    return optimum_at(question, sizes, prior, Fraction(0)).at(tuple(yes for _, (yes, _) in rows))
