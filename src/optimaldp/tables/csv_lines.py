"""Many lines of a CSV cut into cells at once. No line has a say in how another is read.

Lines whose quotes are in their usual places (nearly all) are cut by arrays; the others by the loop of
:func:`optimaldp.tables.csv_files.split_line`, which is what a line means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optimaldp.tables.canonical import LONGEST_CELL

UTF_8 = "utf-8"
QUOTE, NEWLINE, RETURN = 0x22, 0x0A, 0x0D
Positions = np.ndarray[Any, np.dtype[np.int64]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Marks = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Cells:
    """Cells of one column as slices of a text: each from *start* to *end*, NULL where they are equal."""

    data: Bytes
    start: Positions
    end: Positions
    doubled: bool
    """Whether some cell holds two quotes that stand for one."""


@dataclass(frozen=True)
class Lines:
    """Whole lines, of which some columns were cut by arrays; *odd* are the lines that the loop has to cut."""

    columns: tuple[Cells, ...]
    odd: tuple[bytes, ...]
    records: int
    """How many lines were cut by arrays."""


def cut(text: bytes, delimiter: bytes, wanted: Sequence[int]) -> Lines:
    """Cut the columns *wanted* out of whole lines; *text* ends with the end of a line."""
    data = np.frombuffer(text, dtype=np.uint8)
    mark = delimiter[0]
    # The quick question first: most files have no quote at all.
    if text.find(b'"') < 0:
        places = np.flatnonzero((data == mark) | (data == NEWLINE))
        return Lines(_columns(data, places, data[places] == NEWLINE, None, wanted, doubled=False), (), _count(data))
    places, ends, odd, doubled = _outside_quotes(data, mark)
    columns = _columns(data, places, ends, odd, wanted, doubled=doubled)
    if odd is None:
        return Lines(columns, (), int(ends.sum()))
    stops = places[ends]
    starts = np.concatenate(([0], stops[:-1] + 1))
    loose = tuple(_bare(text[starts[line] : stops[line]]) for line in np.flatnonzero(odd))
    return Lines(columns, loose, int(ends.sum()) - len(loose))


def _count(data: Bytes) -> int:
    return int((data == NEWLINE).sum())


def _bare(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\r") else line


def _outside_quotes(data: Bytes, mark: int) -> tuple[Positions, Marks, Marks | None, bool]:
    """Where cells and lines end, not looking into quotes; which lines are odd; whether there are doubled quotes.

    Quotes are in their usual places if each opening one follows the start of a line, a delimiter or a closing quote, each closing
    one precedes a delimiter, the end of the line or an opening quote, and a line closes what it opens. Then a delimiter separates
    exactly if an even number of quotes stands before it in its line.
    """
    places = np.flatnonzero((data == mark) | (data == NEWLINE) | (data == QUOTE))
    codes = data[places]
    quotes, newlines = codes == QUOTE, codes == NEWLINE
    before = np.cumsum(quotes) - quotes
    line = np.cumsum(newlines) - newlines
    at_start = np.concatenate(([0], before[newlines]))
    inside = ((before - at_start[line]) & 1).astype(bool)
    follows = np.diff(places, prepend=-1) == 1  # right after another mark, or at the very start
    precedes = np.concatenate((follows[1:], [False]))
    precedes |= np.concatenate((newlines[1:], [False])) & _return_at(data, places + 1) & _two_apart(places)
    wrong = (quotes & np.where(inside, ~precedes, ~follows)) | (newlines & inside)
    doubled = bool((quotes[1:] & ~inside[1:] & quotes[:-1] & follows[1:]).any())
    structural = newlines | (~quotes & ~inside)
    odd = None
    if wrong.any():
        odd = np.zeros(int(newlines.sum()), dtype=bool)
        odd[line[wrong]] = True
    return places[structural], newlines[structural], odd, doubled


def _return_at(data: Bytes, places: Positions) -> Marks:
    return np.asarray(data[np.minimum(places, len(data) - 1)] == RETURN)


def _two_apart(places: Positions) -> Marks:
    return np.asarray(np.diff(places, append=-1) == 2)


def _columns(
    data: Bytes, places: Positions, ends: Marks, odd: Marks | None, wanted: Sequence[int], *, doubled: bool
) -> tuple[Cells, ...]:
    """The cells of some columns, from where cells and lines end."""
    bounds = np.concatenate((np.array([-1], dtype=places.dtype), places))
    last = np.flatnonzero(ends) + 1
    first = np.concatenate((np.array([0], dtype=last.dtype), last[:-1]))
    if odd is not None:
        first, last = first[~odd], last[~odd]
    return tuple(_column(data, bounds, first + place, last, doubled=doubled) for place in wanted)


def _column(data: Bytes, bounds: Positions, left: Positions, last: Positions, *, doubled: bool) -> Cells:
    """One cell for each line, from the mark *left* of it; a line that ends before has none."""
    missing = left >= last
    left = np.minimum(left, last - 1)
    start, end = bounds[left] + 1, bounds[left + 1].copy()
    # The end of a line may be two bytes long.
    final = np.flatnonzero((left + 1 == last) & (end > start))
    end[final] -= data[end[final] - 1] == RETURN
    quoted = np.flatnonzero((data[np.minimum(start, len(data) - 1)] == QUOTE) & (end - start >= 2))
    start[quoted] += 1
    end[quoted] -= 1
    end[missing] = start[missing]
    return Cells(data, start, end, doubled)


_FEW = 64  # cells that are looked at one by one


def text_array(cells: Cells, encoding: str) -> Any:
    """The cells of one column as text."""
    import pyarrow as pa

    lengths = cells.end - cells.start
    lengths[lengths > LONGEST_CELL] = 0
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    # Each byte of the result comes from its cell's start plus its distance from the cell's first byte.
    source = np.repeat(cells.start - offsets[:-1], lengths) + np.arange(offsets[-1])
    values = cells.data[source]
    present = pa.py_buffer(np.packbits(lengths > 0, bitorder="little"))
    buffers = [present, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(values)]
    if len(values) == 0 or values.max() < 128:
        array = pa.Array.from_buffers(pa.string(), len(lengths), buffers)
    else:
        array = decoded(pa.Array.from_buffers(pa.binary(), len(lengths), buffers), encoding)
    return _undoubled(array) if cells.doubled else array


def _undoubled(array: object) -> Any:
    """Two quotes inside of quotes are one; outside of quotes these lines have none."""
    import pyarrow.compute as pc

    return pc.replace_substring(array, pattern='""', replacement='"')


def decoded(array: Any, encoding: str) -> Any:
    """Bytes as text; what cannot be decoded is NULL."""
    import pyarrow as pa

    if encoding == UTF_8:
        return _valid_text(array)
    dictionary = array.dictionary_encode()
    texts = pa.array([_decoded_cell(cell, encoding) for cell in dictionary.dictionary.to_pylist()], pa.string())
    return texts.take(dictionary.indices)


def _valid_text(array: Any) -> Any:
    """UTF-8, checked by halves: one cell that is none costs a few looks more, whatever the others are."""
    import pyarrow as pa

    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:
        pass
    if len(array) <= _FEW:
        return pa.array([_decoded_cell(cell, UTF_8) for cell in array.to_pylist()], pa.string())
    middle = len(array) // 2
    return pa.concat_arrays([_valid_text(array[:middle]), _valid_text(array[middle:])])


def _decoded_cell(cell: bytes | None, encoding: str) -> str | None:
    """The bytes of one cell as text; undecodable bytes become None."""
    try:
        return None if cell is None else cell.decode(encoding)
    except UnicodeError:
        return None
