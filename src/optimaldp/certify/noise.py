"""The noise of a histogram: its recipe, its rows, and tables too large to list."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import combinations, product
from math import comb
from typing import Any, Protocol, TypeVar

from optimaldp.certify.asked import arithmetic_holds
from optimaldp.certify.core.examined import Certified, Finding, mint
from optimaldp.errors import CertificateError, NotCertifiedError
from optimaldp.privacy.balls import Ball, integer_above, integer_below, precision, sign
from optimaldp.privacy.epsilon import INFINITE, Epsilon
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import is_whole
from optimaldp.results import Verdict
from optimaldp.sampling import BitSource, choose, enumerate_bits, uniform_below

# The sampler of noise by its exact law, read from the very parts that a draw puts together.
#
# A recipe draws a total T by rejection (a side, coins for a block, an offset, then one word that accepts) and writes it as a
# uniform composition into the bins. So three things make the law, and each is compared exactly:
#
# * every sequence of bits up to a depth, with a word that accepts: how often each T is proposed;
# * words next to the border at which T is accepted, at the real number of bins and the real level;
# * every sequence of bits up to a depth: all compositions of a total are equally likely.
#
# What is drawn is then compared with these parts put together, on streams of bits: not by frequencies, but number by number.
# Any stream would do, and none was chosen for what it gives.


_WORD = 64
_BITS = 320
_DEPTH = 10  # of a proposal: a side, coins for the block and an offset
_COMPOSED = ((0, 1), (1, 7), (2, 8))  # totals that are composed, and how many bits: fewer people than bars, and as many
STREAMS = tuple(f"noise {number}" for number in range(4))

Outcome = TypeVar("Outcome")


class Proposals(Protocol):
    """How a number is drawn by rejection."""

    @property
    def mode(self) -> int: ...
    @property
    def width(self) -> int: ...
    def propose(self, source: BitSource, /) -> int | None: ...


class SparseParts(Protocol):
    """The parts of noise that is drawn sparsely."""

    @property
    def survivors(self) -> Proposals: ...
    @property
    def cells(self) -> int: ...
    @property
    def epsilon(self) -> Epsilon: ...
    @property
    def least(self) -> int: ...
    def places(self, number: int, source: BitSource, /) -> Sequence[int]: ...
    def jumps(self, number: int, source: BitSource, /) -> Sequence[int]: ...


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

    def weight(number: int) -> Ball:
        return _relative_weight(noise.bins, plan.copies, plan.epsilon, number, plan.mode)

    with precision(_BITS + 4 * plan.epsilon.leading_zeros + 2 * (plan.mode + plan.width).bit_length()):
        return _accepting_problem(plan, weight, _around(plan.mode, plan.width))


def _accepting_problem(plan: Proposals, weight: Callable[[int], Ball], numbers: Iterable[int]) -> str:
    for number in numbers:
        block, proposing = _proposed_by(plan, number)
        # A later block is proposed half as often as the one before it, so its totals are accepted twice as often.
        border = weight(number) * Ball(2) ** (block + _WORD)
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


def _proposed_by(plan: Proposals, number: int) -> tuple[int, str]:
    """In which block *number* lies, and the bits that propose it: right or left of the mode, heads for the block and a tail, the
    offset in it."""
    right = number >= plan.mode
    block, offset = divmod(number - plan.mode if right else plan.mode - 1 - number, plan.width)
    places = (plan.width - 1).bit_length()  # of a block of one total no bit tells the offset
    return block, f"{int(right)}{'1' * block}0" + (f"{offset:0{places}b}" if places else "")


def _relative_weight(bins: int, copies: int, epsilon: Epsilon, number: int, mode: int) -> Ball:
    """``C(K-1+T, T)^copies e^(-epsilon T)`` over its value at the mode."""
    growth = (
        Ball(bins + number).lgamma() - Ball(number + 1).lgamma() - Ball(bins + mode).lgamma() + Ball(mode + 1).lgamma()
    )
    return (copies * growth - (number - mode) * epsilon.ball()).exp()


def put_together(noise: Any, source: BitSource) -> list[int]:
    """One noise vector from the parts that were examined: a total gained and one lost, the same one where they are shared."""
    gained = _accepted(noise.totals, source)
    lost = gained if noise.shared_total else _accepted(noise.totals, source)
    into, out_of = noise.compose(gained, source), noise.compose(lost, source)
    return [int(a) - int(b) for a, b in zip(into, out_of)]


def _accepted(plan: Proposals, source: BitSource) -> int:
    """The first total that is proposed and accepted."""
    while (number := plan.propose(source)) is None:
        pass
    return number


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


# The referee of a mechanism written out as rows of exact probabilities, many of which are equal.


Rows = tuple[tuple[Fraction, ...], ...]


def certify_rows(
    values: Sequence[Fraction], places: Any, edges: Sequence[tuple[int, int]], *, epsilon: Epsilon
) -> Certified[Rows]:
    """Certify rows ``values[places[h][g]]``: each adds up to 1, and neighbours differ by ``e^epsilon`` at most.

    Equal probabilities have one place, so every pair of places that meet on an edge is compared once.
    """
    rows = tuple(tuple(values[int(place)] for place in row) for row in places)
    failure = _failure(values, places, rows, edges, epsilon)
    checks = ("every row adds up to 1", f"every one of {len(edges)} pairs of neighbours, for every answer, exactly")
    return mint(rows, Finding(not failure, checks, failure))


def _failure(
    values: Sequence[Fraction], places: Any, rows: Rows, edges: Sequence[tuple[int, int]], epsilon: Epsilon
) -> str:
    if min(values) < 0 or any(sum(row) != 1 for row in rows):
        return "a row is no distribution"
    # Answer by answer: without delta that is all events.
    met = {
        pair
        for first, second in edges
        for here, there in zip(places[first], places[second])
        for pair in ((int(here), int(there)), (int(there), int(here)))
    }
    for here, there in met:
        if values[here] and not values[there]:
            return "an answer is possible for one of two neighbours alone"
        if values[here] > values[there] and epsilon < Epsilon(Fraction(0), values[here] / values[there]):
            return f"the least epsilon is above {epsilon}"
    return ""


def draw_row(certified: Certified[Rows], row: int, source: BitSource) -> int:
    """One answer's position, with exactly the probabilities of a row. Only certified rows are accepted."""
    if not isinstance(certified, Certified):
        raise NotCertifiedError("These rows were not certified. Nothing was sampled and nothing was spent.")
    return choose(certified.mechanism[row], source)


