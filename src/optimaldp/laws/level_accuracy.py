"""How often people with levels of their own get a wrong answer, in floating point and from public numbers: for previews, and for
the choice of the law that answers the typical table.

Two views. *Average*: everybody says yes independently with the same chance; given how many say yes, every choice of who is
equally likely, so the curve over the margin needs no chance at all. *Worst*: at each margin the table that is hardest for the
mechanism, which is the one in which strict people stand against the rest.

The laws: *fair* (the least error at every table), *hedged* (between fair and weighted votes), *weighted* votes, and *balanced*
(what version 0.2 did at every table). Beside them is what one would do without them: the strictest level for all, strict people
left out, and the sampling of Jorgensen, Yu and Cormode (ICDE 2015).

Few tables are added up one by one. Many are sampled by a Kronecker sequence, the same for every law, so that laws are compared
on the same votes. (Thinning each level's counts to a grid, as a first study did, is off by a tenth with five levels.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
PointRows = npt.NDArray[np.int64]
Errors = Callable[[PointRows], Floats]
"""The chance of a wrong answer at each table: one row for each table, one column for each level."""

_POINTS = 50_000  # tables that an average is taken over
_POINTS_TO_CHOOSE = 8_000  # the same while laws are compared with each other
_POINTS_AT_MARGIN = 4_000
_WIDTHS, _CAPS = 10, 10  # widths of the hedge are tried twice: on a wide grid, then around the best of it
_CAPS_TRIED = 17  # caps of weighted votes, evenly on a logarithmic scale
_TAIL_DEVIATIONS = 9.0  # standard deviations beyond which a count is left out
_WIDEST_BELL = 20_000  # a standard deviation beyond which counts are not looked at one by one
_SAME_AVERAGE = 1e-6  # averages that nobody can tell apart: then votes near the bound decide


@dataclass(frozen=True)
class Choice:
    """The law for the typical table: the hedge of this width after a cap, or the fair law where there is no width."""

    average: float
    width: int | None = None
    """M: so many people lie between the two layers of the hedge; 0 is nearly the fair law, everybody is weighted votes."""
    cap: float | None = None


@dataclass(frozen=True)
class LevelSizes:
    """*At least so many of them say yes*, asked of public numbers of people with public levels in rising order."""

    least: int
    levels: tuple[float, ...]
    sizes: tuple[int, ...]

    @property
    def people(self) -> int:
        return sum(self.sizes)

    @cached_property
    def _tau(self) -> float:
        return (self.least - 0.5) / self.people

    # What each mechanism says; *yes* has one row for each table and one column for each level.

    def right_answer(self, yes: PointRows) -> npt.NDArray[np.bool_]:
        return np.asarray(yes.sum(axis=1) >= self.least)

    def weighted(self, yes: PointRows) -> Floats:
        """Everybody's vote weighs as much as their level."""
        exponent = (yes - self._tau * np.array(self.sizes)) @ np.array(self.levels)
        return _wrong_from_exponent(exponent, self.right_answer(yes))

    def hedged(self, width: float) -> Errors:
        """The hedge between two layers of votes that lie *width* people apart."""
        return lambda yes: _wrong_from_exponent(
            self._hedge_use(yes, width) @ np.array(self.levels), self.right_answer(yes)
        )

    def _hedge_use(self, yes: PointRows, width: float) -> Floats:
        """How much of each level's people the hedge counts, for and against yes: no level enters here."""
        low, high = self.least - 0.5 - self._tau * width, self.least - 0.5 + (1 - self._tau) * width
        return (1 - self._tau) * self._layer_use(yes, low) + self._tau * self._layer_use(yes, high)

    def _layer_use(self, yes: PointRows, layer: float) -> Floats:
        above = yes.sum(axis=1) - layer
        for_yes, against = np.maximum(above, 0), np.maximum(-above, 0)
        return _cheapest(yes, for_yes) - _cheapest(np.array(self.sizes) - yes, against)

    def fair(self, yes: PointRows) -> Floats:
        """The least error at every table: only who could change the answer counts, and the strictest level of all."""
        error = np.exp(-self._changed(yes) @ np.array(self.levels)) / (1 + math.exp(-self.levels[0]))
        return np.asarray(np.where(self._possible(yes), error, 0.0))

    def balanced(self, yes: PointRows) -> Floats:
        """What version 0.2 did at every table: the last of those who change counts in place of the strictest of all."""
        changed = self._changed(yes)
        largest = np.max(np.where(changed > 0, np.array(self.levels), 0.0), axis=1)
        error = np.exp(largest - changed @ np.array(self.levels)) / (1 + np.exp(largest))
        return np.asarray(np.where(self._possible(yes), error, 0.0))

    def _changed(self, yes: PointRows) -> Floats:
        """How many people of each level change in the cheapest way to another answer."""
        true = self.right_answer(yes)
        return _cheapest(np.where(true[:, None], yes, np.array(self.sizes) - yes), self._flips(yes))

    def _flips(self, yes: PointRows) -> PointRows:
        total = yes.sum(axis=1)
        return np.asarray(np.where(self.right_answer(yes), total - self.least + 1, self.least - total))

    def _possible(self, yes: PointRows) -> npt.NDArray[np.bool_]:
        able = np.where(self.right_answer(yes), yes.sum(axis=1), self.people - yes.sum(axis=1))
        return np.asarray(able >= self._flips(yes))

    def typical(self, yes: PointRows) -> Floats:
        """The law that a release chooses for the typical table."""
        return self.error_of(self.chosen)(yes)

    def every_table(self, yes: PointRows) -> Floats:
        """The law that a release uses for every table."""
        return self.fair(yes)

    # Which law is best on average.

    @cached_property
    def chosen(self) -> Choice:
        """The least average error over independent votes of chance 1/2, among hedges, caps and the fair law.

        Where several laws are practically never wrong for such votes, because the bound is far from one half, votes whose chance
        is the bound itself decide.
        """
        return self.best_choice()

    def best_choice(self, chance: float = 0.5, delta: float = 0.0) -> Choice:
        """The law with the least average error over independent votes of this chance."""
        chances = (chance, self._tau)
        if len(self.levels) == 1:
            return Choice(self._fair_average(chance, delta))
        coarse = list(self._tried(_wide(self.people), chances, delta))
        best = _least(coarse)[0]
        fine = list(self._tried(_around(best.width, self.people), chances, delta)) if best.width is not None else []
        return _least([*coarse, *fine])[0]

    def _tried(
        self, widths: Sequence[int], chances: tuple[float, float], delta: float
    ) -> Iterator[tuple[Choice, float]]:
        """Every law with its average at both chances; the fair law comes first and wins where another one is as good."""
        yield Choice(self._fair_average(chances[0], delta)), self._fair_average(chances[1], delta)
        caps = self.caps()
        levels = np.minimum(np.array(self.levels)[:, None], np.array(caps))
        rho = _rho(levels, delta)
        for width in widths:
            first, second = (self._averages(width, levels, rho, chance) for chance in chances)
            yield from ((Choice(a, width, cap), b) for a, b, cap in zip(first, second, caps))

    def _averages(self, width: float, levels: Floats, rho: Floats, chance: float) -> list[float]:
        yes, weights = _votes(self.sizes, chance, _POINTS_TO_CHOOSE)
        exponents = self._hedge_use(yes, width) @ levels
        right = (exponents >= 0) == self.right_answer(yes)[:, None]
        return [float(average) for average in weights @ _one_sided(np.exp(-np.abs(exponents)) / 2, right, rho)]

    def _fair_average(self, chance: float, delta: float) -> float:
        yes, weights = _votes(self.sizes, chance, _POINTS_TO_CHOOSE)
        rho = _rho(np.array(self.levels)[:, None], delta)
        return float(weights @ np.maximum((1 + 2 * rho) * self.fair(yes) - rho, 0))

    def average_of(self, width: float | None, cap: float | None, *, delta: float = 0.0) -> float:
        """The average error of one law over independent votes of chance 1/2, on the votes by which laws are chosen."""
        if width is None:
            return self._fair_average(0.5, delta)
        levels = np.minimum(self.levels, self.levels[-1] if cap is None else cap)[:, None]
        return self._averages(width, levels, _rho(levels, delta), 0.5)[0]

    def caps(self) -> list[float]:
        """Caps worth trying, the last of which cuts nothing: two digits above the strictest level that is not 0."""
        strictest = next((level for level in self.levels if level), 0.0)
        if not strictest:
            return [self.levels[-1]]
        rounded = {float(f"{cap:.2g}") for cap in np.geomspace(strictest, self.levels[-1], _CAPS + 1)[1:-1]}
        return [*sorted(cap for cap in rounded if strictest < cap < self.levels[-1]), self.levels[-1]]

    def error_of(self, choice: Choice) -> Errors:
        """The chance of a wrong answer of a chosen law."""
        if choice.width is None:
            return self.fair
        used = np.minimum(self.levels, self.levels[-1] if choice.cap is None else choice.cap)
        return lambda yes: _wrong_from_exponent(self._hedge_use(yes, choice.width or 0) @ used, self.right_answer(yes))

    def strictest_for_all(self, yes: PointRows) -> Floats:
        """Everybody is treated as the strictest person."""
        return _chain(self._flips(yes), self.levels[0])

    def strict_left_out(self, yes: PointRows) -> Floats:
        """Only people with the loosest level are asked, about the same share of them."""
        asked, size = yes[:, -1], self.sizes[-1]
        least = int(np.floor(self._tau * size)) + 1
        said_yes = asked >= least
        error = _chain(np.where(said_yes, asked - least + 1, least - asked), self.levels[-1])
        return np.asarray(np.where(said_yes == self.right_answer(yes), error, 1 - error))

    def sampled(self, yes: PointRows) -> Floats:
        """People are kept with chance (e^a - 1)/(e^b - 1), b the loosest level, and those who are kept are asked at b.

        How many are kept is private, and a replaced record may be kept or not, so b must hold for people who come, go or are
        replaced: with ``lead = (1 - tau) yes - tau no`` nobody moves the lead by more than 1.
        """
        loosest = self.levels[-1]
        chances = np.expm1(np.array(self.levels)) / np.expm1(loosest)
        strict, group = np.unique(yes[:, :-1], axis=0, return_inverse=True)
        asked = (1 - self._tau) * yes[:, -1] - self._tau * (self.sizes[-1] - yes[:, -1])
        wrong, true = np.empty(len(yes)), self.right_answer(yes)
        for number, counts in enumerate(strict):
            here = group.ravel() == number
            added, weight = _kept(counts, np.array(self.sizes[:-1]) - counts, chances, self._tau)
            lead = asked[here][:, None] + added[None, :]
            tiny = 1e-9  # tau is rounded
            error = _chain(np.where(lead > tiny, np.ceil(lead - tiny), np.floor(tiny - lead) + 1), loosest)
            wrong[here] = np.where((lead > tiny) == true[here][:, None], error, 1 - error) @ weight
        return wrong

    # Averages and worst cases.

    def average(self, error: Errors, chance: float) -> float:
        """The chance of a wrong answer when everybody says yes independently with *chance*."""
        yes, weights = _votes(self.sizes, chance, _POINTS)
        return float(error(yes) @ weights)

    def total_at(self, margin: int, *, truth: bool) -> int:
        """How many say yes where *margin* people must change to change the answer."""
        return self.least - 1 + margin if truth else self.least - margin

    def average_at(self, error: Errors, margin: int, *, truth: bool = True) -> float:
        """The chance of a wrong answer when *margin* people must change, over all choices of who says yes."""
        yes, weights = _choices(self.sizes, self.total_at(margin, truth=truth))
        return float(error(yes) @ weights)

    def worst_at(self, error: Errors, margin: int, *, truth: bool = True) -> float:
        """The same at the hardest table: strict people stand on the side that should win, or against it, as far as they can."""
        total = self.total_at(margin, truth=truth)
        tables = [self._filled(total, order) for order in (range(len(self.sizes)), reversed(range(len(self.sizes))))]
        return float(error(np.array(tables, dtype=np.int64)).max())

    def capped(self, cap: float) -> LevelSizes:
        """The same people, nobody above *cap*."""
        return level_sizes(self.least, [(min(epsilon, cap), size) for epsilon, size in zip(self.levels, self.sizes)])

    def best_cap(self, chance: float) -> tuple[float, float]:
        """The cap on all levels with which weighted votes err least on average, and that average."""
        steps = (
            np.geomspace(self.levels[0], self.levels[-1], _CAPS_TRIED)
            if self.levels[0] > 0
            else np.array(self.levels[1:])
        )
        averages = [self.capped(float(cap)).average_weighted(chance) for cap in steps]
        best = int(np.argmin(averages))
        return float(steps[best]), averages[best]

    def average_weighted(self, chance: float) -> float:
        """The average error of weighted votes; with one level that is the exact optimum for it."""
        return self.average(self.weighted if len(self.levels) > 1 else self.strictest_for_all, chance)

    def margins(self, *, truth: bool = True) -> range:
        """The margins that exist."""
        return range(1, (self.people - self.least + 1 if truth else self.least) + 1)

    def _filled(self, total: int, order: Any) -> list[int]:
        yes = [0] * len(self.sizes)
        for level in order:
            yes[level] = min(self.sizes[level], total)
            total -= yes[level]
        return yes


