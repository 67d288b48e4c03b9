"""Bounds by a potential: λ ≥ 0 (of either sign on a forest, or with flows), stretched until ``Φλ`` covers the prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush

import numpy as np

from optimaldp.certify.channels.reading import (
    EXACT_ANSWERS,
    UNIT,
    AnswerPair,
    Factors,
    FloatArray,
    FloatWorth,
    UtilityBound,
    Worth,
    all_are_neighbours,
    as_floats,
    certificate_number,
    only_length,
    size_of_terms,
)
from optimaldp.certify.channels.weighing import Integers, by_weighed_potential
from optimaldp.certify.graphs.rounding import Loop
from optimaldp.errors import CertificateError

# Bounds by a potential of either sign, where no edges close a ring.
#
# For any λ let ``v_z`` be the least of ``Σ λ_y φ(y)`` over all φ that keep every factor and have ``φ(z) = 1``. A private channel
# has such columns, so ``v >= π`` proves ``Σ_z π_z M[z,z] <= Σ_z v_z M[z,z] <= Σ_z Σ_y λ_y M[y,z] = Σλ``. Where v falls short,
# λ is raised by the largest shortfall everywhere, which raises v by at least as much, or it is stretched: the better of both.
# On a tree the least is found branch by branch: a branch that sums to c at its own end of an edge gives ``c/x`` to the other end
# if c is not negative, and takes ``x·c`` if it is.


_Number = Fraction | float


@dataclass(frozen=True)
class _Arithmetic:
    """Sums and shares that are never too large: rationals exactly, floats rounded down after every operation."""

    read: Callable[[Fraction], _Number]
    total: Callable[[Sequence[_Number]], _Number]
    passed: Callable[[_Number, Fraction], _Number]
    """What a branch gives to the other end of an edge with this factor."""


def _exactly() -> _Arithmetic:
    def passed(value: _Number, factor: Fraction) -> _Number:
        return value / factor if value >= 0 else value * factor

    return _Arithmetic(Fraction, lambda values: sum((Fraction(value) for value in values), Fraction(0)), passed)


def _rounded_down() -> _Arithmetic:
    def down(value: float) -> float:
        return math.nextafter(value, -math.inf)

    def passed(value: _Number, factor: Fraction) -> _Number:
        above = math.nextafter(float(factor), math.inf)
        return down(float(value) / above if value >= 0 else float(value) * above)

    return _Arithmetic(lambda number: down(float(number)), lambda values: down(math.fsum(values)), passed)


def is_forest(size: int, edges: list[AnswerPair]) -> bool:
    """Whether no edges close a ring."""
    parent = list(range(size))

    def root(y: int) -> int:
        while parent[y] != y:
            parent[y] = parent[parent[y]]
            y = parent[y]
        return y

    for edge in edges:
        one, other = root(edge.one), root(edge.other)
        if one == other:
            return False
        parent[one] = other
    return True


def by_signed_potential(
    potential: list[Fraction], edges: list[AnswerPair], factors: Factors, masses: tuple[Fraction, ...]
) -> UtilityBound:
    """What λ proves after it was raised or stretched until ``v >= π``."""
    arithmetic = _exactly() if len(masses) <= EXACT_ANSWERS else _rounded_down()
    least = [Fraction(value) for value in _least_sums(potential, edges, factors, arithmetic)]
    total = sum(potential, Fraction(0))
    shortfall = max(mass - value for value, mass in zip(least, masses))
    bounds = [Fraction(1), total + len(masses) * max(shortfall, Fraction(0))]
    if all(value > 0 or value == mass == 0 for value, mass in zip(least, masses)):
        bounds.append(max(mass / value for value, mass in zip(least, masses) if value) * total)
    return UtilityBound(min(bounds), "a potential that covers the prior along every branch")


def _least_sums(
    potential: list[Fraction], edges: list[AnswerPair], factors: Factors, arithmetic: _Arithmetic
) -> list[_Number]:
    """``v_z`` for every z: branches are added up towards a root, then from the root outwards."""
    size = len(potential)
    own = [arithmetic.read(value) for value in potential]
    neighbours: list[dict[int, Fraction]] = [{} for _ in range(size)]
    for edge in edges:
        neighbours[edge.one][edge.other] = neighbours[edge.other][edge.one] = factors.between(edge.length)[1]
    order, parent = _outwards(neighbours)
    received: list[dict[int, _Number]] = [{} for _ in range(size)]
    for y in reversed(order):
        if parent[y] >= 0:
            branch = arithmetic.total([own[y], *received[y].values()])
            received[parent[y]][y] = arithmetic.passed(branch, neighbours[y][parent[y]])
    for y in order:
        # fsum rounds once, so that a branch and its negative cancel wholly: nothing is lost by taking a child's out again.
        everything = [own[y], *received[y].values()]
        for child, factor in neighbours[y].items():
            if parent[child] == y:
                rest = arithmetic.total([*everything, -received[y][child]])  # all branches but the child's own
                received[child][y] = arithmetic.passed(rest, factor)
    return [arithmetic.total([own[y], *received[y].values()]) for y in range(size)]


def _outwards(neighbours: list[dict[int, Fraction]]) -> tuple[list[int], list[int]]:
    """Every answer after its parent; the parent of a root is −1."""
    parent = [-2] * len(neighbours)
    order: list[int] = []
    for root in range(len(neighbours)):
        if parent[root] != -2:
            continue
        parent[root] = -1
        part = [root]
        for y in part:  # grows while it is walked
            for near in neighbours[y]:
                if parent[near] == -2:
                    parent[near] = y
                    part.append(near)
        order += part
    return order, parent


# Bounds by a theorem, whose hypothesis is checked and whose value is computed here again.


def by_theorem(
    edges: list[AnswerPair], factors: Factors, masses: tuple[Fraction, ...], worth: Worth, *, cut: object = None
) -> UtilityBound:
    """A line: the geometric mechanism with Bayes guesses, at an ``e^epsilon`` rounded up. Without privacy between
    different answers, or with nothing else: one guess for each part of the graph that must answer alike.

    *cut* names edges ``[y, neighbour]`` to be dropped first: fewer constraints allow more channels, so a bound for what
    is left is a bound for the whole. A ring becomes a line in this way.
    """
    edges = _without(edges, cut)
    if factors.epsilon.infinite or factors.epsilon.is_zero or not edges:
        worth = worth.exactly() if isinstance(worth, FloatWorth) else worth
        return _by_parts([] if factors.epsilon.infinite else edges, masses, worth)
    order = _line(len(masses), edges)
    if order is None or not (worth is None or _only_falls(worth, masses, order)):
        raise CertificateError(
            "certificate",
            "theorem",
            "speaks of a line and a gain that only falls with the distance, and this is not one",
        )
    t = 1 / factors.between(edges[0].length)[1]
    along = [masses[y] for y in order]
    if isinstance(worth, FloatWorth):
        value = _geometric_value_in_floats(
            along, t, worth.table[np.ix_(order, order)], worth.gain[np.ix_(order, order)]
        )
    else:
        table = None if worth is None else [[worth[y][z] for z in order] for y in order]
        value = _geometric_value(along, t, table)
    return UtilityBound(value, "the theorem of Ghosh, Roughgarden and Sundararajan on lines")


def _without(edges: list[AnswerPair], cut: object) -> list[AnswerPair]:
    if cut is None:
        return edges
    if not isinstance(cut, (list, tuple)) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in cut
    ):
        raise CertificateError("cut", cut, "is not a list of [answer, neighbour]")
    dropped = {frozenset(pair) for pair in cut if all(type(end) is int for end in pair)}
    return [edge for edge in edges if frozenset((edge.one, edge.other)) not in dropped]


def _by_parts(
    edges: list[AnswerPair], masses: tuple[Fraction, ...], worth: Sequence[Sequence[Fraction]] | None
) -> UtilityBound:
    value = Fraction(0)
    for alike in _parts(len(masses), edges):
        columns = [[masses[y]] for y in alike] if worth is None else zip(*(worth[y] for y in alike))
        value += max(sum(column, Fraction(0)) for column in columns)
    return UtilityBound(value, "one guess for each part of the graph")


def _parts(size: int, edges: list[AnswerPair]) -> list[list[int]]:
    neighbours = _neighbours(size, edges)
    parts: list[list[int]] = []
    placed: set[int] = set()
    for start in range(size):
        if start in placed:
            continue
        part = [start]
        placed.add(start)
        for y in part:  # grows while it is walked
            part += [near for near in dict.fromkeys(neighbours[y]) if near not in placed]
            placed.update(part)
        parts.append(part)
    return parts


def _neighbours(size: int, edges: list[AnswerPair]) -> dict[int, list[int]]:
    neighbours: dict[int, list[int]] = {y: [] for y in range(size)}
    for edge in edges:
        neighbours[edge.one].append(edge.other)
        neighbours[edge.other].append(edge.one)
    return neighbours


def _line(size: int, edges: list[AnswerPair]) -> list[int] | None:
    neighbours = _neighbours(size, edges)
    ends = [y for y, near in neighbours.items() if len(near) == 1]
    if len(edges) != size - 1 or len(ends) != 2 or len({edge.length for edge in edges}) != 1:
        return None
    order = [ends[0]]
    while len(order) < size:
        onward = [y for y in neighbours[order[-1]] if y not in order[-2:]]
        if len(onward) != 1:
            return None
        order.append(onward[0])
    return order if len(set(order)) == size else None


def _only_falls(
    worth: Sequence[Sequence[Fraction]] | FloatWorth, masses: tuple[Fraction, ...], order: list[int]
) -> bool:
    """Whether each answer's gain depends on the distance to the guess alone, and never rises with it."""
    size = len(order)
    if isinstance(worth, FloatWorth):
        return worth.gain.shape[1] == size and all(
            not masses[y] or _falls_from(place, worth.gain[y, order]) for place, y in enumerate(order)
        )
    if len(worth[0]) != size:
        return False
    for place, y in enumerate(order):
        if not masses[y]:
            continue  # an answer without a chance has no say
        last = None
        for distance in range(size):
            values = {worth[y][order[k]] for k in (place - distance, place + distance) if 0 <= k < size}
            if len(values) > 1 or (values and last is not None and max(values) > last):
                return False
            last = min(values) if values else last
    return True


