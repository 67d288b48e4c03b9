"""What the referees of numbers share: made-up tables, scripted words, and the one way to refuse."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace as replaced_fields
from fractions import Fraction
from typing import Any

from optimaldp.certify.core.examined import Finding
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy.balls import Ball

BITS = 192
SLACK = 80  # bits to which an equality is confirmed in balls
WORD = 64
SOME_WORDS = (2**40 + 1, 2**62 + 1, 2**64 - 2**40)  # far below, a little below and far above the number itself
_ALL_CELLS = 4000  # cells that are all looked at; of more the ends, the middle and some between
_FEW_CELLS = 64  # cells of a table that is made up for a draw


def changed(law: object, **fields: object) -> Any:
    """The same law with other public numbers."""
    return replaced_fields(law, **fields)  # type: ignore[type-var]


class RefusedError(Exception):
    """Something that the referee does not pass, in words."""


def need(holds: object, failure: str) -> None:
    if not holds:
        raise RefusedError(failure)


def passed(look: Callable[[], list[str]]) -> Finding:
    try:
        return Finding(True, tuple(look()))
    except RefusedError as refused:
        return Finding(False, (), str(refused))


def cut_off(growth: Any, delta: Any, times: int = 1) -> Any:
    return delta / (times * (growth - 1) + 2 * delta) if delta else 0 * growth


def kept(plain: Any, beta: Any) -> Any:
    value = (plain - beta) / (1 - 2 * beta)
    return value.max(Ball(0)).min(Ball(1)) if isinstance(value, Ball) else min(max(value, 0 * value), 0 * value + 1)


def added_by_record(question: Any) -> set[int]:
    """What each possible record adds to the whole number of a table, from tables with one person; a sum adds them up."""
    nobody = question.total(question.fold({}))
    adds = {cell: question.total(question.fold({cell: 1})) - nobody for cell in watched(question.cells)}
    mixed = {cell: 1 + cell % 3 for cell in list(adds)[:50]}
    whole = question.total(question.fold(mixed))
    need(whole == sum(n * adds[cell] for cell, n in mixed.items()), "the number does not add up over people")
    return set(adds.values())


def watched(cells: int) -> list[int]:
    if cells <= _ALL_CELLS:
        return list(range(cells))
    spread = {cells * i // 97 for i in range(97)}
    return sorted(spread | {0, 1, 2, 3, cells - 4, cells - 3, cells - 2, cells - 1})


class Repeated:
    """Scripted bits: one word after the other, and how many were taken."""

    def __init__(self, *words: int) -> None:
        self._words = words
        self.taken = 0

    def take(self, count: int) -> int:
        word = self._words[self.taken // WORD % len(self._words)]
        self.taken += count
        return word >> (WORD - count) if count < WORD else word << (count - WORD)


class MadeUp:
    """A table that is made up: people of each level in each cell that is watched, those of neighbouring levels where others are
    few: whoever is weighed by another's level shows.

    Of *answers* of a crossing there are so many people that neighbouring cuts differ by about one unit of the exponent: then few
    cuts matter, and a sum over them is quick in any arithmetic.
    """

    def __init__(self, mechanism: Any, answers: int = 0) -> None:
        levels = [own for own, _ in mechanism.setting.levels]
        cells = watched(mechanism.question.cells)[:_FEW_CELLS]
        each = 1 + (answers << mechanism.setting.level.epsilon.leading_zeros) // len(cells)
        self.cells, by_level = dict.fromkeys(cells, 0 if levels else each), []
        for place, own in enumerate(levels):
            inside = {cell: each << ((at < len(cells) // 2) is (place % 2 == 0)) for at, cell in enumerate(cells)}
            by_level.append((own, inside))
            self.cells = {cell: people + inside[cell] for cell, people in self.cells.items()}
        self.by_level = tuple(by_level)


def drawn(mechanism: Any, table: MadeUp, *words: int) -> Mapping[str, Any]:
    """What a mechanism records for scripted words, of which it must take each once."""
    bits = Repeated(*words)
    details: Mapping[str, Any] = mechanism.draw(table, bits).details
    need(bits.taken == WORD * len(words), "the answer does not take the bits of its draws once each")
    return details


def clamp(value: Fraction, linear: Any) -> Fraction:
    value = value if linear.low is None else max(value, linear.low)
    return value if linear.high is None else min(value, linear.high)


def need_confirmed(confirm: Callable[[int, int, int], None], word: int, place: int) -> None:
    try:
        confirm(word, WORD, place)
    except NotCertifiedError:
        raise RefusedError("the sampler does not follow the law that was examined") from None
