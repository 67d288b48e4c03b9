"""People with levels of their own in a small table: the least average error over a public prior, worked out exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from optimaldp.errors import ProblemError, QuestionError
from optimaldp.laws.grid_law import GridLaw
from optimaldp.laws.law import Law
from optimaldp.laws.prior import Prior
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import Epsilon
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
