"""How a question is answered at a level: a certified mechanism, public words about it, and a draw.

Everything here but :meth:`Answering.draw` depends on public things only: the question, its options, the level and the neighbours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.certify.findings import Certified, Finding
from optimaldp.certify.personal import examine_personal
from optimaldp.certify.questions import certified
from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.chain import Chain
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours
from optimaldp.privacy.balls import Ball
from optimaldp.questions import personal
from optimaldp.questions.base import Question
from optimaldp.questions.choices import Histogram, Winner
from optimaldp.questions.conditions import Moves
from optimaldp.questions.thresholds import Threshold
from optimaldp.sampling import BitSource, choose, choose_by_ends, choose_enclosed
from optimaldp.tables.tally import Counted

Enclosures = Callable[[], Sequence[Ball]]


@dataclass(frozen=True)
class Answering(ABC):
    """A question, its level and neighbours, ready to draw. Making one certifies the mechanism."""

    question: Question
    level: ApproximateDP
    neighbours: Neighbours

    @property
    def answers(self) -> tuple[str, ...]:
        listed = self.question.answers
        if listed is None:
            raise QuestionError(
                "options", None, f"is needed by {self.question}", "write the options out: they are public"
            )
        return listed

    @abstractmethod
    def draw(self, counted: Counted, source: BitSource) -> Any:
        """The private answer: the only thing computed from data that leaves."""

    @abstractmethod
    def statement(self) -> dict[str, Any]:
        """What is proven, in public words."""

    def finding(self) -> Finding | None:
        """What the referee of :mod:`optimaldp.certify` said, where it is asked here."""
        return None

    def _checked(self) -> list[str]:
        finding = self.finding()
        return list(finding.checks) if finding else []


@dataclass(frozen=True)
class AtDistance(Answering):
    """Yes/no questions, comparisons and quantiles: the closed form at the distance of the actual table."""

    @property
    def mechanism(self) -> Certified[Any]:
        return certified(Chain(self.level, len(self.answers)))

    def finding(self) -> Finding:
        return self.mechanism.finding

    def draw(self, counted: Counted, source: BitSource) -> str:
        truth = self.question.truth(counted.counts)
        distance = self.question.distance(counted.counts, self.neighbours)
        return self.answers[draw_at_distance(self.mechanism, truth, distance, source)]

    def statement(self) -> dict[str, Any]:
        answers = len(self.answers)
        heads = "two chains joined at their heads" if answers == 2 else f"{answers} chains whose heads all touch"
        boundary = "balanced boundary" if answers == 2 else "randomised response at the boundary"
        return {
            "mechanism": f"{boundary}, raised by the step function once for every further move",
            "distance": f"flips - 1; flips = least number of moves that change the answer; a move: {self.neighbours.words}",
            "boundary_graph": f"{heads}; every table goes to (its answer, its distance)",
            "optimal": f"greatest of all mechanisms at this level with the same {boundary}",
            "no_boundary": "where no move can change the answer it is given exactly: no neighbouring table has another one",
            "checked": self._checked(),
        }


def draw_at_distance(
    mechanism: Certified[Any], truth: int, distance: Moves, source: BitSource, *, first_bits: int = 64
) -> int:
    """Draw one answer's position. Only a certified mechanism is accepted."""
    if not isinstance(mechanism, Certified):
        raise TypeError("draw_at_distance needs a Certified mechanism")
    chain, last = mechanism.mechanism, mechanism.mechanism.answers - 1
    # The least preferred answer first, the true one last: the ends are what the more preferred answers leave.
    place = choose_by_ends(lambda place: chain.left(last - place, distance), last + 1, source, first_bits=first_bits)
    rank = last - place
    return truth if rank == 0 else rank - (rank <= truth)


@dataclass(frozen=True)
class ForWinner(Answering):
    """The winner: the flip envelope where it is proven, permute-and-flip elsewhere."""

    def draw(self, counted: Counted, source: BitSource) -> str:
        from optimaldp.laws.winner import draw_winner

        # A flip under add/remove or n = 0 needs no special case: the distribution itself is private everywhere.
        return self.answers[draw_winner(counted.counts[:-1], self.level, self.neighbours, source)]

    def statement(self) -> dict[str, Any]:
        from optimaldp.laws.winner import winner_claim

        claim = winner_claim(len(self.answers), self.level, self.neighbours)
        return {
            "mechanism": str(claim.mode),
            "optimal": "not claimed; no dataset is known where it is worse than permute-and-flip",
            "checked": [claim.proof, "chosen by the number of options, the level and the neighbours alone"],
        }


