"""How a quantile is answered: the smoothed rank, or FLIP and FLIP+, whichever public numbers choose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from optimaldp.certify.quantile import second_reading
from optimaldp.laws.law import Law
from optimaldp.laws.quantile import QuantileLaw, quantile_law
from optimaldp.laws.setting import Setting, Table
from optimaldp.privacy import ApproximateDP, approximate
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.sampling import BitSource

if TYPE_CHECKING:
    from optimaldp.questions.kinds.quantile import Quantile


_MOST_EXACT = 64  # people of a table whose law is written in fractions: those of more have too many digits to be read


@dataclass(frozen=True)
class Ranking(QuestionMechanism):
    """A law of :mod:`optimaldp.laws.quantile`, made from public numbers before data is read."""

    chosen: QuantileLaw

    best = "ranks"

    @classmethod
    def of(cls, question: Quantile, setting: Setting) -> Self:
        levels = tuple(epsilon for epsilon, _ in setting.levels) if setting.personal else None
        level = setting.level
        if levels is not None:
            # Nobody loses more than the loosest level that somebody has; one level for all has whole ranks.
            level = approximate(max(levels), level.delta)
            levels = levels if len(levels) > 1 else None
        chosen = quantile_law(question.binning.bins, question.rank, level, weights=question.weights, levels=levels)
        return cls(question, setting, chosen)

    @property
    def name(self) -> str:
        return str(self.chosen.mode)

    @property
    def listed(self) -> bool:  # type: ignore[override]
        return not self.setting.personal  # people's own levels are examined with the law itself

    def _cells(self, table: Table) -> Mapping[int, Any]:
        fold: Any = self.question.fold
        if self.chosen.levels is None:
            return dict(fold(table.cells).values)
        by_level = [fold(cells).values for _, cells in table.by_level]
        places = {place for values in by_level for place in values}
        return {place: tuple(values.get(place, 0) for values in by_level) for place in places}

    def law(self, table: Table) -> Law:
        cells, bins = self._cells(table), self.chosen.bins
        exact = self.chosen.exact and table.people <= _MOST_EXACT
        return Law(
            range(bins),
            lambda: self.chosen.probabilities(cells, exact=exact),
            lambda place: self.chosen.end(cells, place, exact=exact),
        )

    def draw(self, table: Table, source: BitSource) -> Answer:
        return self.answers[self.chosen.draw(self._cells(table), source, reread=second_reading)]

    def possible(self, answer: object) -> bool:
        question: Any = self.question
        return question.binning.place(answer) is not None

    def at(self, level: ApproximateDP) -> Self:
        return replace(self, setting=self.setting.at(level), chosen=replace(self.chosen, level=level))

    @property
    def proof(self) -> str:
        if self.name == "smoothed rank":
            return (
                "a replaced, added or removed record, with a value or without, shifts one block of ranks by one; the smoothed "
                "rank theorem bounds what that does to every bin, for every number of people"
            )
        return (
            "the distance to every bin changes by at most one with any replaced, added or removed record; the FLIP theorems "
            "bound every bin's probability where their public rule holds"
        )

    def parameters(self) -> dict[str, Any]:
        return {
            k: v
            for k, v in self.chosen.to_document().items()
            if k not in ("name", "epsilon", "delta") and v is not None
        }
