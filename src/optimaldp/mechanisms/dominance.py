"""Which of two mechanisms is better: the dominance order, and expected utilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from optimaldp.errors import MechanismError
from optimaldp.mechanisms.mechanism import Mechanism

Utility = Callable[[str, str], Fraction | int]


class Relation(StrEnum):
    """How the first mechanism stands to the second."""

    BETTER = "≥"
    WORSE = "≤"
    EQUAL = "="
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True)
class Dominance:
    """The relation, with a dataset where the first is strictly better and one where it is strictly worse, if any."""

    relation: Relation
    better_at: Hashable | None
    worse_at: Hashable | None


def compare(first: Mechanism, second: Mechanism) -> Dominance:
    """Compare prefix sums along every dataset's own preference: dominance is at least as large everywhere."""
    if first.preferences != second.preferences or list(first.graph.names) != list(second.graph.names):
        raise MechanismError("mechanisms", "two", "cannot be compared: they are not about the same datasets and wishes")
    better = worse = None
    for vertex, name in enumerate(first.datasets):
        pairs = list(zip(first.prefix_sums(vertex), second.prefix_sums(vertex)))
        if better is None and any(a > b for a, b in pairs):
            better = name
        if worse is None and any(a < b for a, b in pairs):
            worse = name
    relation = {
        (False, False): Relation.EQUAL,
        (True, False): Relation.BETTER,
        (False, True): Relation.WORSE,
        (True, True): Relation.INCOMPARABLE,
    }[better is not None, worse is not None]
    return Dominance(relation, better, worse)


def hamming(wanted: str, given: str) -> Fraction:
    """1 for the favourite answer, 0 for any other: its expectation is the probability of being right."""
    return Fraction(int(wanted == given))


def expected_utility(
    mechanism: Mechanism, utility: Utility = hamming, *, prior: Mapping[Any, Fraction] | None = None
) -> Fraction:
    """The mean of ``utility(favourite answer, given answer)``, exactly; datasets are equally likely without a *prior*.

    The utility must be *order-reasonable*: no dataset may value a less wanted answer more (otherwise dominance says nothing
    about it, and an error says where).
    """
    total = Fraction(0)
    count = len(mechanism.datasets)
    for vertex, name in enumerate(mechanism.datasets):
        ranked = mechanism.preferences.words(vertex)
        worth = [Fraction(utility(ranked[0], word)) for word in ranked]
        if fault := next((k for k in range(1, len(worth)) if worth[k] > worth[k - 1]), None):
            raise MechanismError(
                "utility", float(worth[fault]), f"at {name} for {ranked[fault]} is above the more wanted {ranked[fault - 1]}",
                "a utility must not increase along the preference",
            )  # fmt: skip
        row = mechanism.row(name)
        weight = Fraction(1, count) if prior is None else Fraction(prior.get(name, 0))
        total += weight * sum((row[word] * value for word, value in zip(ranked, worth)), Fraction(0))
    return total
