"""Which bin holds the quantile: how often wrong, and by how many people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.peers import libraries
from benchmarks.peers.record import Comparison, Estimate, checked, drawn
from benchmarks.quantiles import real_questions
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import QuantileAccuracy, accuracy_with_rivals
from optimaldp.laws.quantile_rivals import Spread, spread_of
from optimaldp.privacy import level


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's own code, of a slow one, and how many questions."""

    draws: int
    slow: int
    questions: int


FULL = Sizes(draws=1000, slow=300, questions=100)
SAMPLE = Sizes(draws=30, slow=3, questions=2)

WRONG = "Quantile, probability of a wrong bin"
PEOPLE = "Quantile, people between the answer and the truth"


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for name, cells, bins, rank, epsilon in list(real_questions())[: sizes.questions]:
        task = f"{name}, ε = {epsilon}"
        ours, _, exponential, candidates = accuracy_with_rivals(quantile_law(bins, rank, level(epsilon)), cells)
        spread = spread_of(cells, bins, rank)
        people = sorted(Counter(cells).elements())
        draw = libraries.opendp_quantile(len(people), bins, float(rank), float(epsilon))
        drawn_bins = [draw(people) for _ in range(sizes.draws)]
        yield from _checked_rows(task, "OpenDP make_private_quantile", ours, candidates, spread, drawn_bins)
        yield from _pair(task, "exponential mechanism on the same bins", ours, _exact(exponential))
        if bins > 5:  # it draws a number, not a bin: for wide bins that is another question
            answer = libraries.diffprivlib_quantile(float(rank), float(epsilon), (0.0, float(bins)))
            values = _apart(people)
            drawn_bins = [min(bins - 1, int(answer(values))) for _ in range(sizes.slow)]
            off = [_people_off(spread, bin_) for bin_ in drawn_bins]
            theirs = drawn([float(value > 0) for value in off]), drawn(off)
            yield from _pair(task, "diffprivlib quantile, rounded to its bin", ours, theirs)


def _apart(people: list[int]) -> list[float]:
    """The people of a bin apart from each other: a bin of equal values would have no width at all."""
    held = sorted(Counter(people).items())
    return [bin_ + (place + 0.5) / count for bin_, count in held for place in range(count)]


def _checked_rows(
    task: str, peer: str, ours: QuantileAccuracy, theirs: QuantileAccuracy, spread: Spread, drawn_bins: list[int]
) -> Iterator[Comparison]:
    off = [_people_off(spread, bin_) for bin_ in drawn_bins]
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
