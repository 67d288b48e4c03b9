"""The studio in a real browser, the pages that spend: forms, lists of questions, files, sanitised tables, keyboard and tabs."""

from __future__ import annotations

import csv
import io
import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the studio extra is not installed")

from browser_views import PATHS, VIEWS, focused, needs_chromium, picture, saved, too_wide
from studio_server import CANARIES, running_studio, write_hospital, write_survey

pytestmark = [needs_chromium, pytest.mark.long]
both_screens = pytest.mark.parametrize("view", ["wide", pytest.param("phone", marks=pytest.mark.slow)])


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[str]:
    """A studio with a table and a budget of 1, to be spent."""
    with _with_table(tmp_path) as address:
        yield address


def _with_table(folder: Path) -> AbstractContextManager[str]:
    ledger = ("--ledger", str(folder / "survey.ledger"), "--budget", "1")
    return running_studio("--data", str(write_survey(folder)), *ledger)


@pytest.fixture(scope="module")
def ward_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A table with several rows of each patient, whose ledger knows the unit and has enough for everything."""
    folder = tmp_path_factory.mktemp("wards")
    ledger = (
        "--ledger",
        str(folder / "visits.ledger"),
        "--budget",
        "200",
        "--budget-delta",
        "0.1",
        "--unit",
        "patient",
    )
    with running_studio("--data", str(write_visits(folder)), *ledger) as address:
        yield address


def write_visits(folder: Path) -> Path:
    rows = [
        f"{i // 2},{'north' if i % 4 < 2 else 'south'},{30 + i % 4},{i},{'0.5' if i < 200 else '1'}"
        for i in range(2000)
    ]
    path = folder / "visits.csv"
    path.write_text("\n".join(["patient,ward,age,day,trust", *rows]) + "\n")
    return path


def release_page(page: Any, address: str) -> None:
    page.goto(f"{address}/release")
    page.wait_for_selector("#condition-column")


def yes_or_no(page: Any) -> None:
    """The form of a question with a bound, which does not come first."""
    if page.input_value("#kind") != "share":
        page.select_option("#kind", "share")


def fill(page: Any, value: str, epsilon: str) -> None:
    """Fill the form: are less than so many percent younger?"""
    yes_or_no(page)
    page.select_option("#condition-column", "age")
    page.select_option("#condition-operator", "<")
    page.fill("#condition-value", value)
    page.fill("#bound", "99")
    page.fill("#epsilon", epsilon)


def ask(page: Any, value: str, epsilon: str) -> None:
    """Fill the form, up to the confirmation."""
    fill(page, value, epsilon)
    page.wait_for_selector("#ask:not([disabled])")
    page.click("#ask")
    page.wait_for_selector("#confirm[open]")


def release(page: Any) -> None:
    """From a form that is filled in to the answer."""
    page.wait_for_selector("#ask:not([disabled])")
    page.click("#ask")
    page.click("#yes")
    page.wait_for_selector("#answer-card:not([hidden])")


def test_a_release_spends_the_budget_and_the_second_is_refused(page: Any, desk: str) -> None:
    release_page(page, desk)
    assert page.locator("#condition-column option").all_inner_texts() == ["name", "smokes", "age"]
    assert page.input_value("#epsilon") == ""  # there is no default
    assert page.is_disabled("#ask")
    ask(page, "40", "0.6")
    assert "It costs ε = 0.6" in page.inner_text("#confirm-words")
    assert "Age was not declared" in page.inner_text(
        "#confirm-cautions"
    )  # how it is read is said before it is paid for
    page.click("#no")
    assert "Nothing was asked yet" in page.inner_text("#history")
    release(page)
    assert page.inner_text(".answer .big") == "no"
    assert "ε = 0.4 of 1 left" in page.inner_text("#budget")
    assert "share(age < 40) >= 0.99" in page.inner_text("#history")
    said = page.locator(".answer .facts:not(.cautions) li").all_inner_texts()
    assert len(said) == 5
    assert said[2] == "Budget: ε = 0.4 of 1 left after 1 question."
    assert said[0].startswith("Protected: each row counts as one person")
    assert not page.is_visible(".proof dl")
    page.click(".proof summary")
    assert "mechanism" in page.inner_text(".proof dl")
    page.screenshot(path=picture("release-answered"), full_page=True)
    assert json.loads(saved(page, ".answer .save"))["answer"] == "no"
    assert json.loads(saved(page, "#history tbody button"))["question"] == "share(age < 40) >= 0.99"
    assert "share(age &lt; 40)" in saved(page, "#save-report")
    assert saved(page, "#save-history").startswith("sequence,")
    fill(page, "45", "0.6")
    assert not page.is_visible("#answer-card")  # an answer never stands beside other inputs
    page.wait_for_function("() => document.getElementById('ask').textContent.includes('does not cover')")
    assert page.is_disabled("#ask")
    assert "0.4 remains" in page.inner_text("#why")
    fill(page, "40", "0.6")
    page.wait_for_function("() => document.getElementById('ask').textContent.includes('recorded answer')")
    page.click("#ask")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert "nothing was spent on it now" in page.inner_text(".answer .spent")
    assert "ε = 0.4 of 1 left" in page.inner_text("#budget")
    page.screenshot(path=picture("release-refused"), full_page=True)


@both_screens
def test_a_steward_begins_asks_and_publishes(page: Any, tmp_path: Path, view: str) -> None:
    """A hospital's file: three questions of the start page, how many, what average by ward, and a cross table with margins."""
    ledger = tmp_path / "hospital.ledger"
    with running_studio("--data", str(write_hospital(tmp_path)), "--ledger", str(ledger)) as address:
        page.goto(address)  # with a table it begins at the table
        page.wait_for_selector("#written-columns .written")
        assert page.locator("nav[aria-label='Pages'] a").all_inner_texts()[:3] == ["Ask", "Publish rows", "Choose ε"]
        page.select_option("#opening-encoding", "latin-1")
        page.select_option("#opening-unit", "patient_id")

        def say(column: str, part: str, value: str) -> None:
            field = page.locator(f".written[data-column='{column}'] [data-part='{part}']").locator("input, select")
            field.select_option(value) if part == "rule" else field.fill(value)

        page.select_option(".written[data-column='cost'] select", label="numbers like 1.234,5")
        page.select_option(".written[data-column='smokes'] select", label="yes or no")
        values = {("cost", "low"): "0", ("cost", "high"): "20000", ("cost", "rule"): "sum", ("alter", "low"): "0"}
        values |= {("alter", "high"): "110", ("alter", "rule"): "max", ("ward", "options"): "Pädiatrie, Chirurgie"}
        values |= {("smokes", "yes"): "ja", ("smokes", "no"): "nein"}
        for (column, part), value in values.items():
            say(column, part, value)
        page.fill("#opening-budget", "90")
        assert too_wide(page) <= 0
        page.screenshot(path=picture(f"start-{view}"), full_page=True)
        assert not ledger.exists()
        page.click("#open")
        page.wait_for_selector("#condition-column")
        assert ledger.exists()
        page.select_option("#condition-column", "alter")  # a word of SQL, and a column all the same
        page.select_option("#condition-operator", ">=")
        page.fill("#condition-value", "45")
        page.fill("#epsilon", "20")
        page.wait_for_function("() => document.getElementById('question-words').textContent.endsWith('at least 45?')")
        page.wait_for_selector("#ask:not([disabled])")
        for draws in (1, 2):
            page.click("#rehearse")
            page.wait_for_function("n => document.querySelectorAll('#rehearsed circle').length === n", arg=draws)
        assert "1,000 made-up people, of whom the true answer is 300" in page.inner_text("#rehearsed")
        release(page)
        assert re.fullmatch(r"About \d+ of 600 \(± \d, 95 %\)", page.inner_text(".answer .big"))
        assert page.locator(".answer .whisker").count() == 1
        assert "How many people are there whose alter is at least 45?" in saved(page, ".save-card")
        page.select_option("#kind", "average")
        page.select_option("#column", "cost")
        assert page.input_value("#range-high") == "20000"  # as the description has it
        if not page.is_visible("#by"):
            page.click("#more summary")
        page.select_option("#by", "ward")
        page.fill("#groups", "Pädiatrie, Chirurgie")
        release(page)
        assert page.locator(".answer .whisker").count() == 2
        page.select_option("#by", "")
        page.select_option("#kind", "crosstab")
        page.select_option("#side-1", "alter")
        page.fill("#side-1-values", "0, 45, 110")
        page.select_option("#side-2", "ward")
        page.wait_for_function(
            "() => document.getElementById('question').value === 'histogram(alter: bins=[0, 45, 110], ward)'"
        )
        release(page)
        assert page.locator("table.cross tfoot td").count() == 4
        assert saved(page, ".answer button >> text=CSV").startswith("\ufeffalter,ward,count,low,high,note")
        assert too_wide(page) <= 0
        page.screenshot(path=picture(f"crosstab-{view}"), full_page=True)
        page.goto(f"{address}/explore")
        page.wait_for_selector("#condition-column")
        assert "hospital.csv" in page.inner_text("#of-table")  # its own columns, never invented people
        assert page.input_value("#question") == ""


