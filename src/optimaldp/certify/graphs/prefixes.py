"""The events that optimality is about: the k most wanted answers of somebody's preference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from optimaldp.graphs.preferences import Preferences
from optimaldp.mechanisms.certificate import Event


@dataclass(frozen=True)
class Prefix:
    """The first *length* answers of an order, and the numbers of the preferences that have this event as a prefix.

    Sums over nested events are added up along the order once, so the order is part of the event's name.
    """

    order: tuple[int, ...]
    length: int
    wanted_by: list[int] = field(default_factory=list, compare=False)

    @property
    def event(self) -> Event:
        return tuple(sorted(self.order[: self.length]))


def prefixes(preferences: Preferences, given: npt.NDArray[np.bool_]) -> Iterator[tuple[Prefix, npt.NDArray[np.bool_]]]:
    """Each event that is a proper prefix of somebody's preference, and the free datasets that want it; order after order."""
    known: dict[Event, Prefix] = {}
    for number, order in enumerate(preferences.orders):
        for length in range(1, len(order)):
            event = tuple(sorted(order[:length]))
            known.setdefault(event, Prefix(order, length)).wanted_by.append(number)
    for prefix in known.values():
        wants = np.zeros(len(preferences.orders), dtype=bool)
        wants[prefix.wanted_by] = True
        yield prefix, wants[preferences.of] & ~given
