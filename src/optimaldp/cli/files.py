"""Reading what a command is given: a path, or ``-`` for standard input, holding JSON."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from optimaldp.errors import InputError


def read_text(path: str) -> str:
    """Read a file, or standard input for ``-``."""
    try:
        return sys.stdin.buffer.read().decode("utf-8") if path == "-" else Path(path).read_text("utf-8")
    except OSError as error:
        raise InputError("file", path, f"cannot be read ({error.strerror})", "check the path") from None
    except UnicodeDecodeError:
        raise InputError("file", path, "is not UTF-8 text", "JSON files are UTF-8") from None


def read_json(path: str) -> Any:
    """Read JSON; numbers with a point come as ``Decimal``, so that their decimal text is what counts."""
    from optimaldp.documents.json_text import read_json_text  # exact numbers: not for a page of help

    return read_json_text(read_text(path), source=path)
