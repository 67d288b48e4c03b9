"""The OWASP API list, item by item: each test is named after what it tries."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running import SHARE, Caller, curator, inline

from optimaldp.service.app import create_app
from optimaldp.service.keys import create_key, digest_of, is_key, moment, new_key
from optimaldp.service.routes import ROUTES
from optimaldp.service.store import ServiceStore

OF_DATASET = ["/v1/remaining", "/v1/history", "/v1/entries", "/v1/requests"]


def same(first: Any, second: Any) -> bool:
    """Whether two answers cannot be told apart, but for their numbers."""
    apart = ("x-request-id",)
    headers = [{k: v for k, v in one.headers.items() if k not in apart} for one in (first, second)]
    return first.status_code == second.status_code and first.content == second.content and headers[0] == headers[1]


def test_object_level_authorisation_of_data_sets(service: Caller) -> None:
    for path in ("/v1/ask", "/v1/preview"):
        assert service.post("cleo", path, SHARE).status_code == 404
    table = {"dataset": "hospital", "columns": ["ward"], "epsilon": 0.1}
    assert service.post("cleo", "/v1/sanitise", table).status_code == 404
    for path in ("/v1/remaining", "/v1/history", "/v1/requests"):
        assert service.get("cleo", path, params={"dataset": "hospital"}).status_code == 404
    assert [one["name"] for one in service.get("cleo", "/v1/datasets").json()["datasets"]] == ["clinic"]
    assert service.spent() == "0"


def test_object_level_authorisation_of_requests(service: Caller) -> None:
    number = service.ask("ann", epsilon="0.75").json()["request"]
    for who in ("cleo", "carl"):  # another asker; an approver of another data set
        assert service.get(who, f"/v1/requests/{number}").status_code == 404
        assert service.get(who, "/v1/requests").json() == {"requests": []}
    for action in ("approve", "refuse"):
        assert (
            service.post(
                "carl", f"/v1/requests/{number}/{action}", {"reason": "no"} if action == "refuse" else {}
            ).status_code
            == 404
        )
        assert service.post("ann", f"/v1/requests/{number}/{action}").status_code == 403
        assert service.post("sue", f"/v1/requests/{number}/{action}").status_code == 403
    assert service.get("ann", f"/v1/requests/{number}").json()["status"] == "waiting"


def test_object_level_authorisation_of_stewards(service: Caller) -> None:
    """A steward of one data set neither sees nor changes what belongs to another."""
    keys = {one["name"]: one["id"] for one in service.get("sue", "/v1/keys").json()["keys"]}
    assert {"ann", "cleo", "otto", "stan"} <= set(keys)
    assert [one["name"] for one in service.get("stan", "/v1/askers").json()["askers"]] == ["cleo"]
    assert [one["name"] for one in service.get("stan", "/v1/keys").json()["keys"]] == ["cleo"]
    for name in ("ann", "otto", "sue"):
        assert service.call("stan", "DELETE", f"/v1/keys/{keys[name]}").status_code == 404
        assert service.get(name, "/v1/me").status_code == 200
    grant = {"datasets": {"hospital": {"epsilon": "0.1", "shared": True}}}
    assert service.call("stan", "PUT", "/v1/askers/dave", json=grant).status_code == 404
    assert service.post("stan", "/v1/keys", {"name": "ann"}).status_code == 404
    assert service.get("stan", "/v1/history", params={"dataset": "hospital"}).status_code == 404
    assert service.call("sue", "PUT", "/v1/askers/dave", json=grant).status_code == 200
    assert service.call("stan", "PUT", "/v1/askers/dave", json={"datasets": {}}).status_code == 404
    assert service.call("stan", "DELETE", "/v1/askers/dave").status_code == 404


def test_a_name_that_somebody_else_gets_opens_nothing_of_hers(service: Caller) -> None:
    """A steward of one data set gives a name that was free again: neither old keys nor old answers come with it."""
    keys = service.curator.keys
    grant = {"datasets": {"hospital": {"epsilon": "0.5", "shared": True}}}
    assert service.call("sue", "PUT", "/v1/askers/dave", json=grant).status_code == 200
    keys["dave"] = service.post("sue", "/v1/keys", {"name": "dave"}).json()["key"]  # type: ignore[index]
    number = service.ask("dave").json()["request"]
    assert service.call("sue", "DELETE", "/v1/askers/dave").status_code == 200
    other = {"datasets": {"clinic": {"epsilon": "0.5", "shared": True}}}
    assert service.call("stan", "PUT", "/v1/askers/dave", json=other).status_code == 200
    assert service.get("dave", "/v1/me").status_code == 401
    keys["dave"] = service.post("stan", "/v1/keys", {"name": "dave"}).json()["key"]  # type: ignore[index]
    assert service.get("dave", f"/v1/requests/{number}").status_code == 404
    assert service.get("dave", "/v1/requests").json() == {"requests": []}


def test_enumeration_of_askers_by_a_steward(service: Caller) -> None:
    """To a steward of one data set, who asks another does not exist."""
    grant = {"datasets": {"hospital": {"epsilon": "0.1", "shared": True}}}
    assert service.call("sue", "PUT", "/v1/askers/dave", json=grant).status_code == 200
    assert same(*(service.call("stan", "DELETE", f"/v1/askers/{name}") for name in ("dave", "nobody")))
    assert same(*(service.post("stan", "/v1/keys", {"name": name}) for name in ("ann", "dave")))
    assert same(*(service.post("stan", "/v1/keys", {"name": name}) for name in ("ann", "nobody")))


def test_object_level_authorisation_of_histories(service: Caller) -> None:
    service.ask("ann")
    service.ask("ben", question="share(smokes) >= 0.4")
    for who, own in (("ann", "share(smokes) >= 0.2"), ("ben", "share(smokes) >= 0.4")):
        history = service.get(who, "/v1/history", params={"dataset": "hospital"}).json()["history"]
        assert [(one["asker"], one["question"]) for one in history] == [(who, own)]
    assert [one["asker"] for one in service.get("ann", "/v1/requests").json()["requests"]] == ["ann"]


@pytest.mark.long
@pytest.mark.parametrize("route", [one for one in ROUTES if one.roles is not None], ids=lambda one: one.name)
def test_function_level_authorisation(service: Caller, route: Any) -> None:
    """Each role that a route is not for is refused before its body is looked at; without a key nobody comes in."""
    people = {"asker": "ann", "approver": "dora", "steward": "sue", "auditor": "otto"}
    path = route.path.replace("{id}", "0" * 32).replace("{name}", "x")
    for role, who in people.items():
        status = service.call(who, route.method, path, content=b"{").status_code
        assert (status == 403) is (role not in route.roles), (role, status)
    bare = service.client.request(route.method, path)
    assert (bare.status_code, bare.headers["www-authenticate"]) == (401, "Bearer")


def test_key_in_a_url(service: Caller) -> None:
    key = service.curator.keys["ann"]
    for address in (f"/v1/me?key={key}", "/v1/me?access_token=x", f"/v1/me?x={key}", f"/v1/requests/{key}", f"/{key}"):
        refused = service.client.get(address, headers=service.curator.headers("ann"))
        assert refused.status_code == 400
        assert "in the URL" in refused.json()["error"]["message"]


def test_keys_are_never_written_down(tmp_path: Path, service: Caller, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        service.ask("ann")
        service.client.get(f"/v1/me?key={service.curator.keys['ann']}")
    logged = "".join(str(vars(record)) for record in caplog.records if record.name.startswith("optimaldp"))
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert "'/v1/ask'" in logged
    for key in service.curator.keys.values():
        assert key not in logged
        assert key.encode() not in kept
        assert digest_of(key).encode() in kept


def test_logs_hold_no_question_no_answer_and_no_count(service: Caller, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="optimaldp.service"):
        service.ask("ann", question="count(ward = 'north')", epsilon="0.5")
        service.ask("ann", question="share(ward = 'nort' and broken")
    lines = [vars(one)["fields"] for one in caplog.records]
    assert {name for line in lines for name in line} <= {
        "number", "method", "route", "status", "who", "kind", "dataset", "request"
    }  # fmt: skip
    assert "north" not in str(lines)


@pytest.mark.long
@pytest.mark.parametrize(
    "more",
    [
        {"asker": "ben"},
        {"approver": "dora"},
        {"status": "answered"},
        {"replayed": True},
        {"budget": {"epsilon": 100}},
        {"unit": "ward"},
        {"neighbours": "add-remove"},
        {"types": {"age": "text"}},
        {"delimiter": ";"},
        {"encoding": "latin-1"},
        {"description": "other.datapackage.json"},
        {"rule": None},
        {"behalf": {"asker": "ben"}},
        {"request": "1"},
    ],
    ids=lambda more: next(iter(more)),
)
def test_mass_assignment_by_a_question(service: Caller, more: dict[str, Any]) -> None:
    (name,) = more
    for path in ("/v1/ask", "/v1/preview"):
        refused = service.post("ann", path, SHARE | more)
        assert (refused.status_code, refused.json()["error"]["field"]) == (400, name)
    assert service.get("ann", "/v1/requests").json() == {"requests": []}
    assert service.spent() == "0"


def test_mass_assignment_by_a_steward(service: Caller) -> None:
    grant = {"datasets": {"clinic": {"epsilon": 0, "shared": True}}}
    for more in ({"roles": ["steward"]}, {"declared": "file"}, {"name": "sue"}):
        assert service.call("sue", "PUT", "/v1/askers/dave", json=grant | more).status_code == 400
    for body in (
        {"name": "dora"},
        {"name": "ben"},
        {"name": "cleo", "expires": "2099"},
        {"name": "cleo", "days": 10**6},
    ):
        assert service.post("sue", "/v1/keys", body).status_code == 400
    assert service.post("dora", "/v1/requests/x/approve", {"approver": "ann"}).status_code == 400


def test_replay_of_a_request(service: Caller) -> None:
    """The same request with its idempotency key is done once; with other words it is refused."""
    once = {"Idempotency-Key": "k1"}
    first, again = (service.post("ann", "/v1/ask", SHARE, **once) for _ in range(2))
    assert first.json()["request"] == again.json()["request"]
    assert first.json()["answer"] == again.json()["answer"]
    assert service.post("ann", "/v1/ask", SHARE | {"epsilon": "0.1"}, **once).status_code == 409
    assert service.post("ben", "/v1/ask", SHARE | {"epsilon": "0.1"}, **once).status_code == 200  # hers is not his
    assert service.spent() == "0.35"
    waits = SHARE | {"epsilon": "0.6"}
    numbers = {service.post("ann", "/v1/ask", waits, **{"Idempotency-Key": "k2"}).json()["request"] for _ in range(3)}
    assert len(numbers) == 1
    (number,) = numbers
    assert service.post("dora", f"/v1/requests/{number}/approve").status_code == 200
    assert service.post("dora", f"/v1/requests/{number}/approve").status_code == 409
    assert service.spent() == "0.95"


@pytest.mark.parametrize("address", ["/v1/me/", "//v1/me", "/v1/requests/..%2f.."])
def test_no_address_leads_to_another_host(service: Caller, address: str) -> None:
    """An address that is not quite right is none: nobody is sent on with her key to the host that a request names."""
    headers = service.curator.headers("ann") | {"Host": "evil.example"}
    answer = service.client.get(address, headers=headers, follow_redirects=False)
    assert (answer.status_code, answer.headers.get("location")) == (404, None)


def test_huge_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = curator(tmp_path, service={"most_bytes": 5000})
    with inline(made, monkeypatch) as service:
        huge = json.dumps(SHARE | {"where": "x" * 5000}).encode()

        def pieces() -> Iterator[bytes]:
            yield huge[:3000]
            yield huge[3000:]

        for content in (huge, pieces()):  # announced, and not
            headers = service.curator.headers("ann") | {"Content-Type": "application/json"}
            assert service.client.post("/v1/ask", content=content, headers=headers).status_code == 413
        assert service.ask("ann").status_code == 200
        deep = '{"dataset": ' + "[" * 2000 + "]" * 2000 + "}"
        headers = service.curator.headers("ann") | {"Content-Type": "application/json"}
        assert service.client.post("/v1/ask", content=deep, headers=headers).status_code == 400


def test_slow_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that never ends is given up; a stranger's is not even waited for."""
    made = curator(tmp_path, service={"body_seconds": 0.05})
    with inline(made, monkeypatch) as service:
        key = made.keys["ann"]
        assert asyncio.run(_sent_slowly(service.client.app, f"Bearer {key}")) == 408
        assert asyncio.run(_sent_slowly(service.client.app, "Bearer nobody")) == 401