def level_sizes(least: int, rows: Sequence[tuple[float, int]]) -> LevelSizes:
    """Read (level, people) in any order; equal levels are added up, empty ones left out."""
    merged: dict[float, int] = {}
    for epsilon, size in rows:
        merged[epsilon] = merged.get(epsilon, 0) + size
    kept = sorted((epsilon, size) for epsilon, size in merged.items() if size)
    return LevelSizes(least, tuple(epsilon for epsilon, _ in kept), tuple(size for _, size in kept))


def _wrong_from_exponent(exponent: Floats, true: npt.NDArray[np.bool_]) -> Floats:
    less = np.exp(-np.abs(exponent)) / 2
    return np.asarray(np.where((exponent >= 0) == true, less, 1 - less))


def _chain(flips: npt.NDArray[Any], epsilon: float) -> Floats:
    return np.asarray(np.exp(-epsilon * (flips - 1)) / (1 + np.exp(epsilon)))


def _window(mean: float, deviation: float, low: int, high: int) -> PointRows:
    reach = _TAIL_DEVIATIONS * deviation + 1
    return np.arange(max(low, int(mean - reach)), min(high, int(mean + reach) + 1) + 1, dtype=np.int64)


def _bell(mean: float, deviation: float) -> tuple[PointRows, Floats]:
    """The counts of so many people that only every so-many-th one is looked at."""
    places = np.linspace(-_TAIL_DEVIATIONS, _TAIL_DEVIATIONS, 2 * _WIDEST_BELL + 1)
    weights = np.exp(-(places**2) / 2)
    return np.rint(mean + places * deviation).astype(np.int64), weights / weights.sum()