def _falls_from(place: int, gains: FloatArray) -> bool:
    """Whether gains fall, or stay, to both sides of a place, and are the same at the same distance."""
    before, after = gains[place::-1], gains[place:]
    both = min(len(before), len(after))
    falls = bool((np.diff(before) <= 0).all() and (np.diff(after) <= 0).all())
    return falls and bool((before[:both] == after[:both]).all())


def _geometric_value(masses: list[Fraction], t: Fraction, worth: list[list[Fraction]] | None) -> Fraction:
    size = len(masses)
    if size > EXACT_ANSWERS:
        table = None if worth is None else np.array([[float(w) for w in row] for row in worth])
        return _geometric_value_in_floats(masses, t, table)
    powers = [t**k for k in range(size)]
    value = Fraction(0)
    for z in range(size):
        weight = 1 / (1 + t) if z in (0, size - 1) else (1 - t) / (1 + t)
        column = [weight * powers[abs(y - z)] for y in range(size)]
        if worth is None:
            value += max(mass * cell for mass, cell in zip(masses, column))
        else:
            value += max(sum(w * cell for w, cell in zip(guess, column)) for guess in zip(*worth))
    return value


def _geometric_value_in_floats(
    masses: list[Fraction], t: Fraction, table: FloatArray | None, gain: FloatArray | None = None
) -> Fraction:
    # Rounded down: a smaller ratio is a looser level, whose best channel is worth at least as much.
    size, ratio = len(masses), float(t) * (1 - 2 * UNIT)
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    weights = np.full(size, (1 - ratio) / (1 + ratio))
    weights[[0, -1]] = 1 / (1 + ratio)
    rows = ratio**apart * weights
    if table is None:
        value, scale = float((rows * as_floats(masses)[:, None]).max(axis=0).sum()), 1.0
    elif gain is not None and np.array_equal(gain, -apart):
        value = -sum(float(_least_distance(column).min()) for column in (rows * as_floats(masses)[:, None]).T)
        scale = abs(value)
    else:
        value = float((rows.T @ table).max(axis=1).sum())
        scale = size_of_terms(value, table)
    return Fraction(value + 16 * (2 * size + 8) * UNIT * scale)


