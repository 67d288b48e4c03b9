"""Databases ``Val^u`` and the answer graph that a question induces on them, without writing the databases down.

Each of u individuals has one of v values; neighbours differ in one individual. What *one value* means decides what is
protected: the value (participation is known), the participation (the record is known), or both (absence is one more
value).
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.errors import GraphError

Value = Hashable
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
        # Neighbouring transpositions generate all permutations of individuals and of values. A trade of values for one
        # individual seldom keeps a question, the same trade for everybody often does: both are offered.
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


# Questions that are asked by walking through the individuals: counts, sums, maxima, histograms, winners.


State = Hashable


def _as_it_is(value: object) -> Any:
    return value


@dataclass(frozen=True)
class Fold:
    """A question asked by walking through the individuals: a first state, a step for each value, and the answer of
    the last state.

    ``order_free`` promises that the order of the individuals does not matter; then far fewer states are visited.
    ``reads`` is all that the step looks at in a value: individuals with the same choices of that are alike. ``additive``
    promises that states are whole numbers to which a step adds what it reads.
    """

    start: State
    step: Callable[[Any, Any], State]
    answer: Callable[[Any], Hashable] = _as_it_is
    order_free: bool = False
    reads: Callable[[Any], Any] = _as_it_is
    additive: bool = False

    def __call__(self, database: Sequence[Value]) -> Hashable:
        state = self.start
        for value in database:
            state = self.step(state, value)
        return self.answer(state)


def count(predicate: Callable[[Any], bool], *, modulus: int | None = None) -> Fold:
    """How many individuals satisfy *predicate*, modulo *modulus* if given (2 is parity). The absent never do."""

    def reads(value: object) -> int:
        return int(value is not ABSENT and predicate(value))

    def step(state: int, value: object) -> int:
        return state + reads(value) if modulus is None else (state + reads(value)) % modulus

    return Fold(0, step, order_free=True, reads=reads, additive=modulus is None)


def total(worth: Callable[[Any], int] = _as_it_is) -> Fold:
    """The question "what is the sum of everybody's value?", whose graph of answers is found without listing all databases.

    *worth* turns a value into a whole number (by default the value is one); who is absent adds nothing. Give the question to
    :func:`induced_graph`, or call it with a database.

    >>> votes = Databases.of_values((0, 1), 3)
    >>> total()((1, 0, 1)), induced_graph(total(), votes)
    (2, AnswerGraph(4 answers, 3 edges))
    """

    def reads(value: object) -> int:
        return 0 if value is ABSENT else worth(value)

    return Fold(0, lambda state, value: state + reads(value), order_free=True, reads=reads, additive=True)


def largest() -> Fold:
    """The largest value; ``None`` if nobody is there."""

    def step(state: Any, value: Any) -> Any:
        return state if value is ABSENT else value if state is None else max(state, value)

    return Fold(None, step, order_free=True)


def histogram(options: Sequence[Value]) -> Fold:
    """How many individuals have each option."""
    reads = _place_in(options, _as_it_is)
    return Fold((0,) * len(options), _tally(reads), order_free=True, reads=reads)


def plurality(options: Sequence[Value], *, of: Callable[[Any], Value] = _as_it_is) -> Fold:
    """The option that most individuals have; the earlier option wins a tie. *of* picks the option out of a record.

    "The city with most votes for Smith": ``plurality(cities, of=lambda row: row.city if row.vote == "Smith" else
    None)``.
    """
    reads = _place_in(options, of)
    # Only the counts matter, and only up to a shift; keeping them whole costs little for the sizes that a fold is for.
    return Fold(
        (0,) * len(options),
        _tally(reads),
        lambda counts: options[max(range(len(options)), key=lambda k: (counts[k], -k))],
        order_free=True,
        reads=reads,
    )


def _place_in(options: Sequence[Value], of: Callable[[Any], Value]) -> Callable[[Any], int | None]:
    """The place of a value's option; ``None`` for the absent and for every other value."""
    where = {option: k for k, option in enumerate(options)}

    def reads(value: object) -> int | None:
        return None if value is ABSENT else where.get(of(value))

    return reads


def _tally(reads: Callable[[Any], int | None]) -> Callable[[Any, Any], State]:
    def step(state: tuple[int, ...], value: object) -> tuple[int, ...]:
        place = reads(value)
        return state if place is None else (*state[:place], state[place] + 1, *state[place + 1 :])

    return step


# The answer graph that a question induces on databases, without writing the databases down.


Kind = tuple[Hashable, ...]
"""An individual's choices, one value for all that read the same."""
Step = Callable[[Any, Any], State]

