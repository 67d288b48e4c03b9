"""Databases ``Val^u`` and the answer graph that a question induces on them, without writing the databases down.

Each of u individuals has one of v values; neighbours differ in one individual. What *one value* means decides what is
protected: the value (participation is known), the participation (the record is known), or both (absence is one more
value).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.errors import GraphError

Value = Hashable
State = Hashable
ABSENT = None

_MOST_DATABASES = 1_000_000


@dataclass(frozen=True)
class Databases:
    """All assignments of a choice to each individual; ``choices[i]`` are those of individual i."""

    choices: tuple[tuple[Value, ...], ...]

    @staticmethod
    def of_values(values: Sequence[Value], individuals: int) -> Databases:
        """Everybody takes part, everybody's value is protected."""
        return Databases(_checked([tuple(values)] * individuals))

    @staticmethod
    def of_participation(records: Sequence[Value]) -> Databases:
        """Everybody's record is known; whether they take part is protected."""
        return Databases(_checked([(ABSENT, record) for record in records]))

    @staticmethod
    def of_both(values: Sequence[Value], individuals: int) -> Databases:
        """Value and participation are protected: absence is one more value."""
        return Databases(_checked([(ABSENT, *values)] * individuals))

    @property
    def individuals(self) -> int:
        return len(self.choices)

    @property
    def alike(self) -> bool:
        """Whether every individual has the same choices."""
        return len(set(self.choices)) <= 1

    @property
    def size(self) -> int:
        total = 1
        for own in self.choices:
            total *= len(own)
        return total

    def __iter__(self) -> Iterator[tuple[Value, ...]]:
        if self.size > _MOST_DATABASES:
            raise GraphError("databases", self.size, "are too many to write down", "use a fold or an automaton")
        return product(*self.choices)

    def graph(self) -> AnswerGraph:
        """The databases themselves as a graph: neighbours differ in one individual."""
        databases = list(self)
        where = {database: i for i, database in enumerate(databases)}
        return AnswerGraph(databases, self.neighbours(), symmetries=self._swaps(databases, where))

    def neighbours(self) -> Iterator[tuple[tuple[Value, ...], tuple[Value, ...]]]:
        """Every pair of neighbours, once."""
        for i, own in enumerate(self.choices):
            for rest in product(*self.choices[:i], *self.choices[i + 1 :]):
                for one, other in combinations(own, 2):
                    yield (*rest[:i], one, *rest[i:]), (*rest[:i], other, *rest[i:])

    def _swaps(self, databases: list[Any], where: dict[Any, int]) -> list[list[int]]:
        if not self.alike:
            return []
        swaps = []
        for i in range(self.individuals - 1):
            swaps.append([where[(*d[:i], d[i + 1], d[i], *d[i + 2 :])] for d in databases])
        own = self.choices[0]
        for k in range(len(own) - 1):
            trade = {own[k]: own[k + 1], own[k + 1]: own[k]}
            swaps.append([where[(trade.get(d[0], d[0]), *d[1:])] for d in databases])
            swaps.append([where[tuple(trade.get(v, v) for v in d)] for d in databases])
        return swaps


def _checked(choices: Sequence[tuple[Value, ...]]) -> tuple[tuple[Value, ...], ...]:
    if not choices or any(not own or len(set(own)) < len(own) for own in choices):
        raise GraphError(
            "databases", [list(own) for own in choices][:3], "need individuals with values that are unique"
        )
    return tuple(choices)


@dataclass(frozen=True)
class Fold:
    """A question asked by walking through the individuals: a first state, a step for each value, and the answer of
    the last state.

    ``order_free`` promises that the order of the individuals does not matter; then far fewer states are visited.
    """

    start: State
    step: Callable[[Any, Any], State]
    answer: Callable[[Any], Hashable] = lambda state: state
    order_free: bool = False

    def __call__(self, database: Sequence[Value]) -> Hashable:
        state = self.start
        for value in database:
            state = self.step(state, value)
        return self.answer(state)


def induced_graph(question: Callable[[Any], Hashable], databases: Databases) -> AnswerGraph:
    """The answer graph of a question: ``y ~ y'`` when some neighbours give them (004 Definition 2).

    **Guarantee.** Exactly the induced edges: a :class:`Fold` by its reachable states, any other function by trying
    every database.

    >>> induced_graph(count(lambda value: value == 1), Databases.of_values((0, 1), 1000))
    AnswerGraph(1001 answers, 1000 edges)
    """
    if not isinstance(question, Fold):
        return _by_enumeration(question, databases)
    return (
        _by_last_change(question, databases)
        if question.order_free and databases.alike
        else _by_pairs(question, databases)
    )


