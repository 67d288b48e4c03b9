"""What a studio was started with."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from typing import Any

MOST_BYTES = 5_000_000  # a larger request is refused
MOST_UPLOADED = 200_000_000  # a larger file is named on the command line
MOST_SECONDS = 30.0  # longer work on public things is stopped

TABLE_CALLS = {
    "session": "releasing",
    "settled": "releasing",
    "open": "releasing",
    "check": "releasing",
    "release": "releasing",
    "report": "releasing",
    "check_plan": "plans",
    "release_plan": "plans",
    "read_plan": "plans",
    "write_plan": "plans",
    "check_sanitise": "sanitising",
    "sanitise": "sanitising",
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
        return AtWork(self.data, self.ledger, self.kept, folder)


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

    def to_document(self) -> dict[str, Any]:
        return asdict(self)
