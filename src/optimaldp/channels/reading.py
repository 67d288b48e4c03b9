"""Channels, graphs, priors and gains from files and from what people type."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from optimaldp.channels.answer_graph import AnswerGraph
from optimaldp.channels.channel import Channel
from optimaldp.channels.numbers import TOLERANCE
from optimaldp.channels.vulnerability import Prior, read_prior
from optimaldp.errors import ChannelError, GraphError
from optimaldp.privacy.numbers import read_number

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


# Tables of numbers as channels: CSV text and NumPy files.


_DELIMITERS = ",;\t|"
_HEADINGS = {
    "input",
    "inputs",
    "secret",
    "secrets",
    "name",
    "names",
    "answer",
    "answers",
    "index",
    "row",
}  # of the inputs' column


def rows_of_array(path: str) -> dict[str, Any]:
    """The document of a ``.npy`` file with a matrix of numbers; nothing in the file is ever executed."""
    try:
        with Path(path).open("rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
    except OSError as error:
        reason = error.strerror or "it is not a NumPy file"
        raise ChannelError("file", path, f"cannot be read ({reason})", "check the path") from None
    except (ValueError, EOFError, MemoryError):
        raise ChannelError(
            "file", path, "is not a NumPy file with a matrix of numbers", "save it by numpy.save"
        ) from None
    if array.ndim != 2 or array.dtype.kind not in "fiu":
        held = f"an array of {array.dtype} with shape {array.shape}"
        raise ChannelError(
            "file", path, f"holds {held}, not a matrix of numbers", "save a 2-dimensional array of floats"
        )
    return {"rows": array if array.dtype.kind == "f" else array.tolist()}


def rows_of_csv(text: str, *, source: str) -> dict[str, Any]:
    """The document of a CSV table: one line for each input; decimals or ratios such as 1/3.

    A first line without any number names the outputs, a first column with something that is none names the inputs; under
    an empty corner both are names, whatever they look like. A first line that may be either is refused: a slip of the pen
    in a probability must not turn a row into names.

    >>> rows_of_csv(",+,-\\nsick,3/4,1/4\\nwell,1/4,3/4", source="text")
    {'rows': [['3/4', '1/4'], ['1/4', '3/4']], 'outputs': ['+', '-'], 'inputs': ['sick', 'well']}
    >>> rows_of_csv("sick,3/4,1/4\\nwell,1/4,3/4", source="text")
    {'rows': [['3/4', '1/4'], ['1/4', '3/4']], 'inputs': ['sick', 'well']}
    """
    lines = [[cell.strip() for cell in line] for line in _cells(text) if any(cell.strip() for cell in line)]
    if not lines:
        raise ChannelError("file", source, "has no rows", "write one line of probabilities for each input")
    outputs = lines.pop(0) if _names_outputs(lines[0], source) else None
    cornered = outputs is not None and not outputs[0]
    named = bool(lines) and (cornered or not all(_is_number(line[0]) for line in lines))
    inputs = [line.pop(0) for line in lines] if named else None
    if outputs is not None and named:
        outputs = outputs[1:]
    document: dict[str, Any] = {"rows": lines}
    if outputs is not None:
        document["outputs"] = outputs
    if inputs is not None:
        document["inputs"] = inputs
    return document


def _cells(text: str) -> Iterator[list[str]]:
    """The cells of each line, parted by whichever of ``, ; tab |`` the first line with something in it uses most."""
    plain = text.removeprefix("\ufeff")
    first = next((line for line in plain.splitlines() if line.strip()), "")
    try:
        yield from csv.reader(io.StringIO(plain), delimiter=max(_DELIMITERS, key=first.count))
    except csv.Error as error:
        raise ChannelError(
            "file", first[:40], f"begins a text that is not CSV ({error})", "part cells by commas"
        ) from None


def _names_outputs(first: list[str], source: str) -> bool:
    """Whether the first line holds the names of the outputs, and not the first input's probabilities."""
    numbers = [_is_number(cell) for cell in first]
    if not first[0] or not any(numbers):
        return True
    if all(numbers):
        return False
    if not numbers[0] and all(numbers[1:]):
        chances = [read_number(cell, name="cell", error=ChannelError) for cell in first[1:]]
        names = all(chance.denominator == 1 for chance in chances) and len(set(chances)) == len(chances)
        if names and first[0].lower() in _HEADINGS:
            return True
        if not names and abs(sum(chances, Fraction(-1))) <= TOLERANCE:
            return False  # the name of an input before its probabilities
    raise ChannelError(
        "first line",
        ",".join(first),
        f"of {source} mixes names and numbers: it may name the outputs or be the first input's probabilities",
        "start it with an empty cell if it names the outputs, or put such a line above it",
    )


def _is_number(cell: str) -> bool:
    try:
        read_number(cell, name="cell", error=ChannelError)
    except ChannelError:
        return False
    return True


def columns_of_csv(text: str, names: tuple[str, str], *, source: str) -> tuple[list[Any], list[Any]]:
    """Two columns of a CSV table with a header, as texts, or as numbers where all of a column are."""
    table = [[cell.strip() for cell in line] for line in _cells(text) if line]
    header = table[0] if table else []
    missing = [name for name in names if name not in header]
    if missing:
        raise ChannelError(
            "samples", missing[0], f"is not a column of {source}", f"name two columns {names[0]} and {names[1]}"
        )
    places = [header.index(name) for name in names]
    first, second = (_typed([line[k] if k < len(line) else "" for line in table[1:]]) for k in places)
    return first, second


def _typed(column: list[str]) -> list[Any]:
    return [float(cell) for cell in column] if all(map(_is_decimal, column)) else list(column)


def _is_decimal(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.strip().lower() not in ("nan", "inf", "-inf", "infinity", "-infinity")
