"""Reading what a command is given: a path, or ``-`` for standard input, holding JSON."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
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
    text = read_text(path)
    try:
        return json.loads(text, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InputError("file", path, f"is not JSON ({error.msg} at {where})") from None
    except RecursionError:
        raise InputError("file", path, "is nested too deeply") from None


def _no_constant(name: str) -> Any:
    raise InputError("number", name, "is not a finite number", "write 'inf' as a string for an infinite epsilon")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("file", twice, "appears twice in one object", "names are unique")
    return found
