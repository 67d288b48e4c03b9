"""What is the mean? Is it above a bound?"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

from optimaldp.distances.linear import MeanBound
from optimaldp.errors import QuestionError
from optimaldp.laws.crossing import Family, mean_family, sums_of
from optimaldp.laws.law import Aim, Cells, Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours, read_number
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.accuracy import Accuracy, of_mean
from optimaldp.questions.base import YES_NO, Draft, Question, Spec, Valued, among_text, counts_for, outside_last
from optimaldp.questions.completeness import leaves_nobody_out
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.literals import check_among, check_column, read_number_range, write_column
from optimaldp.questions.mechanism import AtDistance, QuestionMechanism
from optimaldp.questions.numbers import (
    PLAIN,
    Crossed,
    Linear,
    NumberOptions,
    Quantity,
    Shifted,
    Summed,
    chosen_gap,
    read_switch,
)
from optimaldp.questions.personal import BalancedMean, WeightedMean
from optimaldp.questions.sheets import AMONG, RELATION, Blank, Sheet
from optimaldp.questions.signed import BySignedDistance
from optimaldp.questions.words import AT_LEAST, asked_of, column_words
from optimaldp.tables.schema import Schema
from optimaldp.tables.tally import Grid, Tally


@dataclass(frozen=True, repr=False)
class MeanThreshold(Question[str]):
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

    def words(self) -> str:
        than = {">": "above", "<": "below"}.get(self.comparison) or AT_LEAST[self.comparison]
        mean_of = f"the mean of {column_words(self.column)}"
        return asked_of(self.among, f"is {mean_of} {than} {fraction_text(self.bound)}?")

    def __str__(self) -> str:
        mean_of = Average(self.column, self.low, self.high, self.step, self.among)
        return f"{mean_of} {self.comparison} {fraction_text(self.bound)}"


N = TypeVar("N", bound="ValueNumber")


@dataclass(frozen=True, repr=False)
class ValueNumber(Summed[float]):
    """A number made of people's values, which are clipped to a public range and rounded to a public step."""

    column: str
    low: Fraction
    high: Fraction
    step: Fraction
    among: str | None = None
    said: NumberOptions = PLAIN
    complete: bool = False
    """Whether the schema rules out that somebody has no value; ``settled`` says so. A record without one counts as *low*."""
    generous: bool = False
    word: ClassVar[str]

    @property
    def readings(self) -> tuple[Grid, ...]:
        return (Grid(self.column, self.low, self.high, self.step),)

    @property
    def points(self) -> int:
        """How many values there are."""
        return int((self.high - self.low) / self.step) + 1

    @property
    def value_range(self) -> tuple[Fraction, Fraction]:
        return self.low, self.high

    @property
    def tally(self) -> Tally:
        own = super().tally
        assert isinstance(own, Tally)
        # A generous range is clipped after it was counted; who is among those asked is a reading of its own.
        return replace(own, summed=not self.generous and self.among is None)

    def fold(self, cells: Cells) -> Valued:
        size = self.readings[0].size
        return self._whole(Valued.of(outside_last(cells, size, self.among), size - 1))

    def read_counts(self, counts: Sequence[int]) -> Valued:
        size = self.readings[0].size
        known = counts_for(self, counts, wanted=size, least=size - 1)
        return self._whole(Valued.of(dict(enumerate(known)), size - 1))

    def _whole(self, counts: Valued) -> Valued:
        if not self.complete or not counts.without:
            return counts
        # A schema can promise too much: whoever has no value all the same counts as the lowest.
        return Valued(counts.values | {0: counts.values.get(0, 0) + counts.without}, 0)

    def steps_above_low(self, counts: Valued) -> int:
        return sum(place * people for place, people in self._clipped(counts).items())

    def _clipped(self, counts: Valued) -> dict[int, int]:
        """Of a range that was clipped after it was read: values beyond its end are its end."""
        last = self.points - 1
        if all(place <= last for place in counts.values):
            return counts.values
        kept = {place: people for place, people in counts.values.items() if place < last}
        return kept | {last: sum(people for place, people in counts.values.items() if place >= last)}

    asks_the_schema = True

    def settled(self, schema: Schema, *, everybody_has_a_row: bool) -> Self:
        column = schema[self.column]
        if column.kind in ("date", "time"):
            remedy = f"ask for the median, or for a quantile: median({write_column(self.column)}, bins=[...])"
            raise QuestionError("column", self.column, f"holds dates or times, which have no {self.word}", remedy)
        possible = everybody_has_a_row and self.among is None and leaves_nobody_out(self.readings[0], column)
        if self.complete and not possible:
            rule = "says that nobody is without a value, which the schema does not rule out"
            remedy = "leave complete out: it is found from the schema where it holds"
            raise QuestionError("complete", str(self), rule, remedy)
        return replace(self, complete=True) if possible else self

    def clipped_at(self, edge: Fraction) -> Self:
        """The same number with values clipped at *edge*: the second step of a generous range."""
        # A grid of answers that was named need not fit the edge.
        return replace(self, high=edge, generous=False, said=replace(self.said, grid=None))

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        ends = f"values are clipped to [{fraction_text(self.low)}, {fraction_text(self.high)}]"
        missing = "people without a value change nothing and are protected"
        if self.complete:
            missing = (
                "the table's schema rules out a missing value; one that there is all the same counts as the lowest"
            )
        generous = ("the values above an edge that a first step chose are clipped to it",) if self.generous else ()
        return (f"{ends} and rounded to multiples of {fraction_text(self.step)}", missing, *generous)

    def words(self) -> str:
        return asked_of(self.among, f"what is the {self.word} of {column_words(self.column)}?")

    def __str__(self) -> str:
        ends = f"range=[{fraction_text(self.low)}, {fraction_text(self.high)}]"
        if self.generous:
            ends = f"range='generous', top={fraction_text(self.high)}"
        said = [write_column(self.column), ends]
        said += [] if self.step == default_step(self.low, self.high) else [f"step={fraction_text(self.step)}"]
        said += ["complete=true"] if self.complete else []
        return f"{self.word}({', '.join([*said, *self.said.texts()])}{among_text(self.among)})"


