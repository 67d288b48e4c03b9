"""Where entries are kept: the small interface that every store keeps, checked by one conformance suite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

STORE_FORMAT = 1
"""How rows are kept. Entries have versions of their own (:mod:`optimaldp.ledger.entry`)."""


@dataclass(frozen=True)
class StoredEntry:
    """One stored entry: its number, its text and the text's hash."""

    sequence: int
    text: str
    hash: str


Decide = Callable[[Sequence[StoredEntry]], Sequence[StoredEntry]]
"""What makes the next rows from those that were not read yet."""


class Store(ABC):
    """An append-only list of rows that several processes share.

    **Guarantee.** When :meth:`append` returns, the rows are durable: they survive a crash of this process and of the machine. Two
    calls never overlap, in whatever processes they run: the second one sees the rows of the first. When :meth:`append` raises
    an error before the commit, nothing was written.
    """

    location: str
    """Where the store is, for messages; never a password."""

    @abstractmethod
    def append(self, after: int, decide: Decide) -> Sequence[StoredEntry]:
        """Read the rows after number *after*, let *decide* make the next ones, and store them, all as one transaction.

        Either all that *decide* returns is stored or nothing is.

        *decide* may be called again with more rows when another process was faster. An error that it raises ends the
        transaction: nothing is written.
        """

    @abstractmethod
    def rows(self, after: int) -> Sequence[StoredEntry]:
        """The rows after number *after*, in order."""

    @abstractmethod
    def secret(self) -> bytes:
        """The key of this ledger's codes; it is never exported."""

    @abstractmethod
    def damage(self) -> list[str]:
        """What is physically wrong with the store, in words; empty if nothing is."""

    def remember_head(self, row: StoredEntry) -> None:  # noqa: B027  (a store that cannot lose its end need not do anything)
        """Note outside of the store how far it reached, so that a lost end is noticed."""

    def remembered_head(self) -> tuple[int, str] | None:
        """The number and hash noted last by :meth:`remember_head`."""
        return None

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections."""
