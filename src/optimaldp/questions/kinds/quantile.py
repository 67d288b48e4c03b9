"""Which public bin holds the median, or another quantile?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from optimaldp.distances.linear import LinearCondition, share_condition
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Law, Setting, Table
from optimaldp.laws.quantile import QuantileLaw, quantile_law, read_version
from optimaldp.laws.quantile_accuracy import even_accuracy
from optimaldp.laws.votes import Moves
from optimaldp.privacy import ApproximateDP, Neighbours, approximate, read_number, read_probability
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.accuracy import BITS, Accuracy, Distance, Rival
from optimaldp.questions.base import Draft, Question, Spec, Valued, among_text
from optimaldp.questions.columns import BinAnswer, BinNames, Binning, read_binning
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.kinds.of_bins import OfBins
from optimaldp.questions.literals import check_among, check_column, read_list, read_step, write_column, write_step
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.questions.sheets import AMONG, BANDS, Blank, Sheet
from optimaldp.questions.words import asked_of, column_words, percent
from optimaldp.sampling import BitSource


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


# How it is answered: the smoothed rank, or FLIP and FLIP+, whichever public numbers choose.

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
        from optimaldp.certify.quantile import second_reading

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


# How reliable a quantile is, as a function of public things: the bins, the level, and a hypothetical spread of people.


_LARGEST_EPSILON = 20  # an epsilon beyond which floats hold nothing but 0 and 1


_BINS_AROUND = 3  # bins on either side of the true one that hold as many people as it does


def rank_accuracy(question: Any, setting: Setting) -> Accuracy:
    """At a margin m the true bin holds 2m people, half of them on either side of the quantile, and so do the bins next to it."""
    law = Ranking.of(question, setting).chosen
    middle = _true_bin(law.bins, law.rank)
    nobody = [] if law.levels is None else [0] * (len(law.levels) - 1)

    def error(margin: int) -> Ball:
        people: dict[int, Any] = _spread(law.bins, middle, margin, law.rank)
        if law.levels is not None:
            people = {place: (number, *nobody) for place, number in people.items()}
        with precision(BITS):
            ends = law.ends(people)
            before = ball(ends.end(middle - 1)) if middle else Ball(0)
            return before + (ball(ends.rest(middle)) if middle < law.bins - 1 else Ball(0))

    note = "a margin of m: the true bin and those next to it hold 2m people each, the quantile in the middle of its bin"

    def distance() -> Distance:
        figures = _figures(law, setting)
        return tuple(_off(figures)), {"even_spread": [one.to_document() for one in figures]} if figures else {}

    return Accuracy(error, lambda: _rank_rivals(setting, law.bins), (note,), distance)


def _true_bin(bins: int, rank: Fraction) -> int:
    """The bin in the middle; of two bins the one that can hold the quantile in its middle."""
    return bins // 2 if bins > 2 or rank >= Fraction(1, 2) else 0


def _spread(bins: int, middle: int, margin: int, rank: Fraction) -> dict[int, int]:
    """People such that the quantile lies in the middle of bin *middle*: full bins next to it, the rest at the two ends."""
    below, above = _around(bins, middle, margin, rank)
    people = {middle: 2 * margin}
    for number, places in ((below, range(middle - 1, -1, -1)), (above, range(middle + 1, bins))):
        missing = max(0, number)
        for step, place in enumerate(places):
            last = step == len(places) - 1
            here = missing if last else min(missing, 2 * margin if step < _BINS_AROUND else missing)
            if here:
                people[place] = here
            missing -= here
    return people


def _around(bins: int, middle: int, margin: int, rank: Fraction) -> tuple[int, int]:
    """How many people are below and above bin *middle*, enough for the full bins next to it. Where there is no bin above (or
    below) it, so many are on the other side that half of its own people are: ``below + margin = rank (below + 2 margin)``."""
    if middle == bins - 1 and rank < 1:
        return max(0, math.ceil(margin * (2 * rank - 1) / (1 - rank))), 0
    if middle == 0:
        return 0, max(0, math.floor(margin * (1 - 2 * rank) / rank))
    rarer = min(rank, 1 - rank) if rank < 1 else rank  # of rank 1 nobody is above it
    total = 2 * margin * (2 * _BINS_AROUND + 2) * math.ceil(1 / rarer)
    below = max(0, math.ceil(rank * total) - margin)
    return below, total - below - 2 * margin


def _figures(law: Any, setting: Setting) -> tuple[Any, ...]:
    many = law.levels is not None or law.bins > 10**6 or float(law.level.epsilon) > _LARGEST_EPSILON
    if many or not setting.people or setting.people < law.bins:
        return ()
    return even_accuracy(law, setting.people)


def _off(figures: tuple[Any, ...]) -> list[str]:
    """How far off a wrong answer is, were people spread evenly over the bins."""
    if not figures:
        return []
    ours, others = figures[0], figures[1:]
    people = "1 person" if ours.rank_bound == 1 else f"{ours.rank_bound} people"
    bins = "1 bin" if ours.bins_bound == 1 else f"{ours.bins_bound} bins"
    first = f"If values are spread evenly, it is within {people} ({bins}) 95 % of the time"
    if ours.wrong < 1e-6:
        return ["If values are spread evenly, it is the wrong bin less than once in a million times."]
    compared = ", ".join(f"{one.mechanism} {one.rank_error:.3g}" for one in others)
    return [f"{first}, and off by {ours.rank_error:.3g} people on average ({compared})."]


def _rank_rivals(setting: Setting, bins: int) -> tuple[Rival, ...]:
    """The exponential mechanism with the same spread: its weight falls with half of epsilon for each person missed."""
    epsilon = float(setting.level.epsilon)
    near = min(bins - 1, 2 * _BINS_AROUND)

    def exponential(margin: int) -> float:
        others = sum(math.exp(-epsilon * margin * (2 * (step // 2) + 1) / 2) for step in range(near))
        return others / (1 + others)

    return (Rival("exponential", "score: minus the people by which a bin misses the rank", exponential),)
