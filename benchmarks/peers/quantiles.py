"""Which bin holds the quantile: how often wrong, and by how many people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial

from benchmarks.peers import libraries
from benchmarks.peers.record import Comparison, Estimate, checked, drawn
from benchmarks.quantiles import real_questions
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import QuantileAccuracy, accuracy_with_rivals
from optimaldp.laws.quantile_rivals import Spread, spread_of
from optimaldp.privacy import level

_DRAWS = 1000
_SLOW_DRAWS = 300

WRONG = "Quantile, probability of a wrong bin"
PEOPLE = "Quantile, people between the answer and the truth"


def comparisons() -> Iterator[Comparison]:
    for name, cells, bins, rank, epsilon in real_questions():
        task = f"{name}, ε = {epsilon}"
        ours, _, exponential, candidates = accuracy_with_rivals(quantile_law(bins, rank, level(epsilon)), cells)
        spread = spread_of(cells, bins, rank)
        people = sorted(Counter(cells).elements())
        draw = libraries.opendp_quantile(len(people), bins, float(rank), float(epsilon))
        yield from _checked_rows(task, "OpenDP make_private_quantile", ours, candidates, spread, partial(draw, people))
        yield from _pair(task, "exponential mechanism on the same bins", ours, _exact(exponential))
        if bins > 5:  # it draws a number, not a bin: for wide bins that is another question
            yield from _diffprivlib(task, ours, spread, people, rank, float(epsilon))


def _diffprivlib(
    task: str, ours: QuantileAccuracy, spread: Spread, people: list[int], rank: Fraction, epsilon: float
) -> Iterator[Comparison]:
    answer = libraries.diffprivlib_quantile(float(rank), epsilon, (0.0, float(spread.bins)))
    held, values = Counter(people), []
    for bin_, count in sorted(
        held.items()
    ):  # apart from each other, or a bin of equal values would have no width at all
        values += [bin_ + (place + 0.5) / count for place in range(count)]
    off = [_people_off(spread, min(spread.bins - 1, int(answer(values)))) for _ in range(_SLOW_DRAWS)]
    theirs = (drawn([float(value > 0) for value in off]), drawn(off))
    yield from _pair(task, "diffprivlib quantile, rounded to its bin", ours, theirs)


def _checked_rows(
    task: str, peer: str, ours: QuantileAccuracy, theirs: QuantileAccuracy, spread: Spread, draw: Callable[[], int]
) -> Iterator[Comparison]:
    off = [_people_off(spread, draw()) for _ in range(_DRAWS)]
    wrong = checked(theirs.wrong, [float(value > 0) for value in off], peer)
    yield from _pair(task, peer, ours, (wrong, checked(theirs.rank_error, off, peer)))


def _pair(task: str, peer: str, ours: QuantileAccuracy, theirs: tuple[Estimate, Estimate]) -> Iterator[Comparison]:
    yield Comparison(WRONG, task, peer, Estimate(ours.wrong), theirs[0])
    yield Comparison(PEOPLE, task, peer, Estimate(ours.rank_error), theirs[1])


def _exact(accuracy: QuantileAccuracy) -> tuple[Estimate, Estimate]:
    return Estimate(accuracy.wrong), Estimate(accuracy.rank_error)


def _people_off(spread: Spread, bin_: int) -> float:
    assert len(spread.distance) == spread.bins, "every bin is a group of its own"
    return float(spread.distance[bin_])
