"""Which public bins hold several quantiles, in one question and one spend?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from optimaldp.certify.quantile import second_reading
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Law, Setting, Table
from optimaldp.laws.quantile import QuantileLaw, read_version
from optimaldp.laws.several_quantiles import JointQuartiles, RepeatedQuantiles, several_quantiles
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Neighbours, approximate, read_probability
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Spec, Valued, among_text
from optimaldp.questions.columns import BinAnswer, Binning, read_binning
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.kinds.of_bins import OfBins
from optimaldp.questions.kinds.quantile import Quantile, bins_of_ranks, draft_of_bins
from optimaldp.questions.literals import check_among, check_column, read_list, write_column
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.questions.sheets import AMONG, BANDS, Blank, Sheet
from optimaldp.questions.words import asked_of, column_words, listed, percent
from optimaldp.sampling import BitSource


@dataclass(frozen=True, repr=False)
class Quantiles(OfBins[dict[str, BinAnswer]]):
    """The bins of several quantiles of one column, in order."""

    column: str
    ranks: tuple[Fraction, ...]
    binning: Binning
    among: str | None = None

    @property
    def answers(self) -> None:
        return None

    def truth(self, counts: Valued) -> int:
        raise QuestionError("question", str(self), "has several true answers", "ask for one quantile")

    def flips(self, counts: Valued, neighbours: Neighbours) -> Moves:
        return min(Quantile(self.column, rank, self.binning).flips(counts, neighbours) for rank in self.ranks)

    def restored(self, answer: Any) -> dict[str, BinAnswer]:
        return {rank: self.binning.named(name) for rank, name in answer.items()}

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if setting.personal:
            raise QuestionError("levels", str(self), "cannot honour personal levels", "ask for one quantile")
        # What the two halves cost together is proven for a replaced record only.
        joint = setting.neighbours is Neighbours.SUBSTITUTION
        laws = several_quantiles(self.binning.bins, self.ranks, setting.level, persons=setting.people, joint=joint)
        return SeveralRanks(self, setting, laws)

    def published_mechanism(self, setting: Setting, document: Mapping[str, Any]) -> QuestionMechanism:
        made = self.mechanism(setting)
        assert isinstance(made, SeveralRanks)
        if isinstance(made.chosen, JointQuartiles):
            return made
        version = read_version(document)
        laws = tuple(replace(law, version=version) for law in made.chosen.laws)
        return replace(made, chosen=replace(made.chosen, laws=laws))

    def spec(self) -> Spec:
        return {"kind": "quantiles", "ranks": self.ranks, "bins": self.binning.bins, "among": self.among is not None}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return replace(_first(self), among=self.among).notes(neighbours)

    def words(self) -> str:
        ranks = listed([percent(rank) for rank in self.ranks], "and")
        return asked_of(self.among, f"up to which bands of {column_words(self.column)} do {ranks} of the people lie?")

    def __str__(self) -> str:
        ranks = ", ".join(map(fraction_text, self.ranks))
        return f"quantiles({write_column(self.column)}, [{ranks}], {self.binning}{among_text(self.among)})"


def _first(question: Quantiles) -> Quantile:
    return Quantile(question.column, question.ranks[0], question.binning)


@dataclass(frozen=True)
class SeveralRanks(QuestionMechanism):
    """One law for each rank, or the quartiles jointly: whichever public numbers choose."""

    chosen: RepeatedQuantiles | JointQuartiles

    listed = False

    @property
    def name(self) -> str:
        return "quartiles jointly" if isinstance(self.chosen, JointQuartiles) else "several ranks"

    def laws(self) -> tuple[QuantileLaw, ...]:
        """Every law that may be drawn from, as the referee examines them."""
        if isinstance(self.chosen, RepeatedQuantiles):
            return self.chosen.laws
        bins = self.chosen.bins
        halves = [
            half
            for median in {0, bins // 2, bins - 1}
            for half in (self.chosen.lower(median), self.chosen.upper(median))
        ]
        return (self.chosen.middle, *(half for half in halves if half is not None))

    def law(self, table: Table) -> Law:
        raise QuestionError("question", str(self.question), "has a law for each of its ranks")

    def draw(self, table: Table, source: BitSource) -> Answer:
        question: Any = self.question
        drawn = self.chosen.draw(dict(question.fold(table.cells).values), source, reread=second_reading)
        return {fraction_text(rank): question.binning.name(place) for rank, place in zip(question.ranks, drawn)}

    def possible(self, answer: object) -> bool:
        question: Any = self.question
        if not isinstance(answer, Mapping) or list(answer) != [fraction_text(rank) for rank in question.ranks]:
            return False
        places = [question.binning.place(name) for name in answer.values()]
        return None not in places and places == sorted(places)

    @property
    def proof(self) -> str:
        if isinstance(self.chosen, RepeatedQuantiles):
            return "each rank has a law that is private for its part of the level, and the parts add up to the whole"
        return (
            "the median at half of the level; a replaced record shifts the ranks of the two halves by at most 1 in all"
        )

    def parameters(self) -> dict[str, Any]:
        return {
            "bins": self.chosen.to_document().get("bins", self.laws()[0].bins),
            "ranks": [*map(fraction_text, self.chosen.ranks)],
            **({} if self.laws()[0].version == 1 else {"law": self.laws()[0].version}),
        }

    def reliability(self) -> str:
        asked: Any = self.question
        law, parts = self.laws()[0], 2 if isinstance(self.chosen, JointQuartiles) else len(asked.ranks)
        # A little less than its part of epsilon, which may have no exact form of its own: nothing is promised too much.
        own = Fraction(float(law.level.epsilon)) / parts * (1 - Fraction(1, 10**12))
        setting = replace(self.setting, level=approximate(Epsilon.read(own), law.level.delta))
        said = Quantile(asked.column, law.rank, asked.binning).accuracy(setting).sentence()
        return f"The quantile {fraction_text(law.rank)}, with 1/{parts} of epsilon: {said[0].lower()}{said[1:]}"


def quantiles(
    column: str,
    ranks: Iterable[Any],
    *,
    bins: Iterable[Any] | None = None,
    range: object = None,
    step: object = None,
    among: str | None = None,
) -> Quantiles:
    """Which public bins hold the quantiles *ranks* of *column*? One question, one spend, answers in order.

    *bins*, *range*, *step* and *among* as in :func:`~optimaldp.questions.quantile`.

    >>> str(quantiles("age", [0.25, 0.75], range=[0, 120], step=1))
    'quantiles(age, [0.25, 0.75], range=[0, 120], step=1)'
    """
    read = tuple(read_probability(rank, name="quantiles", error=QuestionError) for rank in ranks)
    if not read or list(read) != sorted(set(read)) or read[0] == 0:
        shown = [fraction_text(rank) for rank in read]
        raise QuestionError(
            "quantiles", shown, "are not different ranks above 0 in rising order", "write [0.25, 0.5, 0.75]"
        )
    if bins is None and range is None:
        draft: Quantiles = draft_of_bins(
            "quantiles", column, f"[{', '.join(map(fraction_text, read))}]", step, None, among
        )
        return draft
    binning = read_binning(bins, range, step)
    if binning.bins == 1:
        raise QuestionError("bins", str(binning), "leave one answer, which is known without data", "name more edges")
    return Quantiles(check_column(column), read, binning, check_among(among))


def _read(call: Call) -> Quantiles:
    call.only(arguments=range(2, 4), named=("bins", "range", "step"))
    named: Mapping[str, Any] = bins_of_ranks(call, 2)
    return quantiles(call.column(), read_list(call.arguments[1]), **named, among=call.among)


FORMS = [Form("quantiles", "quantiles(age, [0.25, 0.5, 0.75], range=[0, 120], step=1)", _read)]

SHEETS = [
    Sheet(
        "quantiles",
        "Several quantiles together, such as the quartiles",
        "quantiles({column}, {ranks}, {bands}{among})",
        (
            Blank("column", "column", "Column", sample="age"),
            Blank(
                "ranks", "percents", "Percents", "separated by commas", sample="[0.25, 0.5, 0.75]", start="25, 50, 75"
            ),
            BANDS,
            AMONG,
        ),
        order=42,
    )
]
