"""One corridor for everything that is answered from a table: Ask → Prepared → Spend → Draw → Release.

Each step is one function on one screen:

1. **read**: an :class:`~optimaldp.asking.ask.Ask` becomes an *order*: everything public about it is settled and checked.
2. **prepare**: people are counted, and a mechanism that the referee has passed is chosen by public things alone.
3. **spend**: with a ledger the cost is durable before anything is sampled. A crash may lose budget, never privacy.
4. **draw**: the answer is sampled. Nothing else that was computed from the data leaves.
5. **record**: the ledger keeps the answer, so that asking the same again costs nothing.

A question, an answer for each group, a histogram and a sanitised table are orders of different kinds. Reserving, sampling and
recording is written here once.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import time
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar

from optimaldp.asking.ask import MEANING
from optimaldp.certify.asked import (
    WatchedBits,
    lost_by,
    require_charge,
    require_own_bits,
    require_paid,
    require_reserved,
)
from optimaldp.errors import InputError, LevelError, OptimalDPError, PaidRepeatWarning, ReleaseError, TableError
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.epsilon import ZERO
from optimaldp.progress import track
from optimaldp.sampling import BitSource
from optimaldp.tables import Source
from optimaldp.tables.tally import People

if TYPE_CHECKING:
    from optimaldp.ledger import Charge, Ledger
    from optimaldp.ledger.entry import Answer as RecordedAnswer

_LOG = logging.getLogger("optimaldp")
"""What happens, for an operator: how many questions, what they cost, that they are answered. No question, count or answer."""

Made = TypeVar("Made")
Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")
Losses = tuple[tuple[Epsilon, Epsilon], ...]
"""Each level that people have, as it is written, and what its people lose."""


class Ready(ABC, Generic[Made]):
    """An order whose people have been counted: the certified mechanism, which is public, and the counts, which are not."""

    @property
    @abstractmethod
    def spent(self) -> ApproximateDP:
        """What the release costs, without a delta that is not used. Public."""

    @property
    @abstractmethod
    def mechanisms(self) -> Sequence[Any]:
        """What it draws from, which the referee has passed. Public."""

    @property
    @abstractmethod
    def losses(self) -> Losses:
        """What the people of each level lose, where people have levels of their own. Public."""

    @abstractmethod
    def draw(self, source: BitSource, dataset: str | None) -> Made:
        """The private answer with its public statement: the only thing computed from data that leaves."""


class Settled(Protocol):
    """What is asked, with everything public about it settled: what a ledger is charged for and remembers."""

    @property
    def text(self) -> str:
        """The question with all that changes its meaning."""
        ...

    @property
    def level(self) -> ApproximateDP: ...

    @property
    def neighbours(self) -> Neighbours: ...

    @property
    def people(self) -> People: ...

    @property
    def reading(self) -> Mapping[str, Any]:
        """How the cells of the source are read, as JSON values."""
        ...

    @property
    def public(self) -> tuple[str, ...]:
        """What is treated as public, so that a record is only ever replaced by another that agrees in it."""
        ...


def part_of(asked: Settled) -> Any:
    """The value of the part that is asked alone; ``None`` if everyone is asked."""
    return None if asked.people.part is None else asked.people.part[1]


def charge_of(asked: Settled, **known: Any) -> Charge:
    """What a ledger is asked to cover, as far as that is *known*."""
    from optimaldp.ledger import Charge

    return Charge(
        question=asked.text,
        level=asked.level,
        part=part_of(asked),
        levels=asked.people.levels,
        meaning=MEANING,
        reading={name: value for name, value in asked.reading.items() if value is not None} or None,
        public=asked.public,
        **known,
    )


class Order(ABC, Generic[Made]):
    """One thing that is asked of a table, with the way to count, prepare, draw and keep it."""

    @property
    @abstractmethod
    def asked(self) -> Settled:
        """What is asked: public."""

    @abstractmethod
    def count(self, opened: Source) -> Any:
        """The counts that the mechanism needs. Private."""

    @abstractmethod
    def counted_levels(self, counted: Any) -> tuple[Epsilon, ...]:
        """The levels that people have: public. Empty where people have none of their own."""

    @abstractmethod
    def prepare(self, counted: Any, weightless: frozenset[Epsilon]) -> Ready[Made]:
        """Choose and certify the mechanism; *weightless* are the levels of people who are not asked any more."""

    @abstractmethod
    def restored(self, recorded: RecordedAnswer, dataset: str | None) -> Made | None:
        """What a ledger recorded, as it was released; ``None`` where it did not keep enough."""

    @abstractmethod
    def to_record(self, made: Made) -> tuple[object, object]:
        """What a ledger keeps: the answer and its statement."""

    def warn_before(self, book: Ledger) -> None:
        """Warn, before anything is spent, of what the caller should know."""

    def replayed(self, book: Ledger, version: str | None) -> Made | None:
        """The answer that the ledger already holds for this very question, level, people, reading and data: it costs nothing."""
        same = book.opening.neighbours is self.asked.neighbours and book.opening.unit == self.asked.people.unit_text
        if not same or version is None:
            return None
        recorded = book.answered_charge(charge_of(self.asked, data_version=version))
        return None if recorded is None else self.restored(recorded, book.opening.dataset)


def walk(
    opened: Source, orders: Sequence[Order[Made]], book: Ledger | None, bits: BitSource, *, watched: bool = False
) -> list[Made]:
    """Take orders through the corridor: all are covered by the ledger, or nothing is read and nothing is spent.

    *watched*: show how long each takes, as a progress bar with the running budget.
    """
    version = None if book is None else opened.version()
    known = [None if book is None else order.replayed(book, version) for order in orders]
    fresh = [order for order, one in zip(orders, known) if one is None]
    _LOG.info("%d asked, %d of them answered from the record", len(orders), len(orders) - len(fresh))
    if book is not None and fresh:
        if not book.pays_first:  # else the spend itself comes next and is refused in the same words
            book.require_together([charge_of(order.asked) for order in fresh], **_agreed(fresh))
        warn_of_paid_repeats(book, fresh)
        for order in fresh:
            order.warn_before(book)
    made = iter(withhold_details(_pay_and_draw, opened, fresh, book, version, bits, watched))
    if fresh:
        _LOG.info("%d answered at %s", len(fresh), ", ".join(str(order.asked.level) for order in fresh))
    return [next(made) if one is None else one for one in known]


def _pay_and_draw(
    opened: Source,
    orders: Sequence[Order[Made]],
    book: Ledger | None,
    version: str | None,
    bits: BitSource,
    watched: bool,
) -> list[Made]:
    """The private half: no frame above this one ever holds a count."""
    first = book is not None and book.pays_first and len(orders) > 0
    if book is not None and first:  # whatever happens from here on, even how long counting takes, is paid for
        charges = [charge_of(order.asked, data_version=version) for order in orders]
        for order, charge in zip(orders, charges):
            require_charge(charge, order.asked)
            require_paid(charge, order.asked.level)
        reservations = book.reserve_together(charges, **_agreed(orders))
    prepared = [_prepare(order, opened, book, orders) for order in (_watched(orders, book) if watched else orders)]
    if book is None or not prepared:
        return _drawn([ready for ready, _ in prepared], bits, None)
    if not first:
        charges = [
            charge_of(order.asked, used=ready.spent, personal=personal_costs(ready, weightless), data_version=version)
            for order, (ready, weightless) in zip(orders, prepared)
        ]
        for order, charge, (ready, weightless) in zip(orders, charges, prepared, strict=True):
            require_charge(charge, order.asked)
            lost = lost_by(ready.mechanisms, order.asked.level)
            require_paid(charge, lost, [own for own, _ in ready.losses], weightless)
        reservations = book.reserve_together(charges, **_agreed(orders))
    require_reserved([held.spend for held in reservations], charges)  # nothing is drawn that was not reserved
    _LOG.info("%d charged to %r", len(orders), book.opening.dataset)
    made = _drawn([ready for ready, _ in prepared], bits, book.opening.dataset)
    book.record_together([(held, *order.to_record(one)) for held, order, one in zip(reservations, orders, made)])
    return made


def _drawn(ready: Sequence[Ready[Made]], bits: BitSource, dataset: str | None) -> list[Made]:
    """One answer after the other, each from bits of its own."""
    if len(ready) == 1:
        return [ready[0].draw(bits, dataset)]
    taken = [WatchedBits(bits) for _ in ready]
    made = [one.draw(own, dataset) for one, own in zip(ready, taken)]
    require_own_bits(taken)
    return made


def _watched(orders: Sequence[Order[Made]], book: Ledger | None) -> Iterable[Order[Made]]:
    """Several orders with a progress bar that says what they cost so far, and of what."""
    if len(orders) < 2:
        return orders
    left = "" if book is None or book.opening.budget.unlimited else f" of {book.remaining().epsilon} left"
    costs = accumulate((order.asked.level.epsilon for order in orders), initial=ZERO)
    notes = {id(order): f"ε = {cost}{left}" for order, cost in zip(orders, list(costs)[1:])}
    return track(orders, "asking", total=len(orders), note=lambda order: notes[id(order)])


def _prepare(
    order: Order[Made], opened: Source, book: Ledger | None, together: Sequence[Order[Made]]
) -> tuple[Ready[Made], frozenset[Epsilon]]:
    counted = order.count(opened)
    weightless = frozenset() if book is None else _weightless(book, order, together, counted)
    return order.prepare(counted, weightless), weightless


def _agreed(orders: Sequence[Order[Any]]) -> dict[str, Any]:
    return {"neighbours": orders[0].asked.neighbours, "unit": orders[0].asked.people.unit_text}


def _weightless(book: Ledger, order: Order[Any], together: Sequence[Order[Any]], counted: Any) -> frozenset[Epsilon]:
    """The levels whose people have too little budget of their own left: they are not asked, and the others still are."""
    column = order.asked.people.levels
    if column is None:
        return frozenset()
    # All or none of the questions of this column: what is asked together is charged together.
    levels = [one.asked.level for one in together if one.asked.people.levels == column]
    askable = book.askable(column, order.counted_levels(counted), level=levels, part=part_of(order.asked))
    return frozenset(own for own, may in askable.items() if not may)


def losses_of(levels: Sequence[Epsilon], most: Epsilon, weightless: frozenset[Epsilon]) -> Losses:
    """Each level that people have, and what they lose: nobody more than *most*, and nothing who is not asked any more."""
    return tuple((own, ZERO if own in weightless else min(own, most)) for own in levels)


def personal_costs(ready: Ready[Any], weightless: frozenset[Epsilon]) -> dict[Epsilon, ApproximateDP] | None:
    """What the people of each level lose, for a ledger; with delta wherever it is used.

    A level that is not asked loses nothing, whether or not anybody here has it.
    """
    if not ready.losses:
        return None
    delta = ready.spent.delta
    costs = {own: approximate(lost, Fraction(0) if lost.is_zero else delta) for own, lost in ready.losses}
    return dict.fromkeys(weightless, approximate(ZERO)) | costs


def read_own_level(text: str) -> Epsilon:
    """A person's own level from a cell of the column of levels; an error does not quote it."""
    try:
        return Epsilon.read(text, name="levels")
    except LevelError:
        pass  # the message quotes the cell: leave this block before raising another
    raise TableError("levels", "a value of the column", "is not a privacy level", "write 0.5, 'ln(2)' or 'inf'")


