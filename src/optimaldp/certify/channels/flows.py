"""Bounds by weights on the privacy constraints: weak duality of the whole program, for any prior and gain."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from optimaldp.certify.channels.bound import UtilityBound, Worth, certificate_number
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.reading import Neighbours
from optimaldp.errors import CertificateError


def by_flows(
    flows: object, edges: list[Neighbours], factors: Factors, masses: tuple[Fraction, ...], worth: Worth
) -> UtilityBound:
    """Weak duality of the whole program: rows ``[y, neighbour, guess, weight]``, places counted from 0."""
    if not isinstance(flows, (list, tuple)):
        raise CertificateError("flows", flows, "is not a list of [answer, neighbour, guess, weight]")
    size = len(masses)
    columns = size if worth is None else len(worth[0])
    above = {}
    for edge in edges:
        above[edge.one, edge.other] = above[edge.other, edge.one] = factors.between(edge.length)[1]
    left = [[Fraction(0)] * columns for _ in masses] if worth is None else [list(row) for row in worth]
    if worth is None:
        for y, mass in enumerate(masses):
            left[y][y] = mass
    for flow in flows:
        y, other, z, weight = _flow(flow, columns, above)
        left[y][z] -= weight
        left[other][z] += above[y, other] * weight
    return UtilityBound(sum((max(row) for row in left), Fraction(0)), "weights on the privacy constraints")


def _flow(flow: object, columns: int, above: Mapping[tuple[int, int], Fraction]) -> tuple[int, int, int, Fraction]:
    if not isinstance(flow, (list, tuple)) or len(flow) != 4 or not all(type(part) is int for part in flow[:3]):
        raise CertificateError("flow", flow, "is not [answer, neighbour, guess, weight]")
    y, other, z, weight = flow
    if (y, other) not in above or not 0 <= z < columns:
        raise CertificateError("flow", flow, "is not between two neighbours, on one of the guesses")
    return y, other, z, certificate_number(weight, "flow")
