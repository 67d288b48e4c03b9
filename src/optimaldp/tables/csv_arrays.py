"""Cells of a CSV as Arrow arrays of text; bytes that are no text make their own cell NULL and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optimaldp.tables.csv_files import UTF_8

if TYPE_CHECKING:
    from optimaldp.tables.csv_lines import Cells

_FEW = 64  # cells that are looked at one by one


def text_array(cells: Cells, encoding: str) -> Any:
    """The cells of one column as text."""
    import numpy as np
    import pyarrow as pa

    lengths = cells.end - cells.start
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
    """The bytes of one cell as text; None where they are none."""
    try:
        return None if cell is None else cell.decode(encoding)
    except UnicodeError:
        return None
