"""Questions about a sum: answered by a signed distance that counts people in part."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, cast

from optimaldp.laws.law import Law, Setting, Table, law_of
from optimaldp.laws.votes import sides_at
from optimaldp.questions.mechanism import QuestionMechanism


class HasSignedDistance(Protocol):
    """What this mechanism needs of its question."""

    def fold(self, cells: Any) -> Any: ...

    def signed(self, counts: object, setting: Setting) -> Fraction | float: ...


@dataclass(frozen=True)
class BySignedDistance(QuestionMechanism):
    """P(yes) = 1 - e^(-epsilon W)/2 above the bound and e^(epsilon W)/2 below it, W in people, the last one in part."""

    name = "signed distance"
    proof = (
        "one person moves the signed distance W by at most 1, and the logarithm of both answers' probabilities changes by "
        "at most epsilon when W changes by 1"
    )
    best = "signed distance"

    def law(self, table: Table) -> Law:
        question = cast(HasSignedDistance, self.question)
        distance = question.signed(question.fold(table.cells), self.setting)
        # Infinite where no table with this public number of people has another answer.
        level, last = self.setting.level, 0 if distance > 0 else 1
        return law_of(lambda: sides_at(distance, level.epsilon, level.delta), last, 2)
