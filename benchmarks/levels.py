"""People with levels of their own: average errors of both aims beside what one would do without them, and the least possible.

Strict people at 0.1, the rest at 1; everybody votes independently with the same chance, the hardest public case. The least
possible average is a linear program over all private mechanisms on the grid of counts (HiGHS), cut off far in the tails, which
can only make it smaller. *Sampled* is the sampling mechanism of Jorgensen, Yu and Cormode, "Conservative or liberal? Personalized
differential privacy", ICDE 2015. *Capped*: weighted votes after all levels were cut to a public cap, here the best one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, vstack
from scipy.stats import binom

from benchmarks.report import Row, at_most
from optimaldp.laws.level_accuracy import LevelSizes, level_sizes

# strict people, people, least number of yes, chance of a yes
_STUDIES = ((10, 1001, 501, 0.5), (20, 1001, 501, 0.5), (100, 1001, 501, 0.5), (300, 1000, 300, 0.3))
_REACH = 4.5  # standard deviations of a count that the program covers
_MARGIN = 15


def least_average(people: LevelSizes, chance: float) -> float:
    """The least average error of any mechanism that keeps everybody's own level, near the likely tables."""
    strict, loose = (_likely(size, chance) for size in people.sizes)
    shape = (len(strict), len(loose))
    weight = np.outer(binom.pmf(strict, people.sizes[0], chance), binom.pmf(loose, people.sizes[1], chance))
    true = strict[:, None] + loose[None, :] >= people.least
    number = np.arange(weight.size).reshape(shape)
    upper, bound = [], []
    for axis, epsilon in enumerate(people.levels):
        first = number.take(range(shape[axis] - 1), axis).ravel()
        second = number.take(range(1, shape[axis]), axis).ravel()
        ratio = np.exp(epsilon)
        for a, b in ((first, second), (second, first)):
            rows, ones = np.arange(len(a)), np.ones(len(a))
            coordinates = (np.r_[rows, rows], np.r_[a, b])
            upper += [csr_array((np.r_[ones, -ratio * ones], coordinates), shape=(len(a), number.size))]  # P(yes)
            bound += [np.zeros(len(a))]
            upper += [csr_array((np.r_[-ones, ratio * ones], coordinates), shape=(len(a), number.size))]  # P(no)
            bound += [np.full(len(a), ratio - 1)]
    cost = np.where(true, -weight, weight).ravel()
    solved = linprog(cost, A_ub=vstack(upper), b_ub=np.concatenate(bound), bounds=(0, 1), method="highs-ipm")
    return float(solved.fun + weight[true].sum())


def _likely(size: int, chance: float) -> np.ndarray:
    law = binom(size, chance)
    low, high = law.mean() - _REACH * law.std(), law.mean() + _REACH * law.std()
    return np.arange(max(0, int(low)), min(size, int(high) + 1) + 1)


def rows() -> Iterator[Row]:
    for strict, people, least, chance in _STUDIES:
        asked = level_sizes(least, [(0.1, strict), (1.0, people - strict)])
        yield from _compared(asked, f"average error, {strict} strict of {people}", chance)
    yield from _at_a_margin()
    yield from _large()


def _large() -> Iterator[Row]:
    """Weighted votes hardly hear the strict people, so at a million the strictest level for all is right more often."""
    asked = level_sizes(500_001, [(0.1, 100_000), (1.0, 900_001)])
    cap, capped = asked.best_cap(0.5)
    task, note = "average error, 100,000 strict of 1,000,001", f"typical, levels cut to {cap:.2g}"
    yield at_most(task, capped, "typical without a cap", asked.average(asked.typical, 0.5), 0.2, unit="", note=note)
    # Tables of a million people are thinned, each level in its own way: averages are right to about half a percent.
    yield at_most(
        task, capped, "strictest for all", asked.average(asked.strictest_for_all, 0.5), 1.01, unit="", note=note
    )


def _compared(asked: LevelSizes, task: str, chance: float) -> Iterator[Row]:
    typical = asked.average(asked.typical, chance)
    best = least_average(asked, chance)
    # Where many are strict and the bound is no majority the votes are not symmetric, and weighing them is 11 % off.
    yield at_most(task, typical, "least possible (LP)", best, 1.12, unit="", note="typical")
    yield at_most(task, typical, "every table (balanced)", asked.average(asked.every_table, chance), 1, unit="")
    yield at_most(task, typical, "strict left out", asked.average(asked.strict_left_out, chance), 1, unit="")
    yield at_most(task, typical, "sampled (Jorgensen et al.)", asked.average(asked.sampled, chance), 1, unit="")
    cap, capped = asked.best_cap(chance)
    yield at_most(task, capped, "typical without a cap", typical, 1, unit="", note=f"typical, levels cut to {cap:.2g}")
    yield at_most(task, typical, "strictest for all", asked.average(asked.strictest_for_all, chance), 1, unit="")


def _at_a_margin() -> Iterator[Row]:
    """The other way round: at the hardest table of a margin the balanced boundary is the better one."""
    asked = level_sizes(501, [(0.1, 100), (1.0, 901)])
    ours, theirs = (asked.worst_at(error, _MARGIN) for error in (asked.every_table, asked.typical))
    task = f"worst error at margin {_MARGIN}, 100 strict of 1001"
    yield at_most(task, ours, "typical (weighted votes)", theirs, 1, unit="", note="every table")
    ours, theirs = (asked.average_at(error, _MARGIN) for error in (asked.typical, asked.every_table))
    yield at_most(
        f"average error at margin {_MARGIN}", ours, "every table (balanced)", theirs, 1, unit="", note="typical"
    )
