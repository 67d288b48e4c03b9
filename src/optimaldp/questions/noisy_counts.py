"""A drawn histogram as details of its release, and back: the noisy table, the remap, what is expected to be off."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from optimaldp.errors import InputError, LevelError, QuestionError
from optimaldp.extras import numpy_if_installed
from optimaldp.histograms.finite.optimum import FiniteOptimum, finite_optimum
from optimaldp.histograms.margins import fitted_to_margins
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.noise.lattice_noise import HistogramNoise
from optimaldp.histograms.noise.recipes import NoiseRecipe, laplace_recipe, lattice_recipe
from optimaldp.histograms.prior_text import read_prior_text, write_prior
from optimaldp.histograms.public_error import least_possible
from optimaldp.histograms.release import (
    HistogramRelease,
    Kept,
    after_noise,
    check_mapping,
    private_histogram,
    thinned,
)
from optimaldp.laws.law import Law, Table
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import is_whole
from optimaldp.questions.columns import ReleasedCells, ReleasedCounts
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.sampling import BitSource


def details_of_noise(drawn: HistogramRelease) -> dict[str, Any]:
    """What a drawn histogram is made of: all of it may be published."""
    return {
        "noisy": list(drawn.noisy),
        "remap": drawn.remap,
        "reason": drawn.reason,
        "expected_error": drawn.expected_error(),
        "learned_error": drawn.learned_error,
        "error_interval": None if drawn.error_interval is None else list(drawn.error_interval),
        "least_possible": drawn.least_possible,
        "least_at_least": drawn.least_at_least,
        "gap": drawn.gap,
        "epsilon": str(drawn.epsilon),
        "neighbours": drawn.neighbours.value,
    }


def restored_histogram(counts: Mapping[str, int], details: object) -> HistogramRelease:
    """The histogram of a release, from its answer and what its statement keeps."""
    if not isinstance(details, Mapping) or "noisy" not in details:
        remedy = "only histograms with noise have one, and those that this version recorded"
        raise InputError("histogram", "this release", "has no noisy table", remedy)
    epsilon, relation = Epsilon.read(str(details["epsilon"])), Neighbours(details["neighbours"])
    return HistogramRelease(
        tuple(counts.values()),
        tuple(map(int, details["noisy"])),
        tuple(counts),
        epsilon,
        relation,
        str(details["remap"]),
        _noise_of(len(counts), epsilon, relation),
        str(details["reason"]),
        details["learned_error"],
        _pair(details.get("error_interval")),
        details.get("least_possible"),
        details.get("least_at_least"),
    )


def _noise_of(bins: int, epsilon: Epsilon, relation: Neighbours) -> HistogramNoise | LaplaceNoise:
    return (HistogramNoise if relation is Neighbours.SUBSTITUTION else LaplaceNoise)(bins, epsilon)


def _pair(interval: Any) -> tuple[float, float] | None:
    return None if interval is None else (float(interval[0]), float(interval[1]))


# How a histogram is answered: noise on every count, the finite optimum, or people kept by their own levels.


@dataclass(frozen=True)
class NoisyCounts(QuestionMechanism):
    """Noise on the lattice of histograms with this total, or independent noise under add-remove; then back to a histogram."""

    uses_delta = False  # delta buys nothing where the cells are known
    listed = False

    follows_by_arrays = True

    def __post_init__(self) -> None:
        if self.setting.level.epsilon.is_zero:  # here, so that nothing is spent before it is noticed
            raise LevelError("epsilon", "0", "needs noise without bound in a histogram", "name a positive epsilon")
        question: Any = self.question
        if question.answers is not None:  # a prior or remap that does not fit is refused by public things alone
            check_mapping(len(question.answers), question.belief(), question.remap, self.setting.neighbours)

    @property
    def name(self) -> str:
        return "lattice noise" if self.setting.neighbours is Neighbours.SUBSTITUTION else "independent noise"

    def recipe(self) -> dict[str, Any]:
        """How the noise is made, as the referee reads it."""
        return self.noise().to_document()

    def noise(self) -> NoiseRecipe:
        """The parts that a draw puts together, shown to the referee too."""
        make = lattice_recipe if self.setting.neighbours is Neighbours.SUBSTITUTION else laplace_recipe
        return make(len(self.answers), self.setting.level.epsilon)

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
            keep_total=self.keeps_total,
            source=source,
        )
        return self._answered(drawn)

    def contradiction(self, answer: object, written: Mapping[str, Any]) -> str:
        """What is shown follows from the noisy table by public rules: it is worked out again."""
        if numpy_if_installed() is None:
            return ""
        details, question = written["histogram"], cast("Any", self.question)
        again = after_noise(
            details["noisy"],
            _noise_of(len(self.answers), self.setting.level.epsilon, self.setting.neighbours),
            self.setting.neighbours,
            prior=question.belief(),
            remap=question.remap,
            keep_total=self.keeps_total,
            labels=tuple(self.answers),
        )
        if len(details["noisy"]) != len(self.answers) or again.total not in (None, self.setting.people):
            return "its noisy table is not one of its question"
        shown = self._answered(again)
        if type(shown)(answer) != shown or not _alike(details, shown.details):
            return "what stands beside its noisy table does not follow from it"
        return ""

    @property
    def keeps_total(self) -> bool | None:
        """Whether the counts add up to the public number of people: a reader expects it unless the question names a remap."""
        question: Any = self.question
        expected = question.remap is None and question.prior is None and question.keep_total is None
        return True if expected and self.setting.neighbours is Neighbours.SUBSTITUTION else question.keep_total

    def _answered(self, drawn: HistogramRelease) -> Answer:
        return ReleasedCounts.of(self.answers, drawn.counts, details_of_noise(drawn))

    def possible(self, answer: object) -> bool:
        return _is_histogram(answer, self)

    @property
    def proof(self) -> str:
        if self.setting.neighbours is Neighbours.SUBSTITUTION:
            return "geometric noise on the lattice of histograms with this total, then post-processing (paper 002)"
        return "independent discrete Laplace noise on every count, then post-processing"

    @property
    def best(self) -> str | None:  # type: ignore[override]
        if self.setting.neighbours is Neighbours.SUBSTITUTION:
            return "finite optimum" if self._exactly_optimal() else "lattice noise"
        return "independent bins" if self._exactly_optimal() else None

    def _exactly_optimal(self) -> bool:
        """Whether no mechanism has a smaller expected error at this number of people, under the prior that is named."""
        question: Any = self.question
        if question.belief() is None or question.remap not in (None, "bayes") or self.setting.personal:
            return False
        return len(self.answers) == 2 or self.setting.neighbours is not Neighbours.SUBSTITUTION

    def reliability(self) -> str:
        if self._exactly_optimal() and (least := self._least()) is not None:
            return (
                f"All counts together are expected to be off by {least:.3g} people under the prior, the least possible."
            )
        noise = _noise_of(len(self.answers), self.setting.level.epsilon, self.setting.neighbours)
        return f"The noise on all counts together is expected to be at most {float(noise.expected_error()):.3g} people."

    def _least(self) -> float | None:
        question: Any = self.question
        setting = self.setting
        named: dict[str, Any] = {
            "epsilon": setting.level.epsilon,
            "neighbours": setting.neighbours,
            "people": setting.people,
        }
        return least_possible(len(self.answers), prior=question.belief(), **named)


@dataclass(frozen=True)
class FiniteCounts(QuestionMechanism):
    """The mechanism with the least expected error at this number of people, from the linear program, drawn from exactly."""

    name = "finite optimum"
    uses_delta = False
    listed = False
    proof = "every pair of neighbouring histograms of this many people, for every answer, in exact arithmetic"
    best = "finite optimum"

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
        drawn = self.found().release(self.question.fold(table.cells), source=source)
        return ReleasedCounts.of(self.answers, drawn.counts, self._details())

    def _details(self) -> dict[str, Any]:
        return {"expected_error": float(self.found())}

    def contradiction(self, answer: object, written: Mapping[str, Any]) -> str:
        return "" if _alike(written["histogram"], self._details()) else "its expected error is not that of the optimum"

    def possible(self, answer: object) -> bool:
        return _is_histogram(answer, self)

    def reliability(self) -> str:
        off = float(self.found())
        return f"All counts together are expected to be off by {off:.3g} people under the prior, the least possible."


def _alike(written: Any, value: Any) -> bool:
    """Whether a document says this value, and nothing beside it; of numbers that floats make a part of 10^6 is left open."""
    if isinstance(value, dict):
        return set(written) == set(value) and all(_alike(written[name], one) for name, one in value.items())
    if isinstance(value, list):
        return len(written) == len(value) and all(map(_alike, written, value))
    if isinstance(value, float):
        return not isinstance(written, str) and math.isclose(written, value, rel_tol=_AS_GOOD)
    return type(written) is type(value) and bool(written == value)


_AS_GOOD = 1e-6


def _is_histogram(answer: object, mechanism: QuestionMechanism) -> bool:
    if not isinstance(answer, Mapping) or list(answer) != list(mechanism.answers):
        return False
    counts = list(answer.values())
    if not all(is_whole(count, 0) for count in counts):
        return False
    return _fits_total(counts, mechanism)


def _fits_total(counts: list[int], mechanism: QuestionMechanism) -> bool:
    """Where the total is not kept, whoever has a count too small to be told from noise may be left out; nobody is added."""
    people = mechanism.setting.people if mechanism.setting.neighbours is Neighbours.SUBSTITUTION else None
    if people is not None and isinstance(mechanism, NoisyCounts) and mechanism.keeps_total:
        return sum(counts) == people
    return people is None or sum(counts) <= people


@lru_cache(maxsize=16)
def _optimum(bins: int, people: int, epsilon: str, prior: str) -> FiniteOptimum:
    return finite_optimum(bins, people, epsilon=epsilon, prior=read_prior_text(prior))


@dataclass(frozen=True)
class KeptCounts(NoisyCounts):
    """People with levels of their own: each is kept with a probability by their level, the others join everybody else."""

    name = "kept counts"
    best = None

    def keeps(self) -> Kept:
        """Who of a table is kept: the code that a draw uses, shown to the referee too."""
        return thinned

    def draw(self, table: Table, source: BitSource) -> Answer:
        last = len(self.answers) - 1
        by_level = [(epsilon, dict(enumerate(self.question.fold(cells)))) for epsilon, cells in table.by_level]
        kept = thinned(by_level, self.setting.level.epsilon, everybody_else=last, source=source)
        return self._noisy(tuple(kept.get(cell, 0) for cell in range(last + 1)), source)

    @property
    def proof(self) -> str:
        return (
            "a person is kept with probability (e^own - 1)/(e^epsilon - 1), so what is said about them changes by at most "
            f"e^own; then {super().proof}"
        )

    def reliability(self) -> str:
        question: Any = self.question
        off = question.expected_errors(self.setting)["each kept by their level"]
        return (
            f"All counts together are expected to be off by at most {off:.3g} people, because some of the stricter people are "
            "counted with everybody else, and by the noise."
        )


@dataclass(frozen=True)
class CrossCounts(NoisyCounts):
    """Noise on every cell of a cross table; the counts shown are fitted to its margins, which are sums of noisy cells."""

    def _answered(self, drawn: HistogramRelease) -> Answer:
        question: Any = self.question
        raw = question.remap == "none"
        counts = drawn.counts
        if not raw:
            reach = drawn.query_error(1).quantile()
            counts = fitted_to_margins(counts, drawn.noisy, question.shape, drawn.total, reach=reach)
        return ReleasedCells.of(question.rows(counts), details_of_noise(drawn) | {"shape": list(question.shape)})

    def possible(self, answer: object) -> bool:
        question: Any = self.question
        counts = question.counts_of(answer)
        return counts is not None and (question.remap == "none" or min(counts) >= 0) and _fits_total(counts, self)


@dataclass(frozen=True)
class KeptCrossCounts(CrossCounts, KeptCounts):
    """The same for people with levels of their own."""

    name = "kept counts"
