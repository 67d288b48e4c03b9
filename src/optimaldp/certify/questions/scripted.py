"""Whether a sampler follows its law: the bits of the uniform number are written down, and the answer must be the law's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate

from optimaldp.certify.questions.examined import Examined
from optimaldp.certify.questions.small_tables import watched_cells
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Ball, ball, integer_above, integer_below, lower, precision, upper
from optimaldp.sampling import BitSource

_WORD = 64
_NARROWEST = Fraction(1, 2**40)


class ScriptedBits:
    """The bits of one number in [0, 1), then zeros."""

    def __init__(self, number: Fraction) -> None:
        self._rest = number

    def take(self, count: int) -> int:
        scaled = self._rest * 2**count
        whole = int(scaled)
        self._rest = scaled - whole
        return whole


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


def flips_its_coins(mechanism: Examined) -> bool:
    """Of very many options each flips a coin by one word: just below its chance heads, just above it tails, and heads are drawn.

    The table has one leader; the first, a middle and the last of the others are tried at the real number of options and level.
    """
    size, level = len(mechanism.answers), mechanism.setting.level
    step = mechanism.cells // (size + 1)
    replaced = mechanism.setting.neighbours is Neighbours.SUBSTITUTION
    leader = size // 3
    table = Table({leader * step: 1})  # by one vote: then delta takes nobody's chance away wholly
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
                if mechanism.draw(table, source) != mechanism.answers[place]:
                    return False
    return True


def follows_its_law(mechanism: Examined, *, near_ends: bool = True) -> bool:
    """Whether draws follow the law for a few small tables; *near_ends*: also next to the ends of every answer's stretch."""
    cells = watched_cells(mechanism.cells, 3)
    tables: list[dict[int, int]] = [{}, {cells[0]: 2, cells[-1]: 1}, {cells[-1]: 3}]
    return all(draws_follow(mechanism, Table(table), near_ends=near_ends) for table in tables)


def draws_follow(mechanism: Examined, table: Table, *, near_ends: bool = True) -> bool:
    """Draw at the middle of every answer's stretch of [0, 1), and just inside of both of its ends."""
    law = mechanism.law(table)
    with precision(4 * _WORD):
        # From the probabilities that were examined: the sums that the sampler uses are what is on trial.
        row = [ball(p) for p in law.probabilities()]
        sums = list(accumulate(row[answer] for answer in law.order))[:-1]
        ends = [*((lower(end), upper(end)) for end in sums), (Fraction(1), Fraction(1))]
    low = Fraction(0)
    for answer, (inside, beyond) in zip(law.order, ends):
        if inside - low > _NARROWEST:
            step = (inside - low) / 1000
            middle = (low + inside) / 2
            for number in (low + step, middle, inside - step) if near_ends else (middle,):
                if mechanism.draw(table, ScriptedBits(number)) != mechanism.answers[answer]:
                    return False
        low = max(low, beyond)
    return True
