"""What a studio was started with."""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field
from ipaddress import ip_address
from typing import Any

MOST_BYTES = 5_000_000  # a larger request is refused
TABLE_CALLS = ("session", "check", "release", "report")  # the calls behind which there is data
MOST_SECONDS = 30.0  # longer work on public things is stopped


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

    def for_worker(self) -> dict[str, Any]:
        """What a worker needs to know: not the token."""
        return {name: value for name, value in asdict(self).items() if name in ("data", "ledger", "kept")}