_MOST_KINDS = 12  # of individuals, each with a walk of its own; beyond, pairs of states are walked once for all


def induced_graph(question: Callable[[Any], Hashable], databases: Databases) -> AnswerGraph:
    """The answer graph of a question: ``y ~ y'`` when some neighbours give them (004 Definition 2).

    **Guarantee.** Exactly the induced edges: a :class:`Fold` by its reachable states, any other function by trying
    every database.

    >>> from optimaldp.channels import count
    >>> induced_graph(count(lambda value: value == 1), Databases.of_values((0, 1), 1000))
    AnswerGraph(1001 answers, 1000 edges)
    """
    if not isinstance(question, Fold):
        return _by_enumeration(question, databases)
    if question.order_free:
        walk = (_of_sums if question.additive else _of_readings)(question, databases)
        if walk is not None:
            return walk
    return _by_pairs(question, databases)


def _of_readings(question: Fold, databases: Databases) -> AnswerGraph | None:
    """Individuals whose choices read the same are of one kind; ``None`` if there are too many kinds."""
    alike: dict[Hashable, Value] = {}
    kinds = Counter(
        tuple(dict.fromkeys(alike.setdefault(question.reads(value), value) for value in own))
        for own in databases.choices
    )
    if len(kinds) > _MOST_KINDS:
        return None
    return _by_last_change(question.step, question.start, question.answer, kinds)


def _of_sums(question: Fold, databases: Databases) -> AnswerGraph | None:
    """States are sums. Everybody adds at least the least that they can: taken out beforehand, that adds nothing, so that
    only sums that are new need another step.
    """
    kinds: Counter[Kind] = Counter()
    least = 0
    for own in databases.choices:
        amounts = sorted({question.reads(value) for value in own})
        least += amounts[0]
        kinds[tuple(amount - amounts[0] for amount in amounts)] += 1
    if len(kinds) > _MOST_KINDS:
        return None
    return _by_last_change(operator.add, question.start, lambda state: question.answer(state + least), kinds)


def _by_enumeration(question: Callable[[Any], Hashable], databases: Databases) -> AnswerGraph:
    answers = {database: question(database) for database in databases}
    edges = {frozenset((answers[a], answers[b])) for a, b in databases.neighbours()}
    return _graph(set(answers.values()), edges)


def _by_last_change(
    step: Step, start: State, answer: Callable[[Any], Hashable], kinds: Mapping[Kind, int]
) -> AnswerGraph:
    """Order does not matter, so the individual who changes may come last; one walk for each kind of individual."""
    edges: set[frozenset[Hashable]] = set()
    answers: set[Hashable] = set()
    for kind in kinds:
        states: set[State] = {start}
        for other, people in kinds.items():
            several = people - (other == kind)
            states = _by_new_states(step, states, other, several) or _by_layers(step, states, other, several)
        for state in states:
            reached = {answer(step(state, value)) for value in kind}
            answers |= reached
            edges |= {frozenset(pair) for pair in combinations(reached, 2)}
    return _graph(answers, edges)


def _by_new_states(step: Step, states: set[State], kind: Kind, people: int) -> set[State] | None:
    """Where one value changes no state, whatever was reached stays reached, and only new states take another step.

    ``None`` if there is no such value: then a state may be reached by some number of people and by no larger one.
    """
    neutral = set(kind)
    reached, frontier = set(states), set(states)
    for _ in range(people):
        moved: set[State] = set()
        for state in frontier:
            images = {value: step(state, value) for value in kind}
            neutral = {value for value in neutral if images[value] == state}
            moved.update(images.values())
        if not neutral:
            return None
        frontier = moved - reached
        reached |= frontier
        if not frontier:
            break
    return reached


def _by_layers(step: Step, states: set[State], kind: Kind, people: int) -> set[State]:
    """The states that *people* individuals of one kind can lead to, one individual after the other."""
    for _ in range(people):
        states = {step(state, value) for state in states for value in kind}
    return states


def _by_pairs(question: Fold, databases: Databases) -> AnswerGraph:
    """Walk pairs of states that are reached by inputs which differ exactly once."""
    states: set[State] = {question.start}
    pairs: set[frozenset[State]] = set()
    for own in databases.choices:
        moved = {frozenset(question.step(state, value) for state in pair) for pair in pairs for value in own}
        parted = {
            frozenset((question.step(s, a), question.step(s, b))) for s in states for a, b in combinations(own, 2)
        }
        # two states that have become one stay one: the individual who differs has been walked past
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
