"""Lines are cut by arrays exactly as by the rules, written as a loop; and no line changes how another is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from optimaldp.errors import TableError
from optimaldp.tables import csv_files
from optimaldp.tables.csv_files import open_csv, split_line

CALM = settings(max_examples=300, deadline=None)
PIECES = [b"a", b",", b'"', b"\r", b"x y", b'""', b",,", b'","', b"\xc3\xa9", b"\xff", b"\x80", b"1", b";", b" "]
LINES = st.lists(st.lists(st.sampled_from(PIECES), max_size=7).map(b"".join), max_size=8)


def read(path: Path, **settings: str) -> list[tuple[str | None, ...]]:
    files = open_csv([str(path)], "t", **settings).engine.fill.__self__
    table = files.reader(files.columns).read_all()
    return [tuple(row.values()) for row in table.to_pylist()]


def by_rules(line: bytes, columns: int, encoding: str = "utf-8") -> tuple[str | None, ...]:
    """One record from one line: what the page on tables says, in a few lines of Python."""
    cells: list[str | None] = []
    for cell in split_line(line.removesuffix(b"\r"), b","):
        try:
            cells.append(cell.decode(encoding) or None)
        except UnicodeError:
            cells.append(None)
    return tuple((cells + [None] * columns)[:columns])


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        (b"a,b,c", [b"a", b"b", b"c"]),
        (b"", [b""]),
        (b",", [b"", b""]),
        (b'"a,b",c', [b"a,b", b"c"]),
        (b'"a ""b""",c', [b'a "b"', b"c"]),
        (b'"a,b', [b"a,b"]),
        (b'x,"', [b"x", b""]),
        (b'5" pipe,b', [b'5" pipe', b"b"]),
        (b'a"b"c,d', [b'a"b"c', b"d"]),
        (b'"a"b,c', [b"ab", b"c"]),
        (b'"a"b"c",d', [b'ab"c"', b"d"]),
        (b' "a",b', [b' "a"', b"b"]),
        (b'"",b', [b"", b"b"]),
        (b'"""",b', [b'"', b"b"]),
        (b'"""', [b'"']),
        (b'"a""', [b'a"']),
    ],
)
def test_the_rules_of_a_line(line: bytes, cells: list[bytes]) -> None:
    assert split_line(line, b",") == cells


@pytest.mark.long
@CALM
@example(
    lines=[b"b\r", b'""b\r\r', b'"""a"\r\r', b""], ends=b"\n", final=True
)  # a quote before two returns closes nothing
@given(lines=LINES, ends=st.sampled_from([b"\n", b"\r\n"]), final=st.booleans())
def test_arrays_cut_lines_as_the_rules_do(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ends: bytes, final: bool
) -> None:
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    content = ends.join([b"a,b,c", *lines]) + (ends if final else b"")
    path.write_bytes(content)
    _, *written = content.split(b"\n")
    kept = written if not written or written[-1] else written[:-1]  # behind the last end of a line there is none
    assert sorted(read(path), key=repr) == sorted((by_rules(line, 3) for line in kept), key=repr)


@pytest.mark.long
@CALM
@given(lines=LINES, other=LINES, place=st.integers(0, 8))
def test_a_line_is_read_the_same_whatever_stands_around_it(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], other: list[bytes], place: int
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    together, alone = folder / "t.csv", folder / "alone.csv"
    place = min(place, len(lines))
    together.write_bytes(b"\n".join([b"a,b,c", *lines[:place], *other, *lines[place:], b""]))
    alone.write_bytes(b"\n".join([b"a,b,c", *lines, b""]))
    more = [by_rules(line, 3) for line in other]
    assert sorted(read(together), key=repr) == sorted(read(alone) + more, key=repr)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7])
def test_pieces_of_a_file_are_joined_at_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    path = tmp_path / "t.csv"
    lines = [b"one,1", b"", b'"tw,o",2', b'th"ree,3', b"last"]
    path.write_bytes(b"\n".join([b"a,b", *lines]))
    monkeypatch.setattr(csv_files, "_CHUNK", chunk)
    monkeypatch.setattr(csv_files, "_LONGEST_HEADER", 8)
    assert sorted(read(path), key=repr) == sorted((by_rules(line, 2) for line in lines), key=repr)


