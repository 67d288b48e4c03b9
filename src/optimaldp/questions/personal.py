"""People with levels of their own in a small table: the least average error over a public prior, worked out exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Self

from optimaldp.distances.linear import LinearCondition
from optimaldp.errors import InputError, ProblemError, QuestionError
from optimaldp.extras import numpy_if_installed
from optimaldp.laws.grid_law import GridLaw
from optimaldp.laws.law import Aim, AimLike, Law, Setting, Table, law_of, read_aim
from optimaldp.laws.personal import (
    FAIR,
    LevelLaw,
    chosen_law,
    everybody_sides,
    least_yes,
    mean_sides,
    merged_rows,
    threshold_sides,
    yes_probability_from,
)
from optimaldp.laws.prior import Prior
from optimaldp.laws.votes import Sides
from optimaldp.privacy import Epsilon, approximate, read_number
from optimaldp.privacy.balls import ball, context
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Question
from optimaldp.questions.mechanism import QuestionMechanism


@dataclass(frozen=True)
class PriorVotes(QuestionMechanism):
    """Yes/no with the least error on average over a prior: a table of probabilities, one for each count of yes by level."""

    optimum: GridLaw

    name = "prior optimum"
    listed = False  # it has a law at the tables of its public sizes alone, and all of them are examined
    proof = "all tables of the public sizes and all their neighbours were compared, each at the level of who changes"

    @classmethod
    def of(cls, question: Question, setting: Setting) -> Self:
        return cls(question, setting, optimum_at(question, setting.levels, setting.aim, setting.level.delta))

    @classmethod
    def published(cls, question: Question, setting: Setting, document: Mapping[str, Any]) -> Self:
        """The law of a document, for the referee to examine: of several best ones each is as good."""
        return cls(question, setting, GridLaw.read(document))

    def law(self, table: Table) -> Law:
        counts = {epsilon: self.question.fold(cells)[0] for epsilon, cells in table.by_level}
        chance = self.optimum.at(tuple(counts.get(epsilon, 0) for epsilon, _ in self.setting.levels))
        return Law((1, 0), lambda: [1 - chance]) if 2 * chance >= 1 else Law((0, 1), lambda: [chance])

    best = "prior votes"

    def reliability(self) -> str:
        percent = f"{100 * float(self.optimum.average_error):.3g}"
        return f"Wrong in {percent} % of cases on average over {self._votes}, the least that is possible."

    @property
    def _votes(self) -> str:
        assert isinstance(self.setting.aim, Prior)
        return self.setting.aim.words

    def parameters(self) -> dict[str, Any]:
        return self.optimum.to_document()


def optimum_at(question: Any, levels: Sequence[tuple[Epsilon, int]], aim: Any, delta: Fraction) -> GridLaw:
    """The law with the least average error over the prior *aim*, for these public numbers of people."""
    # A linear program: only when one is asked for.
    from optimaldp.designing.level_prior import optimum_for, require_small

    assert isinstance(aim, Prior)
    sizes = [size for _, size in levels]
    people = sum(sizes)
    try:
        require_small(sizes)
        truth = tuple(question.condition.holds(yes, people - yes) for yes in range(people + 1))
        return optimum_for(truth, tuple(levels), aim, delta)
    except ProblemError as error:
        rule = f"needs a small table: {' and '.join(f'{size:,}' for size in sizes)} people by level {error.rule}"
        raise QuestionError("aim", str(aim), rule, error.remedy) from None


# People with levels of their own: right for the typical table, or right at every table. A public choice.


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
    best: ClassVar[str | None] = "weighted votes"

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
        """What holds at every table: these laws are never worse than the strictest level for all, without delta."""
        strictest = approximate(min(epsilon for epsilon, people in self.setting.levels if people))
        return self.question.accuracy(replace(self.setting, level=strictest, levels=())).sentence()


@dataclass(frozen=True)
class Balanced(AtTheWorstTable):
    """Yes/no at the worst table: the cheapest set of people who could change the answer decides."""

    proof = (
        "with the levels of those who could change the answer in rising order the error is "
        "e^-(a_1 + ... + a_(k-1)) / (1 + e^(a_k)); whoever changes alters it by at most their own factor, in any table"
    )

    best = "balanced grid"


@dataclass(frozen=True)
class FairLevels(AtTheWorstTable):
    """Yes/no about everybody, right at every table: the cheapest people who could change the answer, and the strictest of all."""

    name = "fair levels"
    proof = (
        "the error is e^-(a_1 + ... + a_k) / (1 + e^-alpha), with the k smallest levels of those who could change the answer and "
        "the smallest level of all; whoever changes alters it by at most their own factor, in any table"
    )
    best = "fair levels"

    def sides(self, table: Table) -> Sides:
        question: Any = self.question
        rows = [(epsilon, *question.fold(cells)) for epsilon, cells in table.by_level]
        return everybody_sides(question.condition, rows, self.level_law, delta=self.setting.level.delta)

    @property
    def level_law(self) -> LevelLaw:
        """What was chosen by public numbers: here nothing."""
        return FAIR

    def parameters(self) -> dict[str, Any]:
        return {"law": 2, "alpha": str(self.level_law.alpha(self.setting.levels))}


@dataclass(frozen=True)
class HedgedVotes(FairLevels):
    """Yes/no about everybody, for the typical table: between the fair law and weighted votes, by a public width and cap."""

    level_law: LevelLaw = FAIR

    name = "hedged votes"
    proof = (
        "one person moves the cost of reaching either layer of votes by at most their own level, so also the mean of both costs, "
        "and the logarithm of both answers' probabilities moves by no more than that mean"
    )
    best = "hedged votes"

    def reliability(self) -> str:
        return QuestionMechanism.reliability(self)

    def parameters(self) -> dict[str, Any]:
        law = self.level_law
        assert law.spread is not None
        people = sum(number for _, number in self.setting.levels)
        cap = None if law.cap is None else str(law.cap)
        return {**super().parameters(), "M": fraction_text(law.spread * people), "cap": cap}


def threshold_votes(question: Question, setting: Setting, *, among: bool) -> QuestionMechanism:
    """How a count or share is compared with its bound where people have levels of their own."""
    if isinstance(setting.aim, Prior):
        return PriorVotes.of(question, setting)
    if not among:
        return about_everybody(question, setting)
    return (WeightedVotes if setting.aim is Aim.TYPICAL else Balanced)(question, setting)


def about_everybody(question: Question, setting: Setting) -> QuestionMechanism:
    """The mechanism of a count or share without *among* where levels differ: what the aim asks for, by public numbers alone."""
    condition: LinearCondition = getattr(question, "condition")  # noqa: B009
    assert isinstance(setting.aim, Aim)
    law = chosen_law(condition, setting.levels, setting.aim, setting.level.delta)
    return FairLevels(question, setting) if law.spread is None else HedgedVotes(question, setting, law)


def published_about_everybody(question: Question, setting: Setting, document: Mapping[str, Any]) -> QuestionMechanism:
    """The mechanism that a document names, for the referee to examine: law 1 of version 0.2, or the choice that it wrote down."""
    typical = setting.aim is Aim.TYPICAL
    if document.get("law") is None and document.get("name") in (WeightedVotes.name, Balanced.name):
        return (WeightedVotes if typical else Balanced)(question, setting)
    theirs: FairLevels | None = None
    if typical and document.get("name") == FairLevels.name:
        theirs = FairLevels(question, setting)
    elif typical and document.get("name") == HedgedVotes.name:
        theirs = HedgedVotes(question, setting, _written_law(setting, document))
    if theirs is not None and numpy_if_installed() is None:
        return theirs  # whether another law is better on average cannot be said without arrays; privacy is examined all the same
    ours = about_everybody(question, setting)
    if theirs is None:
        return ours
    # The choice is made by public numbers in floating point: another machine may choose a law that is as good.
    return theirs if _average(theirs) <= _average(ours) * (1 + _AS_GOOD) + _AS_GOOD else ours


_AS_GOOD = 1e-4


def _written_law(setting: Setting, document: Mapping[str, Any]) -> LevelLaw:
    people = sum(number for _, number in setting.levels)
    remedy = "give the document as release --json wrote it"
    width = read_number(document.get("M"), name="M", error=InputError)
    if not 0 <= width <= people:
        raise InputError("M", document.get("M"), f"is not between 0 and the {people} people", remedy)
    cap = None if document.get("cap") is None else Epsilon.read(document["cap"], name="cap")
    if cap is not None and cap >= setting.levels[-1][0]:
        raise InputError("cap", document["cap"], "cuts nothing", remedy)
    return LevelLaw(width / people, cap)


def _average(mechanism: Any) -> float:
    """The average error over independent votes of chance 1/2, delta included."""
    from optimaldp.laws.level_accuracy import level_sizes

    setting, law = mechanism.setting, mechanism.level_law
    people = sum(number for _, number in setting.levels)
    least = least_yes(mechanism.question.condition, people)
    asked = level_sizes(least, [(float(epsilon), number) for epsilon, number in setting.levels])
    width = None if law.spread is None else float(law.spread * people)
    return asked.average_of(width, None if law.cap is None else float(law.cap), delta=float(setting.level.delta))


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

    best = None


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
