"""A note beside the ledger file that says how far the ledger had come.

SQLite drops the end of a damaged write-ahead log without a word, because for it that is an unfinished transaction. For a ledger
it would be forgotten spending. The note is written after each commit (without waiting for the disk: after a power cut it may be
old, and an old note is still true), so a ledger that is *behind* its note has lost entries.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

_LINE = re.compile(r"(\d{20}) ([0-9a-f]{64})\n")


class HeadNote:
    """The number and hash of the last entry, in a small file of its own."""

    def __init__(self, path: Path, *, readonly: bool) -> None:
        self._path = path
        self._readonly = readonly
        self._file: int | None = None

    def write(self, sequence: int, digest: str) -> None:
        """Note the head. Failing to is no error: the entry itself is durable, only this second check is weaker."""
        if self._readonly:
            return
        with suppress(OSError):
            if self._file is None:
                self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            os.pwrite(self._file, f"{sequence:020d} {digest}\n".encode("ascii"), 0)

    def read(self) -> tuple[int, str] | None:
        """The head noted last; ``None`` if there is no note or it is unreadable (half written, or damaged)."""
        try:
            match = _LINE.fullmatch(self._path.read_text("ascii"))
        except (OSError, UnicodeDecodeError):
            return None
        return (int(match[1]), match[2]) if match else None

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
