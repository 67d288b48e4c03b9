"""What the service does for each role: ask, wait, approve, refuse, share, look, and what an entry says of who did it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from running import DESCRIPTION, SHARE, Caller, curator, inline

from optimaldp.errors import LedgerError, TableError
from optimaldp.ledger.askers import AskersLedger
from optimaldp.service import desk
from optimaldp.service.clerk import Clerk
from optimaldp.service.refusals import FAILED, UNAVAILABLE
from optimaldp.service.routes import ROUTES


def test_a_question_is_answered_paid_and_named(service: Caller) -> None:
    made = service.ask("ann")
    assert made.status_code == 200
    document = made.json()
    assert document["answer"] in ("yes", "no")
    assert document["replayed"] is False
    assert document["spent"] == {"epsilon": "0.25", "delta": "0"}
    assert document["remaining"]["remaining"]["epsilon"] == "0.75"
    (record,) = service.get("otto", "/v1/history", params={"dataset": "hospital"}).json()["history"]
    assert (record["asker"], record["approver"], record["request"]) == ("ann", None, document["request"])
    assert record["answer"] == document["answer"]
    assert service.post("ann", "/v1/verify", document).json()["holds"] is True


def test_the_same_question_again_costs_its_asker_nothing(service: Caller) -> None:
    first, again = service.ask("ann"), service.ask("ann")
    assert again.json()["replayed"] is True
    assert again.json()["answer"] == first.json()["answer"]
    assert service.spent() == "0.25"


@pytest.mark.parametrize("shared", [False, True])
def test_another_asker_is_answered_from_the_record_only_if_the_steward_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    made = curator(tmp_path, datasets={"hospital": {"share_answers": shared}})
    with inline(made, monkeypatch) as service:
        service.ask("ben")
        assert service.ask("ann").json()["replayed"] is shared
        assert service.spent() == ("0.25" if shared else "0.5")
        # Past her approver she does not get it, though it is there for nothing.
        service.ask("ben", epsilon="0.75")
        assert service.ask("ann", epsilon="0.75").status_code == 202


def test_an_approved_answer_is_its_askers_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = curator(tmp_path, datasets={"hospital": {"share_answers": True}})
    with inline(made, monkeypatch) as service:
        waiting = service.ask("ann", epsilon="0.75").json()["request"]
        assert service.post("dora", f"/v1/requests/{waiting}/approve").status_code == 200
        assert service.ask("ann", epsilon="0.75").json()["replayed"] is True  # she has it already
        assert service.ask("ben", epsilon="0.75").json()["replayed"] is False


def test_a_larger_level_waits_and_is_paid_by_its_asker_when_it_is_approved(service: Caller) -> None:
    made = service.ask("ann", epsilon="0.75")
    assert (made.status_code, made.json()["status"]) == (202, "waiting")
    number = made.json()["request"]
    assert service.spent() == "0"
    (waiting,) = service.get("dora", "/v1/requests", params={"status": "waiting"}).json()["requests"]
    assert waiting["request"] == number
    approved = service.post("dora", f"/v1/requests/{number}/approve")
    assert (approved.status_code, approved.json()["status"], approved.json()["approver"]) == (200, "answered", "dora")
    assert "answer" not in approved.json()
    assert service.get("ann", f"/v1/requests/{number}").json()["answer"]["answer"] in ("yes", "no")
    assert "answer" not in service.get("sue", f"/v1/requests/{number}").json()
    (record,) = service.get("ann", "/v1/history", params={"dataset": "hospital"}).json()["history"]
    assert (record["asker"], record["approver"]) == ("ann", "dora")
    assert service.spent() == "0.75"


def test_a_level_of_just_what_is_allowed_does_not_wait(service: Caller) -> None:
    assert service.ask("ann", epsilon="0.5000000000000000000001").status_code == 202
    assert service.ask("ann", epsilon=0.5).status_code == 200


def test_a_refused_question_says_why_and_costs_nothing(service: Caller) -> None:
    number = service.ask("ann", epsilon="0.75").json()["request"]
    assert service.post("dora", f"/v1/requests/{number}/refuse", {}).status_code == 400
    refused = service.post("dora", f"/v1/requests/{number}/refuse", {"reason": "Ask for less."})
    assert refused.json()["status"] == "refused"
    seen = service.get("ann", f"/v1/requests/{number}").json()
    assert (seen["status"], seen["reason"], seen["approver"]) == ("refused", "Ask for less.", "dora")
    assert service.post("dora", f"/v1/requests/{number}/approve").status_code == 409
    assert service.spent() == "0"


def test_nobody_approves_her_own_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = curator(tmp_path, askers={"ben": {"approve_above": 0.1}})  # ben is an approver too
    with inline(made, monkeypatch) as service:
        number = service.ask("ben").json()["request"]
        assert service.post("ben", f"/v1/requests/{number}/approve").status_code == 403
        assert service.post("ben", f"/v1/requests/{number}/refuse", {"reason": "no"}).status_code == 403
        assert service.spent() == "0"
        assert service.post("dora", f"/v1/requests/{number}/approve").status_code == 200


@pytest.mark.parametrize(("where", "who"), [("datasets", "hospital"), ("askers", "ann")])
def test_kinds_that_the_steward_names_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, who: str
) -> None:
    made = curator(tmp_path, **{where: {who: {"approve_kinds": ["histogram", "sanitise"]}}})
    with inline(made, monkeypatch) as service:
        assert service.ask("ann").status_code == 200
        assert service.ask("ann", question="crosstab(ward, smokes)").status_code == 202
        assert service.ask("ann", question="histogram(ward)").status_code == 202
        table = {"dataset": "hospital", "columns": ["ward"], "epsilon": 0.1}
        assert service.post("ann", "/v1/sanitise", table).status_code == 202
        assert service.post("ann", "/v1/preview", SHARE | {"question": "histogram(ward)"}).json()["waits"] is True


def test_approving_what_the_budget_does_not_cover_leaves_it_waiting(service: Caller) -> None:
    number = service.ask("ann", epsilon="0.75").json()["request"]
    assert service.ask("ann", epsilon="0.5").status_code == 200
    refused = service.post("dora", f"/v1/requests/{number}/approve")
    assert refused.status_code == 409
    assert "the budget of ann does not cover it" in refused.json()["error"]["message"]
    assert service.get("ann", f"/v1/requests/{number}").json()["status"] == "waiting"
    assert service.spent() == "0.5"


def test_every_refusal_says_the_way_out(service: Caller) -> None:
    refused = {
        "the steward makes a new one": service.client.get("/v1/me"),
        "get /v1/datasets lists yours": service.ask("ann", dataset="other"),
        "get /v1/requests lists": service.get("ann", "/v1/requests/0"),
        "get /v1/openapi.json lists all": service.get("ann", "/v1/nothing"),
        "lists the methods": service.post("ann", "/v1/me"),
        "needs the role steward or auditor, and your key has asker. use another key": service.get("ann", "/v1/log"),
        "ask for less (get /v1/remaining says what is left)": service.ask("ben", epsilon="4"),
        "get /v1/askers lists": service.call("sue", "DELETE", "/v1/askers/zoe"),
        "get /v1/keys lists": service.call("sue", "DELETE", "/v1/keys/0"),
    }
    for way_out, answer in refused.items():
        assert answer.status_code in (401, 403, 404, 405, 409), way_out
        assert way_out in answer.json()["error"]["message"].lower()


def test_a_body_that_is_not_json_is_called_a_body(service: Caller) -> None:
    headers = service.curator.headers("ann") | {"Content-Type": "application/json"}
    said = service.client.post("/v1/ask", headers=headers, content=b"{").json()["error"]["message"]
    assert said.startswith("request: 'body' is not JSON (")
    said = service.client.post("/v1/ask", headers=headers, content=b'{"a": 1, "a": 2}').json()["error"]["message"]
    assert said.startswith("request: 'a' appears twice in one object")


def test_a_sub_budget_holds_within_the_total_and_says_whose_it_is(service: Caller) -> None:
    assert service.ask("ann", epsilon="0.5").status_code == 200
    assert service.ask("ann", epsilon="0.5", question="share(smokes) >= 0.3").status_code == 200
    refused = service.ask("ann", epsilon="0.01", question="share(smokes) >= 0.4")
    assert refused.status_code == 409
    assert "release needs epsilon 0.01 but 0 remains (1 of 1 spent in 2 entries)" in refused.json()["error"]["message"]
    assert service.ask("ben", epsilon="2").status_code == 200
    assert service.spent() == "3"
    remaining = service.get("sue", "/v1/remaining", params={"dataset": "hospital"}).json()
    assert {name: one["remaining"]["epsilon"] for name, one in remaining["askers"].items()} == {"ann": "0", "ben": "0"}


def test_what_was_refused_for_a_reason_is_not_kept(service: Caller) -> None:
    for changes in ({"question": "share(nothing) >= 0.2"}, {"question": "nonsense"}, {"epsilon": -1}, {"epsilon": "9"}):
        assert service.ask("ben", **changes).status_code in (400, 409)
    assert service.get("ben", "/v1/requests").json() == {"requests": []}
    assert service.spent() == "0"


def test_a_sanitised_table_goes_the_same_way(service: Caller) -> None:
    table = {"dataset": "hospital", "columns": ["ward", "age: bins=[0, 40, 110]"], "epsilon": 0.5, "labels": True}
    made = service.post("ben", "/v1/sanitise", table).json()
    assert made["columns"] == ["ward", "age"]
    assert len(made["rows"]) == 400
    assert made["statement"]["epsilon"] == "0.5"
    assert service.post("ben", "/v1/sanitise", table).json()["replayed"] is True
    assert service.spent() == "0.5"


def test_a_preview_reads_nothing_and_spends_nothing(service: Caller) -> None:
    shown = service.post("ann", "/v1/preview", SHARE | {"n": 400}).json()
    assert (shown["persons"], shown["dataset"], shown["waits"]) == (400, "hospital", False)
    assert service.post("ann", "/v1/preview", SHARE | {"epsilon": 0.75}).json()["waits"] is True
    assert service.spent() == "0"


def test_a_table_that_went_away_is_one_sentence_and_costs_nothing(tmp_path: Path, service: Caller) -> None:
    (tmp_path / "patients.csv").rename(tmp_path / "elsewhere.csv")
    made = service.ask("ann")
    assert (made.status_code, made.json()["error"]["message"]) == (503, UNAVAILABLE)
    assert service.spent() == "0"


@pytest.mark.parametrize("change", [{"neighbours": "add-remove"}, {"person": "ward"}, {"reviewed": False}], ids=str)
def test_a_description_that_promises_something_else_now_is_one_sentence_and_costs_nothing(
    tmp_path: Path, service: Caller, change: dict[str, Any]
) -> None:
    changed = DESCRIPTION | {"optimaldp": DESCRIPTION["optimaldp"] | change}
    (tmp_path / "hospital.datapackage.json").write_text(json.dumps(changed))
    for path in ("/v1/ask", "/v1/preview"):
        made = service.post("ben", path, SHARE)
        assert (made.status_code, made.json()["error"]["message"]) == (503, UNAVAILABLE)
    assert service.spent() == "0"


def test_when_the_store_fails_tells_no_more_than_that_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise LedgerError("the disk is full")

    with inline(curator(tmp_path, service={"answer_after": 0.4}), monkeypatch) as service:
        monkeypatch.setattr("optimaldp.service.store.ServiceStore.move_request", broken)
        start = time.monotonic()
        assert service.ask("ben").status_code == 503
        assert time.monotonic() - start >= 0.4


def test_a_spend_that_nobody_heard_of_is_not_made_again(service: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is lost while a spend is made: the request waits again, and to approve it twice pays once."""
    number = service.ask("ann", epsilon="0.75").json()["request"]
    reserve = AskersLedger.reserve_together

    def unheard(self: AskersLedger, *charges: Any, **agreed: Any) -> Any:
        reserve(self, *charges, **agreed)
        self.reserved = False
        raise LedgerError(f"ledger {self.location!r}: the server ended the connection.")

    with monkeypatch.context() as lost:
        lost.setattr(AskersLedger, "reserve_together", unheard)
        assert service.post("dora", f"/v1/requests/{number}/approve").status_code == 503
    assert service.get("ann", f"/v1/requests/{number}").json()["status"] == "waiting"
    assert service.post("dora", f"/v1/requests/{number}/approve").status_code == 500
    assert service.get("ann", f"/v1/requests/{number}").json()["status"] == "failed"
    assert service.spent() == "0.75"