# kind: what is filled in, beside the column age; the text that it makes. Every sheet of the library has its line.
FILLED: dict[str, tuple[dict[str, str], str]] = {
    "share": ({"condition-value": "40", "bound": "33.3", "among": "day > 3"}, "share(age = 40 among day > 3) >= 0.333"),
    "majority": ({"condition-operator": "BETWEEN", "condition-value": "18, 65"}, "majority(age BETWEEN 18 AND 65)"),
    "count": ({"condition-operator": "IN", "condition-value": "30, x"}, "count(age IN ('30', 'x')) >= 100"),
    "everybody": ({"relation": ">", "bound": "11", "among": "day > 3"}, "count(* among day > 3) > 11"),
    "mean": ({"range-low": "0", "range-high": "100", "bound": "20"}, "mean(age, range=[0, 100]) >= 20"),
    "how-many": ({"condition-value": "40"}, "count(age = 40)"),
    "which-share": ({"condition-value": "40", "among": "day > 3"}, "share(age = 40 among day > 3)"),
    "average": ({"range-low": "0", "range-high": "100"}, "mean(age, range=[0, 100], interval=true)"),
    "sum": ({"range-low": "0", "range-high": "100"}, "sum(age, range=[0, 100])"),
    "ratio": (
        {"other": "day", "ranges": "[[0, 1000], [0, 30]]", "grid": "[0, 500, 1]"},
        "ratio(age, day, ranges=[[0, 1000], [0, 30]], grid=[0, 500, 1])",
    ),
    "compare": ({"first": "30", "second": "31"}, "compare(age, 30, 31)"),
    "winner": ({"options": "30, 31, it's"}, "winner(age, ['30', '31', 'it''s'])"),
    "top": ({"size": "2", "options": "30, 31, 32"}, "top(age, 2, [30, 31, 32])"),
    "crosstab": (
        {
            "side-1": "ward",
            "side-1-values": "north, south",
            "side-2": "age",
            "side-2-kind": "bins",
            "side-2-values": "0, 31, 99",
        },
        "histogram(ward: ['north', 'south'], age: bins=[0, 31, 99])",
    ),
    "histogram": ({"options": "30, 31"}, "histogram(age, [30, 31])"),
    "keys": ({"delta": "1e-6"}, "keys(age)"),
    "two-shares": (
        {"condition-value": "31", "first-value": "30", "second-operator": ">", "second-value": "31", "margin": "2"},
        "share(age = 31 among age = 30) > share(age = 31 among age > 31) + 0.02",
    ),
    "two-means": (
        {"range-low": "0", "range-high": "100", "range-step": "1", "first-value": "30", "second-value": "31"},
        "mean(age, range=[0, 100], step=1 among age = 30) > mean(age, range=[0, 100], step=1 among age = 31)",
    ),
    "median": ({"bands-edges": "0, 18, 65"}, "median(age, bins=[0, 18, 65])"),
    "quantile": (
        {"rank": "90", "bands-low": "0", "bands-high": "120", "bands-step": "10"},
        "quantile(age, 0.9, range=[0, 120], step=10)",
    ),
    "quantiles": (
        {"ranks": "25, 50, 75", "bands-edges": "0, 18, 65, 120"},
        "quantiles(age, [0.25, 0.5, 0.75], bins=[0, 18, 65, 120])",
    ),
    "several": (
        {
            "condition-value": "31",
            "bound": "0.1",
            "quantity-2": "count",
            "condition-2-operator": "IS NULL",
            "bound-2": "3",
        },
        "share(age = 31) >= 0.1 or count(age IS NULL) >= 3",
    ),
    "any": ({"condition-operator": ">", "condition-value": "110"}, "any(age > 110)"),
    "all": ({"condition-operator": ">=", "condition-value": "18"}, "all(age >= 18)"),
}


