"""The k leading options in order: all lists compared at once while there are few of them, one leader after the other beyond.

**Joint.** Score every list by its signed distance: ``flips - 1/2`` for the true list (flips: moves until another list is true)
and ``-(moves until it is true - 1/2)`` for the others. One person moves every score by at most 1 (where a list becomes true both
numbers are 1), so permute-and-flip with coins ``e^(-epsilon gap/2)``, gap = flips + moves - 1, is epsilon-DP. With one leader and
two options this is the count's own rate; with several leaders it needs no split of epsilon at all.

**Peeling.** Draw a leader by permute-and-flip with coins ``e^(-eta gap)`` on the counts, take it out, and so on k times.
Permute-and-flip is the highest of count plus exponential noise of rate eta. When a vote goes from a to b, raise the noise of the
one that is drawn by ``1 + [it is a] - [it is b]``: it is still the highest, so a round costs at most eta times that, and k rounds
at most ``(k + 1) eta``, not ``2 k eta``: eta = epsilon/(k + 1). When a person is added or removed a round costs at most eta:
eta = epsilon/k.

Which one is used depends on the number of options and k alone. delta is not used, so none should be charged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import permutations

from optimaldp.distances.ranking import Ranking, moves_to, true_ranking
from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.log_number import LogNumber
from optimaldp.laws.winner.permute_and_flip import reveal_below, win_by_coins
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, integer_above, integer_below, precision
from optimaldp.sampling import BitSource, uniform_below

MOST_COMPARED = 60_000  # lists times options that are compared at once: about a second; four leaders out of ten
MOST_READABLE = 400  # lists whose whole distribution is computed
_WORD = 64


class TopMode(StrEnum):
    """The mechanisms for the leading options."""

    JOINT = "permute-and-flip on all lists by signed distance"
    PEELING = "permute-and-flip, one leader after the other"


@dataclass(frozen=True)
class TopLaw:
    """The law of the *size* leading options out of *options*, at epsilon."""

    options: int
    size: int
    epsilon: Epsilon
    neighbours: Neighbours
    forced: TopMode | None = None
    """Both are proven for all numbers; the referee looks at few options in the mode that many have."""

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.options:
            raise QuestionError(
                "k", self.size, f"is not between 1 and the {self.options} options", "ask for fewer leaders"
            )
        if self.epsilon.infinite:
            raise LevelError("epsilon", "inf", "promises nothing that top could use", "name a finite epsilon")

    @property
    def lists(self) -> int:
        """How many answers there are."""
        return math.perm(self.options, self.size)

    @property
    def mode(self) -> TopMode:
        """Chosen by public numbers alone."""
        if self.forced is not None:
            return self.forced
        return TopMode.JOINT if self.lists * self.options <= MOST_COMPARED else TopMode.PEELING

    @property
    def rate(self) -> Fraction:
        """What part of epsilon one unit of a gap is worth in the coins."""
        if self.mode is TopMode.JOINT:
            return Fraction(1, 2)
        return Fraction(1, self.size + 1 if self.neighbours is Neighbours.SUBSTITUTION else self.size)

    @property
    def proof(self) -> str:
        if self.mode is TopMode.JOINT:
            return "one person moves the signed distance of every list by at most 1; permute-and-flip does the rest"
        return "k rounds of permute-and-flip cost at most k + 1 units of a gap when a vote changes, k when a person comes or goes"

    def most_wrong(self, margin: int) -> Ball:
        """An upper bound of the chance of a wrong list where *margin* people must change before another one is true.

        Joint: no coin of another list is above ``e^(-epsilon (2 margin - 1)/2)``. Peeling: no coin of a rival of the next leader
        is above ``e^(-eta lead)``, and the lead is at least ``2 (margin - 1)`` votes (``margin - 1`` under add/remove).
        """
        if self.mode is TopMode.JOINT:
            coin, others = self._coin(2 * margin - 1), self.lists - 1
        else:
            votes = 2 if self.neighbours is Neighbours.SUBSTITUTION else 1
            coin, others = self._coin(votes * (margin - 1)), self.size * (self.options - 1)
        return (coin * others).min(Ball(1))

    def rankings(self) -> list[Ranking]:
        """All answers, in a fixed public order."""
        return list(permutations(range(self.options), self.size))

    def probabilities(self, counts: Sequence[int]) -> dict[Ranking, Ball]:
        """The distribution at the current precision, for few lists. Of private counts it is private."""
        if self.lists > MOST_READABLE:
            shown = f"at most {MOST_READABLE} can be listed"
            raise QuestionError(
                "lists", self.lists, f"are too many to compute every probability ({shown})", "draw instead"
            )
        if self.mode is TopMode.JOINT:
            gaps = self._gaps(counts)
            coin = {gap: self._coin(gap) for gap in set(gaps.values())}
            coins = [coin[gap] for gap in gaps.values()]
            places = {
                gap: place for place, gap in enumerate(gaps.values())
            }  # lists that are equally far are equally likely
            known = {gap: win_by_coins(coins, place) for gap, place in places.items()}
            return {ranking: known[gap] for ranking, gap in gaps.items()}
        return {ranking: self._peeled(counts, ranking) for ranking in self.rankings()}

    def draw(self, counts: Sequence[int], source: BitSource) -> Ranking:
        """A list of leaders with exactly these probabilities, for any number of lists."""
        if self.mode is TopMode.JOINT:
            gaps = self._gaps(counts)
            return list(gaps)[self._flip(list(gaps.values()), source)]
        remaining, drawn = list(range(self.options)), list[int]()
        while len(drawn) < self.size:
            top = max(counts[option] for option in remaining)
            drawn.append(remaining.pop(self._flip([top - counts[option] for option in remaining], source)))
        return tuple(drawn)

    def _gaps(self, counts: Sequence[int]) -> dict[Ranking, int]:
        """How far the score of each list lies below that of the true one."""
        true = true_ranking(counts, self.size)
        moves = {ranking: moves_to(counts, ranking, self.neighbours) for ranking in self.rankings()}
        flips = min((number for ranking, number in moves.items() if ranking != true), default=1)
        return {ranking: 0 if ranking == true else flips + number - 1 for ranking, number in moves.items()}

    def _coin(self, gap: int) -> Ball:
        return (LogNumber.of(self.epsilon) * (-gap * self.rate)).exp() if gap else Ball(1)

    def _peeled(self, counts: Sequence[int], ranking: Ranking) -> Ball:
        remaining, chance = list(range(self.options)), Ball(1)
        for option in ranking:
            top = max(counts[other] for other in remaining)
            coins = [self._coin(top - counts[other]) for other in remaining]
            chance = chance * win_by_coins(coins, remaining.index(option))
            remaining.remove(option)
        return chance

    def _flip(self, gaps: Sequence[int], source: BitSource) -> int:
        """Flip every coin, always, and draw one of the heads."""
        words = {gap: self._words(gap) for gap in set(gaps)}
        heads = []
        for place, gap in enumerate(gaps):
            word, (surely, never) = source.take(_WORD), words[gap]
            if word < surely or (word < never and reveal_below(word, _WORD, partial(self._coin, gap), source)):
                heads.append(place)
        return heads[uniform_below(len(heads), source)]

    def _words(self, gap: int) -> tuple[int, int]:
        """Words below the first number are heads for certain, words from the second on are tails for certain."""
        with precision(2 * _WORD):
            scaled = self._coin(gap) * Ball(2) ** _WORD
            return integer_below(scaled), integer_above(scaled)
