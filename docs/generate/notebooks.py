"""Notebooks as pages: docs/walks/analyst.ipynb becomes generated/analyst.md, cell by cell with what it shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

WALKS = Path(__file__).parents[1] / "walks"


def write_notebooks(folder: Path) -> None:
    """One page for each notebook."""
    for path in sorted(WALKS.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        (folder / f"{path.stem}.md").write_text("\n\n".join(map(_page_of, cells)) + "\n", encoding="utf-8")


def _page_of(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        # Links are written as seen from docs/walks, and the page lies in docs/generated beside it.
        return re.sub(r"\]\((?!\.\./|https?:|#)", "](../walks/", source)
    shown = "".join(_text_of(output) for output in cell["outputs"])
    return f"```python\n{source}\n```" + (f"\n\n```text\n{shown.rstrip()}\n```" if shown.strip() else "")


def _text_of(output: dict[str, Any]) -> str:
    lines = output["text"] if "text" in output else output["data"]["text/plain"]
    return "".join(lines) + "\n"
