"""Neighbouring tables, the same random bits, every door: all that comes back is the same but for the sampled answer.

Status, exit code, messages, fields, their order, lengths of texts: whatever differs between two tables that differ in one record,
and is not the answer, would tell about that record. Bits come from one written stream, so nothing differs by chance.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.errors import OptimalDPError
from optimaldp.studio.calls import Calls

HEADER = "who,age,vote,trust,ward,day"
PEOPLE = [
    f"p{i},{20 + 3 * i},{'yes' if i % 2 else 'no'},{'0.5' if i % 3 else '1'},{'north' if i % 2 else 'south'},2020-01-0{1 + i % 9}"
    for i in range(12)
]
# The last person's record, with the same public level and ward as everybody may know them; then records that nobody expects.
NEIGHBOURS = {
    "as it was": PEOPLE[-1],
    "another vote": "p11,53,no,0.5,north,2020-01-03",
    "nothing known": ",,,0.5,north,",
    "outside of every list": "p11,-7,perhaps,0.5,north,2020-13-45",
    "very long": f"p11,{'9' * 400},{'x' * 5000},0.5,north,{'0' * 300}",
    "signs of other languages": "p11,٣٤,ÿ\u0000\u202e,0.5,north,今日",
}

ASKED: list[dict[str, Any]] = [
    {"question": "majority(vote = 'yes')"},
    {"question": "count(age >= 30) >= 5", "where": "ward = 'north'"},
    {"question": "share(vote = 'yes' among age < 40) >= 0.5"},
    {"question": "count(vote = 'yes') >= 3 and share(age > 25) >= 0.5"},
    {"question": "mean(age, range=[0, 60]) >= 30"},
    {"question": "winner(vote, ['yes', 'no', 'perhaps'])"},
    {"question": "compare(vote, 'yes', 'no')", "delta": "0.001"},
    {"question": "median(age, bins=[0, 30, 60, 90])"},
    {"question": "median(day, bins=['2020-01-01', '2020-01-05', '2020-02-01'])"},
    {"question": "top(vote, 2, ['yes', 'no', 'perhaps'])"},
    {"question": "majority(vote = 'yes')", "levels": "trust"},
    {"question": "share(vote = 'yes') >= 0.5", "by": "ward", "groups": ["north", "south", "west"]},
    {"question": "majority(vote = 'yes')", "epsilon": "0"},
    # Refused, before or after anything is read: always alike.
    {"question": "majority(nothing = 1)"},
    {"question": "majority(age > vote)"},
    {"question": "majority(cast(vote as integer) > 3)"},
    {"question": "majority(1 / (age - 53) > 1)"},
    {"question": "winner(vote)"},
    {"question": "median(vote, bins=[2, 1])"},
    {"question": "majority(vote = 'yes')", "levels": "ward"},
    {"question": "majority(vote = 'yes')", "epsilon": "900"},
    {"question": "histogram(vote, ['yes', 'no'])", "epsilon": "0"},
]


@pytest.fixture
def written_bits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The operating system's bits, written down; the call begins them anew."""
    place = [0]

    def urandom(count: int) -> bytes:
        place[0] += 1
        return hashlib.shake_256(f"block {place[0]}".encode()).digest(count)

    monkeypatch.setattr(os, "urandom", urandom)
    return lambda: place.__setitem__(0, 0)


def write(folder: Path, last: str) -> Path:
    folder.mkdir()
    path = folder / "people.csv"
    path.write_text("\n".join([HEADER, *PEOPLE[:-1], last, ""]), "utf-8")
    return path


MASKED = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[^\"&< ]*"), "TIME"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "HASH"),
)
ANSWERS = ("answer", "answers", "said", "bars", "table", "card")  # the last four show the answer


def without_answers(found: Any) -> Any:
    """The document with every sampled answer taken out, its keys in their order."""
    if isinstance(found, dict):
        return [(key, without_answers(value)) for key, value in found.items() if key not in ANSWERS]
    if isinstance(found, list):
        return [without_answers(value) for value in found]
    return found


def plain(found: Any, folder: Path) -> str:
    text = json.dumps(without_answers(found), ensure_ascii=True).replace(str(folder), "FOLDER")
    for pattern, word in MASKED:
        text = pattern.sub(word, text)
    return text


def in_python(path: Path, folder: Path) -> list[str]:
    told = []
    for asked in ASKED:
        try:
            made = odp.release(str(path), asked["question"], **({"epsilon": "0.5"} | _options(asked)))
        except OptimalDPError as error:
            told.append(plain([type(error).__name__, str(error)], folder))
        else:
            told.append(plain([made.to_document(), made.warnings, made.proof(), made.meaning], folder))
    return told