def _least_distance(column: FloatArray) -> FloatArray:
    """The expected distance of each guess from the answer: n sums instead of n².

    Between two neighbouring places lies a step that everybody on the one side takes to a guess on the other.
    """
    below, above = np.cumsum(column)[:-1], np.cumsum(column[::-1])[:-1][::-1]
    left = np.concatenate([[0.0], np.cumsum(below)])
    right = np.concatenate([np.cumsum(above[::-1])[::-1], [0.0]])
    return np.asarray(left + right)


# Bounds by weights on the privacy constraints: weak duality of the whole program, for any prior and gain.
#
# A weight w >= 0 on ``M[y,z] <= e^epsilon M[y',z]`` takes w from what cell (y, z) is worth and adds ``e^epsilon w`` to what
# cell (y', z) is. A private channel is worth no more to anybody for it, and every row is worth at most the best of its cells.


_REASON = "weights on the privacy constraints"
Above = Mapping[tuple[int, int], Fraction]
Flow = tuple[int, int, list[tuple[int, int]], Fraction]
"""An answer, its neighbour, ranges of guesses from (included) and to (not included), and the weight."""


def by_flows(
    flows: object,
    edges: list[AnswerPair],
    factors: Factors,
    masses: tuple[Fraction, ...],
    worth: Sequence[Sequence[Fraction]] | None,
) -> UtilityBound:
    """Rows ``[y, neighbour, guess, weight]``, places counted from 0; for many guesses at once ``[[from, to], …]``."""
    if not isinstance(flows, (list, tuple)):
        raise CertificateError("flows", flows, "is not a list of [answer, neighbour, guess, weight]")
    columns = len(masses) if worth is None else len(worth[0])
    above = {}
    for edge in edges:
        above[edge.one, edge.other] = above[edge.other, edge.one] = factors.between(edge.length)[1]
    read = (_flow(flow, columns, above) for flow in flows)
    if len(masses) > EXACT_ANSWERS:
        return UtilityBound(_in_floats(read, above, masses, worth, columns), _REASON)
    cell_worth = [[Fraction(0)] * columns for _ in masses] if worth is None else [list(row) for row in worth]
    kept = _useful(above, masses) if worth is None else list(range(columns))
    if worth is None:
        for y, mass in enumerate(masses):
            cell_worth[y][y] = mass
    for y, other, ranges, weight in read:
        added = above[y, other] * weight
        for z in (z for start, stop in ranges for z in range(start, stop)):
            cell_worth[y][z] -= weight
            cell_worth[other][z] += added
    return UtilityBound(sum((max(row[z] for z in kept) for row in cell_worth), Fraction(0)), _REASON)


