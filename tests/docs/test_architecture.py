"""The trace behind docs/architecture.md counts what it says, and the page has its table and pictures."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from types import CodeType
from typing import Any

import pytest
from fenced import ROOT

sys.path.insert(0, str(ROOT / "docs"))

from generate.architecture import CALLS, PAGE, PICTURES, ROOT, Walk, _Tracer, picture, table


def _pretend(modules: dict[str, str]) -> dict[str, Any]:
    """Functions of modules that do not exist, by name, from source."""
    functions: dict[str, Any] = {}
    for module, source in modules.items():
        scope: dict[str, Any] = {"__name__": module, "others": functions}
        exec(compile(source, module, "exec"), scope)
        functions |= {name: value for name, value in scope.items() if callable(value)}
    return functions


@pytest.fixture
def walk() -> Walk:
    """ask (front) → read (store) → each value: check (store, from a comprehension) → number (numbers); number again."""
    functions = _pretend(
        {
            "optimaldp.front": "def ask():\n    others['read']()\n    return others['number'](1)",
            "optimaldp.store.reading": "def read():\n    return [check(v) for v in (1, 2)]\n"
            "def check(value):\n    return others['number'](value)",
            "optimaldp.numbers": "def number(value):\n    return value",
            "elsewhere": "def start():\n    return others['ask']()",
        }
    )
    walk = Walk("pretended")
    sys.setprofile(_Tracer(walk))
    try:
        functions["start"]()
    finally:
        sys.setprofile(None)
    return walk


def test_a_walk_counts_modules_functions_depth_and_doors(walk: Walk) -> None:
    assert walk.packages == ["front", "store", "numbers"]
    assert len(walk.modules) == 3
    assert {name for _, name in walk.functions} == {"ask", "read", "check", "number"}
    # Before Python 3.12 a comprehension has a frame of its own.
    assert walk.depth == (4 if sys.version_info >= (3, 12) else 5)
    assert walk.crossings == {
        ("caller", "front"): 1,
        ("front", "store"): 1,
        ("store", "numbers"): 2,
        ("front", "numbers"): 1,
    }
    assert [walk.doors_of(package) for package in walk.packages] == [1, 1, 1]
    assert walk.stays == [], "nothing in it tells a story"


def test_a_stay_ends_when_the_story_goes_elsewhere(monkeypatch: pytest.MonkeyPatch, walk: Walk) -> None:
    monkeypatch.setattr("generate.architecture.STORY", "front")
    functions = _pretend(
        {
            "optimaldp.front": "def ask():\n    for name in ('read', 'read', 'number', 'read'):\n        others[name]()",
            "optimaldp.store": "def read():\n    return others['number']()",
            "optimaldp.numbers": "def number():\n    return 1",
        }
    )
    sys.setprofile(_Tracer(walk))
    try:
        functions["ask"]()
    finally:
        sys.setprofile(None)
    assert walk.stays == ["store", "numbers", "store"]


def test_what_an_import_runs_is_not_counted() -> None:
    code = compile("def late():\n    return 1\nlate()", "late", "exec")
    assert isinstance(code, CodeType)
    walk = Walk("import")
    sys.setprofile(_Tracer(walk))
    try:
        exec(code, {"__name__": "optimaldp.late"})
    finally:
        sys.setprofile(None)
    assert walk.functions == set()


def test_the_picture_has_a_box_for_each_package_and_an_arc_for_each_crossing(walk: Walk) -> None:
    drawn = ElementTree.fromstring(picture(walk))
    name = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f"{name}rect")) == 1 + len(walk.packages)
    titles = {path.findtext(f"{name}title") for path in drawn.findall(f"{name}path")}
    assert titles == {"front calls store 1 times", "store calls numbers 2 times", "front calls numbers 1 times"}


def test_the_page_lists_every_call_and_its_pictures_exist() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in CALLS:
        assert f"\n| {name} | " in page
    rooms = {path.parent.name for path in (ROOT / "src" / "optimaldp").glob("*/__init__.py")} - {"plots"}
    assert all(f"`{room}`" in page for room in rooms), "every room has its line"
    assert len(list(PICTURES.glob("walk-*.svg"))) == len(CALLS)


def test_a_table_has_a_row_for_each_walk(walk: Walk) -> None:
    assert table([walk, walk]).count("| pretended | 3 | 4 |") == 2
