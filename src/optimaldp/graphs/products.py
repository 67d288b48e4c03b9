"""Families that are products: votes, values, grids, histograms, participation, and graphs with hot edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError, ProblemError
from optimaldp.graphs.dataset_graph import MOST_DATASETS, DatasetGraph, levels_per_part, number_levels, read_edge_level
from optimaldp.graphs.families import clique, line, read_size
from optimaldp.graphs.names import LazyNames, NumberNames, ProductNames, RowNames, check_unique
from optimaldp.graphs.problem import Preferences
from optimaldp.privacy import Level

# Products of graphs: votes, values, hypercubes and grids of counts. Two datasets are neighbours if one part differs.


# The edges of a product of graphs, as arrays.


Indices = npt.NDArray[np.int32]
_MOST_SHIFTS = 64  # the mask over datasets and shifts stays below this many bytes per dataset


@dataclass(frozen=True)
class _Shift:
    """Edges of one factor and level that all lead equally far: from the digits in *starts*, by *step* vertices."""

    factor: int
    starts: npt.NDArray[np.bool_]
    step: int
    level: int


def product_edges(graphs: Sequence[DatasetGraph], level_numbers: Sequence[Indices]) -> tuple[Indices, Indices, Indices]:
    """Tails, heads and level numbers of all edges; *level_numbers* renumbers the levels of each factor.

    Lines, cliques and cubes have few shifts, and their edges come sorted by tail: whatever walks over them then walks
    through memory in order, which made the arcs of the 20-dimensional cube three times faster than factor by factor.
    """
    shifts = _shifts(graphs, level_numbers)
    return _by_factor(graphs, level_numbers) if shifts is None else _by_tail(graphs, shifts)


def _shifts(graphs: Sequence[DatasetGraph], level_numbers: Sequence[Indices]) -> list[_Shift] | None:
    """The shifts of all factors; ``None`` if there are too many, or equal parallel edges (which are kept, not merged)."""
    shifts: list[_Shift] = []
    inside = math.prod(len(graph) for graph in graphs)
    for factor, graph in enumerate(graphs):
        inside //= len(graph)
        levels = level_numbers[factor][graph.level_of_edge]
        kinds = np.unique(np.stack([graph.heads - graph.tails, levels], axis=1), axis=0)
        if len(shifts) + len(kinds) > _MOST_SHIFTS:
            return None
        for difference, level in kinds.tolist():
            count = np.bincount(
                graph.tails[(graph.heads - graph.tails == difference) & (levels == level)], minlength=len(graph)
            )
            if count.max() > 1:
                return None
            shifts.append(_Shift(factor, count > 0, difference * inside, level))
    return shifts


def _by_tail(graphs: Sequence[DatasetGraph], shifts: list[_Shift]) -> tuple[Indices, Indices, Indices]:
    sizes = [len(graph) for graph in graphs]
    total = math.prod(sizes)
    exists = np.empty((total, len(shifts)), dtype=bool)
    for column, shift in enumerate(shifts):
        inside = math.prod(sizes[shift.factor + 1 :])
        block = exists.reshape(-1, sizes[shift.factor], inside, len(shifts))
        block[..., column] = shift.starts[None, :, None]
    steps = np.array([shift.step for shift in shifts], dtype=np.int32)
    levels = np.array([shift.level for shift in shifts], dtype=np.int32)
    # A mask picks from broadcast views four times faster than indices computed from it.
    tails = np.broadcast_to(np.arange(total, dtype=np.int32)[:, None], exists.shape)[exists]
    heads = np.broadcast_to(steps, exists.shape)[exists]
    np.add(heads, tails, out=heads)
    which = np.broadcast_to(levels, exists.shape)[exists] if levels.any() else np.zeros_like(tails)
    return tails, heads, which


def _by_factor(graphs: Sequence[DatasetGraph], level_numbers: Sequence[Indices]) -> tuple[Indices, Indices, Indices]:
    """All edges, factor by factor: (outside, edge of the factor, inside)."""
    total = math.prod(len(graph) for graph in graphs)
    blocks: list[tuple[Any, Any, Any]] = []
    inside = total
    for graph, numbers in zip(graphs, level_numbers):
        inside //= len(graph)
        shape = (total // (inside * len(graph)), graph.edge_count, inside)
        outside = np.arange(shape[0], dtype=np.int32)[:, None, None] * np.int32(inside * len(graph))
        rest = outside + np.arange(inside, dtype=np.int32)
        levels = np.broadcast_to(numbers[graph.level_of_edge][None, :, None], shape)
        tails, heads = (rest + own[None, :, None] * np.int32(inside) for own in (graph.tails, graph.heads))
        blocks.append((tails.ravel(), heads.ravel(), levels.ravel()))
    every = [np.concatenate(arrays) for arrays in zip(*blocks)]
    return every[0], every[1], every[2]


# Histograms of a fixed total: neighbours differ by one person who moves from one bin to another.


CountTable = npt.NDArray[np.int32]


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


def compositions(bins: int, total: int) -> CountTable:
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


def ranks(table: CountTable) -> npt.NDArray[np.int64]:
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


def _moves(table: CountTable) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
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


YES, NO = "1", "2"  # how votes are written in names, as in paper 000


def product(*graphs: DatasetGraph, separator: str = ",") -> DatasetGraph:
    """The product of graphs: a dataset has one part of each, and neighbours differ in one part, by an edge of that graph.

    An edge keeps the level that it has in its own graph: different levels per individual, group or attribute come out of it.

    >>> product(DatasetGraph(["a", "b"], [0], [1]), DatasetGraph(["x", "y"], [0], [1])).names[1]
    'a,y'
    """
    if not graphs:
        raise GraphError("graphs", (), "is empty", "name at least one graph")
    known = [graph.has_levels for graph in graphs if graph.edge_count]
    if any(known) and not all(known):
        bare = next(graph for graph in graphs if not graph.has_levels)
        raise GraphError("graphs", bare, "has no privacy level while others have", "set it by with_level")
    sizes = [len(graph) for graph in graphs]
    _check_size(sizes)
    levels, number = number_levels([level for graph in graphs for level in graph.levels])
    cuts = np.cumsum([len(graph.levels) for graph in graphs])[:-1]
    # A graph without levels numbers them all 0.
    own = [part if len(part) else np.zeros(1, dtype=np.int32) for part in np.split(number, cuts)]
    tails, heads, which = product_edges(graphs, own)
    names = ProductNames([part for graph in graphs for part in _parts(graph, separator)], separator=separator)
    return DatasetGraph(names, tails, heads, levels=levels, level_of_edge=which)


def _parts(graph: DatasetGraph, separator: str) -> Sequence[Sequence[str]]:
    """A product of products joined by the same separator is one product."""
    names = graph.names
    return names.parts if isinstance(names, ProductNames) and names.separator == separator else [names]


def _check_size(sizes: Sequence[int]) -> None:
    if math.prod(sizes) > MOST_DATASETS:
        way_out = "count people instead of listing them (a line or grid of counts)"
        raise GraphError("graph", f"{math.prod(sizes):.3g} datasets", "is too large to list", way_out)


def values(
    count: int,
    persons: int,
    *,
    level: object = None,
    levels: Sequence[Any] | None = None,
    names: Sequence[str] | None = None,
) -> DatasetGraph:
    """Each of *persons* has one of *count* values; neighbours differ in one person's value (substitution).

    *levels* gives each person a privacy level of their own. Values are written 1, 2, … unless *names* names them.

    >>> values(3, 2, level=1)
    DatasetGraph(9 datasets, 18 edges, (1, 0)-DP)
    """
    symbols = NumberNames(read_size(count, 1, field="count"), first=1) if names is None else names
    if len(symbols) != count:
        raise GraphError("names", len(symbols), f"names do not fit {count} values")
    separator = "" if all(len(name) == 1 for name in symbols) else ","
    return _power(clique(count, names=symbols), persons, level, levels, separator=separator, part="person")


def votes(persons: int, *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """All ways in which *persons* can vote, 1 for yes and 2 for no (000, Fig. 1a); neighbours differ in one vote.

    *levels* gives each person a privacy level of their own (personalised privacy).

    >>> list(votes(2).names)
    ['11', '12', '21', '22']
    """
    return values(2, persons, level=level, levels=levels, names=[YES, NO])


def hypercube(dimension: int, *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """All words of *dimension* bits; neighbours differ in one bit.

    >>> hypercube(20)
    DatasetGraph(1048576 datasets, 10485760 edges, no level yet)
    """
    return _power(line(2), dimension, level, levels, separator="", part="bit")


def grid(shape: Sequence[int], *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """All points of a grid of the given *shape*; neighbours differ by one in one coordinate. *levels*: one per axis.

    >>> grid((1000, 1000), levels=[0.1, 0.2])
    DatasetGraph(1000000 datasets, 1998000 edges, 2 levels)
    """
    sizes = [read_size(size, 1, field="shape") for size in shape]
    per_axis = levels_per_part(len(sizes), level, levels, part="axis")
    axes = [line(size) for size in sizes]
    return _product_with(axes, per_axis, separator=",")


def group_counts(sizes: Sequence[int], *, level: object = None, levels: Sequence[Any] | None = None) -> DatasetGraph:
    """How many people of each group answered yes: a grid of counts from 0 to the group's size.

    Neighbours differ in one person's answer, and *levels* may protect each group by a level of its own.

    >>> group_counts([2, 3], levels=["ln(2)", "ln(3)"]).names[5]
    '1,1'
    """
    return grid([read_size(size, 0, field="sizes") + 1 for size in sizes], level=level, levels=levels)


def coordinates(graph: DatasetGraph) -> npt.NDArray[np.int32]:
    """One row of numbers per dataset of a product, grid or lattice: what a true answer is computed from, by arrays.

    >>> coordinates(grid((2, 2))).tolist()
    [[0, 0], [0, 1], [1, 0], [1, 1]]
    """
    compute = getattr(graph.names, "coordinates", None)
    if compute is None:
        raise GraphError("graph", graph, "has no coordinates", "only products, grids and lattices have them")
    rows: npt.NDArray[np.int32] = compute()
    return rows


def _power(
    factor: DatasetGraph, count: int, level: object, levels: Sequence[Any] | None, *, separator: str, part: str
) -> DatasetGraph:
    times = read_size(count, 1, field=f"{part}s")
    _check_size([len(factor)] * min(times, 64))
    return _product_with([factor] * times, levels_per_part(times, level, levels, part=part), separator=separator)


def _product_with(factors: Sequence[DatasetGraph], levels: list[Level] | None, *, separator: str) -> DatasetGraph:
    if levels is None:
        return product(*factors, separator=separator)
    return product(*(factor.with_level(one) for factor, one in zip(factors, levels)), separator=separator)


# Who took part: datasets are sets of people, and neighbours differ by one person who joins or leaves.


class SubsetNames(LazyNames):
    """The subsets of some people, ``'{}'`` to ``'{1,2,3}'``; the bits of a number say who is in, the first person first."""

    def __init__(self, persons: Sequence[str]) -> None:
        self.persons = tuple(persons)
        check_unique(self.persons)
        if bad := [one for one in self.persons if not one or set(one) & set("{,}")]:
            raise GraphError("persons", bad[0], "cannot be written in a set", "use names without commas and braces")

    def __len__(self) -> int:
        return 1 << len(self.persons)

    def name(self, number: int) -> str:
        bits = len(self.persons)
        return "{" + ",".join(one for i, one in enumerate(self.persons) if number >> (bits - 1 - i) & 1) + "}"

    def find(self, name: str) -> int | None:
        present = set(name[1:-1].split(","))
        number = 0
        for one in self.persons:
            number = 2 * number + (one in present)
        return number if self.name(number) == name else None  # refuses strangers and another order


def participation(
    persons: int | Sequence[str], *, level: object = None, levels: Sequence[Any] | None = None
) -> DatasetGraph:
    """All sets of participants; neighbours differ by one person (add-remove; 000, Fig. 1b). *levels*: one per person.

    >>> list(participation(2).names)
    ['{}', '{2}', '{1}', '{1,2}']
    """
    if isinstance(persons, (str, bytes)) or not isinstance(persons, Sequence):
        persons = NumberNames(read_size(persons, 1, field="persons"), first=1)
    cube = hypercube(len(persons), level=level, levels=levels)
    return DatasetGraph(
        SubsetNames(persons), cube.tails, cube.heads, levels=cube.levels, level_of_edge=cube.level_of_edge
    )


# True answers on the families: rules that are called with a name, and applied to whole graphs by arrays.


class Majority:
    """Whether more people voted yes (1) than no (2); a tie is a no.

    >>> majority("112"), majority("12")
    ('yes', 'no')
    """

    answers = ("yes", "no")

    def __call__(self, name: str) -> str:
        if set(name) - {YES, NO}:
            raise ProblemError("truth", name, "is not a row of votes", f"a vote is written {YES} (yes) or {NO} (no)")
        return "yes" if 2 * name.count(YES) > len(name) else "no"

    def preferences(self, graph: DatasetGraph) -> Preferences | None:
        """The same for all datasets of :func:`votes` at once; ``None`` on other graphs."""
        names = graph.names
        if not isinstance(names, ProductNames) or names.separator or any(tuple(p) != (YES, NO) for p in names.parts):
            return None
        return Preferences.of_truth(self.answers, 2 * names.occurrences(0) <= len(names.parts))

    def __repr__(self) -> str:
        return "majority"


majority = Majority()


def majority_of_participants(votes: Mapping[str, str]) -> Callable[[str], str]:
    """What the majority of those who took part says, when everybody's vote is known and a tie is a no (000, Fig. 1b).

    >>> truth = majority_of_participants({"1": "yes", "2": "yes", "3": "no"})
    >>> truth("{1,2}"), truth("{1,3}")
    ('yes', 'no')
    """
    if bad := [vote for vote in votes.values() if vote not in Majority.answers]:
        raise ProblemError("votes", bad[0], "is not a vote", "a vote is 'yes' or 'no'")

    def truth(name: str) -> str:
        present = [one for one in name.strip("{}").split(",") if one]
        if unknown := [one for one in present if one not in votes]:
            raise GraphError("participant", unknown[0], "has no vote", "give the vote of every participant")
        return "yes" if 2 * sum(votes[one] == "yes" for one in present) > len(present) else "no"

    return truth


# Hot edges: pairs of neighbours that need more protection than the rest (003, Fig. 1).


Which = Callable[[str, str], bool] | Iterable[tuple[str, str]] | npt.NDArray[np.bool_]


def with_hot_edges(graph: DatasetGraph, which: Which, *, level: object) -> DatasetGraph:
    """The same graph with another level on some edges: pairs of names, a mask over the edges, or a rule on two names.

    >>> from optimaldp.graphs import line
    >>> with_hot_edges(line(3, level=1), [("1", "0")], level=0.5).edges()[0]
    ('0', '1', ApproximateDP((0.5, 0)-DP))
    """
    if not graph.has_levels:
        raise GraphError("graph", graph, "has no privacy levels yet", "set the usual level first, by with_level")
    mask = _mask(graph, which)
    hot = np.where(mask, np.int32(len(graph.levels)), graph.level_of_edge)
    return graph.with_levels([*graph.levels, read_edge_level(level)], hot)


def hot_deciding_vote(persons: int = 3, *, person: int = 1, level: object, hot: object) -> DatasetGraph:
    """Votes in which one person's vote is better protected, but only where it decides the majority (003, Fig. 1).

    For three people and the first of them these are the edges 121 - 221 and 112 - 212.
    """
    index = read_size(person, 1, field="person") - 1
    graph = votes(persons, level=level)
    if index >= persons:
        raise GraphError("person", person, f"is not one of {persons} people")
    truth = majority.preferences(graph)
    assert truth is not None
    # Votes are the bits of a dataset's number, the first person's the highest.
    own = (graph.tails ^ graph.heads) == 1 << (persons - 1 - index)
    return with_hot_edges(graph, own & (truth.of[graph.tails] != truth.of[graph.heads]), level=hot)


def _mask(graph: DatasetGraph, which: Which) -> npt.NDArray[np.bool_]:
    if isinstance(which, np.ndarray):
        if which.dtype != np.bool_ or which.shape != (graph.edge_count,):
            raise GraphError("which", which, f"is not a mask over {graph.edge_count} edges")
        return which
    if callable(which):
        names = graph.names
        chosen = (which(names[u], names[v]) for u, v in zip(graph.tails.tolist(), graph.heads.tolist()))
        return np.fromiter(chosen, dtype=bool, count=graph.edge_count)
    return _mask_of_pairs(graph, list(which))


def _mask_of_pairs(graph: DatasetGraph, pairs: list[tuple[str, str]]) -> npt.NDArray[np.bool_]:
    ends = np.sort(np.stack([graph.tails, graph.heads], axis=1).astype(np.int64), axis=1)
    keys = ends[:, 0] * len(graph) + ends[:, 1]
    wanted = []
    for u, v in pairs:
        low, high = sorted((graph.number(u), graph.number(v)))
        wanted.append(low * len(graph) + high)
    for pair, is_edge in zip(pairs, np.isin(wanted, keys).tolist()):
        if not is_edge:
            raise GraphError("which", tuple(pair), "is not an edge of the graph", "only neighbours have a level")
    return np.isin(keys, wanted)
