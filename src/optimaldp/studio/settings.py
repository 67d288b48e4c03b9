"""What a studio was started with."""

from __future__ import annotations

import re
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

MOST_BYTES = 5_000_000  # a larger request is refused
MOST_UPLOADED = 200_000_000  # a larger file is named on the command line
MOST_SECONDS = 30.0  # longer work on public things is stopped

TABLE_CALLS = {
    "session": "releasing",
    "settled": "releasing",
    "proposal": "starting",
    "open": "starting",
    "check": "releasing",
    "rehearse": "rehearsing",
    "release": "releasing",
    "rules": "releasing",
    "report": "releasing",
    "check_plan": "releasing",
    "release_plan": "releasing",
    "read_plan": "releasing",
    "write_plan": "releasing",
    "check_sanitise": "releasing",
    "sanitise": "releasing",
}
"""The calls behind which there is data, by the module of the studio that answers them."""
SPENDING = ("release", "release_plan", "sanitise")
"""The calls that spend budget: one after the other, and only for our own page."""


@dataclass(frozen=True)
class Settings:
    """Data and ledger as they were named on the command line, and where the studio listens.

    >>> Settings(token="t").is_local, Settings(host="0.0.0.0", token="t").address(8600)
    (True, 'http://0.0.0.0:8600/?token=t')
    """

    data: str | None = None
    ledger: str | None = None
    kept: bool = True
    """Whether the ledger outlives the studio; a record of this session alone does not."""
    host: str = "127.0.0.1"
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    most_seconds: float = MOST_SECONDS
    description: str | None = None
    """The description of the table, where it was named beside it."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """What was said of the table beside its budget (unit, neighbours, how cells are read): the start page begins with it."""

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def address(self, port: int) -> str:
        """The URL to open; with the token where strangers could connect."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{port}/" + ("" if self.is_local else f"?token={self.token}")

    def at_work(self, folder: str) -> AtWork:
        """What the workers start with; *folder* is private to this studio and ends with it."""
        return AtWork(self.data, self.ledger, self.kept, folder, description=self.description, said=dict(self.said))


@dataclass(frozen=True)
class AtWork:
    """The table that the workers work on: all that they need to know, and never the token."""

    data: str | None = None
    ledger: str | None = None
    kept: bool = True
    folder: str | None = None
    """Where sanitised tables wait for their download."""
    name: str | None = None
    """What the person called the file that was given to the page."""
    number: int = 0
    """Counts the tables: a page that still shows another one is told."""
    description: str | None = None
    said: Mapping[str, Any] = field(default_factory=dict)

    def to_document(self) -> dict[str, Any]:
        return asdict(self)


# Files that are given to the page: kept in a folder of this studio alone, and removed when it ends.
#
# **Guarantee.** The name that a browser sends never becomes a path: of it only an ending is kept, and the rest is shown as text.


_ENDING = re.compile(r"(\.[a-z0-9]{1,7}){1,2}$")
_LONGEST_NAME = 80


class FileTooLargeError(Exception):
    """More came than a page may send."""


def shown_name(sent: str) -> str:
    """What the person called the file: its last part, without control characters, and not too long.

    >>> shown_name("..%2F..%2Fetc%2Fpeople.csv"), shown_name("%00")
    ('people.csv', 'file')
    """
    name = PurePosixPath(unquote(sent).replace("\\", "/")).name
    readable = "".join(letter for letter in name if letter.isprintable())
    return readable[-_LONGEST_NAME:] or "file"


async def received(
    content: AsyncIterator[bytes], sent_name: str, before: AtWork, *, most: int = MOST_UPLOADED
) -> AtWork:
    """Store a file in a new private folder, with a ledger of its own to come; what the workers then start with."""
    name = shown_name(sent_name)
    ending = _ENDING.search(name.lower())
    folder = Path(tempfile.mkdtemp(prefix="table-", dir=before.folder))
    path = folder / f"table{ending[0] if ending else ''}"
    size = 0
    try:
        with path.open("xb") as file:
            async for chunk in content:
                size += len(chunk)
                if size > most:
                    raise FileTooLargeError
                file.write(chunk)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    ledger = str(folder / "session.ledger")
    return replace(before, data=str(path), ledger=ledger, kept=False, name=name, number=before.number + 1)


def discard(table: AtWork) -> None:
    """Remove a file that was given to the page, with its record; nothing that was named on the command line."""
    if table.name is not None and table.data is not None:
        shutil.rmtree(Path(table.data).parent, ignore_errors=True)