# The referee of histogram noise: proves a level from the recipe that the sampler follows.
#
# A recipe draws a total T with weights ``C(K-1+T, T)^copies r^T`` and writes it as a uniform weak composition into K bins.
#
# *One shared total, two copies*: ``z = A - B`` with two compositions of the same T. A given z with ``|z|_1 = 2d``
# arises
# from T = d + m in ``C(K-1+m, m)`` ways, each of weight ``r^(d+m)``, so ``P(z) = c r^d sum_m C(K-1+m, m) r^m = c'
# r^(|z|_1/2)`` on the vectors with sum 0.
# *Two totals, one copy each*: every bin gets a difference of two geometric numbers, ``P(z) = c r^(|z|_1)`` on all
# vectors.
#
# The noise does not depend on the data, so c' is the same for every histogram, and only the change of ``|z|_1`` between
# neighbours counts: at most 2 when a record is replaced, at most 1 when a person appears or disappears (and then the sum of the
# histogram changes, which noise with sum 0 would betray). Nothing here is shared with the code that makes the recipes.


_FIELDS = {"kind", "bins", "epsilon", "neighbours", "shared_total", "totals"}
_PLAN_FIELDS = {"ratio_epsilon", "copies", "mode", "width"}


@dataclass(frozen=True, repr=False)
class NoiseVerdict(Verdict):
    """What the referee found: the true level, whether it keeps the claim, and whether the plan draws what it says."""

    claimed: Epsilon
    level: Epsilon
    neighbours: Neighbours
    objections: tuple[str, ...]

    @property
    def private(self) -> bool:
        """Whether the noise keeps the level that was claimed (more noise than needed does, too)."""
        return self.level <= self.claimed

    @property
    def accepted(self) -> bool:
        """Whether the level is exactly the one claimed and the plan is sound."""
        return not self.objections

    def __bool__(self) -> bool:
        return self.accepted

    def summary(self) -> str:
        word = "accepted" if self.accepted else "rejected: " + self.objections[0]
        return f"NoiseVerdict(epsilon {self.level}, {self.neighbours.value}, {word})"

    def to_document(self) -> dict[str, Any]:
        return {
            "claimed_epsilon": str(self.claimed),
            "epsilon": str(self.level),
            "neighbours": self.neighbours.value,
            "private": self.private,
            "accepted": self.accepted,
            "objections": list(self.objections),
        }