@contextmanager
def opened_book(ledger: Ledger | str | os.PathLike[str] | None, *, readonly: bool = False) -> Iterator[Ledger | None]:
    """The ledger that pays; one that is named by its place is closed again."""
    if ledger is None:
        yield None
        return
    from optimaldp.ledger import Ledger, open_ledger

    if isinstance(ledger, Ledger):
        yield ledger
    else:
        with open_ledger(ledger, readonly=readonly) as book:
            yield book


# What leaves when something goes wrong.


def withhold_details(work: Callable[Arguments, Value], *arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
    """Run what has seen data. Whatever stops it leaves without its message, its cause and its frames' variables.

    An error of ours keeps its words, which never hold data. Ctrl-C, an exit, a cancelled task and whatever else is no
    ``Exception`` keep their class alone.
    """
    failure: BaseException
    try:
        return work(*arguments, **named)
    except OptimalDPError as error:
        failure = error.with_traceback(None)
    except SystemExit as error:
        failure = SystemExit(error.code if isinstance(error.code, int) else 1)
    except Exception as error:
        failure = ReleaseError(type(error).__name__)
    except BaseException as error:
        failure = _without_words(type(error))
    failure.__context__ = None
    failure.__cause__ = None
    raise failure


def _without_words(kind: type[BaseException]) -> BaseException:
    try:
        return kind()
    except Exception:  # a class that cannot be made without words
        return ReleaseError(kind.__name__)


class Clock:
    """Starts with the question. :meth:`wait` returns at the next whole multiple of *seconds*, so the time tells nothing."""

    def __init__(self, seconds: float) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= 3600:
            raise InputError("answer_after", seconds, "is not a number of seconds", "give a number up to 3600")
        self._seconds = seconds
        self._start = time.monotonic()

    def turn_came(self) -> None:
        """The question had to wait for others and is worked on from now on: from the next multiple it has a whole interval.

        So the time of its answer depends on how long it waited, and not on how long its own work takes.
        """
        waited = time.monotonic() - self._start
        self._start += math.ceil(waited / self._seconds) * self._seconds

    def left(self) -> float:
        """How many seconds are left until the answer may be given; one that took longer waits for the next multiple."""
        passed = time.monotonic() - self._start
        whole = max(1, math.ceil(passed / self._seconds))
        return max(0.0, whole * self._seconds - passed)

    def wait(self) -> None:
        """Sleep until the answer may be given."""
        time.sleep(self.left())


# What is said before a question is paid for again.


def warn_of_paid_repeats(book: Ledger, orders: Sequence[Order[Any]]) -> None:
    """Warn of each question that this ledger has paid for at the same level, though not for this version of the data.

    The ledger's entries and the version of the data decide this, and a spend tells as much anyway. No row is looked at.
    """
    together: Counter[tuple[object, ...]] = Counter()
    for order in orders:
        asked, part = order.asked, part_of(order.asked)
        key = (asked.text, asked.level, part)
        times = book.times_paid(asked.text, asked.level, part=part) + together[key]
        together[key] += 1
        if times:
            warnings.warn(paid_repeat(asked.text, asked.level, times), PaidRepeatWarning, stacklevel=outside())


def paid_repeat(question: str, level: ApproximateDP, times: int) -> str:
    """The warning, in one sentence for every reason: the data may have changed, or nothing tells whether it did."""
    before = "once" if times == 1 else f"{times} times"
    return (
        f"{question} was paid for {before} before at {level}, and is paid for again: the table has another "
        "version than then, or none that could be told. The earlier answer is in the history of the ledger."
    )


def outside() -> int:
    """How many frames up the caller of this package is: a warning should point to the cell that is run again."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "optimaldp":
        depth, frame = depth + 1, frame.f_back
    return depth
