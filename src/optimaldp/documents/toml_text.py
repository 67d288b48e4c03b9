"""Values as TOML writes them: what the standard library reads, it does not write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping


def toml_value(value: object) -> str:
    """A text, number, boolean, list or table as TOML writes it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(name)} = {toml_value(one)}" for name, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    # JSON's escapes are TOML's too, but for the one control character that JSON lets through.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)
