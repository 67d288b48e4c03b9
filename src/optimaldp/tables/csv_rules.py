"""The rules of a line in a CSV, byte by byte. One line is one record.

A quote opens a cell only at its beginning and never reaches past the end of its line; two quotes inside are one. Missing cells
are NULL, cells beyond the header are dropped, an empty cell (quoted or not) is NULL, an empty line is a record of NULLs.
"""

from __future__ import annotations

from collections.abc import Sequence


def split_line(line: bytes, delimiter: bytes) -> list[bytes]:
    """The cells of one line, without its end: the rules, byte by byte.

    >>> split_line(b'a,"b, c",5" pipe,"open, to the end', b",")
    [b'a', b'b, c', b'5" pipe', b'open, to the end']
    """
    if b'"' not in line:
        return line.split(delimiter)
    cells: list[bytes] = []
    place = 0
    while True:
        quoted = b""
        if line[place : place + 1] == b'"':
            quoted, place = _quoted(line, place + 1)
        end = line.find(delimiter, place)
        if end < 0:
            return [*cells, quoted + line[place:]]
        cells.append(quoted + line[place:end])
        place = end + 1


def _quoted(line: bytes, place: int) -> tuple[bytes, int]:
    """What stands between quotes from *place* on, and where it ends; without a closing quote, at the end of the line."""
    parts: list[bytes] = []
    while True:
        end = line.find(b'"', place)
        if end < 0:
            return b'"'.join([*parts, line[place:]]), len(line)
        parts.append(line[place:end])
        if line[end + 1 : end + 2] != b'"':
            return b'"'.join(parts), end + 1
        place = end + 2


def loose_column(lines: Sequence[list[bytes]], place: int) -> list[bytes | None]:
    """One column of lines that were cut by the loop."""
    return [(cells[place] or None) if place < len(cells) else None for cells in lines]
