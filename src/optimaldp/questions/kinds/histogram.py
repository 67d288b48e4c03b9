"""How many people have each option, or lie in each bin: the whole histogram."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

from optimaldp.errors import LevelError, QuestionError
from optimaldp.histograms.finite.optimum import FiniteOptimum, finite_optimum
from optimaldp.histograms.keeping import Kept, keep_chance, thinned
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.prior_text import read_prior_text, write_prior
from optimaldp.histograms.release import check_mapping, private_histogram
from optimaldp.histograms.remaps.naming import REMAPS
from optimaldp.laws.chain import Moves
from optimaldp.laws.law import Law
from optimaldp.laws.setting import Cells, Setting, Table
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, precision
from optimaldp.questions.base import Question, Spec, among_text, counts_for, outside_last
from optimaldp.questions.binning import Binning, read_binning
from optimaldp.questions.counted import ReleasedCounts, details_of_noise
from optimaldp.questions.forms import Call, Form
from optimaldp.questions.kinds.of_options import OfOptions
from optimaldp.questions.kinds.quantile import named_bins
from optimaldp.questions.literals import (
    answer_text,
    check_among,
    check_column,
    check_options,
    write_column,
    write_option,
)
from optimaldp.questions.mechanism import Answer, Mechanism
from optimaldp.questions.sheets import AMONG, COLUMN, OPTIONS, Sheet
from optimaldp.sampling import BitSource
from optimaldp.tables.tally import Option, Reading

EVERYONE_ELSE = "(everyone else)"

_BITS = 96


@dataclass(frozen=True, repr=False)
class Histogram(OfOptions):
    """How many people have each option: the whole histogram, with everybody else as one more protected bin."""

    binning: Binning | None = None
    prior: str | None = None
    """A public belief about the counts, everybody else's included, as its text."""
    remap: str | None = None
    keep_total: bool | None = None
    optimum: bool = False
    """Whether the finite optimum itself is drawn from, which few people in few bins allow."""

    @property
    def readings(self) -> tuple[Reading, ...]:  # type: ignore[override]
        return super().readings if self.binning is None else (self.binning.reading(self.column),)

    @property
    def answers(self) -> tuple[str, ...] | None:
        if self.binning is not None:
            return (*(str(self.binning.name(place)) for place in range(self.binning.bins)), EVERYONE_ELSE)
        return None if self.options is None else (*map(answer_text, self.options), EVERYONE_ELSE)

    def _size(self) -> int:
        return self.binning.bins + 1 if self.binning is not None else len(self.known_options()) + 1

    def fold(self, cells: Cells) -> tuple[int, ...]:
        own = outside_last(cells, self._size(), self.among)
        return tuple(own.get(cell, 0) for cell in range(self._size()))

    def read_counts(self, counts: Sequence[int]) -> tuple[int, ...]:
        return counts_for(self, counts, wanted=self._size(), least=self._size() - 1)

    def truth(self, counts: Any) -> int:
        raise QuestionError("question", str(self), "has no single true answer")

    def flips(self, counts: Any, neighbours: Neighbours) -> Moves:
        raise QuestionError("question", str(self), "has no flips", "a histogram changes with every person")

    def mechanism(self, setting: Setting) -> Mechanism:
        if self.optimum:
            return FiniteCounts(self, setting)
        return (KeptCounts if setting.personal else NoisyCounts)(self, setting)

    def belief(self) -> Any:
        """The prior as a release takes it."""
        return None if self.prior is None else read_prior_text(self.prior)

    def expected_errors(self, setting: Setting) -> dict[str, float]:
        """Whoever is not kept is missing in one bin and too many in the last; then the noise at the loosest level."""
        from optimaldp.histograms.public_error import expected_error

        if not setting.levels:
            return self._errors_at_one_level(setting)
        people = sum(size for _, size in setting.levels)
        loosest = setting.level.epsilon

        def off(epsilon: Epsilon, missing: float) -> float:
            noise = 2.0 * people if epsilon.is_zero else expected_error(self._size(), epsilon=epsilon, people=people)
            return min(2.0 * people, noise + 2 * missing)

        with precision(_BITS):
            left = sum(
                (size * (1 - keep_chance(own, loosest)) for own, size in setting.levels if own < loosest), Ball(0)
            )
        return {
            "each kept by their level": off(loosest, float(left)),
            "strictest for all": off(setting.levels[0][0], 0),
            "strict left out": off(loosest, sum(size for own, size in setting.levels if own < loosest)),
        }

    def _errors_at_one_level(self, setting: Setting) -> dict[str, float]:
        from optimaldp.histograms.error import many_bins_error
        from optimaldp.histograms.public_error import expected_error

        bins, epsilon, people = self._size(), setting.level.epsilon, setting.people
        if self.optimum and people is not None:
            return {"optimaldp": float(FiniteCounts(self, setting).found())}
        ours = expected_error(bins, epsilon=epsilon, neighbours=setting.neighbours, people=people)
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

    def small_twin(self) -> Self:
        # Without what follows the noise: it is post-processing, and the referee looks at the noise.
        bare = replace(self, prior=None, remap="none", keep_total=None, optimum=False)
        if self.binning is not None:
            return bare if self.binning.bins <= 2 else replace(bare, binning=self.binning.first(2))
        options = self.known_options()
        return bare if len(options) <= 2 else replace(bare, options=options[:2])

    def spec(self) -> Spec:
        return {"kind": "histogram", "bins": self._size(), "among": self.among is not None}

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        return (f"people without one of these options are counted in the last bin, {EVERYONE_ELSE}, and are protected",)

    def __str__(self) -> str:
        listed = [] if self.options is None else [f"[{', '.join(map(write_option, self.options))}]"]
        more = [] if self.binning is None else [str(self.binning)]
        more += [] if self.prior is None else [f"prior={self.prior}"]
        more += [] if self.remap is None else [f"remap='{self.remap}'"]
        more += [] if self.keep_total is None else [f"keep_total={str(self.keep_total).lower()}"]
        more += ["optimum=true"] if self.optimum else []
        return f"histogram({', '.join([write_column(self.column), *listed, *more])}{among_text(self.among)})"


