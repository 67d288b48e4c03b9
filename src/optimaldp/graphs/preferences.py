"""Preferences: for each dataset all answers, most wanted first. For two answers that is the true answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from optimaldp.errors import ProblemError
from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.distinct import first_places


@dataclass(frozen=True, eq=False)
class Preferences:
    """Which order of the answers each dataset wants.

    ``orders`` lists the orders that occur, each as answer numbers; ``of`` holds for each dataset the number of its order.
    """

    answers: tuple[str, ...]
    orders: tuple[tuple[int, ...], ...]
    of: npt.NDArray[np.int32]

    def __post_init__(self) -> None:
        everything = list(range(len(self.answers)))
        for i, order in enumerate(self.orders):
            if sorted(order) != everything:
                raise ProblemError("orders", order, f"does not name each of {len(self.answers)} answers once")
            if order in self.orders[:i]:  # regions are told apart by the number of their order
                raise ProblemError("orders", order, "is listed twice", "list each order once")
        if len(self.of) and not 0 <= int(self.of.min()) <= int(self.of.max()) < len(self.orders):
            raise ProblemError("of", int(self.of.max()), f"is not one of {len(self.orders)} orders")

    @staticmethod
    def of_truth(answers: Sequence[str], truth: object) -> Preferences:
        """Two answers: an array that holds for each dataset the number (0 or 1) of its true answer."""
        chosen = np.asarray(truth)
        if len(answers) != 2:
            raise ProblemError("truth", len(answers), "answers need a full order", "one answer is enough for two only")
        if chosen.dtype.kind not in "iub" or (chosen.size and not 0 <= int(chosen.min()) <= int(chosen.max()) <= 1):
            raise ProblemError(
                "truth", chosen, "is not the number of an answer", "write 0 for the first, 1 for the second"
            )
        return Preferences(tuple(answers), ((0, 1), (1, 0)), np.ascontiguousarray(chosen, dtype=np.int32))

    @staticmethod
    def read(
        graph: DatasetGraph, prefers: Mapping[Any, Any] | Callable[[Any], Any], answers: Sequence[str] | None = None
    ) -> Preferences:
        """Read preferences from a mapping or function: to an answer (two answers only) or to a full order of them.

        A function that has a method ``preferences(graph)`` (as :data:`optimaldp.graphs.majority` has) is asked once for all.
        """
        at_once = getattr(prefers, "preferences", None)
        if at_once is not None and answers is None and (whole := at_once(graph)) is not None:
            return cast(Preferences, whole)
        wanted = _look_up_all(prefers, graph.nodes)
        labels = _read_answers(answers if answers is not None else _mentioned(wanted))
        orders: dict[tuple[int, ...], int] = {}
        keys = [tuple(item) if isinstance(item, list) else (type(item), item) for item in wanted]
        known: dict[Any, int] = {}  # thousands of datasets have few preferences
        for key, vertex in first_places(keys).items():
            known[key] = orders.setdefault(_read_order(wanted[vertex], labels, graph.names[vertex]), len(orders))
        of = np.fromiter(map(known.__getitem__, keys), dtype=np.int32, count=len(keys))
        return Preferences(tuple(labels), tuple(orders), of)

    def __len__(self) -> int:
        return len(self.of)

    def order(self, vertex: int) -> tuple[int, ...]:
        """The answers' numbers as *vertex* wants them."""
        return self.orders[int(self.of[vertex])]

    def words(self, vertex: int) -> tuple[str, ...]:
        """The answers as *vertex* wants them."""
        return tuple(self.answers[a] for a in self.order(vertex))

    @cached_property
    def favourites(self) -> npt.NDArray[np.int32]:
        """The most wanted answer of each dataset."""
        return np.array([order[0] for order in self.orders], dtype=np.int32)[self.of]

    def dual(self) -> Preferences:
        """The same preferences with the answers' order reversed everywhere: for two answers, swapped."""
        return Preferences(self.answers, tuple(order[::-1] for order in self.orders), self.of)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preferences):
            return NotImplemented
        if self.answers != other.answers or len(self) != len(other):
            return False
        same = np.array([[mine == theirs for theirs in other.orders] for mine in self.orders], dtype=bool)
        return bool(same[self.of, other.of].all())

    def __hash__(self) -> int:
        return hash((self.answers, len(self)))

    def __repr__(self) -> str:
        return f"Preferences({len(self)} datasets, {len(self.answers)} answers, {len(self.orders)} orders)"


def _look_up_all(prefers: Mapping[Any, Any] | Callable[[Any], Any], names: Sequence[Hashable]) -> list[Any]:
    if type(prefers) is dict and type(names) is list and names == list(prefers):
        return list(prefers.values())  # as files have them
    return [_lookup(prefers, name) for name in names]


def _lookup(prefers: Mapping[Any, Any] | Callable[[Any], Any], name: Hashable) -> Any:
    if callable(prefers):
        return prefers(name)
    try:
        return prefers[name]
    except KeyError:
        raise ProblemError("prefers", name, "has no preference", "name its answer, or all answers in order") from None


def _mentioned(wanted: Sequence[Any]) -> list[str]:
    """The answers in order of appearance, when nobody listed them."""
    answers: dict[str, None] = {}
    for item in wanted:
        answers.update(dict.fromkeys([_word(item)] if _is_word(item) else map(_word, item)))
    return list(answers)


def _is_word(item: object) -> bool:
    return isinstance(item, (str, bool, int, np.bool_))


def _word(item: object) -> str:
    if isinstance(item, (bool, np.bool_)):
        return "yes" if item else "no"
    return str(item)


def _read_answers(answers: Sequence[Any]) -> list[str]:
    labels = [_word(answer) for answer in answers]
    if len(labels) < 2:
        raise ProblemError("answers", labels, "leaves nothing to choose", "there must be two answers or more")
    if len(set(labels)) < len(labels):
        twice = next(answer for answer in labels if labels.count(answer) > 1)
        raise ProblemError("answers", twice, "is listed twice", "answers are unique")
    return labels


def _read_order(item: Any, labels: list[str], vertex: str) -> tuple[int, ...]:
    ranking = [_word(item)] if _is_word(item) else [_word(answer) for answer in item]
    if unknown := [word for word in ranking if word not in labels]:
        raise ProblemError(f"prefers[{vertex}]", unknown[0], f"is not one of the answers {labels}")
    if _is_word(item):
        if len(labels) != 2:
            raise ProblemError(f"prefers[{vertex}]", item, "is not a full order", "list all answers, most wanted first")
        ranking += [label for label in labels if label != ranking[0]]
    if sorted(ranking) != sorted(labels):
        raise ProblemError(f"prefers[{vertex}]", ranking, "does not list each answer once", f"the answers are {labels}")
    return tuple(labels.index(word) for word in ranking)
