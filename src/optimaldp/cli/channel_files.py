"""What the channel commands are given: channels as JSON, CSV or .npy, graphs, numbers that were typed, and samples."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.cli.files import read_json, read_text
from optimaldp.errors import ChannelError, GraphError

if TYPE_CHECKING:
    from optimaldp.channels import AnswerGraph, Channel
    from optimaldp.channels.vulnerability import Prior

FAMILIES = "path:6, ring:7, clique:5, hypercube:3, grid:3x4, tree:2x2, histograms:4x3"


def channel_from(path: str, prior: str | None = None) -> tuple[Channel, Prior]:
    """A channel and its prior from a file (``-`` is standard input); a prior that was typed takes the place of the file's."""
    return channel_from_document(document_from(path), prior)


def channel_from_document(document: dict[str, Any], prior: str | None = None) -> tuple[Channel, Prior]:
    """The same from a document that was read."""
    from optimaldp.channels.reading import read_channel  # numpy

    return read_channel(document if prior is None else document | {"prior": numbers_from(prior, "prior")})


def document_from(path: str) -> dict[str, Any]:
    """A channel's document: JSON as it is, a table of numbers (CSV, ``.npy``) as the rows that it holds."""
    from optimaldp.channels.reading import rows_of_array, rows_of_csv  # numpy
    from optimaldp.documents.json_text import read_json_text  # exact numbers: not for a page of help

    if path.lower().endswith(".npy"):
        return rows_of_array(path)
    text = read_text(path)
    if path.lower().endswith(".csv") or (path == "-" and text.strip() and text.lstrip()[0] not in "{["):
        return rows_of_csv(text, source=path)
    document = read_json_text(text, source=path)
    if isinstance(document, list):
        return {"rows": document}
    if not isinstance(document, dict):
        raise ChannelError("channel", document, "is not an object with inputs, outputs and rows")
    return document


def graph_from(text: str) -> AnswerGraph:
    """A graph by the name of its family, or from a JSON file."""
    from optimaldp.channels.answer_graph import AnswerGraph
    from optimaldp.channels.reading import read_graph_name  # numpy

    named = read_graph_name(text)
    if named is not None:
        return named
    if text != "-" and not is_file(text):
        raise GraphError("graph", text, "is neither a family nor a file", f"write {FAMILIES} or a JSON file's path")
    return AnswerGraph.from_document(read_json(text))


def numbers_from(text: str, name: str) -> Any:
    """Numbers that were typed, or those of a JSON file."""
    from optimaldp.channels.reading import read_numbers  # numpy

    return read_json(text) if text == "-" or is_file(text) else read_numbers(text, name=name)


def is_file(text: str) -> bool:
    """Whether a text names a file; numbers that were typed may be longer than any name of a file."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def samples_from(path: str, first: str, second: str) -> tuple[list[Any], list[Any]]:
    """Two lists of samples: a JSON object with the two names, or a CSV file with two columns of these names."""
    from optimaldp.channels.reading import columns_of_csv  # numpy

    if path.lower().endswith(".csv"):
        return columns_of_csv(read_text(path), (first, second), source=path)
    document = read_json(path)
    if not isinstance(document, dict) or set(document) != {first, second}:
        raise ChannelError("samples", document, f"is not an object with the two lists {first} and {second}")
    for name in (first, second):
        if not isinstance(document[name], list):
            raise ChannelError(name, document[name], "is not a list")
    return [_plain(value) for value in document[first]], [_plain(value) for value in document[second]]


def _plain(value: object) -> Any:
    """A sample as it can be counted: lists as tuples, decimals as floats."""
    if isinstance(value, list):
        return tuple(_plain(part) for part in value)
    if isinstance(value, (Decimal, float)):
        return float(value)
    if value is not None and not isinstance(value, (str, int)):
        raise ChannelError("sample", value, "is neither a text nor a number nor a list of them")
    return value
