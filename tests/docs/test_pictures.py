"""Every picture of the repository is made by a script, shows what this version does, and can be understood."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fenced import ROOT
from matplotlib.figure import Figure
from matplotlib.image import imread
from picture_complaints import complaints

from optimaldp.plots import style

sys.path.insert(0, str(ROOT / "docs"))

from generate.pictures import MAKERS, STORED


def test_every_picture_has_a_maker() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        pytest.skip("this is not a clone")
    pictures = {Path(one) for one in listed if one.endswith((".png", ".svg", ".pdf", ".jpg", ".gif"))}
    elsewhere = {one.name for one in pictures if one.parent != STORED.relative_to(ROOT)}
    assert elsewhere == {"icon.svg"}, "pictures live in docs/images"
    stored = {one.name for one in pictures if one.parent == STORED.relative_to(ROOT)}
    assert {name for name in stored if not name.startswith("walk-")} == set(MAKERS)


@pytest.mark.long
@pytest.mark.parametrize("name", MAKERS)
def test_a_stored_picture_is_what_its_script_draws(name: str, tmp_path: Path) -> None:
    if name.startswith("studio"):
        pytest.importorskip("playwright", reason="playwright is not installed (extra: dev)")
        if not (shutil.which("chromium") or shutil.which("chromium-browser")):
            pytest.skip("no Chromium is installed")
    drawn, stored = imread(MAKERS[name](tmp_path))[..., :3], imread(STORED / name)[..., :3]
    assert drawn.shape == stored.shape
    # Another answer, or another version of the fonts, changes few points.
    assert abs(drawn - stored).mean() < 0.02, f"run python docs/generate/pictures.py: {name} shows another version"


@pytest.mark.long
def test_the_demo_tells_six_stories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[Figure] = []
    save = style.save
    monkeypatch.setattr(style, "save", lambda figure, path: drawn.append(figure) or save(figure, path))
    runpy.run_path(str(ROOT / "examples" / "demo.py"))["main"](tmp_path / "demo.png")
    told = capsys.readouterr().out
    assert told.count("Protected: ") == 6
    assert "of 944 (± 6, 95 %)" in told
    (picture,) = drawn
    assert len(picture.axes) == 6
    assert complaints(picture) == []
    for axes in picture.axes:
        lines = [tuple(line.get_ydata()) for line in axes.lines if len(set(line.get_xdata())) > 1]
        assert all(len(set(line)) > 1 for line in lines), f"a constant line: {axes.get_title(loc='left')}"
        assert len(set(lines)) == len(lines), f"a hidden line: {axes.get_title(loc='left')}"