def check_recipe(document: Mapping[str, Any]) -> NoiseVerdict:
    """Judge a recipe of histogram noise.

    **Guarantee.** An accepted recipe, followed with fair bits, draws noise whose least epsilon is exactly the claimed one.

    >>> plan = {"ratio_epsilon": "ln(2)", "copies": 2, "mode": 2, "width": 4}
    >>> check_recipe({"kind": "histogram-noise", "bins": 2, "epsilon": "ln(2)", "neighbours": "substitution",
    ...               "shared_total": True, "totals": plan})
    NoiseVerdict(epsilon ln(2), substitution, accepted)
    """
    plan = _read(document)
    claimed, neighbours = Epsilon.read(document["epsilon"]), Neighbours(document["neighbours"])
    decay, copies = Epsilon.read(plan["ratio_epsilon"]), plan["copies"]
    shared = document["shared_total"]
    if (shared, copies) not in {(True, 2), (False, 1)}:
        objection = f"{copies} copies with {'one shared total' if shared else 'two totals'} make no known noise"
        return NoiseVerdict(claimed, INFINITE, neighbours, (objection,))
    # P(z) ~ e^(-decay |z|_1 / 2) on the vectors with sum 0 (shared), or e^(-decay |z|_1) on all: what one person can change.
    replaced, added = (decay, INFINITE) if shared else (decay * 2, decay)
    level = replaced if neighbours is Neighbours.SUBSTITUTION else added
    objections = _plan_objections(document["bins"], decay, plan)
    if claimed < level:
        objections.insert(0, f"the noise keeps epsilon {level} only, and {claimed} was claimed")
    elif level < claimed:
        objections.insert(0, f"the noise keeps epsilon {level} already, so it is larger than {claimed} needs")
    return NoiseVerdict(claimed, level, neighbours, tuple(objections))


def _read(document: Mapping[str, Any]) -> Mapping[str, Any]:
    if set(document) != _FIELDS or document["kind"] != "histogram-noise":
        raise CertificateError("recipe", sorted(document), f"does not have the fields {sorted(_FIELDS)}")
    plan = document["totals"]
    if set(plan) != _PLAN_FIELDS:
        raise CertificateError("totals", sorted(plan), f"does not have the fields {sorted(_PLAN_FIELDS)}")
    for field, value, least in (
        ("bins", document["bins"], 1),
        ("copies", plan["copies"], 1),
        ("mode", plan["mode"], 0),
        ("width", plan["width"], 1),
    ):
        if not is_whole(value, least):
            raise CertificateError(field, value, f"is not an integer from {least} on")
    return dict(plan)


def _plan_objections(bins: int, decay: Epsilon, plan: Mapping[str, Any]) -> list[str]:
    """Whether blocks of weights around the mode dominate the law: then rejection draws it exactly."""
    copies, mode, width = plan["copies"], plan["mode"], plan["width"]
    if decay.infinite or decay.is_zero:
        return ["the totals have no proper law"]
    problems = []
    if not _falls(bins, decay, copies, mode) or (mode and _falls(bins, decay, copies, mode - 1, strictly=True)):
        problems.append(f"{mode} is not a mode of the totals")
    # The weights are log-concave: once halved they halve again within every further width, so one look a side is enough.
    for side, total in (("right", mode + width), ("left", mode - width)):
        if total >= 0 and not _halves(bins, decay, copies, mode, total):
            problems.append(f"the weights do not halve within {width} steps to the {side} of the mode")
    return problems


