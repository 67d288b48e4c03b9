"""People with levels of their own: average errors of both aims beside what one would do without them, and the least possible.

Strict people at 0.1, the rest at 1; everybody votes independently with the same chance, the hardest public case. The least
possible average is a linear program over all private mechanisms on the grid of counts (HiGHS), cut off far in the tails, which
can only make it smaller. *Sampled* is the sampling mechanism of Jorgensen, Yu and Cormode, "Conservative or liberal? Personalized
differential privacy", ICDE 2015. *Capped*: weighted votes after all levels were cut to a public cap, here the best one.

*As reported*: the numbers of the first study of these mechanisms, each to its last digit. With 10 and 20 strict people it had
averaged over the votes in which the count of the others lies within 40 of the middle (99 % of them, so that the linear program
stays small), which makes every average a hundredth larger; the other two rows are over all votes. In the row of a share it left
strict people out by giving their votes the weight 0, where the best answer of the others alone errs a little less. Its ratio at
margin 15 lets strict people vote as fair coins (docs/decisions/0007-average-errors.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.stats import binom

from benchmarks.report import Row, at_most
from optimaldp.laws.level_accuracy import LevelSizes, level_sizes

_REACH = 4.5  # standard deviations of a count that the program covers
_MARGIN = 15


@dataclass(frozen=True)
class Study:
    """Strict people at 0.1 among others at 1, and what was reported of them."""

    strict: int
    people: int
    least: int
    chance: float
    near: int | None
    """Only votes in which the count of the others lies within so many of the middle; ``None``: all votes."""
    reported: tuple[float, float, float, float]
    """Average errors: balanced, strict left out, weighted votes, least possible."""
    weightless: bool = False
    """Whether "left out" was reported for weighted votes in which strict people weigh nothing."""

    @property
    def asked(self) -> LevelSizes:
        return level_sizes(self.least, [(0.1, self.strict), (1.0, self.people - self.strict)])

    @property
    def left_out(self) -> Callable[[Any], Any]:
        without = level_sizes(self.least, [(0.0, self.strict), (1.0, self.people - self.strict)])
        return without.weighted if self.weightless else self.asked.strict_left_out


STUDIES = (
    Study(10, 1001, 501, 0.5, 40, (0.1095, 0.0408, 0.0395, 0.0391)),
    Study(20, 1001, 501, 0.5, 40, (0.1582, 0.0523, 0.0494, 0.0493)),
    Study(100, 1001, 501, 0.5, None, (0.1982, 0.1058, 0.0962, 0.0946)),
    Study(300, 1000, 300, 0.3, None, (0.2100, 0.1876, 0.1672, 0.1512), weightless=True),
)
_REPORTED_TIMES = 2960  # at margin 15 with 21 strict of 1001: balanced against strict left out


class Votes:
    """Likely counts of yes, strict and loose, and their probabilities, which add up to one."""

    def __init__(self, asked: LevelSizes, chance: float, near: int | None = None) -> None:
        self.asked = asked
        self.strict = _likely(asked.sizes[0], chance) if near is None else np.arange(asked.sizes[0] + 1)
        middle = asked.sizes[1] // 2
        self.loose = _likely(asked.sizes[1], chance) if near is None else np.arange(middle - near, middle + near + 1)
        axes = [binom.pmf(counts, size, chance) for counts, size in zip((self.strict, self.loose), asked.sizes)]
        weights = np.outer(*axes)
        self.weights = weights / weights.sum()

    def average(self, error: Callable[[Any], Any]) -> float:
        grid = np.stack(np.meshgrid(self.strict, self.loose, indexing="ij"), axis=-1).reshape(-1, 2)
        return float(error(grid) @ self.weights.ravel())

    def least_average(self) -> float:
        """The least average error of any mechanism that keeps everybody's own level."""
        shape, size = self.weights.shape, self.weights.size
        true = self.strict[:, None] + self.loose[None, :] >= self.asked.least
        number = np.arange(size).reshape(shape)
        upper, bound = [], []
        for axis, epsilon in enumerate(self.asked.levels):
            first = number.take(range(shape[axis] - 1), axis).ravel()
            second = number.take(range(1, shape[axis]), axis).ravel()
            ratio = np.exp(epsilon)
            for a, b in ((first, second), (second, first)):
                rows, ones = np.arange(len(a)), np.ones(len(a))
                coordinates = (np.r_[rows, rows], np.r_[a, b])
                upper += [csr_array((np.r_[ones, -ratio * ones], coordinates), shape=(len(a), size))]  # P(yes)
                bound += [np.zeros(len(a))]
                upper += [csr_array((np.r_[-ones, ratio * ones], coordinates), shape=(len(a), size))]  # P(no)
                bound += [np.full(len(a), ratio - 1)]
        cost = np.where(true, -self.weights, self.weights).ravel()
        solved = linprog(cost, A_ub=vstack(upper), b_ub=np.concatenate(bound), bounds=(0, 1), method="highs-ipm")
        return float(solved.fun + self.weights[true].sum())


