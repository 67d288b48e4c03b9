"""What is wanted on a graph: preferences, the regions that they make, and the values that are given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from optimaldp.errors import ProblemError
from optimaldp.extras import requiring
from optimaldp.graphs.dataset_graph import DatasetGraph, first_places
from optimaldp.kernels.loops import breadth_first
from optimaldp.privacy.numbers import fraction_text, read_probability

# Preferences: for each dataset all answers, most wanted first. For two answers that is the true answer.


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
        graph: DatasetGraph,
        prefers: Mapping[Any, Any] | Sequence[Any] | Callable[[Any], Any],
        answers: Sequence[str] | None = None,
    ) -> Preferences:
        """Read preferences from a mapping, function or list: an answer (two answers only) or a full order for each dataset.

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


def _look_up_all(
    prefers: Mapping[Any, Any] | Sequence[Any] | Callable[[Any], Any], names: Sequence[Hashable]
) -> list[Any]:
    if isinstance(prefers, (list, tuple)):
        _require_fitting(len(prefers), len(names))
        return list(prefers)
    if not callable(prefers) and not isinstance(prefers, Mapping):
        remedy = "give a function, a mapping, or one preference for each dataset in their order"
        raise ProblemError("prefers", prefers, "does not say what each dataset prefers", remedy)
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


# Regions, boundaries and distances: where a dataset stands with respect to those that want something else.


UNREACHED = -1  # the distance of a dataset whose component has no boundary