@dataclass(frozen=True)
class ForHistogram(Answering):
    """A whole histogram: noise on the lattice of histograms (or independent noise, add/remove), then back to one."""

    def __post_init__(self) -> None:
        if self.level.epsilon.is_zero:  # here, so that nothing is spent before it is noticed
            raise LevelError("epsilon", "0", "needs noise without bound in a histogram", "name a positive epsilon")

    def draw(self, counted: Counted, source: BitSource) -> dict[str, int]:
        from optimaldp.histograms import private_histogram

        drawn = private_histogram(counted.counts, epsilon=self.level.epsilon, neighbours=self.neighbours, source=source)
        return dict(zip(self.answers, map(int, drawn.counts)))

    def statement(self) -> dict[str, Any]:
        if self.neighbours is Neighbours.SUBSTITUTION:
            words = {
                "mechanism": "geometric noise on the lattice of histograms with this total, projected back to one of them",
                "optimal": "for large tables no epsilon-DP mechanism has a smaller expected L1 error; the projection adds none",
            }
        else:
            words = {
                "mechanism": "independent discrete Laplace noise on every count, negative ones raised to 0; no total is kept",
                "optimal": "not claimed",
            }
        return words | {
            "delta_used": "0",
            "checked": ["the referee accepts the noise before it is drawn; what follows is post-processing"],
        }


@dataclass(frozen=True)
class Personalised(Answering):
    """A threshold in which persons have levels of their own: public *levels* in rising order, *sizes* the persons of each."""

    levels: tuple[Epsilon, ...] = ()
    sizes: tuple[int, ...] = ()

    @property
    def mechanism(self) -> Certified[personal.PersonalLevels]:
        made = personal.PersonalLevels(self.levels)
        return Certified(made, examine_personal(made))

    def finding(self) -> Finding:
        return self.mechanism.finding

    def draw(self, counted: Counted, source: BitSource) -> str:
        assert isinstance(self.question, Threshold)
        where = personal.state(self.question, personal.read_levels(counted, self.level.epsilon))
        rule = self.mechanism.mechanism

        def probabilities() -> list[Ball]:
            error = rule.error(where.flips, where.available)
            return [error, 1 - error]

        wrong = choose_enclosed(probabilities, source) == 0
        return self.answers[1 - where.truth if wrong else where.truth]

    def statement(self) -> dict[str, Any]:
        return {
            "mechanism": "balanced boundary for persons with levels of their own: the cheapest flips decide",
            "levels": [str(epsilon) for epsilon in self.levels],
            "distance": f"the cheapest set of persons who could change the answer; a move: {self.neighbours.words}",
            "optimal": "the greatest balanced mechanism on the grid of counts by level",
            "public": "each person's level, and how many persons have it, are treated as public",
            "checked": self._checked(),
        }


@dataclass(frozen=True)
class OnGrid(Personalised):
    """The same with delta > 0: the design on the grid of counts, while it is small."""

    def finding(self) -> Finding:
        return self._grid().finding

    def _grid(self) -> Certified[Any]:
        from optimaldp.questions.personal_grid import grid_mechanism

        assert isinstance(self.question, Threshold)
        return grid_mechanism(self.question, self.levels, self.sizes, self.level.delta)

    def draw(self, counted: Counted, source: BitSource) -> str:
        from optimaldp.questions.personal_grid import point

        by_level = personal.read_levels(counted, self.level.epsilon)
        row = self._grid().mechanism[point([counts[0] for _, counts in by_level])]
        return self.answers[choose([row[answer] for answer in self.answers], source)]


def answering(question: Question, level: ApproximateDP, neighbours: Neighbours) -> Answering:
    """The certified way to answer *question*; raises before anything is drawn if it cannot be."""
    kinds: dict[type[Question], type[Answering]] = {Winner: ForWinner, Histogram: ForHistogram}
    made = kinds.get(type(question), AtDistance)(question, level, neighbours)
    made.statement()  # certifies, once for each level and number of answers
    return made


def answering_personally(
    question: Question, level: ApproximateDP, neighbours: Neighbours, persons: Sequence[tuple[Epsilon, int]]
) -> Answering:
    """As :func:`answering`, for persons with levels of their own: which levels, and how many persons have each, is public."""
    personal.check_personal(question, neighbours)
    levels, sizes = tuple(epsilon for epsilon, _ in persons), tuple(size for _, size in persons)
    kind = OnGrid if level.delta else Personalised
    made = kind(question, level, neighbours, levels, sizes)
    made.statement()
    return made


def hypothetical(question: Question, level: ApproximateDP, neighbours: Neighbours, counts: Sequence[int]) -> Enclosures:
    """The distribution of the answer for counts that the caller made up, as enclosures at the current precision."""
    cells = question.cells(counts)
    if isinstance(question, Winner):
        return _winner_enclosures(question, level, neighbours, cells)
    chain = Chain(level, len(AtDistance(question, level, neighbours).answers))
    truth, distance = question.truth(cells), question.distance(cells, neighbours)
    return lambda: chain.enclosures(truth, distance)


def _winner_enclosures(
    question: Winner, level: ApproximateDP, neighbours: Neighbours, cells: tuple[int, ...]
) -> Enclosures:
    from optimaldp.laws.winner import winner_claim
    from optimaldp.laws.winner.distribution import enclosed_probabilities

    claim = winner_claim(len(question.known_options()), level, neighbours)
    return lambda: enclosed_probabilities(cells[:-1], claim)
