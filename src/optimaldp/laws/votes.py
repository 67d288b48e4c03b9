"""Yes/no at a distance: the greatest private mechanism with a balanced boundary, in closed form.

The tables of one answer that touch tables of the other form the boundary; there each answer is wrong with probability
``(1 - delta) / (e^epsilon + 1)``. One move further inside, the right answer's probability is raised once by the step function F
(papers 000 Thm 3-5, 001 Thm 2-4, with the corrected F of erratum 001-1), so a table whose answer changes after ``flips`` moves is
raised ``flips - 1`` times (erratum 000-1: distances are counted from the boundary, not from the other side of it).

From the boundary on only one piece of F matters, the one that lowers the wrong answer's probability c to ``(c - delta)/E`` with
``E = e^epsilon``. After k steps that is ``c / E^k - delta (1/E + ... + 1/E^k)``, and 0 once it would be negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from optimaldp.distances.linear import LinearCondition, MeanBound
from optimaldp.laws.log_number import ZERO, LogNumber
from optimaldp.laws.winner import flatten, win_by_coins
from optimaldp.privacy import ApproximateDP, Epsilon
from optimaldp.privacy.balls import Ball, ball, context, precision
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource, choose_enclosed

_EXACT_BITS = 1 << 13  # longer rationals are enclosed: nobody reads them, and adding them takes long

Moves = int | float  # math.inf: no number of moves is enough


@dataclass(frozen=True)
class Chain:
    """The probability of the wrong one of two answers, by the number of moves to the boundary.

    >>> from optimaldp.privacy import level
    >>> [str(Chain(level("ln(2)")).error(distance)) for distance in range(3)]
    ['1/3', '1/6', '1/12']
    """

    level: ApproximateDP

    def error(self, distance: Moves) -> Number:
        """Exact at a rational level and a moderate distance, else enclosed at the current precision."""
        epsilon = self.level.epsilon
        if distance == math.inf or epsilon.infinite:
            return Fraction(0) if self.level.is_rational else Ball(0)
        steps = int(distance)
        ratio: Number = epsilon.exact_ratio
        delta: Number = self.level.delta
        # Where epsilon is tiny, differences of numbers next to 1 are divided: more bits tell them from 0.
        with precision(max(context.prec, 64) + 32 + 4 * epsilon.leading_zeros):
            # The error is a power of e^epsilon with that many steps: exact where somebody might read it.
            if ratio is None or (ratio.numerator.bit_length() + 1) * steps > _EXACT_BITS:
                ratio, delta = epsilon.exp(), ball(delta)
            head = (1 - delta) / (ratio + 1)
            # A step is made at the boundary too, where there is none: the time must not tell distance 0 from the others.
            decay = (1 / ratio) ** max(steps, 1)
            lost = delta * (steps if epsilon.is_zero else (1 - decay) / (ratio - 1))
            walked = head * decay - lost
            error = walked if steps else head
            return error.max(Ball(0)) if isinstance(error, Ball) else max(error, Fraction(0))


# Yes or no from a signed distance: the further from the bound, the surer the answer.
#
# With W in units in which one person moves it by at most 1, ``P(yes) = 1 - e^(-epsilon W)/2`` where W >= 0 and ``e^(epsilon
# W)/2`` below: the logarithm of either answer's probability moves by at most epsilon. With delta the law is stretched about one
# half and cut off at 0 and 1: ``Q = clip((P - beta)/(1 - 2 beta))``, ``beta = delta/(e^epsilon - 1 + 2 delta)``. *Proof*: with
# ``rho = delta/(E - 1)``, ``Q = (1 + 2 rho) P - rho``, so ``Q' <= E Q + (E - 1) rho``. At epsilon = 0, ``Q = clip(1/2 + delta
# W)``.
#
# People with levels of their own enter through W = the exponent itself, which person i moves by at most epsilon_i; delta is
# then shared out by the largest epsilon, which is right for the smaller ones too.


Sides = tuple[Number, Number]
"""P(yes) and P(no), each computed without subtracting from 1 where it is small: Fractions where both are rational, else balls."""

SURE: Sides = (Fraction(1), Fraction(0))


def sides_at(distance: Fraction | float, epsilon: Epsilon, delta: Fraction = Fraction(0)) -> Sides:
    """P(yes), P(no) at a signed distance that one person moves by at most 1.

    **Guarantee.** (epsilon, delta)-DP; exact rationals where ``e^(epsilon W)`` is rational.

    >>> sides_at(Fraction(-2), Epsilon.read("ln(3)"))
    (Fraction(1, 18), Fraction(17, 18))
    """
    if math.isinf(distance):
        return SURE if distance > 0 else SURE[::-1]
    distance = Fraction(distance)
    if epsilon.is_zero:
        yes = min(Fraction(1), max(Fraction(0), Fraction(1, 2) + delta * distance))
        return yes, 1 - yes
    return sides_of_exponent(LogNumber.of(epsilon) * distance, epsilon, delta)


def sides_of_exponent(exponent: LogNumber, largest: Epsilon, delta: Fraction = Fraction(0)) -> Sides:
    """P(yes), P(no) from the exponent itself, which nobody moves by more than their own epsilon, at most *largest*."""
    wrong = _less_likely(abs(exponent), largest, delta)
    return (1 - wrong, wrong) if exponent.sign >= 0 else (wrong, 1 - wrong)


def _less_likely(size: LogNumber, largest: Epsilon, delta: Fraction) -> Number:
    decayed: Number = (-size).rational_exp()
    if decayed is None:
        decayed = (-size).exp()
    return stretched(decayed / 2, largest, delta)


def stretched(probability: Number, largest: Epsilon, delta: Fraction) -> Number:
    """The less likely answer's probability after delta was used: the two-answer transform, which keeps 1/2 and cuts off at 0.

    *Any* epsilon-DP law with two answers becomes (epsilon, delta)-DP, for each person at their own epsilon up to *largest*.
    """
    if not delta or largest.is_zero:
        return probability
    ratio = largest.exact_ratio
    if ratio is not None and isinstance(probability, Fraction):
        beta = delta / (ratio - 1 + 2 * delta)
        return max(Fraction(0), (probability - beta) / (1 - 2 * beta))
    enclosed = ball(delta) / (largest.exp() - 1 + 2 * ball(delta))
    return ((ball(probability) - enclosed) / (1 - 2 * enclosed)).max(Ball(0))


def draw_yes(sides: Callable[[], Sides], source: BitSource) -> bool:
    """True with exactly the probability of yes; *sides* is evaluated again at a higher precision until the bits decide."""
    return choose_enclosed(lambda: [ball(side) for side in sides()], 2, source) == 0


# People with levels of their own, right for the typical table: everybody votes with the weight of their level.
#
# ``W = sum of epsilon_i (x_i - tau)`` with a public tau, then the signed law of :mod:`optimaldp.laws.votes`. A person moves W
# by at most epsilon_i, and the logarithm of either answer's probability moves by no more than W does: epsilon_i-DP, at any
# number of people. Without "among" the number of people n is public and ``tau = (t - 1/2)/n`` for a count of at least t; among
# some of the people ``tau`` is the share that is asked for, and whoever is outside contributes nothing. A level of 0 weighs
# nothing. Substitution only: with n private the weights of those who might come are not known.


Votes = Sequence[tuple[Epsilon, int, int]]
"""(level, yes, no), one row for each level."""

MOST_FLATTENED = 5  # options up to which the continuum flip envelope is proven at real counts


def count_exponent(condition: LinearCondition, votes: Votes) -> LogNumber | float:
    """W of a count or share of everybody, positive for yes; infinite where no table of this public size has another answer."""
    if condition.yes_weight < condition.no_weight:
        return -_at_least(condition.negated(), votes)
    return _at_least(condition, votes)


def _at_least(condition: LinearCondition, votes: Votes) -> LogNumber | float:
    people = sum(yes + no for _, yes, no in votes)
    gain = condition.yes_weight - condition.no_weight
    # yes_weight * y + no_weight * (n - y) >= need
    threshold = -(-(condition.need - condition.no_weight * people) // gain)
    if not 1 <= threshold <= people:
        return math.inf if threshold < 1 else -math.inf
    tau = (threshold - Fraction(1, 2)) / people
    return sum((LogNumber.of(epsilon) * (yes - tau * (yes + no)) for epsilon, yes, no in votes), ZERO)


def share_exponent(condition: LinearCondition, votes: Votes) -> LogNumber:
    """W of a share among some of the people; those outside are in no row."""
    span = abs(condition.yes_weight - condition.no_weight)
    sums = ((condition.yes_weight * yes + condition.no_weight * no, epsilon) for epsilon, yes, no in votes)
    return sum((LogNumber.of(epsilon) * Fraction(total, span) for total, epsilon in sums), ZERO)


def mean_exponent(question: MeanBound, by_level: Sequence[tuple[Epsilon, Mapping[int, int]]]) -> LogNumber:
    """W of a mean: ``sum of epsilon_i (v_i - t)/(hi - lo)``, positive for yes; whoever has no value contributes nothing."""
    span = (question.high - question.low) / question.unit
    above = sum((LogNumber.of(epsilon) * (question.excess(counts) / span) for epsilon, counts in by_level), ZERO)
    return above if question.comparison in (">=", ">") else -above


def weighted_counts(by_level: Sequence[tuple[Epsilon, Sequence[int]]]) -> list[LogNumber]:
    """What the voters of each option weigh together: the sum of their levels."""
    options = len(by_level[0][1])
    return [sum((LogNumber.of(epsilon) * counts[k] for epsilon, counts in by_level), ZERO) for k in range(options)]


def winner_by_weights(weights: Sequence[LogNumber]) -> list[Ball]:
    """The distribution of the winner by what the voters of each option weigh, at the current precision.

    Up to five options the continuum flip envelope at ``epsilon = 1`` on the weights themselves: its proof bounds derivatives at
    real counts, so a vote of weight epsilon_i that goes from one option to another costs epsilon_i. Beyond, permute-and-flip with
    ``e^(-gap/2)``: such a vote moves the weight of each option by at most epsilon_i.
    """
    if len(weights) <= MOST_FLATTENED:
        return flatten(weights, WeightedWater())  # type: ignore[arg-type]
    top = max(weights)
    coins = {weight: _decay((top - weight) / 2) for weight in dict.fromkeys(weights)}
    all_coins = [coins[weight] for weight in weights]
    known = {weight: win_by_coins(all_coins, weights.index(weight)) for weight in coins}
    return [known[weight] for weight in weights]


class WeightedWater:
    """Real water at exact heights: all members at ``total / members``."""

    def surface(self, total: LogNumber, members: int) -> LogNumber:
        return total / members

    def floods(self, count: LogNumber, total: LogNumber, members: int) -> bool:
        return count * members >= total

    def shares(self, total: LogNumber, members: int) -> Number:
        return members

    def decay(self, moves: LogNumber | int) -> Ball:
        return _decay(moves)


def _decay(moves: LogNumber | int) -> Ball:
    return (-moves).exp() if isinstance(moves, LogNumber) else Ball(1)
