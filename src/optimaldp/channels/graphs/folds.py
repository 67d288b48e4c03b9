"""Questions that are asked by walking through the individuals: counts, sums, maxima, histograms, winners."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.channels.graphs.databases import ABSENT, Value

State = Hashable


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
