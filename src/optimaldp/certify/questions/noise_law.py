"""The sampler of noise by its exact law, read from the very parts that a draw puts together.

A recipe draws a total T by rejection (a side, coins for a block, an offset, then one word that accepts) and writes it as a
uniform composition into the bins. So three things make the law, and each is compared exactly:

* every sequence of bits up to a depth, with a word that accepts: how often each T is proposed;
* words next to the border at which T is accepted, at the real number of bins and the real level;
* every sequence of bits up to a depth: all compositions of a total are equally likely.

What is drawn is then compared with these parts put together, on streams of bits: not by frequencies, but number by number. Any
stream would do, and none was chosen for what it gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb
from typing import Any, TypeVar

from optimaldp.privacy.balls import Ball, integer_above, integer_below, precision
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import BitSource, enumerate_bits

_WORD = 64
_BITS = 320
_DEPTH = 10  # of a proposal: a side, coins for the block and an offset
_COMPOSED = ((0, 1), (1, 7), (2, 8))  # totals that are composed, and how many bits: fewer people than bars, and as many
STREAMS = tuple(f"noise {number}" for number in range(4))

Outcome = TypeVar("Outcome")


class Stream:
    """Bits that are written down: SHAKE-256 of a name. Never for a release."""

    def __init__(self, name: str) -> None:
        self._rest, self._count = int.from_bytes(hashlib.shake_256(name.encode()).digest(4096), "big"), 8 * 4096

    def take(self, count: int) -> int:
        if count > self._count:
            raise ArithmeticError("the sampler does not come to an end")
        self._count -= count
        value = self._rest >> self._count
        self._rest &= (1 << self._count) - 1
        return value


@dataclass
class _WithWord:
    """Words of 64 bits are one that is written down; other bits come from *source*."""

    source: BitSource
    word: int

    def take(self, count: int) -> int:
        return self.word if count == _WORD else self.source.take(count)


@dataclass
class _Written:
    """Bits one by one, then the same for ever: a sampler may look more closely at a word that decides already."""

    bits: str
    then: str

    def take(self, count: int) -> int:
        taken, self.bits = self.bits[:count], self.bits[count:]
        return int("0" + taken.ljust(count, self.then), 2)


def parts_problem(noise: Any) -> str:
    """What is wrong with how totals are proposed and composed, on few bins; it depends on the code alone."""
    plan = noise.totals
    proposed, undecided = _measured(lambda source: plan.propose(_WithWord(source, 0)), _DEPTH)
    for number in range(plan.mode + 2 * plan.width):
        block, _ = _proposed_by(plan, number)
        chance = Fraction(1, 2 ** (2 + block) * plan.width)  # a side, heads for each block and a tail, the offset
        known = proposed.pop(number, Fraction(0))
        if not known <= chance <= known + undecided:
            return "a total is not proposed as often as the plan says"
    # Beyond lie the numbers of later blocks, and those below 0, which are none.
    if any(number is not None and number < 0 for number in proposed):
        return "a total below 0 is proposed"
    for total, depth in _COMPOSED:
        composed, undecided = _measured(partial(_composed, noise, total), depth)
        ways = comb(noise.bins - 1 + total, total)
        if any(len(one) != noise.bins or sum(one) != total or min(one) < 0 for one in composed):
            return "a composition does not add up to its total"
        if len(composed) != ways or not all(
            known <= Fraction(1, ways) <= known + undecided for known in composed.values()
        ):
            return "compositions of a total are not equally likely"
    return ""


def _composed(noise: Any, total: int, source: BitSource) -> tuple[int, ...]:
    return tuple(map(int, noise.compose(total, source)))


def borders_problem(noise: Any) -> str:
    """What is wrong at the words next to which a total is accepted or not: at any number of bins and any level."""
    plan = noise.totals
    with precision(_BITS + 4 * plan.epsilon.leading_zeros + 2 * (plan.mode + plan.width).bit_length()):
        for number in _around(plan.mode, plan.width):
            block, proposing = _proposed_by(plan, number)
            # A later block is proposed half as often as the one before it, so its totals are accepted twice as often.
            weight = _relative_weight(noise.bins, plan.copies, plan.epsilon, number, plan.mode)
            border = weight * Ball(2) ** (block + _WORD)
            for word, accepted in ((integer_below(border) - 1, True), (integer_above(border) + 1, False)):
                if not 0 <= word < 2**_WORD:
                    continue
                # What follows the word pulls towards the border and must not reach it.
                source = _Written(f"{proposing}{word:064b}", then="1" if accepted else "0")
                if plan.propose(source) != (number if accepted else None):
                    return "a total is not accepted with the probability of the law"
    return ""


def _around(mode: int, width: int) -> Iterator[int]:
    """Totals near the mode and at the ends of the blocks next to it."""
    near = {mode + step for step in (-2, -1, 0, 1, 2)}
    blocks = {mode + side * (times * width) + step for side in (-1, 1) for times in (1, 2) for step in (-1, 0)}
    yield from sorted(number for number in near | blocks if number >= 0)


def _proposed_by(plan: Any, number: int) -> tuple[int, str]:
    """In which block *number* lies, and the bits that propose it: right or left of the mode, heads for the block and a tail, the
    offset in it."""
    right = number >= plan.mode
    block, offset = divmod(number - plan.mode if right else plan.mode - 1 - number, plan.width)
    places = (plan.width - 1).bit_length()  # of a block of one total no bit tells the offset
    return int(block), f"{int(right)}{'1' * block}0" + (f"{offset:0{places}b}" if places else "")


def _relative_weight(bins: int, copies: int, epsilon: Epsilon, number: int, mode: int) -> Ball:
    """``C(K-1+T, T)^copies e^(-epsilon T)`` over its value at the mode."""
    growth = (
        Ball(bins + number).lgamma() - Ball(number + 1).lgamma() - Ball(bins + mode).lgamma() + Ball(mode + 1).lgamma()
    )
    return (copies * growth - (number - mode) * epsilon.ball()).exp()


def put_together(noise: Any, source: BitSource) -> list[int]:
    """One noise vector from the parts that were examined: a total gained and one lost, the same one where they are shared."""
    gained = noise.totals.draw(source)
    lost = gained if noise.shared_total else noise.totals.draw(source)
    into, out_of = noise.compose(gained, source), noise.compose(lost, source)
    return [int(a) - int(b) for a, b in zip(into, out_of)]


def _measured(draw: Callable[[BitSource], Outcome], depth: int) -> tuple[dict[Outcome, Fraction], Fraction]:
    """The exact probability of what *depth* bits decide, and what they leave open; nothing proposed is no outcome."""
    known: dict[Outcome, Fraction] = {}
    undecided = Fraction(0)
    for outcome, chance in enumerate_bits(lambda source: (draw(source),), depth=depth):
        if outcome is None:
            undecided += chance
        else:
            known[outcome[0]] = known.get(outcome[0], Fraction(0)) + chance
    return known, undecided
