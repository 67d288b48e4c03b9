"""Signing in with an organisation's account: a real provider, and everything that must not let anybody in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

pytest.importorskip("authlib")

from provider import CLIENT, OpenIdProvider, openid_provider
from running import Caller, curator, inline

from optimaldp.errors import InputError
from optimaldp.service.configuration import configuration_of

HERE = "http://127.0.0.1"
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def running_provider() -> Iterator[OpenIdProvider]:
    with openid_provider() as made:
        yield made


@pytest.fixture
def provider(running_provider: OpenIdProvider) -> Iterator[OpenIdProvider]:
    account = dict(running_provider.account)
    yield running_provider
    running_provider.account, running_provider.cheat = account, {}


@pytest.fixture
def service(tmp_path: Path, provider: OpenIdProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    people = {"ann@example.org": "ann", "gone@example.org": "nobody"}
    told = {"issuer": provider.issuer, "client_id": CLIENT, "address": HERE, "claim": "email", "people": people}
    with inline(curator(tmp_path, oidc=told), monkeypatch) as made:
        made.client.base_url = HERE
        yield made


def back_from_provider(service: Caller) -> str:
    """Follow the browser to the provider: the address that it is sent back to."""
    away = service.client.get("/sign-in", follow_redirects=False)
    assert away.status_code == 303
    assert "HttpOnly" in away.headers["set-cookie"]
    assert "SameSite=lax" in away.headers["set-cookie"]
    sent = httpx.get(away.headers["location"], trust_env=False)
    return str(sent.headers["location"])


def let_in(service: Caller, address: str) -> bool:
    reply = service.client.get(address, follow_redirects=False)
    assert (reply.status_code, reply.headers["location"]) in ((303, "/#signed-in"), (303, "/#sign-in-refused"))
    return bool(reply.headers["location"] == "/#signed-in")


def fetched_key(service: Caller) -> Any:
    return service.client.post("/sign-in/key", json={})


@pytest.mark.long
def test_an_account_becomes_a_key_of_a_day_once(service: Caller) -> None:
    assert let_in(service, back_from_provider(service))
    browser = dict(service.client.cookies)
    reply = fetched_key(service)
    me = service.client.get("/v1/me", headers={"Authorization": f"Bearer {reply.json()['key']}"}).json()
    assert me["name"] == "ann"
    assert me["roles"] == ["asker"]
    assert me["expires"] < time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 86_500))
    service.client.cookies.update(browser)
    assert fetched_key(service).status_code == 401
    log = service.get("otto", "/v1/log").json()["log"]
    assert [(one["who"], one["action"]) for one in log] == [("ann", "sign in")]


@pytest.mark.long
@pytest.mark.parametrize(
    "cheat",
    [
        {"claims": {"iss": "https://other.example.org"}},
        {"claims": {"iss": None}},
        {"claims": {"aud": "another"}},
        {"claims": {"aud": "another", "azp": "curator"}},
        {"claims": {"aud": ["curator", "another"]}},
        {"claims": {"exp": 1_000_000_000}},
        {"claims": {"exp": None}},
        {"claims": {"nonce": "of another sign-in"}},
        {"claims": {"nonce": None}},
        {"signed": "none"},
        {"signed": "HS256"},
        {"signed": "other"},
        {"claims": {"email_verified": False}},
        {"claims": {"email_verified": "true"}},
        {"claims": {"email": "stranger@example.org"}},
        {"claims": {"email": None}},
        {"issuer": "https://other.example.org"},
    ],
    ids=str,
)
def test_a_token_that_is_not_ours_signed_and_fresh_lets_nobody_in(
    service: Caller, provider: OpenIdProvider, cheat: dict[str, Any]
) -> None:
    address = back_from_provider(service)
    provider.cheat = cheat
    assert not let_in(service, address)
    assert fetched_key(service).status_code == 401


@pytest.mark.long
def test_a_state_is_used_once_and_by_its_browser(service: Caller) -> None:
    address, own = back_from_provider(service), dict(service.client.cookies)
    state = parse_qs(urlsplit(address).query)["state"][0]
    other = back_from_provider(service)  # another browser's cookie, with the first one's state
    assert not let_in(service, address)
    assert let_in(service, other)
    service.client.cookies.clear()
    service.client.cookies.update(own)
    assert not let_in(service, address.replace(state, "made-up"))
    assert let_in(service, address)
    assert not let_in(service, address)  # replayed
    service.client.cookies.clear()
    assert not let_in(service, address)
    assert fetched_key(service).status_code == 401


def test_an_old_state_lets_nobody_in(service: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optimaldp.service.oidc.MINUTES", -1)
    assert not let_in(service, back_from_provider(service))


@pytest.mark.long
def test_a_code_is_worth_nothing_without_its_verifier(service: Caller, provider: OpenIdProvider) -> None:
    mine, own = back_from_provider(service), dict(service.client.cookies)
    theirs = back_from_provider(service)
    own_code, stolen = (parse_qs(urlsplit(one).query)["code"][0] for one in (mine, theirs))
    service.client.cookies.clear()
    service.client.cookies.update(own)
    assert not let_in(service, mine.replace(own_code, stolen))  # put into one's own way back


def test_a_name_without_a_role_gets_no_key(service: Caller, provider: OpenIdProvider) -> None:
    provider.account = provider.account | {"email": "gone@example.org"}
    assert let_in(service, back_from_provider(service))
    assert fetched_key(service).status_code == 401


def test_another_sites_form_gets_no_key(service: Caller) -> None:
    assert let_in(service, back_from_provider(service))
    form = service.client.post("/sign-in/key", content="{}", headers={"Content-Type": "text/plain"})
    assert form.status_code == 401
    assert fetched_key(service).status_code == 200


def test_browsers_on_their_way_are_bounded(service: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optimaldp.service.store._MOST_SIGN_INS", 1)
    assert let_in(service, back_from_provider(service))
    assert service.client.get("/sign-in", follow_redirects=False).headers["location"] == "/#sign-in-refused"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"issuer": "http://login.example.org"}, "oidc.issuer"),
        ({"address": "http://curator.example.org"}, "oidc.address"),
        ({"claim": "name"}, "oidc.claim"),
        ({"people": {"x": "not a name!"}}, "oidc.people.x"),
        ({"client_secret_file": "missing"}, "oidc.client_secret_file"),
        ({"verify": False}, "oidc.verify"),
    ],
)
def test_settings_that_would_let_others_in_are_refused(tmp_path: Path, changed: dict[str, Any], named: str) -> None:
    told = {"issuer": "https://login.example.org", "client_id": "c", "address": "https://c.example.org", "people": {}}
    dataset = {"description": "d.datapackage.json", "budget": {"epsilon": 1}}
    with pytest.raises(InputError) as refused:
        configuration_of({"datasets": {"d": dataset}, "oidc": told | changed}, tmp_path)
    assert refused.value.field == named


def test_without_the_setting_there_is_no_such_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with inline(curator(tmp_path), monkeypatch) as made:
        assert made.client.get("/sign-in").status_code == 404
