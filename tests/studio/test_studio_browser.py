"""The studio in a real browser: each page's main journey, errors in place, spending, keyboard, and what it looks like.

Screenshots are kept in ``test-artefacts/studio``.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from command_line import run_cli

pytest.importorskip("uvicorn", reason="the studio extra is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")

from studio_server import CANARIES, SLOW_QUESTION, running_studio, write_survey  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

PICTURES = Path(__file__).parents[2] / "test-artefacts" / "studio"
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1366, "height": 768}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1366, "height": 768}, "color_scheme": "dark"},
    "wide": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "has_touch": True},
    "half": {"viewport": {"width": 640, "height": 768}, "color_scheme": "light"},
    "zoomed": {"viewport": {"width": 683, "height": 384}, "device_scale_factor": 2, "color_scheme": "light"},
}
PATHS = {
    "explore": "/",
    "design": "/design",
    "research": "/research",
    "channel": "/channel",
    "release": "/release",
    "api": "/api",
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def studio() -> Iterator[str]:
    with running_studio() as address:
        yield address


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[str]:
    """A studio with a table and a budget of 1, to be spent."""
    with _with_table(tmp_path) as address:
        yield address


@pytest.fixture(scope="module")
def quiet_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same, for tests that spend nothing."""
    with _with_table(tmp_path_factory.mktemp("quiet")) as address:
        yield address


