"""Whether a list of leaders is drawn from its law: every short sequence of bits, added up exactly.

A draw flips one coin for every list (or every option) by a word of 64 bits, then takes one of the heads. At a level where every
coin has a chance of 1/2, 1/4, 1/8 ... the first bits of each word decide it, so all of them can be tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.certify.questions.noise_law import STREAMS, Stream
from optimaldp.certify.questions.scripted import CoarseBits, CoinBits
from optimaldp.laws.setting import Table
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.sampling import enumerate_bits

_DEPTH = 9
_BITS = 128
_ONE_BY_ONE = "one leader after the other"  # in the name of the way that does not weigh all lists


def leaders_are_drawn(mechanism: object) -> bool:
    """Exactly by its law where there are few options; among all of them, more lists than one where every coin shows heads."""
    return (
        _follows(_Drawing(_kind(mechanism), mechanism)) and _all_heads_differ(mechanism) and _only_gaps_count(mechanism)
    )


@dataclass(frozen=True)
class _Drawing:
    """A mechanism whose draws are on trial, known by its *kind*."""

    kind: tuple[Any, ...]
    mechanism: Any = field(compare=False)


def _kind(mechanism: Any) -> tuple[Any, ...]:
    """What the drawing code depends on: not the names of columns and options, the level or the number of people."""
    among = mechanism.question.among is not None
    return type(mechanism), type(mechanism.question), mechanism.chosen.mode, mechanism.setting.neighbours, among


@lru_cache(maxsize=16)
def _follows(drawing: _Drawing) -> bool:
    """Once for each process and kind: two and three options, one leader and two."""
    mechanism = drawing.mechanism
    behind = 2 if mechanism.setting.neighbours is Neighbours.SUBSTITUTION else 1
    # Options, leaders, votes, and how many bits of a word its coins need: all gaps are 1, one of them is 3.
    cases: tuple[tuple[int, int, tuple[int, ...], int], ...] = (
        (2, 1, (behind, 0), 3),
        (2, 2, (0, 1), 1),
        (3, 1, (0, 1, 1), 1),
        (3, 1, (0, 0, 0), 1),
    )
    if _ONE_BY_ONE in str(mechanism.chosen.mode):
        cases = (*cases, (3, 2, (0, 0, 0), 1))  # then the second leader is drawn among several as well
    return all(
        _draws_exactly(_small(mechanism, options, size), counts, bits)
        for options, size, counts, bits in cases
        if options <= len(_options(mechanism))
    )


def _options(mechanism: Any) -> tuple[Any, ...]:
    known: tuple[Any, ...] = mechanism.question.known_options()
    return known


def _small(mechanism: Any, options: int, size: int) -> Any:
    """The same mechanism for few options, at a level where its coins are powers of a half."""
    question = replace(mechanism.question, options=_options(mechanism)[:options], size=size)
    law = replace(mechanism.chosen, options=options, size=size, forced=mechanism.chosen.mode)
    promise = approximate(Epsilon(Fraction(0), Fraction(2) ** int(1 / law.rate)))
    return replace(
        mechanism,
        question=question,
        setting=mechanism.setting.at(promise),
        chosen=replace(law, epsilon=promise.epsilon),
    )


def _draws_exactly(mechanism: Any, counts: tuple[int, ...], bits: int) -> bool:
    places = 2 if mechanism.question.among is not None else 1
    table = Table({option * places: number for option, number in enumerate(counts) if number})
    drawn: dict[tuple[str, ...], Fraction] = {}
    undecided = Fraction(0)
    for answer, chance in enumerate_bits(
        lambda source: tuple(mechanism.draw(table, CoarseBits(source, bits))), depth=_DEPTH
    ):
        if answer is None:
            undecided += chance
        else:
            drawn[answer] = drawn.get(answer, Fraction(0)) + chance
    with precision(_BITS):
        law = mechanism.chosen.probabilities(counts)
        expected = {tuple(mechanism.question.answers[option] for option in one): ball(p) for one, p in law.items()}
        return set(drawn) <= set(expected) and all(
            _within(chance, drawn.get(name, Fraction(0)), undecided) for name, chance in expected.items()
        )


def _within(chance: Ball, drawn: Fraction, undecided: Fraction) -> bool:
    """Whether a chance lies between what was surely drawn and what may still be drawn, to 2^-100."""
    slack = Ball(2) ** -100
    return bool(chance >= ball(drawn) - slack) and bool(chance <= ball(drawn + undecided) + slack)


def _only_gaps_count(mechanism: Any) -> bool:
    """As many votes more for every option change no gap, so they change no draw from the same bits."""
    places = 2 if mechanism.question.among is not None else 1
    for name in STREAMS:
        few, many = (
            Table({option * places: more + option % 2 for option in range(len(mechanism.question.answers))})
            for more in (1, 1000)
        )
        if mechanism.draw(few, Stream(name)) != mechanism.draw(many, Stream(name)):
            return False
    return True


def _all_heads_differ(mechanism: Any) -> bool:
    """At the real number of options: a draw that shows heads everywhere takes different lists by different numbers."""
    names = set(mechanism.question.answers)
    drawn = [tuple(mechanism.draw(Table({}), CoinBits({}, number, heads=True))) for number in (0, 1)]
    one_list = len(names) == 1
    sizes = {len(one) for one in drawn} == {mechanism.chosen.size}
    return (
        sizes
        and all(set(one) <= names and len(set(one)) == len(one) for one in drawn)
        and (one_list or drawn[0] != drawn[1])
    )
