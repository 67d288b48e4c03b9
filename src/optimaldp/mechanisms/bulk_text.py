"""The three long fields of a design (edges, preferences, rows) as JSON text, without a Python object for each of their parts.

The text is the very one that ``json.dumps`` writes of the document; what repeats is written once, and arrays of texts are joined
by numpy. A document of half a million small lists takes five times as long to make and to write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from optimaldp.graphs.dataset_graph import DatasetGraph
from optimaldp.graphs.preferences import Preferences
from optimaldp.mechanisms.float_text import written_rows, written_sides
from optimaldp.mechanisms.rows import FloatRows, Rows, SharedRows, TwoSides
from optimaldp.privacy.numbers import fraction_text

Texts = npt.NDArray[np.object_]
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f]')

write = json.JSONEncoder(ensure_ascii=False).encode


def object_text(fields: Mapping[str, str]) -> str:
    """An object of fields whose values are texts already."""
    return "{" + ", ".join(f"{write(name)}: {text}" for name, text in fields.items()) + "}"


def quoted_names(names: Sequence[str]) -> Texts:
    """Each name as a JSON string."""
    plain = list(names)
    if _TO_ESCAPE.search("".join(plain)):
        return _texts(map(write, plain))
    return _texts(f'"{name}"' for name in plain)


def edges_text(graph: DatasetGraph, names: Texts, levels: Sequence[Any], default: int) -> str:
    """All edges ``[tail, head]``, with their level where it is not the default one."""
    ends = _texts("]" if k == default else f", {write(level)}]" for k, level in enumerate(levels))
    if not len(ends):
        ends = _texts(["]"])
    edges = _joined(names, "[", ", ")[graph.tails] + names[graph.heads] + ends[graph.level_of_edge]
    return "[" + ", ".join(edges.tolist()) + "]"


def prefers_text(preferences: Preferences, names: Texts, orders: Sequence[Any]) -> str:
    """All datasets with their preferences; *orders* are the different ones, as documents."""
    return _members(names, _texts(map(write, orders))[preferences.of])


def rows_text(rows: Rows, answers: Sequence[str], names: Texts) -> str:
    """All datasets with their rows."""
    if isinstance(rows, SharedRows):
        written = _texts(_row(answers, tuple(map(fraction_text, row))) for row in rows.rows)
        return _members(names, written[rows.of])
    if isinstance(rows, TwoSides):
        pairs, which = written_sides(rows)
        return _members(names, _texts(_row(answers, pair) for pair in pairs)[which])
    assert isinstance(rows, FloatRows)
    return _members(names, _texts(_row(answers, row) for row in written_rows(rows)))


def _row(answers: Sequence[str], numbers: tuple[str, ...]) -> str:
    return write(dict(zip(answers, numbers)))


def _members(names: Texts, values: Texts) -> str:
    return "{" + ", ".join((_joined(names, "", ": ") + values).tolist()) + "}"


def _joined(names: Texts, before: str, after: str) -> Texts:
    return _texts(f"{before}{name}{after}" for name in names.tolist())


def _texts(items: Any) -> Texts:
    texts = list(items)
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array