def _in_floats(
    flows: Iterator[Flow],
    above: Above,
    masses: tuple[Fraction, ...],
    worth: Sequence[Sequence[Fraction]] | None,
    columns: int,
) -> Fraction:
    """The same in floats, rounded up: a sum is wrong by at most its number of terms times 2^-53 of their absolute sum."""
    cell_worth = (
        np.diag(as_floats(masses)) if worth is None else np.array([[float(cell) for cell in row] for row in worth])
    )
    terms, counts = np.abs(cell_worth), np.full((len(masses), columns), 4.0)
    for y, other, ranges, weight in flows:
        taken, added = float(weight), float(above[y, other] * weight)
        for start, stop in ranges:
            part = slice(start, stop)
            cell_worth[y, part] -= taken
            cell_worth[other, part] += added
            terms[y, part] += taken
            terms[other, part] += added
            counts[y, part] += 2
            counts[other, part] += 2
    high = cell_worth + 2 * UNIT * counts * terms
    most = (high if worth is not None else high[:, _useful(above, masses)]).max(axis=1)
    return sum(map(Fraction, most.tolist()), Fraction(0))


def _useful(above: Above, masses: tuple[Fraction, ...]) -> list[int]:
    """The guesses that a best channel needs, for the gain of one for the right answer.

    Where a neighbour y of z is likelier by the whole factor, an output that stands for z may as well stand for y:
    ``π_z M[z,·] <= π_z x M[y,·] <= π_y M[y,·]``. The likeliest answer always stays.
    """
    # Strictly less likely: at epsilon 0 two equal answers would drop each other.
    worse = {z for (y, z), factor in above.items() if masses[z] < masses[y] and masses[z] * factor <= masses[y]}
    return [z for z in range(len(masses)) if z not in worse]