def _falls(bins: int, decay: Epsilon, copies: int, total: int, *, strictly: bool = False) -> bool:
    """Whether the weight of ``total + 1`` is at most (or below) that of ``total``; these quotients fall in T
    (log-concavity)."""
    growth = Fraction(bins + total, total + 1) ** copies
    bound = Epsilon(Fraction(0), max(Fraction(1), growth))
    return bound < decay if strictly else bound <= decay


def _halves(bins: int, decay: Epsilon, copies: int, mode: int, total: int) -> bool:
    low, high = sorted((mode, total))
    span = high - low
    if span <= 64:
        quotient = Fraction(1)
        for step in range(low, high):
            quotient *= Fraction(bins + step, step + 1) ** copies
        larger = quotient if total > mode else 1 / quotient
        return _scaled_at_most(larger, decay, span if total > mode else -span)
    # The four logarithms are about as long as the totals, and what is left of them is about 1.
    with precision(192 + 2 * (total + bins).bit_length()):
        growth = (
            Ball(bins + total).lgamma()
            - Ball(total + 1).lgamma()
            - Ball(bins + mode).lgamma()
            + Ball(mode + 1).lgamma()
        )
        return bool(copies * growth - (total - mode) * decay.ball() <= -Ball(2).log())


def _scaled_at_most(quotient: Fraction, decay: Epsilon, steps: int) -> bool:
    """Whether ``quotient e^(-steps decay) <= 1/2``, exactly."""
    plain, ratio = decay.finite_parts
    scaled = 2 * quotient / ratio**steps
    if plain == 0:
        return scaled <= 1
    # The logarithm of a rational is 0 or irrational, and this power is neither: the sign shows at some precision.
    power = steps * plain
    return (
        sign(lambda: Ball(power.numerator) / power.denominator - (Ball(scaled.numerator) / scaled.denominator).log())
        > 0
    )


# The referee of noise that is drawn sparsely: values from a public *least* on are kept, of noise on every cell.
#
# Each cell's noise is ``P(z) ~ theta^|z|``, independent of all others, and dropping what lies below *least* is post-processing.
# One person more or less changes one cell's count by one, so the level is epsilon; a record that is replaced changes two cells
# and costs 2 epsilon. What the sampler adds is a plan for the number of empty cells that survive, a binomial number with ``p =
# theta^least / (1+theta)`` over *all* cells (those that are occupied are drawn again, by themselves): this referee derives p
# anew and checks that the plan dominates that law, so that rejection draws it exactly.


_LEAST_TRIED = 0.1  # below this level a word reaches so far that jumps are drawn digit by digit
_JUMPS = 6  # lengths that are tried
_SPARSE_FIELDS = {"kind", "cells", "epsilon", "neighbours", "least", "survivors"}


def check_sparse_recipe(document: Mapping[str, Any]) -> NoiseVerdict:
    """Judge a recipe of sparse noise.

    **Guarantee.** An accepted recipe, followed with fair bits, draws exactly noise of the claimed level on every cell, cut
    below *least*.

    >>> check_sparse_recipe({"kind": "sparse-noise", "cells": 100, "epsilon": "ln(2)", "neighbours": "add-remove",
    ...                      "least": 3, "survivors": {"mode": 8, "width": 4}})
    NoiseVerdict(epsilon ln(2), add-remove, accepted)
    """
    if set(document) != _SPARSE_FIELDS or document["kind"] != "sparse-noise":
        raise CertificateError("recipe", sorted(document), f"does not have the fields {sorted(_FIELDS)}")
    cells, least, plan = document["cells"], document["least"], document["survivors"]
    for field, value, smallest in (
        ("cells", cells, 1),
        ("least", least, 1),
        ("mode", plan["mode"], 0),
        ("width", plan["width"], 1),
    ):
        if not is_whole(value, smallest):
            raise CertificateError(field, value, f"is not an integer from {smallest} on")
    claimed, neighbours = Epsilon.read(document["epsilon"]), Neighbours(document["neighbours"])
    level = claimed if neighbours is Neighbours.ADD_REMOVE else claimed * 2
    objections = []
    if claimed.infinite or claimed.is_zero:
        objections.append("the noise has no proper law")
    elif claimed < level:
        objections.append(f"the noise keeps epsilon {level} only, and {claimed} was claimed")
    else:
        objections += _sparse_plan_objections(cells, claimed, least, plan["mode"], plan["width"])
    return NoiseVerdict(claimed, level, neighbours, tuple(objections))


