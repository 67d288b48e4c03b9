"""How many people have each option, or lie in each bin: the whole histogram."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, cast

from optimaldp.errors import QuestionError
from optimaldp.histograms.error import many_bins_error
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.prior_text import read_prior_text, write_prior
from optimaldp.histograms.public_error import expected_error
from optimaldp.histograms.release import keep_chance
from optimaldp.histograms.remaps.choosing import REMAPS
from optimaldp.laws.law import Cells, Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, precision
from optimaldp.questions.base import Question, Spec, among_text, counts_for, outside_last
from optimaldp.questions.columns import Binning, outside_apart, read_binning
from optimaldp.questions.completeness import leaves_nobody_out
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.kinds.of_options import OfOptions
from optimaldp.questions.kinds.quantile import named_bins
from optimaldp.questions.literals import (
    answer_text,
    check_among,
    check_column,
    check_options,
    edge_text,
    write_column,
    write_option,
)
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.noisy_counts import FiniteCounts, KeptCounts, NoisyCounts
from optimaldp.questions.sheets import AMONG, COLUMN, OPTIONS, Sheet
from optimaldp.questions.words import asked_of, column_words, listed
from optimaldp.results import Given
from optimaldp.tables.schema import Schema
from optimaldp.tables.tally import Bins, Option, Reading, Steps

EVERYONE_ELSE = "(everyone else)"

_BITS = 96
_FEW_PEOPLE = 30  # for whom the finite optimum of two bins is written out, too


@dataclass(frozen=True, repr=False)
class Histogram(OfOptions[Given]):
    """How many people have each option: the whole histogram, with everybody else as one more protected bin.

    That bin is left out where the schema rules it out, or where *everyone_else* is false, which the schema must allow.
    """

    binning: Binning | None = None
    prior: str | None = None
    """A public belief about the counts, everybody else's included, as its text."""
    remap: str | None = None
    keep_total: bool | None = None
    optimum: bool = False
    """Whether the finite optimum itself is drawn from, which few people in few bins allow."""
    everyone_else: bool | None = None
    """Whether there is a last bin for everybody else; ``None`` until a table's schema says whether it is needed."""
    ends: bool = False
    """Whether values outside of the bins are counted in the end bins; otherwise they are with everybody else."""

    @property
    def readings(self) -> tuple[Reading, ...]:  # type: ignore[override]
        if self.binning is None:
            return super().readings
        return (outside_apart(cast(Bins | Steps, self.binning.reading(self.column)), self.ends),)

    @property
    def answers(self) -> tuple[str, ...] | None:
        return self._bin_names

    @cached_property
    def _bin_names(self) -> tuple[str, ...] | None:
        # Kept: there may be a million of them, and everything that follows asks.
        if self.binning is not None:
            names: tuple[str, ...] = tuple(str(self.binning.name(place)) for place in range(self.binning.bins))
            if self.ends and len(names) > 1:
                low, high = (edge_text(self.binning.edge(place)) for place in (1, self.binning.bins - 1))
                names = (f"below {low}", *names[1:-1], f"{high} and above")
        elif self.options is not None:
            names = tuple(map(answer_text, self.options))
        else:
            return None
        return names if self.closed else (*names, EVERYONE_ELSE)

    @property
    def closed(self) -> bool:
        """Whether there is no bin for everybody else."""
        return self.everyone_else is False

    def _named(self) -> int:
        return self.binning.bins if self.binning is not None else len(self.known_options())

    def _size(self) -> int:
        return self._named() + (not self.closed)

    def fold(self, cells: Cells) -> tuple[int, ...]:
        named = self._named()
        own = outside_last(cells, named + 1, self.among)
        if self.closed and own.get(named):
            # A schema can promise too much: whoever has none of the values all the same must still be in exactly one bin.
            own[0] = own.get(0, 0) + own.pop(named)
        return tuple(own.get(cell, 0) for cell in range(self._size()))

    def read_counts(self, counts: Sequence[int]) -> tuple[int, ...]:
        return counts_for(self, counts, wanted=self._size(), least=self._named())

    asks_the_schema = True

    def settled(self, schema: Schema, *, everybody_has_a_row: bool) -> Self:
        column = schema[self.column]
        if self.binning is None and self.options is None and column.steps is not None:
            low, high, step = column.steps
            binned = replace(self, binning=read_binning(None, [low, high], step))
            return binned.settled(schema, everybody_has_a_row=everybody_has_a_row)
        values = (self.options or column.options or ()) if self.binning is None else range(self.binning.bins)
        complete = everybody_has_a_row and self.among is None and leaves_nobody_out(self.readings[0], column)
        if self.closed and not complete:
            rule = "would leave out a bin that the schema does not rule out"
            remedy = (
                "leave it out, unless every row is a person and the column's type lists all values and allows no NULL"
            )
            raise QuestionError("everyone_else", str(self), rule, remedy)
        # A prior with an entry for everybody else says that they are wanted.
        wanted = self.everyone_else is None and len(values) > 1 and _bins_of(self.belief()) != len(values) + 1
        return replace(self, everyone_else=False) if complete and wanted else self

    def truth(self, counts: object) -> int:
        raise QuestionError("question", str(self), "has no single true answer")

    def flips(self, counts: object, neighbours: Neighbours) -> Moves:
        raise QuestionError("question", str(self), "has no flips", "a histogram changes with every person")

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        if self.closed and setting.personal:
            remedy = "leave it out: people who are not kept by their level are counted there"
            raise QuestionError("everyone_else", str(self), "does not go with levels", remedy)
        if self.optimum and not self._by_closed_form(setting):
            return FiniteCounts(self, setting)
        return (KeptCounts if setting.personal else NoisyCounts)(self, setting)

    def _by_closed_form(self, setting: Setting) -> bool:
        """Whether noise and the posterior median are the finite optimum: for two bins, at any number of people."""
        plain = self.remap is None and self.keep_total is None and not setting.personal
        many = setting.people is not None and setting.people > _FEW_PEOPLE
        return plain and many and self._size() == 2 and setting.neighbours is Neighbours.SUBSTITUTION

    def belief(self) -> Any:
        """The prior as a release takes it."""
        if self.prior is None:
            return "uniform" if self.optimum else None
        return read_prior_text(self.prior)

    def expected_errors(self, setting: Setting) -> dict[str, float]:
        """Whoever is not kept is missing in one bin and too many in the last; then the noise at the loosest level."""
        if not setting.levels:
            return self._errors_at_one_level(setting)
        people = sum(size for _, size in setting.levels)
        loosest = setting.level.epsilon

        def off(epsilon: Epsilon, missing: float) -> float:
            noise = 2.0 * people if epsilon.is_zero else expected_error(self._size(), epsilon=epsilon, people=people)
            return min(2.0 * people, noise + 2 * missing)

        with precision(_BITS):
            unkept = sum(
                (size * (1 - keep_chance(own, loosest)) for own, size in setting.levels if own < loosest), Ball(0)
            )
        return {
            "each kept by their level": off(loosest, float(unkept)),
            "strictest for all": off(setting.levels[0][0], 0),
            "strict left out": off(loosest, sum(size for own, size in setting.levels if own < loosest)),
        }

    def _errors_at_one_level(self, setting: Setting) -> dict[str, float]:
        bins, epsilon, people = self._size(), setting.level.epsilon, setting.people
        if self.optimum and people is not None and not self._by_closed_form(setting):
            return {"optimaldp": float(FiniteCounts(self, setting).found())}
        prior = self.belief() if self.remap in (None, "bayes") else None
        ours = expected_error(bins, epsilon=epsilon, neighbours=setting.neighbours, people=people, prior=prior)
        if setting.neighbours is not Neighbours.SUBSTITUTION:
            return {"optimaldp": ours}
        return {"optimaldp": ours, "independent Laplace noise": many_bins_error(bins, epsilon=epsilon)}

    def query_sentences(self, setting: Setting) -> tuple[str, ...]:
        bins, epsilon = self._size(), setting.level.epsilon
        if self.optimum or bins < 2:
            return ()
        one, half = (QueryError(bins, chosen, epsilon, setting.neighbours).quantile() for chosen in (1, bins // 2))
        sums = f"; the sum of {bins // 2} of the {bins} noisy counts by at most {half}" if bins > 3 else ""
        return (f"with 95 % a noisy count is off by at most {one} people{sums}",)

    @property
    def small_twin(self) -> Self:  # type: ignore[override]
        # Without what follows the noise: it is post-processing, and the referee looks at the noise.
        bare = replace(self, prior=None, remap="none", keep_total=None, optimum=False)
        if self.binning is not None:
            return bare if self.binning.bins <= 2 else replace(bare, binning=self.binning.first(2))
        options = self.known_options()
        return bare if len(options) <= 2 else replace(bare, options=options[:2])

    def spec(self) -> Spec:
        asked = {"kind": "histogram", "bins": self._size(), "among": self.among is not None}
        return asked | ({"everyone_else": False} if self.closed else {})

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        if self.closed:
            return ("the table's schema rules out any other value; one that there is all the same counts as the first",)
        return (f"people without one of these options are counted in the last bin, {EVERYONE_ELSE}, and are protected",)

    def words(self) -> str:
        column = column_words(self.column)
        if self.binning is not None:
            return asked_of(self.among, f"how many people are in each of {self.binning.bins:,} bands of {column}?")
        values = "" if self.options is None else f": {listed([*map(answer_text, self.options)], 'or')}"
        return asked_of(self.among, f"how many people have each value of {column}{values}?")

    def __str__(self) -> str:
        listed = [] if self.options is None else [f"[{', '.join(map(write_option, self.options))}]"]
        more = [] if self.binning is None else [str(self.binning)]
        more += [] if self.prior is None else [f"prior={self.prior}"]
        more += [] if self.remap is None else [f"remap='{self.remap}'"]
        more += [] if self.keep_total is None else [f"keep_total={str(self.keep_total).lower()}"]
        more += ["optimum=true"] if self.optimum else []
        more += [] if self.everyone_else is None else [f"everyone_else={str(self.everyone_else).lower()}"]
        more += ["outside='ends'"] if self.ends else []
        return f"histogram({', '.join([write_column(self.column), *listed, *more])}{among_text(self.among)})"


def _bins_of(belief: Any) -> int | None:
    """For how many bins a prior is meant; ``None`` where it fits any number."""
    if belief is None or isinstance(belief, str):
        return None
    return len(belief) if isinstance(belief, list) else int(belief.bins)


def histogram(
    column: str,
    options: Iterable[Option] | None = None,
    *,
    bins: Iterable[Any] | None = None,
    range: object = None,
    step: object = None,
    among: str | None = None,
    prior: object = None,
    remap: str | None = None,
    keep_total: bool | None = None,
    optimum: bool = False,
    everyone_else: bool | None = None,
    outside: str | None = None,
) -> Histogram[dict[str, int]]:
    """How many people have each of the public *options* in *column*, or lie in each of its public *bins*?

    *range* and *step* name equal bins. *among*: count only people with this condition.

    >>> str(histogram("vote", ["Clinton", "Dole"]))
    "histogram(vote, ['Clinton', 'Dole'])"

    Values outside of the bins are "(everyone else)"; *outside* ``"ends"`` counts them in the end bins, which are then called
    "below 40" and "80 and above".

    *prior*, *remap* and *keep_total* are those of :func:`optimaldp.histograms.private_histogram`; a prior has one entry for each
    bin and one more for everybody else. *optimum* draws from the finite optimum itself (few people, few bins).

    *everyone_else*: the last bin, for people with none of these values. If not given it is left out where the schema rules such
    people out (each row is a person who is asked, and the column's type lists all values, or has only values that lie in a bin,
    and is never NULL); false insists on that and is refused otherwise; true keeps the bin. A record that breaks the schema's
    promise counts as the first value, so everybody is in one bin and is protected.
    """
    checked = check_options(options)
    if checked is not None and EVERYONE_ELSE in checked:
        raise QuestionError("option", EVERYONE_ELSE, "is the name of the last bin", "rename the option")
    named = bins is not None or range is not None
    if named and checked is not None:
        raise QuestionError("histogram", column, "has options and bins", "name one of them")
    binning = read_binning(bins, range, step) if named else None
    belief = None if prior is None else write_prior(read_prior_text(prior) if isinstance(prior, str) else prior)
    if remap is not None and remap not in REMAPS:
        raise QuestionError("remap", remap, "is not a remap", f"use one of {', '.join(REMAPS)}")
    made: Histogram[dict[str, int]] = Histogram(
        check_column(column),
        checked,
        check_among(among),
        binning,
        belief,
        remap,
        keep_total,
        optimum,
        everyone_else,
        _read_outside(outside, binning),
    )
    _check_closed(made)
    return made


def _read_outside(outside: str | None, binning: Binning | None) -> bool:
    if outside not in (None, "ends"):
        remedy = "leave it out, or write outside='ends'"
        raise QuestionError("outside", outside, "is not a place for values outside of bins", remedy)
    if outside is not None and binning is None:
        raise QuestionError("outside", outside, "goes with bins", "leave it out, or name bins")
    return outside is not None


def _check_closed(made: Histogram) -> None:
    if not made.closed:
        return
    if made.among is not None:
        remedy = "leave it out: people who are not asked are counted there"
        raise QuestionError("everyone_else", str(made), "does not go with among", remedy)
    if made.answers is not None and len(made.answers) < 2:
        raise QuestionError(
            "everyone_else", str(made), "would leave one bin", "name at least two values, or leave it out"
        )


_MAPPING = ("prior", "remap", "keep_total", "optimum", "everyone_else", "outside")


def _read(call: Call) -> Question:
    from optimaldp.questions.kinds.crosstab import is_crossed, read_crossed

    if is_crossed(call):
        return read_crossed(call)
    call.only(arguments=range(1, 3), named=("bins", "range", "step", *_MAPPING))
    more = {name: _read_mapping(call, name) for name in _MAPPING if name in call.named}
    binned = replace(call, named={name: text for name, text in call.named.items() if name not in _MAPPING})
    if binned.named:
        return histogram(call.column(), call.options(1), **named_bins(binned, 9), among=call.among, **more)
    return histogram(call.column(), call.options(1), among=call.among, **more)


def _read_mapping(call: Call, name: str) -> Any:
    text = call.named[name]
    if name in ("prior", "remap", "outside"):
        return text if name == "prior" else text.strip("'\"")
    if text.lower() not in ("true", "false"):
        raise QuestionError(name, text, "is neither true nor false", f"write {name}=true")
    return text.lower() == "true"


FORMS = [Form("histogram", "histogram(vote, ['a', 'b', 'c'])", _read)]

SHEETS = [
    Sheet(
        "histogram",
        "How many people have each option?",
        "histogram({column}, {options}{among})",
        (COLUMN, OPTIONS, AMONG),
        order=11,
    )
]