def _likely(size: int, chance: float) -> npt.NDArray[np.int64]:
    law = binom(size, chance)
    low, high = law.mean() - _REACH * law.std(), law.mean() + _REACH * law.std()
    return np.arange(max(0, int(low)), min(size, int(high) + 1) + 1)


@dataclass(frozen=True)
class Sizes:
    """Which studies, and strict people and others of a large table."""

    studies: tuple[Study, ...]
    large: tuple[int, int]


FULL = Sizes(studies=STUDIES, large=(100_000, 900_001))
SAMPLE = Sizes(studies=(Study(2, 21, 11, 0.5, 8, (0, 0, 0, 0)),), large=(1000, 9001))


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    for study in sizes.studies:
        everywhere = Votes(study.asked, study.chance)
        best = everywhere.least_average()
        yield from _as_reported(study, best)
        yield from _compared(study, best)
    yield from _at_a_margin()
    yield from _large(*sizes.large)


def _as_reported(study: Study, best: float) -> Iterator[Row]:
    asked, near = study.asked, Votes(study.asked, study.chance, study.near)
    kinds = {
        "every table (balanced)": near.average(asked.balanced),
        "strict left out": near.average(study.left_out),
        "typical (weighted votes)": near.average(asked.weighted),
        "least possible (LP)": best if study.near is None else near.least_average(),
    }
    some = "all votes" if study.near is None else f"votes within {study.near} of the middle"
    for (name, ours), reported in zip(kinds.items(), study.reported):
        task, same = f"average error, {study.strict} strict of {study.people}", round(ours, 4) == reported
        yield Row(task, ours, "as reported", reported, "same digits", same, "", f"{name}; {some}")


def _compared(study: Study, best: float) -> Iterator[Row]:
    asked, chance = study.asked, study.chance
    task = f"average error, {study.strict} strict of {study.people}"
    typical = asked.average(asked.weighted, chance)
    # Where many are strict and the bound is no majority the votes are not symmetric, and weighing them is 11 % off.
    yield at_most(task, typical, "least possible (LP)", best, 1.12, unit="", note="typical")
    yield at_most(task, typical, "every table (balanced)", asked.average(asked.balanced, chance), 1, unit="")
    yield at_most(task, typical, "strict left out", asked.average(asked.strict_left_out, chance), 1, unit="")
    yield at_most(task, typical, "sampled (Jorgensen et al.)", asked.average(asked.sampled, chance), 1, unit="")
    cap, capped = asked.best_cap(chance)
    yield at_most(task, capped, "typical without a cap", typical, 1, unit="", note=f"typical, levels cut to {cap:.2g}")
    yield at_most(task, typical, "strictest for all", asked.average(asked.strictest_for_all, chance), 1, unit="")


def _large(strict: int, others: int) -> Iterator[Row]:
    """Weighted votes hardly hear the strict people, so at a million the strictest level for all is right more often."""
    asked = level_sizes((strict + others + 1) // 2, [(0.1, strict), (1.0, others)])
    cap, capped = asked.best_cap(0.5)
    task, note = f"average error, {strict:,} strict of {strict + others:,}", f"typical, levels cut to {cap:.2g}"
    yield at_most(task, capped, "typical without a cap", asked.average(asked.weighted, 0.5), 0.2, unit="", note=note)
    # Tables of a million people are thinned, each level in its own way: averages are right to about half a percent.
    yield at_most(
        task, capped, "strictest for all", asked.average(asked.strictest_for_all, 0.5), 1.01, unit="", note=note
    )


def coin_average(asked: LevelSizes, error: Callable[[Any], Any], margin: int) -> float:
    """The average error at a margin when the strict people vote as fair coins, whatever the others say."""
    total, strict = asked.least - 1 + margin, np.arange(asked.sizes[0] + 1)
    return float(error(np.stack([strict, total - strict], axis=1)) @ binom.pmf(strict, asked.sizes[0], 0.5))


def _at_a_margin() -> Iterator[Row]:
    """The other way round: at the hardest table of a margin the balanced boundary is the better one."""
    asked = level_sizes(501, [(0.1, 100), (1.0, 901)])
    ours, theirs = (asked.worst_at(error, _MARGIN) for error in (asked.balanced, asked.weighted))
    task = f"worst error at margin {_MARGIN}, 100 strict of 1001"
    yield at_most(task, ours, "typical (weighted votes)", theirs, 1, unit="", note="every table")
    few = level_sizes(501, [(0.1, 21), (1.0, 980)])
    for name, average in (("all choices of who says yes", few.average_at), ("strict people as fair coins", None)):
        balanced, typical, left_out = (
            coin_average(few, error, _MARGIN) if average is None else average(error, _MARGIN)
            for error in (few.balanced, few.weighted, few.strict_left_out)
        )
        task = f"average error at margin {_MARGIN}, 21 strict of 1001"
        yield at_most(task, typical, "every table (balanced)", balanced, 1, unit="", note=f"typical; {name}")
        times, task = balanced / left_out, f"balanced against strict left out, margin {_MARGIN}, 21 strict of 1001"
        same = None if average is not None else float(f"{times:.3g}") == _REPORTED_TIMES
        yield Row(task, times, "as reported", _REPORTED_TIMES, "same three digits", same, "times", name)
