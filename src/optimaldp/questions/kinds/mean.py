"""Is the mean above a bound?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from optimaldp.distances.mean import MeanBound
from optimaldp.errors import QuestionError
from optimaldp.laws.chain import Moves
from optimaldp.laws.setting import Aim, Cells, Setting
from optimaldp.privacy import Neighbours, read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.accuracy import Accuracy, of_mean
from optimaldp.questions.base import YES_NO, Question, Spec, Valued, among_text, counts_for, outside_last
from optimaldp.questions.comparing import Quantity, Shifted
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.literals import check_among, check_column, read_number_range, write_column
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism
from optimaldp.questions.personal import BalancedMean, WeightedMean
from optimaldp.questions.sheets import AMONG, RELATION, Blank, Sheet
from optimaldp.questions.signed import BySignedDistance
from optimaldp.tables.tally import Grid


@dataclass(frozen=True, repr=False)
class MeanThreshold(Question):
    """``mean(column, range=[low, high]) >= bound``: values are clipped to the range and rounded to the grid of its step.

    >>> question = mean("score", range=[1, 5]) >= 3.5
    >>> str(question), question.flips(question.read_counts([2, 3, 4, 18, 16]), Neighbours.SUBSTITUTION)
    ('mean(score, range=[1, 5]) >= 3.5', 6)
    """

    column: str
    low: Fraction
    high: Fraction
    step: Fraction
    comparison: str
    bound: Fraction
    among: str | None = None
    where_is_among = True

    @cached_property
    def inequality(self) -> MeanBound:
        return MeanBound(self.comparison, self.bound, self.low, self.high, self.step)

    @cached_property
    def readings(self) -> tuple[Grid, ...]:
        return (Grid(self.column, self.low, self.high, self.step),)

    answers = YES_NO

    def fold(self, cells: Cells) -> Valued:
        size = self.readings[0].size
        return Valued.of(outside_last(cells, size, self.among), size - 1)

    def read_counts(self, counts: Sequence[int]) -> Valued:
        size = self.readings[0].size
        known = counts_for(self, counts, wanted=size, least=size - 1)
        return Valued.of(dict(enumerate(known)), size - 1)

    def truth(self, counts: Valued) -> int:
        return 0 if self.inequality.holds(counts.values) else 1

    def flips(self, counts: Valued, neighbours: Neighbours) -> Moves:
        return self.inequality.flips(counts.values, counts.without, neighbours)

    def signed(self, counts: Valued, setting: Setting) -> Fraction | float:
        """The signed fractional distance: positive for yes, never 0; one person moves it by at most 1."""
        return self.inequality.signed(counts.values, counts.without, setting.neighbours)

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if setting.personal:
            return (WeightedMean if setting.aim is Aim.TYPICAL else BalancedMean)(self, setting)
        # Of two values the mean is a share, and whole people are the exact optimum.
        return (AtDistance if self.inequality.values == 2 else BySignedDistance)(self, setting)

    def opposite_places(self) -> tuple[int, int, str]:
        return self.inequality.values - 1, 0, "everybody has the lowest or the highest value"

    def accuracy(self, setting: Setting) -> Accuracy:
        return of_mean(self, setting)

    def spec(self) -> Spec:
        return {
            "kind": "mean",
            "comparison": self.comparison,
            "bound": self.bound,
            "low": self.low,
            "high": self.high,
            "step": self.step,
            "among": self.among is not None,
        }

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        ends = f"values are clipped to [{fraction_text(self.low)}, {fraction_text(self.high)}]"
        return (
            f"{ends} and rounded to multiples of {fraction_text(self.step)}",
            "people without a value change nothing and are protected",
        )

    def __bool__(self) -> bool:
        raise QuestionError("question", str(self), "has no answer before it is released", "release it")

    def __str__(self) -> str:
        return f"{Average(self.column, self.low, self.high, self.step, self.among)} {self.comparison} {fraction_text(self.bound)}"


@dataclass(frozen=True, repr=False)
class Average(Quantity):
    """``mean(column, range=[low, high])``, which waits to be compared."""

    column: str
    low: Fraction
    high: Fraction
    step: Fraction
    among: str | None = None

    def compared(self, comparison: str, bound: object) -> Question:
        if isinstance(bound, (Quantity, Shifted)):
            from optimaldp.questions.kinds.two_groups import two_groups

            return two_groups(self, comparison, bound)
        number = read_number(bound, name="bound of mean", error=QuestionError)
        question = MeanThreshold(self.column, self.low, self.high, self.step, comparison, number, self.among)
        question.inequality  # noqa: B018  (refuses a bound outside of the range before anything is read)
        return question

    def __str__(self) -> str:
        ends = f"range=[{fraction_text(self.low)}, {fraction_text(self.high)}]"
        step = "" if self.step == _default_step(self.low, self.high) else f", step={fraction_text(self.step)}"
        return f"mean({write_column(self.column)}, {ends}{step}{among_text(self.among)})"

    __repr__ = __str__


def mean(column: str, *, range: object, step: object = None, among: str | None = None) -> Average:
    """The mean of *column*, clipped to the public *range* and rounded to the public *step*: compare it with a bound."""
    low, high = read_number_range(range)
    chosen = _default_step(low, high) if step is None else read_number(step, name="step", error=QuestionError)
    if chosen is None:
        remedy = "name the grid that values are rounded to: step=0.1"
        raise QuestionError("range", str(range), "does not have two whole ends, so there is no default step", remedy)
    if chosen <= 0 or (high - low) % chosen:
        rule = f"does not divide the range [{fraction_text(low)}, {fraction_text(high)}]"
        raise QuestionError("step", fraction_text(chosen), rule, "choose a positive step that does")
    return Average(check_column(column), low, high, chosen, check_among(among))


def _default_step(low: Fraction, high: Fraction) -> Fraction | None:
    return Fraction(1) if low.denominator == high.denominator == 1 else None


def _read(call: Call) -> Average:
    call.only(arguments=range(1, 2), named=("range", "step"))
    if "range" not in call.named:
        raise call.error("does not name the public range of its values")
    return mean(call.column(), range=call.named["range"], step=call.named.get("step"), among=call.among)


FORMS = [Form("mean", "mean(score, range=[1, 5]) >= 3.5", _read)]

RANGE = Blank("range", "range", "Range", "public: values outside count as its ends", sample="range=[1, 5]")
SHEETS = [
    Sheet(
        "mean",
        "Is the mean at least …?",
        "mean({column}, {range}{among}) {relation} {bound}",
        (
            Blank("column", "column", "Column", sample="score"),
            RANGE,
            RELATION,
            Blank("bound", "number", "Mean", sample="3.5"),
            AMONG,
        ),
        order=20,
    )
]