def _binomial_axis(size: int, chance: float) -> tuple[PointRows, Floats]:
    if chance in (0, 1):
        return np.array([size * int(chance)]), np.ones(1)
    deviation = (size * chance * (1 - chance)) ** 0.5
    if deviation > _WIDEST_BELL:
        return _bell(size * chance, deviation)
    values = _window(size * chance, deviation, 0, size)
    rising = values[1:].astype(np.float64)
    return values, _from_ratios((size - rising + 1) / rising * (chance / (1 - chance)))


@cache
def _votes(sizes: tuple[int, ...], chance: float, points: int) -> tuple[PointRows, Floats]:
    """Tables of independent votes and how likely they are: all of them, or as many as *points* spread evenly."""
    axes = [_binomial_axis(size, chance) for size in sizes]
    if math.prod(len(values) for values, _ in axes) <= points:
        grids = np.meshgrid(*(values for values, _ in axes), indexing="ij")
        weights = np.ones(())
        for _, own in axes:
            weights = np.multiply.outer(weights, own)
        return np.stack([grid.ravel() for grid in grids], axis=1), weights.ravel() / weights.sum()
    spread = _evenly(points, len(sizes))
    columns = [_inverse(values, own, spread[:, place]) for place, (values, own) in enumerate(axes)]
    return np.stack(columns, axis=1), np.full(points, 1 / points)


