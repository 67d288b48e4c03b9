"""What a release is asked for: everything public about it, in one value that is settled before any data is read."""

from __future__ import annotations

from dataclasses import dataclass

from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.questions.base import Question
from optimaldp.tables.people import People, read_part


@dataclass(frozen=True)
class Request:
    """Everything public about one release: checked before any data is read."""

    question: Question
    level: ApproximateDP
    neighbours: Neighbours
    unit: str | None = None
    reduce: str | None = None
    reduce_order: str | None = None
    levels: str | None = None
    where: str | None = None
    part: str | None = None

    @property
    def condition(self) -> str | None:
        """Which rows speak for their person: those of the part that satisfy *where*."""
        if self.part is None or self.where is None:
            return self.part or self.where
        return f"({self.part}) AND ({self.where})"

    @property
    def text(self) -> str:
        """The question with all that changes its meaning: what a ledger remembers."""
        parts = {"where": self.where, "reduce": self.reduce, "order": self.reduce_order, "levels": self.levels}
        return str(self.question) + "".join(f" | {name}: {value}" for name, value in parts.items() if value is not None)

    def counting(self) -> People:
        part = None if self.part is None else read_part(self.part)
        return People(self.unit, self.reduce, self.reduce_order, self.where, part, self.levels)

    def persons(self) -> str:
        """Who is protected, and how their rows became one value, in words."""
        if self.unit is None:
            return "each row is a person"
        rule = self.counting().rules(self.question.tally)[0]
        order = f" by {self.reduce_order}" if self.reduce_order else ""
        return f"a person is a value of the column {self.unit}, their rows reduced to one value by: {rule}{order}"

    def notes(self) -> list[str]:
        more = (
            []
            if self.condition is None
            else [f"only rows with {self.condition} speak for their person, who is counted all the same"]
        )
        return [*self.question.notes(self.neighbours), *more]
