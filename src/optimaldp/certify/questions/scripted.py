"""Words of 64 bits that are written down: for samplers that take a word for each coin, each person or each rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from optimaldp.certify.questions.examined import Examined
from optimaldp.laws.setting import Table
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Ball, integer_above, integer_below, precision
from optimaldp.sampling import BitSource

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
