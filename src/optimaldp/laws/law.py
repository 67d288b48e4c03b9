"""The law of one answer: what is drawn is what it says, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource, choose_by_ends


@dataclass(frozen=True)
class Law:
    """Probabilities of finitely many answers along a drawing order, or the sums of them.

    Numbers are ``Fraction`` at a rational level and balls elsewhere, at the precision of the moment. The likeliest answer stands
    last and takes what the others leave, so that the sums are sums of small numbers and none of them is lost by subtracting.

    >>> from fractions import Fraction
    >>> Law((1, 0), row=lambda: [Fraction(1, 4)]).probabilities()
    [Fraction(3, 4), Fraction(1, 4)]
    """

    order: Sequence[int]
    """Which answer stands at each place."""
    row: Callable[[], Sequence[Number]] | None = None
    """The probabilities at all places, or at all but the last, which then takes what they leave."""
    sums: Callable[[int], Number] | None = None
    """Where there are very many answers: the probability of the places 0 to i, instead of the row."""

    @property
    def size(self) -> int:
        return len(self.order)

    def probabilities(self) -> list[Number]:
        """The probability of each answer, in the answers' own order."""
        size = len(self.order)
        if size == 1:
            return [Fraction(1)]
        if self.row is not None:
            along = list(self.row())
            along += [1 - sum(along[1:], start=along[0])] if len(along) < size else []
        else:
            assert self.sums is not None
            ends = [self.sums(place) for place in range(size - 1)]
            along = [ends[0], *(after - before for before, after in pairwise(ends)), 1 - ends[-1]]
        by_answer = dict(zip(self.order, along))
        return [by_answer[answer] for answer in range(size)]

    def draw(self, source: BitSource) -> int:
        """An answer with exactly these probabilities."""
        size = len(self.order)
        return self.order[choose_by_ends(self.ends, size, source) if size > 1 else 0]

    def ends(self) -> Callable[[int], Ball]:
        """The sums of the places 0 to i, as balls at the precision of the moment: of a row all at once."""
        if self.row is not None:
            return list(accumulate(map(ball, self.row()[: len(self.order) - 1]))).__getitem__
        sums = self.sums
        assert sums is not None
        return lambda place: ball(sums(place))


def law_of(probabilities: Callable[[], Sequence[Number]], last: int, size: int) -> Law:
    """A law from its probabilities; *last* is the answer that takes what the others leave."""
    order = (*(answer for answer in range(size) if answer != last), last)

    def row() -> list[Number]:
        whole = probabilities()
        return [whole[answer] for answer in order[:-1]]

    return Law(order, row)


def certain(answer: int, size: int) -> Law:
    """The law of an answer that is the same in every neighbouring table."""
    others = [place for place in range(size) if place != answer]
    return Law((*others, answer), lambda: [Fraction(0)] * len(others))
