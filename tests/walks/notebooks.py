"""Run a notebook in a real Jupyter kernel, from its first cell to its last, and compare what it shows with what it has stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def texts(cell: dict[str, Any]) -> list[tuple[str, str]]:
    """What a cell shows as text; pictures, tables and bars are not stored, and warnings name a temporary file."""
    bar = "<IPython.core.display.HTML object>"
    kept = (
        one for one in cell["outputs"] if one.get("name") != "stderr" and one.get("data", {}).get("text/plain") != bar
    )
    shown = ((one["output_type"], one.get("text") or one["data"]["text/plain"]) for one in kept)
    return [(kind, text if isinstance(text, str) else "".join(text)) for kind, text in shown]


def run_notebook(path: Path, folder: Path) -> list[dict[str, Any]]:
    """Every code cell as Jupyter ran it in *folder*; one that shows other texts than it has stored is an AssertionError."""
    import nbclient
    import nbformat

    stored = code_cells(json.loads(path.read_text("utf-8")))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    ran = code_cells(notebook)
    for number, (made, kept) in enumerate(zip(ran, stored, strict=True), start=1):
        assert texts(made) == texts(kept), f"cell {number} shows {texts(made)}"
    return ran