@cache
def _choices(sizes: tuple[int, ...], total: int) -> tuple[PointRows, Floats]:
    """Who of each level is among *total* people that say yes, every choice equally likely: all of them, or some."""
    if len(sizes) == 1:
        return np.array([[total]]), np.ones(1)
    if len(sizes) == 2:
        values, weights = hypergeometric_axis(total, sizes[0], sizes[1])
        return np.stack([values, total - values], axis=1), weights
    if math.prod(size + 1 for size in sizes) <= _POINTS_AT_MARGIN:
        every = np.array([yes for yes in product(*(range(size + 1) for size in sizes)) if sum(yes) == total])
        ways = np.array([float(math.prod(map(math.comb, sizes, yes))) for yes in every.tolist()])
        return every, ways / ways.sum()
    spread = _evenly(_POINTS_AT_MARGIN, len(sizes) - 1)
    left = np.full(len(spread), total, dtype=np.int64)
    others, columns = sum(sizes), []
    for place, size in enumerate(sizes[:-1]):
        others -= size
        column = np.empty_like(left)
        for yes in np.unique(left).tolist():
            here = left == yes
            column[here] = _inverse(*hypergeometric_axis(yes, size, others), spread[here, place])
        columns.append(column)
        left = left - column
    return np.stack([*columns, left], axis=1), np.full(len(spread), 1 / len(spread))