@dataclass(frozen=True, repr=False)
class Average(ValueNumber, Crossed[float]):
    """``mean(column, range=[low, high])``: the mean of those with a value. A question, or to be compared with a bound.

    >>> str(mean("score", range=[1, 5], grid=0.01))
    'mean(score, range=[1, 5], grid=0.01)'
    """

    word = "mean"
    where_is_among = True

    @property
    def takes_levels(self) -> bool:  # type: ignore[override]
        return not self.generous

    def linear(self, setting: Setting, sizes: tuple[int, ...] = ()) -> Linear | None:
        weighted = setting.personal and setting.aim is Aim.TYPICAL
        if not self.complete or not setting.people or weighted:
            return None
        return Linear(self.points - 1, self.step / setting.people, self.low, self.low, self.high)

    def total(self, counts: Valued) -> int:
        return self.steps_above_low(counts)

    def sums(self, counts: Valued) -> tuple[Fraction, Fraction]:
        return sums_of(self._clipped(counts), self.low, self.step)

    def family(self, setting: Setting) -> Family:
        gap = chosen_gap(self.low, self.high, self.said, setting)
        return mean_family(self.low, self.high, gap, replaced=setting.neighbours is Neighbours.SUBSTITUTION)

    def on_value_grid(self) -> Average:
        said = self.said
        return self if said.grid is not None else replace(self, said=replace(said, grid=(self.step,)))

    def compared(self, comparison: str, bound: object) -> Question[str]:
        if self.generous or self.complete:
            raise QuestionError("question", str(self), "has options of a number, not of a comparison", "leave them out")
        if isinstance(bound, (Quantity, Shifted)):
            from optimaldp.questions.kinds.two_groups import two_groups

            return two_groups(self, comparison, bound)
        number = read_number(bound, name="bound of mean", error=QuestionError)
        question = MeanThreshold(self.column, self.low, self.high, self.step, comparison, number, self.among)
        question.inequality  # noqa: B018  (refuses a bound outside of the range before anything is read)
        return question

    def spec(self) -> Spec:
        return {"kind": "number", "of": "mean", "low": self.low, "high": self.high, "step": self.step}


