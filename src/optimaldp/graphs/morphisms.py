"""Morphisms: maps between dataset graphs that carry private mechanisms back (000, Definition 3 and Theorem 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from optimaldp.errors import GraphError
from optimaldp.graphs.dataset_graph import DatasetGraph, Indices
from optimaldp.graphs.distinct import first_of_each
from optimaldp.graphs.preferences import Preferences
from optimaldp.privacy import ApproximateDP, Level, all_of


class HasRows(Protocol):
    """Any mechanism: it gives each dataset's probabilities by name."""

    def row(self, name: str) -> Any: ...


@dataclass(frozen=True)
class BrokenEdge:
    """An edge that a map does not respect, and why."""

    edge: tuple[str, str]
    image: tuple[str, str]
    reason: str

    def __str__(self) -> str:
        return f"the edge {self.edge[0]} - {self.edge[1]} goes to {self.image[0]} - {self.image[1]}, {self.reason}"


@dataclass(frozen=True, eq=False)
class Morphism:
    """A map of datasets that sends every edge to an edge that is at least as strict, or to a single dataset.

    **Guarantee.** The pullback of a mechanism that is private on *target* is private on *source*, edge by edge. Checked when
    made: a map that is no morphism is refused by a :class:`GraphError` that names an edge.

    ``of`` holds for each dataset of *source* the number of its image.
    """

    source: DatasetGraph
    target: DatasetGraph
    of: Indices

    def __post_init__(self) -> None:
        if len(self.of) != len(self.source):
            raise GraphError("map", len(self.of), f"images do not fit {len(self.source)} datasets", "map every dataset")
        if len(self.of) and not 0 <= int(self.of.min()) <= int(self.of.max()) < len(self.target):
            raise GraphError("map", int(self.of.max()), f"is not one of the {len(self.target)} datasets of the target")
        if (broken := find_broken_edge(self.source, self.target, self.of)) is not None:
            raise GraphError("map", broken.edge, f"is an edge that breaks it: {broken}", "that is no morphism")

    def __call__(self, name: str) -> str:
        return self.target.names[int(self.of[self.source.number(name)])]

    def then(self, other: Morphism) -> Morphism:
        """First this map, then *other*."""
        if other.source is not self.target and list(other.source.names) != list(self.target.names):
            raise GraphError("map", other, "does not start where this one ends", "compose maps that meet")
        return Morphism(self.source, other.target, other.of[self.of])

    def find_changed_preference(self, before: Preferences, after: Preferences) -> str | None:
        """A dataset that wants something else than its image, or ``None`` if preferences are preserved."""
        same = np.array([[a == b for b in _words(after)] for a in _words(before)], dtype=bool)
        changed = np.flatnonzero(~same[before.of, after.of[self.of]])
        return self.source.names[int(changed[0])] if changed.size else None

    def preserves(self, before: Preferences, after: Preferences) -> bool:
        """Whether every dataset wants the same as its image."""
        return self.find_changed_preference(before, after) is None

    def preimages(self) -> npt.NDArray[np.int64]:
        """How many datasets go to each dataset of the target."""
        return np.bincount(self.of, minlength=len(self.target))

    def pull_back(self, mechanism: HasRows) -> PullBack:
        """The mechanism that answers for each dataset as *mechanism* does for its image."""
        return PullBack(self, mechanism)

    def pull_back_preferences(self, preferences: Preferences) -> Preferences:
        """Each dataset wants what its image wants."""
        return Preferences(preferences.answers, preferences.orders, np.ascontiguousarray(preferences.of[self.of]))

    def push_preferences(self, preferences: Preferences) -> Preferences:
        """What the images want, when datasets with the same image agree; an error names two that do not."""
        pushed = np.full(len(self.target), -1, dtype=np.int32)
        pushed[self.of] = preferences.of
        if (split := np.flatnonzero(pushed[self.of] != preferences.of)).size:
            one = int(split[0])
            kept = (self.of == self.of[one]) & (preferences.of == pushed[self.of[one]])
            pair = (self.source.names[one], self.source.names[int(np.argmax(kept))])
            raise GraphError("map", pair, "go to the same dataset but want different answers", "map them apart")
        if (missed := np.flatnonzero(pushed < 0)).size:
            name = self.target.names[int(missed[0])]
            raise GraphError("map", name, "is the image of no dataset", "give its preference yourself")
        return Preferences(preferences.answers, preferences.orders, pushed)

    def __repr__(self) -> str:
        return f"Morphism({len(self.source)} datasets to {len(self.target)})"


@dataclass(frozen=True, eq=False)
class PullBack:
    """A mechanism on the source of a morphism, read from one on its target (000, Theorem 1)."""

    morphism: Morphism
    mechanism: HasRows

    def row(self, name: str) -> Any:
        """The probabilities at *name*: those at its image."""
        return self.mechanism.row(self.morphism(name))

    def rows(self) -> Iterator[tuple[str, Any]]:
        """Every dataset with its probabilities; each row of the target is read once."""
        known: dict[int, Any] = {}
        for name, image in zip(self.morphism.source.names, self.morphism.of.tolist()):
            if image not in known:
                known[image] = self.mechanism.row(self.morphism.target.names[image])
            yield name, known[image]

    def __repr__(self) -> str:
        return f"PullBack({self.morphism!r})"


