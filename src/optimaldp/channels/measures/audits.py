"""Audit of a black box: from samples alone, an epsilon that it certainly does not keep.

Half of the samples choose the event on which the two inputs differ most; the other half, untouched by that choice,
bounds its two probabilities (Clopper and Pearson). So the confidence needs no correction for the many events that were
looked at.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from optimaldp.errors import ChannelError
from optimaldp.extras import requiring
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.privacy.numbers import read_probability
from optimaldp.progress import track
from optimaldp.results import Result

Sample = Hashable
_BINS = 64  # into which outputs that rarely repeat (continuous ones) are sorted, by their order


@dataclass(frozen=True, repr=False)
class Audit(Result):
    """**Guarantee.** With probability at least *confidence* over the samples, the mechanism is not (ε,
    delta)-DP for any ε below *epsilon_lower*.
    """

    epsilon_lower: float
    claimed: Epsilon | None
    delta: Fraction
    confidence: float
    event: tuple[str, ...]
    direction: str
    hits: tuple[int, int]
    trials: tuple[int, int]

    @property
    def violation(self) -> bool:
        """Whether the claimed epsilon is refuted."""
        return self.claimed is not None and self.epsilon_lower > float(self.claimed)

    @property
    def words(self) -> str:
        """The verdict in a sentence that does not promise what samples cannot show."""
        sure = f"with {100 * self.confidence:g} % confidence"
        if self.violation:
            return f"The claim epsilon = {self.claimed} is false: {sure}, epsilon is at least {self.epsilon_lower:.4g}."
        bound = f"{sure}, epsilon is at least {self.epsilon_lower:.4g}"
        if self.claimed is None:
            return f"{bound[0].upper()}{bound[1:]}."
        return f"No flaw found: {bound}, which does not contradict {self.claimed}. Samples can refute a claim, never prove it."

    def summary(self) -> str:
        verdict = "violation" if self.violation else "no violation found"
        return f"Audit(epsilon >= {self.epsilon_lower:.4g} at {self.confidence:g}, {verdict})"

    def to_document(self) -> dict[str, Any]:
        return {
            "epsilon_lower": self.epsilon_lower,
            "claimed_epsilon": None if self.claimed is None else str(self.claimed),
            "delta": str(self.delta),
            "violation": self.violation,
            "confidence": self.confidence,
            "direction": self.direction,
            "event": list(self.event),
            "hits": list(self.hits),
            "trials": list(self.trials),
            "words": self.words,
        }


def audit(
    first: Sequence[Sample],
    second: Sequence[Sample],
    *,
    epsilon: object = None,
    delta: object = 0,
    confidence: float = 0.999,
) -> Audit:
    """A lower bound on epsilon from samples of a mechanism on two neighbouring inputs.

    >>> audit(["yes"] * 1000, ["no"] * 1000, epsilon=1).violation
    True
    """
    if min(len(first), len(second)) < 20:
        raise ChannelError(
            "samples", min(len(first), len(second)), "are too few to say anything", "give at least 20 for each input"
        )
    check_confidence(confidence)
    claimed = None if epsilon is None else Epsilon.read(epsilon)
    slack = read_probability(delta, name="delta")
    name = binned([*first[0::2], *second[0::2]])  # the half that chooses; the other must not shape the event
    chosen = [[name(s) for s in part[0::2]] for part in (first, second)]
    tested = [[name(s) for s in part[1::2]] for part in (first, second)]
    event, swapped = _best_event(chosen[0], chosen[1], float(slack), confidence)
    high, low = (tested[1], tested[0]) if swapped else (tested[0], tested[1])
    hits = sum(s in event for s in high), sum(s in event for s in low)
    bound = _epsilon_bound(hits[0], len(high), hits[1], len(low), float(slack), confidence)
    direction = "second over first" if swapped else "first over second"
    return Audit(bound, claimed, slack, confidence, tuple(sorted(event))[:20], direction, hits, (len(high), len(low)))


def check_confidence(confidence: float) -> None:
    """A confidence that means something: at least one half, and not certainty."""
    if not 0.5 <= confidence < 1:
        raise ChannelError("confidence", confidence, "is not a confidence", "it must be at least 0.5 and below 1")


def audit_mechanism(
    mechanism: Callable[[Any], Sample], first: object, second: object, *, samples: int = 20_000, **settings: Any
) -> Audit:
    """Audit a callable: run it *samples* times on each of two neighbouring inputs,
    with a progress bar on a terminal.
    """
    drawn = [list(_draw(mechanism, dataset, samples)) for dataset in (first, second)]
    return audit(drawn[0], drawn[1], **settings)


def _draw(mechanism: Callable[[Any], Sample], dataset: object, samples: int) -> Iterator[Sample]:
    for _ in track(range(samples), "sampling the mechanism", total=samples):
        yield mechanism(dataset)


def binned(everything: list[Any]) -> Callable[[Sample], str]:
    """Outputs by name; numbers that hardly repeat by the bin of a common scale. Bins only lose: they post-process."""
    if not all(map(_is_number, everything)) or len(set(everything)) <= 4 * _BINS:
        return str
    ordered = sorted(everything)
    edges = [ordered[k * len(ordered) // _BINS] for k in range(1, _BINS)]

    def name(sample: object) -> str:
        return f"bin {bisect_right(edges, sample):02d}" if _is_number(sample) else str(sample)

    return name


def _is_number(sample: object) -> bool:
    return isinstance(sample, (int, float, Fraction)) and not isinstance(sample, bool) and sample == sample


def _best_event(first: list[str], second: list[str], delta: float, confidence: float) -> tuple[frozenset[str], bool]:
    """The set of outputs, taken in order of their likelihood ratio, that promises the largest bound;
    and in which direction.
    """
    best, event, swapped = -math.inf, frozenset[str](), False
    for turned, (high, low) in ((False, (first, second)), (True, (second, first))):
        ones, twos = Counter(high), Counter(low)
        # Neyman and Pearson: of all events with the same chance under *low* the best is a top of this order.
        # Half a hit more on both sides keeps an output that one side never showed from a ratio of ∞.
        order = sorted({*ones, *twos}, key=lambda s: (-(ones[s] + 0.5) / (twos[s] + 0.5), s))
        # never all outputs: they have probability one on both sides and refute nothing
        for k in range(1, len(order)):
            chosen = order[:k]
            hits, misses = sum(ones[s] for s in chosen), sum(twos[s] for s in chosen)
            bound = _epsilon_bound(hits, len(high), misses, len(low), delta, confidence)
            if bound > best:
                best, event, swapped = bound, frozenset(chosen), turned
    return event, swapped


def _epsilon_bound(
    hits: int, trials: int, other_hits: int, other_trials: int, delta: float, confidence: float
) -> float:
    """``ln((p_low − delta)/q_high)`` with each bound at half of the error that the confidence leaves; never below 0."""
    error = (1 - confidence) / 2
    low = clopper_pearson_lower(hits, trials, error)
    high = 1 - clopper_pearson_lower(other_trials - other_hits, other_trials, error)
    return max(0.0, math.log((low - delta) / high)) if low > delta and high > 0 else 0.0


def clopper_pearson_lower(hits: int, trials: int, error: float) -> float:
    """The exact lower confidence bound of a probability: at most *error* chance that the truth lies below."""
    if hits == 0:
        return 0.0
    with requiring("scipy"):
        from scipy.special import betaincinv

    return float(betaincinv(hits, trials - hits + 1, error))
