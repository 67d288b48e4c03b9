"""Files that are given to the page, several questions at once, sanitised tables, and the truth about spends."""

from __future__ import annotations

import csv
import io
import os
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the studio extra is not installed")
pytest.importorskip("httpx", reason="httpx drives the application in tests")

from starlette.testclient import TestClient
from studio_server import CANARIES, write_survey

from optimaldp.asking.plans import Plan, parse_plan
from optimaldp.ledger import Budget
from optimaldp.studio import gate
from optimaldp.studio import settings as uploads
from optimaldp.studio.app import application
from optimaldp.studio.server import prepared
from optimaldp.studio.settings import Settings, shown_name

HERE = "http://127.0.0.1:8600"
TOKEN = {"X-Studio-Token": "a-token-without-digits"}
BYTES = {"Content-Type": "application/octet-stream"}
PEOPLE = b"patient,smokes,age\n" + b"".join(b"%d,%s,%d\n" % (i, (b"yes", b"no")[i % 2], i % 90) for i in range(400))


@pytest.fixture(scope="module")
def empty() -> Iterator[TestClient]:
    """A studio without a table."""
    with TestClient(application(Settings(token=TOKEN["X-Studio-Token"])), base_url=HERE) as client:
        yield client


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TestClient]:
    """A studio with a table and a budget of 1, to be spent."""
    yield from _desk(tmp_path)


@pytest.fixture(scope="module")
def quiet_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """The same, for tests that spend nothing."""
    yield from _desk(tmp_path_factory.mktemp("quiet"))


def _desk(folder: Path) -> Iterator[TestClient]:
    survey, ledger = str(write_survey(folder)), str(folder / "survey.ledger")
    with prepared(survey, ledger, budget=Budget(epsilon=1)) as made:
        settings = replace(made, token=TOKEN["X-Studio-Token"])
        with TestClient(application(settings), base_url=HERE) as client:
            yield client


def give(client: TestClient, content: bytes, name: str, **headers: str) -> Any:
    return client.post("/api/upload", content=content, headers=TOKEN | BYTES | {"X-File-Name": name} | headers)


def call(client: TestClient, name: str, body: Any, **headers: str) -> Any:
    return client.post(f"/api/{name}", json=body, headers=TOKEN | headers)


def opened(client: TestClient, budget: str = "3") -> Any:
    given = give(client, PEOPLE, "people.csv").json()
    assert call(client, "open", {"unit": "patient", "budget": budget}).status_code == 200
    return given


def folder_of(client: TestClient) -> Path:
    return Path(client.app.state.pool.table.folder)  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_file_is_given_opened_asked_and_removed(tmp_path: Path) -> None:
    with TestClient(application(Settings(token=TOKEN["X-Studio-Token"])), base_url=HERE) as client:
        given = give(client, PEOPLE, "..%2F..%2Fmy%20people.csv").json()
        assert given["ledger"] is None
        assert given["data"]["words"] == "CSV file my people.csv (3 columns)"
        assert [column["name"] for column in given["data"]["columns"]] == ["patient", "smokes", "age"]
        assert "first line names the columns and is public" in given["data"]["read_as"]
        asked = {"question": "majority(age < 80)", "epsilon": "1"}
        early = call(client, "check", asked)
        assert (early.status_code, early.json()["error"]["field"]) == (400, "data")
        wrong = call(client, "open", {"unit": "nobody"})
        assert (wrong.status_code, wrong.json()["error"]["field"]) == (400, "unit")
        book = call(client, "open", {"unit": "patient", "budget": "3", "neighbours": "add-remove"}).json()["ledger"]
        assert (book["unit"], book["limited"], book["kept"], book["dataset"]) == (
            "patient",
            True,
            False,
            "my people.csv",
        )
        assert call(client, "open", {}).status_code == 400  # once
        made = call(client, "release", asked | {"confirm": True}).json()
        assert (made["answer"], made["document"]["unit"], made["document"]["dataset"]) == (
            "yes",
            "patient",
            "my people.csv",
        )
        folder = folder_of(client)
        (kept,) = folder.glob("table-*/table.csv")
        assert kept.read_bytes() == PEOPLE
        if os.name == "posix":
            assert folder.stat().st_mode & 0o077 == 0
            assert kept.parent.stat().st_mode & 0o077 == 0
        give(client, PEOPLE.replace(b"patient", b"person"), "next.csv")
        assert not kept.exists()  # with its record: it belongs to the file
        assert len(list(folder.glob("table-*"))) == 1
    assert not folder.exists()


