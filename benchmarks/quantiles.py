"""Which bin holds the quantile? Ours against permute-and-flip, the exponential mechanism, OpenDP, binary search and the optimum.

Real columns (ages and incomes of a survey, visits to a doctor with heavy ties), all tables of a few people against the linear
program, and the time of a draw from a million bins. All errors are computed from the laws, not sampled.
"""

from __future__ import annotations

import csv
import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quantile_program import average_over_tables, least_error
from benchmarks.report import Row, at_most, best_time, within
from optimaldp.certify.quantile import examine, forget_code, second_reading
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import QuantileAccuracy, accuracy_with_rivals, even_accuracy, summarise
from optimaldp.laws.quantile_rivals import Spread, rank_noise_groups, spread_of
from optimaldp.privacy import level
from optimaldp.sampling import SystemBits

HALF, NINE_TENTHS = Fraction(1, 2), Fraction(9, 10)
Cells = Mapping[int, int]

_DATA = Path(__file__).parents[1] / "examples" / "data"
_NEVER_WORSE = ("permute-and-flip", "exponential mechanism")
_NEAR_OPTIMUM = 1.25  # the largest distance to the linear program that was measured is 1.20


@dataclass(frozen=True)
class Sizes:
    """Bins, people and epsilon: of tables that are listed, of even ones; how many bins are timed."""

    listed: tuple[tuple[int, int, str], ...]
    even: tuple[tuple[int, int, str], ...]
    timed: int


FULL = Sizes(
    listed=((3, 20, "0.5"), (3, 20, "1"), (4, 12, "1"), (5, 8, "1"), (5, 8, "2")),
    even=((1000, 2001, "0.1"), (1000, 20_001, "0.1"), (10**6, 944, "0.5")),
    timed=10**6,
)
SAMPLE = Sizes(listed=((3, 4, "0.5"),), even=((100, 201, "0.1"),), timed=1000)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    yield from _real_columns()
    yield from _even_tables(sizes.even)
    for bins, persons, epsilon in sizes.listed:
        yield from _all_tables(bins, persons, epsilon)
    yield from _speed(sizes.timed)


def real_questions() -> Iterator[tuple[str, Cells, int, Fraction, str]]:
    """Name, people in each bin, bins, rank, epsilon."""
    ages, five = _column("anes1996.csv", "age", 18), _ages_in_five()
    yield "median age, 82 bins, n = 944", ages, 82, HALF, "0.1"
    yield "median age, 82 bins, n = 944", ages, 82, HALF, "0.5"
    yield "median age, 82 bins, n = 944", ages, 82, HALF, "1"
    yield "0.9 of ages, 82 bins, n = 944", ages, 82, NINE_TENTHS, "0.5"
    yield "median age, 5 bins, n = 944", five, 5, HALF, "0.1"
    yield "0.9 of ages, 5 bins, n = 944", five, 5, NINE_TENTHS, "0.1"
    incomes = _column("anes1996.csv", "income_group", 1)
    yield "median income group of 24, n = 944", incomes, 24, HALF, "0.1"
    yield "0.9 of income groups, n = 944", incomes, 24, NINE_TENTHS, "0.1"
    visits = _column("rand_health.csv", "doctor_visits", 0)
    bins = max(visits) + 1
    yield f"median visits to a doctor, {bins} bins, n = 20190", visits, bins, HALF, "0.01"
    yield f"median visits to a doctor, {bins} bins, n = 20190", visits, bins, HALF, "0.1"
    yield f"0.9 of visits to a doctor, {bins} bins, n = 20190", visits, bins, NINE_TENTHS, "0.01"


def _real_columns() -> Iterator[Row]:
    for name, cells, bins, rank, epsilon in real_questions():
        ours, *rivals = figures(cells, bins, rank, epsilon)
        for theirs in rivals:
            yield _compared(f"wrong: {name}, ε = {epsilon}", ours, theirs)


def figures(cells: Cells, bins: int, rank: Fraction, epsilon: str) -> list[QuantileAccuracy]:
    """Ours first, then every rival, the floor that is not private last."""
    spread = spread_of(cells, bins, rank)
    search = summarise("noisy binary search", spread, binary_search_groups(spread, rank, float(epsilon)))
    noise = rank_noise_groups(spread, float(epsilon), math.ceil(rank * spread.persons))
    law = quantile_law(bins, rank, level(epsilon))
    floor = summarise("noise on the rank (not private)", spread, noise)
    return [*accuracy_with_rivals(law, cells), search, floor]


def _compared(task: str, ours: QuantileAccuracy, theirs: QuantileAccuracy) -> Row:
    note = (
        f"{ours.mechanism}; people off {ours.rank_error:.3g} against {theirs.rank_error:.3g}, "
        f"bins off {ours.bins_off:.3g} against {theirs.bins_off:.3g}"
    )
    if theirs.mechanism not in _NEVER_WORSE:
        return Row(task, ours.wrong, theirs.mechanism, theirs.wrong, "shown", None, "", note)
    holds = ours.wrong <= theirs.wrong and ours.rank_error <= theirs.rank_error and ours.bins_off <= theirs.bins_off
    return Row(task, ours.wrong, theirs.mechanism, theirs.wrong, "≤ 1 × (all three)", holds, "", note)


