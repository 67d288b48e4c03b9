"""The answer graph that a question induces on databases, without writing the databases down."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import combinations
from typing import Any

from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.graphs.databases import Databases
from optimaldp.channels.graphs.folds import Fold, State


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