def test_texts_that_no_database_takes_are_refused(service: Caller) -> None:
    number = service.ask("ann", epsilon="0.75").json()["request"]
    for reason in ("a\0b", " ", 5):
        assert service.post("dora", f"/v1/requests/{number}/refuse", {"reason": reason}).status_code == 400
    for who, method, path in (
        ("ann", "GET", "/v1/requests/%00"),
        ("sue", "DELETE", "/v1/keys/%00"),
        ("sue", "DELETE", "/v1/askers/%00"),
    ):
        assert service.call(who, method, path).status_code == 404
    refused = service.get("ann", "/v1/requests", params={"status": "\0"})
    assert (refused.status_code, refused.json()["error"]["field"]) == (400, "status")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("the 17th row says 'secret'"),
        TableError("levels", "secret", "holds more than 64 levels"),
        LedgerError("the disk is full of secret rows"),
        MemoryError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_goes_wrong_after_the_spend_is_one_sentence_and_the_spend_stays(
    service: Caller, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: Any) -> Any:
        raise error

    monkeypatch.setattr("optimaldp.asking.releasing.count_checked", broken)
    made = service.ask("ann")
    assert (made.status_code, made.json()["error"]["message"]) == (500, FAILED)
    assert "secret" not in made.text
    assert service.spent() == "0.25"
    (request,) = service.get("ann", "/v1/requests").json()["requests"]
    assert (request["status"], request["reason"]) == ("failed", FAILED)


