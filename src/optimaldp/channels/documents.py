"""Channels, graphs, priors and gains from files and from what people type."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from math import comb
from typing import Any

from optimaldp.channels.channel import Channel
from optimaldp.channels.graphs.answer_graph import AnswerGraph
from optimaldp.channels.measures.priors import Prior, read_prior
from optimaldp.errors import ChannelError, GraphError

_FIELDS = {"inputs", "outputs", "rows", "prior"}
# What `channel optimal` writes beside the channel, so that its output can be read again.
_RESULT_FIELDS = {"epsilon", "utility", "upper_bound", "optimal", "route", "claim", "certificate", "graph", "gain"}
_FAMILIES = {
    "path": (AnswerGraph.path, 1),
    "line": (AnswerGraph.path, 1),
    "ring": (AnswerGraph.ring, 1),
    "clique": (AnswerGraph.clique, 1),
    "hypercube": (AnswerGraph.hypercube, 1),
    "grid": (AnswerGraph.grid, 2),
    "tree": (AnswerGraph.tree, 2),
    "histograms": (AnswerGraph.histograms, 2),
}
_LARGEST_FAMILY = 20_000


def read_channel(document: object) -> tuple[Channel, Prior]:
    """Read ``{"inputs": …, "outputs": …, "rows": …, "prior": …}``; inputs, outputs and prior may be null or left out."""
    if not isinstance(document, dict):
        raise ChannelError("channel", document, "is not an object with inputs, outputs and rows")
    unknown = sorted(set(document) - _FIELDS - _RESULT_FIELDS)
    if unknown:
        raise ChannelError("channel", unknown[0], "is not a field of a channel", f"use {', '.join(sorted(_FIELDS))}")
    if "rows" not in document:
        raise ChannelError("rows", None, "is missing", "give one list of probabilities for each input")
    channel = Channel(document["rows"], _names(document, "inputs"), outputs=_names(document, "outputs"))
    return channel, read_prior(channel, document.get("prior"))


def _names(document: dict[str, Any], field: str) -> list[Any] | None:
    names = document.get(field)
    if names is not None and not isinstance(names, list):
        raise ChannelError(field, names, "is not a list of names")
    return None if names is None else [_hashable(name) for name in names]


def _hashable(name: object) -> Any:
    if isinstance(name, dict):
        raise ChannelError("name", name, "is an object", "names are texts, numbers or lists of them")
    return tuple(_hashable(part) for part in name) if isinstance(name, list) else name


def read_graph_name(text: str) -> AnswerGraph | None:
    """A graph by its family: ``path:6``, ``ring:7``, ``clique:5``, ``hypercube:3``, ``grid:3x4``, ``tree:2x2``,
    ``histograms:4x3`` (people × bins).
    """
    match = re.fullmatch(r"\s*([a-z]+)\s*:\s*(\d{1,6})(?:\s*[x,]\s*(\d{1,6}))?\s*", text)
    if not match or match[1] not in _FAMILIES:
        return None
    build, needed = _FAMILIES[match[1]]
    sizes = [int(part) for part in match.groups()[1:] if part is not None]
    if len(sizes) != needed or 0 in sizes or _family_size(match[1], sizes) > _LARGEST_FAMILY:
        raise GraphError("graph", text, "does not have this family's sizes", "write path:6, ring:7, grid:3x4, tree:2x2")
    return build(*sizes)  # type: ignore[operator, no-any-return]


def _family_size(family: str, sizes: list[int]) -> int:
    if family in ("hypercube", "tree"):
        base, exponent = (2, sizes[0]) if family == "hypercube" else (max(2, sizes[0]), sizes[1])
        # 2^64 is too large already; the power of a typed 999999 would be computed before it is refused
        return int(base ** min(exponent, 64))
    if family == "histograms":
        return comb(sizes[0] + sizes[1] - 1, sizes[1] - 1) if max(sizes) <= 1000 else _LARGEST_FAMILY + 1
    return sizes[0] * (sizes[1] if len(sizes) > 1 else 1)


def read_numbers(text: str, *, name: str) -> Any:
    """A list or a matrix that was typed: JSON, or numbers with commas (``1/10, 1/5, 0.7``), rows with semicolons."""
    stripped = text.strip()
    if stripped.startswith("["):
        try:
            return json.loads(stripped, parse_float=Decimal)
        except (json.JSONDecodeError, RecursionError):
            raise ChannelError(name, text, "is not a JSON list", 'write [0.1, "1/3", …]') from None
    if not re.fullmatch(r"[-+.,;/\deE\s]+", stripped):
        raise ChannelError(
            name, text, "is neither a list of numbers nor a file", "write 1/10,1/5,7/10 or a JSON file's path"
        )
    rows = [[part.strip() for part in row.split(",")] for row in stripped.split(";")]
    return rows if len(rows) > 1 else rows[0]