@dataclass(frozen=True)
class NoisyCounts(Mechanism):
    """Noise on the lattice of histograms with this total, or independent noise under add-remove; then back to a histogram."""

    def __post_init__(self) -> None:
        if self.setting.level.epsilon.is_zero:  # here, so that nothing is spent before it is noticed
            raise LevelError("epsilon", "0", "needs noise without bound in a histogram", "name a positive epsilon")
        question: Any = self.question
        if question.answers is not None:  # a prior or remap that does not fit is refused by public things alone
            check_mapping(len(question.answers), question.belief(), question.remap, self.setting.neighbours)

    @property
    def name(self) -> str:
        return "lattice noise" if self.setting.neighbours is Neighbours.SUBSTITUTION else "independent noise"

    @property
    def spent(self) -> ApproximateDP:
        return approximate(self.setting.level.epsilon)  # delta buys nothing where the cells are known

    @property
    def listed(self) -> bool:
        return False

    def recipe(self) -> dict[str, Any]:
        """How the noise is made, as the referee reads it."""
        from optimaldp.histograms.noise.recipes import laplace_recipe, lattice_recipe

        make = lattice_recipe if self.setting.neighbours is Neighbours.SUBSTITUTION else laplace_recipe
        return make(len(self.answers), self.setting.level.epsilon).to_document()

    def law(self, table: Table) -> Law:
        raise QuestionError("question", str(self.question), "has no finite list of answers")

    def draw(self, table: Table, source: BitSource) -> Answer:
        return self._noisy(self.question.fold(table.cells), source)

    def _noisy(self, counts: tuple[int, ...], source: BitSource) -> Answer:
        question: Any = self.question
        drawn = private_histogram(
            counts,
            epsilon=self.setting.level.epsilon,
            neighbours=self.setting.neighbours,
            prior=question.belief(),
            remap=question.remap,
            keep_total=question.keep_total,
            source=source,
        )
        return ReleasedCounts.of(self.answers, drawn.counts, details_of_noise(drawn))

    @property
    def proof(self) -> str:
        if self.setting.neighbours is Neighbours.SUBSTITUTION:
            return "geometric noise on the lattice of histograms with this total, then post-processing (paper 002)"
        return "independent discrete Laplace noise on every count, then post-processing"

    @property
    def optimality(self) -> str:
        if self.setting.neighbours is Neighbours.SUBSTITUTION:
            return "for large tables no epsilon-DP mechanism has a smaller expected L1 error over the bins that are possible"
        question: Any = self.question
        if question.prior is not None and question.remap in (None, "bayes"):
            return (
                "if the bins are independent and follow the prior that is named, no epsilon-DP mechanism has a smaller expected "
                "L1 error"
            )
        return "not claimed"

    def reliability(self) -> str:
        from optimaldp.histograms.noise import HistogramNoise
        from optimaldp.histograms.noise.laplace import LaplaceNoise

        make = HistogramNoise if self.setting.neighbours is Neighbours.SUBSTITUTION else LaplaceNoise
        error = make(len(self.answers), self.setting.level.epsilon).expected_error()
        return f"All counts together are expected to be off by at most {float(error):.3g} people before anything is undone."