def binary_search_groups(spread: Spread, rank: Fraction, epsilon: float) -> NDArray[np.float64]:
    """Halve the bins log2(K) times, each time by the rank of the middle cut with Laplace noise of ``epsilon / log2(K)``."""
    if any(spread.size > 1):
        raise ValueError("the binary search is computed for bins that are listed one by one")
    steps = math.ceil(math.log2(spread.bins))
    heights = spread.persons - spread.above - math.ceil(rank * spread.persons) + 0.5
    tail = np.exp(-epsilon / steps * np.abs(heights)) / 2
    goes_left = np.where(heights >= 0, 1 - tail, tail)
    result = np.zeros(spread.bins)
    open_ = [(0, spread.bins - 1, 1.0)]
    while open_:
        low, high, probability = open_.pop()
        if low == high:
            result[low] = probability
            continue
        middle = (low + high) // 2
        open_.append((low, middle, probability * goes_left[middle]))
        open_.append((middle + 1, high, probability * (1 - goes_left[middle])))
    return result


def _even_tables(tables: tuple[tuple[int, int, str], ...]) -> Iterator[Row]:
    """Fine medians: a thousand and a million bins."""
    for bins, persons, epsilon in tables:
        ours, *rivals = even_accuracy(quantile_law(bins, HALF, level(epsilon)), persons)
        for theirs in rivals:
            task = f"people off: median of {bins} bins, {persons} people evenly, ε = {epsilon}"
            yield at_most(task, ours.rank_error, theirs.mechanism, theirs.rank_error, 1, unit="people")


def _all_tables(bins: int, persons: int, epsilon: str) -> Iterator[Row]:
    law = quantile_law(bins, HALF, level(epsilon))

    @cache
    def errors(counts: tuple[int, ...]) -> tuple[float, ...]:
        cells = {bin_: count for bin_, count in enumerate(counts) if count}
        return tuple(row.wrong for row in accuracy_with_rivals(law, cells))

    names = [row.mechanism for row in accuracy_with_rivals(law, {0: 1})]
    averages = [average_over_tables(bins, persons, lambda c, i=i: errors(c)[i]) for i in range(len(names))]  # type: ignore[misc]
    task = f"wrong median on average, {bins} bins, n = {persons}, ε = {epsilon}"
    best = least_error(bins, persons, float(epsilon))
    yield at_most(task, averages[0], "LP optimum (HiGHS)", best, _NEAR_OPTIMUM, unit="", note=names[0])
    for name, average in zip(names[1:], averages[1:]):
        if name in _NEVER_WORSE:
            yield at_most(task, averages[0], name, average, 1, unit="")
        else:
            yield Row(task, averages[0], name, average, "shown", None, "")


def _speed(bins: int) -> Iterator[Row]:
    rng, source = random.Random(1), SystemBits()
    sparse = dict(Counter(rng.randrange(bins) for _ in range(944)))
    full = {bin_: rng.randrange(5, 16) for bin_ in range(bins)}
    fine = quantile_law(bins, HALF, level("0.1"))
    note = "after counting; exact, with its second reading"
    for name, law, cells, target in (
        (f"{bins:,} bins, n = 944", fine, sparse, 0.1),
        (f"{bins:,} bins, all occupied", fine, full, 1.0),
        ("10¹² bins, n = 944", quantile_law(10**12, HALF, level("0.1")), sparse, 0.1),
    ):
        ours = best_time(lambda law=law, cells=cells: law.draw(cells, source, reread=second_reading))  # type: ignore[misc]
        yield within(f"draw a median: {name}", ours, target, note=note)
    peer = _opendp_time(sorted(Counter(sparse).elements()), bins)
    if peer is not None:
        ours = best_time(lambda: fine.draw(sparse, source))
        yield at_most(f"draw a median: {bins:,} bins, n = 944", ours, "OpenDP make_private_quantile", peer, 1)
    yield from _certifying()


def _certifying() -> Iterator[Row]:
    law = quantile_law(777, HALF, level("0.123"))

    def again(*, whole: bool) -> None:
        examine.cache_clear()
        if whole:
            forget_code()
        examine(law)

    yield within("certify a median, the first of a process", best_time(lambda: again(whole=True)), 0.3)
    yield within("certify another median", best_time(lambda: again(whole=False)), 0.1)


def _opendp_time(people: list[int], bins: int) -> float | None:
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int), size=len(people))
    make: Any = dp.m.make_private_quantile
    draw = make(domain, dp.symmetric_distance(), dp.max_divergence(), list(range(bins)), 0.5, 20.0)
    return best_time(lambda: draw(people))


def _column(file: str, column: str, first: int) -> Cells:
    with (_DATA / file).open() as lines:
        return dict(Counter(int(float(row[column])) - first for row in csv.DictReader(lines)))


def _ages_in_five() -> Cells:
    edges = (30, 45, 60, 75)
    cells: Counter[int] = Counter()
    for year, count in _column("anes1996.csv", "age", 0).items():
        cells[sum(year >= edge for edge in edges)] += count
    return dict(cells)
