"""Which public bin holds the median, or another quantile?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from optimaldp.distances.linear import LinearCondition, share_condition
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting
from optimaldp.laws.quantile import read_version
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours, read_number, read_probability
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.accuracy import Accuracy
from optimaldp.questions.base import Draft, Question, Spec, Valued, among_text
from optimaldp.questions.columns import BinAnswer, BinNames, Binning, read_binning
from optimaldp.questions.electing import Ranking, rank_accuracy
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.kinds.of_bins import OfBins
from optimaldp.questions.literals import check_among, check_column, read_list, read_step, write_column, write_step
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.sheets import AMONG, BANDS, Blank, Sheet
from optimaldp.questions.words import asked_of, column_words, percent


@dataclass(frozen=True, repr=False)
class Quantile(OfBins[BinAnswer]):
    """The first bin up to which at least the given share of people lies.

    >>> list(median("age", bins=[18, 30, 45, 100]).answers)
    ['[18, 30)', '[30, 45)', '[45, 100]']
    """

    column: str
    rank: Fraction
    binning: Binning
    among: str | None = None
    name: str = "quantile"
    weights: tuple[Fraction, ...] | None = None

    @property
    def answers(self) -> BinNames:  # a million names are made when they are needed
        return BinNames(self.binning)

    def truth(self, counts: Valued) -> int:
        """The first bin up to which enough people lie; the first of all where nobody has a value, as of any empty sum."""
        total, below = sum(counts.values.values()), 0
        for place in sorted(counts.values):
            below += counts.values[place]
            if self._reached.holds(below, total - below):
                return place
        return 0

    def flips(self, counts: Valued, neighbours: Neighbours) -> Moves:
        here, total = self.truth(counts), sum(counts.values.values())
        up_to = sum(people for place, people in counts.values.items() if place <= here)
        before = up_to - counts.values.get(here, 0)
        moves: Moves = math.inf
        if here + 1 < self.binning.bins:  # a later bin: the share up to here must fall
            moves = self._reached.negated().moves(up_to, total - up_to, counts.without, neighbours)
        if here > 0:  # an earlier bin: the share before here must rise
            moves = min(moves, self._reached.moves(before, total - before, counts.without, neighbours))
        return moves

    @cached_property
    def _reached(self) -> LinearCondition:
        return share_condition(">=", self.rank)

    def restored(self, answer: Any) -> BinAnswer:
        return self.binning.named(answer)

    def answer_words(self, answer: Any, statement: Mapping[str, Any]) -> str:
        return f"{answer.low} to {answer.high}" if isinstance(answer, BinAnswer) else ""

    @property
    def small_twin(self) -> Question | None:  # type: ignore[override]
        if self.binning.bins <= 4:
            return None
        return replace(self, binning=self.binning.first(4), weights=None if self.weights is None else self.weights[:4])

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        return Ranking.of(self, setting)

    def published_mechanism(self, setting: Setting, document: Mapping[str, Any]) -> QuestionMechanism:
        made = Ranking.of(self, setting)
        return replace(made, chosen=replace(made.chosen, version=read_version(document)))

    aims_agree = True

    def opposite_places(self) -> tuple[int, int, str] | None:
        middle = self.binning.bins // 2
        return (middle - 1, middle, "everybody is in one of the two bins in the middle") if middle else None

    def accuracy(self, setting: Setting) -> Accuracy:
        return rank_accuracy(self, setting)

    def spec(self) -> Spec:
        return {"kind": "quantile", "rank": self.rank, "bins": self.binning.bins, "among": self.among is not None}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (
            "values below the first bin count into the first, values above the last into the last",
            "people without a value (NULL) change no rank and are protected like everybody else",
        )

    def words(self) -> str:
        column = column_words(self.column)
        if self.rank == Fraction(1, 2):
            return asked_of(self.among, f"in which band of {column} is the median?")
        return asked_of(self.among, f"up to which band of {column} do {percent(self.rank)} of the people lie?")

    def __str__(self) -> str:
        rank = "" if self.name == "median" else f"{fraction_text(self.rank)}, "
        weights = "" if self.weights is None else f", weights=[{', '.join(map(fraction_text, self.weights))}]"
        return f"{self.name}({write_column(self.column)}, {rank}{self.binning}{weights}{among_text(self.among)})"


def quantile(
    column: str,
    rank: object,
    *,
    bins: Iterable[Any] | None = None,
    range: object = None,
    step: object = None,
    weights: Iterable[Any] | None = None,
    among: str | None = None,
) -> Quantile:
    """Which public bin holds the quantile *rank* of *column*? Bins by their edges, or *range* and *step* for equal ones.

    *weights*: a public guess how likely each bin is, one positive number for each. *among*: ask only people with this
    condition. Without *bins* and *range* the description of the table says them.

    >>> str(quantile("age", 0.9, range=[0, 120], step=1))
    'quantile(age, 0.9, range=[0, 120], step=1)'
    """
    share = read_probability(rank, name="quantile", error=QuestionError)
    if bins is None and range is None:
        draft: Quantile = draft_of_bins("quantile", column, fraction_text(share), step, weights, among)
        return draft
    return _checked(column, share, read_binning(bins, range, step), weights, among, "quantile")


def median(
    column: str,
    *,
    bins: Iterable[Any] | None = None,
    range: object = None,
    step: object = None,
    weights: Iterable[Any] | None = None,
    among: str | None = None,
) -> Quantile:
    """Which public bin holds the median of *column*? *bins*, *range*, *step*, *weights* and *among* as in :func:`quantile`.

    >>> str(median("age", bins=[18, 30, 45, 100]))
    'median(age, bins=[18, 30, 45, 100])'
    """
    if bins is None and range is None:
        draft: Quantile = draft_of_bins("median", column, None, step, weights, among)
        return draft
    return _checked(column, Fraction(1, 2), read_binning(bins, range, step), weights, among, "median")


def draft_of_bins(
    word: str, column: str, ranks: str | None, step: object, weights: Iterable[Any] | None, among: str | None
) -> Any:
    """A question about ranks whose bins the description of the table will say."""
    length = None if step is None else f"step={write_step(read_step(step))}"
    said = None if weights is None else f"weights=[{', '.join(map(str, weights))}]"
    return Draft.of(word, [write_column(check_column(column)), ranks, length, said], among)


def _checked(
    column: str, rank: Fraction, binning: Binning, weights: Iterable[Any] | None, among: str | None, name: str
) -> Quantile:
    if rank == 0:
        raise QuestionError("quantile", "0", "is the first bin whatever the data is", "ask for a rank above 0")
    if binning.bins == 1:
        raise QuestionError("bins", str(binning), "leave one answer, which is known without data", "name more edges")
    chosen = None if weights is None else tuple(read_number(w, name="weights", error=QuestionError) for w in weights)
    if chosen is not None and (len(chosen) != binning.bins or min(chosen) <= 0):
        raise QuestionError("weights", len(chosen), f"are not {binning.bins} positive numbers", "give one for each bin")
    return Quantile(check_column(column), rank, binning, check_among(among), name, chosen)


def named_bins(call: Call, position: int) -> dict[str, Any]:
    """What a text says of its bins: ``bins=[...]`` (the name may be left out), or ``range=[...], step=...``."""
    edges = call.named.get("bins") or (call.arguments[position] if len(call.arguments) > position else None)
    return {
        "bins": None if edges is None else read_list(edges),
        "range": call.named.get("range"),
        "step": call.named.get("step"),
    }


def bins_of_ranks(call: Call, position: int) -> dict[str, Any]:
    """The same for a question that has no answers without bins."""
    said = named_bins(call, position)
    if said["bins"] is None and said["range"] is None:
        raise call.without_range()
    return said


_NAMES = ("bins", "range", "step", "weights")


def _weights(call: Call) -> list[str] | None:
    return read_list(call.named["weights"]) if "weights" in call.named else None


def _read_median(call: Call) -> Quantile:
    call.only(arguments=range(1, 3), named=_NAMES)
    return median(call.column(), **bins_of_ranks(call, 1), weights=_weights(call), among=call.among)


def _read_quantile(call: Call) -> Quantile:
    call.only(arguments=range(2, 4), named=_NAMES)
    bins = bins_of_ranks(call, 2)
    return quantile(call.column(), call.arguments[1], **bins, weights=_weights(call), among=call.among)


FORMS = [
    Form("median", "median(age, bins=[18, 30, 45, 100])", _read_median),
    Form("quantile", "quantile(age, 0.9, range=[0, 120], step=1)", _read_quantile),
]

_COLUMN = Blank("column", "column", "Column", sample="age")
SHEETS = [
    Sheet(
        "median",
        "Which band holds the median?",
        "median({column}, {bands}{among})",
        (_COLUMN, BANDS, AMONG),
        order=40,
    ),
    Sheet(
        "quantile",
        "Up to which band do … % of the people lie?",
        "quantile({column}, {rank}, {bands}{among})",
        (_COLUMN, Blank("rank", "percent", "Percent", sample="0.9", start="90"), BANDS, AMONG),
        order=41,
    ),
]
