"""Histograms of a fixed total: neighbours differ by one person who moves from one bin to another."""

from __future__ import annotations

from math import comb

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.graphs.dataset_graph import MOST_DATASETS, DatasetGraph
from optimaldp.graphs.families.paths import read_size
from optimaldp.graphs.names import RowNames

Table = npt.NDArray[np.int32]


def histogram_lattice(bins: int, total: int, *, level: object = None) -> DatasetGraph:
    """All histograms of *total* people in *bins* bins, named like ``'2,0,1'``; neighbours by substitution.

    >>> histogram_lattice(3, 2, level=1)
    DatasetGraph(6 datasets, 9 edges, (1, 0)-DP)
    """
    columns, persons = read_size(bins, 1, field="bins"), read_size(total, 0, field="total")
    count = comb(persons + columns - 1, columns - 1)
    if count > MOST_DATASETS:
        raise GraphError("graph", f"{count:.3g} datasets", "is too large to list", "use fewer bins or persons")
    table = compositions(columns, persons)
    tails, heads = _moves(table)
    graph = DatasetGraph(RowNames(table), tails, heads)
    return graph if level is None else graph.with_level(level)


def compositions(bins: int, total: int) -> Table:
    """Every way to write *total* as *bins* ordered numbers, one row each, in lexicographic order."""
    rest = np.array([total], dtype=np.int32)
    columns: list[npt.NDArray[np.int32]] = []
    for _ in range(bins - 1):
        row = np.repeat(np.arange(len(rest)), rest + 1)
        starts = np.cumsum(rest + 1, dtype=np.int64) - (rest + 1)
        value = (np.arange(len(row)) - starts[row]).astype(np.int32)
        columns = [column[row] for column in columns] + [value]
        rest = rest[row] - value
    return np.stack([*columns, rest], axis=1)


def ranks(table: Table) -> npt.NDArray[np.int64]:
    """The row number of each histogram in :func:`compositions` of its size and total.

    Rows that agree before bin k and are smaller in it number ``C(r + m, m) - C(r' + m, m)``: r people are left before
    bin k, r' after it, and m bins follow.
    """
    rest = table.sum(axis=1)
    rank = np.zeros(len(table), dtype=np.int64)
    for k in range(table.shape[1] - 1):
        after = table.shape[1] - 1 - k
        ways = np.array([comb(r + after, after) for r in range(int(rest.max(initial=0)) + 1)], dtype=np.int64)
        rank += ways[rest] - ways[rest - table[:, k]]
        rest = rest - table[:, k]
    return rank


def _moves(table: Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each edge once: one person moves from bin a to a later bin b."""
    tails, heads = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for a in range(table.shape[1]):
        for b in range(a + 1, table.shape[1]):
            able = np.flatnonzero(table[:, a] > 0)
            moved = table[able]
            moved[:, a] -= 1
            moved[:, b] += 1
            tails.append(able)
            heads.append(ranks(moved))
    return np.concatenate(tails), np.concatenate(heads)
