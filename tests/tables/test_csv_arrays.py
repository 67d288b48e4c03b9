"""Cells that are cut by arrays mean what the loop says: doubled quotes, letters of several bytes, bytes that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimaldp.tables.csv_files import open_csv


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        ([b'"x""y"', b"z"], ['x"y', "z"]),
        ([b'""""', b'"x"'], ['"', "x"]),
        ([b'"x"', b"z"], ["x", "z"]),
        ([b'""', b"z", b"", b'"a b"'], [None, "z", None, "a b"]),
        (["ä".encode(), b"\xff", b"z"], ["ä", None, "z"]),
        ([b'"\xc3\xa4""\xc3\xa4"', b"\xff"], ['ä"ä', None]),
    ],
)
def test_cells_are_what_the_loop_says(tmp_path: Path, cells: list[bytes], values: list[str | None]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"".join(cell + b",1\n" for cell in cells))
    files = open_csv([str(path)], "t").engine.fill.__self__
    assert files.reader(["a"]).read_all().to_pydict() == {"c0": values}
    assert files.few(["a"]) == [values]
