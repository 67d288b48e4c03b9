"""Graphs of datasets: vertices by name, edges in arrays, a privacy level on each edge."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.graphs.names import check_unique, numbers_of
from optimaldp.kernels.loops import both_directions
from optimaldp.privacy import ApproximateDP, Level
from optimaldp.privacy import level as make_level

# Which codes occur in a long array, and where first: by a table when the codes are few, by sorting otherwise.


_LARGEST_TABLE = 1 << 24  # codes below this are looked up in a table of 128 MiB at most, without sorting


def first_places(items: Sequence[Any]) -> dict[Any, int]:
    """The different items, in order of appearance, each with the place where it occurs first; no Python loop over the items.

    >>> first_places(["b", "a", "b"])
    {'b': 0, 'a': 1}
    """
    places = dict(zip(reversed(items), range(len(items) - 1, -1, -1)))
    return dict(sorted(places.items(), key=itemgetter(1)))


def first_of_each(codes: Any, bound: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The different codes in order, and the index of the first occurrence of each; codes lie in ``0 : bound``."""
    if bound > min(_LARGEST_TABLE, 64 * len(codes) + 64):
        values, first = np.unique(codes, return_index=True)
        return values, first
    place = np.full(bound, -1, dtype=np.int64)
    # Of several values for one place the last assigned remains, so the array is written from its end.
    place[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    present = np.flatnonzero(place >= 0)
    return present, place[present]


# Privacy levels as people give them to graphs: one for all edges, one per individual, or arrays of numbers.


_MOST_OBJECTS = 1000  # different levels: beyond, they are kept as arrays
_LARGEST = 700.0  # an epsilon whose exponential is still a float

Floats = npt.NDArray[np.float64]


class PlainLevels(Sequence[Level]):
    """Different (epsilon, delta) levels as two arrays of floats, each read by its shortest decimal.

    A level for each edge costs sixteen bytes. A :class:`Level` is made when it is asked for, and kept. **Guarantee.** The
    enclosures hold for the decimals that the floats stand for.
    """

    def __init__(self, epsilon: Floats, delta: Floats) -> None:
        self.epsilon, self.delta = epsilon, delta
        self._made: dict[int, Level] = {}

    @staticmethod
    def holds(epsilon: npt.NDArray[Any], delta: npt.NDArray[Any]) -> bool:
        """Whether the arrays are plain: floats or whole numbers, none so small or large that a float is not near it."""
        if epsilon.dtype.kind not in "iuf" or delta.dtype.kind not in "iuf" or epsilon.dtype == np.float32:
            return False
        fine = [
            ((array == 0) | (array >= 1e-290)) & (array <= most) for array, most in ((epsilon, _LARGEST), (delta, 1))
        ]
        return bool(fine[0].all() and fine[1].all()) and delta.dtype != np.float32

    def __len__(self) -> int:
        return len(self.epsilon)

    @overload
    def __getitem__(self, item: int) -> Level: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[Level, ...]: ...
    def __getitem__(self, item: int | slice) -> Level | tuple[Level, ...]:
        if isinstance(item, slice):
            return tuple(self[i] for i in range(*item.indices(len(self))))
        number = range(len(self))[item]
        if number not in self._made:
            self._made[number] = make_level(self.epsilon[number].item(), self.delta[number].item())
        return self._made[number]

    def ratios(self) -> tuple[Floats, Floats]:
        """Floats below and above each ``e^epsilon``."""
        zero = self.epsilon == 0
        low = exp_enclosure(np.nextafter(self.epsilon, 0.0))[0]
        high = exp_enclosure(np.nextafter(self.epsilon, np.inf))[1]
        return np.where(zero, 1.0, np.maximum(low, 1.0)), np.where(zero, 1.0, high)

    def deltas(self) -> tuple[Floats, Floats]:
        """Floats below and above each delta."""
        whole = (self.delta == 0) | (self.delta == 1)
        low, high = np.nextafter(self.delta, 0.0), np.nextafter(self.delta, 1.0)
        return np.where(whole, self.delta, low), np.where(whole, self.delta, high)


def exp_enclosure(x: Floats) -> tuple[Floats, Floats]:
    r"""Floats below and above ``e^x`` for floats in [0, 710), by additions and products alone, whose rounding is known.

    ``x = k ln 2 + r`` with \|r\| < 0.35: the first part of ln 2 has 32 bits, so that its product with k and the difference are
    exact, and r is wrong by less than 2^-54. Fifteen terms miss ``e^r`` by less than 2^-60, and adding them up in floats by less
    than 2^-50 of it. Together that is below 2^-49, and 2^-48 is taken off or put on.
    """
    k = np.rint(x * 1.4426950408889634)
    r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10
    total = np.ones_like(x)
    for n in range(15, 0, -1):
        total = 1.0 + r * total / n
    value = np.ldexp(total, k.astype(np.int64))
    return value * (1.0 - 2.0**-48), value * (1.0 + 2.0**-48)


def sample_levels(levels: Sequence[Level]) -> Sequence[Level]:
    """Levels that stand for all where only their kind matters: of arrays the first one, as they are all finite and alike."""
    return levels[:1] if isinstance(levels, PlainLevels) else levels


def read_edge_level(value: object) -> Level:
    """A level as it is, from an epsilon, or from a pair (epsilon, delta).

    >>> print(read_edge_level("ln(2)"), read_edge_level((1, 0.1)))
    (ln(2), 0)-DP (1, 0.1)-DP
    """
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return make_level(value[0], value[1])
    return make_level(value)


def levels_per_part(count: int, level: object, levels: Sequence[Any] | None, *, part: str) -> list[Level] | None:
    """The level of each of *count* individuals, groups or axes; ``None`` if no level is known yet."""
    if levels is not None and level is not None:
        raise GraphError("levels", levels, "was given together with level", f"give one level, or one per {part}")
    if levels is not None:
        if len(levels) != count:
            raise GraphError("levels", len(levels), f"levels do not fit {count}", f"give one per {part}")
        return [read_edge_level(value) for value in levels]
    return None if level is None else [read_edge_level(level)] * count


def number_levels(levels: Sequence[Level]) -> tuple[Sequence[Level], npt.NDArray[np.int32]]:
    """The distinct levels, and the number among them of each level given; thousands of plain ones become arrays."""
    # Most edges share one object: its hash, made of rationals, is taken once.
    different = {id(level): level for level in levels}
    if len(different) > _MOST_OBJECTS and (floats := _as_floats(list(different.values()))) is not None:
        plain, number_of = levels_from_arrays(*floats, len(different))
        place = dict(zip(different, number_of.tolist()))
        return plain, np.array([place[id(level)] for level in levels], dtype=np.int32)
    known: dict[Level, int] = {}
    number = {key: known.setdefault(level, len(known)) for key, level in different.items()}
    return tuple(known), np.array([number[id(level)] for level in levels], dtype=np.int32)


def _as_floats(levels: Sequence[Level]) -> tuple[Floats, Floats] | None:
    """The epsilon and delta of each level, if every one is the shortest decimal of a float; else ``None``."""
    pairs: list[tuple[float, float]] = []
    for level in levels:
        if not isinstance(level, ApproximateDP) or not level.is_single or level.epsilon.infinite:
            return None
        plain, ratio = level.epsilon.finite_parts
        pair = float(plain), float(level.delta)
        if ratio != 1 or not all(map(_is_shortest, pair, (plain, level.delta))):
            return None
        pairs.append(pair)
    epsilon, delta = np.array(pairs, dtype=np.float64).T
    return epsilon, delta


def _is_shortest(value: float, number: Fraction) -> bool:
    """Whether a float, read by its shortest decimal, is this number."""
    return Decimal(repr(value)).as_integer_ratio() == number.as_integer_ratio()


def levels_from_arrays(epsilon: Any, delta: Any, count: int) -> tuple[Sequence[Level], npt.NDArray[np.int32]]:
    """Levels from an epsilon and a delta per edge, read by their shortest decimals; each distinct pair once.

    There is no Python loop over the edges, only over the distinct levels.
    """
    try:
        pairs = np.broadcast_to(np.asarray(epsilon), (count,)), np.broadcast_to(np.asarray(delta), (count,))
    except ValueError:
        shapes = (np.shape(epsilon), np.shape(delta))
        raise GraphError(
            "epsilon", shapes, f"does not fit {count} edges", "give one per edge, or one for all"
        ) from None
    values, which = zip(*(np.unique(array, return_inverse=True) for array in pairs))
    code = which[0].astype(np.int64) * len(values[1]) + which[1]
    kept, number = np.unique(code, return_inverse=True)
    if len(kept) > _MOST_OBJECTS and PlainLevels.holds(*values):
        chosen = (values[0][kept // len(values[1])], values[1][kept % len(values[1])])
        return PlainLevels(*(part.astype(np.float64) for part in chosen)), number.astype(np.int32)
    places = [divmod(int(one), len(values[1])) for one in kept]
    return tuple(make_level(_plain(values[0][a]), _plain(values[1][b])) for a, b in places), number.astype(np.int32)


def _plain(value: object) -> Any:
    """A numpy number as Python's own, at its own precision: a float32 of 0.1 means 0.1."""
    if isinstance(value, np.floating) and not isinstance(value, float):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


# Graphs of datasets: vertices are datasets, an edge joins neighbours and carries its own privacy level.


Indices = npt.NDArray[np.int32]
MOST_DATASETS = 2**31 - 1  # vertices are numbered by 32-bit integers
_MANY_ARCS = 1_000_000  # from here on a linear sort repays loading the compiler


@dataclass(frozen=True)
class Arcs:
    """Every edge in both directions, sorted by where the arc starts (compressed sparse rows).

    The arcs out of vertex v are ``first[v] : first[v + 1]``; ``heads`` says where they lead and ``levels`` at which level
    (an index into :attr:`DatasetGraph.arc_levels`).
    """

    first: npt.NDArray[np.int64]
    heads: Indices
    levels: Indices

    def tails(self) -> Indices:
        """Where each arc starts."""
        degrees = np.diff(self.first)
        return np.repeat(np.arange(len(degrees), dtype=np.int32), degrees)


class DatasetGraph:
    """Datasets, which of them are neighbours, and what each pair of neighbours promises.

    Parallel edges mean that both levels hold. An edge of infinite epsilon is not the same as no edge: its delta still counts.
    A graph may be made before its level is known (``levels`` is then empty); :meth:`with_level` sets it.

    >>> from optimaldp.privacy import level
    >>> DatasetGraph.from_edges(["a", "b"], [("a", "b")], level=level("ln(2)"))
    DatasetGraph(2 datasets, 1 edges, (ln(2), 0)-DP)
    """

    def __init__(
        self,
        names: Sequence[str],
        tails: object,
        heads: object,
        *,
        levels: Sequence[Level] = (),
        level_of_edge: object = None,
        nodes: Sequence[Hashable] | None = None,
    ) -> None:
        """Make a graph from arrays of vertex numbers; see :meth:`from_edges` for names.

        *nodes* are what the datasets are called where the graph comes from, such as whole numbers or pairs of them.
        """
        if len(names) == 0:
            raise GraphError("graph", "no datasets", "is empty", "name at least one dataset")
        self.names = names
        self.nodes: Sequence[Hashable] = names if nodes is None else nodes
        self.tails = _numbers(tails, len(names), "dataset")
        self.heads = _numbers(heads, len(names), "dataset")
        # An array of levels behaves like a tuple of them, and makes each when it is asked for.
        self.levels = cast("tuple[Level, ...]", levels) if isinstance(levels, PlainLevels) else tuple(levels)
        self.edge_count = len(self.tails)
        self.has_levels = len(self.levels) > 0 or self.edge_count == 0
        """Whether the level of every edge is known."""
        self.level_of_edge: Indices = (
            np.zeros(len(self.tails), dtype=np.int32)
            if level_of_edge is None
            else _numbers(level_of_edge, max(1, len(self.levels)), "level")
        )
        self._check()

    def _check(self) -> None:
        check_unique(self.names)
        if not len(self.tails) == len(self.heads) == len(self.level_of_edge):
            lengths = (len(self.tails), len(self.heads), len(self.level_of_edge))
            raise GraphError("edges", lengths, "are arrays of different lengths")
        if (loops := np.flatnonzero(self.tails == self.heads)).size:
            name = self.names[int(self.tails[loops[0]])]
            raise GraphError("edges", name, "is joined to itself", "a dataset is not its own neighbour")

    @classmethod
    def from_edges(
        cls, names: Iterable[str], edges: Iterable[Sequence[Any]], *, level: Level | None = None
    ) -> DatasetGraph:
        """Make a graph from named vertices and edges ``(u, v)`` or ``(u, v, level)``; *level* is the default level."""
        vertices = list(names)
        check_unique(vertices)
        number = numbers_of(vertices)
        rows = [_read_edge(edge, number, level) for edge in edges]
        own_levels = [row[2] for row in rows if row[2] is not None]
        if own_levels and len(own_levels) < len(rows):
            bare = next(row for row in rows if row[2] is None)
            pair = (vertices[bare[0]], vertices[bare[1]])
            raise GraphError("edges", pair, "has no privacy level", "give a default level")
        levels, which = number_levels(own_levels)
        tails, heads = [row[0] for row in rows], [row[1] for row in rows]
        return cls(vertices, tails, heads, levels=levels, level_of_edge=which if own_levels else None)

    def with_level(self, level: object) -> DatasetGraph:
        """The same graph with one level on every edge: a :class:`Level`, an epsilon or a pair (epsilon, delta)."""
        made = self.with_levels([read_edge_level(level)])
        if "arcs" in self.__dict__ and made.levels[0].reversed() == made.levels[0]:
            # The arcs were sorted already, and one symmetric level needs no sorting.
            made.__dict__["arcs"] = Arcs(self.arcs.first, self.arcs.heads, np.zeros_like(self.arcs.heads))
        return made

    def with_levels(self, levels: Sequence[Any], level_of_edge: object = None) -> DatasetGraph:
        """The same graph with other levels; *level_of_edge* says which of them each edge has (all the first if left out)."""
        read = [read_edge_level(level) for level in levels]
        nodes = None if self.nodes is self.names else self.nodes
        return DatasetGraph(self.names, self.tails, self.heads, levels=read, level_of_edge=level_of_edge, nodes=nodes)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each named dataset."""
        return numbers_of(self.names)

    @cached_property
    def _number_of_node(self) -> Mapping[Hashable, int]:
        return {node: number for number, node in enumerate(self.nodes)}

    def find(self, dataset: Hashable) -> int | None:
        """The number of a dataset, by its node in the graph that this one was made from, or by its name."""
        if self.nodes is not self.names and dataset in self._number_of_node:
            return self._number_of_node[dataset]
        return self.numbers.get(dataset) if isinstance(dataset, str) else None

    def number(self, name: str) -> int:
        """The number of one dataset, or an error that names it."""
        try:
            return self.numbers[name]
        except KeyError:
            raise GraphError("dataset", name, f"is not one of the {len(self)} datasets of this graph") from None

    @cached_property
    def arc_levels(self) -> tuple[Level, ...]:
        """The levels that arcs refer to: those of the edges as written, then those of directed edges walked backwards."""
        if isinstance(self.levels, PlainLevels):
            return self.levels
        backwards = [level.reversed() for level in self.levels if level.reversed() != level]
        return self.levels + tuple(backwards)

    @cached_property
    def arcs(self) -> Arcs:
        """Every edge in both directions, as compressed sparse rows. Built once, without a Python loop."""
        if 2 * self.edge_count < _MANY_ARCS:
            return self._sort_arcs()
        return Arcs(*both_directions(self.tails, self.heads, self.level_of_edge, self._backward_levels(), len(self)))

    def _sort_arcs(self) -> Arcs:
        """The arcs of a small graph, without loading a compiler."""
        tails = np.concatenate([self.tails, self.heads])
        order = np.argsort(tails, kind="stable")
        first = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(np.bincount(tails, minlength=len(self)), out=first[1:])
        levels = np.concatenate([self.level_of_edge, self._backward_levels()[self.level_of_edge]])
        return Arcs(first, np.concatenate([self.heads, self.tails])[order], levels[order])

    def _backward_levels(self) -> Indices:
        """For each level the index in :attr:`arc_levels` of the same level walked backwards."""
        if isinstance(self.levels, PlainLevels):
            return np.arange(len(self.levels), dtype=np.int32)
        index, extra = [], len(self.levels)
        for i, level in enumerate(self.levels):
            if level.reversed() == level:
                index.append(i)
            else:
                index.append(extra)
                extra += 1
        return np.array(index or [0], dtype=np.int32)

    def edges(self) -> list[tuple[str, str, Level]]:
        """Every edge with its names and level, as written."""
        if not self.has_levels:
            raise GraphError("graph", self, "has no privacy levels yet", "set them by with_level")
        ends = zip(self.tails.tolist(), self.heads.tolist(), self.level_of_edge.tolist())
        return [(self.names[u], self.names[v], self.levels[k]) for u, v, k in ends]

    def __repr__(self) -> str:
        return f"DatasetGraph({len(self)} datasets, {self.edge_count} edges, {self.level_words})"

    @property
    def level_words(self) -> str:
        """The one level of all edges, or how many different ones there are."""
        if isinstance(self.levels, PlainLevels):
            return f"{len(self.levels)} levels"
        distinct = list(dict.fromkeys(self.levels))
        return str(distinct[0]) if len(distinct) == 1 else f"{len(distinct)} levels" if distinct else "no level yet"


def _numbers(values: object, count: int, what: str) -> Indices:
    """Numbers of datasets or levels as 32-bit integers, checked before they are cut to that size."""
    array = np.asarray(values)
    if array.size == 0:
        return np.zeros(0, dtype=np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GraphError("edges", array.dtype, "is not a row of whole numbers", f"give the number of each {what}")
    if count > MOST_DATASETS:
        raise GraphError("datasets", count, f"are more than {MOST_DATASETS}", "merge datasets by a quotient")
    low, high = int(array.min()), int(array.max())
    if low < 0 or high >= count:
        raise GraphError("edges", low if low < 0 else high, f"is not a {what}: they are numbered 0 to {count - 1}")
    return np.ascontiguousarray(array, dtype=np.int32)


def _read_edge(edge: Sequence[Any], number: Mapping[str, int], level: Level | None) -> tuple[int, int, Level | None]:
    if isinstance(edge, str) or len(edge) not in (2, 3):
        raise GraphError("edges", edge, "is not an edge", "write (u, v) or (u, v, level)")
    for end in edge[:2]:
        if end not in number:
            raise GraphError("edges", end, "is not a dataset of this graph", "name it among the datasets")
    chosen = edge[2] if len(edge) > 2 else level
    return number[edge[0]], number[edge[1]], None if chosen is None else read_edge_level(chosen)
