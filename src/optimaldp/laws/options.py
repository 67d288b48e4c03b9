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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import TypeVar

from optimaldp.distances.ranking import Ranking, moves_to, true_ranking
from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.log_number import LogNumber
from optimaldp.laws.votes import Sides, draw_yes
from optimaldp.laws.winner import reveal_below, win_by_coins
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, ball, integer_above, integer_below, lower, precision
from optimaldp.privacy.numbers import fraction_root, root_below
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


# One answer for each of several groups, in one spend: at which level every single one is answered.
#
# Groups declared public: a person's record is replaced inside their group, and one group only sees it: epsilon and
# delta for each,
# for one epsilon and delta in all. Groups private: inside a group people come and go, so every group is answered under
# add/remove.
# One person more or less touches one group: again epsilon and delta. One person *replaced* leaves one group and enters
# another (or
# both in one): epsilon/2 each, and ``delta' = delta/(1 + e^(epsilon/2))``, because the two steps add up to
# ``delta' + e^(epsilon/2) delta'``.
#
# A person may be in up to m groups: their answers are drawn independently, so levels and deltas of m groups add up. One
# person more or less: epsilon/m and delta/m each. One person replaced costs most where all m groups are the same before and
# after: each sees two steps, so epsilon/(2m) and ``delta/(m (1 + e^(epsilon/(2m))))``.


_BITS = 128  # to which a half that is no level of this form is rounded, towards more privacy


@dataclass(frozen=True)
class GroupLevel:
    """How each group is answered: its level, and the neighbours that its mechanism must be private for."""

    epsilon: Epsilon
    delta: Fraction
    neighbours: Neighbours


def level_of_each_group(
    epsilon: Epsilon, delta: Fraction, neighbours: Neighbours, *, public_groups: bool = False, per_person: int = 1
) -> GroupLevel:
    """The level of each group's answer so that all of them together keep (epsilon, delta).

    *per_person* is how many groups one person may be in; public groups have one for each person.

    >>> level_of_each_group(Epsilon.read("ln(4)"), Fraction(3, 100), Neighbours.SUBSTITUTION)
    GroupLevel(epsilon=Epsilon(ln(2)), delta=Fraction(1, 100), neighbours=<Neighbours.ADD_REMOVE: 'add-remove'>)
    >>> level_of_each_group(Epsilon.read(1), Fraction(3, 100), Neighbours.ADD_REMOVE, per_person=3)
    GroupLevel(epsilon=Epsilon(1/3), delta=Fraction(1, 100), neighbours=<Neighbours.ADD_REMOVE: 'add-remove'>)
    """
    if public_groups:
        return GroupLevel(epsilon, delta, neighbours)
    if neighbours is Neighbours.ADD_REMOVE:
        return GroupLevel(part_of(epsilon, per_person), delta / per_person, neighbours)
    each = part_of(epsilon, 2 * per_person)
    return GroupLevel(each, _shared_delta(each, delta) / per_person, Neighbours.ADD_REMOVE)


def level_of_each_key(epsilon: Epsilon, delta: Fraction, neighbours: Neighbours) -> GroupLevel:
    """The level of "does this category occur" for each category: a replaced person touches two of them."""
    if neighbours is Neighbours.ADD_REMOVE:
        return GroupLevel(epsilon, delta, neighbours)
    return GroupLevel(half_of(epsilon), delta / 2, Neighbours.ADD_REMOVE)


def half_of(epsilon: Epsilon) -> Epsilon:
    """Half of epsilon: exact for numbers and for logarithms of squares, else smaller by less than 2^-128 of it.

    >>> half_of(Epsilon.read("0.3+ln(9/4)")), half_of(Epsilon.read("ln(2)")) * 2 < Epsilon.read("ln(2)")
    (Epsilon(0.15+ln(3/2)), True)
    """
    return part_of(epsilon, 2)


def part_of(epsilon: Epsilon, parts: int) -> Epsilon:
    """One of so many equal parts of epsilon: exact for numbers and for logarithms of powers, else smaller by less than 2^-128.

    >>> part_of(Epsilon.read("0.3+ln(8)"), 3), part_of(Epsilon.read("ln(2)"), 3) * 3 < Epsilon.read("ln(2)")
    (Epsilon(0.1+ln(2)), True)
    """
    if epsilon.infinite:
        return epsilon
    plain, ratio = epsilon.finite_parts
    if (exact := fraction_root(ratio, parts)) is not None:
        return Epsilon(plain / parts, exact)
    # ln(r) >= (r - 1)/r: the smaller the logarithm, the more bits its root needs.
    bits = _BITS + (ratio.denominator * parts // (ratio.numerator - ratio.denominator)).bit_length()
    shifted = ratio.numerator * ratio.denominator ** (parts - 1) << (parts * bits)
    root = Fraction(root_below(shifted, parts), ratio.denominator << bits)
    return Epsilon(plain / parts, max(Fraction(1), root))


def _shared_delta(half: Epsilon, delta: Fraction) -> Fraction:
    """``delta/(1 + e^(epsilon/2))``, rounded down where it is not rational."""
    if not delta or half.infinite:
        return Fraction(0)
    if half.exact_ratio is not None:
        return delta / (1 + half.exact_ratio)
    with precision(2 * _BITS + math.ceil(2 * float(half))):
        return lower(ball(delta) / (1 + half.exp()))


# Which categories occur, where no list is public: needs delta, because a category that one person alone has must stay
# unlikely.
#
# A category with t people is kept with probability ``F^t(0)``, F being the step function of (epsilon, delta): nobody
# has it with
# probability 0, and every further person may raise it by one step of F. By induction no (epsilon, delta) mechanism
# keeps it more
# often. Categories are kept independently, and one person touches one of them under add/remove, two under substitution.


Key = TypeVar("Key")


@dataclass(frozen=True)
class KeysLaw:
    """How often a category is kept, by the number of its people; *single* is the level of each category."""

    single: ApproximateDP

    @staticmethod
    def at(epsilon: Epsilon, delta: Fraction, neighbours: Neighbours) -> KeysLaw:
        """The law for all categories together at (epsilon, delta).

        >>> law = KeysLaw.at(Epsilon.read("ln(2)"), Fraction(1, 10), Neighbours.ADD_REMOVE)
        >>> [str(law.kept(people)[0]) for people in range(6)]
        ['0', '1/10', '3/10', '7/10', '9/10', '1']
        """
        if not delta:
            raise LevelError("delta", "0", "keeps every category secret", "name a delta above 0, far below 1/n")
        if epsilon.infinite:
            raise LevelError("epsilon", "inf", "promises nothing", "name a finite epsilon")
        each = level_of_each_key(epsilon, delta, neighbours)
        made = level(each.epsilon, each.delta)
        assert isinstance(made, ApproximateDP)
        return KeysLaw(made)

    def kept(self, people: int) -> Sides:
        """The probability that a category with so many people is kept, and that it is not."""
        return self.single.sides(Fraction(0), people)

    def draw(self, counts: Mapping[Key, int], source: BitSource) -> list[Key]:
        """The categories that are kept, in the order of *counts*; one without people is never kept."""
        return [key for key, people in counts.items() if draw_yes(lambda people=people: self.kept(people), source)]  # type: ignore[misc]

    def surely_kept(self) -> int:
        """The least number of people from which on a category is always kept: public, from the level alone."""
        high = 1
        while not self._sure(high):
            high *= 2
        low = 0
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._sure(middle) else (middle + 1, high)
        return low

    def _sure(self, people: int) -> bool:
        return bool(self.kept(people)[1] == 0)
