"""How often people with levels of their own get a wrong answer: curves for previews, in floating point, from public numbers.

Two views. *Average*: everybody says yes independently with the same chance; given how many say yes, every choice of who is
equally likely, so the curve over the margin needs no chance at all. *Worst*: at each margin the table that is hardest for the
mechanism, which is the one in which strict people stand against the rest. Four mechanisms: the two aims, and what one would do
without them (the strictest level for all; strict people left out), beside the sampling of Jorgensen, Yu and Cormode (ICDE 2015).

Weighted votes hardly hear strict people. In a large table that costs more than privacy does: with 100,000 of a million people at
0.1 and the rest at 1 they err in 9 % of cases, the strictest level for all in 0.8 %. Everybody may be given *less* than their
level, so cutting all levels to a public cap is private too, and :meth:`LevelSizes.best_cap` finds the cap with the least average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_POINTS = 200_000  # tables that closed forms are worked out for at once
_CAPS_TRIED = 17  # caps that are tried, evenly on a logarithmic scale
_TAIL_DEVIATIONS = 9.0  # standard deviations beyond which a count is left out


@dataclass(frozen=True)
class LevelSizes:
    """*At least so many of them say yes*, asked of public numbers of people with public levels in rising order."""

    least: int
    levels: tuple[float, ...]
    sizes: tuple[int, ...]

    @property
    def points(self) -> int:
        """How many tables are looked at for one number."""
        return _POINTS

    @property
    def people(self) -> int:
        return sum(self.sizes)

    @cached_property
    def _tau(self) -> float:
        return (self.least - 0.5) / self.people

    # What each mechanism says; *yes* has one row for each table and one column for each level.

    def right_answer(self, yes: Counts) -> npt.NDArray[np.bool_]:
        return np.asarray(yes.sum(axis=1) >= self.least)

    def typical(self, yes: Counts) -> Floats:
        """The chance of a wrong answer of weighted votes."""
        exponent = (yes - self._tau * np.array(self.sizes)) @ np.array(self.levels)
        return _wrong_from_exponent(exponent, self.right_answer(yes))

    def every_table(self, yes: Counts) -> Floats:
        """The chance of a wrong answer of the balanced boundary."""
        true = self.right_answer(yes)
        total = yes.sum(axis=1)
        missing = np.where(true, total - self.least + 1, self.least - total)
        could = np.where(true[:, None], yes, np.array(self.sizes) - yes)
        exponent, largest = np.zeros(len(yes)), np.zeros(len(yes))
        for column, epsilon in enumerate(self.levels):
            used = np.minimum(missing, could[:, column])
            exponent += epsilon * used
            largest = np.where(used > 0, epsilon, largest)
            missing = missing - used
        error = np.exp(largest - exponent) / (1 + np.exp(largest))
        return np.asarray(np.where(missing > 0, 0.0, error))

    def strictest_for_all(self, yes: Counts) -> Floats:
        """Everybody is treated as the strictest person."""
        total = yes.sum(axis=1)
        flips = np.where(self.right_answer(yes), total - self.least + 1, self.least - total)
        return _chain(flips, self.levels[0])

    def strict_left_out(self, yes: Counts) -> Floats:
        """Only people with the loosest level are asked, about the same share of them."""
        asked, size = yes[:, -1], self.sizes[-1]
        least = int(np.floor(self._tau * size)) + 1
        said_yes = asked >= least
        error = _chain(np.where(said_yes, asked - least + 1, least - asked), self.levels[-1])
        return np.asarray(np.where(said_yes == self.right_answer(yes), error, 1 - error))

    def sampled(self, yes: Counts) -> Floats:
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

    def average(self, error: Callable[[Counts], Floats], chance: float) -> float:
        """The chance of a wrong answer when everybody says yes independently with *chance*."""
        axes = [_binomial_axis(size, chance) for size in self.sizes]
        return _expected(error, _fitted(axes))

    def total_at(self, margin: int, *, truth: bool) -> int:
        """How many say yes where *margin* people must change to change the answer."""
        return self.least - 1 + margin if truth else self.least - margin

    def average_at(self, error: Callable[[Counts], Floats], margin: int, *, truth: bool = True) -> float:
        """The chance of a wrong answer when *margin* people must change, over all choices of who says yes."""
        total = self.total_at(margin, truth=truth)
        rows: list[tuple[list[int], float]] = [([], 1.0)]
        left_people, limit = self.people, max(3, int(self.points ** (1 / max(1, len(self.sizes) - 1))))
        for size in self.sizes[:-1]:
            left_people -= size
            rows = [
                ([*row, value], weight * chance)
                for row, weight in rows
                for value, chance in zip(*_thinned(*hypergeometric_axis(total - sum(row), size, left_people), limit))
            ]
        yes = np.array([[*row, total - sum(row)] for row, _ in rows], dtype=np.int64)
        weights = np.array([weight for _, weight in rows])
        possible = (yes[:, -1] >= 0) & (yes[:, -1] <= self.sizes[-1])
        return float((error(yes[possible]) * weights[possible]).sum() / weights[possible].sum())

    def worst_at(self, error: Callable[[Counts], Floats], margin: int, *, truth: bool = True) -> float:
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
        averages = [self.capped(float(cap)).average_typical(chance) for cap in steps]
        best = int(np.argmin(averages))
        return float(steps[best]), averages[best]

    def average_typical(self, chance: float) -> float:
        """The average error of the typical aim; with one level that is the exact optimum for it."""
        return self.average(self.typical if len(self.levels) > 1 else self.strictest_for_all, chance)

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


def _thinned(values: Counts, weights: Floats, most: int) -> tuple[Counts, Floats]:
    """At most *most* points: neighbouring counts share the one in their middle."""
    if len(values) <= most:
        return values, weights
    blocks = np.array_split(np.arange(len(values)), most)
    return np.array([values[b[len(b) // 2]] for b in blocks]), np.array([weights[b].sum() for b in blocks])


def _window(mean: float, deviation: float, low: int, high: int) -> Counts:
    reach = _TAIL_DEVIATIONS * deviation + 1
    return np.arange(max(low, int(mean - reach)), min(high, int(mean + reach) + 1) + 1, dtype=np.int64)


def _binomial_axis(size: int, chance: float) -> tuple[Counts, Floats]:
    if chance in (0, 1):
        return np.array([size * int(chance)]), np.ones(1)
    values = _window(size * chance, (size * chance * (1 - chance)) ** 0.5, 0, size)
    rising = values[1:].astype(np.float64)
    return values, _from_ratios((size - rising + 1) / rising * (chance / (1 - chance)))


def _fitted(axes: Sequence[tuple[Counts, Floats]]) -> list[tuple[Counts, Floats]]:
    """Thin the levels, the strictest first: one count more or less of a strict person hardly moves a curve."""
    fitted = list(axes)
    for place, (values, weights) in enumerate(fitted):
        others = float(np.prod([len(v) for j, (v, _) in enumerate(fitted) if j != place]))
        fitted[place] = _thinned(values, weights, max(9, int(_POINTS / others)))
    return fitted


def hypergeometric_axis(yes: int, size: int, others: int) -> tuple[Counts, Floats]:
    """How many of *size* people are among *yes* who say so of all, and how likely: far tails are left out."""
    low, high = max(0, yes - others), min(size, yes)
    if high < low:
        return np.array([0]), np.array([0.0])
    people = size + others
    spread = size * (yes / people) * (1 - yes / people) * others / max(1, people - 1)
    values = _window(size * yes / people, spread**0.5, low, high)
    rising = values[1:].astype(np.float64)
    ratios = (yes - rising + 1) * (size - rising + 1) / (rising * (others - yes + rising))
    return values, _from_ratios(ratios)


def _from_ratios(ratios: Floats) -> Floats:
    """Probabilities from the quotients of neighbouring ones: no factorials, at any size."""
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    weights = np.exp(logarithms - logarithms.max())
    return np.asarray(weights / weights.sum())


def _expected(error: Callable[[Counts], Floats], axes: Sequence[tuple[Counts, Floats]]) -> float:
    grids = np.meshgrid(*(values for values, _ in axes), indexing="ij")
    weights = np.ones(())
    for _, own in axes:
        weights = np.multiply.outer(weights, own)
    yes = np.stack([grid.ravel() for grid in grids], axis=1)
    return float((error(yes) * weights.ravel()).sum() / weights.sum())


def _kept(yes: Counts, no: Counts, chances: Floats, tau: float) -> tuple[Floats, Floats]:
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