@pytest.mark.slow
def test_a_file_with_types_brings_them(empty: TestClient) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    written = io.BytesIO()
    parquet.write_table(pyarrow.table({"age": [31, 47], "smokes": [True, False]}), written)
    shown = give(empty, written.getvalue(), "PEOPLE.PARQUET").json()["data"]
    assert shown["words"] == "Parquet file PEOPLE.PARQUET (2 columns)"
    assert [(column["kind"], column["open"]) for column in shown["columns"]] == [("whole", False), ("truth", False)]
    assert shown["columns"][1]["options"] == [False, True]
    assert "types of columns are public" in shown["read_as"]


@pytest.mark.slow
def test_a_file_that_cannot_be_read_changes_nothing_and_is_not_echoed(empty: TestClient) -> None:
    opened(empty)
    before = empty.get("/api/session").json()
    bad = {
        "people.pdf": b"%PDF Zyzzyva-7431",
        "people": b"name\nZyzzyva-7431\n",
        "people.csv": b"",
        "people.parquet": b"Zyzzyva-7431",
        "people.csv.gz": b"Zyzzyva-7431",
    }
    for name, content in bad.items():
        refused = give(empty, content, name)
        assert refused.status_code == 400, name
        assert "Zyzzyva" not in refused.text
        assert str(folder_of(empty)) not in refused.text  # called as its owner calls it
        assert name in refused.json()["error"]["message"]
    assert empty.get("/api/session").json() == before
    assert len(list(folder_of(empty).glob("table-*"))) == 1


def test_names_from_a_browser_never_become_paths() -> None:
    for sent in (
        "..%2F..%2Fetc%2Fpasswd",
        "..\\..\\boot.ini",
        "%2Fetc%2Fshadow",
        "a%00b.csv",
        "%0A%1B[31m.csv",
        "",
        ".",
    ):
        name = shown_name(sent)
        assert "/" not in name
        assert "\\" not in name
        assert name.isprintable()
        assert name
    assert len(shown_name("x" * 5000 + ".csv")) <= 80


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"X-Studio-Token": "guess"}, "TokenMissing"),
        ({"Content-Type": "application/json"}, "NotBytes"),
        ({"Content-Type": "text/plain"}, "NotBytes"),
        ({"Content-Type": "multipart/form-data"}, "NotBytes"),
        ({"Origin": "http://evil.example"}, "ForeignOrigin"),
        ({"Sec-Fetch-Site": "cross-site"}, "ForeignOrigin"),
    ],
)
def test_only_our_own_page_gives_files(empty: TestClient, headers: dict[str, str], kind: str) -> None:
    refused = give(empty, PEOPLE, "people.csv", **headers)
    assert refused.json()["error"]["kind"] == kind
    for name in ("open", "release", "release_plan", "sanitise"):
        guarded = call(empty, name, {}, **{"X-Studio-Token": "guess"})
        assert guarded.json()["error"]["kind"] == "TokenMissing"


def test_a_file_has_a_largest_size(empty: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(empty)
    before = empty.get("/api/session").json()
    monkeypatch.setattr(gate, "MOST_UPLOADED", 1000)
    announced = give(empty, PEOPLE, "people.csv")
    assert (announced.status_code, announced.json()["error"]["kind"]) == (413, "TooLarge")
    assert "--data" in announced.json()["error"]["message"]
    in_pieces: Any = iter([PEOPLE[:900], PEOPLE[900:]])
    streamed = give(empty, in_pieces, "people.csv")
    assert streamed.status_code == 413
    monkeypatch.undo()
    monkeypatch.setitem(uploads.received.__kwdefaults__, "most", 1000)
    assert give(empty, PEOPLE, "people.csv").status_code == 413
    assert empty.get("/api/session").json() == before
    assert len(list(folder_of(empty).glob("table-*"))) == 1


def test_a_studio_that_has_a_table_takes_no_other(quiet_desk: TestClient) -> None:
    refused = give(quiet_desk, PEOPLE, "people.csv")
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "TableGiven")


@pytest.mark.slow
def test_a_page_that_shows_another_table_is_told(empty: TestClient) -> None:
    number = opened(empty)["table"]
    asked = {"question": "majority(age < 80)", "epsilon": "1"}
    assert call(empty, "check", asked, **{"X-Studio-Table": str(number)}).status_code == 200
    opened(empty)
    for name in ("check", "release"):
        body = asked | ({"confirm": True} if name == "release" else {})
        refused = call(empty, name, body, **{"X-Studio-Table": str(number)})
        assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "AnotherTable")
    assert empty.get("/api/session").json()["ledger"]["history"] == []