def _evenly(points: int, dimensions: int) -> Floats:
    """Points of a Kronecker sequence in the unit cube: multiples of the square roots of primes, modulo 1."""
    primes = [n for n in range(2, 8 * dimensions + 8) if all(n % d for d in range(2, math.isqrt(n) + 1))]
    steps = np.sqrt(np.array(primes[:dimensions], dtype=np.float64))
    return np.asarray((0.5 + np.arange(1, points + 1)[:, None] * steps) % 1)


def _inverse(values: PointRows, weights: Floats, at: Floats) -> PointRows:
    return np.asarray(values[np.minimum(np.searchsorted(np.cumsum(weights), at), len(values) - 1)])


def _cheapest(available: PointRows, wanted: npt.NDArray[Any]) -> Floats:
    """Of each level as many people as are wanted, the strictest first, the last one in part."""
    before = np.cumsum(available, axis=1) - available
    return np.asarray(np.clip(wanted[:, None] - before, 0, available), dtype=np.float64)


def _rho(levels: Floats, delta: float) -> Floats:
    """What delta gives to the likelier answer, by the largest level of each column; nothing where that level is 0."""
    largest = levels.max(axis=0)
    return np.asarray(np.where(largest > 0, delta / np.expm1(np.clip(largest, 1e-12, 700)), 0.0))


def _one_sided(less: Floats, right: npt.NDArray[np.bool_], rho: Floats) -> Floats:
    """Errors from the less likely answer's probabilities, delta used up: one column for each rho."""
    less = np.maximum((1 + 2 * rho) * less - rho, 0)
    return np.where(right, less, 1 - less)


def _wide(people: int) -> list[int]:
    return sorted({0, people, *(round(people ** (step / (_WIDTHS - 2))) for step in range(_WIDTHS - 1))})


def _around(width: int, people: int) -> list[int]:
    """Widths up to the neighbours on the wide grid."""
    ratio = max(2.0, people ** (1 / (_WIDTHS - 2)))
    tried = np.geomspace(max(1, width) / ratio, max(1, width) * ratio, _WIDTHS + 2)[1:-1]
    return sorted({min(people, round(float(one))) for one in tried})


def _least(tried: Sequence[tuple[Choice, float]]) -> tuple[Choice, float]:
    """The least average; of those that nobody can tell apart the least at the second chance, the first one where equal."""
    least = min(choice.average for choice, _ in tried)
    near = [one for one in tried if one[0].average <= least + _SAME_AVERAGE]
    return min(near, key=lambda one: one[1])


def hypergeometric_axis(yes: int, size: int, others: int) -> tuple[PointRows, Floats]:
    """How many of *size* people are among *yes* who say so of all, and how likely: far tails are left out."""
    low, high = max(0, yes - others), min(size, yes)
    if high < low:
        return np.array([0]), np.array([0.0])
    people = size + others
    spread = size * (yes / people) * (1 - yes / people) * others / max(1, people - 1)
    if spread**0.5 > _WIDEST_BELL:
        return _bell(size * yes / people, spread**0.5)
    values = _window(size * yes / people, spread**0.5, low, high)
    rising = values[1:].astype(np.float64)
    ratios = (yes - rising + 1) * (size - rising + 1) / (rising * (others - yes + rising))
    return values, _from_ratios(ratios)


def _from_ratios(ratios: Floats) -> Floats:
    """Probabilities from the quotients of neighbouring ones: no factorials, at any size."""
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum())


def _kept(yes: PointRows, no: PointRows, chances: Floats, tau: float) -> tuple[Floats, Floats]:
    """What strict people who are kept add to the lead, and how likely: of each kind at most the likeliest numbers."""
    lead: Floats = np.zeros(1)
    weight: Floats = np.ones(1)
    for people, step, chance in [(y, 1 - tau, c) for y, c in zip(yes, chances)] + [
        (n, -tau, c) for n, c in zip(no, chances)
    ]:
        kept, likely = _binomial_axis(int(people), float(chance))
        sums = np.round(np.add.outer(lead, step * kept).ravel(), 9)
        lead, place = np.unique(sums, return_inverse=True)
        weight = np.bincount(place.ravel(), np.multiply.outer(weight, likely).ravel()).astype(np.float64)
    return lead, weight / weight.sum()
