"""Up to three thresholds joined by "and", or by "or": how many moves change the joint answer.

Every combination of the thresholds' cells is treated as possible, so somebody who is good for all of them can always be put in.
Breaking an "and" takes the cheapest of its parts. Mending it takes moves that serve several parts at once, a small whole-number
program (:mod:`optimaldp.distances.covering`). An "or" is the opposite of the "and" of the opposites.

Two numbers are offered. :func:`flips_of_all` and :func:`flips_of_any` are exact. :func:`chain_flips_of_all` rounds up the program
in which people may be moved in part: never above the exact number, quick at every table, and a mechanism may use it as it stands.
*Proof*: let s and s' differ in one person. Move that person wholly from s to what they are in s', then follow a plan of s' that
moves people in part: so the two least numbers differ by at most 1, and so do they rounded up; and they are 0 exactly where all
thresholds hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from optimaldp.distances.covering import Covering, Kind
from optimaldp.distances.ladder import Moves
from optimaldp.distances.linear import LinearCondition
from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours

MOST_THRESHOLDS = 3


@dataclass(frozen=True)
class Clause:
    """One of the thresholds; *among*: whether its tally has a third kind of people, those outside."""

    condition: LinearCondition
    among: bool = False

    @property
    def weights(self) -> tuple[int, ...]:
        both = (self.condition.yes_weight, self.condition.no_weight)
        return (*both, 0) if self.among else both

    def negated(self) -> Clause:
        return Clause(self.condition.negated(), self.among)


Parts = Sequence[Clause]
Cells = Sequence[int]
"""People by the combination of their cells, the first threshold's slowest: (yes yes, yes no, no yes, no no) for two."""


def cell_names(parts: Parts) -> list[tuple[str, ...]]:
    """The combinations in the order of the cells."""
    return list(_names(tuple(part.among for part in parts)))


@lru_cache(maxsize=64)
def _names(among: tuple[bool, ...]) -> tuple[tuple[str, ...], ...]:
    return tuple(product(*(("yes", "no", "outside") if outside else ("yes", "no") for outside in among)))


def all_hold(parts: Parts, cells: Cells) -> bool:
    return all(gap <= 0 for gap in _gaps(parts, cells))


def any_holds(parts: Parts, cells: Cells) -> bool:
    return not all_hold(_negated(tuple(parts)), cells)


def flips_of_all(parts: Parts, cells: Cells, neighbours: Neighbours) -> Moves:
    """The least number of neighbour moves that change "all hold", exactly."""
    if all_hold(parts, cells):
        return _breaking(parts, cells, neighbours)
    program = _mending(parts, cells, neighbours)
    return math.inf if program is None else program.whole_moves()


def chain_flips_of_all(parts: Parts, cells: Cells, neighbours: Neighbours) -> Moves:
    """A number never above :func:`flips_of_all` that one move changes by at most 1, with the same truth: private on a chain."""
    if all_hold(parts, cells):
        return _breaking(parts, cells, neighbours)
    program = _mending(parts, cells, neighbours)
    return math.inf if program is None else math.ceil(program.real_moves())


def flips_of_any(parts: Parts, cells: Cells, neighbours: Neighbours) -> Moves:
    """The least number of neighbour moves that change "one of them holds", exactly."""
    return flips_of_all(_negated(tuple(parts)), cells, neighbours)


def chain_flips_of_any(parts: Parts, cells: Cells, neighbours: Neighbours) -> Moves:
    """As :func:`chain_flips_of_all`, for "one of them holds"."""
    return chain_flips_of_all(_negated(tuple(parts)), cells, neighbours)


@lru_cache(maxsize=64)
def _negated(parts: tuple[Clause, ...]) -> tuple[Clause, ...]:
    return tuple(part.negated() for part in parts)


@lru_cache(maxsize=64)
def _weights(parts: tuple[Clause, ...]) -> tuple[tuple[int, ...], ...]:
    """What a person of each cell weighs for every part."""
    if not 1 <= len(parts) <= MOST_THRESHOLDS:
        raise QuestionError("thresholds", len(parts), f"are not 1 to {MOST_THRESHOLDS}", "ask the others by themselves")
    return tuple(product(*(part.weights for part in parts)))


def _combinations(parts: Parts, cells: Cells) -> list[tuple[tuple[int, ...], int]]:
    """What a person of each cell weighs for every part, and how many there are; cells without anybody change nothing."""
    weights = _weights(tuple(parts))
    if len(weights) != len(cells):
        raise QuestionError("counts", "(not shown)", f"are not {len(weights)} numbers, one for each combination")
    return [(weight, people) for weight, people in zip(weights, cells) if people]


def _gaps(parts: Parts, cells: Cells) -> tuple[int, ...]:
    people = _combinations(parts, cells)
    return tuple(
        part.condition.need - sum(weights[i] * number for weights, number in people) for i, part in enumerate(parts)
    )


def _breaking(parts: Parts, cells: Cells, neighbours: Neighbours) -> Moves:
    """The cheapest part to break."""
    return min(_alone(part.negated(), i, parts, cells, neighbours) for i, part in enumerate(parts))


def _alone(target: Clause, position: int, parts: Parts, cells: Cells, neighbours: Neighbours) -> Moves:
    people = dict.fromkeys(("yes", "no", "outside"), 0)
    for names, number in zip(_names(tuple(part.among for part in parts)), cells):
        people[names[position]] += number
    return target.condition.moves(people["yes"], people["no"], people["outside"], neighbours)


def _mending(parts: Parts, cells: Cells, neighbours: Neighbours) -> Covering | None:
    """The program that makes all hold; ``None`` where no number of moves does."""
    people, gaps = _combinations(parts, cells), _gaps(parts, cells)
    best = tuple(max(part.condition.yes_weight, part.condition.no_weight, 0) for part in parts)
    if neighbours is Neighbours.SUBSTITUTION:
        everybody = sum(cells)
        if any(part.condition.need > everybody * most for part, most in zip(parts, best)):
            return None
        return Covering(gaps, _merged([_less(best, weights) for weights, _ in people], [n for _, n in people]))
    # Everybody may be removed and any number of the best added: only a sum that never rises above 0 can be out of reach.
    if any(part.condition.need > 0 and not most for part, most in zip(parts, best)):
        return None
    nobody = (0,) * len(parts)
    removals = _merged([_less(nobody, weights) for weights, _ in people], [n for _, n in people])
    return Covering(gaps, (Kind(best, None), *removals))


def _less(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(a - b for a, b in zip(first, second))


def _merged(gains: Sequence[tuple[int, ...]], numbers: Sequence[int]) -> tuple[Kind, ...]:
    """One kind for each way of helping; moves that help no part are left out."""
    merged: dict[tuple[int, ...], int] = {}
    for gain, number in zip(gains, numbers):
        if number and any(part > 0 for part in gain):
            merged[gain] = merged.get(gain, 0) + number
    return tuple(Kind(gain, number) for gain, number in merged.items())