def _sparse_plan_objections(cells: int, epsilon: Epsilon, least: int, mode: int, width: int) -> list[str]:
    objections = []
    if (
        mode > cells
        or _mode_gap(cells, epsilon, least, mode) < 0
        or (mode and _mode_gap(cells, epsilon, least, mode - 1) > 0)
    ):
        objections.append(f"{mode} is not a mode of the number of survivors")
    # Binomial weights are log-concave, so they halve again within every further width.
    for side, number in (("right", mode + width), ("left", mode - width)):
        if 0 <= number <= cells and not _sparse_halves(cells, epsilon, least, mode, number):
            objections.append(f"the weights do not halve within {width} steps to the {side} of the mode")
    return objections


def _mode_gap(cells: int, epsilon: Epsilon, least: int, number: int) -> int:
    """The sign of ``P(number) - P(number + 1)`` for the binomial law."""
    if epsilon.exact_ratio is not None:
        chance = _exact_chance(epsilon.exact_ratio, least)
        gap = (number + 1) * (1 - chance) - (cells - number) * chance
        return (gap > 0) - (gap < 0)

    # Otherwise e^epsilon is transcendental, and so are the odds: the difference is never 0.
    def difference() -> Ball:
        odds = _odds(epsilon, least)
        return (number + 1) - (cells - number) * odds

    return sign(difference)


def _exact_chance(ratio: Fraction, least: int) -> Fraction:
    return 1 / (ratio**least + ratio ** (least - 1))


def _odds(epsilon: Epsilon, least: int) -> Ball:
    """``p / (1 - p)`` with ``1/p = e^(least epsilon) + e^((least-1) epsilon)``."""
    growth = epsilon.exp()
    return 1 / (growth**least + growth ** (least - 1) - 1)


def _sparse_halves(cells: int, epsilon: Epsilon, least: int, mode: int, number: int) -> bool:
    """Whether ``P(number) <= P(mode) / 2``."""
    low, high = sorted((mode, number))
    with precision(320 + 4 * epsilon.leading_zeros + 2 * cells.bit_length()):
        # ln C(N, k) by Euler's beta function: C(N, k) = 1 / ((N+1) B(k+1, N-k+1)).
        growth = _log_beta(low + 1, cells - low + 1) - _log_beta(high + 1, cells - high + 1)
        change = growth + (high - low) * _odds(epsilon, least).log()
        return bool((change if number == high else -change) <= -Ball(2).log())


def _log_beta(a: int, b: int) -> Ball:
    return Ball(a).lgamma() + Ball(b).lgamma() - Ball(a + b).lgamma()


def sparse_parts_problem(noise: SparseParts) -> str:
    """What is wrong with the parts of a sparse draw: how many empty cells survive, which ones, and how far noise jumps."""
    plan, cells, epsilon = noise.survivors, noise.cells, noise.epsilon

    def weight(number: int) -> Ball:
        growth = _log_beta(plan.mode + 1, cells - plan.mode + 1) - _log_beta(number + 1, cells - number + 1)
        return (growth + (number - plan.mode) * _odds(epsilon, noise.least).log()).exp()

    with precision(_BITS + 4 * epsilon.leading_zeros + 2 * cells.bit_length()):
        numbers = [number for number in _around(plan.mode, plan.width) if number <= cells]
        if _accepting_problem(plan, weight, numbers):
            return "the number of survivors is not accepted with the probability of the law"
        return _jumps_problem(noise) if float(epsilon) >= _LEAST_TRIED else ""