def _with_table(folder: Path) -> AbstractContextManager[str]:
    ledger = ("--ledger", str(folder / "survey.ledger"), "--budget", "1")
    return running_studio("--data", str(write_survey(folder)), *ledger)


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that fails the test on any error of its scripts or of its content security policy."""
    context = browser.new_context(**VIEWS["light"], accept_downloads=True)
    context.set_default_timeout(60_000)
    made = context.new_page()
    problems: list[str] = []
    made.on("pageerror", lambda error: problems.append(f"{error.message}\n{error.stack}"))
    made.on("console", lambda line: problems.append(line.text) if _is_problem(line) else None)
    yield made
    context.close()
    assert problems == []


def _is_problem(line: Any) -> bool:
    return line.type == "error" and "Failed to load resource" not in line.text  # a refused call is logged so


def curve(page: Any) -> str:
    return str(page.get_attribute("path[data-series='optimaldp']", "d"))


def saved(page: Any, button: str) -> str:
    with page.expect_download() as caught:
        page.click(button)
    return Path(caught.value.path()).read_text("utf-8")


def test_the_slider_changes_the_curve(page: Any, studio: str) -> None:
    page.goto(studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    before, gain = curve(page), page.inner_text("#attacker")
    page.focus("#slider")
    for _ in range(5):
        page.keyboard.press("ArrowRight")  # by keyboard: more accurate
    page.wait_for_function(
        "d => document.querySelector(\"path[data-series='optimaldp']\").getAttribute('d') !== d", arg=before
    )
    assert float(page.input_value("#epsilon")) > 0.5
    page.wait_for_function("words => document.getElementById('attacker').textContent !== words", arg=gain)
    assert page.locator("#curve path.curve").count() >= 4  # ours next to the usual mechanisms


def test_epsilon_is_found(page: Any, studio: str) -> None:
    page.goto(studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    page.fill("#accuracy", "95")
    page.fill("#margin", "1")
    page.click("#find")
    page.wait_for_function("() => document.getElementById('epsilon').value === '0.242'")
    assert "95 % of cases" in page.inner_text("#found")
    page.wait_for_function(
        "() => document.getElementById('reliable').textContent.includes('margin of 10 (1 % of 1000)')"
    )


def test_errors_are_shown_at_their_field_and_go_away(page: Any, studio: str) -> None:
    page.goto(studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    page.fill("#epsilon", "-1")
    page.wait_for_selector("#epsilon[aria-invalid='true'] + .field-error")
    assert "-1" in page.inner_text(".field-error")
    page.fill("#epsilon", "1")
    page.wait_for_selector(".field-error", state="detached")
    page.fill("#question", "share(x)")
    page.wait_for_selector("#question[aria-invalid='true'] + .field-error")
    assert page.input_value("#kind") == "own"


def test_a_small_universe_is_drawn_with_its_paths(page: Any, studio: str) -> None:
    page.goto(studio)
    page.wait_for_function("() => document.getElementById('to-research').href.includes('majority')")
    assert "τ" not in page.inner_text("#results")
    page.click("#to-research")
    page.wait_for_selector("#phases li")
    assert page.input_value("#n") == "1000"  # as it was on the page before
    page.fill("#n", "5")
    page.wait_for_function("() => document.querySelectorAll('#graph .vertex').length === 32")
    page.hover("#graph .vertex[data-name='yyyyy']")
    page.wait_for_selector("#graph .edge.path")
    words = page.inner_text("#graph .readout")
    assert "true answer yes, distance 2" in words
    assert "bound by the path yyyyy → " in words
    page.focus("#graph .vertex[tabindex='0']")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.name") == "yyyyn"


def test_every_question_and_groups(page: Any, studio: str) -> None:
    page.goto(studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    for kind in ("share", "count", "compare", "winner", "median", "quantile", "majority"):
        page.select_option("#kind", kind)
        page.wait_for_function(
            "k => document.querySelector('#curve svg').getAttribute('aria-label').includes(` ${k}(`)", arg=kind
        )
    page.click("#add-group")
    page.wait_for_selector("path[data-series='typical, average']")
    page.wait_for_function("() => document.getElementById('reliable').textContent.includes('ight in 95 %')")
    page.click("#as-errors")
    page.wait_for_selector("#as-errors[aria-pressed='true']")
    assert "<svg" in saved(page, "#save-curve")
    assert "odp.preview(" in saved(page, "#save-python")


def test_slow_work_shows_progress_and_can_be_cancelled(page: Any, studio: str) -> None:
    page.goto(studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    page.fill("#epsilon", "0.001")
    page.fill("#question", SLOW_QUESTION)
    page.wait_for_selector("#status progress")
    page.click("#status button")
    page.wait_for_selector("#status .error")
    assert "Cancelled" in page.inner_text("#status")
    page.select_option("#kind", "majority")
    page.wait_for_selector("#status .error", state="detached")


def test_a_design_and_its_downloads(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    assert "optimal" in page.inner_text("#badge")
    assert page.locator("#canvas .vertex").count() == 8
    assert "The referee says: private, optimal" in page.inner_text("#facts")
    ran = run_cli("verify", "-", stdin=saved(page, "#save-design"))
    assert (ran.code, json.loads(ran.stdout)["optimal"]) == (0, True)
    assert saved(page, "#save-picture").count("<circle") >= 4
    compile(saved(page, "#save-python"), "design.py", "exec")
    page.hover("#canvas .vertex[data-name='111']")
    assert "bound by the path 111 → " in page.inner_text("#canvas .readout")


def test_why_there_is_no_design_is_shown_on_the_graph(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.select_option("#example", "infeasible")
    page.wait_for_selector("#badge.bad")
    assert "infeasible" in page.inner_text("#badge")
    assert page.locator("#canvas .edge.path").count() == 2
    page.select_option("#example", "none")
    page.wait_for_function("() => document.getElementById('badge').textContent.includes('no optimum')")
    assert page.locator("#canvas .vertex.clash").count() == 2
    for example in ("line", "given", "three"):
        page.select_option("#example", example)
        page.wait_for_function("() => document.getElementById('badge').textContent.includes('✓')")


def test_a_broken_problem_is_told_in_place(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    page.fill("#problem", '{"answers": ["yes", "no"], ')
    page.click("#solve")
    page.wait_for_selector("#problem[aria-invalid='true'] + .field-error")
    assert "not JSON" in page.inner_text(".field-error")


def test_a_problem_is_drawn_by_clicking(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    page.select_option("#example", "empty")
    page.click("#mode-vertex")
    box = page.locator("#canvas svg.graph").bounding_box()
    for share in (0.2, 0.5, 0.8):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    assert page.locator("#canvas .vertex").count() == 3
    page.fill("#edit-prefers", "no")
    page.fill("#edit-fixed", "1/4, 3/4")
    page.click("#edit-apply")
    page.click("#mode-edge")
    for name in ("d1", "d2", "d2", "d3"):
        page.click(f"#canvas .vertex[data-name='{name}']")
    page.fill("#edit-epsilon", "ln(3)")
    page.click("#edit-apply")
    drawn = json.loads(page.input_value("#problem"))
    assert drawn["edges"] == [["d1", "d2"], ["d2", "d3", {"epsilon": "ln(3)", "delta": "0"}]]
    assert drawn["fixed"] == {"d3": {"yes": "1/4", "no": "3/4"}}
    page.click("#solve")
    page.wait_for_selector("#badge.good")


def test_a_problem_is_drawn_by_keyboard(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    page.select_option("#example", "empty")
    page.focus("#mode-vertex")
    for _ in range(3):  # the first press chooses the mode
        page.keyboard.press("Enter")
    page.focus("#mode-edge")
    page.keyboard.press("Enter")
    page.focus("#canvas .vertex[data-name='d1']")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert json.loads(page.input_value("#problem"))["edges"] == [["d1", "d2"]]
    page.focus("#mode-choose")
    page.keyboard.press("Enter")
    page.focus("#canvas .vertex[data-name='d2']")
    page.keyboard.press("Enter")
    page.click("#editor button >> text=d1 – d2")
    page.keyboard.type("ln(4)")
    page.click("#edit-apply")
    assert json.loads(page.input_value("#problem"))["edges"] == [["d1", "d2", {"epsilon": "ln(4)", "delta": "0"}]]


def test_a_channel_is_measured(page: Any, studio: str) -> None:
    page.goto(f"{studio}/channel")
    page.wait_for_selector("#heat td")
    page.fill("#matrix", "1/2, 1/2, 0\n0, 1/2, 1/2")
    page.fill("#prior", "1/4, 3/4")
    page.click("#form button[type=submit]")
    page.wait_for_function("() => document.querySelectorAll('#heat td').length === 6")
    assert "75 %" in page.inner_text("#words")
    page.fill("#matrix", "1/2 1/3")
    page.click("#form button[type=submit]")
    page.wait_for_selector(".field-error, #status .error")
    page.fill("#graph", "ring:5")
    page.fill("#belief", "uniform")
    page.click("#optimal button[type=submit]")
    page.wait_for_function("() => document.querySelectorAll('#heat td').length === 25")
    assert "optimal for the chance of the right answer" in page.inner_text("#claim")


def test_a_design_becomes_a_channel(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    page.click("#as-channel")
    page.wait_for_function("() => document.querySelectorAll('#heat td').length === 16")


def ask(page: Any, value: str, epsilon: str) -> None:
    """Fill the form of the release page, up to the confirmation."""
    fill(page, value, epsilon)
    page.wait_for_selector("#ask:not([disabled])")
    page.wait_for_selector("#curve svg")
    page.click("#ask")
    page.wait_for_selector("#confirm[open]")


def fill(page: Any, value: str, epsilon: str) -> None:
    """Fill the form of the release page."""
    page.select_option("#column", "age")
    page.select_option("#operator", "<")
    page.fill("#value", value)
    page.fill("#bound", "99")
    page.fill("#epsilon", epsilon)


def test_a_release_spends_the_budget_and_the_second_is_refused(page: Any, desk: str) -> None:
    page.goto(f"{desk}/release")
    page.wait_for_selector("#desk:not([hidden])")
    assert [text.split(" ")[0] for text in page.locator("#column option").all_inner_texts()] == [
        "name",
        "smokes",
        "age",
    ]
    assert page.input_value("#epsilon") == ""  # there is no default
    assert page.is_disabled("#ask")
    ask(page, "40", "0.6")
    assert "costs ε = 0.6" in page.inner_text("#confirm-words")
    page.click("#no")
    assert "Nothing was asked yet" in page.inner_text("#history")
    page.click("#ask")
    page.click("#yes")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert page.inner_text("#answer") == "no"
    assert "0.6 of 1 spent" in page.inner_text("#budget")
    assert "share(age < 40) >= 0.99" in page.inner_text("#history")
    said = page.locator("#sentences li").all_inner_texts()
    assert len(said) == 3
    assert said[0].startswith("Protected: each row counts as one person")
    assert not page.is_visible("#certificate")
    page.click("#proof summary")
    assert "mechanism" in page.inner_text("#certificate")
    page.screenshot(path=_picture("release-answered"), full_page=True)
    fill(page, "45", "0.6")
    assert not page.is_visible("#answer-card")  # an answer never stands beside other inputs
    page.wait_for_function("() => document.getElementById('ask').textContent.includes('does not cover')")
    assert page.is_disabled("#ask")
    assert "0.4 remains" in page.inner_text("#why")
    fill(page, "40", "0.6")
    page.wait_for_function("() => document.getElementById('ask').textContent.includes('recorded answer')")
    page.click("#ask")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert "nothing was spent on it now" in page.inner_text("#spent")
    assert "0.6 of 1 spent" in page.inner_text("#budget")
    page.screenshot(path=_picture("release-refused"), full_page=True)


def test_a_bad_predicate_is_told_before_anything_is_spent(page: Any, quiet_desk: str) -> None:
    page.goto(f"{quiet_desk}/release")
    page.wait_for_selector("#desk:not([hidden])")
    page.fill("#epsilon", "0.5")
    page.fill("#question", "majority(height > 3)")
    page.wait_for_selector(".field-error, #status .error")
    assert "is not a column of the table" in page.inner_text("body")
    assert page.is_disabled("#ask")


def test_two_tabs_that_spend_at_once(browser: Any, desk: str) -> None:
    context = browser.new_context(**VIEWS["light"])
    context.set_default_timeout(60_000)
    tabs = [context.new_page() for _ in range(2)]
    for tab, value in zip(tabs, ("40", "45")):
        tab.goto(f"{desk}/release")
        tab.wait_for_selector("#desk:not([hidden])")
        ask(tab, value, "0.6")
    for tab in tabs:
        tab.click("#yes")
    for tab in tabs:
        tab.wait_for_selector("#answer-card:not([hidden]), #status .error, .field-error")
    shown = [tab.is_visible("#answer-card") for tab in tabs]
    assert sorted(shown) == [False, True]
    tabs[0].reload()
    tabs[0].wait_for_selector("#history table")
    assert tabs[0].locator("#history tbody tr").count() == 1
    context.close()


@pytest.fixture(scope="module")
def ward_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A table with several rows of each patient, whose ledger knows the unit."""
    folder = tmp_path_factory.mktemp("wards")
    rows = [f"{i // 2},{'north' if i % 4 < 2 else 'south'},{30 + i % 4},{i}" for i in range(2000)]
    (folder / "visits.csv").write_text("\n".join(["patient,ward,age,day", *rows]) + "\n")
    ledger = ("--ledger", str(folder / "visits.ledger"), "--budget", "20", "--unit", "patient")
    with running_studio("--data", str(folder / "visits.csv"), *ledger) as address:
        yield address