async def _sent_slowly(app: Any, authorization: str) -> int:
    """The status that a caller gets who sends the beginning of a body and nothing more."""
    sent: list[Any] = []
    pieces = [{"type": "http.request", "body": b'{"dataset"', "more_body": True}]

    async def receive() -> Any:
        if pieces:
            return pieces.pop()
        return await asyncio.sleep(3600)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", authorization.encode()), (b"content-type", b"application/json"), (b"host", b"h")]
    scope = {
        "type": "http", "method": "POST", "path": "/v1/ask", "raw_path": b"/v1/ask", "query_string": b"",
        "headers": headers, "scheme": "http", "server": ("h", 80), "client": ("c", 1), "root_path": "",
        "http_version": "1.1", "asgi": {"version": "3.0"},
    }  # fmt: skip
    await asyncio.wait_for(app(scope, receive, send), 30)
    return int(sent[0]["status"])


@pytest.mark.long
@pytest.mark.parametrize(
    "source",
    ["http://127.0.0.1:1/x.csv", "file:///etc/passwd", "../patients.csv", "postgres://h/d?table=t", "/etc/passwd"],
)
def test_ssrf_by_a_source(service: Caller, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No field of a call names a place, and no question opens one."""
    opened: list[object] = []
    monkeypatch.setattr("optimaldp.tables.open_source", lambda *a, **k: opened.append(a))
    assert service.ask("ann", dataset=source).status_code == 404
    for field in ("source", "data", "path", "url", "ledger"):
        assert service.ask("ann", **{field: source}).status_code == 400
    assert opened == []


@pytest.mark.long
@pytest.mark.parametrize("call", ["read_csv('/etc/passwd')", "read_text('x')", "getenv('HOME')", "(select 1)"])
def test_ssrf_by_a_question(service: Caller, call: str) -> None:
    for changes in ({"question": f"share({call} = 'x') >= 0.2"}, {"where": f"{call} = 'x'"}):
        assert service.ask("ann", **changes).status_code == 400
    assert service.spent() == "0"


@pytest.mark.long
@pytest.mark.parametrize("path", OF_DATASET)
def test_enumeration_of_names_of_data_sets(service: Caller, path: str) -> None:
    theirs, nobodys = (service.get("cleo", path, params={"dataset": name}) for name in ("hospital", "no-such"))
    assert same(theirs, nobodys)


def test_enumeration_of_names_by_questions_and_requests(service: Caller) -> None:
    number = service.ask("ann", epsilon="0.75").json()["request"]
    assert same(service.ask("cleo"), service.ask("cleo", dataset="no-such"))
    assert same(
        service.post("cleo", "/v1/preview", SHARE), service.post("cleo", "/v1/preview", SHARE | {"dataset": "no"})
    )
    for who, more in (("cleo", ""), ("carl", "/approve")):
        method = "POST" if more else "GET"
        asked = [service.call(who, method, f"/v1/requests/{one}{more}", json={}) for one in (number, "0" * 32)]
        assert same(*asked)
        assert asked[0].status_code == 404


def test_timing_of_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with a key, one digest is compared in constant time and one sentence is said."""
    made = curator(tmp_path)
    with inline(made, monkeypatch) as service:
        good = made.keys["ann"]
        gone = create_key(made.config, "ann")
        store = ServiceStore(made.config.ledger)
        store.revoke_key(gone.split("_")[1])
        old, record = new_key("ann")
        store.add_key(type(record)(**vars(record) | {"expires": moment()}))
        store.close()
        wrong = good[:-1] + ("A" if good[-1] != "A" else "B")
        unknown = "odp_" + "0" * 16 + good[20:]
        compared: list[int] = []
        compare = hmac.compare_digest
        monkeypatch.setattr(
            "optimaldp.service.keys.hmac.compare_digest", lambda a, b: compared.append(len(b)) or compare(a, b)
        )
        answers = [service.client.get("/v1/me", headers={"Authorization": f"Bearer {key}"})
                   for key in (wrong, unknown, gone, old, "", "odp_", "x" * 5000)]  # fmt: skip
        answers.append(service.client.get("/v1/me"))
        assert {one.status_code for one in answers} == {401}
        assert all(same(one, answers[0]) for one in answers)
        assert compared == [64] * len(answers)
        assert service.get("ann", "/v1/me").status_code == 200


def test_a_key_is_good_until_it_expires() -> None:
    key, record = new_key("ann", days=1)
    assert is_key(key, record, moment())
    assert not is_key(key, record, record.expires)
    assert not is_key(key + "x", record, moment())
    assert not is_key(key, None, moment())


def test_rate_of_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inline(curator(tmp_path, service={"rate": 3}), monkeypatch) as service:
        statuses = [service.get("ann", "/v1/me").status_code for _ in range(5)]
        assert statuses == [200, 200, 200, 429, 429]
        assert int(service.get("ann", "/v1/me").headers["retry-after"]) > 0
        assert service.get("ben", "/v1/me").status_code == 200


def test_security_headers_and_content_types(service: Caller) -> None:
    made = service.get("ann", "/v1/me")
    assert made.headers["cache-control"] == "no-store"
    assert made.headers["x-content-type-options"] == "nosniff"
    for sent in ("text/plain", "application/x-www-form-urlencoded", ""):
        headers = service.curator.headers("ann") | {"Content-Type": sent}
        assert service.client.post("/v1/ask", content=json.dumps(SHARE), headers=headers).status_code == 415


def test_an_unforeseen_error_keeps_its_words(service: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.testclient import TestClient

    def broken(*_: object) -> None:
        raise ValueError("a secret")

    app = create_app(service.curator.config)
    with TestClient(app, raise_server_exceptions=False) as client:
        monkeypatch.setattr("optimaldp.service.desk.CuratorDesk.me", broken)
        made = client.get("/v1/me", headers=service.curator.headers("ann"))
    assert made.status_code == 500
    assert "secret" not in made.text
