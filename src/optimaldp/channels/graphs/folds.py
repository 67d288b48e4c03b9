"""Questions that are asked by walking through the individuals: counts, sums, maxima, histograms, winners."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from optimaldp.channels.graphs.databases import ABSENT, Value

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
    """The sum of everybody's value; the absent add nothing."""

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
