"""The answer graph that a question induces on databases, without writing the databases down."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from itertools import combinations
from typing import Any

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.graphs.databases import Databases, Value
from optimaldp.channels.graphs.folds import Fold, State

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