def _jumps_problem(noise: SparseParts) -> str:
    """At the words next to which a jump is one longer: two at once, so that none is used for both."""
    decay = noise.epsilon.exp()
    borders = [(1 - 1 / decay**length) * Ball(2) ** _WORD for length in range(1, _JUMPS)]
    for length, border in enumerate(borders):
        for word, longer in ((integer_below(border) - 1, 0), (integer_above(border) + 1, 1)):
            for words, jumps in (((word, 0), [length + longer, 0]), ((0, word), [0, length + longer])):
                written = "".join(f"{one:064b}" for one in words)
                if list(map(int, noise.jumps(2, _Written(written, then="0")))) != jumps:
                    return "noise does not jump with the probability of the law"
    return ""


def places_problem(noise: SparseParts) -> str:
    """Whether all sets of cells are equally likely; tried where there are few of them."""
    for number in (1, 2):
        drawn, undecided = _measured(partial(_cells_drawn, noise, number), _DEPTH)
        ways = comb(noise.cells, number)
        if len(drawn) != ways or not all(known <= Fraction(1, ways) <= known + undecided for known in drawn.values()):
            return "the cells that survive are not equally likely"
    return ""


def _cells_drawn(noise: SparseParts, number: int, source: BitSource) -> tuple[int, ...]:
    return tuple(map(int, noise.places(number, source)))


def _sparse_together(noise: SparseParts, cells: Mapping[int, int], source: BitSource) -> dict[int, int]:
    """One sparse table from the parts that were examined: what nobody is in, then everybody's cells in its place."""
    number = _accepted(noise.survivors, source)
    places = noise.places(number, source)
    kept = {int(place): int(jump) + noise.least for place, jump in zip(places, noise.jumps(number, source))}
    occupied = sorted(cells)
    gained, lost = noise.jumps(len(occupied), source), noise.jumps(len(occupied), source)
    for cell, more, less in zip(occupied, gained, lost):
        kept[cell] = cells[cell] + int(more) - int(less)
    return {cell: value for cell, value in kept.items() if value >= noise.least}


# The referee of a noisy table: the noise must be the one that this table needs, not only sound in itself.


_PEOPLE = 1000  # in a cell of a made-up table
_FEW_CELLS = 5  # of a table whose survivors are tried by every sequence of bits
_SHORT_LEVEL = Epsilon.read("ln(6)")


class Noise(Protocol):
    """Noise that says how it is drawn."""

    @property
    def recipe_document(self) -> dict[str, Any]: ...


AnyNoise = TypeVar("AnyNoise", bound=Noise)


def certify_noise(noise: AnyNoise, *, cells: int, epsilon: Epsilon, neighbours: Neighbours) -> Certified[AnyNoise]:
    """Certify the noise of a table; raises :class:`~optimaldp.errors.NotCertifiedError` where it is not the one it needs."""
    verdict = check_noise(noise.recipe_document, cells=cells, epsilon=epsilon, neighbours=neighbours)
    checks = ("the recipe of the noise, in exact arithmetic: every cell, every neighbour",)
    if not arithmetic_holds(epsilon):
        return mint(noise, Finding(False, (), "e^epsilon is not what a series gives"))
    return mint(noise, Finding(verdict.accepted, checks, "; ".join(verdict.objections)))