def test_a_steward_lets_somebody_ask_within_what_is_left(service: Caller) -> None:
    grant = {"datasets": {"clinic": {"epsilon": 0.5, "shared": True}}, "approve_above": 0.2}
    assert service.call("sue", "PUT", "/v1/askers/dave", json=grant).status_code == 200
    made = service.post("sue", "/v1/keys", {"name": "dave", "days": 7})
    assert made.status_code == 201
    service.curator.keys["dave"] = made.json()["key"]  # type: ignore[index]
    assert service.ask("dave", dataset="clinic", epsilon="0.1").status_code == 200
    assert service.ask("dave", dataset="clinic", epsilon="0.3").status_code == 202
    assert service.ask("dave", dataset="hospital").status_code == 404
    too_much = {"datasets": {"clinic": {"epsilon": 0.5}}}
    refused = service.call("sue", "PUT", "/v1/askers/dave", json=too_much)
    assert refused.status_code == 400
    assert "its askers have epsilon 1.5 together" in refused.json()["error"]["message"]
    assert service.call("sue", "PUT", "/v1/askers/ann", json=grant).status_code == 409
    assert service.call("sue", "DELETE", "/v1/askers/dave").status_code == 200
    assert service.ask("dave", dataset="clinic", epsilon="0.1").status_code == 401


