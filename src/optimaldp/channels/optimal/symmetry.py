"""Symmetries of a problem: cells of the channel that may be taken as equal,
because averaging over a symmetry loses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from optimaldp.channels.graphs.answer_graph import AnswerGraph, Permutation

IntArray = NDArray[np.int64]
Exact = Sequence[Sequence[Fraction]]


def cell_orbits(graph: AnswerGraph, worth: Exact, extra: Sequence[Permutation] = ()) -> tuple[IntArray, int]:
    """Number the orbits of cells under those symmetries of the graph that keep *worth*; the second result says how
    many do.

    A permutation of the vertices counts if the columns of *worth* can be permuted so that nothing changes: the
    guesses may move too.
    """
    columns = len(worth[0])
    parent = list(range(len(worth) * columns))
    used = 0
    for permutation in (*graph.checked_symmetries(), *(p for p in extra if graph.is_symmetry(p))):
        # Joining along generators is enough: what they connect are the orbits of the whole group.
        moved = _guess_permutation(permutation, worth)
        if moved is None:
            continue
        used += 1
        for y, image in enumerate(permutation):
            for z, target in enumerate(moved):
                _join(parent, y * columns + z, image * columns + target)
    roots = np.array([_root(parent, v) for v in range(len(parent))])
    _, numbers = np.unique(roots, return_inverse=True)
    return numbers.reshape(len(worth), columns).astype(np.int64), used


def _guess_permutation(permutation: Permutation, worth: Exact) -> list[int] | None:
    """Where each guess must move so that ``worth[σ y][τ z] = worth[y][z]``; equal columns are matched in order."""
    columns = list(zip(*worth))
    places: dict[tuple[Fraction, ...], list[int]] = {}
    for z, column in enumerate(columns):
        places.setdefault(column, []).append(z)
    moved = []
    for column in columns:
        carried = [Fraction(0)] * len(column)
        for y, image in enumerate(permutation):
            carried[image] = column[y]
        targets = places.get(tuple(carried))
        if not targets:
            return None
        # equal columns are guesses that nothing tells apart: any matching of them keeps the gain
        moved.append(targets.pop(0))
    return moved


def _root(parent: list[int], v: int) -> int:
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v


def _join(parent: list[int], a: int, b: int) -> None:
    one, other = _root(parent, a), _root(parent, b)
    if one != other:
        # the smaller root wins: orbits are numbered by their first cells, the same in every run
        parent[max(one, other)] = min(one, other)
