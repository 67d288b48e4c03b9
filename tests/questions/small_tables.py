"""All tables of a small universe, as count vectors, and the moves between neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

from optimaldp.privacy import Neighbours

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
State = tuple[int, ...]


def states(cells: int, most: int) -> Iterator[State]:
    """All count vectors with at most *most* persons."""
    return (s for s in itertools.product(range(most + 1), repeat=cells) if sum(s) <= most)


def moves(state: State, neighbours: Neighbours, most: int) -> Iterator[State]:
    if neighbours is ADD_REMOVE:
        for i, count in enumerate(state):
            if count:
                yield (*state[:i], count - 1, *state[i + 1 :])
            if sum(state) < most:
                yield (*state[:i], count + 1, *state[i + 1 :])
        return
    for i, j in itertools.permutations(range(len(state)), 2):
        if state[i]:
            moved = list(state)
            moved[i] -= 1
            moved[j] += 1
            yield tuple(moved)


def searched(cells: int, most: int, neighbours: Neighbours, truth: Callable[[State], int]) -> dict[State, int | float]:
    """Flips of every state by breadth-first search from all states that have a neighbour with another answer."""
    answer = {state: truth(state) for state in states(cells, most)}
    found: dict[State, int | float] = dict.fromkeys(answer, math.inf)
    layer = [s for s in answer if any(answer[m] != answer[s] for m in moves(s, neighbours, most))]
    steps = 1
    while layer:
        found.update(dict.fromkeys(layer, steps))
        near = {m for s in layer for m in moves(s, neighbours, most) if answer[m] == answer[s]}
        layer = [m for m in near if found[m] == math.inf]
        steps += 1
    return found
