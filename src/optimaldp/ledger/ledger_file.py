"""The file of an embedded ledger: made whole or not at all, and recognised again.

Nothing here needs a call that only Unix has: where one helps (a hard link, synchronising a folder) there is another way.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from optimaldp.errors import LedgerError

_NOTHING_SPENT = "Nothing was sampled and nothing was spent."


def create_whole(target: Path, write: Callable[[Path], None]) -> bool:
    """Let *write* fill a new file and give it the name *target*; False if that name is taken.

    The file appears under its name only when it is complete, so that no other process ever meets half a ledger, and of several
    that create at once exactly one wins.
    """
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
    try:
        write(draft)
        _name(draft, target)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _synchronise_folder(target.parent)
    return True


def _name(draft: Path, target: Path) -> None:
    """Give a finished file its name, unless that is taken."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except (OSError, AttributeError, NotImplementedError):
        # No hard links here (FAT, some shared folders). An empty file claims the name; it is replaced at once, and whoever
        # meets it in between waits (see `wait_until_whole`).
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        try:
            os.replace(draft, target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def _synchronise_folder(folder: Path) -> None:
    """Make the new name durable. Windows cannot open a folder, and writes names through by itself."""
    directory = getattr(os, "O_DIRECTORY", None)
    if directory is None:
        return
    handle = os.open(folder, os.O_RDONLY | directory)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True)
class FileIdentity:
    """Which file a path led to, whatever it is called: device and number. A number of 0 says nothing (FAT on Windows)."""

    device: int
    number: int

    @staticmethod
    def of(path: Path) -> FileIdentity:
        state = path.stat()
        return FileIdentity(state.st_dev, state.st_ino)

    def require_unchanged(self, path: Path, location: str) -> None:
        """Refuse to spend if *path* leads to another file by now, or if the file has a second name.

        SQLite keeps its log beside the *name* of the file. Two handles on two files, or on two names of one file, would not see
        each other's spends.
        """
        try:
            state = path.stat()
        except OSError:
            raise LedgerError(
                f"ledger {location!r} is no longer where it was opened: it was moved or deleted. Open it again where it is now. "
                f"{_NOTHING_SPENT}"
            ) from None
        if self.number and (state.st_dev, state.st_ino) != (self.device, self.number):
            raise LedgerError(
                f"ledger {location!r} was replaced by another file since it was opened, and that file does not know what is "
                f"spent here. Open it again. {_NOTHING_SPENT}"
            )
        if state.st_nlink > 1 and not _only_a_draft(path, self):
            raise LedgerError(
                f"ledger {location!r} has a second name (a hard link), and spends under the one are not seen under the other. "
                f"Remove all names but one, then open that. {_NOTHING_SPENT}"
            )


def _only_a_draft(path: Path, identity: FileIdentity) -> bool:
    """Whether the other names are drafts of a process that made the ledger and died before it could remove them."""
    real = path.resolve()
    for draft in real.parent.glob(f".{_literal(real.name)}.*.new"):
        with suppress(OSError):
            if FileIdentity.of(draft) == identity:
                draft.unlink(missing_ok=True)
    with suppress(OSError):
        return real.stat().st_nlink == 1
    return False


def _literal(name: str) -> str:
    """A name in which no character has a meaning for ``glob``."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)