def _options(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in asked.items() if name != "question"}


def on_the_command_line(path: Path, folder: Path) -> list[str]:
    told = []
    for asked in ASKED[1::2]:  # Python's door asks all of them, the studio the others
        options = {"epsilon": "0.5"} | _options(asked)
        if "groups" in options:
            options["groups"] = ",".join(options["groups"])
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        ran = run_cli("release", "--data", str(path), "--question", asked["question"], *words, "--json")
        document = json.loads(ran.stdout) if ran.stdout else None
        told.append(plain([ran.code, ran.stderr, document], folder))
    return told


def in_the_studio(path: Path, folder: Path) -> list[str]:
    ledger = folder / "people.ledger"
    odp.open(str(path), ledger=ledger, budget=odp.Budget(100, "0.1")).close()
    calls = Calls({"data": str(path), "ledger": str(ledger), "kept": True, "folder": str(folder)})
    told = []
    try:
        for asked in ASKED[::2]:
            body = {"epsilon": "0.5"} | asked
            for name, sent in (("check", body), ("release", body | {"confirm": True}), ("session", {})):
                status, text = calls.run(name, json.dumps(sent))
                document = json.loads(text)
                document.pop("sentences", None)  # they name the answer
                told.append(plain([status, name, document], folder))
        status, text = calls.run(
            "sanitise",
            json.dumps({"columns": ["vote: ['yes', 'no']"], "epsilon": "1", "confirm": True, "labels": True}),
        )
        told.append(plain([status, sorted(json.loads(text))], folder))
    finally:
        calls.close()
    return told


DOORS = {"Python": in_python, "command line": on_the_command_line, "studio": in_the_studio}


@pytest.mark.long
@pytest.mark.parametrize("door", DOORS)
def test_neighbours_get_the_same_replies_but_for_the_answer(
    door: str, tmp_path: Path, written_bits: Callable[[], None]
) -> None:
    first: list[str] | None = None
    for number, (name, last) in enumerate(NEIGHBOURS.items()):
        folder = tmp_path / str(number)
        path = write(folder, last)
        written_bits()
        told = DOORS[door](path, folder)
        first = told if first is None else first
        for expected, got in zip(first, told, strict=True):
            assert got == expected, name


class WorkerHere:
    """The worker of a studio in this process, where the bits are written down."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._calls = Calls(settings)

    async def call(self, name: str, body: str) -> tuple[int, str]:
        return self._calls.run(name, body)

    async def stop(self) -> None:
        self._calls.close()

    finish = stop


def over_http(path: Path, folder: Path) -> list[str]:
    """Each reply whole: status, every header in its order (how long the text is among them), and the text."""
    from starlette.testclient import TestClient

    from optimaldp.studio.app import application
    from optimaldp.studio.settings import Settings

    ledger = folder / "people.ledger"
    odp.open(str(path), ledger=ledger, budget=odp.Budget(100, "0.1")).close()
    told = []
    with TestClient(
        application(Settings(str(path), str(ledger), token="t")), base_url="http://127.0.0.1:8600"
    ) as client:
        bodies: list[dict[str, Any]] = [{"epsilon": "0.1", "confirm": True} | asked for asked in ASKED[::5]]
        for name, body in (*(("release", body) for body in bodies), ("report", {})):
            reply = client.post(f"/api/{name}", json=body, headers={"X-Studio-Token": "t"})
            told.append(plain([name, reply.status_code, reply.headers.multi_items(), reply.text], folder))
    return told


def test_where_even_the_answers_agree_the_replies_of_the_studio_agree_to_the_letter(
    tmp_path: Path, written_bits: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three neighbours that every question counts alike: with the same bits nothing may differ, not even in the report."""
    pytest.importorskip("httpx", reason="httpx drives the application in tests")
    from optimaldp.studio.pool import Worker

    async def start(settings: dict[str, Any]) -> WorkerHere:
        return WorkerHere(settings)

    monkeypatch.setattr(Worker, "start", start)
    first: list[str] | None = None
    for number, name in enumerate(("nothing known", "very long", "signs of other languages")):
        folder = tmp_path / str(number)
        path = write(folder, NEIGHBOURS[name])
        written_bits()
        told = over_http(path, folder)
        first = told if first is None else first
        for expected, got in zip(first, told, strict=True):
            assert got == expected, name
    assert first is not None
    assert [text[:14] for text in first].count('["release", 20') >= 3
    assert first[-1].startswith('["report", 200, [["content-length"')
    assert "majority(vote = " in first[-1]
