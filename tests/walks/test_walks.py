"""The walks of docs/walks are followed line by line, and each ends in something that the person wanted."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from walking import ROOT, Command, commands, run, walk

WALKS = ROOT / "docs" / "walks"


def test_the_steward_hands_over_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert walk(WALKS / "steward.md", tmp_path) >= 6
    report = (tmp_path / "report.html").read_text("utf-8")
    assert "share(smokes" in report
    assert "clinic 2024" in report


def test_the_analyst_has_a_table_and_a_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas", reason="the table is a pandas table (extra: interop)")
    pytest.importorskip("matplotlib", reason="the figure needs matplotlib (extra: plots)")
    shutil.copy(ROOT / "examples" / "data" / "rand_health.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    assert walk(WALKS / "analyst.md", tmp_path) >= 5
    assert len((tmp_path / "health.csv").read_text().splitlines()) >= 5
    assert (tmp_path / "health.png").stat().st_size > 5_000


@pytest.mark.slow
def test_the_engineer_has_a_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("mypy", "starlette", "httpx"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (extras: dev)")
    source, here = tmp_path / "source", tmp_path / "here"
    source.mkdir()
    here.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    monkeypatch.chdir(here)
    assert walk(WALKS / "engineer.md", here, {"SOURCE": str(source)}) >= 8
    assert (here / "people.ledger").exists()


def test_a_walk_that_goes_wrong_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "wrong.md"
    page.write_text("```console\n$ echo one\ntwo\n```\n")
    with pytest.raises(AssertionError, match="one"):
        walk(page, tmp_path)
    with pytest.raises(AssertionError, match="exit code 3"):
        run(Command("exit 3", ""), tmp_path, {"PATH": "/bin:/usr/bin"})
    assert list(commands("$ a b\nx\ny\n$ c\n")) == [Command("a b", "x\ny"), Command("c", "")]
