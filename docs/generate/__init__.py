"""The pages that are made from the code: the gallery, the papers, a notebook, the references. Nothing can be out of date."""

from __future__ import annotations

from pathlib import Path

from generate.api import write_api
from generate.cli import write_cli
from generate.gallery import write_gallery
from generate.notebooks import write_notebooks
from generate.papers import write_papers


def write_all(folder: Path) -> None:
    """Write every generated page below *folder*."""
    folder.mkdir(exist_ok=True)
    write_cli(folder)
    write_api(folder / "api")
    write_gallery(folder)
    write_papers(folder)
    write_notebooks(folder)