@pytest.mark.parametrize(("view", "epsilon"), [("wide", "2"), ("phone", "1.5")])
def test_the_new_questions_are_asked_by_the_form(browser: Any, ward_desk: str, view: str, epsilon: str) -> None:
    context = browser.new_context(**VIEWS[view])
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(f"{ward_desk}/release")
    page.wait_for_selector("#desk:not([hidden])")
    page.select_option("#kind", "mean")
    page.select_option("#column", "age")
    for field, value in (("low", "0"), ("high", "100"), ("bound", "20"), ("among", "age > 18"), ("epsilon", epsilon)):
        page.fill(f"#{field}", value)
    assert page.input_value("#question") == "mean(age, range=[0, 100] among age > 18) >= 20"
    page.click("summary >> text=More")
    assert page.input_value("#unit") == "a value of patient"
    assert not page.is_visible("#reduce_order")
    page.select_option("#reduce", "first")
    page.select_option("#reduce_order", "day")
    page.select_option("#by", "ward")
    page.fill("#groups", "north, south")
    page.wait_for_selector("#ask:not([disabled])")
    page.click("#ask")
    page.wait_for_selector("#confirm[open]")
    page.click("#yes")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert page.locator("#answers tr").count() == 2
    assert "patient" in page.inner_text("#sentences")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    page.screenshot(path=_picture(f"groups-{view}"), full_page=True)
    page.reload()
    page.wait_for_selector("#desk:not([hidden])")
    page.wait_for_function("() => document.getElementById('groups').value === 'north, south'")
    assert page.input_value("#reduce_order") == "day"
    assert not page.is_visible("#answer-card")
    page.select_option("#by", "")
    page.select_option("#reduce", "most-frequent")
    page.fill("#among", "")
    page.select_option("#kind", "histogram")
    page.select_option("#column", "ward")
    page.fill("#options", "north, south")
    page.wait_for_selector("#ask:not([disabled])")
    page.click("#ask")
    page.click("#yes")
    page.wait_for_selector("#answers svg.answer-bar")
    assert page.locator("#answers tr").count() == 3
    context.close()


