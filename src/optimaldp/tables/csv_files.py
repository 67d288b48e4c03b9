"""Many lines of a CSV cut into cells at once. No line has a say in how another is read.

Lines whose quotes are in their usual places (nearly all) are cut by arrays; the others by the loop of
:func:`optimaldp.tables.csv_files.split_line`, which is what a line means.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from optimaldp.errors import TableError
from optimaldp.tables.canonical import LONGEST_CELL
from optimaldp.tables.engines import FED, DuckdbEngine
from optimaldp.tables.schema import OPEN, Schema, unique_names
from optimaldp.tables.source import Source, without_engine_message
from optimaldp.tables.sql import DUCKDB, SqlTable, Value
from optimaldp.tables.versions import read_as, version_of

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
    """The bytes of one cell as text; None where they are none."""
    try:
        return None if cell is None else cell.decode(encoding)
    except UnicodeError:
        return None


# CSV files: the first line names the columns and is public; all other lines are records, read as text and in one pass.
#
# Nothing in the records decides how they are read: the delimiter comes from the first line or is declared, quotes, line
# ends and
# the text of NULL are fixed, the encoding is UTF-8 or declared, and every column is text. A question says how a cell is
# read.
#
# One line is one record. A quote opens a cell only at its beginning and never reaches past the end of its line; two
# quotes inside
# are one. Missing cells are NULL, cells beyond the header are dropped, an empty cell (quoted or not) is NULL, an empty
# line is a
# record of NULLs, and bytes that are no text make their own cell NULL.


DELIMITERS = (",", ";", "\t", "|")
_CHUNK = 4 * 2**20  # bytes that are cut at a time: memory stays flat, arrays stay long
_LONGEST_LINE = 16 * 2**20  # bytes: a line beyond is cut off there, so that it cannot exhaust the memory
_LONGEST_HEADER = 2**20
_SMALL = 2**20  # bytes: up to here a loop over the lines is quicker than importing Arrow
_BOM = b"\xef\xbb\xbf"
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
_PACKED = tuple(_COMPRESSED)


@dataclass(frozen=True)
class CsvFiles:
    """CSV files with one header: what is public about them, and how their records are read."""

    paths: tuple[str, ...]
    delimiter: str
    encoding: str
    columns: tuple[str, ...]

    def fill(self, connection: Any, query: SqlTable) -> None:
        """Make the records known to an engine: as lists where there are few, which needs no Arrow, else as a stream."""
        wanted = [name for name in self.columns if name in query.needs] or [self.columns[0]]
        few = self.few(wanted)
        if few is None:
            connection.register(FED, self.reader(wanted))
        else:
            columns = ", ".join(f"UNNEST(CAST(? AS VARCHAR[])) AS c{self.columns.index(name)}" for name in wanted)
            connection.execute(f"CREATE TEMP TABLE {FED} AS SELECT {columns}", few)

    def reader(self, wanted: Sequence[str]) -> Any:
        """The records as a stream of Arrow batches with the *wanted* columns, read from the beginning.

        The columns are called c and their number, as in a query: no name of a file reaches the engine.
        """
        import pyarrow as pa

        places = [self.columns.index(name) for name in wanted]
        schema = pa.schema([(f"c{place}", pa.string()) for place in places])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, places))

    def few(self, wanted: Sequence[str]) -> list[list[str | None]] | None:
        """The cells of the *wanted* columns if the files are small, else None.

        Cut by the loop that says what a line means: importing what cuts long files takes longer than a small one.
        """
        packed = any(path.lower().endswith(_PACKED) for path in self.paths)
        if packed or sum(map(os.path.getsize, self.paths)) > _SMALL:
            return None
        mark, places = self.delimiter.encode(), [self.columns.index(name) for name in wanted]
        columns: list[list[str | None]] = [[] for _ in places]
        for path in self.paths:
            with open(path, "rb") as file:
                lines = file.read().split(b"\n")[1:]
            if lines and not lines[-1]:
                lines.pop()  # behind the end of the last line there is none
            for line in lines:
                cells = split_line(line.removesuffix(b"\r"), mark)
                for place, column in zip(places, columns):
                    cell = cells[place] if place < len(cells) else b""
                    # NULL where the line has no such cell, where it is empty and where its bytes are no text.
                    try:
                        column.append(cell.decode(self.encoding) if cell else None)
                    except UnicodeError:
                        column.append(None)
        return columns

    def _batches(self, schema: object, places: list[int]) -> Iterator[Any]:
        import pyarrow as pa

        from optimaldp.tables import csv_files as csv_lines  # with numpy

        mark = self.delimiter.encode()
        for path in self.paths:
            for text in _whole_lines(path):
                lines = csv_lines.cut(text, mark, places)
                if lines.records:
                    arrays = [csv_lines.text_array(cells, self.encoding) for cells in lines.columns]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
                if lines.odd:
                    cut = [split_line(line, mark) for line in lines.odd]
                    columns = [
                        [_bounded(cells[place]) if place < len(cells) else None for cells in cut] for place in places
                    ]
                    arrays = [csv_lines.decoded(pa.array(column, pa.binary()), self.encoding) for column in columns]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _bounded(cell: bytes) -> bytes | None:
    return cell if 0 < len(cell) <= LONGEST_CELL else None


def open_csv(paths: list[str], label: str, *, delimiter: str | None = None, encoding: str | None = None) -> Source:
    """CSV files as one table. The first line of each is read; nothing else is looked at."""
    codec = known_encoding(encoding) if encoding else UTF_8
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'):
        rule = "is not one character that can separate cells"
        raise TableError("delimiter", delimiter, rule, f"for example one of {' '.join(map(repr, DELIMITERS))}")
    mark, names = without_engine_message(label, "opened", lambda: _header(paths, codec, delimiter))
    files = CsvFiles(tuple(paths), mark, codec, unique_names(names))

    def version() -> str:
        own = without_engine_message(label, "read", lambda: version_of(paths))
        return own if delimiter is None and encoding is None else read_as(own, (delimiter, encoding))

    columns = {
        name: Value(f"t.c{place}", "string", DUCKDB, frozenset([name])) for place, name in enumerate(files.columns)
    }
    schema = Schema(tuple((name, OPEN) for name in columns))
    return Source(SqlTable(FED, columns, DUCKDB), schema, label, DuckdbEngine(fill=files.fill), version)


def known_encoding(name: str) -> str:
    """The codec of that name, if ASCII means itself in it: only then can lines and cells be cut before they are decoded."""
    try:
        codec = codecs.lookup(name)
        ascii_safe = codec.decode(bytes(range(128)))[0] == bytes(range(128)).decode("ascii")
    except (LookupError, ValueError, TypeError, AttributeError):
        ascii_safe = False
    if not ascii_safe:
        rule = "is not an encoding in which ASCII stays as it is"
        raise TableError("encoding", name, rule, "utf-8, latin-1 or cp1252 for example; convert other files first")
    return codec.name


def _header(paths: list[str], codec: str, delimiter: str | None) -> tuple[str, tuple[str, ...]]:
    """The delimiter and the names in the first line of files.

    It is public, so its text may be shown: what does not look like one line of names is refused unseen.
    """
    remedy = "a CSV starts with a line that names its columns, and lines end with a line feed"
    mark = delimiter or ""
    known: list[tuple[str, ...]] = []
    for path in paths:
        with closing(_unpacked(path) if path.lower().endswith(_PACKED) else open(path, "rb")) as file:
            text = bytes(file.read(_LONGEST_HEADER))
        line, newline, _ = text.removeprefix(_BOM).partition(b"\n")
        line = line.removesuffix(b"\r")
        if not text:
            raise TableError("data", path, "is empty: not even a header line", remedy)
        if not newline and len(text) == _LONGEST_HEADER:
            raise TableError("data", path, "has no end of line in its first million bytes", remedy)
        if b"\r" in line or b"\0" in line:
            raise TableError("data", path, "is not a text file with one record in each line", remedy)
        header: str | None = None
        with suppress(UnicodeError):
            header = line.decode(codec)
        if header is None:
            remedy = "declare its encoding, for example --encoding latin-1, or encoding='latin-1'"
            raise TableError("data", path, f"has a first line that is not {codec}", remedy)
        # The delimiter that the first header holds most often, outside of quotes; a comma if it holds none.
        mark = mark or max(DELIMITERS, key="".join(header.split('"')[::2]).count)
        cells = split_line(header.encode(codec), mark.encode())
        known.append(tuple(cell.decode(codec).strip() for cell in cells))
        if known[-1] != known[0]:
            rule = f"has another first line than {paths[0]}"
            raise TableError("data", path, rule, "files that are read as one table name the same columns")
    return mark, known[0]


def _unpacked(path: str) -> Any:
    """The bytes of a file whose name says that they are packed."""
    import pyarrow as pa

    codec = next(codec for ending, codec in _COMPRESSED.items() if path.lower().endswith(ending))
    return pa.input_stream(path, compression=codec)


def _whole_lines(path: str) -> Iterator[bytes]:
    """The records of a file in pieces that end with the end of a line."""
    with closing(_unpacked(path) if path.lower().endswith(_PACKED) else open(path, "rb")) as file:
        rest = bytes(file.read(_LONGEST_HEADER)).partition(b"\n")[2]
        while True:
            end = rest.rfind(b"\n") + 1
            if end:
                yield rest[:end]
                rest = rest[end:]
            piece = bytes(file.read(_CHUNK))
            if not piece:
                break
            if len(rest) > _LONGEST_LINE:
                next_end = piece.find(b"\n")
                piece = piece[next_end:] if next_end >= 0 else b""
            rest += piece
    if rest:
        yield rest + b"\n"


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
