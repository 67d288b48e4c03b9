"""What is really drawn: scripted bits through the very functions that draw a release, compared with the law."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from optimaldp.certify.core.examined import Examined
from optimaldp.laws.law import Table
from optimaldp.privacy import ApproximateDP, Bound, Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, Rational, ball, integer_above, integer_below, precision
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource

# What can be asked of a law from outside: whether it is one, whether it is close to another, whether its sampler follows it.
#
# Two laws are close if they are so in every event: decided exactly where their numbers are rational, and rigorously where they
# are balls. A sampler follows its law if it gives each answer on just its stretch of [0, 1): the bits of the number are written
# down.

_SLACK = 80  # bits: an inequality that is met with equality is confirmed to this many of them
_GRID = 60  # denominators of the stand-in's e^(-epsilon/2), in units of its distance from 1
_FINEST = 10**9  # the denominator where a float does not tell e^(-epsilon/2) from 1
_ENDS_BITS = 256  # of the ends of an answer's stretch: far more than the sampler's first word
_NARROWEST = Rational(1, 2**40)  # the stretch of an answer that is less likely is not aimed at
_INSIDE = Rational(1, 2**100)  # how far inside of its end: more bits decide than the sampler takes at once


def stand_in(level: ApproximateDP) -> ApproximateDP:
    """A level next to the real one at which ``e^(-epsilon/2)`` is rational, so that every sum is exact.

    A larger epsilon is chosen because a mechanism whose proof needs epsilon to be large enough keeps its proof there; from
    ln(3600) on it is ln(3600), which is large enough for every proof of few answers.
    """
    if level.epsilon.is_zero:
        return level
    root = Fraction(float(1 / level.epsilon.exp().sqrt()))
    if root * _GRID < 1:  # a large epsilon: 1/60 is small enough to be told from 0
        rational = Fraction(1, _GRID)
    else:
        parts = math.ceil(_GRID / (1 - root)) if root < 1 else _FINEST
        rational = Fraction(math.floor(root * parts) if root < 1 else parts - 1, parts)
    larger = (Bound(Epsilon(Fraction(0), 1 / rational**2), level.delta),)
    return ApproximateDP(larger, larger)


def close(first: Sequence[Number], second: Sequence[Number], ratio: Number, delta: Number) -> bool:
    """``P(S) <= ratio Q(S) + delta`` for every event S, both ways; *ratio* is a fraction where ``e^epsilon`` is one, else a ball.

    The worst event holds just the answers with ``p > ratio q``, so the sum of their excesses decides about all events. Answer by
    answer, each excess against delta, would be weaker.
    """
    numbers = [ratio, delta, *first, *second]
    exact = all(isinstance(number, (Rational, Fraction, int)) for number in numbers)
    if exact:
        numbers = [n if isinstance(n, Rational) else Rational(n.numerator, n.denominator) for n in numbers]
    else:
        numbers = [ball(number) for number in numbers]
    growth, most, rows = numbers[0], numbers[1], (numbers[2 : 2 + len(first)], numbers[2 + len(first) :])
    # A mechanism that is optimal meets its bounds with equality, and no enclosure shows an equality: 80 bits of it are enough.
    nothing, slack = Rational(0) if exact else Ball(0), Ball(2) ** -_SLACK
    if not exact and delta:
        most += slack * most
    for here, there in (rows, rows[::-1]):
        excess = nothing
        for p, q in zip(here, there):
            over = p - growth * q
            if over <= 0 or (not exact and over.abs_upper() <= slack * p.abs_upper()):
                continue  # the bound is kept, or met with equality to 80 bits of its own size
            excess += over if exact else over.max(nothing)
        if not excess <= most:
            return False
    return True


def is_distribution(row: Sequence[Number]) -> bool:
    """Whether no probability is negative and their sum is one."""
    if all(isinstance(p, (Rational, Fraction, int)) for p in row):
        exact = [p if isinstance(p, Rational) else Rational(p.numerator, p.denominator) for p in row]
        return bool(min(exact) >= 0 and sum(exact, Rational(0)) == 1)
    total = sum((ball(p) for p in row), Ball(0))
    return bool(total.overlaps(Ball(1))) and all(bool(ball(p).upper() >= 0) for p in row)


@dataclass
class ScriptedBits:
    """The bits of one number in [0, 1), then zeros."""

    rest: Fraction

    def take(self, count: int) -> int:
        scaled = self.rest * 2**count
        whole = int(scaled)
        self.rest = scaled - whole
        return whole


def draws_follow(
    mechanism: Examined,
    table: Table,
    *,
    near_ends: bool = True,
    draw: Callable[[Table, ScriptedBits], object] | None = None,
) -> bool:
    """Draw at the middle of every answer's stretch of [0, 1), and inside of both of its ends: by a thousandth, and by a hair.

    *draw* is what makes an answer, where that is not the mechanism alone.
    """
    law, draw = mechanism.law(table), draw or mechanism.draw
    with precision(_ENDS_BITS):
        # From the probabilities that were examined: the sums that the sampler uses are what is on trial.
        row = [ball(p) for p in law.probabilities()]
        sums = [*accumulate(row[answer] for answer in law.order[:-1]), Ball(1)]
        ends = [(end.lower().fmpq(), end.upper().fmpq()) for end in sums]
    low = Rational(0)
    for answer, (inside, beyond) in zip(law.order, ends):
        if inside - low > _NARROWEST:
            step, middle = (inside - low) / 1000, (low + inside) / 2
            ends_too = (low + step, inside - step, low + _INSIDE, inside - _INSIDE) if near_ends else ()
            for number in (middle, *ends_too):
                source = ScriptedBits(Fraction(int(number.p), int(number.q)))
                if draw(table, source) != mechanism.question.answers[answer]:
                    return False
        low = max(low, beyond)
    return True


# Words of 64 bits that are written down: for samplers that take a word for each coin, each person or each rank.

_WORD = 64


class Words:
    """Words of 64 bits that were written down, one after the other or several at once; bits beyond them are zeros."""

    def __init__(self, words: Sequence[int]) -> None:
        self._words = list(words)

    def take(self, count: int) -> int:
        if count % _WORD:
            return 0
        value = 0
        for _ in range(count // _WORD):
            value = (value << _WORD) | (self._words.pop(0) if self._words else 0)
        return value


class CoarseBits:
    """Only the first bits of every word of 64 are taken from *source*, the rest of it is the middle of what they leave open."""

    def __init__(self, source: BitSource, leading: int) -> None:
        self._source, self._leading = source, leading

    def take(self, count: int) -> int:
        if count != _WORD:
            return self._source.take(count)
        rest = _WORD - self._leading
        return (self._source.take(self._leading) << rest) | (1 << (rest - 1))


class CoinBits:
    """One word for each coin: those that are written down, else heads (0) or tails; then a number, as often as it is asked."""

    def __init__(self, words: Mapping[int, int], number: int, *, heads: bool) -> None:
        self._words, self._number, self._other = words, number, 0 if heads else 2**_WORD - 1
        self._coin = 0

    def take(self, count: int) -> int:
        if count != _WORD:
            return min(self._number, (1 << count) - 1)
        self._coin += 1
        return self._words.get(self._coin - 1, self._other)


MOST_OPTIONS = 60  # beyond that permute-and-flip flips its coins one by one, whatever their number


def flips_its_coins(mechanism: Examined) -> bool:
    """Of very many options each flips a coin by one word: just below its chance heads, just above it tails, and heads are drawn.

    The table has one leader; the first, a middle and the last of the others are tried at the real number of options and level.
    """
    size, level = len(mechanism.question.answers), mechanism.setting.level
    step = mechanism.question.cells // (size + 1)
    replaced = mechanism.setting.neighbours is Neighbours.SUBSTITUTION
    leader = size // 3
    table = Table({leader * step: 1})  # by one vote: then delta takes nobody's chance away wholly
    if level.epsilon.is_zero:  # every coin shows heads whatever its word is, so that each number draws its own option
        drawn = ((number, CoinBits({size: 0}, number, heads=False)) for number in (0, leader, size // 2, size - 1))
        return all(mechanism.draw(table, source) == mechanism.question.answers[number] for number, source in drawn)
    with precision(4 * _WORD):
        chance = (-level.epsilon.ball() / (2 if replaced else 1)).exp() * Ball(2) ** _WORD
        surely, never = integer_below(chance), integer_above(chance)
    for option in {0, size // 2, size - 1}:
        for word, heads in ((surely - 1, True), (never + 1, False)):
            if not 0 <= word < 2**_WORD:
                continue
            # Where the coin shows tails the leader is drawn by every number: a second one that shows heads would be seen.
            shown = sorted({leader, option}) if heads else [leader, leader]
            for number, place in enumerate(shown):
                source = CoinBits(
                    {option: word, size: 0}, number, heads=False
                )  # the word behind the coins is about delta
                if mechanism.draw(table, source) != mechanism.question.answers[place]:
                    return False
    return True
