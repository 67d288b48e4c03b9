"""The referee for answers at a distance: it re-derives the chain of distributions by itself and checks all events.

It knows nothing of tables or counts, so its finding cannot depend on data. What it is shown is the mechanism as a function of
(true answer, distance); what it checks is public: the joint heads of the chains, consecutive distances from the boundary on in
exact arithmetic, and the closed form at far distances. What carries the rest of the chain is the lemma that raising every prefix
sum by F gives a close distribution (paper 001 Lemma 1, with the corrected F of erratum 001-1).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Protocol

from optimaldp.certify.exponentials import Exponentials, close
from optimaldp.certify.findings import Certified, Finding, same
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy import ApproximateDP
from optimaldp.privacy.balls import Ball, ball, precision

_BITS = 256
_EXACT_WORK = 60  # distances times answers that are checked exactly: a few milliseconds
_MOST_UNDECIDED = 10_000  # single steps across the switch, over all prefixes
_FAR_WORK = 120  # distances times answers at which the closed form is checked


class Distances(Protocol):
    """A mechanism as the referee sees it."""

    @property
    def level(self) -> ApproximateDP: ...

    @property
    def answers(self) -> int: ...

    def enclosures(self, truth: int, distance: int) -> Sequence[Ball]:
        """The probability of each answer when *truth* is true and the boundary is *distance* moves away."""
        ...


@lru_cache(maxsize=256)
def certified(mechanism: Distances) -> Certified[Distances]:
    """The mechanism with its finding, or :class:`NotCertifiedError`. The same mechanism is examined once."""
    return Certified(mechanism, examine(mechanism))


def examine(mechanism: Distances) -> Finding:
    """Check privacy from the raw distributions of *mechanism* alone."""
    if mechanism.answers == 1:
        return Finding(True, ("there is a single answer, which says nothing",))
    rows = _ChainRows(mechanism.level, mechanism.answers)
    near = max(1, min(12, _EXACT_WORK // mechanism.answers))
    for problem in (_heads(mechanism, rows), _steps(mechanism, rows, near), _far(mechanism)):
        if problem:
            return Finding(False, (), problem)
    return Finding(
        True,
        (
            "at the boundary the distributions of every two true answers are close in all events, exactly",
            f"distances 0 to {near} are close in all events to their successors, exactly, and are what is sampled",
            "at far distances (powers of two up to 2^30, and one more) the closed form is F composed with itself so often",
        ),
    )


class _ChainRows:
    """Exact rows of the chain, re-derived: prefix sums scaled by ``E + q - 1``, raised step by step."""

    def __init__(self, level: ApproximateDP, answers: int) -> None:
        self.ratio = Exponentials.exp(level.epsilon)
        self.inverse = Exponentials.exp(level.epsilon, -1)
        self.whole = self.ratio + (answers - 1)
        self.delta = self.whole * level.delta
        rest = Exponentials.of(1 - level.delta)
        self.prefixes = [self.whole - rest * (answers - k) for k in range(1, answers)]

    def head(self) -> list[Exponentials]:
        return self.row(self.prefixes)

    def row(self, prefixes: list[Exponentials]) -> list[Exponentials]:
        """The probabilities along the preference, scaled."""
        ends = [Exponentials({}), *prefixes, self.whole]
        return [after - before for before, after in pairwise(ends)]

    def raised(self, prefixes: list[Exponentials]) -> list[Exponentials]:
        """F of each prefix: the prefixes rise and F is concave, so its pieces follow each other and two searches part them."""
        turn = bisect_left(prefixes, True, key=lambda s: (self._decayed(s) - self._grown(s)).sign() <= 0)
        top = bisect_left(prefixes, True, key=lambda s: (self.whole - self._decayed(s)).sign() <= 0, lo=turn)
        # Before the turn the growth is at most what it is there, (E + delta)/(E + 1): not above 1.
        return [
            *map(self._grown, prefixes[:turn]),
            *map(self._decayed, prefixes[turn:top]),
            *[self.whole] * (len(prefixes) - top),
        ]

    def _grown(self, s: Exponentials) -> Exponentials:
        return self.ratio * s + self.delta

    def _decayed(self, s: Exponentials) -> Exponentials:
        return self.whole - self.inverse * (self.whole - s - self.delta)


def _heads(mechanism: Distances, rows: _ChainRows) -> str:
    """Distance 0: each row is the head with its truth in front, and two such rows are close."""
    head = rows.head()
    for truth in (0, mechanism.answers - 1):
        if not _shown(mechanism, rows, truth, 0, head):
            return "a distribution at the boundary is not the one that was derived"
    swapped = [head[1], head[0], *head[2:]]  # the truth is the second answer: all pairs look like this, up to names
    equal_rest = all(value == head[1] for value in head[2:])
    if not equal_rest or not close(rows.ratio, rows.delta, head, swapped):
        return "two distributions at the boundary are not close"
    return ""


def _steps(mechanism: Distances, rows: _ChainRows, near: int) -> str:
    """Consecutive distances on one chain, exactly, and what is shown against what was derived."""
    prefixes = rows.prefixes
    for distance in range(near):
        further = rows.raised(prefixes)
        if not close(rows.ratio, rows.delta, rows.row(prefixes), rows.row(further)):
            return f"distances {distance} and {distance + 1} are not close"
        for truth in (0, mechanism.answers - 1):
            if not _shown(mechanism, rows, truth, distance + 1, rows.row(further)):
                return f"the distribution at distance {distance + 1} is not the one that was derived"
        prefixes = further
    return ""


def _shown(mechanism: Distances, rows: _ChainRows, truth: int, distance: int, derived: list[Exponentials]) -> bool:
    """Whether the mechanism's enclosures are sharp and hold the derived values."""
    # The derived values are sums of terms of size up to e^epsilon that may cancel down to e^(-epsilon distance).
    with precision(_BITS + math.ceil(1.5 * float(mechanism.level.epsilon) * (distance + 2))):
        along = _along(list(mechanism.enclosures(truth, distance)), truth)
        whole, floor = rows.whole.ball(), _floor(mechanism.level)
        return len(along) == len(derived) and all(
            same(shown, value.ball() / whole, floor) for shown, value in zip(along, derived)
        )