def _flow(flow: object, columns: int, above: Above) -> Flow:
    if not isinstance(flow, (list, tuple)) or len(flow) != 4 or not all(type(part) is int for part in flow[:2]):
        raise CertificateError("flow", flow, "is not [answer, neighbour, guess, weight]")
    y, other, guesses, weight = flow
    ranges = [(guesses, guesses + 1)] if type(guesses) is int else _ranges(guesses)
    if (y, other) not in above or not all(0 <= start < stop <= columns for start, stop in ranges):
        raise CertificateError("flow", flow, "is not between two neighbours, on some of the guesses")
    return y, other, ranges, certificate_number(weight, "flow")


def _ranges(guesses: object) -> list[tuple[int, int]]:
    if not isinstance(guesses, (list, tuple)) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and all(type(end) is int for end in pair) for pair in guesses
    ):
        raise CertificateError("flow", guesses, "is neither a guess nor a list of ranges [from, to] of guesses")
    return [(start, stop) for start, stop in guesses]


_MOST_STEPS = 20_000_000  # answers times edges up to which steps are counted one by one: seconds


def by_potential(
    given: object, edges: list[AnswerPair], factors: Factors, masses: tuple[Fraction, ...], *, flows: object = None
) -> UtilityBound:
    """``s·Σλ`` with the least s for which ``s·Φλ ≥ π``; one if λ does not reach some answer that has a chance.

    With *flows* beside it λ may have either sign (see ``weighing``).
    """
    size = len(masses)
    if flows is not None:
        return by_weighed_potential(_numbers(given, size, signed=True), flows, edges, factors, masses)
    signed = is_forest(size, edges)
    potential = _numbers(given, size, signed=signed)
    if signed and min(potential) < 0:
        return by_signed_potential(potential, edges, factors, masses)
    length = only_length(edges)
    if length is not None and all_are_neighbours(size, edges):
        t, total = 1 / factors.between(length)[1], sum(potential, Fraction(0))
        reached = [(1 - t) * value + t * total for value in potential]
    elif size <= EXACT_ANSWERS:
        reached = [
            sum((phi * value for phi, value in zip(row, potential) if value), Fraction(0))
            for row in _exact_kernel(size, edges, factors)
        ]
    else:
        # floats, rounded down: a sum of products of nonnegative numbers is wrong by a relative (terms + 3) · 2^-53
        kernel = _float_kernel(size, edges, factors)
        reached = [Fraction(r) for r in (kernel @ as_floats(potential) * (1 - 4 * (size + 8) * UNIT)).tolist()]
    if any(r == 0 < mass for r, mass in zip(reached, masses)):
        return UtilityBound(Fraction(1), "the potential does not reach every answer")
    stretch = max(mass / r for mass, r in zip(masses, reached) if mass)
    return UtilityBound(min(Fraction(1), stretch * sum(potential, Fraction(0))), "a potential that covers the prior")


def _exact_kernel(size: int, edges: list[AnswerPair], factors: Factors) -> list[list[Fraction]]:
    """``e^(−epsilon d)`` from below, by the likeliest path: the largest product of inverse factors."""
    neighbours: list[list[tuple[int, Fraction]]] = [[] for _ in range(size)]
    for edge in edges:
        inverse = 1 / factors.between(edge.length)[1]
        neighbours[edge.one].append((edge.other, inverse))
        neighbours[edge.other].append((edge.one, inverse))
    return [_products_from(source, neighbours) for source in range(size)]


