"""Errors of people with levels of their own, read off the laws that a release would draw from, at made-up tables.

Everybody is in one of two places: yes or no, two options, the two ends of a range, two neighbouring bins. So a margin, and who of
each level is where, says everything; nobody is outside of those asked. Slower than closed forms, but it holds for every kind of
question that has a margin, delta included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from optimaldp.asking.request import Request
from optimaldp.laws.level_accuracy import Counts, Floats, LevelSizes, hypergeometric_axis
from optimaldp.laws.setting import Aim, AnyAim, Setting, Table
from optimaldp.privacy import Epsilon, approximate
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.questions.base import Question
from optimaldp.questions.mechanism import QuestionMechanism

_BITS = 128
_POINTS = 36  # tables whose laws are worked out for one average
_TINY, _NEVER = 1e-300, -690.0  # an error of 0 in a logarithm, and what lies below it
_STEPS = (-13, -8, -5, -3, -2, -1, 0, 1, 2, 3, 5, 8, 13)
_MOST_LISTED = 64  # answers whose probabilities are added up one by one


def assumed(question: Question) -> str:
    """What is assumed of everybody, in words."""
    places = question.opposite_places()
    parts = [places[2] if places else "", "" if question.among is None else "everybody is among those asked"]
    return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class LevelTables(LevelSizes):
    """The same view as the closed forms have: *at least so many are in the first place*; each error by the law itself."""

    request: Request
    own: tuple[tuple[Epsilon, int], ...]
    """The levels as they are promised, in rising order, with how many people have each."""
    places: tuple[int, int]

    def margins(self, *, truth: bool = True) -> range:
        """Up to where going to a third place, another bin, does not change the answer sooner."""
        return range(1, self._most_margins[truth] + 1)

    @cached_property
    def _most_margins(self) -> dict[bool, int]:
        return {truth: self._most_margin(truth=truth) for truth in (True, False)}

    def _most_margin(self, *, truth: bool) -> int:
        low, high = 0, len(super().margins(truth=truth))
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._moves(middle, truth=truth) == middle else (low, middle - 1)
        return low

    def _moves(self, margin: int, *, truth: bool) -> int | float:
        question, there = self.request.question, self.total_at(margin, truth=truth)
        return question.flips(question.fold(self._cells(there, self.people - there)), self.request.neighbours)

    def average_at(self, error: Callable[[Counts], Floats], margin: int, *, truth: bool = True) -> float:
        """Of two levels with many people the law is worked out at some tables; between them the odds change evenly."""
        if len(self.sizes) != 2:
            return super().average_at(error, margin, truth=truth)
        total = self.total_at(margin, truth=truth)
        strict, weights = hypergeometric_axis(total, self.sizes[0], self.sizes[1])

        def known(counts: Counts) -> Floats:
            return error(np.stack([counts, total - counts], axis=1))

        nodes = self._nodes(strict, known, margin)
        between = np.interp(strict, nodes, _odds(known(nodes)))
        errors = np.where(between > _NEVER, np.exp(-np.logaddexp(0, -between)), 0.0)
        return float(errors @ weights)

    def _nodes(self, strict: Counts, known: Callable[[Counts], Floats], margin: int) -> Counts:
        """All counts of strict people, or some: close to each other where the error passes 1/2 or changes its slope."""
        if len(strict) <= _POINTS:
            return strict
        low, high = int(strict[0]), int(strict[-1])
        below = known(np.array([low, high])) < 0.5
        if below[0] != below[1]:
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if (known(np.array([middle]))[0] < 0.5) == below[0] else (low, middle)
        even = np.linspace(strict[0], strict[-1], _POINTS // 3).astype(np.int64)
        near = [place + step for place in (low, margin, self.sizes[0] - margin) for step in _STEPS]
        return np.unique(np.clip(np.concatenate([even, near]), strict[0], strict[-1]))

    def typical(self, yes: Counts) -> Floats:
        return self._by_level(Aim.TYPICAL, yes)

    def every_table(self, yes: Counts) -> Floats:
        return self._by_level(Aim.EVERY_TABLE, yes)

    def best_for_prior(self, yes: Counts) -> Floats:
        """The least average over the prior that was asked for."""
        return self._by_level(self.request.aim, yes)

    def strictest_for_all(self, yes: Counts) -> Floats:
        mechanism = _one_level(self.request, self.own[0][0], self.people)
        people = yes.sum(axis=1).tolist()
        return self._wrong(mechanism, [(total, self.people, ()) for total in people], yes)

    def strict_left_out(self, yes: Counts) -> Floats:
        loosest, size = self.own[-1]
        mechanism = _one_level(self.request, loosest, size)
        return self._wrong(mechanism, [(row[-1], size, ()) for row in yes.tolist()], yes)

    def _by_level(self, aim: AnyAim, yes: Counts) -> Floats:
        mechanism = _personal(self.request, self.own, aim)
        return self._wrong(mechanism, [(sum(row), self.people, row) for row in yes.tolist()], yes)

    def _wrong(self, mechanism: QuestionMechanism, rows: Sequence[tuple[int, int, Any]], yes: Counts) -> Floats:
        right = self.right_answer(yes).tolist()
        errors = []
        with precision(_BITS):
            for (there, size, by_level), first in zip(rows, right):
                answer = self._answers[0 if first else 1]
                errors.append(_error(mechanism, self._table(there, size, by_level), answer))
        return np.array(errors)

    @property
    def _answers(self) -> tuple[int, int]:
        return self._truth(self.people), self._truth(0)

    def _truth(self, there: int) -> int:
        question = self.request.question
        return question.truth(question.fold(self._cells(there, self.people - there)))

    def _cells(self, there: int, elsewhere: int) -> dict[int, int]:
        return {cell: people for cell, people in zip(self.places, (there, elsewhere)) if people}

    def _table(self, there: int, size: int, by_level: Sequence[int]) -> Table:
        levels = tuple(
            (epsilon, self._cells(count, people - count)) for (epsilon, people), count in zip(self.own, by_level)
        )
        return Table(self._cells(there, size - there), levels)


def level_tables(request: Request, own: tuple[tuple[Epsilon, int], ...]) -> LevelTables | None:
    """The tables of these public sizes; ``None`` where one answer is certain at all of them."""
    places = request.question.opposite_places()
    assert places is not None
    step = 1 if request.question.among is None else 2  # a cell says whether a person is asked, too
    levels, sizes = tuple(float(epsilon) for epsilon, _ in own), tuple(size for _, size in own)
    made = LevelTables(0, levels, sizes, request, own, (places[0] * step, places[1] * step))
    at_all = made._truth(made.people)
    if made._truth(0) == at_all:
        return None
    low, high = 0, made.people
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if made._truth(middle) == at_all else (middle, high)
    return replace(made, least=high)


@lru_cache(maxsize=64)
def _personal(request: Request, own: tuple[tuple[Epsilon, int], ...], aim: AnyAim) -> QuestionMechanism:
    return request.question.mechanism(replace(request.setting(sum(size for _, size in own), own), aim=aim))


@lru_cache(maxsize=64)
def _one_level(request: Request, epsilon: Epsilon, people: int) -> QuestionMechanism:
    level = approximate(epsilon, request.level.delta)
    return request.question.mechanism(Setting(level, request.neighbours, people))


def _odds(errors: Floats) -> Floats:
    """The logarithm of the odds, which changes evenly where an error falls or rises evenly."""
    return np.asarray(np.log(np.maximum(errors, _TINY)) - np.log(np.maximum(1 - errors, 1e-16)))


def _error(mechanism: QuestionMechanism, table: Table, answer: int) -> float:
    law = mechanism.law(table)
    if law.size > _MOST_LISTED and law.sums is not None:
        before = ball(law.sums(answer - 1)) if answer else Ball(0)
        after = 1 - ball(law.sums(answer)) if answer < law.size - 1 else Ball(0)
        return max(0.0, float((before + after).mid()))
    others = (ball(p) for place, p in enumerate(law.probabilities()) if place != answer)
    return max(0.0, float(sum(others, Ball(0)).mid()))