def mean(
    column: str,
    *,
    range: object = None,
    step: object = None,
    among: str | None = None,
    top: object = None,
    grid: object = None,
    interval: bool | None = None,
    loss: str | None = None,
    output: str | None = None,
    confidence: object = None,
    largest_error: bool | None = None,
    complete: object = False,
) -> Average:
    """The mean of *column*, clipped to the public *range* and rounded to the public *step*: a number, or compared with a bound.

    *grid*: the public step of the answers. *interval*: spend a tenth of epsilon on an interval, where the number of people with a
    value is private. *range* ``"generous"`` with *top*: a first step looks for a clipping edge below *top*. *complete* is found
    from the schema: it says that nobody can be without a value. Without *range* the description of the table says it. *among*:
    ask only people with this condition. *loss*, *output*, *confidence* and *largest_error* as in
    :func:`~optimaldp.questions.count`.

    >>> str(mean("score", range=[1, 5]) >= 3.5)
    'mean(score, range=[1, 5]) >= 3.5'
    """
    options = NumberOptions.read(
        grid=grid,
        interval=interval,
        loss=loss,
        output=output,
        confidence=confidence,
        largest_error=largest_error,
    )
    return number_of_values(Average, column, range, step, top, among, options, complete)


def number_of_values(
    kind: type[N],
    column: str,
    range: object,
    step: object,
    top: object,
    among: str | None,
    options: NumberOptions,
    complete: object,
) -> N:
    """A mean or a sum; without a range its draft, which the description of the table completes."""
    named, whole = check_column(column), read_switch(complete, "complete")
    if range is None and top is None:
        length = None if step is None else read_number(step, name="step", error=QuestionError)
        said = None if length is None else f"step={fraction_text(length)}"
        draft: N = Draft.of(
            kind.word, [write_column(named), said, "complete=true" if whole else None, *options.texts()], among
        )
        return draft
    low, high, chosen, generous = read_values(range, step, top)
    return kind(named, low, high, chosen, check_among(among), options, whole, generous)


def read_values(range: object, step: object, top: object) -> tuple[Fraction, Fraction, Fraction, bool]:
    """The ends of values, their step, and whether the range is generous."""
    generous = isinstance(range, str) and range.strip().strip("'\"") == "generous"
    if generous and top is None:
        remedy = "write range='generous', top=100000, or range=[0, 100]"
        raise QuestionError("range", "generous", "needs the largest value that there can be", remedy)
    if not generous and top is not None:
        raise QuestionError("top", top, "goes with range='generous' and only with it", "leave it out")
    if generous:
        low, high = Fraction(0), read_number(top, name="top", error=QuestionError)
        if high <= 0:
            raise QuestionError(
                "top", fraction_text(high), "is not positive", "name the largest value that there can be"
            )
    else:
        low, high = read_number_range(range)
    chosen = default_step(low, high) if step is None else read_number(step, name="step", error=QuestionError)
    if chosen is None:
        remedy = "name the grid that values are rounded to: step=0.1"
        raise QuestionError("range", str(range), "does not have two whole ends, so there is no default step", remedy)
    if chosen <= 0 or (high - low) % chosen:
        rule = f"does not divide the range [{fraction_text(low)}, {fraction_text(high)}]"
        raise QuestionError("step", fraction_text(chosen), rule, "choose a positive step that does")
    return low, high, chosen, generous


def default_step(low: Fraction, high: Fraction) -> Fraction | None:
    return Fraction(1) if low.denominator == high.denominator == 1 else None


def number_form(example: str, make: Callable[..., Any]) -> Form:
    """How a mean or a sum is written: the names of its options are those of the function that makes it."""

    def read(call: Call) -> Any:
        call.only(arguments=range(1, 2), named=tuple({*inspect.signature(make).parameters} - {"column", "among"}))
        if "range" not in call.named:
            raise call.without_range()
        return make(call.column(), among=call.among, **call.named)

    return Form(example.partition("(")[0], example, read)


FORMS = [number_form("mean(score, range=[1, 5]) >= 3.5", mean)]

RANGE = Blank("range", "range", "Range", "public: values outside count as its ends", sample="range=[1, 5]")
INTERVAL = Blank(
    "interval",
    "choice",
    "Interval",
    sample="",
    start=", interval=true",
    choices=((", interval=true", "with one: a tenth of ε pays for it"), ("", "none")),
)
SHEETS = [
    Sheet(
        "average",
        "What is the average?",
        "mean({column}, {range}{interval}{among})",
        (Blank("column", "column", "Column", sample="score"), RANGE, INTERVAL, AMONG),
        order=3,
    ),
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
        order=24,
    ),
]
