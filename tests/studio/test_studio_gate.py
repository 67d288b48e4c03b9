"""Who may talk to the studio, and what it says to everybody else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the studio extra is not installed")
pytest.importorskip("httpx", reason="httpx drives the application in tests")

from starlette.testclient import TestClient

from optimaldp.studio.api_calls import CALLS
from optimaldp.studio.app import ASSETS, application
from optimaldp.studio.pages import API_PAGE, PAGES
from optimaldp.studio.settings import MOST_BYTES, Settings

HERE = "http://127.0.0.1:8600"
ASKED = {"question": "majority(x)", "epsilon": 1}


@pytest.fixture(scope="module")
def local() -> Iterator[TestClient]:
    with TestClient(application(Settings(token="secret")), base_url=HERE) as client:
        yield client


@pytest.fixture(scope="module")
def remote() -> Iterator[TestClient]:
    settings = Settings(host="0.0.0.0", token="secret")
    with TestClient(application(settings), base_url="http://studio.example:8600", follow_redirects=False) as client:
        yield client


def refusal(answer: Any) -> str:
    assert set(answer.json()) == {"error"}
    return str(answer.json()["error"]["kind"])


@pytest.mark.parametrize("page", [*PAGES, API_PAGE], ids=lambda page: page.name)
def test_pages_hold_their_token_and_nothing_from_elsewhere(local: TestClient, page: Any) -> None:
    answer = local.get(page.path)
    assert answer.status_code == 200
    assert 'content="secret"' in answer.text
    assert "{{" not in answer.text
    assert "http://" not in answer.text
    assert "https://" not in answer.text
    assert "<script>" not in answer.text  # the content security policy allows none
    assert answer.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")


def test_assets_are_ours_alone(local: TestClient) -> None:
    for name, kind in ASSETS.items():
        answer = local.get(f"/static/{name}")
        assert answer.headers["content-type"].startswith(kind)
        addresses = answer.text.replace("http://www.w3.org/2000/svg", "")
        assert "://" not in addresses
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/frame.html", "/etc"]
)
def test_no_path_reaches_the_file_system(local: TestClient, path: str) -> None:
    answer = local.get(path)
    assert answer.status_code == 404
    assert refusal(answer) == "NotFound"


def test_openapi_describes_every_call(local: TestClient) -> None:
    document = local.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert set(document["paths"]) == {f"/api/{call.name}" for call in CALLS}
    assert {"/api/design", "/api/preview", "/api/leakage", "/api/release"} <= set(document["paths"])
    for methods in document["paths"].values():
        for operation in methods.values():
            assert operation["responses"]["400"]["content"]["application/json"]["schema"]["$ref"].endswith("/Error")


def test_a_program_on_this_machine_may_compute(local: TestClient) -> None:
    answer = local.post("/api/preview", json=ASKED)
    assert answer.status_code == 200
    assert answer.json()["error"]["optimaldp"]


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8600", "127.0.0.1.evil.example", "localhost.evil.example", ""]
)
def test_other_names_for_this_machine_are_refused(local: TestClient, host: str) -> None:
    answer = local.get("/", headers={"Host": host})
    assert answer.status_code == 403
    assert refusal(answer) == "WrongHost"


@pytest.mark.parametrize("host", ["localhost:8600", "[::1]:8600", "127.0.0.1"])
def test_own_names_are_answered(local: TestClient, host: str) -> None:
    assert local.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ({"Origin": "http://evil.example"}, "ForeignOrigin"),
        ({"Origin": "null"}, "ForeignOrigin"),
        ({"Origin": "http://["}, "ForeignOrigin"),  # no address at all
        ({"Origin": "http://127.0.0.1:9999"}, "ForeignOrigin"),
        ({"Sec-Fetch-Site": "cross-site"}, "ForeignOrigin"),
        ({"Sec-Fetch-Site": "same-site"}, "ForeignOrigin"),
        ({"Content-Type": "text/plain"}, "NotJSON"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, "NotJSON"),
        ({}, "TokenMissing"),
        ({"X-Studio-Token": "guess"}, "TokenMissing"),
    ],
)
def test_a_foreign_page_cannot_spend(local: TestClient, headers: dict[str, str], kind: str) -> None:
    body = json.dumps({"question": "majority(x)", "epsilon": 1, "confirm": True})
    if "X-Studio-Token" not in headers and headers:
        headers = {"X-Studio-Token": "secret"} | headers  # even with the token
    answer = local.post("/api/release", content=body, headers={"Content-Type": "application/json"} | headers)
    assert answer.status_code in (403, 415)
    assert refusal(answer) == kind


def test_a_foreign_page_cannot_read_the_session(local: TestClient) -> None:
    assert refusal(local.get("/api/session", headers={"Sec-Fetch-Site": "cross-site"})) == "ForeignOrigin"
    assert refusal(local.get("/api/session", headers={"Origin": "http://evil.example"})) == "ForeignOrigin"
    assert local.get("/api/session").status_code == 200
    assert local.get("/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200  # a link may lead here


def test_the_own_page_may_spend_and_is_told_that_there_is_no_table(local: TestClient) -> None:
    body = {"question": "majority(x)", "epsilon": 1, "confirm": True}
    answer = local.post("/api/release", json=body, headers={"X-Studio-Token": "secret", "Origin": HERE})
    assert answer.status_code == 400
    assert answer.json()["error"]["field"] == "data"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_refused(local: TestClient, method: str) -> None:
    assert refusal(local.request(method, "/api/preview")) == "MethodNotAllowed"


def test_reading_a_call_that_computes_is_refused(local: TestClient) -> None:
    assert refusal(local.get("/api/preview")) == "MethodNotAllowed"


def test_large_requests_are_refused(local: TestClient) -> None:
    json_type = {"Content-Type": "application/json"}
    announced = local.post("/api/design", content=b" " * (MOST_BYTES + 1), headers=json_type)
    assert (announced.status_code, refusal(announced)) == (413, "TooLarge")

    def unannounced() -> Iterator[bytes]:
        for _ in range(MOST_BYTES // 100_000 + 1):
            yield b" " * 100_000

    streamed = local.post("/api/design", content=unannounced(), headers=json_type)
    assert "content-length" not in streamed.request.headers
    assert (streamed.status_code, refusal(streamed)) == (413, "TooLarge")
    assert local.post("/api/design", content=b" " * (MOST_BYTES - 10), headers=json_type).status_code == 400


def test_what_is_no_text_is_refused(local: TestClient) -> None:
    answer = local.post("/api/design", content=b"\xff\xfe", headers={"Content-Type": "application/json"})
    assert (answer.status_code, refusal(answer)) == (400, "NotJSON")


def test_slow_work_is_stopped() -> None:
    with TestClient(application(Settings(most_seconds=0.001)), base_url=HERE) as client:
        answer = client.post("/api/preview", json=ASKED)
    assert (answer.status_code, refusal(answer)) == (504, "TooSlow")


@pytest.mark.parametrize("path", ["/", "/static/studio.js", "/openapi.json", "/api/session"])
def test_strangers_see_nothing_when_bound_elsewhere(remote: TestClient, path: str) -> None:
    remote.cookies.clear()
    answer = remote.get(path)
    assert answer.status_code == 403
    assert "secret" not in answer.text
    assert refusal(remote.get(path, params={"token": "guess"})) == "TokenMissing"


def test_the_token_in_the_url_becomes_a_cookie(remote: TestClient) -> None:
    remote.cookies.clear()
    answer = remote.get("/", params={"token": "secret"})
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    assert {"HttpOnly", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
    assert remote.get("/explore").status_code == 200
    assert remote.post("/api/preview", json=ASKED).status_code == 200


def test_a_program_elsewhere_needs_the_header(remote: TestClient) -> None:
    remote.cookies.clear()
    assert refusal(remote.post("/api/preview", json=ASKED)) == "TokenMissing"
    assert remote.post("/api/preview", json=ASKED, headers={"X-Studio-Token": "secret"}).status_code == 200


@pytest.mark.long
def test_tokens_are_long_and_their_owner_keeps_quiet() -> None:
    first, second = Settings(), Settings()
    assert first.token != second.token
    assert len(first.token) >= 32
    assert first.token not in repr(first)
    assert "token" not in first.at_work("folder").to_document()
    assert "token=" not in first.address(1)
    assert f"token={first.token}" in Settings(host="192.0.2.1", token=first.token).address(1)
