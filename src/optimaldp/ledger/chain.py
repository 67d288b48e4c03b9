"""Reading a ledger: every row is checked against the one before, and the account follows."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from optimaldp.errors import LedgerError
from optimaldp.ledger.account import Account
from optimaldp.ledger.budget import Budget
from optimaldp.ledger.entry import (
    BEGINNING,
    Answer,
    Described,
    Entry,
    Opening,
    OtherVersionError,
    Spend,
    canonical,
    hash_of,
    read_entry,
)
from optimaldp.ledger.people import Part
from optimaldp.ledger.store import Store, StoredEntry
from optimaldp.privacy.levels import Bound

SameQuestion = tuple[str, Bound, Part | None, str, int, str]
"""What makes two questions the same: text, the level that was asked for, part, the code of the data version, the version of
meaning, and how the cells were read."""

PaidQuestion = tuple[str, Bound, Part | None]
"""The same without the data."""


def same_question(spend: Spend) -> SameQuestion | None:
    """The key under which an answer can be found again; ``None`` if the data version was not told."""
    if spend.data is None:
        return None
    read = canonical(dict(spend.reading))
    return spend.question, spend.asked_bound, spend.part, spend.data, spend.meaning, read


@dataclass
class EntryChain:
    """The entries read so far.

    **Guarantee.** Every entry in it is unchanged, in its place and of a version that is understood: anything else raises
    :class:`LedgerError` and leaves the chain as it was before that row.
    """

    location: str
    entries: list[Entry] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    answers: dict[int, Answer] = field(default_factory=dict)
    answered: dict[SameQuestion, list[Answer]] = field(default_factory=dict)
    """Every answer to the same question, in order."""
    spends_of: dict[str, list[Spend]] = field(default_factory=dict)
    """What each asker spent, in order."""
    requests: set[str] = field(default_factory=set)
    """The requests that were paid for."""
    described: str | None = None
    """The hash of the description that was noted last; ``None`` if none was since the opening."""
    paid: Counter[PaidQuestion] = field(default_factory=Counter)
    account: Account = field(init=False, repr=False, compare=False)
    """There from the first entry on, which is the opening."""
    _own: dict[tuple[str, str | None], tuple[Account, int]] = field(default_factory=dict, repr=False, compare=False)
    """By asker and month: her account, and how many of her spends it has taken in."""

    @property
    def last(self) -> int:
        return len(self.entries)

    @property
    def head(self) -> str:
        return self.hashes[-1] if self.hashes else BEGINNING

    def follow(self, rows: Iterable[StoredEntry]) -> None:
        """Read further rows, each checked before it counts."""
        for row in rows:
            self._accept(self._checked(row))
            self.hashes.append(row.hash)

    def extend(self, entries: Iterable[Entry], rows: Iterable[StoredEntry]) -> None:
        """Take in entries that this process made and stored just now: they need not be read back."""
        for entry, row in zip(entries, rows, strict=True):
            self._accept(entry)
            self.hashes.append(row.hash)

    def _checked(self, row: StoredEntry) -> Entry:
        if row.sequence != self.last + 1:
            raise self._damaged(self.last + 1, f"it is missing (entry {row.sequence} follows)")
        try:
            intact = hash_of(row.text) == row.hash
        except (UnicodeEncodeError, AttributeError):
            intact = False
        if not intact:
            raise self._damaged(row.sequence, "its text does not have the hash that was stored with it")
        entry = self._read(row)
        if entry.sequence != row.sequence:
            raise self._damaged(row.sequence, f"it says that it is entry {entry.sequence}")
        if entry.previous != self.head:
            raise self._damaged(row.sequence, "it does not follow the entry before it")
        return entry

    def _read(self, row: StoredEntry) -> Entry:
        try:
            return read_entry(row.text)
        except OtherVersionError as error:
            raise OtherVersionError(
                f"ledger {self.location!r}, entry {row.sequence}: {error} Nothing was changed."
            ) from None
        except LedgerError as error:
            raise self._damaged(row.sequence, str(error).rstrip(".")) from None

    def _accept(self, entry: Entry) -> None:
        if isinstance(entry, Opening) != (self.last == 0):
            raise self._damaged(entry.sequence, "a ledger has one opening, and it is the first entry")
        if isinstance(entry, Opening):
            self.account = Account(entry)
        elif isinstance(entry, Spend):
            self.account.enter(entry)
            self.paid[entry.question, entry.asked_bound, entry.part] += 1
            if entry.asker is not None:
                self.spends_of.setdefault(entry.asker, []).append(entry)
            if entry.request is not None:
                self.requests.add(entry.request)
        elif isinstance(entry, Answer):
            self._answer(entry)
        elif isinstance(entry, Described):
            self.described = entry.description
        self.entries.append(entry)

    def _answer(self, entry: Answer) -> None:
        spend = self.entries[entry.spend - 1] if 0 < entry.spend <= self.last else None
        if not isinstance(spend, Spend) or entry.spend in self.answers:
            raise self._damaged(entry.sequence, f"it answers entry {entry.spend}, which does not wait for an answer")
        self.answers[entry.spend] = entry
        key = same_question(spend)
        if key is not None:
            self.answered.setdefault(key, []).append(entry)

    def own_account(self, asker: str, period: str | None, budget: Budget) -> Account:
        """What *asker* spent (in the month *period*, if one is named), held against a budget of her own.

        Kept from question to question: only what she spent since is added.
        """
        opening = self.account.opening
        account, taken = self._own.get((asker, period)) or (Account(replace(opening, groups=())), 0)
        spends = self.spends_of.get(asker, [])
        for spend in spends[taken:]:
            if period is None or spend.time.startswith(period):
                account.enter(spend)
        self._own[asker, period] = account, len(spends)
        return account.within(budget)

    def spend(self, answer: Answer) -> Spend:
        """The spend that *answer* belongs to."""
        spend = self.entries[answer.spend - 1]
        assert isinstance(spend, Spend)
        return spend

    def _damaged(self, sequence: int, what: str) -> LedgerError:
        return LedgerError(
            f"ledger {self.location!r} is damaged at entry {sequence}: {what}. "
            "It was left as it is; restore a copy and run optimaldp ledger verify."
        )


def read_whole(store: Store) -> EntryChain:
    """Read all entries and compare the end with the note beside the store."""
    damage = store.damage()
    if damage:
        raise LedgerError(
            f"ledger {store.location!r} is damaged ({' '.join('; '.join(damage).split())[:160]}). "
            "It was left as it is; restore a copy and run optimaldp ledger verify."
        )
    chain = EntryChain(store.location)
    for attempt in range(3):
        noted = store.remembered_head()  # before the rows: a note is never ahead of what was committed when it was read
        chain.follow(store.rows(chain.last))
        if not chain.entries:
            raise LedgerError(f"ledger {store.location!r} is damaged: it has no entries at all.")
        if noted is None or (noted[0] <= chain.last and chain.hashes[noted[0] - 1] == noted[1]):
            return chain
        time.sleep(0.004 * attempt)  # the note is not locked: another process may have been writing it just now
    raise LedgerError(
        f"ledger {store.location!r} ends at entry {chain.last}, but it had reached entry {noted[0] if noted else 0} with another "
        "hash: entries were lost. It was left as it is; restore the ledger with its -wal file, or a copy."
    )


# The entries of a ledger as this process knows them, kept in step with the store that others write to as well.


MakeEntry = Callable[[int, str], Entry]
"""Makes an entry from its number and the hash of the one before."""


class EntryLog:
    """A chain with its store. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.RLock()
        try:
            self._chain = read_whole(store)
            self.secret = store.secret()
        except BaseException:
            store.close()
            raise
        self.opening = self._chain.account.opening

    @contextmanager
    def current(self, *, refresh: bool = True) -> Iterator[EntryChain]:
        """The chain with every entry that any process has written so far; without *refresh*, that this one has seen."""
        with self._lock:
            if refresh:
                self._chain.follow(self._store.rows(self._chain.last))
            yield self._chain

    def append(self, check: Callable[[EntryChain], None], makers: Sequence[MakeEntry]) -> tuple[Entry, ...]:
        """Write the entries of *makers* in one transaction, unless *check* raises an error on what is there before them."""
        made: list[Entry] = []

        def decide(rows: Sequence[StoredEntry]) -> Sequence[StoredEntry]:
            known = self._chain.last  # more than was asked for, when this is a second attempt after a collision
            self._chain.follow(row for row in rows if row.sequence > known)
            check(self._chain)
            made.clear()
            stored: list[StoredEntry] = []
            for make in makers:
                previous = stored[-1].hash if stored else self._chain.head
                made.append(make(self._chain.last + len(stored) + 1, previous))
                text = made[-1].text()
                stored.append(StoredEntry(made[-1].sequence, text, hash_of(text)))
            return stored

        with self._lock:
            rows = self._store.append(self._chain.last, decide)
            self._chain.extend(made, rows)
        self._store.remember_head(rows[-1])
        return tuple(made)

    def close(self) -> None:
        self._store.close()