def test_two_stewards_at_once_give_no_more_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each looks whether there is room, and waits for the other before she takes it."""
    require, both = desk.require_room, threading.Barrier(2)

    def looked(*said: Any) -> None:
        require(*said)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)

    made = curator(tmp_path, askers={"ben": {"datasets": {"hospital": {"epsilon": 1}}}})
    with inline(made, monkeypatch) as service, ThreadPoolExecutor(2) as threads:
        monkeypatch.setattr(desk, "require_room", looked)
        grant = {"datasets": {"hospital": {"epsilon": 1}}}
        put = [threads.submit(service.call, "sue", "PUT", f"/v1/askers/{name}", json=grant) for name in ("d", "e")]
        assert sorted(one.result().status_code for one in put) == [200, 400]


def test_an_answer_is_never_shared_where_the_table_has_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Clerk._opened
    monkeypatch.setattr(Clerk, "_opened", lambda self, *said: replace(opened(self, *said), version=lambda: None))
    with inline(curator(tmp_path, datasets={"hospital": {"share_answers": True}}), monkeypatch) as service:
        assert [service.ask(who).json()["replayed"] for who in ("ben", "ann", "ann")] == [False] * 3
        assert service.spent() == "0.75"


def test_a_revoked_key_opens_nothing(service: Caller) -> None:
    listed = service.get("sue", "/v1/keys").json()["keys"]
    number = next(one["id"] for one in listed if one["name"] == "ann")
    assert not any(key in str(listed) for key in service.curator.keys.values())
    assert service.get("ann", "/v1/me").status_code == 200
    assert service.call("sue", "DELETE", f"/v1/keys/{number}").status_code == 200
    assert service.get("ann", "/v1/me").status_code == 401
    assert service.call("sue", "DELETE", "/v1/keys/ffffffffffffffff").status_code == 404


def test_an_auditor_reads_entries_and_log_and_nothing_else(service: Caller) -> None:
    service.ask("ann")
    entries = service.get("otto", "/v1/entries", params={"dataset": "hospital"}).json()
    assert entries["entries"][-1]["hash"] == entries["head"]
    log = service.get("otto", "/v1/log").json()["log"]
    assert [(one["who"], one["action"], one["outcome"]) for one in log] == [("ann", "ask", "answered")]
    assert service.get("otto", "/v1/log", params={"after": log[-1]["id"]}).json() == {"log": []}
    readable = {one.name for one in ROUTES if one.roles and "auditor" in one.roles}
    assert readable == {
        "me", "datasets", "requests", "request", "remaining", "history", "entries", "log", "verify", "metrics"
    }  # fmt: skip
    assert service.ask("otto").status_code == 403


def test_health_needs_no_key_and_metrics_do(service: Caller) -> None:
    assert service.client.get("/health").json() == {"status": "ok"}
    assert service.client.get("/metrics").status_code == 401
    assert service.get("ann", "/metrics").status_code == 403
    assert 'optimaldp_calls_total{route="/health",status="200"} 1.0' in service.get("sue", "/metrics").text


def test_a_rule_of_composition_that_refuses_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = {"rule": "optimal", "epsilon": "0.1", "delta": "0"}
    made = curator(tmp_path, datasets={"hospital": {"composition": rule}})
    with inline(made, monkeypatch) as service:
        refused = service.ask("ben")
        assert refused.status_code == 409
        assert "composes spends of at most epsilon 0.1" in refused.json()["error"]["message"]
        assert str(tmp_path) not in refused.text
        assert service.ask("ben", epsilon="0.1").status_code == 200


def test_a_budget_per_month_is_fresh_each_month_within_the_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = curator(tmp_path, askers={"ben": {"datasets": {"hospital": {"epsilon": 2, "per": "month"}}}, "ann": None})
    with inline(made, monkeypatch) as service:
        for month, statuses in (("2026-01", [200, 409]), ("2026-02", [200, 409])):
            monkeypatch.setattr("optimaldp.ledger.askers.now", lambda month=month: f"{month}-09T00:00:00.000+00:00")
            levels = ("1.5", "0.75")
            asked = [service.ask("ben", epsilon=one, question=f"share(smokes) >= 0.{month[-1]}") for one in levels]
            assert [one.status_code for one in asked] == statuses
            left = service.get("ben", "/v1/remaining", params={"dataset": "hospital"}).json()
            assert (left["per"], left["period"], left["remaining"]["epsilon"]) == ("month", month, "0.5")
            assert f"the budget of ben for {month} does not cover it" in asked[1].json()["error"]["message"]
        refused = service.ask("ben", epsilon="0.25")  # his month has room, the data set has none
        assert "the budget of the data set 'hospital' does not cover" in refused.json()["error"]["message"]
        assert service.spent() == "3"
