"""The least number of moves that close several gaps at once: a small linear program, and its whole-number version.

``least sum of n_j  with  sum of gain_ij n_j >= gap_i  and  0 <= n_j <= people_j``, at most three gaps and 28 kinds of moves.
Solved by the dual simplex method with bounds in exact rationals (all n at 0 is dual feasible because every move costs 1), the
whole-number version by branching on it. No tolerance, no floating point.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product

from optimaldp.distances.linear import LinearCondition
from optimaldp.distances.ranking import Moves
from optimaldp.errors import QuestionError
from optimaldp.privacy import Neighbours
from optimaldp.privacy.balls import Rational, fraction


@dataclass(frozen=True)
class Kind:
    """A kind of move: what one such move gains for each gap, and how many there are (``None``: as many as you like)."""

    gains: tuple[int, ...]
    people: int | None


@dataclass(frozen=True)
class Covering:
    """The gaps, and the kinds of moves that may close them."""

    gaps: tuple[int, ...]
    kinds: tuple[Kind, ...]

    def real_moves(self) -> Fraction | float:
        """The least number of moves when people may be moved in part; ``math.inf`` if all of them are not enough."""
        program = _Program(self)
        return fraction(sum(program.amounts, Rational(0))) if program.optimise() else math.inf

    def whole_moves(self) -> Moves:
        """The least whole number of moves, exactly, by branching.

        Branching on single kinds would creep along a face of equally good plans when millions of people are to be moved. Sums
        over all kinds that are alike for one gap, or for two, are branched on first: they decide such faces at once.
        """
        best: Moves = math.inf
        sums = self._sums()
        open_nodes = [self]
        while open_nodes:
            node = open_nodes.pop()
            solved = _Program(node).solve()
            if solved is None or math.ceil(sum(solved)) >= best:
                continue
            raised = [math.ceil(amount) for amount in solved]
            if self._closes(raised):
                best = min(best, sum(raised))
            if math.ceil(sum(solved)) < best:
                open_nodes += node._branches(solved, sums)
        return best

    def _branches(self, solved: Sequence[Fraction], sums: Sequence[frozenset[int]]) -> list[Covering]:
        """Two programs that exclude a sum which is not whole; none if all are."""
        for members in sums:
            amount = sum((solved[j] for j in members), Fraction(0))
            if amount.denominator > 1:
                floor = math.floor(amount)
                return [self._with(members, -1, -floor), self._with(members, 1, floor + 1)]
        return []

    def _with(self, members: frozenset[int], sign: int, gap: int) -> Covering:
        """With one more row: *sign* times the sum over *members* is at least *gap*."""
        kinds = (Kind((*kind.gains, sign if j in members else 0), kind.people) for j, kind in enumerate(self.kinds))
        return Covering((*self.gaps, gap), tuple(kinds))

    def _sums(self) -> list[frozenset[int]]:
        """The sets of kinds that agree in none, one, two ... of the gains: everybody first, single kinds last."""
        rows, sets = range(len(self.gaps)), dict[frozenset[int], None]()
        for size in range(len(self.gaps) + 1):
            for chosen in combinations(rows, size):
                alike: dict[tuple[int, ...], set[int]] = {}
                for j, kind in enumerate(self.kinds):
                    alike.setdefault(tuple(kind.gains[i] for i in chosen), set()).add(j)
                sets.update((frozenset(members), None) for members in alike.values())
        singles = [frozenset((j,)) for j in range(len(self.kinds))]
        return list(dict.fromkeys([*sets, *singles]))

    def _closes(self, amounts: Sequence[int]) -> bool:
        return all(
            amount <= kind.people for kind, amount in zip(self.kinds, amounts) if kind.people is not None
        ) and all(
            sum(kind.gains[i] * amount for kind, amount in zip(self.kinds, amounts)) >= gap
            for i, gap in enumerate(self.gaps)
        )


@dataclass
class _Program:
    """A dictionary of the simplex method: every basic variable as a sum over the others, which stand at one of their bounds.

    Variables 0 .. kinds - 1 are the amounts, the rest the surplus of each gap (at least 0).
    """

    covering: Covering
    high: list[int | None] = field(init=False)
    at: list[Rational] = field(init=False)
    basic: list[int] = field(init=False)
    free: list[int] = field(init=False)
    rows: list[list[Rational]] = field(init=False)
    cost: list[Rational] = field(init=False)

    def __post_init__(self) -> None:
        kinds, gaps = self.covering.kinds, self.covering.gaps
        self.high = [*(kind.people for kind in kinds), *(None for _ in gaps)]
        self.free, self.basic = list(range(len(kinds))), list(range(len(kinds), len(kinds) + len(gaps)))
        self.rows = [[Rational(kind.gains[i]) for kind in kinds] for i in range(len(gaps))]
        self.cost = [Rational(1) for _ in kinds]
        self.at = [*(Rational(0) for _ in kinds), *(Rational(-gap) for gap in gaps)]

    @property
    def amounts(self) -> list[Rational]:
        """How many of each kind are moved."""
        return self.at[: len(self.covering.kinds)]

    def solve(self) -> list[Fraction] | None:
        """The amounts of an optimal solution; ``None`` if there is none."""
        return [fraction(amount) for amount in self.amounts] if self.optimise() else None

    def optimise(self) -> bool:
        """Move to an optimal solution; whether there is one."""
        while (broken := self._broken()) is not None:
            row, target = broken
            column = self._entering(row, rising=self.at[self.basic[row]] < target)
            if column is None:
                return False
            self._pivot(row, column, target)
        return True

    def _broken(self) -> tuple[int, Rational] | None:
        """The first basic variable outside of its bounds (Bland's rule: the smallest index, so that nothing cycles)."""
        for row in sorted(range(len(self.basic)), key=self.basic.__getitem__):
            variable = self.basic[row]
            high = self.high[variable]
            if self.at[variable] < 0:
                return row, Rational(0)
            if high is not None and self.at[variable] > high:
                return row, Rational(high)
        return None

    def _entering(self, row: int, *, rising: bool) -> int | None:
        """The variable that moves the broken one towards its bound at the least cost."""
        best: tuple[Rational, int, int] | None = None
        for column, variable in enumerate(self.free):
            slope = self.rows[row][column] if rising else -self.rows[row][column]
            if not slope:
                continue
            high = self.high[variable]
            can_rise = high is None or self.at[variable] < high
            can_fall = self.at[variable] > 0
            if (slope > 0 and can_rise) or (slope < 0 and can_fall):
                price = (abs(self.cost[column] / slope), variable, column)
                best = price if best is None else min(best, price)
        return None if best is None else best[2]

    def _pivot(self, row: int, column: int, target: Rational) -> None:
        """Bring the broken variable to its bound by the entering one, then exchange the two."""
        leaving, entering = self.basic[row], self.free[column]
        step = (target - self.at[leaving]) / self.rows[row][column]
        for i, variable in enumerate(self.basic):
            self.at[variable] += self.rows[i][column] * step
        self.at[entering] += step
        self._exchange(row, column)
        self.basic[row], self.free[column] = entering, leaving

    def _exchange(self, row: int, column: int) -> None:
        pivot = self.rows[row][column]
        solved = [-entry / pivot for entry in self.rows[row]]
        solved[column] = 1 / pivot
        for i, line in enumerate(self.rows):
            if i != row:
                self.rows[i] = _substituted(line, column, solved)
        self.cost = _substituted(self.cost, column, solved)
        self.rows[row] = solved


def _substituted(line: list[Rational], column: int, solved: list[Rational]) -> list[Rational]:
    factor = line[column]
    if not factor:
        return line
    return [factor * solved[j] if j == column else entry + factor * solved[j] for j, entry in enumerate(line)]


# Up to three thresholds joined by "and", or by "or": how many moves change the joint answer.
#
# Every combination of the thresholds' cells is treated as possible, so somebody who is good for all of them can always be put
# in. Breaking an "and" takes the cheapest of its parts. Mending it takes moves that serve several parts at once, a small
# whole-number program (:mod:`optimaldp.distances.several`). An "or" is the opposite of the "and" of the opposites.
#
# Two numbers are offered. :func:`flips_of_all` and :func:`flips_of_any` are exact. :func:`chain_flips_of_all` rounds up the
# program in which people may be moved in part: never above the exact number, quick at every table, and a mechanism may use it
# as it stands.
# *Proof*: let s and s' differ in one person. Move that person wholly from s to what they are in s', then follow a plan
# of s' that moves people in part: so the two least numbers differ by at most 1, and so do they rounded up; and they are 0
# exactly where all thresholds hold.


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