def crossing_edges(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which edges join datasets of different preference."""
    _require_fitting(len(preferences), len(graph))
    crossing: npt.NDArray[np.bool_] = preferences.of[graph.tails] != preferences.of[graph.heads]
    return crossing


def _require_fitting(preferences: int, datasets: int) -> None:
    if preferences != datasets:
        rule = f"do not fit a graph of {datasets} datasets"
        raise ProblemError("prefers", f"preferences of {preferences}", rule, "give one preference per dataset")


def boundary(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which datasets have a neighbour of another preference."""
    crossing = crossing_edges(graph, preferences)
    mask = np.zeros(len(graph), dtype=bool)
    mask[graph.tails[crossing]] = True
    mask[graph.heads[crossing]] = True
    return mask


def interior(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.bool_]:
    """Which datasets have only neighbours of their own preference (000, Definition 4)."""
    return ~boundary(graph, preferences)


def distances(graph: DatasetGraph, preferences: Preferences) -> npt.NDArray[np.int32]:
    """Steps to the own boundary inside the own region; :data:`UNREACHED` where no boundary can be reached.

    It equals (distance to the nearest dataset of another preference) - 1: the introduction of 000 forgets the - 1
    (erratum 000-1), which would break privacy.

    >>> from optimaldp.graphs import line
    >>> distances(line(5), Preferences.of_truth(["yes", "no"], [0, 0, 0, 1, 1])).tolist()
    [2, 1, 0, 0, 1]
    """
    mask = boundary(graph, preferences)
    return breadth_first(graph.arcs.first, graph.arcs.heads, preferences.of, mask)


def regions(graph: DatasetGraph, preferences: Preferences) -> dict[tuple[str, ...], npt.NDArray[np.int64]]:
    """The datasets of each preference that occurs, by their numbers.

    >>> from optimaldp.graphs import line
    >>> truth = Preferences.of_truth(["yes", "no"], [0, 1, 1])
    >>> {order[0]: where.tolist() for order, where in regions(line(3), truth).items()}
    {'yes': [0], 'no': [1, 2]}
    """
    crossing_edges(graph, preferences)  # refuses preferences of another graph
    rankings = [tuple(preferences.answers[a] for a in order) for order in preferences.orders]
    occurring = np.unique(preferences.of).tolist()
    return {rankings[k]: np.flatnonzero(preferences.of == k) for k in occurring}


def touching(graph: DatasetGraph, preferences: Preferences) -> set[tuple[int, int]]:
    """Which preferences, by the numbers of their orders (the smaller first), meet along an edge."""
    crossing = crossing_edges(graph, preferences)
    ends = np.stack([preferences.of[graph.tails[crossing]], preferences.of[graph.heads[crossing]]], axis=1)
    return {(low, high) for low, high in np.unique(np.sort(ends, axis=1), axis=0).tolist()}


def components(graph: DatasetGraph) -> npt.NDArray[np.int32]:
    """For each dataset the number of its connected component."""
    with requiring("scipy"):
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

    ones = np.ones(graph.edge_count, dtype=np.int32)
    matrix = csr_array((ones, (graph.tails, graph.heads)), shape=(len(graph), len(graph)))
    labels: npt.NDArray[np.int32] = connected_components(matrix, directed=False)[1]
    return labels


def components_without_boundary(graph: DatasetGraph, preferences: Preferences) -> list[npt.NDArray[np.int64]]:
    """The components in which all datasets want the same, each by the numbers of its datasets.

    Nothing there has to be hidden: the optimum gives the favourite with probability 1 at any level (errata 000-15, 001-11).
    """
    labels = components(graph)
    mixed = np.zeros(int(labels.max()) + 1, dtype=bool)
    mixed[labels[boundary(graph, preferences)]] = True
    uniform = np.flatnonzero(~mixed[labels])
    uniform = uniform[np.argsort(labels[uniform], kind="stable")]
    cuts = np.flatnonzero(np.diff(labels[uniform])) + 1
    return list(np.split(uniform, cuts)) if uniform.size else []


# A design problem: a graph with levels, what each dataset wants, and what is given beforehand.


Row = tuple[Fraction, ...]

FAIR, RAISED, BALANCED, UNDOMINATED = "fair", "raised", "balanced", "undominated"


def default_rule(preferences: Preferences) -> str:
    """The rule for a problem that neither fixes values nor names a rule for its boundary."""
    return FAIR if len(preferences.answers) == 2 else RAISED


@dataclass(frozen=True, eq=False)
class Problem:
    """What a designer is given. ``fixed`` maps dataset numbers to distributions (answers in their fixed order).

    ``boundary`` chooses the boundary values instead: a rule (``"fair"``, ``"balanced"``, ``"undominated"``), or a row for the
    number of each preference; ``rule`` then says which rule chose those rows. With a boundary nothing is fixed.
    """

    graph: DatasetGraph
    preferences: Preferences
    fixed: Mapping[int, Row] = field(default_factory=dict)
    boundary: str | Mapping[int, Row] | None = None
    rule: str | None = None

    def __post_init__(self) -> None:
        _require_fitting(len(self.preferences), len(self.graph))

    def given_words(self) -> str:
        """What an optimum of this problem is relative to, in words."""
        if self.boundary is None:
            many = f"{len(self.fixed)} given datasets" if len(self.fixed) != 1 else "1 given dataset"
            return f"with {many}" if self.fixed else ""
        if self.chosen_by in (FAIR, RAISED):
            return ""
        if self.chosen_by == UNDOMINATED:  # the rule's name says nothing of datasets of one preference that differ
            return "for a boundary of one row per preference"
        return f"for the {self.chosen_by or 'given'} boundary"

    @property
    def chosen_by(self) -> str | None:
        """The rule that chose the boundary values, if one did."""
        return self.boundary if isinstance(self.boundary, str) else self.rule

    def fixed_mask(self) -> npt.NDArray[np.bool_]:
        """Which datasets are fixed, as an array."""
        mask = np.zeros(len(self.graph), dtype=np.bool_)
        mask[list(self.fixed)] = True
        return mask

    def given_rows(self) -> Mapping[int, Row]:
        """The distributions that are given: those that are fixed, or one row for each preference on the boundary."""
        if not isinstance(self.boundary, Mapping):
            return self.fixed
        on_it = np.flatnonzero(boundary(self.graph, self.preferences)).tolist()
        rows, of = self.boundary, self.preferences.of
        return {v: rows[int(of[v])] for v in on_it if int(of[v]) in rows}

    @property
    def answers(self) -> tuple[str, ...]:
        return self.preferences.answers

    def __repr__(self) -> str:
        condition = f"{len(self.fixed)} fixed" if self.boundary is None else f"boundary {self.chosen_by or 'given'}"
        return f"Problem({len(self.graph)} datasets, {len(self.answers)} answers, {condition})"


def read_fixed(
    graph: DatasetGraph, answers: tuple[str, ...], fixed: Mapping[Any, Mapping[str, Any]] | None
) -> dict[int, Row]:
    """Read given distributions by name; an answer that is left out has probability 0."""
    return {_number(graph, name): _read_row(str(name), row, answers) for name, row in (fixed or {}).items()}


def preference_text(preferences: Preferences, number: int) -> str:
    """A preference as one word: ``a>b>c``."""
    joiner = ">" if not any(">" in answer for answer in preferences.answers) else " then "
    return joiner.join(preferences.answers[a] for a in preferences.orders[number])


def read_boundary(preferences: Preferences, boundary: object) -> str | dict[int, Row]:
    """Read a rule, or rows by preference: ``a>b>c``, a sequence of answers, or for two answers the favourite."""
    if isinstance(boundary, str):
        return boundary
    if not isinstance(boundary, Mapping):
        raise ProblemError(
            "boundary", boundary, "is neither a rule nor rows by preference", 'write "balanced" or {"a>b>c": {"a": 1}}'
        )
    known: dict[Any, int] = {}
    for number, order in enumerate(preferences.orders):
        ranking = tuple(preferences.answers[a] for a in order)
        known |= {preference_text(preferences, number): number, ranking: number}
        if len(ranking) == 2:
            known[ranking[0]] = number
    rows: dict[int, Row] = {}
    for name, row in boundary.items():
        key = name if isinstance(name, str) else tuple(name)
        if key not in known:
            raise ProblemError("boundary", name, "is not a preference that occurs", 'write them as "a>b>c"')
        rows[known[key]] = _read_row(str(name), row, preferences.answers, field="boundary")
    return rows


def _number(graph: DatasetGraph, name: Hashable) -> int:
    number = graph.find(name)
    if number is None:
        raise ProblemError("fixed", name, "is not a dataset of this graph", "name it in prefers")
    return number


def _read_row(name: str, row: object, answers: tuple[str, ...], *, field: str = "fixed") -> Row:
    if not isinstance(row, Mapping):
        raise ProblemError(f"{field}[{name}]", row, "is not an object of answers and probabilities")
    if unknown := [answer for answer in row if answer not in answers]:
        raise ProblemError(f"{field}[{name}]", unknown[0], f"is not one of the answers {list(answers)}")
    values = tuple(
        read_probability(row.get(answer, 0), name=f"{field}[{name}][{answer}]", error=ProblemError)
        for answer in answers
    )
    if sum(values) != 1:
        total = fraction_text(sum(values, Fraction(0)))
        raise ProblemError(f"{field}[{name}]", total, "is what the row sums to", "a row sums to one exactly")
    return values