CATEGORIES = {"compare", "winner", "top", "histogram", "keys"}


@pytest.mark.slow
@pytest.mark.parametrize("view", ["wide", "phone"])
def test_every_kind_of_question_has_its_form(page: Any, ward_desk: str, view: str) -> None:
    release_page(page, ward_desk)
    kinds = page.locator("#kind option").evaluate_all("all => all.map((one) => one.value)")
    assert sorted(kinds) == sorted([*FILLED, "own"])
    page.fill("#epsilon", "0.1")
    page.click("#more summary")
    shown = kinds if view == "wide" else ["two-shares", "several", "quantiles", "winner"]
    for kind in (one for one in shown if one != "own"):
        values, text = FILLED[kind]
        page.select_option("#kind", kind)
        numbers = {"mean", "two-means", "average", "sum", "ratio", "median", "quantile", "quantiles", "crosstab"}
        page.fill("#delta", "0")
        if kind == "several":
            page.click("#add-threshold")
            assert focused(page) == "quantity-2"
            page.select_option("#joined", "or")
        for column in page.locator("#sheet select[id*='column']").evaluate_all("all => all.map((one) => one.id)"):
            page.select_option(f"#{column}", "age")
        for field in page.locator("#sheet input").evaluate_all("all => all.map((one) => one.id)"):
            if field not in ("bound", "ranks"):
                page.fill(f"#{field}", "")
        for operator in page.locator("#sheet select[id$='operator']").evaluate_all("all => all.map((one) => one.id)"):
            page.select_option(f"#{operator}", "=")
        for field, value in values.items():
            if page.locator(f"select#{field}").count():
                page.select_option(f"#{field}", value)
            else:
                page.fill(f"#{field}", value)
        assert page.input_value("#question") == text, kind
        if kind == "two-means":
            page.check("#public_groups")
        # A person has several rows: every number needs a rule, and only rules that fit are offered.
        page.wait_for_function(
            "wanted => [...document.querySelectorAll('#reduce option')].some((one) => one.value === wanted)",
            arg="mean" if kind in numbers else "most-frequent" if kind in CATEGORIES else "any",
        )
        if kind in numbers:
            page.select_option("#reduce", "mean")
        page.wait_for_selector("#ask:not([disabled])", timeout=30_000)
        assert page.locator(".field-error, #status .error").count() == 0, kind
        assert too_wide(page) <= 0, kind
    page.fill("#question", "majority(height > 3)")
    page.wait_for_selector("#question[aria-invalid='true'] + .field-error")
    assert page.input_value("#kind") == "own"
    assert "is not a column of the table" in page.inner_text(".field-error")
    assert page.is_disabled("#ask")


