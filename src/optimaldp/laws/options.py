"""The k leading options in order: all lists are compared at once, one by one or, where there are very many, by their shortfall.

**Joint.** Score every list by its signed distance: ``flips - 1/2`` for the true list (flips: moves until another list is true)
and ``-(moves until it is true - 1/2)`` for the others. One person moves every score by at most 1 (where a list becomes true both
numbers are 1), so permute-and-flip with coins ``e^(-epsilon gap/2)``, gap = flips + moves - 1, is epsilon-DP. With one leader and
two options this is the count's own rate; with several leaders it needs no split of epsilon at all.

**Shortfall.** The shortfall of a list is the largest number of people that the option at a place has less than the true option
there. Score the true list by the least shortfall of all others and every other list by minus its own. One person more or less
moves every score by at most 1: the i-th largest count moves by 0 or 1, and so does the count of the option at that place, in the
same direction. If the true list changes, the old and the new one were tied, before or after, at shortfall 0. One person replaced
is one less and one more, so 2. Permute-and-flip with coins ``e^(-epsilon gap/2)`` (``/4`` under substitution), gap = least
shortfall of the others + own shortfall, is epsilon-DP. How many lists have a given shortfall is a product, so a draw needs no
list of the lists (the joint exponential mechanism of Gillenwater, Joseph, Munoz Medina and Ribero Diaz, 2022, counts them so; its
scores have no lead of the true list).

**Peeling.** Draw a leader by permute-and-flip with coins ``e^(-eta gap)`` on the counts, take it out, and so on k times.
Permute-and-flip is the highest of count plus exponential noise of rate eta. When a vote goes from a to b, raise the noise of the
one that is drawn by ``1 + [it is a] - [it is b]``: it is still the highest, so a round costs at most eta times that, and k rounds
at most ``(k + 1) eta``, not ``2 k eta``: eta = epsilon/(k + 1). When a person is added or removed a round costs at most eta:
eta = epsilon/k. It answers for one leader; for several it is the first version of the law, kept to verify old documents.

Which one is used depends on the number of options and k alone. delta is not used, so none should be charged.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import partial
from itertools import accumulate, groupby, islice, permutations
from operator import itemgetter, neg
from typing import TypeVar

from optimaldp.distances.ranking import Ranking, moves_to, true_ranking
from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.log_number import LogNumber
from optimaldp.laws.votes import Sides, draw_yes
from optimaldp.laws.winner import reveal_below, win_by_coins
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, integer_above, integer_below, lower, precision, upper
from optimaldp.privacy.levels import level_of_each_key
from optimaldp.privacy.numbers import first_where
from optimaldp.sampling import BitSource, uniform_below

MOST_COMPARED = 60_000  # lists times options that are compared at once: about a second; four leaders out of ten
MOST_READABLE = 400  # lists whose whole distribution is computed
_WORD = 64


class TopMode(StrEnum):
    """The mechanisms for the leading options."""

    JOINT = "permute-and-flip on all lists by signed distance"
    SHORTFALL = "permute-and-flip on all lists by signed shortfall"
    PEELING = "permute-and-flip, one leader after the other"


@dataclass(frozen=True)
class TopLaw:
    """The law of the *size* leading options out of *options*, at epsilon."""

    options: int
    size: int
    epsilon: Epsilon
    neighbours: Neighbours
    forced: TopMode | None = None
    """Each is proven for all numbers; the referee looks at few options in the mode that many have."""
    first_bits: int = _WORD
    """How many bits are drawn at first for each class of equally short lists; the referee tries few."""

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
        if self.lists * self.options <= MOST_COMPARED:
            return TopMode.JOINT
        return TopMode.SHORTFALL if self.size > 1 else TopMode.PEELING

    @property
    def rate(self) -> Fraction:
        """What part of epsilon one unit of a gap is worth in the coins."""
        replaced = self.neighbours is Neighbours.SUBSTITUTION
        if self.mode is TopMode.JOINT:
            return Fraction(1, 2)
        if self.mode is TopMode.SHORTFALL:
            return Fraction(1, 4 if replaced else 2)
        return Fraction(1, self.size + 1 if replaced else self.size)

    @property
    def proof(self) -> str:
        if self.mode is TopMode.JOINT:
            return "one person moves the signed distance of every list by at most 1; permute-and-flip does the rest"
        if self.mode is TopMode.SHORTFALL:
            return "one person more or less moves the signed shortfall of every list by at most 1; permute-and-flip does the rest"
        return "k rounds of permute-and-flip cost at most k + 1 units of a gap when a vote changes, k when a person comes or goes"

    def most_wrong(self, margin: int) -> Ball:
        """An upper bound of the chance of a wrong list where *margin* people must change before another one is true.

        Joint: no coin of another list is above ``e^(-epsilon (2 margin - 1)/2)``. Otherwise leaders and the best other are
        at least *lead* votes apart, ``2 (margin - 1)`` or ``margin - 1`` under add/remove. Peeling: no coin of a rival of the
        next leader is above ``e^(-eta lead)``. Shortfall: a list with an option d ranks too high falls short by ``d lead``.
        """
        if self.mode is TopMode.JOINT:
            return (self._coin(2 * margin - 1) * (self.lists - 1)).min(Ball(1))
        lead = (2 if self.neighbours is Neighbours.SUBSTITUTION else 1) * (margin - 1)
        if self.mode is TopMode.PEELING:
            return (self._coin(lead) * self.size * (self.options - 1)).min(Ball(1))
        near = [self._lists_within(ranks) for ranks in range(self.size + 1)]
        chances = (
            self._coin(lead * (1 + ranks)) * (near[ranks] - near[ranks - 1]) for ranks in range(1, self.size + 1)
        )
        return sum(chances, Ball(0)).min(Ball(1))

    def _lists_within(self, ranks: int) -> int:
        """How many lists have no option more than so many ranks too high; all options behind the leaders share one rank."""
        reach = (self.options if place + ranks >= self.size else place + ranks + 1 for place in range(self.size))
        return math.prod(near - place for place, near in enumerate(reach))

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
        if self.mode is not TopMode.PEELING:
            gaps = self._gaps(counts) if self.mode is TopMode.JOINT else self._short_gaps(counts)
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
        if self.mode is TopMode.SHORTFALL:
            shortfalls = Shortfalls.of(counts, self.size)
            classes = [(self._coin_at(gap), number) for gap, number in shortfalls.gaps()]
            return shortfalls.uniform_list(first_heads(classes, source, self.first_bits), source)
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

    def _short_gaps(self, counts: Sequence[int]) -> dict[Ranking, int]:
        """The same by the definition of the shortfall, list by list: a draw counts the lists instead."""
        highest, true = sorted(counts, reverse=True), true_ranking(counts, self.size)
        short = {
            ranking: max(high - counts[option] for high, option in zip(highest, ranking)) for ranking in self.rankings()
        }
        lead = min((number for ranking, number in short.items() if ranking != true), default=0)
        return {ranking: 0 if ranking == true else lead + number for ranking, number in short.items()}

    def _coin_at(self, gap: int) -> Callable[[], Ball]:
        return partial(self._coin, gap)

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


@dataclass(frozen=True)
class Shortfalls:
    """All lists of *size* leaders, counted by their shortfall.

    Options stand in falling order of their *counts*. Those that are near enough for a place are the first ones, and more of them
    for every later place: so a list with a shortfall of at most g is chosen place by place, out of those near enough that are
    not taken.
    """

    counts: tuple[int, ...]
    options: Ranking
    size: int

    @staticmethod
    def of(counts: Sequence[int], size: int) -> Shortfalls:
        order = true_ranking(counts, len(counts))
        return Shortfalls(tuple(counts[option] for option in order), order, size)

    def classes(self) -> Iterator[tuple[int, int]]:
        """Every shortfall that some list has, rising, with the number of its lists.

        >>> list(Shortfalls.of([5, 3, 0], 2).classes())
        [(0, 1), (2, 1), (3, 2), (5, 2)]
        """
        people = sorted(Counter(self.counts).items(), reverse=True)
        arrivals = sorted(
            (high - count, place, number)
            for place, high in enumerate(self.counts[: self.size])
            for count, number in people
            if count <= high
        )
        near = [self._nearer(place, 0) for place in range(self.size)]
        before = 0
        for gap, places in groupby(arrivals, key=itemgetter(0)):
            for _, place, number in places:
                near[place] += number
            within = math.prod(number - place for place, number in enumerate(near))
            if within > before:
                yield gap, within - before
            before = within

    def gaps(self) -> Iterator[tuple[int, int]]:
        """How far the scores lie below that of the true list, with the number of lists, the true one first and by itself."""
        classes = list(self.classes())
        (_, tied), *others = classes
        lead = 0 if tied > 1 or not others else others[0][0]
        yield 0, tied
        yield from ((lead + gap, number) for gap, number in others)

    def uniform_list(self, which: int, source: BitSource) -> Ranking:
        """One of the lists of a class, each with the same chance: first the first place that falls short by that much."""
        gap = next(islice(self.classes(), which, None))[0]
        nearer = [max(0, self._nearer(place, gap) - place) for place in range(self.size)]
        within = [self._nearer(place, gap + 1) - place for place in range(self.size)]
        short = [self._nearer(place, gap + 1) - self._nearer(place, gap) for place in range(self.size)]
        lists = [
            math.prod(nearer[:place]) * short[place] * math.prod(within[place + 1 :]) for place in range(self.size)
        ]
        first = _weighted(lists, source)
        taken: list[int] = []
        for place in range(self.size):
            if place == first:  # nobody took one of these before: they are farther than all that were near enough
                drawn = self._nearer(place, gap) + uniform_below(short[place], source)
            else:
                drawn = uniform_below((nearer if place < first else within)[place], source)
                for other in sorted(taken):
                    drawn += other <= drawn
            taken.append(drawn)
        return tuple(self.options[rank] for rank in taken)

    def _nearer(self, place: int, gap: int) -> int:
        """How many options fall short of the true one at a place by less than so many people."""
        return bisect_left(self.counts, gap - self.counts[place], key=neg)


def _weighted(weights: Sequence[int], source: BitSource) -> int:
    """A place with a chance in proportion to its weight."""
    number = uniform_below(sum(weights), source) if len(weights) - weights.count(0) > 1 else 0
    return next(place for place, end in enumerate(accumulate(weights)) if number < end)


def first_heads(classes: Sequence[tuple[Callable[[], Ball], int]], source: BitSource, first_bits: int = _WORD) -> int:
    """Permute-and-flip on classes of so many candidates with one coin each: the class of the first that shows heads.

    Give every candidate a uniform time and a coin. The first heads of *number* candidates with the chance p come after t with
    probability ``(1 - t p)^number``, so at ``(1 - V^(1/number))/p`` for a uniform V; never, if that is above 1. Bits of V are
    drawn until one class is surely first. The coin of the first class is always heads, so there is one.
    """
    drawn = [(source.take(first_bits), first_bits) for _ in classes]
    while True:
        spans = [_time(coin, number, *bits) for (coin, number), bits in zip(classes, drawn)]
        first = min(range(len(spans)), key=lambda place: spans[place][1])
        unclear = [place for place, span in enumerate(spans) if place != first and span[0] < spans[first][1]]
        if not unclear:
            return first
        for place in (*unclear, first):
            value, bits = drawn[place]
            drawn[place] = (value << first_bits) | source.take(first_bits), bits + first_bits


def _time(coin: Callable[[], Ball], number: int, value: int, bits: int) -> tuple[Fraction, Fraction]:
    """Between which times a class shows its first heads, from the first *bits* of its uniform number."""
    with precision(2 * bits + _WORD):
        chance, unit = coin(), Ball(2) ** bits
        earliest = -((Ball(value + 1) / unit).log() / number).expm1() / chance
        latest = -((Ball(value) / unit).log() / number).expm1() / chance if value else 1 / chance
        never = Ball(2)  # of a small chance the time is too large to be written down, and need not be
        return lower(earliest.min(never)), upper(latest.min(never))


# One answer for each of several groups, in one spend: at which level every single one is answered.
#
# Groups declared public: a person's record is replaced inside their group, and one group only sees it: epsilon and delta for
# each, for one epsilon and delta in all. Groups private: inside a group people come and go, so every group is answered under
# add/remove. One person more or less touches one group: again epsilon and delta. One person *replaced* leaves one group and
# enters another (or both in one): epsilon/2 each, and ``delta' = delta/(1 + e^(epsilon/2))``, because the two steps add up to
# ``delta' + e^(epsilon/2) delta'``.
#
# A person may be in up to m groups: their answers are drawn independently, so levels and deltas of m groups add up. One
# person more or less: epsilon/m and delta/m each. One person replaced costs most where all m groups are the same before and
# after: each sees two steps, so epsilon/(2m) and ``delta/(m (1 + e^(epsilon/(2m))))``.


# Which categories occur, where no list is public: needs delta, because a category that one person alone has must stay unlikely.
#
# A category with t people is kept with probability ``F^t(0)``, F being the step function of (epsilon, delta): nobody has it
# with probability 0, and every further person may raise it by one step of F. By induction no (epsilon, delta) mechanism keeps
# it more often. Categories are kept independently, and one person touches one of them under add/remove, two under substitution.


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
        return first_where(self._sure, 1)

    def _sure(self, people: int) -> bool:
        return bool(self.kept(people)[1] == 0)
