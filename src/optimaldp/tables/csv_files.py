"""CSV files: the first line names the columns and is public; all other lines are records, read as text and in one pass.

Nothing in the records decides how they are read: the delimiter comes from the first line or is declared, quotes, line ends and
the text of NULL are fixed, the encoding is UTF-8 or declared, and every column is text. A question says how a cell is read.

One line is one record. A quote opens a cell only at its beginning and never reaches past the end of its line; two quotes inside
are one. Missing cells are NULL, cells beyond the header are dropped, an empty cell (quoted or not) is NULL, an empty line is a
record of NULLs, and bytes that are no text make their own cell NULL.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from optimaldp.errors import TableError
from optimaldp.tables.canonical import LONGEST_CELL
from optimaldp.tables.engines import FED, DuckdbEngine
from optimaldp.tables.schema import OPEN, Schema, unique_names
from optimaldp.tables.source import Source, without_engine_message
from optimaldp.tables.sql import DUCKDB, SqlTable, Value
from optimaldp.tables.versions import read_as, version_of

UTF_8 = "utf-8"
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

        from optimaldp.tables import csv_lines  # with numpy

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


def likely_encoding(paths: Sequence[str]) -> str | None:
    """The encoding to propose for CSV files that do not seem to be UTF-8, else None: by the first lines that are not ASCII."""
    counts = {True: 0, False: 0}
    for path in paths:
        with closing(_unpacked(path) if path.lower().endswith(_PACKED) else open(path, "rb")) as file:
            lines = bytes(file.read(4 * _CHUNK)).split(b"\n")
        for line in lines if len(lines) == 1 else lines[:-1]:
            if not line.isascii():
                with suppress(UnicodeError):
                    line.decode(UTF_8)
                    counts[True] += 1
                    continue
                counts[False] += 1
    return "windows-1252" if counts[False] > counts[True] else None


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
                # Only the first line can be longer than a piece; where it is cut does not depend on what stands before it.
                first = rest.find(b"\n", 0, end)
                yield rest[:end] if first <= _LONGEST_LINE else rest[:_LONGEST_LINE] + rest[first:end]
                rest = rest[end:]
            piece = bytes(file.read(_CHUNK))
            if not piece:
                break
            if len(rest) > _LONGEST_LINE:
                rest = rest[: _LONGEST_LINE + 1]  # one byte more says that it is longer
                next_end = piece.find(b"\n")
                piece = piece[next_end:] if next_end >= 0 else b""
            rest += piece
    if rest:
        yield rest[:_LONGEST_LINE] + b"\n"


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
