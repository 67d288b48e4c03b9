"""Run every comparison and write the report: ``python -m benchmarks.peers [folder]`` (default: docs).

``python -m benchmarks.peers --only numbers leaders`` prints the rows of some studies and writes nothing.
"""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.peers import (
    channels,
    command,
    generous,
    histograms,
    leaders,
    libraries,
    means,
    numbers,
    persons,
    quantiles,
    questions,
    several,
    speed,
    synthesis,
)
from benchmarks.peers.claims import judged
from benchmarks.peers.page import Document, render

STUDIES = (
    questions,
    numbers,
    means,
    generous,
    leaders,
    quantiles,
    several,
    histograms,
    persons,
    channels,
    synthesis,
    speed,
    command,
)


def measure(console: Console) -> Document:
    """All rows and what they bear out, as plain values."""
    rows = []
    for study in STUDIES:
        console.print(f"[dim]{study.__name__} …[/dim]")
        rows += [comparison.to_document() for comparison in study.comparisons()]
    versions = {"python": platform.python_version()} | libraries.versions()
    return {"versions": versions, "claims": list(judged(rows)), "rows": rows}


def write(document: Document, folder: Path) -> None:
    """The data and the page that is made from it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.json").write_text(_json(document), encoding="utf-8")
    (folder / "peers.md").write_text(render(document), encoding="utf-8")


def _json(document: Document) -> str:
    """One line for each claim and each row: a small file, and changes that can be read."""

    def listed(items: list[Any]) -> str:
        return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in items) + "\n]"

    parts = [f'"versions": {json.dumps(document["versions"])}']
    parts += [f'"{name}": {listed(document[name])}' for name in ("claims", "rows")]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _print_rows(names: list[str], console: Console) -> int:
    for study in STUDIES:
        if study.__name__.rpartition(".")[2] in names:
            for row in study.comparisons():
                shown = row.to_document()
                console.print(row.task, "|", row.peer, "|", shown.get("ours"), shown.get("theirs"), row.verdict)
    return 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--only"]:
        return _print_rows(arguments[1:], Console(width=200))
    folder, console = Path(arguments[0] if arguments else "docs"), Console()
    document = measure(console)
    write(document, folder)
    console.print(f"{len(document['rows'])} comparisons, written to {folder / 'peers.md'} and {folder / 'peers.json'}")
    broken = [claim["sentence"] for claim in document["claims"] if claim["holds"] is False]
    for claim in document["claims"]:
        if not claim["holds"]:
            console.print(f"not {'borne out' if claim['holds'] is False else 'measured'}: {claim['sentence']}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