def _by_enumeration(question: Callable[[Any], Hashable], databases: Databases) -> AnswerGraph:
    answers = {database: question(database) for database in databases}
    edges = {frozenset((answers[a], answers[b])) for a, b in databases.neighbours()}
    return _graph(set(answers.values()), edges)


def _by_last_change(question: Fold, databases: Databases) -> AnswerGraph:
    """Order does not matter, so the individual who changes may come last."""
    own = databases.choices[0]
    states: set[State] = {question.start}
    for _ in range(databases.individuals - 1):
        states = {question.step(state, value) for state in states for value in own}
    edges: set[frozenset[Hashable]] = set()
    answers: set[Hashable] = set()
    for state in states:
        reached = {question.answer(question.step(state, value)) for value in own}
        answers |= reached
        edges |= {frozenset(pair) for pair in combinations(reached, 2)}
    return _graph(answers, edges)


def _by_pairs(question: Fold, databases: Databases) -> AnswerGraph:
    """Walk pairs of states that are reached by inputs which differ exactly once."""
    states: set[State] = {question.start}
    pairs: set[frozenset[State]] = set()
    for own in databases.choices:
        moved = {frozenset(question.step(state, value) for state in pair) for pair in pairs for value in own}
        parted = {
            frozenset((question.step(s, a), question.step(s, b))) for s in states for a, b in combinations(own, 2)
        }
        pairs = {pair for pair in moved | parted if len(pair) == 2}
        states = {question.step(state, value) for state in states for value in own}
    edges = {frozenset(question.answer(state) for state in pair) for pair in pairs}
    return _graph({question.answer(state) for state in states}, edges)


def _graph(answers: set[Hashable], edges: set[frozenset[Hashable]]) -> AnswerGraph:
    ordered = _ordered(answers)
    where = {answer: i for i, answer in enumerate(ordered)}
    pairs = sorted(tuple(sorted(where[y] for y in edge)) for edge in edges if len(edge) == 2)
    return AnswerGraph(ordered, [(ordered[a], ordered[b]) for a, b in pairs])


def _ordered(answers: set[Hashable]) -> list[Hashable]:
    try:
        return sorted(answers)  # type: ignore[type-var]
    except TypeError:
        return sorted(answers, key=lambda answer: (str(type(answer)), str(answer)))


def count(predicate: Callable[[Any], bool], *, modulus: int | None = None) -> Fold:
    """How many individuals satisfy *predicate*, modulo *modulus* if given (2 is parity). The absent never do."""

    def step(state: int, value: Any) -> int:
        total = state + int(value is not ABSENT and predicate(value))
        return total if modulus is None else total % modulus

    return Fold(0, step, order_free=True)


def total(worth: Callable[[Any], int] = lambda value: value) -> Fold:
    """The sum of everybody's value; the absent add nothing."""
    return Fold(0, lambda state, value: state + (0 if value is ABSENT else worth(value)), order_free=True)


def largest() -> Fold:
    """The largest value; ``None`` if nobody is there."""

    def step(state: Any, value: Any) -> Any:
        return state if value is ABSENT else value if state is None else max(state, value)

    return Fold(None, step, order_free=True)


def histogram(options: Sequence[Value]) -> Fold:
    """How many individuals have each option."""
    return Fold((0,) * len(options), _tally(options, lambda value: value), order_free=True)


def plurality(options: Sequence[Value], *, of: Callable[[Any], Value] = lambda value: value) -> Fold:
    """The option that most individuals have; the earlier option wins a tie. *of* picks the option out of a record.

    "The city with most votes for Smith": ``plurality(cities, of=lambda row: row.city if row.vote == "Smith" else
    None)``.
    """
    # Only the counts matter, and only up to a shift; keeping them whole costs little for the sizes that a fold is for.
    return Fold(
        (0,) * len(options),
        _tally(options, of),
        lambda counts: options[max(range(len(options)), key=lambda k: (counts[k], -k))],
        order_free=True,
    )


def _tally(options: Sequence[Value], of: Callable[[Any], Value]) -> Callable[[Any, Any], State]:
    where = {option: k for k, option in enumerate(options)}

    def step(state: tuple[int, ...], value: Any) -> tuple[int, ...]:
        k = None if value is ABSENT else where.get(of(value))
        return state if k is None else (*state[:k], state[k] + 1, *state[k + 1 :])

    return step