def test_all_traffic_of_a_visit_holds_nothing_of_the_data(browser: Any, desk: str) -> None:
    context = browser.new_context(**VIEWS["light"])
    context.set_default_timeout(60_000)
    page = context.new_page()
    bodies: list[tuple[str, str]] = []
    page.on("response", lambda answer: bodies.append((answer.url, answer.text())))
    for path in PATHS.values():
        page.goto(desk + path)
        page.wait_for_load_state("networkidle")
    page.goto(f"{desk}/release")
    page.wait_for_selector("#desk:not([hidden])")
    ask(page, "40", "0.6")
    page.click("#yes")
    page.wait_for_selector("#answer-card:not([hidden])")
    fill(page, "45", "0.6")
    page.wait_for_function("() => document.getElementById('ask').textContent.includes('does not cover')")
    page.wait_for_load_state("networkidle")
    context.close()
    assert {url.split("/api/")[1] for url, _ in bodies if "/api/" in url} >= {"session", "check", "release"}
    for url, body in bodies:
        assert url.startswith((desk, "blob:")), f"{url} was asked of somebody else"
        without_token = re.sub(r'studio-token" content="[^"]*"', "", body)
        for canary in CANARIES:
            assert not re.search(rf"(?<![\d.]){canary}(?!\d)", without_token), f"{canary} in {url}"


