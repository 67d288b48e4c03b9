"""The referee of noisy counts: the recipe in exact arithmetic, the sampler by its exact law, own levels by scripted words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any

from optimaldp.certify.core.drawing import ScriptedBits, Words
from optimaldp.certify.core.examined import Finding
from optimaldp.certify.folding import counted_once
from optimaldp.certify.noise import (
    STREAMS,
    Rows,
    Stream,
    borders_problem,
    certify_rows,
    check_recipe,
    parts_problem,
    put_together,
)
from optimaldp.errors import NotCertifiedError
from optimaldp.laws.law import Table
from optimaldp.privacy import Epsilon, approximate
from optimaldp.privacy.balls import Ball, integer_above, integer_below, precision

# Levels at which a total is likeliest at 0 and above it and few bits propose one, and one at which totals are large.
_SHORT, _LARGE = (approximate(Epsilon.read("ln(6)")), approximate(Epsilon.read(1))), approximate(Epsilon.read("0.1"))
_PEOPLE = 1000  # people in a cell of a made-up table
_WORD = 64
_ANSWERS_OF_A_ROW = 4
_BEYOND = Fraction(1, 3 * 2**64), Fraction(2, 3 * 2**64)  # bits behind the first word: 0101... and 1010...


def examine_noise(mechanism: Any) -> Finding:
    """Whether the recipe keeps its level, and whether the sampler follows such a recipe."""
    verdict = check_recipe(mechanism.recipe())
    if not verdict.private:
        return Finding(False, (), "the recipe of the noise does not keep its level")
    twin = mechanism.small_twin()
    # What the drawing code depends on: not the names of columns and options, the number of people or the level.
    kind = type(twin), type(twin.question), twin.setting.neighbours, twin.question.cells, len(twin.question.answers)
    problem = _code_problem(_Sampler(kind, twin)) or borders_problem(mechanism.noise())
    if problem:
        return Finding(False, (), f"the sampler does not draw the noise of its recipe: {problem}")
    passed = Finding(
        True,
        (
            "the recipe of the noise, in exact arithmetic: every cell, every neighbour",
            "the sampler's law on few bins: all short sequences of bits, added up exactly; what is drawn is made of these parts",
            "the words next to which a total is accepted or not, at this number of bins and this level",
            f"for all tables, by theorem: {mechanism.proof}",
        ),
    )
    return counted_once(mechanism, passed)


def examine_rows(mechanism: Any) -> Finding:
    """A table of probabilities from histograms to histograms: every pair of neighbours, which are found here anew."""
    vertices, values, places = mechanism.rows()
    bins, people = len(mechanism.question.answers), mechanism.setting.people
    whole = {tuple(one) for one in vertices}
    if len(whole) != len(vertices) or len(whole) != math.comb(people + bins - 1, bins - 1):
        return Finding(False, (), "the table does not have a row for every histogram of this many people")
    if any(len(one) != bins or sum(one) != people or min(one) < 0 for one in whole):
        return Finding(False, (), "a row is for no histogram of this many people")
    edges = [
        (i, j)
        for i, here in enumerate(vertices)
        for j, there in enumerate(vertices[:i])
        if sum(abs(a - b) for a, b in zip(here, there)) == 2
    ]
    try:
        rows = certify_rows(values, places, edges, epsilon=mechanism.setting.level.epsilon)
    except NotCertifiedError as error:
        return Finding(False, (), str(error))
    if not _rows_are_drawn(mechanism, vertices, rows.mechanism):
        return Finding(False, rows.finding.checks, "the sampler does not draw the row of the true histogram")
    sampled = "the sampler, at the middle of each answer's stretch of a few rows"
    return counted_once(mechanism, Finding(True, (*rows.finding.checks, sampled)))


def _rows_are_drawn(mechanism: Any, vertices: Sequence[Any], rows: Rows) -> bool:
    """Draw each of the likeliest answers of the first, a middle and the last row by the middle of its stretch of [0, 1)."""
    places = 2 if mechanism.question.spec()["among"] else 1
    for true in {0, len(rows) // 3, len(rows) - 1}:
        table = Table({cell * places: people for cell, people in enumerate(vertices[true]) if people})
        ends = list(accumulate(rows[true], initial=Fraction(0)))
        possible = (answer for answer in range(len(vertices)) if rows[true][answer])
        for answer in sorted(possible, key=lambda answer: -rows[true][answer])[:_ANSWERS_OF_A_ROW]:
            halfway = (ends[answer] + ends[answer + 1]) / 2
            for beyond in _BEYOND:
                drawn = mechanism.draw(table, ScriptedBits(halfway + beyond))
                if tuple(drawn.values()) != tuple(vertices[answer]):
                    return False
    return True


def examine_kept(mechanism: Any) -> Finding:
    """As :func:`examine_noise`, for people who are kept with a probability by their own level."""
    own = examine_noise(mechanism)
    if not own.private:
        return own
    for epsilon, _ in mechanism.setting.levels:
        if not keeps_by_words(mechanism.keeps(), epsilon, mechanism.setting.level.epsilon):
            return Finding(False, own.checks, "people are not kept as often as their own level says")
    if not _draws_by_level(mechanism.small_twin()):
        return Finding(False, own.checks, "the sampler does not keep people by their own levels")
    return Finding(
        True,
        (*own.checks, "who of each level is kept: by the words next to the border between kept and not, in every cell"),
    )


def _border(own: Epsilon, epsilon: Epsilon) -> tuple[int, int]:
    """A word that is certainly below ``(e^own - 1)/(e^epsilon - 1)`` of all words, and one certainly above."""
    with precision(4 * _WORD + 2 * (0 if own.is_zero else own.leading_zeros)):
        border = (own.exp() - 1) / (epsilon.exp() - 1) * Ball(2) ** _WORD
        return integer_below(border) - 1, integer_above(border) + 1


@lru_cache(maxsize=64)
def keeps_by_words(keeps: Callable[..., Mapping[int, int]], own: Epsilon, epsilon: Epsilon) -> bool:
    """Three people in two cells, each with a word just below or just above the border; the third cell takes who is not kept."""
    below, above = (2**_WORD - 1, -1) if own >= epsilon else (-1, 0) if own.is_zero else _border(own, epsilon)
    for pattern in ((True, False, True), (False, True, True), (True, True, False), (False,) * 3, (True,) * 3):
        words = [below if kept else above for kept in pattern]
        if not all(0 <= word < 2**_WORD for word in words):
            continue
        try:
            kept = keeps([(own, {0: 2, 2: 1})], epsilon, everybody_else=1, source=Words(words))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            return False
        expected = {0: sum(pattern[:2]), 1: 3 - sum(pattern), 2: int(pattern[2])}
        if {cell: people for cell, people in kept.items() if people} != {c: n for c, n in expected.items() if n}:
            return False
    return True


def _draws_by_level(twin: Any) -> bool:
    """The draw itself: people at level 0, at a stricter one and at the loosest, then the noise, from one stream of bits."""
    loosest = twin.setting.level.epsilon
    strict = Epsilon.read("0.01")
    levels = [(Epsilon.read(0), {0: _PEOPLE}), (loosest, {0: _PEOPLE, twin.question.cells - 1: _PEOPLE})]
    if strict < loosest:
        levels.insert(1, (strict, {0: 3, twin.question.cells - 1: 2}))
    total: dict[int, int] = {}
    for _, cells in levels:
        for cell, people in cells.items():
            total[cell] = total.get(cell, 0) + people
    for name in STREAMS:
        source = Stream(name)
        kept = [0] * len(twin.question.answers)
        for own, cells in levels:
            folded = list(twin.question.fold(cells))
            for cell, people in enumerate(_kept_by_stream(folded, own, loosest, source)):
                kept[cell] += people
                kept[-1] += folded[cell] - people
        expected = [count + more for count, more in zip(kept, put_together(twin.noise(), source))]
        if list(twin.draw(Table(total, tuple(levels)), Stream(name)).values()) != expected:
            return False
    return True


def _kept_by_stream(folded: list[int], own: Epsilon, loosest: Epsilon, source: Stream) -> list[int]:
    """How many of each cell the words of the stream keep, one word for each person."""
    if own.is_zero or own >= loosest:
        return [0] * len(folded) if own.is_zero else folded
    below, _ = _border(own, loosest)
    words = source.take(_WORD * sum(folded))
    remaining, kept = sum(folded), list[int]()
    for people in folded:
        kept.append(0)
        for _ in range(people):
            remaining -= 1
            kept[-1] += (words >> (_WORD * remaining)) & (2**_WORD - 1) <= below
    return kept


@dataclass(frozen=True)
class _Sampler:
    """A mechanism whose noise is on trial, known by the *kind* of its noise."""

    kind: tuple[Any, ...]
    mechanism: Any = field(compare=False)


@lru_cache(maxsize=16)
def _code_problem(sampler: _Sampler) -> str:
    """Once for each process and kind of noise: the parts, and that a draw is made of them and nothing else."""
    twins = [sampler.mechanism.at(level) for level in (*_SHORT, _LARGE)]
    for twin in twins[: len(_SHORT)]:
        if problem := parts_problem(twin.noise()):
            return problem
    return next(filter(None, map(_assembly_problem, twins)), "")


def _assembly_problem(twin: Any) -> str:
    full = {cell: _PEOPLE + 7 * cell for cell in range(twin.question.cells)}
    # Noise on occupied cells alone would tell which of them are empty: where nobody is, it is drawn as well.
    few, some = ({cell: people + cell for cell in range(twin.question.cells)} for people in (20, 200))
    for cells in (full, some, few, {0: 1}):
        # People who all have the loosest level are all kept.
        table = Table(cells, ((twin.setting.level.epsilon, cells),))
        folded = twin.question.fold(cells)
        for name in STREAMS:
            expected = [count + more for count, more in zip(folded, put_together(twin.noise(), Stream(name)))]
            if list(twin.draw(table, Stream(name)).values()) != expected:
                return "what is drawn is not the counts and this noise"
    return ""
