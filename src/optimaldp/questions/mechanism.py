"""A question at a setting, ready to be examined by the referee and then drawn. Everything here but the draw is public."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Law, Setting, Table
from optimaldp.laws.votes import Chain
from optimaldp.privacy import ApproximateDP
from optimaldp.questions.base import Question
from optimaldp.questions.claims import optimality_sentence
from optimaldp.sampling import BitSource

Answer = Any
"""What is printed: a text, or a structure of texts and whole numbers."""


_DEPENDS_ON_WHO_DISAGREES = (
    "How reliable it is depends on whether stricter people disagree with the rest; a preview with level sizes shows the average "
    "and the worst case."
)


@dataclass(frozen=True)
class QuestionMechanism(ABC):
    """How a question is answered.

    The referee (:mod:`optimaldp.certify.core.referee`) sees it from outside: a table in, the law of the printed answer out. What
    is drawn is that law and nothing else.
    """

    question: Question
    setting: Setting

    uses_delta = True
    """Whether the delta of its level buys anything: otherwise it is not charged."""
    listed = True
    """Whether its answers are a list and its law can be read for any table."""

    follows_by_arrays: ClassVar[bool] = False
    """Whether what stands beside its answer can be worked out again with arrays alone."""

    @property
    def spends_delta(self) -> bool:
        """Whether a release by this mechanism is charged its delta."""
        return self.uses_delta and bool(self.setting.level.delta)

    @property
    @abstractmethod
    def name(self) -> str:
        """The mechanism's name in documents."""

    @property
    def answers(self) -> Sequence[str]:
        listed = self.question.answers
        if listed is None:
            remedy = "write the options out: they are public"
            raise QuestionError("options", str(self.question), "names no options", remedy)
        return listed

    @abstractmethod
    def law(self, table: Table) -> Law:
        """How the answer is distributed for this table. Private."""

    def draw(self, table: Table, source: BitSource) -> Answer:
        """The private answer: the only thing computed from data that leaves."""
        answers = self.question.answers
        assert answers is not None  # the referee passes nothing else that has a law
        return answers[self.law(table).draw(source)]

    def require_public_sizes(self, table: Table) -> None:  # noqa: B027  (most mechanisms take groups of any size)
        """Refuse groups whose public sizes leave no answer, such as nobody: before anything is spent."""

    def possible(self, answer: object) -> bool:
        """Whether a release can give this answer, which was read from a document."""
        return isinstance(answer, str) and answer in self.answers

    def contradiction(self, answer: object, written: Mapping[str, Any]) -> str:
        """What a document says beside its answer and what does not follow from it; nothing if all of it does."""
        return ""

    def at(self, level: ApproximateDP) -> Self:
        """The same mechanism at another level: the referee asks for one at which its numbers are rational."""
        return replace(self, setting=replace(self.setting, level=level))

    def small_twin(self) -> QuestionMechanism:
        """The same mechanism for fewer options or bins, where there are many; itself otherwise."""
        smaller = self.question.small_twin
        return self if smaller is None else smaller.mechanism(self.setting)

    def reliability(self) -> str:
        """From which margin on the answer is reliable, and how far off a wrong one is: one public sentence."""
        if self.setting.personal:  # no margin is enough where the strict people disagree with the rest
            return _DEPENDS_ON_WHO_DISAGREES
        return self.question.accuracy(self.setting).sentence()

    @property
    @abstractmethod
    def proof(self) -> str:
        """The theorem that makes it private at every table, in one sentence."""

    best: ClassVar[str | None] = None
    """The key of what is claimed about how good it is, in :mod:`optimaldp.questions.claims`; nothing where nothing is."""

    @property
    def optimality(self) -> str:
        """In which sense it is the best, or that this is not claimed: a sentence of the table of claims."""
        return optimality_sentence(self.best, with_delta=self.spends_delta)

    def parameters(self) -> dict[str, Any]:
        """Every public number that its law depends on beside the question, the level and the neighbours."""
        return {}


def all_different(values: Iterable[Any], kinds: tuple[type, ...]) -> bool:
    """Whether the values are of these kinds and none comes twice."""
    listed = list(values)
    plain = all(isinstance(value, kinds) and not isinstance(value, bool) for value in listed)
    return plain and len(set(listed)) == len(listed)


@dataclass(frozen=True)
class AtDistance(QuestionMechanism):
    """Yes/no and comparisons of two: right with the greatest probability that the distance to another answer allows."""

    name = "balanced chain"
    proof = (
        "raising both answers' probabilities by the step function once for every move from the boundary keeps neighbours "
        "close in all events, for every number of people (papers 000 and 001, with the corrected step function)"
    )

    @property
    def best(self) -> str | None:  # type: ignore[override]
        # With a lower bound instead of the distance itself (joined thresholds) a table may be farther than the chain counts.
        return "chain" if self.question.distance is None else None

    def law(self, table: Table) -> Law:
        question, chain = self.question, Chain(self.setting.level)
        counts, measure = question.fold(table.cells), question.distance or question.flips
        truth, moves = question.truth(counts), measure(counts, self.setting.neighbours)
        # Where no table with this public number of people has another answer, the distance is infinite and nothing goes wrong.
        return Law((1 - truth, truth), lambda: [chain.error(moves - 1)])
