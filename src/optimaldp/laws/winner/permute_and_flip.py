"""Permute-and-flip: the mechanism that is private for any number of options and any epsilon.

Walk through the options in random order; stop at option k with probability ``p_k = e^(-epsilon g_k / 2)`` for a gap
``g_k`` to the top under substitution, ``e^(-epsilon g_k)`` under add/remove (one vote more or less moves a gap by
one, and always in the same direction for all gaps). The first success in a random order is a uniform choice among all
successes, so one coin is flipped for every option, always, and then one of the heads is drawn: the number of coins
does not depend on the counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from optimaldp.laws.winner.flattening import Height
from optimaldp.privacy.balls import Ball, BallPolynomial, context, integer_above, integer_below, precision
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.sampling import BitSource, uniform_below

Power = Callable[[Height], Ball]

_WORD = 64


def moves_of_gap(gap: int, neighbours: Neighbours) -> Fraction:
    """How many factors ``e^-epsilon`` a gap of *gap* votes is worth."""
    return Fraction(gap, 2) if neighbours is Neighbours.SUBSTITUTION else Fraction(gap)


def flip_probabilities(counts: Sequence[int], power: Power, neighbours: Neighbours) -> list[Ball]:
    """The probability that the coin of each option shows heads; exactly 1 for a top."""
    top = max(counts)
    known = {gap: power(moves_of_gap(gap, neighbours)) for gap in {top - count for count in counts}}
    return [known[top - count] for count in counts]


def permute_and_flip_probabilities(counts: Sequence[int], power: Power, neighbours: Neighbours) -> list[Ball]:
    """The distribution of permute-and-flip, enclosed.

    ``P(k) = p_k E[1 / (1 + number of heads among the others)]``: sums of positive terms, so nothing cancels.
    """
    coins = flip_probabilities(counts, power, neighbours)
    by_gap = {count: index for index, count in enumerate(counts)}
    known = {count: win_by_coins(coins, index) for count, index in by_gap.items()}
    return [known[count] for count in counts]


def win_probability(counts: Sequence[int], index: int, power: Power, neighbours: Neighbours) -> Ball:
    """The probability of one option alone: one product instead of one for every option."""
    return win_by_coins(flip_probabilities(counts, power, neighbours), index)


def win_by_coins(coins: Sequence[Ball], index: int) -> Ball:
    """The probability that option *index* is drawn when every option flips its coin and one of the heads is drawn."""
    others = [coin for position, coin in enumerate(coins) if position != index]
    # Twice the mean and a few more heads are as good as impossible, so longer polynomials are cut; what is cut is enclosed below.
    length = min(len(others), int(2 * sum(map(float, others))) + context.prec) + 1
    expected, covered = Ball(0), Ball(0)
    for number, chance in enumerate(_number_of_heads(others, length).coeffs()):
        expected, covered = expected + chance / (number + 1), covered + chance
    if length <= len(others):
        expected = expected + Ball(0).union((1 - covered).upper()).nonnegative_part() / (length + 1)
    return coins[index] * expected


def _number_of_heads(coins: Sequence[Ball], length: int) -> BallPolynomial:
    """The generating polynomial of the number of heads below *length*, by a product tree."""
    factors = [BallPolynomial([1 - coin, coin]) for coin in coins] or [BallPolynomial([1])]
    while len(factors) > 1:
        paired = [(a * b).truncate(length) for a, b in zip(factors[::2], factors[1::2])]
        factors = paired + factors[2 * len(paired) :]
    return factors[0]


def draw_by_flipping(counts: Sequence[int], power: Power, neighbours: Neighbours, source: BitSource) -> int:
    """Draw an option from permute-and-flip exactly, without computing its distribution."""
    top = max(counts)
    thresholds = {
        gap: _threshold(power, moves_of_gap(gap, neighbours)) for gap in {top - count for count in counts} if gap
    }
    heads = []
    for index, count in enumerate(counts):
        gap, word = top - count, source.take(_WORD)
        if gap == 0 or _shows_heads(word, thresholds[gap], gap, power, neighbours, source):
            heads.append(index)
    return heads[uniform_below(len(heads), source)]


def _threshold(power: Power, moves: Fraction) -> tuple[int, int]:
    """Words below the first number are heads for certain, words from the second on are tails for certain."""
    with precision(2 * _WORD):
        scaled = power(moves) * Ball(2) ** _WORD
        return integer_below(scaled), integer_above(scaled)


def _shows_heads(
    word: int, threshold: tuple[int, int], gap: int, power: Power, neighbours: Neighbours, source: BitSource
) -> bool:
    if word < threshold[0]:
        return True
    if word >= threshold[1]:
        return False
    return reveal_below(word, _WORD, lambda: power(moves_of_gap(gap, neighbours)), source)


def reveal_below(value: int, bits: int, number: Callable[[], Ball], source: BitSource) -> bool:
    """Whether the uniform real that begins with these *bits* lies below *number*, drawing more bits until it shows."""
    while True:
        with precision(2 * bits + 64):
            end, unit = number(), Ball(2) ** bits
            if Ball(value + 1) / unit <= end:
                return True
            if Ball(value) / unit >= end:
                return False
        value, bits = (value << _WORD) | source.take(_WORD), bits + _WORD
