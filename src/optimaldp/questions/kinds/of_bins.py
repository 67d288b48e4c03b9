"""What the questions about the public bins of a column share."""

from __future__ import annotations

from collections.abc import Sequence

from optimaldp.laws.law import Cells
from optimaldp.questions.base import Question, Valued, counts_for, outside_last
from optimaldp.questions.columns import Binning
from optimaldp.questions.forms import Form
from optimaldp.results import Given
from optimaldp.tables.tally import Reading


class OfBins(Question[Given]):
    """A question about how many people are in each bin; counts: one for each bin, then everybody without a value."""

    column: str
    binning: Binning
    among: str | None
    reliable_by_arrays = True

    @property
    def readings(self) -> tuple[Reading, ...]:
        return (self.binning.reading(self.column),)

    def fold(self, cells: Cells) -> Valued:
        return Valued.of(outside_last(cells, self.binning.bins + 1, self.among), self.binning.bins)

    def read_counts(self, counts: Sequence[int]) -> Valued:
        known = counts_for(self, counts, wanted=self.binning.bins + 1, least=self.binning.bins)
        return Valued.of(dict(enumerate(known)), self.binning.bins)


FORMS: list[Form] = []
