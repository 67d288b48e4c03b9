"""What is handed over is drawn, tabled and saved alike: a release, a preview, a history and a sanitised table."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.errors import InputError

pytest.importorskip("pandas", reason="tables are pandas tables (extra: interop)")
pytest.importorskip("matplotlib", reason="pictures need matplotlib (extra: plots)")

TABLE = pyarrow.table({"sex": ["m", "f"] * 50, "smokes": ["yes"] * 30 + ["no"] * 70})


def _release(folder: Path) -> Any:
    return odp.release(TABLE, "share(smokes = 'yes') >= 0.5", epsilon=1)


def _counts(folder: Path) -> Any:
    return odp.release(TABLE, "histogram(sex, ['m', 'f'])", epsilon=1)


def _groups(folder: Path) -> Any:
    return odp.release(TABLE, "majority(smokes = 'yes')", epsilon=1, by="sex", groups=["m", "f"])


def _names(folder: Path) -> Any:
    return odp.release(TABLE, "keys(sex)", epsilon=2, delta="0.001")


def _leaders(folder: Path) -> Any:
    return odp.release(TABLE, "top(smokes, 2, ['yes', 'no', 'maybe'])", epsilon=1)


def _preview(folder: Path) -> Any:
    return odp.preview("share(smokes = 'yes') >= 0.5", epsilon=1, n=100)


def _history(folder: Path) -> Any:
    with odp.open(TABLE, ledger=folder / "a.ledger", budget=odp.Budget(2)) as table:
        table.ask("majority(smokes = 'yes')", epsilon=1)
        return table.history()


def _sanitised(folder: Path) -> Any:
    return odp.sanitise(TABLE, columns={"sex": ["m", "f"], "smokes": ["yes", "no"]}, epsilon=1)


MAKERS = (_release, _counts, _groups, _names, _leaders, _preview, _history, _sanitised)
each = pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__.strip("_"))


@pytest.mark.long
@each
def test_it_is_drawn_and_the_picture_is_shown_by_a_notebook(make: Callable[[Path], Any], tmp_path: Path) -> None:
    made = make(tmp_path)
    assert made.plot()._repr_png_().startswith(b"\x89PNG")
    for name, start in (("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.pdf", b"%PDF")):
        figure = made.plot(path=tmp_path / name)
        assert hasattr(figure, "_repr_png_")
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(InputError, match="path"):
        made.plot(path=tmp_path / "a.bmp")
    assert next(iter(inspect.signature(made.plot).parameters)) == "path"


@each
def test_it_is_a_table_and_a_file(make: Callable[[Path], Any], tmp_path: Path) -> None:
    made = make(tmp_path)
    frame = made.to_frame()
    assert len(frame) >= 1
    saved = {ending: made.save(tmp_path / f"made{ending}") for ending in (".json", ".html", ".csv")}
    assert saved == {ending: tmp_path / f"made{ending}" for ending in saved}
    assert json.loads(saved[".json"].read_text("utf-8")) == json.loads(made.to_json())
    assert saved[".html"].read_text("utf-8").startswith("<!doctype html>")
    lines = saved[".csv"].read_text("utf-8").splitlines()
    assert len(lines) == 1 + len(frame)
    for wrong in ("made.xlsx", "made", "nowhere/made.json", "nowhere/made.csv"):
        with pytest.raises(InputError, match="made"):
            made.save(tmp_path / wrong)


@each
def test_it_says_itself_in_one_line_and_in_a_notebook(make: Callable[[Path], Any], tmp_path: Path) -> None:
    made = make(tmp_path)
    assert repr(made).startswith(type(made).__name__ + "(")
    assert "\n" not in repr(made)
    assert made._repr_html_().startswith("<")
    json.loads(made.to_json())


def test_the_bars_of_counts_are_the_counts(tmp_path: Path) -> None:
    made = _counts(tmp_path)
    assert [bar.get_width() for bar in made.plot().axes[0].patches] == list(made.answer.values())
