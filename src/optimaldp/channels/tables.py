"""Tables of numbers as channels: CSV text and NumPy files."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np

from optimaldp.errors import ChannelError
from optimaldp.privacy.numbers import read_number


def rows_of_array(path: str) -> dict[str, Any]:
    """The document of a ``.npy`` file with a matrix of numbers; nothing in the file is ever executed."""
    try:
        array = np.load(path, allow_pickle=False)
    except OSError as error:
        reason = error.strerror or "it is not a NumPy file"
        raise ChannelError("file", path, f"cannot be read ({reason})", "check the path") from None
    except ValueError:
        raise ChannelError(
            "file", path, "is not a NumPy file with a matrix of numbers", "save it by numpy.save"
        ) from None
    if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "fiu":
        shape = getattr(array, "shape", "several arrays")
        raise ChannelError("file", path, f"does not hold one matrix of numbers ({shape})", "save a 2-dimensional array")
    return {"rows": array.astype(np.float64) if array.dtype.kind == "f" else array.tolist()}


def rows_of_csv(text: str, *, source: str) -> dict[str, Any]:
    """The document of a CSV table: one line for each input; decimals or ratios such as 1/3.

    A first line with something that is no number names the outputs, a first column with something that is none names the
    inputs; under an empty corner both are names, whatever they look like.

    >>> rows_of_csv(",+,-\\nsick,3/4,1/4\\nwell,1/4,3/4", source="text")
    {'rows': [['3/4', '1/4'], ['1/4', '3/4']], 'outputs': ['+', '-'], 'inputs': ['sick', 'well']}
    """
    lines = [
        [cell.strip() for cell in line] for line in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in line)
    ]
    if not lines:
        raise ChannelError("file", source, "has no rows", "write one line of probabilities for each input")
    outputs = lines.pop(0) if not all(map(_is_number, lines[0])) else None
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


def _is_number(cell: str) -> bool:
    try:
        read_number(cell, name="cell", error=ChannelError)
    except ChannelError:
        return False
    return True


def columns_of_csv(text: str, names: tuple[str, str], *, source: str) -> tuple[list[Any], list[Any]]:
    """Two columns of a CSV table with a header, as texts, or as numbers where all of a column are."""
    lines = list(csv.DictReader(io.StringIO(text), skipinitialspace=True))
    header = list(lines[0]) if lines else []
    missing = [name for name in names if name not in header]
    if missing:
        raise ChannelError(
            "samples", missing[0], f"is not a column of {source}", f"name two columns {names[0]} and {names[1]}"
        )
    first, second = (_typed([line[name] or "" for line in lines]) for name in names)
    return first, second


def _typed(column: list[str]) -> list[Any]:
    return [float(cell) for cell in column] if all(map(_is_decimal, column)) else list(column)


def _is_decimal(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return cell.strip().lower() not in ("nan", "inf", "-inf", "infinity", "-infinity")
