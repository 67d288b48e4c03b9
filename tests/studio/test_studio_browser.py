"""The studio in a real browser: pages that need no table, and what every page looks like."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from command_line import run_cli

pytest.importorskip("uvicorn", reason="the studio extra is not installed")

from browser_views import PATHS, needs_chromium, picture, saved, too_wide
from studio_server import SLOW_QUESTION, running_studio, write_survey

pytestmark = [needs_chromium, pytest.mark.long]


def curve(page: Any) -> str:
    return str(page.get_attribute("path[data-series='optimaldp']", "d"))


def explore(page: Any, address: str) -> None:
    """The page for choosing a level, with a question that has a margin."""
    page.goto(f"{address}/explore")
    page.wait_for_selector("#curve table")  # a number comes first, with its expected error
    page.select_option("#kind", "majority")
    page.wait_for_selector("path[data-series='optimaldp']")


def test_the_slider_changes_the_curve(page: Any, studio: str) -> None:
    explore(page, studio)
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
    explore(page, studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    page.fill("#accuracy", "95")
    page.fill("#margin-share", "1")
    page.click("#find")
    page.wait_for_function("() => document.getElementById('epsilon').value === '0.242'")
    assert "95 % of cases" in page.inner_text("#found")
    page.wait_for_function(
        "() => document.getElementById('reliable').textContent.includes('margin of 10 (1 % of 1000)')"
    )


@pytest.mark.slow
def test_errors_are_shown_at_their_field_and_go_away(page: Any, studio: str) -> None:
    explore(page, studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    page.fill("#epsilon", "-1")
    page.wait_for_selector("#epsilon[aria-invalid='true'] + .field-error")
    assert "-1" in page.inner_text(".field-error")
    page.fill("#epsilon", "1")
    page.wait_for_selector(".field-error", state="detached")
    page.fill("#question", "share(x")
    page.wait_for_selector("#question[aria-invalid='true'] + .field-error")
    assert page.input_value("#kind") == "own"


@pytest.mark.slow
def test_a_small_universe_is_drawn_with_its_paths(page: Any, studio: str) -> None:
    explore(page, studio)
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


@pytest.mark.slow
def test_every_question_and_groups(page: Any, studio: str) -> None:
    explore(page, studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    for kind in page.locator("#kind option").evaluate_all("all => all.map((one) => one.value)"):
        if kind in ("own", "everybody", "majority"):  # the second needs groups, the last comes below
            continue
        page.select_option("#kind", kind)
        if kind == "two-means":
            page.check("#public_groups")
        if kind == "keys":
            page.fill("#delta", "1e-6")
        page.wait_for_selector("#results:not([hidden]):not(.stale)")
        asked = page.input_value("#question")
        assert asked, kind
        if page.is_visible("#curve svg.chart"):
            assert asked in page.get_attribute("#curve svg.chart", "aria-label")
    page.fill("#delta", "0")
    page.select_option("#kind", "majority")
    page.wait_for_selector("#results:not([hidden]):not(.stale)")
    page.click("#add-group")
    page.wait_for_selector("path[data-series='typical, average']")
    page.wait_for_function("() => document.getElementById('reliable').textContent.includes('ight in 95 %')")
    page.click("#as-errors")
    page.wait_for_selector("#as-errors[aria-pressed='true']")
    assert "<svg" in saved(page, "#save-curve")
    assert "odp.preview(" in saved(page, "#save-python")


@pytest.mark.slow
def test_slow_work_shows_progress_and_can_be_cancelled(page: Any, studio: str) -> None:
    explore(page, studio)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_broken_problem_is_told_in_place(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    page.fill("#problem", '{"answers": ["yes", "no"], ')
    page.click("#solve")
    page.wait_for_selector("#problem[aria-invalid='true'] + .field-error")
    assert "not JSON" in page.inner_text(".field-error")


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_design_becomes_a_channel(page: Any, studio: str) -> None:
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    page.click("#as-channel")
    page.wait_for_function("() => document.querySelectorAll('#heat td').length === 16")


@pytest.mark.slow
def test_a_curve_never_stands_beside_inputs_that_it_does_not_belong_to(page: Any, studio: str) -> None:
    explore(page, studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    held: list[Any] = []
    page.route("**/api/preview", lambda route: held.append(route))
    page.fill("#epsilon", "2")
    page.wait_for_selector("#results.stale[aria-busy='true']")
    assert page.is_disabled("#save-curve")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    page.unroute("**/api/preview")
    page.wait_for_selector("#results:not(.stale)")
    page.fill("#epsilon", "-1")
    page.wait_for_selector("#results", state="hidden")  # wrong inputs have no result at all
    page.fill("#n", "")
    page.select_option("#kind", "share")
    page.fill("#epsilon", "1")
    page.wait_for_selector("#results:not([hidden]):not(.stale)")
    assert page.input_value("#n") == ""  # nobody fills it in again


@pytest.mark.slow
@pytest.mark.parametrize("view", ["wide", "phone"])
def test_forms_survive_reload_and_back(page: Any, studio: str, view: str) -> None:
    explore(page, studio)
    page.wait_for_selector("path[data-series='optimaldp']")
    page.select_option("#kind", "several")
    page.click("#add-threshold")
    page.fill("#bound-2", "0.7")
    page.select_option("#joined", "or")
    page.fill("#n", "321")
    page.click("#add-group")
    page.fill("#group-people-1", "20")
    written = page.input_value("#question")
    assert written.endswith("or share(smokes = 'yes') >= 0.7")
    page.goto(f"{studio}/design")
    page.wait_for_selector("#badge.good")
    page.select_option("#example", "infeasible")
    page.wait_for_selector("#badge.bad")
    page.goto(f"{studio}/channel")
    page.wait_for_selector("#heat td")
    page.fill("#matrix", "1/2 1/2 0\n0 1/2 1/2")
    page.wait_for_selector("#result", state="hidden")  # the old measures belong to another matrix
    page.reload()
    page.wait_for_selector("#heat td")
    assert page.input_value("#matrix") == "1/2 1/2 0\n0 1/2 1/2"
    assert page.locator("#heat td").count() == 6
    page.go_back()
    page.wait_for_selector("#badge.bad")
    assert page.input_value("#example") == "infeasible"
    page.fill("#problem", page.input_value("#problem").replace("0.9", "0.8"))
    page.wait_for_selector("#verdict", state="hidden")
    page.go_back()
    page.wait_for_function("text => document.getElementById('question').value === text", arg=written)
    assert (page.input_value("#n"), page.input_value("#group-people-1")) == ("321", "20")
    assert too_wide(page) <= 0


@pytest.fixture(scope="module")
def quiet_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A studio with a table and a budget, of which nothing is spent."""
    folder = tmp_path_factory.mktemp("quiet")
    ledger = ("--ledger", str(folder / "survey.ledger"), "--budget", "1")
    with running_studio("--data", str(write_survey(folder)), *ledger) as address:
        yield address


