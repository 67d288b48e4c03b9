"""The start page's calls: a hospital's file from its first proposal to answers with intervals, rehearsals and a cross table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the studio extra is not installed")

from hypothesis import given
from hypothesis import strategies as st
from studio_server import PATIENTS, write_hospital

from optimaldp.errors import InputError, TableError
from optimaldp.studio.calls import Calls
from optimaldp.studio.rehearsing import made_up
from optimaldp.studio.server import prepared
from optimaldp.studio.settings import Settings
from optimaldp.tables.tally import Bins, Condition, Options, Tally

CANARIES = ("Zyzzyva", "Qwixotic", "8.317,25", "8317")


class Page:
    """What a page does, without the browser: its calls in one worker, and everything that came back."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        self._calls, self.traffic = Calls(settings.at_work(str(folder)).to_document()), ""

    def call(self, name: str, *, status: int = 200, **body: Any) -> Any:
        given, text = self._calls.run(name, json.dumps(body))
        self.traffic += text
        assert given == status, text[:400]
        return json.loads(text)

    def refused(self, name: str, **body: Any) -> str:
        return str(self.call(name, status=400, **body)["error"]["message"])

    def close(self) -> None:
        self._calls.close()


@pytest.fixture
def hospital(tmp_path: Path) -> Iterator[tuple[Page, Page, Path]]:
    """Two workers of a studio whose ledger does not exist yet."""
    with prepared(str(write_hospital(tmp_path)), str(tmp_path / "hospital.ledger")) as settings:
        pages = Page(settings, tmp_path), Page(settings, tmp_path)
        yield (*pages, tmp_path)
        for page in pages:
            page.close()


def said(proposal: Any) -> dict[str, Any]:
    """What a steward confirms: the proposal, with what anybody may know."""
    fields = {one["keys"]["name"]: {k: v for k, v in one["keys"].items() if k != "name"} for one in proposal["columns"]}
    german = next(one["keys"] for one in proposal["written"] if one["words"] == "numbers like 1.234,5")
    fields["cost"] = german | {"constraints": {"minimum": 0, "maximum": 20000}}
    fields["alter"]["constraints"] = {"minimum": 0, "maximum": 110}
    fields["ward"]["constraints"] = {"enum": ["Pädiatrie", "Chirurgie"]}
    fields["smokes"] = {"type": "boolean", "trueValues": ["ja"], "falseValues": ["nein"]}
    return fields


def test_a_hospital_s_file_goes_from_a_proposal_to_right_answers(hospital: tuple[Page, Page, Path]) -> None:
    page, other, folder = hospital
    started = page.call("session")
    assert started["ledger"] is None
    assert not (folder / "hospital.ledger").exists()  # nothing is made before somebody has said who is a person
    assert "answer the three questions" in page.refused("check", question="count(smokes = true)", epsilon="1")
    other.call("session")
    proposal = page.call("proposal", encoding="latin-1")
    assert proposal["likely"] == "patient_id"
    assert {one["keys"]["name"]: one["words"] for one in proposal["columns"]} == {
        "patient_id": "text",
        "ward": "text",
        "alter": "whole numbers",
        "cost": "text",  # too many cells are no numbers: it is the steward who says that it holds them
        "smokes": "text",
        "admitted": "dates like 31.12.2024",
    }
    fields = said(proposal)
    asked = {"unit": "patient_id", "encoding": "latin-1", "fields": fields, "reduce": {"cost": "sum", "alter": "max"}}
    assert "budget" in page.refused("open", **asked)
    assert "nobody" in page.refused("open", **asked | {"unit": "nobody", "budget": "9"})
    wrong = fields | {"alter": {"type": "integer", "enum": [1]}}
    assert "keys are" in page.refused("open", **asked | {"fields": wrong, "budget": "9"})
    assert sorted(path.name for path in folder.iterdir()) == ["hospital.csv"]  # a refusal leaves nothing behind
    book = page.call("open", **asked, budget="900")
    assert (book["ledger"]["unit"], book["ledger"]["words"]) == ("patient_id", "ε = 900 of 900 left after 0 questions")
    columns = {one["name"]: one for one in book["data"]["columns"]}
    assert (columns["cost"]["low"], columns["cost"]["high"], columns["alter"]["written"]) == ("0", "20000", "alter")
    assert columns["ward"]["options"] == ["Pädiatrie", "Chirurgie"]
    assert "already" in page.refused("open", **asked, budget="9")

    def answered(question: str) -> Any:
        return other.call("release", question=question, epsilon="100", confirm=True)  # as good as no noise

    count = answered("count(smokes = true)")
    assert (count["answer"], count["said"]) == (150, "About 150 of 600 (± 0, 95 %)")
    assert count["words"] == "How many people smoke?"
    assert "ε = 100" in count["spent"]
    # A patient's total is 1.200,50 + 0, 8.317,25 + 1.200,50, 0 + 0 (nobody's number) or 0 + 8.317,25.
    mean = answered("mean(cost, step=1, interval=true)")
    assert mean["answer"] == pytest.approx((1200.5 + 9517.75 + 8317.25) / 3, abs=2)
    (bar,) = mean["bars"]
    assert bar["low"] < bar["value"] < bar["high"]
    table = answered('histogram("alter": bins=[0, 45, 110], ward)')["table"]
    assert [row["names"] for row in table["rows"]] == [["[0, 45)"], ["[45, 110]"], ["(everyone else)"]]
    assert table["columns"] == ["Pädiatrie", "Chirurgie", "(everyone else)"]
    assert [one["count"] for one in table["margins"]["ward"]] == [200, 200, 200]
    assert table["total"] == PATIENTS
    assert not re.search("|".join(map(re.escape, CANARIES)), page.traffic + other.traffic)


