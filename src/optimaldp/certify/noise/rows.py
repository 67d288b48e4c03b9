"""The referee of a mechanism written out as rows of exact probabilities, many of which are equal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from optimaldp.certify.findings import Certified, Finding, mint
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy.epsilon import Epsilon
from optimaldp.sampling import BitSource, choose

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
