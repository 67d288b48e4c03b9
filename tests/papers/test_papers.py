"""What the papers print stands beside what we compute, and the marks are true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import run_cli

from optimaldp.papers import NUMBERS, paper

NUMERIC = re.compile(r"-?[\d./, ]+")


@pytest.mark.parametrize("number", NUMBERS)
def test_marks_say_the_truth(number: str) -> None:
    items = paper(number).items()
    assert len(items) >= 8
    for item in items:
        if item.agrees:
            assert not item.erratum
            assert item.printed == item.ours or not NUMERIC.fullmatch(item.printed), item
        else:
            assert item.erratum.endswith(".")
            assert item.printed != item.ours, item


@pytest.mark.parametrize("number", NUMBERS)
def test_figures_are_drawn(number: str, tmp_path: Path) -> None:
    ran = run_cli("papers", number, "--figures", str(tmp_path), "--format", "svg")
    assert ran.code == 0
    wanted = {figure.name for figure in paper(number).figures()}
    assert wanted
    assert {path.stem for path in tmp_path.glob("*.svg")} == wanted
    assert all(path.stat().st_size > 1000 for path in tmp_path.glob("*.svg"))
    assert json.loads(ran.stdout)[0]["paper"] == number


@pytest.mark.parametrize("arguments", [("005",), ("000", "--format", "gif")])
def test_what_is_not_there_is_refused(arguments: tuple[str, ...]) -> None:
    assert run_cli("papers", *arguments).code == 2