BASKET = [{"question": "majority(age < 40)", "epsilon": "0.4"}, {"question": "majority(age < 45)", "epsilon": "0.4"}]
THIRD = {"question": "majority(age < 50)", "epsilon": "0.4"}


@pytest.mark.long
def test_several_questions_are_priced_and_charged_together_or_not_at_all(desk: TestClient) -> None:
    priced = call(desk, "check_plan", {"questions": BASKET}).json()
    assert priced["price"] == {"covered": True, "recorded": False, "words": "Together they cost ε = 0.8."}
    dear = call(desk, "check_plan", {"questions": [*BASKET, THIRD]}).json()["price"]
    assert dear["covered"] is False
    assert "0.2 remains" in dear["words"]
    refused = call(desk, "release_plan", {"questions": [*BASKET, THIRD], "confirm": True})
    assert (refused.status_code, refused.json()["error"]["kind"]) == (409, "BudgetError")
    assert desk.get("/api/session").json()["ledger"]["history"] == []
    made = call(desk, "release_plan", {"questions": BASKET, "confirm": True}).json()
    assert [one["answer"] for one in made["answers"]] == ["no", "no"]
    assert made["ledger"]["share"] == pytest.approx(0.8)
    again = call(desk, "check_plan", {"questions": [*BASKET, THIRD | {"epsilon": "0.1"}]}).json()
    assert again["price"]["words"].startswith("Together they cost ε = 0.1. 2 of them were answered before")


def test_a_list_with_a_mistake_is_told_and_spends_nothing(quiet_desk: TestClient) -> None:
    asked = [BASKET[0], {"question": "majority(height > 3)", "epsilon": "0.1"}, BASKET[0]]
    shown = call(quiet_desk, "check_plan", {"questions": asked}).json()
    assert "error" not in shown["questions"][0]
    assert "is not a column of the table" in shown["questions"][1]["error"]
    assert "twice" in shown["questions"][2]["error"]
    assert shown["price"]["covered"] is False
    assert call(quiet_desk, "release_plan", {"questions": asked, "confirm": True}).status_code == 400
    for broken in ([], "x", [3], [{"question": "majority(age < 40)"}], [BASKET[0] | {"unit": "age"}]):
        assert call(quiet_desk, "check_plan", {"questions": broken}).status_code == 400
    for confirm in (False, None, 1):
        assert call(quiet_desk, "release_plan", {"questions": BASKET, "confirm": confirm}).status_code == 400
    assert quiet_desk.get("/api/session").json()["ledger"]["history"] == []


def test_a_plan_is_written_and_read(quiet_desk: TestClient) -> None:
    grouped = {"by": "smokes", "groups": ["yes", 'it\'s "no"\n'], "public_groups": True, "delta": "1e-9"}
    questions = [BASKET[0], BASKET[1] | grouped]
    text = call(quiet_desk, "write_plan", {"questions": questions}).json()["plan"]
    assert tomllib.loads(text)["neighbours"] == "substitution"
    assert call(quiet_desk, "read_plan", {"plan": text}).json()["questions"] == questions
    other = text.replace('neighbours = "substitution"', 'unit = "name"')
    assert "is not the unit of this ledger" in call(quiet_desk, "read_plan", {"plan": other}).json()["error"]["message"]
    hidden = 'source = "/etc/passwd"\nledger = "/etc/shadow"\n[[question]]\ntext = "majority(age < 40)"\nepsilon = 1\n'
    assert call(quiet_desk, "read_plan", {"plan": hidden}).json()["questions"] == [
        {"question": "majority(age < 40)", "epsilon": 1}
    ]
    assert call(quiet_desk, "read_plan", {"plan": "[["}).status_code == 400


def test_a_plan_reads_back_what_it_writes() -> None:
    asked = {"text": "majority(x = 'é\x7f\\ \"')", "epsilon": "ln(2)", "groups": ["a", 3], "public_groups": True}
    sized = {"text": "any(x)", "epsilon": 0.5, "level_sizes": {"0.1": 20, "1": 981}}
    plan = Plan(
        "a b.csv", (asked, sized), unit="p", n=7, budget={"epsilon": "3", "delta": "1e-6"}, types={"a b": "number"}
    )
    assert parse_plan(plan.to_toml()) == plan


COLUMNS = ["smokes: ['yes', 'no']", "age: bins=[0, 40, 120]"]


