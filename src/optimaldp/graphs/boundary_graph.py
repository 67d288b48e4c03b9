"""The boundary graph: all that matters of a graph when one boundary distribution per preference is given.

For each preference that occurs a chain ``(c, 0), (c, 1), …`` by the distance to the own boundary, and the heads joined where
regions touch (001, Definition 8; 000, Definition 7 for two answers; errata 000-15 and 001-11 for components without boundary).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.morphisms import Morphism
from optimaldp.graphs.preferences import Preferences
from optimaldp.graphs.quotient import merge
from optimaldp.graphs.regions import UNREACHED, distances

FAR = "∞"  # written for the distance of datasets that no boundary can be reached from


@dataclass(frozen=True, eq=False)
class BoundaryGraph:
    """The boundary graph, what its vertices want, and the boundary morphism ``d -> (f(d), dist(d, own boundary))``.

    ``order`` and ``distance`` say for each vertex of *graph* which order of answers it belongs to and how far it is from
    the head of its chain (:data:`optimaldp.graphs.regions.UNREACHED` for the point of components without a boundary).
    """

    morphism: Morphism
    preferences: Preferences
    order: npt.NDArray[np.int32]
    distance: npt.NDArray[np.int32]

    @property
    def graph(self) -> DatasetGraph:
        return self.morphism.target

    @cached_property
    def heads(self) -> npt.NDArray[np.int64]:
        """The vertices at distance 0: those whose distribution has to be chosen."""
        return np.flatnonzero(self.distance == 0)

    def chain_lengths(self) -> dict[tuple[str, ...], int]:
        """How many vertices the chain of each preference has: 1 + the largest distance; 0 for one that has no boundary."""
        lengths: dict[tuple[str, ...], int] = {}
        for vertex, (order, distance) in enumerate(zip(self.order.tolist(), self.distance.tolist())):
            ranking = tuple(self.preferences.answers[a] for a in self.preferences.orders[order])
            assert self.preferences.of[vertex] == order
            lengths[ranking] = max(lengths.get(ranking, 0), distance + 1)
        return lengths

    def __repr__(self) -> str:
        chains = ", ".join(f"{'>'.join(ranking)}: {length}" for ranking, length in self.chain_lengths().items())
        return f"BoundaryGraph({len(self.morphism.source)} datasets to {len(self.graph)}, chains {chains})"


def boundary_graph(graph: DatasetGraph, preferences: Preferences) -> BoundaryGraph:
    """The boundary graph and boundary morphism, for any number of answers.

    Its edges carry the levels of the edges that fall on them, so that it is a morphism for any levels. The pullback of its
    optimum is the optimum of *graph* when there is one level, or levels depend on the distance only (001, Theorem 3).

    >>> from optimaldp.graphs import majority, votes
    >>> graph = votes(3, level="ln(2)")
    >>> boundary_graph(graph, Preferences.read(graph, majority))
    BoundaryGraph(8 datasets to 4, chains yes>no: 2, no>yes: 2)
    """
    distance = distances(graph, preferences)
    longest = int(distance.max(initial=0)) + 2
    # One code per (preference, distance), with the point at infinity behind the chain.
    place = np.where(distance == UNREACHED, longest - 1, distance).astype(np.int64)
    codes, of = np.unique(preferences.of.astype(np.int64) * longest + place, return_inverse=True)
    order, step = (codes // longest).astype(np.int32), (codes % longest).astype(np.int32)
    step[step == longest - 1] = UNREACHED
    onto = merge(graph, _names(preferences, order, step), of.reshape(-1).astype(np.int32))
    return BoundaryGraph(onto, Preferences(preferences.answers, preferences.orders, order), order, step)


def _names(preferences: Preferences, order: npt.NDArray[np.int32], distance: npt.NDArray[np.int32]) -> Sequence[str]:
    answers = preferences.answers
    joiner = ">" if not any(">" in answer for answer in answers) else " then "  # names must stay unique
    texts = [joiner.join(answers[a] for a in one) for one in preferences.orders]
    steps = (FAR if one == UNREACHED else str(one) for one in distance.tolist())
    return [f"({texts[k]}, {step})" for k, step in zip(order.tolist(), steps)]


def is_boundary_morphism(onto: Morphism, before: Preferences, after: Preferences) -> bool:
    """Whether a morphism is the boundary morphism up to names.

    That is: it preserves preferences and the distance to the own boundary, datasets share an image exactly when they share
    both, and every vertex of the target is an image.
    """
    if not onto.preserves(before, after):
        return False
    far = distances(onto.source, before).astype(np.int64)
    if not np.array_equal(far, distances(onto.target, after)[onto.of]):
        return False
    classes = len(np.unique(before.of.astype(np.int64) * (int(far.max(initial=0)) + 2) + far + 1))
    return classes == len(np.unique(onto.of)) == len(onto.target)