@both_screens
def test_groups_order_and_reload(page: Any, ward_desk: str, view: str) -> None:
    release_page(page, ward_desk)
    page.select_option("#kind", "mean")
    page.select_option("#column", "age")
    epsilon = {"wide": "2", "phone": "1.5"}[view]
    for field, value in (("range-low", "0"), ("range-high", "100"), ("bound", "20"), ("epsilon", epsilon)):
        page.fill(f"#{field}", value)
    page.wait_for_selector("#reduce[aria-invalid='true']")  # a person has several rows: the folded field shows itself
    assert page.input_value("#unit") == "a value of patient"  # as the ledger has it
    assert not page.is_visible("#reduce_order")
    page.select_option("#reduce", "first")
    page.select_option("#reduce_order", "day")
    page.select_option("#by", "ward")
    page.fill("#groups", "north, south")
    release(page)
    assert page.locator(".answer tr").count() == 2
    assert "patient" in page.inner_text(".answer .facts:not(.cautions)")
    assert too_wide(page) <= 0
    page.screenshot(path=picture(f"groups-{view}"), full_page=True)
    page.reload()
    page.wait_for_selector("#ask:not([disabled])")
    assert page.input_value("#groups") == "north, south"
    assert page.input_value("#reduce_order") == "day"
    assert page.input_value("#question") == "mean(age, range=[0, 100]) >= 20"
    assert not page.is_visible("#answer-card")
    page.select_option("#by", "")
    page.select_option("#kind", "histogram")  # a rule for numbers does not stay and block it
    page.select_option("#column", "ward")
    page.fill("#options", "north, south")
    release(page)
    assert page.locator(".answer svg.answer-bar").count() == 3
    assert saved(page, ".answer button >> text=CSV").splitlines()[0] == "name,value,low,high"