@pytest.mark.parametrize(
    "view",
    [
        "phone",
        pytest.param("dark", marks=pytest.mark.slow),
        pytest.param("zoomed", marks=pytest.mark.slow),
        pytest.param("light", marks=pytest.mark.slow),
        pytest.param("half", marks=pytest.mark.slow),
    ],
)
def test_every_page_fits_its_screen(page: Any, quiet_desk: str, view: str) -> None:
    for name, path in PATHS.items():
        page.goto(quiet_desk + path)
        page.wait_for_load_state("networkidle")
        if name == "release":
            page.select_option("#condition-column", "smokes")
            page.fill("#condition-value", "yes")
            page.fill("#epsilon", "0.3")
            page.wait_for_selector("#curve table")
            page.click("#more summary")
        if name == "sanitise":
            page.fill("#values-1", "a, b")
            page.fill("#epsilon", "1")
            page.wait_for_selector("#queries table")
        assert too_wide(page) <= 0, f"{name} is {too_wide(page)} px too wide"
        nameless = page.evaluate(
            "[...document.querySelectorAll('input, select, textarea')]"
            ".filter((one) => !one.labels?.length && !one.getAttribute('aria-label')).map((one) => one.id)"
        )
        assert nameless == []
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
        assert len(ids) == len(set(ids)), [one for one in ids if ids.count(one) > 1]
        silent = page.evaluate(
            "[...document.querySelectorAll('button, a, summary')].filter((one) => !one.textContent.trim() "
            "&& !one.getAttribute('aria-label')).map((one) => one.outerHTML)"
        )
        assert silent == []
        page.screenshot(path=picture(f"{name}-{view}"), full_page=True)


@pytest.mark.slow
def test_light_and_dark_are_remembered(page: Any, studio: str) -> None:
    explore(page, studio)
    assert page.get_attribute("html", "data-theme") == "light"
    page.click("#theme")
    page.goto(f"{studio}/design")
    assert page.get_attribute("html", "data-theme") == "dark"


@pytest.mark.slow
def test_the_api_page_tries_a_call(page: Any, studio: str) -> None:
    page.goto(f"{studio}/api")
    page.click("#preview summary >> text=Try it")
    page.click("#preview button")
    page.wait_for_selector("#preview pre:not([hidden])")
    assert '"optimaldp"' in page.inner_text("#preview pre")


NAMES_UNDER_MARKS = """() => {
  const box = (one) => one.getBoundingClientRect();
  const marks = [...document.querySelectorAll('#graph .mark')].map(box);
  return [...document.querySelectorAll('#graph .name')].filter((name) => {
    const own = box(name);
    const beside = (mark) => own.left >= mark.right || mark.left >= own.right;
    return marks.some((mark) => !beside(mark) && own.top + 2 < mark.bottom && mark.top < own.bottom - 2);
  }).map((name) => name.textContent);
}"""


@pytest.mark.slow
@pytest.mark.parametrize("view", ["wide", "phone"])
def test_names_of_datasets_can_be_read(page: Any, studio: str, view: str) -> None:
    page.goto(studio + PATHS["research"])
    page.wait_for_selector("#graph .name")
    assert page.locator("#graph .mark").count() == 32  # five people
    assert page.evaluate(NAMES_UNDER_MARKS) == []
    heights = page.evaluate(
        "() => [...document.querySelectorAll('#graph .name')].map((n) => n.getBoundingClientRect().height)"
    )
    assert min(heights) >= 10, "letters shrink with the screen"
