"""What a call may say of a question: the fields of :class:`~optimaldp.asking.ask.Ask`, and no others.

How a table is read and who is a person belong to the data set. A body that says so, or anything that nobody knows, is refused:
what is not named here can be set by nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from optimaldp.asking.ask import FIELDS, Ask, from_json, key_of, meaning_of
from optimaldp.errors import InputError

if TYPE_CHECKING:
    from optimaldp.sanitising.planning import Asked

ASK_KEYS = tuple(key_of(name) for name in FIELDS if not meaning_of(name).of_table)
"""What may be said of a question, by its keys."""
TABLE_KEYS = tuple(key_of(name) for name in FIELDS if meaning_of(name).of_table)
PREVIEW_KEYS = ("n", "margins", "level_sizes")
TABLE_ORDER_KEYS = ("columns", "marginals", "margins", "among", "labels")
NOT_OF_TABLES = ("question", "by", "groups", "public_groups", "groups_per_person", "aim")
"""What of a question does not go with a sanitised table."""
SANITISE_KEYS = (*TABLE_ORDER_KEYS, *(key for key in ASK_KEYS if key not in NOT_OF_TABLES))
_REMEDY = "correct the field"


def refuse_others(said: Mapping[str, Any], known: tuple[str, ...]) -> None:
    """Refuse a key that does not belong here."""
    for key, value in said.items():
        if key in TABLE_KEYS:
            raise InputError(key, value, "belongs to the data set, not to a question", "leave it out")
        if key not in known:
            close = get_close_matches(key, known, n=1)
            remedy = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise InputError(key[:80], value, "is not a field of this call", remedy)


def read_ask(said: Mapping[str, Any]) -> tuple[Ask, dict[str, Any]]:
    """A question, and beside it what only a preview takes; the desk has refused every other key."""
    _need(said, "question", "epsilon")
    options = {name: said[name] for name in PREVIEW_KEYS if said.get(name) is not None}
    for name, kind in (("margins", list), ("level_sizes", dict)):
        if not isinstance(options.get(name, kind()), kind):
            raise InputError(name, options[name], f"is not a {'list' if kind is list else 'table'}", _REMEDY)
    return from_json(said, remedy=_REMEDY), options


def read_sanitise(said: Mapping[str, Any]) -> tuple[Asked, bool]:
    """A sanitised table that is asked for, and whether bins are written by their names."""
    from optimaldp.sanitising.planning import Asked

    _need(said, "columns", "epsilon")
    columns, labels = said["columns"], said.get("labels", False)
    if not isinstance(columns, list) or not columns or not all(isinstance(one, str) for one in columns):
        remedy = 'write ["ward", "age: bins=[0, 18, 65, 110]"]'
        raise InputError("columns", columns, "is not a list of columns", remedy)
    if not isinstance(labels, bool):
        raise InputError("labels", labels, "is neither true nor false", _REMEDY)
    for name in ("marginals", "margins", "among"):
        if said.get(name) is not None and not isinstance(said[name], str):
            raise InputError(name, said[name], "is not a text", 'write for example "sex,age; age,smokes"')
    ask = from_json({**said, "question": ""}, remedy=_REMEDY)
    return Asked(columns, ask, said.get("marginals"), among=said.get("among"), margins=said.get("margins")), labels


def _need(said: Mapping[str, Any], *names: str) -> None:
    for name in names:
        if said.get(name) is None:
            raise InputError(name, None, "is missing", f"say {name}")