@pytest.mark.slow
def test_own_levels_with_their_aim_and_sizes(page: Any, ward_desk: str) -> None:
    release_page(page, ward_desk)
    page.select_option("#kind", "majority")
    page.select_option("#condition-column", "ward")
    page.fill("#condition-value", "north")
    page.fill("#epsilon", "1")
    page.click("summary >> text=More")
    assert not page.is_visible("#aim")
    page.select_option("#levels", "trust")
    page.fill("#level_sizes", "0.5: 100, 1: 900")
    page.select_option("#aim", "every-table")
    page.wait_for_selector("path[data-series='every table, worst']")
    assert "every table" in page.inner_text("#expect")
    release(page)
    document = json.loads(saved(page, ".answer .save"))
    assert (document["levels"], document["aim"]) == ("trust", "every-table")


@pytest.mark.slow
@both_screens
def test_several_questions_are_charged_together_or_not_at_all(page: Any, desk: str, view: str, tmp_path: Path) -> None:
    release_page(page, desk)
    for value in ("40", "45"):
        fill(page, value, "0.4")
        page.wait_for_selector("#add:not([disabled])")
        page.click("#add")
    page.wait_for_selector("#ask-all:not([disabled])")
    assert "Together they cost ε = 0.8" in page.inner_text("#basket-price")
    fill(page, "50", "0.4")
    page.wait_for_selector("#add:not([disabled])")
    page.click("#add")  # one too many: all or none
    page.wait_for_function("() => document.getElementById('ask-all').textContent.includes('cannot be released')")
    assert "0.2 remains" in page.inner_text("#basket-price")
    page.click("[aria-label='Take out question 3']")
    page.wait_for_selector("#ask-all:not([disabled])")
    plan = saved(page, "#save-plan")
    assert [one["text"] for one in tomllib.loads(plan)["question"]] == [
        "share(age < 40) >= 0.99",
        "share(age < 45) >= 0.99",
    ]
    page.reload()  # the list survives
    page.wait_for_selector("#ask-all:not([disabled])")
    page.click("#empty-basket")
    (tmp_path / "plan.toml").write_text(plan)
    page.set_input_files("#load-plan", str(tmp_path / "plan.toml"))
    page.wait_for_selector("#ask-all:not([disabled])")
    assert "its questions are asked of the table that is open here" in page.inner_text("#plan-words")
    page.focus("#ask-all")
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm[open]")
    assert page.locator("#confirm-lines li").count() == 2
    assert page.locator("#confirm-cautions li").count() == 2
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert page.locator(".answer").count() == 2
    assert focused(page) == "answer-title"
    assert "ε = 0.2 of 1 left after 2 questions" in page.inner_text("#budget")
    page.wait_for_function("() => document.getElementById('ask-all').textContent.includes('recorded answers')")
    assert too_wide(page) <= 0
    page.screenshot(path=picture(f"several-{view}"), full_page=True)


