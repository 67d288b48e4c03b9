"""Releases through the studio: the budget is spent once, refused after, and nothing else leaves the table."""

from __future__ import annotations

import re
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

from optimaldp.errors import InputError, LedgerError, TableError
from optimaldp.ledger import Budget, open_ledger
from optimaldp.studio.app import application
from optimaldp.studio.server import prepared

HERE = "http://127.0.0.1:8600"


class Visit:
    """A browser's view of a studio: every byte that came back is kept."""

    def __init__(self, client: TestClient, token: str) -> None:
        self._client, self._token = client, token
        self.traffic: list[str] = []

    def get(self, path: str) -> Any:
        return self._keep(self._client.get(path))

    def call(self, name: str, **body: Any) -> Any:
        return self._keep(self._client.post(f"/api/{name}", json=body, headers={"X-Studio-Token": self._token}))

    def release(self, question: str, epsilon: str, **more: Any) -> Any:
        return self.call("release", question=question, epsilon=epsilon, confirm=True, **more)

    def _keep(self, answer: Any) -> Any:
        headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
        self.traffic.append(f"{headers}\n{answer.text}")
        return answer


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return write_survey(tmp_path)


@pytest.fixture
def visit(survey: Path, tmp_path: Path) -> Iterator[Visit]:
    yield from _visit(survey, tmp_path)


@pytest.fixture(scope="module")
def quiet_visit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """For tests that spend nothing."""
    folder = tmp_path_factory.mktemp("quiet")
    yield from _visit(write_survey(folder), folder)


def _visit(survey: Path, folder: Path) -> Iterator[Visit]:
    with prepared(str(survey), str(folder / "survey.ledger"), budget=Budget(epsilon=1)) as made:
        settings = replace(made, token="a-token-without-digits")
        with TestClient(application(settings), base_url=HERE) as client:
            yield Visit(client, settings.token)


def test_columns_come_from_the_schema(quiet_visit: Visit) -> None:
    session = quiet_visit.get("/api/session").json()
    assert [(column["name"], column["kind"]) for column in session["data"]["columns"]] == [
        ("name", "text"),
        ("smokes", "text"),
        ("age", "text"),
    ]
    assert session["ledger"]["remaining"]["epsilon"] == "1"
    assert session["ledger"]["share"] == 0
    assert session["ledger"]["history"] == []


def test_a_check_spends_nothing_and_uses_the_same_predicate_checker(quiet_visit: Visit) -> None:
    checked = quiet_visit.call("check", question="share(smokes = 'yes') >= 0.3", epsilon="0.6").json()
    assert checked["preview"]["sentences"]
    assert checked["ledger"]["history"] == []
    for question in ("majority(smoks = 'yes')", "majority(age = (select 1))", "majority(read_csv('/etc/passwd'))"):
        answer = quiet_visit.call("check", question=question, epsilon="0.6")
        assert answer.status_code == 400
        released = quiet_visit.release(question, "0.6")
        assert released.json() == answer.json()  # the very same words
    assert quiet_visit.get("/api/session").json()["ledger"]["share"] == 0


@pytest.mark.long
def test_a_release_spends_and_the_next_is_refused(visit: Visit) -> None:
    first = visit.release("share(smokes = 'yes') >= 0.9", "0.6")
    assert first.status_code == 200
    assert first.json()["answer"] == "no"  # the margin is over a thousand persons
    assert (first.json()["recorded"], first.json()["spent"]) == (False, "ε = 0.6")
    assert first.json()["sentences"][3] == "Budget: ε = 0.4 of 1 left after 1 question."
    assert first.json()["document"]["spent"] == {"epsilon": "0.6", "delta": "0"}
    assert first.json()["ledger"]["share"] == pytest.approx(0.6)
    second = visit.release("majority(age < 40)", "0.6")
    assert second.status_code == 409
    assert second.json()["error"]["kind"] == "BudgetError"
    assert "Nothing was sampled and nothing was spent" in second.json()["error"]["message"]
    again = visit.release("share(smokes = 'yes') >= 0.9", "0.6").json()
    assert (again["answer"], again["recorded"], again["spent"]) == ("no", True, None)
    assert len(visit.get("/api/session").json()["ledger"]["history"]) == 1


@pytest.mark.long
def test_a_check_says_what_it_costs_and_whether_the_budget_covers_it(visit: Visit) -> None:
    asked = {"question": "share(smokes = 'yes') >= 0.9", "epsilon": "0.6"}
    assert visit.call("check", **asked).json()["price"]["covered"] is True
    visit.release(**asked)
    assert visit.call("check", **asked).json()["price"]["recorded"] is True
    dearer = visit.call("check", **asked | {"question": "majority(age < 40)"}).json()["price"]
    assert (dearer["covered"], dearer["recorded"]) == (False, False)
    assert "0.4 remains" in dearer["words"]


@pytest.mark.long
def test_the_same_words_twice_are_two_spends_when_the_data_changed(visit: Visit, survey: Path) -> None:
    """A spend is told by the library and never inferred from equal texts."""
    asked = ("share(smokes = 'yes') >= 0.9", "0.3")
    assert visit.release(*asked).json()["recorded"] is False
    survey.write_text(survey.read_text() + "Brillig-5573,no,62\n")
    again = visit.release(*asked).json()
    assert (again["recorded"], again["spent"]) == (False, "ε = 0.3")
    assert again["ledger"]["share"] == pytest.approx(0.6)


