"""What every question is: public text, public answers, and two functions of a few counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours
from optimaldp.questions.conditions import Moves
from optimaldp.tables.tally import Option, Tally

YES_NO = ("yes", "no")


class Question(ABC):
    """An immutable question with finitely many public answers. ``str(question)`` is its text and parses back to it."""

    @property
    @abstractmethod
    def tally(self) -> Tally:
        """Which counts of persons it needs."""

    @property
    @abstractmethod
    def answers(self) -> tuple[str, ...] | None:
        """The public answers in their public order; ``None`` until the column's type has listed the options."""

    @abstractmethod
    def truth(self, counts: Sequence[int]) -> int:
        """The position of the true answer. Private."""

    @abstractmethod
    def flips(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        """The least number of neighbour moves that change the true answer; ``math.inf`` if none can. Private."""

    def distance(self, counts: Sequence[int], neighbours: Neighbours) -> Moves:
        """The distance to the boundary of the true answer's own region: flips - 1 (erratum 000-1). Private."""
        return self.flips(counts, neighbours) - 1

    def with_options(self, options: tuple[Option, ...]) -> Question:
        """The same question with the options that the column's type lists."""
        return self

    def notes(self, neighbours: Neighbours) -> tuple[str, ...]:
        """What a reader must know about who is counted: public sentences."""
        return ()

    def cells(self, counts: Sequence[int]) -> tuple[int, ...]:
        """*counts* checked: non-negative integers in the order of the tally; a last "everybody else" may be left out."""
        given = tuple(map(_whole, counts))
        wanted = self.size()
        if self.leaves_out_allowed and len(given) == wanted - 1:
            given = (*given, 0)
        if len(given) != wanted:
            raise QuestionError("counts", len(given), f"is not the {wanted} counts that {self} needs")
        return given

    leaves_out_allowed = False

    @abstractmethod
    def size(self) -> int:
        """How many counts the tally gives."""

    def __repr__(self) -> str:
        return f"Question({str(self)!r})"


def _whole(count: Any) -> int:
    """A count as Python's own integer: numpy's are counts too."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 0:
        raise QuestionError("counts", "the list", "does not hold whole numbers of 0 or more only")
    return int(count)


def as_question(given: Any) -> Question:
    """A question from itself or from its text."""
    if isinstance(given, Question):
        return given
    if isinstance(given, str):
        from optimaldp.questions.text import parse

        return parse(given)
    raise QuestionError(
        "question", given, "is not a question", "write odp.share(\"smokes = 'yes'\") >= 0.3, or the same as text"
    )
