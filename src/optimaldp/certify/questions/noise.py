"""The referee of noisy counts: the recipe in exact arithmetic, the sampler on a table so large that nothing follows the noise.

The sampler is fed a stream of bits that never changes, so what it draws here is the same every time: its moments are compared
with the law that the referee sums up by itself, and a sampler without noise, or with noise of another scale, is far off.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from typing import Any

from optimaldp.certify.findings import Finding
from optimaldp.certify.noise import certify_rows, check_recipe
from optimaldp.errors import NotCertifiedError
from optimaldp.laws.setting import Table
from optimaldp.privacy import Epsilon, Neighbours, level

_LARGE = 10**6
_DRAWS = 250
_DRAWS_OF_TWO = 500  # two bins have the fewest kinds of noise: 250 draws of them miss the tolerance by chance
_SEED = 2013
_TOLERANCE = 0.12  # this stream stays within 0.02 on three bins; a scale of 0.8 or 1.25 does not
_REACH = 40
_EPSILON = 1
_TRIED = 20_000


class FixedBits:
    """Bits that are the same in every process: never for a release."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def take(self, count: int) -> int:
        return self._random.getrandbits(count) if count else 0


def examine_noise(mechanism: Any) -> Finding:
    """Whether the recipe keeps its level, and whether the sampler follows such a recipe."""
    verdict = check_recipe(mechanism.recipe())
    if not verdict.private:
        return Finding(False, (), "the recipe of the noise does not keep its level")
    twin = mechanism.small_twin()
    if not _sampler_follows(_Sampler(_kind(twin), twin.at(level(_EPSILON)))):
        return Finding(False, (), "the sampler does not draw the noise of its recipe")
    return Finding(
        True,
        (
            "the recipe of the noise, in exact arithmetic: every cell, every neighbour",
            f"the sampler on a stream of fixed bits: {_draws(twin)} draws against the law summed up by the referee",
            f"for all tables, by theorem: {mechanism.proof}",
        ),
    )


def examine_rows(mechanism: Any) -> Finding:
    """A table of probabilities from histograms to histograms: every pair of neighbours, which are found here anew."""
    vertices, values, places = mechanism.rows()
    bins, people = len(mechanism.answers), mechanism.setting.people
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
        return certify_rows(values, places, edges, epsilon=mechanism.setting.level.epsilon).finding
    except NotCertifiedError as error:
        return Finding(False, (), str(error))


def examine_kept(mechanism: Any) -> Finding:
    """As :func:`examine_noise`, for people who are kept with a probability by their own level."""
    own = examine_noise(mechanism)
    if not own.private:
        return own
    for epsilon, _ in mechanism.setting.levels:
        if not _keeps_enough(mechanism.keeps(), epsilon, mechanism.setting.level.epsilon):
            return Finding(False, own.checks, "people are not kept as often as their own level says")
    if not _draws_by_level(mechanism.small_twin()):
        return Finding(False, own.checks, "the sampler does not keep people by their own levels")
    return Finding(True, (*own.checks, f"how often people of each level are kept: {_TRIED:,} made-up people each"))


def _draws_by_level(twin: Any) -> bool:
    """The draw itself: of two million people half have level 0, of whom nobody is kept, and half the loosest."""
    cells = {0: _LARGE}
    levels = ((Epsilon.read(0), cells), (twin.setting.level.epsilon, cells))
    drawn = list(twin.draw(Table({0: 2 * _LARGE}, levels), FixedBits(_SEED)).values())
    far = _LARGE // 10
    return bool(abs(drawn[0] - _LARGE) <= far and abs(drawn[-1] - _LARGE) <= far and sum(drawn) == 2 * _LARGE)


@lru_cache(maxsize=64)
def _keeps_enough(keeps: Any, own: Epsilon, epsilon: Epsilon) -> bool:
    """A person at a level is kept with probability ``(e^own - 1)/(e^epsilon - 1)``: within seven standard deviations."""
    chance = math.expm1(float(own)) / math.expm1(float(epsilon)) if own < epsilon else 1.0
    kept = keeps([(own, {0: _TRIED})], epsilon, everybody_else=1)
    spread = math.sqrt(_TRIED * chance * (1 - chance))
    return bool(sum(kept.values()) == _TRIED and abs(kept.get(0, 0) - _TRIED * chance) <= 7 * spread + 1e-6)


@dataclass(frozen=True)
class _Sampler:
    """A mechanism whose noise is on trial, known by the *kind* of its noise."""

    kind: tuple[Any, ...]
    mechanism: Any = field(compare=False)


def _kind(mechanism: Any) -> tuple[Any, ...]:
    """What the drawing code depends on: not the names of columns and options, the number of people or the level."""
    setting = mechanism.setting
    return type(mechanism), type(mechanism.question), setting.neighbours, mechanism.cells, len(mechanism.answers)


def _draws(twin: Any) -> int:
    return _DRAWS if len(twin.answers) > 2 else _DRAWS_OF_TWO


@lru_cache(maxsize=16)
def _sampler_follows(sampler: _Sampler) -> bool:
    """Once for each process and kind of noise."""
    twin = sampler.mechanism
    cells = dict.fromkeys(range(twin.cells), _LARGE)
    # People who all have the loosest level are all kept.
    table = Table(cells, ((twin.setting.level.epsilon, cells),))
    folded = twin.question.fold(table.cells)
    source, draws = FixedBits(_SEED), _draws(twin)
    sizes, zeros = 0.0, 0
    for _ in range(draws):
        drawn = list(twin.draw(table, source).values())
        noise = [after - before for after, before in zip(drawn, folded)]
        if sum(noise) and twin.setting.neighbours is Neighbours.SUBSTITUTION:
            return False
        sizes += sum(map(abs, noise))
        zeros += not any(noise)
    size, zero = _moments(len(folded), twin.setting.neighbours)
    return abs(sizes / draws - size) <= _TOLERANCE * size and abs(zeros / draws - zero) <= _TOLERANCE * zero + 0.02


@lru_cache(maxsize=64)
def _moments(bins: int, neighbours: Neighbours) -> tuple[float, float]:
    """The expected sum of absolute noise, and the probability of none at all: floats, to compare frequencies with."""
    if neighbours is Neighbours.ADD_REMOVE:
        x = math.exp(-_EPSILON)
        one = (1 - x) / (1 + x)
        return bins * 2 * x / (1 - x * x), one**bins
    weights = size = 0.0
    for noise in _sum_zero(bins):
        absolute = sum(map(abs, noise))
        weight = math.exp(-_EPSILON * absolute / 2)
        weights, size = weights + weight, size + weight * absolute
    return size / weights, 1 / weights


def _sum_zero(bins: int) -> Iterator[tuple[int, ...]]:
    reach = {2: 60, 3: _REACH, 4: 16, 5: 9}.get(bins, 6)
    for head in product(range(-reach, reach + 1), repeat=bins - 1):
        yield (*head, -sum(head))