def check_noise(document: Mapping[str, Any], *, cells: int, epsilon: Epsilon, neighbours: Neighbours) -> NoiseVerdict:
    """Judge a recipe for a table of *cells* cells that promises *epsilon* for *neighbours*.

    **Guarantee.** Accepted noise covers every cell, and its least epsilon for these neighbours is exactly the promised one.

    >>> plan = {"ratio_epsilon": "ln(2)", "copies": 2, "mode": 2, "width": 4}
    >>> recipe = {"kind": "histogram-noise", "bins": 2, "epsilon": "ln(2)", "neighbours": "substitution",
    ...           "shared_total": True, "totals": plan}
    >>> check_noise(recipe, cells=3, epsilon=Epsilon.read("ln(2)"), neighbours=Neighbours.SUBSTITUTION)
    NoiseVerdict(epsilon ln(2), substitution, rejected: the noise covers 2 of 3 cells)
    """
    sparse = document.get("kind") == "sparse-noise"
    verdict = (check_sparse_recipe if sparse else check_recipe)(document)
    covered = document["cells" if sparse else "bins"]
    objections = list(verdict.objections)
    if covered != cells:
        objections.append(f"the noise covers {covered} of {cells} cells")
    if verdict.neighbours is not neighbours:
        objections.append(f"the noise is for {verdict.neighbours.value}, and {neighbours.value} was promised")
    if verdict.claimed != epsilon:
        objections.append(f"the noise claims epsilon {verdict.claimed}, and {epsilon} was promised")
    return replace(verdict, claimed=epsilon, objections=tuple(objections))


TableDraw = Callable[[Mapping[str, Mapping[int, int]], bool, BitSource], list[Any]]


def require_sampler(noise: Any) -> None:
    """Refuse noise that is not drawn by its recipe: the law of the parts that :func:`require_table_draw` puts together."""
    if hasattr(noise, "survivors"):
        problem = places_problem(replace(noise, cells=_FEW_CELLS)) or sparse_parts_problem(noise)
    else:
        small = replace(noise, bins=2, epsilon=_SHORT_LEVEL)  # at this level few bits propose a total
        problem = _few_bins_problem(small.recipe) or borders_problem(noise.recipe)
    if problem:
        raise NotCertifiedError(f"The noise is not drawn by its recipe: {problem}. Nothing was sampled.")


@lru_cache(maxsize=16)
def _few_bins_problem(recipe: Any) -> str:
    """Once for each process and kind of noise: the code does not change."""
    return parts_problem(recipe)


def require_table_draw(
    draw: TableDraw, recipes: Sequence[Any], epsilon: Epsilon, neighbours: Neighbours, *, levels: bool = True
) -> None:
    """Run the code that draws noisy tables on made-up people, with bits that are written down, and add everything up anew.

    *draw* takes people's cells by their own level, whether levels count, and bits. Every table must show the people who may be
    counted, each once, and on every cell, empty or not, the noise of its recipe. People of level 0 may not be counted, and join
    everybody else, the last cell, where the number of people is public. *levels*: whether people may have levels at all.
    """
    last = neighbours is Neighbours.SUBSTITUTION
    for by_level in (False, True) if levels else (False,):
        for people in ({"0": {0: _PEOPLE}, str(epsilon): {1: _PEOPLE + 7}}, {str(epsilon): {0: 1}}):
            for name in STREAMS:
                source = Stream(name)
                counted = _who_is_counted(people, by_level)
                expected = [table_together(recipe, counted, source, last=last) for recipe in recipes]
                if _drawn(draw, people, by_level, Stream(name)) != expected:
                    raise NotCertifiedError(
                        "The tables that are drawn are not the counts and the certified noise. Nothing was sampled and "
                        "nothing was spent."
                    )


def _who_is_counted(people: Mapping[str, Mapping[int, int]], by_level: bool) -> dict[int, int]:
    """People by cell; who may not be counted is in the cell -1, the last."""
    counted = dict[int, int]()
    for own, cells in people.items():
        for cell, number in cells.items():
            place = -1 if by_level and own == "0" else cell
            counted[place] = counted.get(place, 0) + number
    return counted


def table_together(recipe: Any, cells: Mapping[int, int], source: BitSource, *, last: bool = True) -> Any:
    """One noisy table from the parts that were examined; without *last* nobody is in the cell -1."""
    counted = {cell: number for cell, number in cells.items() if last or cell >= 0}
    if hasattr(recipe, "survivors"):
        return _sparse_together(recipe, counted, source)
    noise = put_together(recipe, source)
    for cell, number in counted.items():
        noise[cell] += number
    return noise