def morphism(
    source: DatasetGraph, target: DatasetGraph, mapping: Mapping[str, str] | Callable[[str], str] | npt.NDArray[Any]
) -> Morphism:
    """Make a morphism from a mapping of names, a function of names, or an array of vertex numbers.

    >>> from optimaldp.graphs import line, votes
    >>> morphism(votes(3), line(4), lambda name: str(name.count("1")))
    Morphism(8 datasets to 4)
    """
    if isinstance(mapping, np.ndarray):
        if mapping.dtype.kind not in "iu":
            raise GraphError("map", mapping.dtype, "is not an array of dataset numbers")
        return Morphism(source, target, np.ascontiguousarray(mapping, dtype=np.int32))
    images = (_image(mapping, name, target) for name in source.names)
    return Morphism(source, target, np.fromiter(images, dtype=np.int32, count=len(source)))


def _image(mapping: Mapping[str, str] | Callable[[str], str], name: str, target: DatasetGraph) -> int:
    if callable(mapping):
        return target.number(mapping(name))
    if name not in mapping:
        raise GraphError("map", name, "has no image", "map every dataset")
    return target.number(mapping[name])


def _words(preferences: Preferences) -> list[tuple[str, ...]]:
    return [tuple(preferences.answers[a] for a in order) for order in preferences.orders]


def find_broken_edge(source: DatasetGraph, target: DatasetGraph, of: Indices) -> BrokenEdge | None:
    """The first edge of *source* that lands neither on a point nor on edges of *target* that are at least as strict.

    Where one of the graphs has no levels yet, only neighbours are compared. There is no Python loop over edges.
    """
    edges = _different_images(source, target, of)
    tails, heads = of[source.tails[edges]], of[source.heads[edges]]
    keys, levels = _sorted_arcs(target)
    wanted = tails.astype(np.int64) * len(target) + heads
    low, high = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
    if (missing := np.flatnonzero(low == high)).size:
        return _broken(source, target, of, int(edges[missing[0]]), "which is no edge")
    if not (source.levels and target.levels):
        return None
    own = source.level_of_edge[edges]
    looser = _looser(source.levels, target.arc_levels, own, levels, low, high)
    if looser is None:
        return None
    edge = int(edges[looser])
    reason = f"whose promise is weaker than {source.levels[int(source.level_of_edge[edge])]}"
    return _broken(source, target, of, edge, reason)


def _different_images(source: DatasetGraph, target: DatasetGraph, of: Indices) -> npt.NDArray[np.int64]:
    """One edge, the first, for each pair of image and level; those that go to a point are left out."""
    tails, heads = of[source.tails].astype(np.int64), of[source.heads]
    kinds = max(1, len(source.levels))
    _, edges = first_of_each((tails * len(target) + heads) * kinds + source.level_of_edge, len(target) ** 2 * kinds)
    edges = np.sort(edges)
    different: npt.NDArray[np.bool_] = of[source.tails[edges]] != of[source.heads[edges]]
    return edges[different]


def _looser(
    wanted: tuple[Level, ...], offered: tuple[Level, ...], own: Indices, levels: Indices, low: Any, high: Any
) -> int | None:
    """The first edge whose level is not implied by all the levels ``low : high`` of its image together."""
    implied = np.array([[one.implies(need) for one in offered] for need in wanted], dtype=bool)
    unsure = np.flatnonzero(~implied[own, levels[low]])
    for edge in unsure.tolist():  # parallel edges, or a failure
        together = [offered[k] for k in levels[int(low[edge]) : int(high[edge])].tolist()]
        if not imply_together(together, wanted[int(own[edge])]):
            return int(edge)
    return None


def imply_together(offered: list[Level], wanted: Level) -> bool:
    """Whether parallel edges of levels *offered* promise at least *wanted*."""
    if any(one.implies(wanted) for one in offered):
        return True
    plain = [one for one in offered if isinstance(one, ApproximateDP)]
    return bool(plain) and all_of(*plain).implies(wanted)


def _sorted_arcs(graph: DatasetGraph) -> tuple[npt.NDArray[np.int64], Indices]:
    arcs = graph.arcs
    keys = arcs.tails().astype(np.int64) * len(graph) + arcs.heads
    order = np.argsort(keys, kind="stable")
    return keys[order], arcs.levels[order]


def _broken(source: DatasetGraph, target: DatasetGraph, of: Indices, edge: int, reason: str) -> BrokenEdge:
    ends = int(source.tails[edge]), int(source.heads[edge])
    return BrokenEdge(
        (source.names[ends[0]], source.names[ends[1]]),
        (target.names[int(of[ends[0]])], target.names[int(of[ends[1]])]),
        reason,
    )
