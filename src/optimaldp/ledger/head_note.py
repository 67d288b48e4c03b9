"""A note beside the ledger file that says how far the ledger had come.

SQLite drops the end of a damaged write-ahead log without a word, because for it that is an unfinished transaction. For a ledger
it would be forgotten spending. The note is written after each commit (without waiting for the disk: after a power cut it may be
old, and an old note is still true), so a ledger that is *behind* its note has lost entries.
"""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

_LINE = re.compile(rb"(\d{20}) ([0-9a-f]{64})\n")


class HeadNote:
    """The number and hash of the last entry, in a small file of its own."""

    def __init__(self, path: Path, *, readonly: bool) -> None:
        self._path = path
        self._readonly = readonly
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def write(self, sequence: int, digest: str) -> None:
        """Note the head. Failing to is no error: the entry itself is durable, only this second check is weaker."""
        if self._readonly:
            return
        with self._lock, suppress(OSError):
            if self._file is None:
                # Without a buffer, so that the line is written by one call: no reader meets half of it.
                self._path.touch(0o600)
                self._file = open(self._path, "r+b", buffering=0)  # noqa: SIM115
            self._file.seek(0)
            self._file.write(f"{sequence:020d} {digest}\n".encode("ascii"))

    def read(self) -> tuple[int, str] | None:
        """The head noted last; ``None`` if there is no note or it is unreadable (half written, or damaged)."""
        try:
            match = _LINE.fullmatch(self._path.read_bytes())
        except OSError:
            return None
        return (int(match[1]), match[2].decode("ascii")) if match else None

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None
