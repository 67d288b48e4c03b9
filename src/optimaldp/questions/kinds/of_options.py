"""What the questions about the public options of a column share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Cells
from optimaldp.questions.base import Question, among_text, counts_for, outside_last
from optimaldp.questions.forms import Form
from optimaldp.questions.literals import answer_text, check_options, write_column, write_option
from optimaldp.questions.words import listed
from optimaldp.results import Given
from optimaldp.tables.tally import Option, Options


@dataclass(frozen=True, repr=False)
class OfOptions(Question[Given]):
    """A question about how many people have each option; counts: one for each option, then everybody else."""

    column: str
    options: tuple[Option, ...] | None
    among: str | None = None

    @property
    def readings(self) -> tuple[Options, ...]:
        return (Options(self.column, self.options),)

    @property
    def answers(self) -> tuple[str, ...] | None:
        return None if self.options is None else tuple(map(answer_text, self.options))

    def fold(self, cells: Cells) -> tuple[int, ...]:
        size = len(self.known_options()) + 1
        own = outside_last(cells, size, self.among)
        return tuple(own.get(cell, 0) for cell in range(size))

    def read_counts(self, counts: Sequence[int]) -> tuple[int, ...]:
        options = len(self.known_options())
        return counts_for(self, counts, wanted=options + 1, least=options)

    def with_options(self, options: tuple[Option, ...]) -> Self:
        return replace(self, options=check_options(options))

    @property
    def small_twin(self) -> Question | None:  # type: ignore[override]
        options = self.known_options()
        return None if len(options) <= 4 else replace(self, options=options[:4])

    def known_options(self) -> tuple[Option, ...]:
        if self.options is None:
            raise QuestionError("options", str(self), "names no options", "write the options out: they are public")
        return self.options

    def _values(self) -> str:
        """The options in their own order, as a sentence ends with them."""
        return "" if self.answers is None else f": {listed(self.answers, 'or')}"

    def _text(self, word: str, *more: str) -> str:
        listed = [] if self.options is None else [f"[{', '.join(map(write_option, self.options))}]"]
        return f"{word}({', '.join([write_column(self.column), *more, *listed])}{among_text(self.among)})"


FORMS: list[Form] = []