def test_a_line_without_an_end_in_sight_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"x" * 1000 + b",lost\nnext,1\n")
    monkeypatch.setattr(csv_files, "_CHUNK", 10)
    monkeypatch.setattr(csv_files, "_LONGEST_HEADER", 16)
    monkeypatch.setattr(csv_files, "_LONGEST_LINE", 20)
    long, following = sorted(read(path), key=repr, reverse=True)
    assert following == ("next", "1")
    assert long[0] is not None
    assert (set(long[0]), long[1]) == ({"x"}, None)


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (b"a,b;c,d", ("a", "b;c", "d")),
        (b"a;b,c;d", ("a", "b,c", "d")),
        (b"a\tb", ("a", "b")),
        (b"a|b|c;d", ("a", "b", "c;d")),
        (b'"a;b;c",d', ("a;b;c", "d")),
        (b"alone", ("alone",)),
        (b"\xef\xbb\xbfage,name", ("age", "name")),
        (b"age,name\r", ("age", "name")),
        (b" age , name", ("age", "name")),
        (b"age,Age,,age", ("age", "Age_2", "column3", "age_3")),
        (b'"open,to the end', ("open,to the end",)),
        ("größe,b".encode(), ("größe", "b")),
    ],
)
def test_the_header_names_the_columns(tmp_path: Path, header: bytes, names: tuple[str, ...]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"\n1;2;3,4,5|6|7|8\t9\n")
    assert open_csv([str(path)], "t").schema.names == names


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not even a header line"),
        (b"a,b\rSECRET,1\rSECRET,2\r", "one record in each line"),
        (b"a,b\0SECRET\n", "one record in each line"),
        (b"gr\xf6\xdfe,b\nSECRET,2\n", "is not utf-8"),
        (b"x" * 2**20, "first million bytes"),
    ],
)
def test_what_has_no_header_is_refused_unseen(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableError) as caught:
        open_csv([str(path)], "t")
    assert words in str(caught.value)
    assert "SECRET" not in str(caught.value) + repr(vars(caught.value))
    assert caught.value.__context__ is None


def test_encodings_are_declared_and_never_found(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("größe,ort\nMünster,1\nRom,2\n".encode("latin-1"))
    assert read(path, encoding="latin-1") == [("Münster", "1"), ("Rom", "2")]
    path.write_bytes("a,ort\nMünster,1\nRom,é\n".encode("latin-1"))
    assert read(path) == [(None, "1"), ("Rom", None)]
    path.write_bytes(b"a,b\n\x81,x\n\x80,y\n")
    assert read(path, encoding="cp1252") == [(None, "x"), ("€", "y")]
    for name in ("utf-16", "utf-7", "cp037", "nonsense", "hex"):
        with pytest.raises(TableError, match="ASCII"):
            open_csv([str(path)], "t", encoding=name)


@pytest.mark.parametrize("mark", ["", ",,", '"', "\n", "é"])
def test_a_delimiter_is_one_character(tmp_path: Path, mark: str) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a#b\n1#2\n")
    assert read(path, delimiter="#") == [("1", "2")]
    with pytest.raises(TableError, match="one character"):
        open_csv([str(path)], "t", delimiter=mark)


def test_files_of_one_table_have_one_header(tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_bytes(b"a,b\n1,2\n")
    second.write_bytes(b"a,c\n3,4\n")
    with pytest.raises(TableError, match="another first line"):
        open_csv([str(first), str(second)], "t")
    second.write_bytes(b"\xef\xbb\xbfa,b\r\n3,4")
    both = open_csv([str(first), str(second)], "t").engine.fill.__self__
    assert both.reader(["b"]).read_all().to_pydict() == {"c1": ["2", "4"]}


@pytest.mark.parametrize("broken", [b"\x80", b"a\x80", b"\xc3", b"\xff"])
def test_a_cell_that_is_no_text_is_null_where_all_else_is_plain(tmp_path: Path, broken: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(b"x,y\n1," + broken + b"\n2,b\n")
    assert read(tmp_path / "a.csv") == [("1", None), ("2", "b")]


def test_the_file_that_differs_is_named_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "same.csv").write_text("a,b\n1,2\n")
    (tmp_path / "other.csv").write_text("a,c\n1,2\n")
    same, other = str(tmp_path / "same.csv"), str(tmp_path / "other.csv")
    for paths in ([same, other, same], [same, same, other], [same, other]):
        with pytest.raises(TableError, match=r"other\.csv' has another first line than .*same\.csv"):
            open_csv(paths, "t")


def test_a_carriage_return_before_a_delimiter_is_part_of_its_cell(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\nx\r,y\r\n\r,\r\n")
    files = open_csv([str(tmp_path / "t.csv")], "t").engine.fill.__self__
    cells = files.reader(["a", "b"]).read_all().to_pydict()
    assert cells == {"c0": ["x\r", "\r"], "c1": ["y", None]}
    assert files.few(["a", "b"]) == list(cells.values())
