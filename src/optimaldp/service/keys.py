"""Keys: long, random, shown once, kept as SHA-256, compared in constant time, expiring, revocable.

A key is ``odp_`` with a public number, by which it is listed and revoked, and 256 random bits. Nobody types one, so no slow hash
is needed: SHA-256 of 256 random bits cannot be searched.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimaldp.errors import InputError
from optimaldp.privacy.numbers import is_whole
from optimaldp.service.configuration import Configuration, Role

if TYPE_CHECKING:
    from optimaldp.service.store import ServiceStore

DAYS = 90
_MOST_DAYS = 366
_KEY = re.compile(r"odp_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")
_NOBODY = hashlib.sha256(b"nobody has this key").hexdigest()


@dataclass(frozen=True)
class KeyRecord:
    """What is kept of a key: never the key itself."""

    id: str
    name: str
    digest: str
    created: str
    expires: str
    revoked: str | None = None

    def is_good(self, now: str) -> bool:
        """Whether it still opens anything."""
        return self.revoked is None and now < self.expires

    def to_document(self) -> dict[str, str | None]:
        shown = {"id": self.id, "name": self.name, "created": self.created, "expires": self.expires}
        return {**shown, "revoked": self.revoked}


@dataclass(frozen=True)
class Person:
    """Who calls: her name, what she may do, and the key that says so."""

    name: str
    roles: frozenset[Role]
    key: KeyRecord

    def has(self, *roles: Role) -> bool:
        return bool(self.roles & set(roles))


def moment(*, days: int = 0, minutes: int = 0) -> str:
    """Now, or so much later: texts of UTC that sort by time."""
    at = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days, minutes=minutes)
    return at.isoformat(timespec="milliseconds")


def new_key(name: str, days: int = DAYS) -> tuple[str, KeyRecord]:
    """A fresh key, to be shown once, and what is kept of it."""
    if not is_whole(days, 1, _MOST_DAYS):
        raise InputError("days", days, f"is not a number of days from 1 to {_MOST_DAYS}", "write for example 90")
    number = secrets.token_hex(8)
    key = f"odp_{number}_{secrets.token_urlsafe(32)}"
    return key, KeyRecord(number, name, digest_of(key), moment(), moment(days=days))


def digest_of(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode()).hexdigest()


def number_of(key: str) -> str | None:
    """The public number in a key; ``None`` if it does not have the form of one."""
    match = _KEY.fullmatch(key)
    return None if match is None else match[1]


def holds_key(text: str) -> bool:
    """Whether a key stands somewhere in *text*."""
    return _KEY.search(text) is not None


def is_key(key: str, known: KeyRecord | None, now: str) -> bool:
    """Whether *key* is the one that is *known*, and good. Takes as long whether or not there is one, or how much of it fits."""
    same = hmac.compare_digest(digest_of(key), _NOBODY if known is None else known.digest)
    return same and known is not None and known.is_good(now)


def create_key(config: Configuration, name: str, *, days: int = DAYS, store: ServiceStore | None = None) -> str:
    """Make a key for somebody whom the file or a steward named; the key is shown this once."""
    from optimaldp.service.store import ServiceStore

    opened = ServiceStore(config.ledger) if store is None else store
    try:
        named = {one for role in Role for one in config.names(role)} | set(opened.askers())
        if name not in named:
            remedy = "add a table [askers.NAME], [approvers.NAME], [stewards.NAME] or [auditors.NAME] to the file"
            raise InputError("name", name, "is nobody whom the configuration names", remedy)
        key, record = new_key(name, days)
        opened.add_key(record)
        return key
    finally:
        if store is None:
            opened.close()