def _products_from(source: int, neighbours: list[list[tuple[int, Fraction]]]) -> list[Fraction]:
    products = [Fraction(0)] * len(neighbours)
    done = [False] * len(neighbours)
    queue = [(Fraction(-1), source)]
    while queue:
        # The largest product first: inverse factors are at most 1, so no longer way to it is better (Dijkstra).
        product, vertex = heappop(queue)
        if done[vertex]:
            continue
        done[vertex], products[vertex] = True, -product
        for neighbour, inverse in neighbours[vertex]:
            if not done[neighbour]:
                heappush(queue, (product * inverse, neighbour))
    return products


def _float_kernel(size: int, edges: list[AnswerPair], factors: Factors) -> FloatArray:
    """The same in floats, never above."""
    length = only_length(edges)
    if length is not None and size * len(edges) <= _MOST_STEPS:
        return _by_steps(size, edges, float(1 / factors.between(length)[1]))
    return _by_relaxation(size, edges, factors)


def _by_steps(size: int, edges: list[AnswerPair], inverse: float) -> FloatArray:
    """Edges of one length: count steps from every answer, and take powers."""
    ends = np.array([(edge.one, edge.other) for edge in edges], dtype=np.int64).reshape(-1, 2)
    tails = np.concatenate([ends[:, 0], ends[:, 1]])
    heads = np.concatenate([ends[:, 1], ends[:, 0]])[np.argsort(tails, kind="stable")]
    first = np.concatenate([[0], np.bincount(tails, minlength=size).cumsum()])
    steps = np.full((size, size), -1, dtype=np.int64)
    _COUNT_STEPS(size * len(heads), first, heads, steps, np.empty(size, dtype=np.int64))
    powers = (inverse * (1 - 2 * UNIT)) ** np.arange(size + 1) * (1 - 8 * UNIT)
    return np.where(steps >= 0, powers[steps], 0.0)


def _count_steps(first: Integers, heads: Integers, steps: Integers, queue: Integers) -> None:
    """Write the number of steps from every answer to every other into *steps*; -1 stays where no way leads."""
    for source in range(len(steps)):
        steps[source, source] = 0
        queue[0], start, filled = source, 0, 1
        while start < filled:
            y = queue[start]
            start += 1
            for arc in range(first[y], first[y + 1]):
                near = heads[arc]
                if steps[source, near] < 0:
                    steps[source, near] = steps[source, y] + 1
                    queue[filled] = near
                    filled += 1


_COUNT_STEPS = Loop(_count_steps)


def _by_relaxation(size: int, edges: list[AnswerPair], factors: Factors) -> FloatArray:
    """Relaxed along all edges at once until nothing grows, then rounded down."""
    heads = np.array([edge.one for edge in edges] + [edge.other for edge in edges])
    tails = np.array([edge.other for edge in edges] + [edge.one for edge in edges])
    inverses = np.array([float(1 / factors.between(edge.length)[1]) * (1 - 2 * UNIT) for edge in edges] * 2)
    order = np.argsort(heads, kind="stable")
    tails, inverses = tails[order], inverses[order][:, None]
    firsts, starts = np.unique(heads[order], return_index=True)
    kernel = np.eye(size)
    block = max(1, 4_000_000 // max(1, len(tails)))
    for start in range(0, size, block):
        columns = slice(start, start + block)
        while True:
            longer = np.maximum.reduceat(kernel[:, columns][tails] * inverses, starts, axis=0)
            grown = np.maximum(kernel[firsts, columns], longer)
            if np.array_equal(grown, kernel[firsts, columns]):
                break
            kernel[firsts, columns] = grown
    return np.asarray(kernel * (1 - 4 * (size + 8) * UNIT))


def _numbers(values: object, size: int, *, signed: bool) -> list[Fraction]:
    if not isinstance(values, (list, tuple)) or len(values) != size:
        raise CertificateError("potential", values, f"is not a list of {size} numbers, one for each answer")
    return [certificate_number(value, "potential", signed=signed) for value in values]
