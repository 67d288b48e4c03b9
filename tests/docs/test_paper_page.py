"""The page of results: every numbered result has a row, its function exists, and its example is true."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import pytest
from fenced import ROOT, blocks

import optimaldp as odp
from optimaldp import channels, graphs, histograms, theory
from optimaldp.mechanisms import Mechanism, dominance

PAGE = (ROOT / "docs" / "papers.md").read_text()
NUMBERED = {
    "000": {"Theorem": 5, "Corollary": 2, "Definition": 11, "Lemma": 4, "Remark": 2, "Example": 3},
    "001": {"Theorem": 4, "Definition": 8, "Lemma": 2, "Example": 1},
    "002": {"Theorem": 1, "Corollary": 1, "Definition": 1, "Remark": 2},
    "003": {"Theorem": 5, "Corollary": 1, "Definition": 10, "Lemma": 3, "Algorithm": 2},
    "004": {"Theorem": 4, "Proposition": 2, "Definition": 2, "Lemma": 5, "Remark": 2, "Example": 3},
}
ERRATA = {"000-": 16, "001-": 15, "E": 16, "003-": 12, "F": 26}
ROOMS: dict[str, Any] = {
    "odp": odp,
    "channels": channels,
    "graphs": graphs,
    "histograms": histograms,
    "theory": theory,
    "dominance": dominance,
    "Morphism": graphs.Morphism,
    "Mechanism": Mechanism,
    "DatasetGraph": graphs.DatasetGraph,
    "AnswerGraph": channels.AnswerGraph,
    "Level": odp.level("ln(2)"),
}


class Entry(NamedTuple):
    paper: str
    result: str
    functions: list[str]
    example: str
    errata: list[str]


def entries() -> list[Entry]:
    found = []
    for section in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]:
        for line in section.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if line.startswith("| ") and cells[0] not in ("result", "---"):
                functions, errata = re.findall(r"`([^`]*)`", cells[2]), re.findall(r"\b(?:0\d\d-|[EF])\d+", cells[4])
                found.append(Entry(section[:3], cells[0], functions, cells[3].strip("`"), errata))
    return found


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    space: dict[str, Any] = {}
    for block in blocks(PAGE):
        exec(compile(block.code, "docs/papers.md", "exec"), space)
    return space


def test_every_numbered_result_has_an_entry() -> None:
    wanted = {(p, f"{kind} {k}") for p, kinds in NUMBERED.items() for kind, n in kinds.items() for k in range(1, n + 1)}
    numbered = [(e.paper, e.result) for e in entries() if e.result.split()[0] in NUMBERED[e.paper]]
    assert set(numbered) == wanted
    assert len(numbered) == len(wanted)


def test_every_erratum_stands_beside_what_it_corrects() -> None:
    assert {name for entry in entries() for name in entry.errata} == {
        f"{paper}{k}" for paper, errata in ERRATA.items() for k in range(1, errata + 1)
    }


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: f"{entry.paper} {entry.result}")
def test_its_function_exists_and_its_example_is_true(entry: Entry, names: dict[str, Any]) -> None:
    assert entry.functions
    for function in entry.functions:
        called = function.partition("(")[0]
        if re.fullmatch(r"[A-Za-z]+(\.\w+)+", called):
            room, *path = called.split(".")
            thing = ROOMS[room]
            for name in path:
                thing = getattr(thing, name)
        else:
            assert called.startswith("boundary=")
    assert eval(entry.example, names)


@pytest.mark.parametrize(
    "word",
    [
        "morphism",
        "pull_back",
        "boost",
        "choose_boundary",
        "dominance",
        "baselines",
        "lexicographic",
        "Algorithm 1",
        "Algorithm 2",
    ],
)
def test_the_words_that_people_look_for_are_on_the_page(word: str) -> None:
    assert word in PAGE
