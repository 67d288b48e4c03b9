"""Bounds by a theorem, whose hypothesis is checked and whose value is computed here again."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from optimaldp.certify.channels.bound import EXACT_ANSWERS, UNIT, UtilityBound, Worth, as_floats
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.reading import AnswerPair
from optimaldp.errors import CertificateError


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
        return _by_parts([] if factors.epsilon.infinite else edges, masses, worth)
    order = _line(len(masses), edges)
    if order is None or not (worth is None or _only_falls(worth, masses, order)):
        raise CertificateError(
            "certificate",
            "theorem",
            "speaks of a line and a gain that only falls with the distance, and this is not one",
        )
    t = 1 / factors.between(edges[0].length)[1]
    table = None if worth is None else [[worth[y][z] for z in order] for y in order]
    value = _geometric_value([masses[y] for y in order], t, table)
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


def _by_parts(edges: list[AnswerPair], masses: tuple[Fraction, ...], worth: Worth) -> UtilityBound:
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


def _only_falls(worth: Sequence[Sequence[Fraction]], masses: tuple[Fraction, ...], order: list[int]) -> bool:
    """Whether each answer's gain depends on the distance to the guess alone, and never rises with it."""
    size = len(order)
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


def _geometric_value(masses: list[Fraction], t: Fraction, worth: list[list[Fraction]] | None) -> Fraction:
    size = len(masses)
    if size > EXACT_ANSWERS:
        return _geometric_value_in_floats(masses, t, worth)
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


def _geometric_value_in_floats(masses: list[Fraction], t: Fraction, worth: list[list[Fraction]] | None) -> Fraction:
    # Rounded down: a smaller ratio is a looser level, whose best channel is worth at least as much.
    size, ratio = len(masses), float(t) * (1 - 2 * UNIT)
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    weights = np.full(size, (1 - ratio) / (1 + ratio))
    weights[[0, -1]] = 1 / (1 + ratio)
    rows = ratio**apart * weights
    if worth is None:
        value, scale = float((rows * as_floats(masses)[:, None]).max(axis=0).sum()), 1.0
    else:
        table = np.array([[float(w) for w in row] for row in worth])
        value, scale = float((rows.T @ table).max(axis=1).sum()), float(np.abs(table).max(axis=1).sum())
    return Fraction(value + 16 * (2 * size + 8) * UNIT * scale)