@pytest.mark.parametrize(
    "view",
    [
        "dark",
        "phone",
        pytest.param("zoomed", marks=pytest.mark.slow),
        pytest.param("light", marks=pytest.mark.slow),
        pytest.param("half", marks=pytest.mark.slow),
    ],
)
def test_every_page_fits_its_screen(browser: Any, quiet_desk: str, view: str) -> None:
    context = browser.new_context(**VIEWS[view])
    context.set_default_timeout(60_000)
    page = context.new_page()
    for name, path in PATHS.items():
        page.goto(quiet_desk + path)
        page.wait_for_load_state("networkidle")
        if name == "release":
            page.wait_for_selector("#desk:not([hidden])")
            page.select_option("#column", "smokes")
            page.fill("#value", "yes")
            page.fill("#epsilon", "0.3")
            page.wait_for_selector("#curve svg")
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} px too wide"
        nameless = page.evaluate(
            "[...document.querySelectorAll('input, select, textarea')]"
            ".filter((one) => !one.labels?.length && !one.getAttribute('aria-label')).map((one) => one.id)"
        )
        assert nameless == []
        page.screenshot(path=_picture(f"{name}-{view}"), full_page=True)
    context.close()


def test_light_and_dark_are_remembered(page: Any, studio: str) -> None:
    page.goto(studio)
    assert page.get_attribute("html", "data-theme") == "light"
    page.click("#theme")
    page.goto(f"{studio}/design")
    assert page.get_attribute("html", "data-theme") == "dark"


def test_the_api_page_tries_a_call(page: Any, studio: str) -> None:
    page.goto(f"{studio}/api")
    page.click("#preview summary >> text=Try it")
    page.click("#preview button")
    page.wait_for_selector("#preview pre:not([hidden])")
    assert '"optimaldp"' in page.inner_text("#preview pre")


def _picture(name: str) -> str:
    PICTURES.mkdir(parents=True, exist_ok=True)
    return str(PICTURES / f"{name}.png")
