"""Whether a list of leaders is drawn from its law: every short sequence of bits, added up exactly.

A draw flips one coin for every list (or every option) by a word of 64 bits, then takes one of the heads. At a level where every
coin has a chance of 1/2, 1/4, 1/8 ... the first bits of each word decide it, so all of them can be tried.

Of very many lists, those that fall short alike share a word: how late the first of them shows heads. Bits come one by one here
instead of 64 at once, and at the real level the words next to the border between two classes are tried as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

from optimaldp.certify.core.drawing import CoarseBits, CoinBits
from optimaldp.certify.core.examined import Finding
from optimaldp.certify.folding import counted_once
from optimaldp.certify.noise import STREAMS, Stream
from optimaldp.certify.votes import Row
from optimaldp.laws.law import Table
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, integer_above, integer_below, precision
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import enumerate_bits

_DEPTH = 9
_BITS = 128
_CLASS_DEPTH = 10  # bits of a draw by classes, of which one at a time is taken
_ONE_BY_ONE = "one leader after the other"  # in the name of the way that does not weigh all lists
_BY_CLASSES = "by signed shortfall"  # in the name of the way that counts lists instead of writing them down
_HALF = 1 << 63
_OFTEN = 200


def leaders_are_drawn(mechanism: object) -> bool:
    """Exactly by its law where there are few options; among all of them, more lists than one where every coin shows heads."""
    return (
        _follows(_Drawing(_kind(mechanism), mechanism))
        and _all_heads_differ(mechanism)
        and _only_gaps_count(mechanism)
        and (not _by_classes(mechanism) or _class_borders_hold(mechanism))
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
    elif _by_classes(mechanism):
        cases = tuple((len(counts), 2, counts, 1) for counts in ((0, 1), (0, 0, 0), (1, 0, 0), (2, 1, 0)))
    known = len(_options(mechanism))
    return all(
        _draws_exactly(_small(mechanism, options, size), counts, bits)
        for options, size, counts, bits in cases
        if options <= known
    ) and (known < 3 or _draws_as_often(_small(mechanism, 3, 2)))


def _draws_as_often(mechanism: Any) -> bool:
    """Many draws at three different counts, from bits that are written down: the true list about as often as its law says."""
    places = 2 if mechanism.question.among is not None else 1
    counts = (3, 2, 1)
    table = Table({option * places: number for option, number in enumerate(counts)})
    with precision(_BITS):
        chance = float(ball(mechanism.chosen.probabilities(counts)[0, 1]).mid())
    truth = list(mechanism.question.answers[:2])
    drawn = sum(list(mechanism.draw(table, Stream(f"often {turn}"))) == truth for turn in range(_OFTEN))
    return abs(drawn - _OFTEN * chance) < 6 * math.sqrt(_OFTEN * chance * (1 - chance))


def _by_classes(mechanism: Any) -> bool:
    return _BY_CLASSES in str(mechanism.chosen.mode)


def _options(mechanism: Any) -> tuple[Any, ...]:
    known: tuple[Any, ...] = mechanism.question.known_options()
    return known


def _small(mechanism: Any, options: int, size: int) -> Any:
    """The same mechanism for few options, at a level where its coins are powers of a half."""
    question = replace(mechanism.question, options=_options(mechanism)[:options], size=size)
    law = replace(mechanism.chosen, options=options, size=size, forced=mechanism.chosen.mode)
    if _by_classes(mechanism):
        law = replace(law, first_bits=1)
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
    depth = _CLASS_DEPTH if _by_classes(mechanism) else _DEPTH
    for answer, chance in enumerate_bits(
        lambda source: tuple(mechanism.draw(table, CoarseBits(source, bits))), depth=depth
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


def _class_borders_hold(mechanism: Any) -> bool:
    """Three options with 2, 1 and no votes, at the real level: the true list at time 1/2, another class just before and after.

    A class of lists with the coin p comes before time 1/2 if its uniform number is above ``(1 - p/2)^lists``.
    """
    law = replace(mechanism.chosen, options=3, size=2, forced=mechanism.chosen.mode)
    few = replace(mechanism, question=replace(mechanism.question, options=_options(mechanism)[:3], size=2), chosen=law)
    names, votes, highest = few.question.answers, (2, 1, 0), (2, 1)
    places = 2 if few.question.among is not None else 1
    table = Table({option * places: number for option, number in enumerate(votes) if number})
    short = {
        tuple(names[option] for option in listing): max(high - votes[option] for high, option in zip(highest, listing))
        for listing in permutations(range(3), 2)
    }
    classes = sorted(set(short.values()))
    shares = 4 if few.setting.neighbours is Neighbours.SUBSTITUTION else 2
    for place, gap in enumerate(classes[1:], 1):
        lists = [listing for listing, number in short.items() if number == gap]
        with precision(4 * _BITS):
            coin = (-few.setting.level.epsilon.ball() * (classes[1] + gap) / shares).exp()
            border = (1 - coin / 2) ** len(lists) * Ball(2) ** 64
            words = {integer_below(border) - 1: [(names[0], names[1])], integer_above(border) + 1: lists}
        for word, expected in words.items():
            # A word of zeros is heads at no time, so that no third class takes part.
            source = CoinBits({0: _HALF, place: word}, 0, heads=True)
            if word < 2**64 and tuple(few.draw(table, source)) not in expected:
                return False
    return True


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


# The leading options: every small table, people without an option included, and every neighbour, list by list.
#
# The lists are compared one by one, which is all events where delta is not used. What is drawn for larger tables rests on the
# theorem that the law names. Equalities are common (a private law uses its level up), so a quotient may exceed its bound by
# 2^-80 of itself, the width of the enclosures.


# All small tables, and the neighbours of each.


def tables(cells: int, people: int) -> Iterator[Row]:
    """All tables of exactly so many people."""
    if cells == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for rest in tables(cells - 1, people - first):
            yield (first, *rest)


def neighbours_of(table: Row, relation: Neighbours) -> Iterator[Row]:
    """One record replaced by any other; or one person more or less."""
    for giver, people in enumerate(table):
        without = (*table[:giver], people - 1, *table[giver + 1 :])
        if relation is Neighbours.ADD_REMOVE:
            if people:
                yield without
            yield (*table[:giver], people + 1, *table[giver + 1 :])
        elif people:
            for taker in range(len(table)):
                if taker != giver:
                    yield (*without[:taker], without[taker] + 1, *without[taker + 1 :])


Listing = tuple[int, ...]
Shown = Callable[[Sequence[int]], Mapping[Listing, Number]]
"""The probability of every list of leaders, from the counts of the options."""

_TOP_BITS = 192


def examine_top(
    shown: Shown, *, options: int, size: int, epsilon: Epsilon, relation: Neighbours, people: int = 4
) -> Finding:
    """Whether the law is a distribution, likeliest at the truth, and close on all neighbours among tables of up to *people*."""
    if epsilon.infinite:
        return Finding(False, (), "an infinite epsilon promises nothing")
    lists = set(permutations(range(options), size))
    known: dict[Row, dict[Listing, Ball]] = {}
    with precision(_TOP_BITS):
        limit = epsilon.exp() * (1 + Ball(2) ** -80)
        for table in (t for total in range(people + 1) for t in tables(options + 1, total)):
            row = {listing: ball(chance) for listing, chance in shown(table[:options]).items()}
            if (
                set(row) != lists
                or not sum(row.values(), Ball(0)).overlaps(Ball(1))
                or min(map(float, row.values())) <= 0
            ):
                return Finding(False, (), "the law of a small table is no distribution on all lists")
            likeliest = row[_leaders(table[:options], size)]
            if any(chance > likeliest for chance in row.values()):
                return Finding(False, (), "the true list of a small table is not the likeliest one")
            known[table] = row
        for table, row in known.items():
            for other in neighbours_of(table, relation):
                there = known.get(other)
                if there is not None and any(row[listing] > limit * there[listing] for listing in lists):
                    return Finding(False, (), "two small tables that differ in one person are not close")
    tables_tried = (
        f"all tables of up to {people} people over {options} options and none, and all neighbours ({relation.words})"
    )
    return Finding(True, (f"every list of {size} leaders: {tables_tried}",))


def examine_leading(mechanism: Any) -> Finding:
    """A mechanism of a release: made for its own level and neighbours, and the same law on few options, on all small tables."""
    law, setting = mechanism.chosen, mechanism.setting
    if law.epsilon != setting.level.epsilon or law.neighbours is not setting.neighbours:
        return Finding(False, (), "the law is made for another level or for other neighbours")
    options, size = min(3, law.options), min(2, law.size)
    # Forced: of few options the law might choose another way to draw, and that one would be examined instead.
    few = replace(law, options=options, size=size, forced=law.mode)
    finding = examine_top(
        few.probabilities, options=options, size=size, epsilon=setting.level.epsilon, relation=setting.neighbours
    )
    found = counted_once(
        mechanism, replace(finding, checks=(*finding.checks, f"for all other tables, by theorem: {mechanism.proof}"))
    )
    if found.private and not leaders_are_drawn(mechanism):
        return Finding(False, finding.checks, "the sampler does not follow the law that was examined")
    return found


def _leaders(counts: Sequence[int], size: int) -> Listing:
    """Highest count first, ties to the option that was named first: one leader after the other."""
    remaining, leaders = list(range(len(counts))), list[int]()
    while len(leaders) < size:
        best = max(counts[option] for option in remaining)
        leaders.append(next(option for option in remaining if counts[option] == best))
        remaining.remove(leaders[-1])
    return tuple(leaders)