@dataclass(frozen=True)
class FiniteCounts(Mechanism):
    """The mechanism with the least expected error at this number of people, from the linear program, drawn from exactly."""

    def __post_init__(self) -> None:
        question: Any = self.question
        for refused, rule, remedy in (
            (self.setting.level.epsilon.is_zero, "needs a positive epsilon", "name one"),
            (
                self.setting.neighbours is not Neighbours.SUBSTITUTION,
                "is for a public number of people",
                "leave it out",
            ),
            (self.setting.personal, "has one level for everybody", "leave it out, or ask without levels"),
            (
                question.remap is not None or question.keep_total is not None,
                "has nothing to map back",
                "leave out remap",
            ),
        ):
            if refused:
                raise QuestionError("optimum", str(question), rule, remedy)

    @property
    def name(self) -> str:
        return "finite optimum"

    @property
    def spent(self) -> ApproximateDP:
        return approximate(self.setting.level.epsilon)

    @property
    def listed(self) -> bool:
        return False

    def found(self) -> FiniteOptimum:
        """The optimum for this many people: public numbers only."""
        if self.setting.people is None:
            raise QuestionError("optimum", str(self.question), "needs the number of people", "name n")
        question: Any = self.question
        belief = "uniform" if question.prior is None else question.belief()
        epsilon = str(self.setting.level.epsilon)
        return _optimum(len(self.answers), self.setting.people, epsilon, write_prior(belief))

    def rows(self) -> tuple[Any, Any, Any]:
        """Every histogram, and the probabilities ``values[places[true][released]]``: what the referee examines."""
        optimum = self.found()
        return optimum.program.graph.vertices, optimum.values, optimum.program.orbit_of

    def law(self, table: Table) -> Law:
        raise QuestionError("question", str(self.question), "has no short list of answers")

    def draw(self, table: Table, source: BitSource) -> Answer:
        optimum = self.found()
        drawn = optimum.release(self.question.fold(table.cells), source=source)
        return ReleasedCounts.of(self.answers, drawn.counts, {"expected_error": float(optimum)})

    @property
    def proof(self) -> str:
        return "every pair of neighbouring histograms of this many people, for every answer, in exact arithmetic"

    @property
    def optimality(self) -> str:
        return "no epsilon-DP mechanism has a smaller expected L1 error at this number of people under the prior (linear program)"

    def reliability(self) -> str:
        off = float(self.found())
        return f"All counts together are expected to be off by {off:.3g} people under the prior, the least possible."


@lru_cache(maxsize=16)
def _optimum(bins: int, people: int, epsilon: str, prior: str) -> FiniteOptimum:
    return finite_optimum(bins, people, epsilon=epsilon, prior=read_prior_text(prior))


@dataclass(frozen=True)
class KeptCounts(NoisyCounts):
    """People with levels of their own: each is kept with a probability by their level, the others join everybody else."""

    @property
    def name(self) -> str:
        return "kept counts"

    def keeps(self) -> Kept:
        """Who of a table is kept: the code that a draw uses, shown to the referee too."""
        return thinned

    def draw(self, table: Table, source: BitSource) -> Answer:
        last = len(self.answers) - 1
        by_level = [(epsilon, dict(enumerate(self.question.fold(cells)))) for epsilon, cells in table.by_level]
        kept = thinned(by_level, self.setting.level.epsilon, everybody_else=last)
        return self._noisy(tuple(kept.get(cell, 0) for cell in range(last + 1)), source)

    @property
    def proof(self) -> str:
        return (
            "a person is kept with probability (e^own - 1)/(e^epsilon - 1), so what is said about them changes by at most "
            f"e^own; then {super().proof}"
        )

    @property
    def optimality(self) -> str:
        return "not claimed"

    def reliability(self) -> str:
        question: Any = self.question
        off = question.expected_errors(self.setting)["each kept by their level"]
        return (
            f"All counts together are expected to be off by at most {off:.3g} people, because some of the stricter people are "
            "counted with everybody else, and by the noise."
        )


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
) -> Histogram:
    """How many people have each of the public *options* in *column*, or lie in each of its public *bins*?

    *prior*, *remap* and *keep_total* are those of :func:`optimaldp.histograms.private_histogram`; a prior has one entry for each
    bin and one more for everybody else. *optimum* draws from the finite optimum itself (few people, few bins).
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
    return Histogram(check_column(column), checked, check_among(among), binning, belief, remap, keep_total, optimum)


_MAPPING = ("prior", "remap", "keep_total", "optimum")


def _read(call: Call) -> Question:
    call.only(arguments=range(1, 3), named=("bins", "range", "step", *_MAPPING))
    more = {name: _read_mapping(call, name) for name in _MAPPING if name in call.named}
    binned = replace(call, named={name: text for name, text in call.named.items() if name not in _MAPPING})
    if binned.named:
        return histogram(call.column(), **named_bins(binned, 9), among=call.among, **more)
    return histogram(call.column(), call.options(1), among=call.among, **more)


def _read_mapping(call: Call, name: str) -> Any:
    text = call.named[name]
    if name in ("prior", "remap"):
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
        order=24,
    )
]