@pytest.mark.long
def test_answers_by_group_and_histograms(visit: Visit) -> None:
    grouped = {"by": "smokes", "groups": ["yes", "no"]}
    checked = visit.call("check", question="majority(age < 40)", epsilon="0.4", **grouped).json()
    assert any("one group" in note for note in checked["preview"]["notes"])
    made = visit.release("majority(age < 40)", "0.4", **grouped).json()
    assert made["answer"] == {"yes": "yes", "no": "no"}
    counted = visit.call("check", question="histogram(smokes, ['yes', 'no'])", epsilon="0.4").json()
    assert counted["preview"]["error"] is None
    assert counted["preview"]["sentences"]


def test_a_check_warns_before_anything_is_spent(quiet_visit: Visit) -> None:
    checked = quiet_visit.call("check", question="majority(age < 40)", epsilon="11", delta="0.1").json()
    assert any("hardly anybody" in text for text in checked["cautions"])
    assert any("somebody may be given away" in text for text in checked["cautions"])
    assert checked["people"].startswith("Each row counts as one person; neighbours: ")


@pytest.mark.parametrize("confirm", [False, None, "yes", 1])
def test_a_spend_must_be_confirmed(quiet_visit: Visit, confirm: Any) -> None:
    answer = quiet_visit.call("release", question="majority(age < 40)", epsilon="0.6", confirm=confirm)
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "confirm"
    assert quiet_visit.get("/api/session").json()["ledger"]["share"] == 0


@pytest.mark.slow
def test_two_tabs_that_spend_at_once_never_overspend(visit: Visit, tmp_path: Path) -> None:
    questions = [f"majority(age < {age})" for age in (20, 30, 40, 50, 60, 70)]
    with ThreadPoolExecutor(6) as tabs:
        answers = list(tabs.map(lambda question: visit.release(question, "0.4"), questions))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 409, 409, 409, 409]
    with open_ledger(tmp_path / "survey.ledger", readonly=True) as ledger:
        assert str(ledger.spent().epsilon) == "0.8"


@pytest.mark.long
def test_nothing_but_answers_leaves_the_table(visit: Visit) -> None:
    """All traffic of a visit, with cells and counts that look like nothing else."""
    for path in ("/", "/design", "/channel", "/release", "/api", "/api/session", "/openapi.json"):
        visit.get(path)
    asked = [
        ("share(smokes = 'yes') >= 0.9", {}),
        ("majority(age < 40)", {"where": "age > 18"}),
        ("majority(cast(name as integer) > 3)", {}),
        ("majority(1 / (age - 31) > 1)", {}),
        ("winner(name, ['a', 'b'])", {}),
        ("winner(name)", {}),
        ("median(age, bins=[0, 50, 100])", {}),
        ("median(name, bins=[1, 2])", {}),
        ("majority(age < 40)", {"levels": "name"}),
        ("majority(age < 40)", {"reduce": "first"}),
        ("majority(nobody)", {}),
    ]
    for question, more in asked:
        visit.call("check", question=question, epsilon="0.05", **more)
        visit.release(question, "0.05", **more)
    visit.call("check", question="histogram(smokes, ['yes', 'no'])", epsilon="0.05")
    visit.release("majority(age < 41)", "5")
    report = visit.call("report").json()
    assert "share(smokes = &#x27;yes&#x27;) &gt;= 0.9" in report["html"]
    assert report["csv"].startswith("sequence,time,question")
    assert visit.call("check", question="majority(age < 41)", epsilon="0.05").status_code == 200
    statuses = visit.get("/api/session").json()["ledger"]["history"]
    assert len(statuses) >= 4
    for text in visit.traffic:
        for canary in CANARIES:
            found = re.search(rf"(?<![\d.]){canary}(?!\d)", text)
            assert found is None, text[max(0, found.start() - 80) : found.end() + 80]


@pytest.mark.long
def test_without_a_ledger_the_session_is_recorded_without_a_limit(survey: Path) -> None:
    with prepared(str(survey), None) as settings, TestClient(application(settings), base_url=HERE) as client:
        visit = Visit(client, settings.token)
        assert visit.call("open", unit="").status_code == 200
        assert visit.release("majority(age < 40)", "50").status_code == 200
        ledger = visit.get("/api/session").json()["ledger"]
        record = Path(str(settings.ledger))
        assert (ledger["kept"], ledger["limited"], len(ledger["history"])) == (False, False, 1)
        assert record.exists()
    assert not record.exists()


@pytest.mark.long
def test_what_was_named_is_checked_before_anything_starts(survey: Path, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="does not exist"), prepared("nowhere.csv", None):
        pass
    with pytest.raises(InputError, match="without a table"), prepared(None, "some.ledger"):
        pass
    kept = str(tmp_path / "kept.ledger")
    with prepared(str(survey), kept, budget=Budget(epsilon=1), neighbours="add-remove"):
        pass
    with pytest.raises(LedgerError, match="was opened with"), prepared(str(survey), kept, neighbours="substitution"):
        pass