@pytest.mark.slow
@both_screens
def test_a_file_is_chosen_in_the_page(browser: Any, page: Any, view: str, tmp_path: Path) -> None:
    with running_studio() as address:
        page.goto(f"{address}/release")
        page.wait_for_selector("#choose:not([hidden])")
        (tmp_path / "notes.pdf").write_bytes(b"%PDF Zyzzyva-7431")
        page.set_input_files("#file", str(tmp_path / "notes.pdf"))
        page.wait_for_selector("#choose-status .error")
        assert "'notes.pdf' is neither a CSV nor a Parquet file" in page.inner_text("#choose-status")
        assert "Zyzzyva" not in page.content()
        page.set_input_files("#file", str(write_visits(tmp_path)))
        page.wait_for_selector("#opening:not([hidden])")
        assert "The names of its columns are public" in page.inner_text("#opening-words")
        page.wait_for_selector("#written-columns .written")
        assert page.locator("#written-columns code").all_inner_texts() == ["patient", "ward", "age", "day", "trust"]
        assert focused(page) == "opening-unit"
        page.click("#open")
        page.wait_for_selector("#opening-unit + .field-error")  # who is a person has no default
        page.select_option("#opening-unit", "patient")
        page.fill("#opening-budget", "-1")
        page.click("#open")
        page.wait_for_selector("#opening-budget + .field-error")
        page.fill("#opening-budget", "2")
        page.screenshot(path=picture(f"choose-{view}"), full_page=True)
        page.focus("#open")
        page.keyboard.press("Enter")
        page.wait_for_selector("#condition-column")
        assert page.inner_text("#table-words").startswith("CSV file visits.csv (5 columns)")
        assert "Each value of patient is one person" in page.inner_text("#people")
        assert "ε = 2 of 2 left" in page.inner_text("#budget")
        fill(page, "40", "1")
        release(page)
        other = page.context.new_page()
        other.goto(f"{address}/release")
        other.wait_for_selector("#history tbody tr")
        page.click("#another")  # another file: the other tab follows, so that no question goes to the wrong table
        page.set_input_files("#file", str(write_survey(tmp_path)))
        page.wait_for_selector("#opening:not([hidden])")
        other.wait_for_selector("#opening:not([hidden])")
        assert "survey.csv" in other.inner_text("#opening-words")
        assert too_wide(page) <= 0
        if view == "wide":
            ask_by_typed_groups(page)


