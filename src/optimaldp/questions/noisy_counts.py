"""How a histogram is answered: noise on every count, the finite optimum, or people kept by their own levels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from optimaldp.errors import LevelError, QuestionError
from optimaldp.histograms.finite.optimum import FiniteOptimum, finite_optimum
from optimaldp.histograms.keeping import Kept, thinned
from optimaldp.histograms.noise import HistogramNoise
from optimaldp.histograms.noise.laplace import LaplaceNoise
from optimaldp.histograms.noise.recipes import NoiseRecipe, laplace_recipe, lattice_recipe
from optimaldp.histograms.prior_text import read_prior_text, write_prior
from optimaldp.histograms.release import check_mapping, private_histogram
from optimaldp.laws.law import Law
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours
from optimaldp.questions.counted import ReleasedCounts
from optimaldp.questions.histogram_details import details_of_noise
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.sampling import BitSource


@dataclass(frozen=True)
class NoisyCounts(QuestionMechanism):
    """Noise on the lattice of histograms with this total, or independent noise under add-remove; then back to a histogram."""

    uses_delta = False  # delta buys nothing where the cells are known
    listed = False

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
        make = HistogramNoise if self.setting.neighbours is Neighbours.SUBSTITUTION else LaplaceNoise
        error = make(len(self.answers), self.setting.level.epsilon).expected_error()
        return f"All counts together are expected to be off by at most {float(error):.3g} people before anything is undone."


@dataclass(frozen=True)
class FiniteCounts(QuestionMechanism):
    """The mechanism with the least expected error at this number of people, from the linear program, drawn from exactly."""

    name = "finite optimum"
    uses_delta = False
    listed = False
    proof = "every pair of neighbouring histograms of this many people, for every answer, in exact arithmetic"
    optimality = (
        "no epsilon-DP mechanism has a smaller expected L1 error at this number of people under the prior "
        "(linear program)"
    )

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
        optimum = self.found()
        drawn = optimum.release(self.question.fold(table.cells), source=source)
        return ReleasedCounts.of(self.answers, drawn.counts, {"expected_error": float(optimum)})

    def reliability(self) -> str:
        off = float(self.found())
        return f"All counts together are expected to be off by {off:.3g} people under the prior, the least possible."


@lru_cache(maxsize=16)
def _optimum(bins: int, people: int, epsilon: str, prior: str) -> FiniteOptimum:
    return finite_optimum(bins, people, epsilon=epsilon, prior=read_prior_text(prior))


@dataclass(frozen=True)
class KeptCounts(NoisyCounts):
    """People with levels of their own: each is kept with a probability by their level, the others join everybody else."""

    name = "kept counts"
    optimality = "not claimed"

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
