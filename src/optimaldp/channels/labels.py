"""The names of a channel's inputs and outputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from optimaldp.errors import ChannelError

Label = Hashable


def read_labels(names: Sequence[Label] | None, size: int, field: str) -> tuple[Label, ...]:
    """The names as a tuple, each once; 0, 1, 2, … where none are given."""
    labels: tuple[Label, ...] = tuple(range(size)) if names is None else tuple(names)
    if len(labels) != size:
        raise ChannelError(field, f"{len(labels)} names", f"do not fit the matrix, which has {size}")
    if len(set(labels)) != size:
        twice = next(name for name in labels if labels.count(name) > 1)
        raise ChannelError(field, twice, "appears twice", "names are unique")
    return labels


def index_of(names: tuple[Label, ...], name: Label, field: str) -> int:
    """Where *name* stands, or an error that names it."""
    try:
        return names.index(name)
    except ValueError:
        raise ChannelError(field, name, "is not one of this channel's names") from None


def json_labels(names: Sequence[Label]) -> list[Any]:
    """Labels as JSON keeps them: texts and whole numbers stay, tuples become lists, the rest is written out."""
    return [_json_label(name) for name in names]


def _json_label(name: object) -> Any:
    if name is None or isinstance(name, (str, bool, int)):
        return name
    return [_json_label(part) for part in name] if isinstance(name, (tuple, frozenset)) else str(name)
