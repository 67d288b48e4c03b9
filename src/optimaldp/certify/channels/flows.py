"""Bounds by weights on the privacy constraints: weak duality of the whole program, for any prior and gain.

A weight w >= 0 on ``M[y,z] <= e^epsilon M[y',z]`` takes w from what cell (y, z) is worth and adds ``e^epsilon w`` to what
cell (y', z) is. A private channel is worth no more to anybody for it, and every row is worth at most the best of its cells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from optimaldp.certify.channels.bound import EXACT_ANSWERS, UNIT, UtilityBound, Worth, as_floats, certificate_number
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.reading import AnswerPair
from optimaldp.errors import CertificateError

_REASON = "weights on the privacy constraints"
Above = Mapping[tuple[int, int], Fraction]
Flow = tuple[int, int, list[tuple[int, int]], Fraction]
"""An answer, its neighbour, ranges of guesses from (included) and to (not included), and the weight."""


def by_flows(
    flows: object, edges: list[AnswerPair], factors: Factors, masses: tuple[Fraction, ...], worth: Worth
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
    flows: Iterator[Flow], above: Above, masses: tuple[Fraction, ...], worth: Worth, columns: int
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
