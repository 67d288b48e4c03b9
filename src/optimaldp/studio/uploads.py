"""Files that are given to the page: kept in a folder of this studio alone, and removed when it ends.

**Guarantee.** The name that a browser sends never becomes a path: of it only an ending is kept, and the rest is shown as text.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from optimaldp.studio.settings import MOST_UPLOADED, AtWork

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