# Making entries: from what a caller hands in to the frozen values that are stored.


def now() -> str:
    """What the clock shows: a remark, never an order."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def opening_row(described: Mapping[str, Any]) -> StoredEntry:
    """The first row of a new ledger."""
    text = Opening(1, BEGINNING, now(), **described).text()
    return StoredEntry(1, text, hash_of(text))


def spend_makers(spends: Sequence[Spend]) -> list[MakeEntry]:
    """Give *spends* their places, one after the other; several of them say that they were made together."""

    def maker(offset: int, spend: Spend) -> MakeEntry:
        def make(sequence: int, previous: str) -> Entry:
            together = sequence - offset if len(spends) > 1 else None
            return replace(spend, sequence=sequence, previous=previous, time=spend.time or now(), together=together)

        return make

    return [maker(offset, spend) for offset, spend in enumerate(spends)]


def answer_maker(spend: int, answer: object, statement: object) -> MakeEntry:
    """The answer of the spend of this number."""
    plain_answer, plain_statement = _plain(answer), _plain(statement)
    return lambda sequence, previous: Answer(sequence, previous, now(), spend, plain_answer, plain_statement)


def require_unanswered(chain: EntryChain, spends: Sequence[int]) -> None:
    """Every answer needs a spend of its own."""
    for number in spends:
        if number in chain.answers or spends.count(number) > 1:
            raise LedgerError(f"spend #{number} already has its answer: every answer needs a spend of its own.")


def _plain(value: object) -> Any:
    """A JSON value: what the ledger can keep for ever. Answers are released already, so they may be written as they are."""
    if hasattr(value, "to_document"):
        value = value.to_document()
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError):
        raise LedgerError(
            "an answer or statement that is not plain JSON cannot be recorded. The spend stays, without its answer."
        ) from None