@pytest.mark.long
def test_a_table_is_sanitised_after_an_estimate(desk: TestClient) -> None:
    asked = {"columns": COLUMNS, "epsilon": "0.6"}
    shown = call(desk, "check_sanitise", asked).json()
    assert shown["estimate"]["cells"] == 9
    assert shown["price"]["covered"] is True
    assert call(desk, "sanitise", asked).status_code == 400  # not confirmed
    made = call(desk, "sanitise", asked | {"confirm": True}).json()
    assert made["ledger"]["share"] == pytest.approx(0.6)
    assert set(made["margins"]) == {"smokes", "age"}
    rows = desk.get(f"/made/clean-{made['number']}.csv")
    assert rows.headers["content-disposition"].startswith("attachment")
    assert len(list(csv.DictReader(io.StringIO(rows.text)))) == made["rows"]
    assert desk.get(f"/made/clean-{made['number']}.json").json() == made["statement"]
    assert desk.get("/api/session").json()["made"][0]["columns"] == ["smokes", "age"]
    assert call(desk, "check_sanitise", asked).json()["price"]["recorded"] is True
    again = call(desk, "sanitise", asked | {"confirm": True}).json()
    assert (made["recorded"], again["recorded"]) == (False, True)
    assert again["ledger"]["share"] == pytest.approx(0.6)
    assert desk.get(f"/made/clean-{again['number']}.csv").text == rows.text
    dearer = asked | {"epsilon": "0.7"}
    assert call(desk, "check_sanitise", dearer).json()["price"]["covered"] is False
    assert call(desk, "sanitise", dearer | {"confirm": True}).status_code == 409
    for bad in (["height: ['a', 'b']"], ["smokes"], [], ["smokes: ["]):
        assert call(desk, "check_sanitise", asked | {"columns": bad}).status_code == 400
    assert not any(
        canary in str(shown) for canary in CANARIES
    )  # noisy counts may be near the true ones: they are paid for
    assert not any(canary in rows.text for canary in CANARIES if not canary.isdigit())


@pytest.mark.parametrize(
    "path", ["clean-9.csv", "clean-1.exe", "clean-..%2F1.csv", "../session.ledger", "clean--1.csv"]
)
def test_only_sanitised_tables_are_downloaded(quiet_desk: TestClient, path: str) -> None:
    assert quiet_desk.get(f"/made/{path}").status_code == 404


@pytest.mark.long
def test_a_ticket_is_good_for_one_spend(desk: TestClient) -> None:
    """A double click, or a browser that sends again by itself, spends once."""
    body, ticket = BASKET[0] | {"confirm": True}, {"X-Studio-Ticket": "one"}
    with ThreadPoolExecutor(4) as fingers:
        answers = list(fingers.map(lambda _: call(desk, "release", body, **ticket), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert {a.json()["error"]["kind"] for a in answers if a.status_code == 409} == {"SentTwice"}
    assert desk.get("/api/session").json()["ledger"]["share"] == pytest.approx(0.4)


@pytest.mark.slow
def test_the_same_question_from_two_tabs_at_once_is_paid_once(desk: TestClient) -> None:
    body = BASKET[0] | {"confirm": True}
    with ThreadPoolExecutor(2) as tabs:
        answers = [made.json() for made in tabs.map(lambda _: call(desk, "release", body), range(2))]
    assert sorted(made["recorded"] for made in answers) == [False, True]
    assert answers[0]["answer"] == answers[1]["answer"]
    assert desk.get("/api/settled").json()["ledger"]["share"] == pytest.approx(0.4)


@pytest.mark.slow
def test_a_worker_that_dies_after_the_spend_is_told_from_the_ledger(
    desk: TestClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The answer is lost, the spend is not: the message does not claim that nothing was spent, and the ledger says what was."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "if '-m' in sys.orig_argv and 'optimaldp.studio.worker' in sys.orig_argv:\n"
        "    import os, optimaldp.asking.releasing as releasing\n"
        "    releasing.SystemBits = type('Bits', (), {'take': lambda *_: os._exit(9)})\n"
    )
    desk.get("/api/session")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    pool = desk.app.state.pool  # type: ignore[attr-defined]
    desk.portal.call(pool.use, replace(pool.table))  # type: ignore[union-attr]
    lost = call(desk, "release", BASKET[0] | {"confirm": True})
    assert lost.status_code == 500
    assert "Whether anything was spent stands in the history" in lost.json()["error"]["message"]
    (entry,) = desk.get("/api/settled").json()["ledger"]["history"]
    assert (entry["epsilon"], entry["recorded"]) == ("0.4", False)
