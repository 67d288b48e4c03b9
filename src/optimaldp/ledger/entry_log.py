"""The entries of a ledger as this process knows them, kept in step with the store that others write to as well."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from optimaldp.ledger.chain import EntryChain, read_whole
from optimaldp.ledger.entry import Entry, hash_of
from optimaldp.ledger.store import Store, StoredEntry

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
    def current(self) -> Iterator[EntryChain]:
        """The chain with every entry that any process has written so far."""
        with self._lock:
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
