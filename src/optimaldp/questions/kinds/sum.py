"""How much is it together? The sum of a column over people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Question, Spec, Valued
from optimaldp.questions.kinds.mean import RANGE, ValueNumber, number_form, number_of_values
from optimaldp.questions.numbers import Linear, NumberOptions
from optimaldp.questions.sheets import AMONG, Blank, Sheet


@dataclass(frozen=True, repr=False)
class Total(ValueNumber):
    """``sum(column, range=[low, high], step=s)``: each person's value is clipped and rounded; a person without one adds 0."""

    word = "sum"

    @property
    def _shift(self) -> Fraction:
        return self.low / self.step

    @property
    def _on_grid(self) -> bool:
        """Whether 0 is a value of the grid, so that sums of any number of people lie on it."""
        return self._shift.denominator == 1

    @property
    def whole(self) -> bool:  # type: ignore[override]
        return self.step.denominator == 1 and self.low.denominator == 1

    def total(self, counts: Valued) -> int:
        above = self.steps_above_low(counts)
        return above + int(self._shift) * sum(counts.values.values()) if self._on_grid else above

    def linear(self, setting: Setting, sizes: tuple[int, ...] = ()) -> Linear:
        people = setting.people
        if not self._on_grid and not (self.complete and people is not None):
            rule = f"does not have ends that are multiples of the step {fraction_text(self.step)}"
            remedy = "choose such ends: otherwise the sum tells how many people have a value"
            raise QuestionError("range", f"[{fraction_text(self.low)}, {fraction_text(self.high)}]", rule, remedy)
        replaced = setting.neighbours is Neighbours.SUBSTITUTION
        zero = Fraction(0)
        low, high = (self.low, self.high) if self.complete and replaced else (min(self.low, zero), max(self.high, zero))
        most = high - low if replaced else max(abs(self.low), abs(self.high))
        shift = self._every_shift(replaced=replaced)
        if people is None:
            ends = zero if self.low >= 0 else None, zero if self.high <= 0 else None
            return Linear(int(most / self.step), self.step, zero, *ends, shift)
        offset = zero if self._on_grid else people * self.low
        return Linear(int(most / self.step), self.step, offset, people * low, people * high, shift)

    def between_groups(self, setting: Setting) -> Linear:
        # Whoever is not in the group adds 0 to it, also where everybody has a value.
        return replace(self, complete=False).linear(replace(setting, people=None))

    def _every_shift(self, *, replaced: bool) -> bool:
        """Whether some move shifts the sum by each number of steps up to the largest."""
        if self.low <= 0 <= self.high or (self.complete and replaced):
            return True
        nearest = min(abs(self.low), abs(self.high))
        return nearest <= (self.high - self.low + self.step if replaced else self.step)

    def compared(self, comparison: str, bound: object) -> Question[str]:
        remedy = "ask for the number itself, or compare a mean: mean(cost, range=[0, 100]) >= 50"
        raise QuestionError("question", f"{self} {comparison} {bound}", "compares a sum, which is not built", remedy)

    def spec(self) -> Spec:
        return {"kind": "number", "of": "sum", "low": self.low, "high": self.high, "step": self.step}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        clipped, missing, *more = super().notes(neighbours)
        return clipped, missing if self.complete else "people without a value add 0 and are protected", *more


def sum_(
    column: str,
    *,
    range: object = None,
    step: object = None,
    among: str | None = None,
    top: object = None,
    loss: str | None = None,
    output: str | None = None,
    confidence: object = None,
    largest_error: bool | None = None,
    complete: object = False,
) -> Total:
    """The sum of *column* over people: each value is clipped to the public *range* and rounded to the public *step*.

    A person without a value adds 0 and is protected. *range* ``"generous"`` with *top* looks for a clipping edge below *top*
    first. *loss*: what the noise should be best for (``"absolute"``, ``"squared"``, ``"exact"``). *output*, *confidence*,
    *largest_error* and *among* as in :func:`~optimaldp.questions.count`. *complete* is found from the schema: it says that
    nobody can be without a value.

    >>> str(sum_("visits", range=[0, 50]))
    'sum(visits, range=[0, 50])'
    """
    options = NumberOptions.read(loss=loss, output=output, confidence=confidence, largest_error=largest_error)
    return number_of_values(Total, column, range, step, top, among, options, complete)


FORMS = [number_form("sum(cost, range=[0, 50000], step=10)", sum_)]

SHEETS = [
    Sheet(
        "sum",
        "How much is it together?",
        "sum({column}, {range}{among})",
        (Blank("column", "column", "Column", sample="visits"), RANGE, AMONG),
        order=4,
    )
]
