"""Every script of the gallery runs, writes one picture where it was told to (an SVG, a PNG), and draws something."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fenced import ROOT
from matplotlib.figure import Figure
from matplotlib.image import imread
from picture_complaints import complaints

from optimaldp.papers import NUMBERS, paper
from optimaldp.plots import style

_SAVE = style.save
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))


def test_there_are_enough_of_them() -> None:
    assert len(SCRIPTS) >= 8


@pytest.mark.long
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_draws(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Figure] = []
    monkeypatch.setattr(style, "save", lambda figure, path, **more: drawn.append(figure) or _SAVE(figure, path, **more))
    picture = runpy.run_path(str(script))["draw"](tmp_path)
    assert picture == tmp_path / f"{script.stem}.svg"
    dense = picture.with_suffix(".png")
    assert sorted(tmp_path.iterdir()) == [dense, picture]
    pixels = imread(dense)[..., :3]
    width, height = drawn[0].get_size_inches() * drawn[0].dpi
    assert (pixels.shape[1], pixels.shape[0]) == (int(2 * width), int(2 * height))
    outline = ElementTree.parse(picture).getroot()
    assert outline.tag.endswith("}svg")
    assert float(outline.attrib["width"].removesuffix("pt")) == pytest.approx(72 * width / drawn[0].dpi)
    assert picture.stat().st_size < 1_500_000
    inked = (pixels.min(axis=2) < 0.9).mean()
    assert 0.01 < inked < 0.8, "a blank or a black picture"
    assert [complaint for figure in drawn[:1] for complaint in complaints(figure)] == []
    assert len(drawn) == 2
    assert drawn[0] is drawn[1]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_it_has_a_title_and_words(script: Path) -> None:
    title, _, words = (ast.get_docstring(ast.parse(script.read_text())) or "").partition("\n\n")
    assert 5 < len(title) < 60
    assert len(words) > 100


@pytest.mark.long
def test_as_a_script_it_makes_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pictures"
    command = [sys.executable, str(ROOT / "examples" / "gallery" / "one_person.py"), str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout.split() == [str(folder / "one_person.svg")]
    assert (folder / "one_person.png").stat().st_size > 10_000


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_figures_of_the_papers_have_the_same_look(number: str) -> None:
    for figure in paper(number).figures():
        drawn = figure.draw()
        assert complaints(drawn if isinstance(drawn, Figure) else drawn.figure) == [], figure.name
        assert figure.caption
