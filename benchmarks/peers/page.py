"""The report as a page: docs/peers.md from docs/peers.json, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]
Document = dict[str, Any]

_INTRODUCTION = """\
# Ours and others

This page is made of the studies of `make bench-peers`, run together or one by one.
Every row is one task at the same ε and for the same neighbours: *substitution*, one
person's record is replaced by another and the number of people is public, unless the heading or the task says *one person more or
less*. Each peer is set up as its own experts would, and where its settings matter it gets those that are best on the very table.
Smaller is better in every row: errors are probabilities of a wrong answer, expected absolute errors, or costs. The ratio is ours
divided by theirs, so 1 means that nothing is gained. Errors are exact; a ✓ marks a formula that was also compared with draws of
the code itself, and ± is an interval of 95 % where only draws are known. Of times only ratios are shown, since seconds belong to
a machine; they were taken in one run of a study, the shortest of several, and from half to double they are called similar.
"""


def render(document: Document) -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *_sentences(document), *_studies(document), *_versions(document)])


def _sentences(document: Document) -> Iterator[str]:
    for gained, title in ((True, "What is gained"), (False, "Where nothing is gained, and what peers do better")):
        yield f"## {title}\n"
        for claim in document["claims"]:
            if claim["gained"] is gained:
                marks = {True: "", False: " **(Not borne out by this run.)**", None: " **(Not measured in this run.)**"}
                yield f"- {claim['sentence']}{marks[claim['holds']]}"
        yield ""


def _studies(document: Document) -> Iterator[str]:
    for study in dict.fromkeys(row["study"] for row in document["rows"]):
        yield f"## {study}\n"
        rows = [row for row in document["rows"] if row["study"] == study]
        yield from _table(rows)
        yield ""


def _table(rows: list[Row]) -> Iterator[str]:
    timed = all("ours" not in row for row in rows)
    heads = ["task", "peer", "ours / theirs", ""] if timed else ["task", "ours", "peer", "theirs", "ours / theirs", ""]
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    for row in rows:
        numbers = (
            [row["task"], row["peer"]]
            if timed
            else [row["task"], _side(row, "ours"), row["peer"], _side(row, "theirs")]
        )
        yield f"| {' | '.join([*numbers, _ratio(row['ratio']), row['verdict']])} |"


def _side(row: Row, side: str) -> str:
    if side not in row:
        return "–"
    number = row[side]
    spread = f" ± {number['plus_minus']:.2g}" if "plus_minus" in number else ""
    spread = " (one draw)" if "one_draw" in number else spread
    return f"{number['value']:.4g}{spread}" + (" ✓" if number.get("checked_by_draws") else "")


def _ratio(ratio: Any) -> str:
    return str(ratio) if isinstance(ratio, str) else f"{ratio:.3g}"


def _versions(document: Document) -> Iterator[str]:
    yield "## Versions\n"
    yield "| package | version |"
    yield "| --- | --- |"
    for name, version in document["versions"].items():
        yield f"| {name} | {version} |"
    yield ""
    yield "diffprivlib needs a scikit-learn before 1.8. The libraries that make synthetic rows have an environment each, with the"
    yield "newest versions that their own pins allow: OpenDP 0.16 with mbi 1.1, smartnoise-synth 1.0.8, dpmm 0.1.9 (Python 3.11);"
    yield "so has Tumult Core 0.20."
    yield "OpenDP's import is measured without the optional packages that it would load.\n"
