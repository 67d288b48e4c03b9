"""The leading options in order: all lists at once, beside OpenDP's noisy top-k and the repeated winner, at the same level.

The figure is the probability that the printed list is not exactly the true one. OpenDP charges 2 k units of noise for k leaders
when a record is replaced; a repeated winner splits epsilon by k.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.report import Row, at_most, best_time, within
from optimaldp.distances.ranking import true_ranking
from optimaldp.laws.options import TopLaw
from optimaldp.laws.winner import enclosed_probabilities, winner_claim
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.privacy.balls import Ball, precision
from optimaldp.sampling import SystemBits


@dataclass(frozen=True)
class Sizes:
    """How many draws of the peer, and how many options a list is drawn from."""

    draws: int
    options: int


FULL = Sizes(draws=1500, options=10_000)
SAMPLE = Sizes(draws=20, options=100)

_NOISE = 0.02  # of a frequency of so many draws, about one and a half standard deviations
# counts, leaders, epsilon
_STUDIES = (
    ((40, 30, 20, 10), 2, 0.5),
    ((40, 30, 20, 10), 3, 1.0),
    ((303, 290, 134, 120, 110), 3, 0.5),
    ((60, 50, 42, 35, 29, 24), 3, 1.0),
)


def rows(sizes: Sizes = FULL) -> Iterator[Row]:
    for counts, size, epsilon in _STUDIES:
        law = TopLaw(len(counts), size, Epsilon.read(epsilon), Neighbours.SUBSTITUTION)
        true = true_ranking(counts, size)
        with precision(64):
            ours = 1 - float(law.probabilities(counts)[true])
            repeated = 1 - float(_repeated(counts, true, epsilon))
        task = f"wrong list, {size} of {len(counts)}, ε = {epsilon:g}"
        yield at_most(task, ours, "repeated winner, ε/k each", repeated, 1, unit="", note=str(law.mode))
        theirs = _opendp(counts, true, epsilon, sizes.draws)
        yield at_most(task, ours, f"OpenDP noisy top-k ({sizes.draws} draws)", theirs + _NOISE, 1, unit="")
    yield from _latency(sizes.options)


def _repeated(counts: Sequence[int], true: Sequence[int], epsilon: float) -> Ball:
    """The flip envelope on the options that remain, k times."""
    remaining, chance = list(range(len(counts))), Ball(1)
    for option in true:
        if len(remaining) > 1:
            claim = winner_claim(len(remaining), level(epsilon / len(true)))
            row = enclosed_probabilities([counts[other] for other in remaining], claim)
            chance = chance * row[remaining.index(option)]
        remaining.remove(option)
    return chance


def _opendp(counts: Sequence[int], true: Sequence[int], epsilon: float, draws: int) -> float:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    size = len(true)
    noisy: Any = dp.m.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.linf_distance(T=int),
        dp.max_divergence(),
        k=size,
        scale=2.0 * size / epsilon,
    )
    assert noisy.map(1) <= epsilon * (1 + 1e-9)
    return sum(tuple(noisy(list(counts))) != tuple(true) for _ in range(draws)) / draws


def _latency(options: int) -> Iterator[Row]:
    source = SystemBits()
    few = TopLaw(10, 4, Epsilon.read(1), Neighbours.SUBSTITUTION)
    many = TopLaw(options, 5, Epsilon.read(1), Neighbours.SUBSTITUTION)
    votes = [10**6 - 7 * k for k in range(10)]
    crowd = [(7919 * k) % 1000 for k in range(options)]
    spent = best_time(lambda: few.draw(votes, source))
    yield within("draw 4 of 10 leaders (5,040 lists)", spent, 2, note=str(few.mode))
    spent = best_time(lambda: many.draw(crowd, source))
    yield within(f"draw 5 of {options:,} leaders", spent, 2, note=str(many.mode))