def ask_by_typed_groups(page: Any) -> None:
    """A Parquet file brings its types: options and groups are written as they are."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    written = io.BytesIO()
    parquet.write_table(pyarrow.table({"ward": [1, 2] * 200, "smokes": [True, False] * 200}), written)
    page.set_input_files("#file", {"name": "t.parquet", "mimeType": "", "buffer": written.getvalue()})
    page.wait_for_function("() => document.getElementById('opening-words').textContent.includes('t.parquet')")
    page.select_option("#opening-unit", "")
    page.wait_for_selector("#written-columns .written")
    page.click("#open")
    page.wait_for_selector("#condition-column")
    page.select_option("#kind", "winner")
    page.select_option("#column", "smokes")
    assert page.input_value("#question") == "winner(smokes, [false, true])"  # the type lists them
    page.fill("#epsilon", "1")  # two of them are the whole budget
    if not page.is_visible("#by"):
        page.click("#more summary")
    for column, groups in (("ward", "1, 2"), ("smokes", "true, false")):
        page.select_option("#by", column)
        page.fill("#groups", groups)
        release(page)
        assert page.locator(".answer th").all_inner_texts() == groups.split(", ")


@pytest.mark.slow
@both_screens
def test_a_table_is_sanitised(page: Any, ward_desk: str, view: str) -> None:
    page.goto(f"{ward_desk}/sanitise")
    page.wait_for_selector("#values-1")
    assert page.is_disabled("#ask")
    page.select_option("#column-1", "age")
    page.select_option("#kind-1", "bins")
    page.fill("#values-1", "0, 31, 100")
    page.click("#add-column")
    assert focused(page) == "column-2"
    page.select_option("#column-2", "ward")
    page.fill("#values-2", "north, south")
    if not page.is_visible("#reduce"):
        page.click("#more summary")
    page.select_option("#reduce", "mean")  # a person has several rows, and an age needs a rule
    page.fill("#epsilon", "1")
    page.wait_for_selector("#ask:not([disabled])")
    assert "9 cells" in page.inner_text("#estimate")
    assert page.locator("#queries tbody tr").count() == 3
    page.click("#ask")
    page.wait_for_selector("#confirm[open]")
    assert page.locator("#confirm-lines li").all_inner_texts() == ["age: bins=[0, 31, 100]", "ward: ['north', 'south']"]
    page.click("#yes")
    page.wait_for_selector("#result:not([hidden])")
    assert focused(page) == "result-title"
    rows = list(csv.DictReader(io.StringIO(saved(page, "#result-files a >> text=CSV"))))
    assert len(rows) == 1000  # as many as people
    assert set(rows[0]) == {"ward", "age"}
    assert json.loads(saved(page, "#result-files a >> text=statement"))["epsilon"] == "1"
    assert too_wide(page) <= 0
    page.screenshot(path=picture(f"sanitised-{view}"), full_page=True)
    page.reload()
    page.wait_for_selector("#ask:not([disabled])")  # the form is as it was, and the rows still wait
    assert page.input_value("#values-1") == "0, 31, 100"
    assert not page.is_visible("#result")
    assert page.locator("#made li").count() >= 1
    page.fill("#epsilon", "1000")
    page.wait_for_function("() => document.getElementById('ask').textContent.includes('does not cover')")


@both_screens
def test_everything_can_be_done_by_keyboard(page: Any, desk: str, view: str) -> None:
    release_page(page, desk)
    yes_or_no(page)
    order = [
        "kind",
        "condition-column",
        "condition-operator",
        "condition-value",
        "relation",
        "bound",
        "among",
        "question",
    ]
    page.focus("#kind")
    for expected in order:
        assert focused(page) == expected
        if expected == "condition-column":
            page.keyboard.type("age")
        if expected == "condition-value":
            page.keyboard.type("40")
        page.keyboard.press("Tab")
    page.focus("#epsilon")
    page.keyboard.type("0.3")
    page.wait_for_selector("#ask:not([disabled])")
    assert focused(page) == "epsilon"  # a check does not take the focus away
    page.focus("#ask")
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm[open]")
    assert focused(page) == "no"  # nothing is spent by pressing Enter once more
    for _ in range(4):
        page.keyboard.press("Tab")  # the dialog keeps the focus (or the browser's own frame has it)
        assert page.evaluate(
            "document.activeElement === document.body || document.getElementById('confirm').contains(document.activeElement)"
        )
    page.keyboard.press("Escape")
    page.wait_for_function(
        "document.activeElement.id === 'ask'"
    )  # the browser gives the focus back after the dialog is gone
    page.keyboard.press("Enter")
    page.wait_for_selector("#confirm[open]")
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "yes"
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert focused(page) == "answer-title"
    assert page.locator("#history tbody tr").count() == 1


@pytest.mark.slow
def test_a_question_asked_again_at_once_is_not_answered_by_the_end_of_the_first(page: Any, desk: str) -> None:
    """A browser tells a moment later that a dialog was closed; by then the next one may be open."""
    release_page(page, desk)
    fill(page, "40", "0.3")
    page.wait_for_selector("#ask:not([disabled])")
    page.click("#ask")
    page.wait_for_selector("#confirm[open]")
    page.evaluate("document.getElementById('confirm').close(''); document.getElementById('ask').click()")
    page.click("#yes")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert page.locator("#history tbody tr").count() == 1  # and the first one spends nothing


@pytest.mark.slow
def test_two_tabs_see_each_other_s_spends(browser: Any, desk: str) -> None:
    context = browser.new_context(**VIEWS["light"])
    context.set_default_timeout(60_000)
    tabs = [context.new_page() for _ in range(2)]
    for tab in tabs:
        release_page(tab, desk)
        fill(tab, "40", "0.3")
        tab.wait_for_selector("#ask:not([disabled])")
    tabs[0].click("#ask")
    tabs[0].evaluate("for (let i = 0; i < 3; i++) document.getElementById('yes').click()")  # an impatient finger
    tabs[0].wait_for_selector("#answer-card:not([hidden])")
    # Without a reload the other tab knows: the answer is there and costs nothing.
    tabs[1].wait_for_function("() => document.getElementById('ask').textContent.includes('recorded answer')")
    assert "ε = 0.7 of 1 left after 1 question" in tabs[1].inner_text("#budget")
    for tab, value in zip(tabs, ("41", "45")):
        ask(tab, value, "0.6")
    for tab in tabs:
        tab.click("#yes")
    for tab in tabs:
        tab.wait_for_selector("#answer-card:not([hidden]), #truth .error")
    assert sorted(tab.is_visible("#answer-card") for tab in tabs) == [False, True]
    refused = next(tab for tab in tabs if not tab.is_visible("#answer-card"))
    assert "Nothing was sampled and nothing was spent" in refused.inner_text("#truth")
    tabs[0].reload()
    tabs[0].wait_for_selector("#history table")
    assert tabs[0].locator("#history tbody tr").count() == 2
    context.close()


@pytest.mark.slow
def test_what_was_spent_is_told_whatever_became_of_the_answer(page: Any, desk: str) -> None:
    release_page(page, desk)
    page.route("**/api/release", lambda route: route.abort())  # it never arrived at the studio
    ask(page, "40", "0.3")
    page.click("#yes")
    page.wait_for_selector("#truth .error")
    assert "Nothing was spent: the ledger has no new entry." in page.inner_text("#truth")
    page.unroute("**/api/release")

    def lose_the_answer(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/api/release", lose_the_answer)
    page.wait_for_selector("#ask:not([disabled])")
    page.click("#ask")
    page.click("#yes")
    page.wait_for_function("() => document.getElementById('truth').textContent.includes('its answer is recorded')")
    assert "its answer is recorded: ask again, it costs nothing" in page.inner_text("#truth")
    assert "ε = 0.7 of 1 left after 1 question" in page.inner_text("#budget")
    page.unroute("**/api/release")
    page.wait_for_function("() => document.getElementById('ask').textContent.includes('recorded answer')")
    page.click("#ask")
    page.wait_for_selector("#answer-card:not([hidden])")
    assert "nothing was spent on it now" in page.inner_text(".answer .spent")


@pytest.mark.slow
def test_all_traffic_of_a_visit_holds_nothing_of_the_data(browser: Any, desk: str) -> None:
    context = browser.new_context(**VIEWS["light"])
    context.set_default_timeout(60_000)
    page = context.new_page()
    bodies: list[tuple[str, str]] = []
    page.on("response", lambda answer: bodies.append((answer.url, answer.text())) if answer.status != 303 else None)
    for path in PATHS.values():
        page.goto(desk + path)
        page.wait_for_load_state("networkidle")
    release_page(page, desk)
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
