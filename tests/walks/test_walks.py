"""The walks of docs/walks are followed line by line, and each ends in something that the person wanted."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from notebooks import code_cells, run_notebook
from walking import ROOT, Command, commands, run, walk

WALKS = ROOT / "docs" / "walks"

pytestmark = pytest.mark.long


def test_the_steward_hands_over_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert walk(WALKS / "steward.md", tmp_path) >= 6
    report = (tmp_path / "report.html").read_text("utf-8")
    assert "share(smokes" in report
    assert "clinic 2024" in report


def test_the_analyst_has_a_table_and_a_figure(tmp_path: Path) -> None:
    for needed, extra in (("pandas", "interop"), ("matplotlib", "plots"), ("nbclient", "dev"), ("ipykernel", "dev")):
        pytest.importorskip(needed, reason=f"{needed} is not installed (extra: {extra})")
    shutil.copy(ROOT / "examples" / "data" / "rand_health.csv", tmp_path)
    ran = run_notebook(WALKS / "analyst.ipynb", tmp_path)
    pictures = [
        one["data"]["image/png"] for cell in ran for one in cell["outputs"] if "image/png" in one.get("data", {})
    ]
    assert [base64.b64decode(picture)[:4] for picture in pictures] == [
        b"\x89PNG"
    ] * 2  # the preview's and the histogram's
    assert len((tmp_path / "health.csv").read_text().splitlines()) >= 5
    assert (tmp_path / "health.png").stat().st_size > 5_000
    assert "quantile(doctor_visits" in (tmp_path / "report.html").read_text("utf-8")


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


def test_the_asker_has_an_answer_that_she_can_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("starlette", "uvicorn", "httpx"):
        pytest.importorskip(needed, reason=f"{needed} is not installed (extra: service)")
    monkeypatch.chdir(tmp_path)
    try:
        assert walk(WALKS / "asker.md", tmp_path) >= 7
    finally:
        with contextlib.suppress(OSError, ValueError):
            os.kill(int((tmp_path / "curator.pid").read_text()), signal.SIGTERM)
    assert json.loads((tmp_path / "old.json").read_text())["question"] == "count(age >= 65)"


def test_a_notebook_is_small_and_holds_texts_alone() -> None:
    notebook = json.loads((WALKS / "analyst.ipynb").read_text("utf-8"))
    kinds = {kind for cell in code_cells(notebook) for one in cell["outputs"] for kind in one.get("data", {})}
    assert kinds == {"text/plain"}
    assert (WALKS / "analyst.ipynb").stat().st_size < 20_000
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])


def test_a_notebook_that_shows_something_else_is_noticed(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed (extra: dev)")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed (extra: dev)")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a = 2\na + 1")])
    nbformat.write(notebook, tmp_path / "wrong.ipynb")
    with pytest.raises(AssertionError, match="cell 1 shows"):
        run_notebook(tmp_path / "wrong.ipynb", tmp_path)


def test_a_walk_that_goes_wrong_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "wrong.md"
    page.write_text("```console\n$ echo one\ntwo\n```\n")
    with pytest.raises(AssertionError, match="one"):
        walk(page, tmp_path)
    with pytest.raises(AssertionError, match="exit code 3"):
        run(Command("exit 3", ""), tmp_path, {"PATH": "/bin:/usr/bin"})
    assert list(commands("$ a b\nx\ny\n$ c\n")) == [Command("a b", "x\ny"), Command("c", "")]