def test_a_studio_that_starts_again_finds_what_the_page_wrote(hospital: tuple[Page, Page, Path]) -> None:
    page, _, folder = hospital
    fields = said(page.call("proposal", encoding="latin-1"))
    page.call("open", unit="patient_id", encoding="latin-1", fields=fields, budget="3", reduce={"alter": "max"})
    data, ledger = str(folder / "hospital.csv"), str(folder / "hospital.ledger")
    with prepared(data, ledger) as settings:
        again = Page(settings, folder)
        assert "the description says" in again.call("session")["data"]["read_as"]
        assert again.call("release", question="count(smokes)", epsilon="1", confirm=True)["recorded"] is False
        again.close()
    page.close()
    for file in folder.glob("hospital.ledger*"):
        file.unlink()
    with pytest.raises(InputError, match="--description"), prepared(data, ledger):
        pass  # it would be written over
    described = folder / "hospital.datapackage.json"
    with prepared(data, ledger, description=str(described)) as settings:
        again = Page(settings, folder)
        proposal = again.call("proposal")
        assert (proposal["described"], proposal["person"], proposal["columns"]) == (True, "patient_id", [])
        assert again.call("open", budget="2")["ledger"]["unit"] == "patient_id"
        again.close()
    described.write_text(described.read_text().replace('"reviewed": true', '"reviewed": false'))
    with pytest.raises(TableError, match="not reviewed"), prepared(data, ledger, description=str(described)):
        pass


def test_rules_rehearsals_and_a_card(hospital: tuple[Page, Page, Path]) -> None:
    page, _, folder = hospital
    fields = said(page.call("proposal", encoding="latin-1"))
    page.call("open", unit="patient_id", encoding="latin-1", fields=fields, budget="3", reduce={"alter": "max"})
    assert page.call("rules", question="count(smokes)")["rules"] == ["any", "all", "most", "first", "last"]
    known = page.call("rules", question='mean("alter")')
    assert (known["rules"][0], known["said"], known["words"]) == ("sum", {"alter": "max"}, "What is the mean of alter?")
    before = (folder / "hospital.ledger").read_bytes()
    drawn = page.call("rehearse", question="count(smokes)", epsilon="50", n=1000)
    assert (drawn["truth"], drawn["answer"], drawn["people"]) == ("300", 300, 1000)
    assert page.call("rehearse", question='mean("alter")', epsilon="50")["truth"] == "55"
    assert page.call("rehearse", question="winner(ward)", epsilon="50")["answer"] == "Pädiatrie"
    groups = {"by": "ward", "groups": ["Chirurgie"], "n": 30}
    assert set(page.call("rehearse", question="count(smokes)", epsilon="50", **groups)["answer"]) == {"Chirurgie"}
    assert page.call("rehearse", question='histogram(ward, "alter": bins=[0, 50, 110])', epsilon="1")["table"]["rows"]
    assert "cannot be rehearsed" in page.refused("rehearse", question="keys(ward)", epsilon="1", delta="1e-6")
    assert (folder / "hospital.ledger").read_bytes() == before  # a rehearsal spends nothing
    card = page.call("release", question="count(smokes)", epsilon="1", confirm=True)["card"]
    for words in ("How many people smoke?", "About 1", "at most 73.2 %", "ε = 1"):
        assert words in card
    assert "{{" not in card
    assert "src=" not in card  # it stands alone
    line = page.call(
        "check_plan", questions=[{"question": f"count({c})", "epsilon": "0.2"} for c in ("smokes", "not smokes")]
    )
    assert [one["running"] for one in line["questions"]] == ["0.2", "0.4"]


@given(st.integers(1, 5000), st.lists(st.integers(1, 6), min_size=1, max_size=3))
def test_people_are_made_up_by_the_question_alone(people: int, sizes: list[int]) -> None:
    """As many as wanted, nobody without a value, and shares that fall or crowd as is said."""
    readings = [
        Options("c", tuple(range(size))) if size % 2 else Bins("c", tuple(map(Fraction, range(size + 1))))
        for size in sizes
    ]
    tally = Tally((*readings, Condition("c")))
    made = made_up(tally, people)
    assert sum(made.cells.values()) == people
    for cell, count in made.cells.items():
        place, condition = divmod(cell, 2)
        assert count > 0
        assert condition in (0, 1)
        for reading in reversed(readings):
            place, own = divmod(place, reading.size)
            assert own < reading.size - 1
