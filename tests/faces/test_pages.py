"""The curator's page in a real browser: sign in, ask, wait, see, approve and refuse, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the service extra is not installed")

from browser_views import VIEWS, focused, needs_chromium, picture, too_wide
from served import Served

pytestmark = [needs_chromium, pytest.mark.long]


@contextmanager
def opened(browser: Any, view: str = "wide") -> Iterator[Any]:
    """A tab of its own that fails on any error of its scripts or of its content security policy."""
    context = browser.new_context(**VIEWS[view], accept_downloads=True)
    context.set_default_timeout(30_000)
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"{error.message}\n{error.stack}"))
    page.on("console", lambda line: problems.append(line.text) if _is_problem(line) else None)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.asked = asked
    yield page
    context.close()
    assert problems == []
    assert not [url for url in asked if "odp_" in url]  # a key is never in a URL


def _is_problem(line: Any) -> bool:
    return line.type == "error" and "Failed to load resource" not in line.text  # a refused call is logged so


def sign_in(page: Any, curator: Served, name: str) -> None:
    page.goto(curator.url)
    page.fill("#key", curator.keys[name])
    page.press("#key", "Enter")
    page.wait_for_selector("#sign-out:not([hidden])")


def fill(page: Any, question: str, epsilon: str) -> None:
    page.fill("#question", question)
    page.fill("#epsilon", epsilon)
    page.wait_for_selector("#ask:not([disabled])")


def ask(page: Any, question: str, epsilon: str) -> None:
    fill(page, question, epsilon)
    page.click("#ask")
    page.wait_for_selector("#confirm[open]")
    page.click("#yes")
    page.wait_for_selector("#answer-card:not([hidden])")


def test_the_page_can_run_no_script_but_its_own(curator: Served) -> None:
    import urllib.request

    with urllib.request.urlopen(curator.url) as answer:
        policy, text = answer.headers["Content-Security-Policy"], answer.read().decode()
    assert "script-src 'self'" in policy
    assert "default-src 'none'" in policy
    assert "form-action 'none'" in policy
    assert "<script>" not in text
    assert " on" + "click=" not in text
    assert "style=" not in text


@pytest.mark.long
def test_a_wrong_key_is_told_and_none_is_kept(browser: Any, curator: Served) -> None:
    with opened(browser) as page:
        page.goto(curator.url)
        assert focused(page) == "key"
        page.press("#key", "Enter")
        assert "Type or paste your key" in page.inner_text(".field-error")
        page.fill("#key", "odp_0000000000000000_wrong")
        page.press("#key", "Enter")
        page.wait_for_selector("#sign-in-status .error")
        assert page.evaluate("sessionStorage.length") == 0
        assert page.evaluate("localStorage.length") == 0


@pytest.mark.slow  # answers come at their fixed time
@pytest.mark.parametrize("view", ["wide", "phone"])
def test_a_question_is_previewed_asked_and_seen(browser: Any, curator: Served, view: str) -> None:
    with opened(browser, view) as page:
        sign_in(page, curator, "ann")
        assert "ward" in page.inner_text("#columns")
        assert "Cardiology" in page.inner_text("#columns")
        page.fill("#question", "count(nobody = 1)")
        page.fill("#epsilon", "0.1")
        page.wait_for_selector(".field-error, #ask-status .error")
        assert page.is_disabled("#ask")
        fill(page, f"count(age >= {65 if view == 'wide' else 66})", "0.1")
        assert "95 %" in page.inner_text("#preview")
        assert "costs ε = 0.1" in page.inner_text("#why")
        page.screenshot(path=picture(f"curator-preview-{view}"), full_page=True)
        page.click("#ask")
        page.wait_for_selector("#confirm[open]")
        page.keyboard.press("Escape")
        assert not page.is_visible("#confirm")
        page.click("#ask")
        page.click("#yes")
        page.wait_for_selector("#answer-card:not([hidden])")
        assert focused(page) == "answer-title"
        assert page.inner_text("#answer .big")[0].isdigit()
        assert "This cost ε = 0.1" in page.inner_text("#answer .spent")
        assert "Protected: each row counts as one person" in page.inner_text("#answer")
        assert too_wide(page) <= 0
        page.screenshot(path=picture(f"curator-answer-{view}"), full_page=True)
        page.fill("#epsilon", "0.2")
        assert not page.is_visible("#answer-card")  # an answer never stands beside other inputs
        page.reload()
        page.wait_for_selector("#sign-out:not([hidden])")  # a tab stays signed in
        page.click("#views a[href='#history']")
        page.wait_for_selector("#history tbody tr")
        assert "count(age >= 6" in page.inner_text("#history")
        assert too_wide(page) <= 0
        page.click("#sign-out")
        page.wait_for_selector("#sign-in")
        assert page.evaluate("sessionStorage.length") == 0
        assert page.inner_text("#history tbody") == ""


@pytest.mark.slow  # answers come at their fixed time
@pytest.mark.parametrize("view", ["dark", "phone"])
def test_an_approver_lets_one_question_through_and_refuses_another(browser: Any, curator: Served, view: str) -> None:
    ages = {"dark": (70, 71), "phone": (72, 73)}[view]
    with opened(browser, view) as asker, opened(browser, view) as approver:
        sign_in(asker, curator, "ben")
        sign_in(approver, curator, "dora")
        for age in ages:
            fill(asker, f"majority(age >= {age})", "0.6")
            assert asker.inner_text("#ask") == "Send to the approver"
            asker.click("#ask")
            asker.click("#yes")
            asker.wait_for_selector("#answer .badge.is-waiting")
        approver.click("#refresh")
        first, second = (f"tr:has-text('majority(age >= {age})')" for age in ages)
        approver.wait_for_selector(second)
        approver.screenshot(path=picture(f"curator-requests-{view}"), full_page=True)
        approver.click(f"{second} .refuse")
        assert focused(approver) == "reason"
        approver.click("#refuse-yes")
        approver.wait_for_selector("#refusal-status .error")  # a reason is owed
        approver.fill("#reason", "Ask for less.")
        approver.click("#refuse-yes")
        approver.wait_for_selector(f"{second} .badge.is-refused")
        asker.wait_for_selector("#answer .badge.is-refused")
        assert "Ask for less." in asker.inner_text("#answer")
        approver.click(f"{first} .approve")
        approver.wait_for_selector(f"{first} .badge.is-answered")
        assert approver.locator(f"{first} .see").count() == 0  # the answer is the asker's
        asker.click("#views a[href='#requests']")
        asker.click(f"{first} .see")
        asker.wait_for_selector("#seen .big")
        assert asker.inner_text("#seen .big") in ("yes", "no")
        assert too_wide(asker) <= 0
        assert too_wide(approver) <= 0
        asker.screenshot(path=picture(f"curator-seen-{view}"), full_page=True)


@pytest.mark.slow  # answers come at their fixed time
def test_the_keyboard_is_enough(browser: Any, curator: Served) -> None:
    with opened(browser) as page:
        page.goto(curator.url)
        page.keyboard.type(curator.keys["ann"])
        page.keyboard.press("Enter")
        page.wait_for_selector("#sign-out:not([hidden])")
        page.focus("#question")
        page.keyboard.type("majority(smokes = true)")
        page.keyboard.press("Tab")
        assert focused(page) == "epsilon"
        page.keyboard.type("0.05")
        page.wait_for_selector("#ask:not([disabled])")
        page.focus("#question")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector("#confirm[open]")
        assert focused(page) == "yes"
        page.keyboard.press("Enter")
        page.wait_for_selector("#answer .big")
        assert page.inner_text("#answer .big") in ("yes", "no")


@pytest.mark.slow  # answers come at their fixed time
def test_what_others_wrote_is_text_and_never_markup(browser: Any, curator: Served) -> None:
    with opened(browser) as asker, opened(browser) as approver:
        sign_in(asker, curator, "ben")
        fill(asker, "majority(ward = '<img src=x onerror=alert(1)>')", "0.6")
        asker.click("#ask")
        asker.click("#yes")
        asker.wait_for_selector("#answer .badge.is-waiting")
        sign_in(approver, curator, "dora")
        approver.wait_for_selector("tr:has-text('onerror')")
        assert approver.locator("#requests img").count() == 0


@pytest.mark.slow  # answers come at their fixed time
def test_an_auditor_sees_the_history_and_cannot_ask(browser: Any, curator: Served) -> None:
    with opened(browser) as page:
        sign_in(page, curator, "otto")
        assert page.locator("#views a").all_inner_texts() == ["Requests", "History"]
        page.click("#views a[href='#history']")
        page.wait_for_selector("#history tbody tr, #no-history:not([hidden])")
        page.goto(f"{curator.url}/#ask")
        page.wait_for_selector("#view-requests:not([hidden])")
        assert not page.is_visible("#view-ask")