def _along(row: list[Ball], truth: int) -> list[Ball]:
    """In preference order: the true answer first, the others in their public order."""
    return [row[truth], *row[:truth], *row[truth + 1 :]]


def _floor(level: ApproximateDP) -> Ball:
    """With delta > 0 a probability may be exactly 0, which no enclosure shows: it then only has to be tiny."""
    return Ball(2) ** (50 - _BITS) if level.delta else Ball(0)


def _far(mechanism: Distances) -> str:
    """The distances 2^k and 2^k + 1: what is shown against powers of F that were built by composing F with itself."""
    highest = max(1, min(30, _FAR_WORK // mechanism.answers))
    level, ranks = mechanism.level, _watched(mechanism.answers)
    with precision(_BITS + math.ceil(3 * float(level.epsilon)) + _fine_bits(level)):
        steps = StepPowers(level, 30)
        rest = ball(1 - level.delta) / (level.epsilon.exp() + (mechanism.answers - 1))
        walks = [steps.walk(0, 1, (mechanism.answers - k) * rest) for k in ranks]  # at distance 1
        for power in range(30):
            walks = [steps.walk(power, 1, left) for left in walks]  # from 2^power to 2^(power + 1)
            if power < 30 - highest:
                continue
            for more, wanted in ((0, walks), (1, [steps.walk(0, 1, left) for left in walks])):
                shown = _remainders(mechanism, 2 ** (power + 1) + more)
                if not all(same(shown[k - 1], left, _floor(level)) for k, left in zip(ranks, wanted)):
                    return f"the distribution at distance 2^{power + 1} + {more} is not the one that was derived"
    return ""


def _fine_bits(level: ApproximateDP) -> int:
    """Bits that tell ``e^epsilon`` from 1 and delta from 0 when they are tiny."""
    tiny = [] if level.epsilon.is_zero else [level.epsilon.leading_zeros()]
    delta = level.delta
    return 4 * sum([*tiny, max(0, delta.denominator.bit_length() - delta.numerator.bit_length()) if delta else 0])


def _watched(answers: int) -> list[int]:
    """The prefixes that are followed far out: all of them, or the first and last ones of very many."""
    ranks = list(range(1, answers))
    return ranks if len(ranks) <= 64 else ranks[:32] + ranks[-32:]


def _remainders(mechanism: Distances, distance: int) -> list[Ball]:
    """What the k most preferred answers leave, k = 1 .. q - 1, summed from the far end so that small numbers stay sharp."""
    row = _along(list(mechanism.enclosures(0, distance)), 0)
    sums, total = [], Ball(0)
    for probability in reversed(row[1:]):
        total = total + probability
        sums.append(total)
    return sums[::-1]


class StepPowers:
    """``c -> 1 - F^(2^k)(1 - c)``, built by composing straight pieces with themselves.

    In its falling phase F is ``c -> (c - delta)/E``, in its rising phase ``s -> E s + delta``; a composition that stays in one
    phase is straight again, and one that crosses from the second into the first is halved until it does not.
    """

    def __init__(self, level: ApproximateDP, highest: int) -> None:
        ratio, self.delta = level.epsilon.exp(), ball(level.delta)
        self.ratio = ratio
        # At epsilon = 0 the two phases are the same map, and a start on the switch would never be decided.
        self.switch = Ball(0) if level.epsilon.is_zero else (1 - self.delta) / (ratio + 1)
        self.undecided = 0
        self.falling = _compositions((1 / ratio, -self.delta / ratio), highest)
        self.rising = _compositions((ratio, self.delta), highest)

    def walk(self, power: int, times: int, left: Ball) -> Ball:
        """Apply F *times* times ``2**power`` times to the remainder *left*."""
        for _ in range(times):
            left = self._once(power, left)
        return left

    def _once(self, power: int, left: Ball) -> Ball:
        s = 1 - left
        if s >= self.switch:
            slope, shift = self.falling[power]
            return (slope * left + shift).max(Ball(0))
        slope, shift = self.rising[power]
        reached = slope * s + shift
        if (reached - self.delta) / self.ratio <= self.switch:  # the last of these steps still began below the switch
            return (1 - reached).max(Ball(0))
        if power == 0:
            self.undecided += 1
            if (
                self.undecided > _MOST_UNDECIDED
            ):  # a crossing is met once on each way: more means that nothing is decided
                raise NotCertifiedError(
                    "the referee cannot follow this level far enough. Nothing was sampled and nothing was spent."
                )
            return self._single(left)
        return self.walk(power - 1, 2, left)

    def _single(self, left: Ball) -> Ball:
        """``1 - F(1 - c) = max(0, (c - delta)/E, 1 - delta - E (1 - c))``: needs no decision."""
        return Ball(0).max(((left - self.delta) / self.ratio).max(1 - self.delta - self.ratio * (1 - left)))


def _compositions(piece: tuple[Ball, Ball], highest: int) -> list[tuple[Ball, Ball]]:
    """The straight map ``x -> a x + b`` composed with itself 2^k times, k = 0 .. highest."""
    composed = [piece]
    for _ in range(highest):
        slope, shift = composed[-1]
        composed.append((slope * slope, slope * shift + shift))
    return composed