def _drawn(draw: TableDraw, people: Mapping[str, Mapping[int, int]], by_level: bool, source: BitSource) -> Any:
    try:
        return draw(people, by_level, source)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        return None


# A private choice among scores: each coin must show heads exactly as often as its gap says.

SelectionDraw = Callable[[Fraction], Callable[[Sequence[int], BitSource], int]]
PairScore = Callable[[Mapping[int, int]], int]
_PEOPLE_OF_A_CELL = 2  # at most, in the tables of two by two cells that scores are tried on
_TRIED_CHOICES = ((Fraction(1), 1), (Fraction(1, 10), 3), (Fraction(3), 7))


def require_selection(selection: SelectionDraw, score: PairScore, neighbours: Neighbours) -> None:
    """Refuse a choice whose coins are not ``e^(-epsilon gap / (2 sensitivity))``: by the words next to that border.

    *selection* makes the function that draws, of a level. Among two scores the word of the lower one decides whether it takes
    part; then one bit decides between the two. *score* is tried on all small tables of two by two cells and their neighbours.
    """
    sensitivity = 2 if neighbours is Neighbours.SUBSTITUTION else 1
    _require_sensitivity(score, sensitivity, neighbours)
    for epsilon, gap in _TRIED_CHOICES:
        draw = selection(epsilon)
        with precision(256):
            border = Ball(2) ** 64 / Epsilon(epsilon * gap / (2 * sensitivity), Fraction(1)).exp()
            inside, outside = integer_below(border) - 1, integer_above(border) + 1
        for scores, lower in (((gap, 0), 1), ((0, gap), 0)):
            for word, possible in ((inside, {0, 1}), (outside, {1 - lower}), (0, {0, 1})):
                # The word of the largest score must not matter.
                for other in (0, 2**64 - 1):
                    words = [other, other]
                    words[lower] = word
                    if {draw(scores, _ThenBit(words, bit)) for bit in (0, 1)} != possible:
                        raise NotCertifiedError("Pairs are not chosen by the law that was proven. Nothing was sampled.")


def _require_sensitivity(score: PairScore, sensitivity: int, neighbours: Neighbours) -> None:
    tables = list(product(range(_PEOPLE_OF_A_CELL + 1), repeat=4))
    scores = {table: score({cell: people for cell, people in enumerate(table) if people}) for table in tables}
    for one, other in combinations(tables, 2):
        moved = [left - right for left, right in zip(one, other) if left != right]
        near = sorted(moved) == [-1, 1] if neighbours is Neighbours.SUBSTITUTION else moved in ([1], [-1])
        if near and abs(scores[one] - scores[other]) > sensitivity:
            rule = f"One person moves the score of a pair of columns by more than {sensitivity}."
            raise NotCertifiedError(f"{rule} Nothing was sampled.")


def chosen_by_coins(scores: Sequence[int], epsilon: Fraction, neighbours: Neighbours, source: BitSource) -> int:
    """The position of the score that permute-and-flip takes with these bits: one word for each, then one of those with heads."""
    sensitivity = 2 if neighbours is Neighbours.SUBSTITUTION else 1
    heads = []
    for place, gap in enumerate(max(scores) - score for score in scores):
        with precision(256):
            border = Ball(2) ** _WORD / Epsilon(epsilon * gap / (2 * sensitivity), Fraction(1)).exp()
            if source.take(_WORD) < integer_below(border):
                heads.append(place)
    return heads[uniform_below(len(heads), source)]


class _ThenBit:
    """Words of 64 bits, then one bit for everything else."""

    def __init__(self, words: Sequence[int], bit: int) -> None:
        self._words, self._bit = list(words), bit

    def take(self, count: int) -> int:
        return self._words.pop(0) if self._words and count == 64 else self._bit * (2**count - 1)
