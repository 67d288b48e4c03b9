"""A release is examined again where nothing but Python is: with every library hidden, and in a real browser."""

from __future__ import annotations

import http.server
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.reporting.report import documents_html

ROOT = Path(__file__).parents[2]
PEOPLE = 600
TABLE = pyarrow.table(
    {
        "smokes": ["yes", "no", "no"] * (PEOPLE // 3),
        "vote": ["a", "b", "c", "a", "d"] * (PEOPLE // 5),
        "ward": ["north", "south"] * (PEOPLE // 2),
        "age": [18 + i % 60 for i in range(PEOPLE)],
        "cost": [(i * 7) % 10 for i in range(PEOPLE)],
        "days": [i % 3 for i in range(PEOPLE)],
        "level": ["0.1"] * 20 + ["1"] * (PEOPLE - 20),
    }
)
ASKED: dict[str, dict[str, Any]] = {
    "threshold": {"question": "share(smokes = 'yes') >= 0.3"},
    "threshold with delta": {"question": "count(age >= 65) >= 100", "epsilon": "ln(3)", "delta": "1e-6"},
    "threshold among": {"question": "majority(smokes = 'yes' among age >= 30)", "neighbours": "add-remove"},
    "mean threshold": {"question": "mean(cost, range=[0, 9]) >= 4"},
    "two groups": {
        "question": "share(smokes = 'yes' among ward = 'north') > share(smokes = 'yes' among ward = 'south')"
    },
    "several": {"question": "share(smokes = 'yes') >= 0.3 and count(age > 30) >= 10"},
    "winner": {"question": "winner(vote, ['a', 'b', 'c', 'd'])"},
    "compare": {"question": "compare(vote, 'a', 'b')"},
    "top": {"question": "top(vote, 2, ['a', 'b', 'c', 'd'])"},
    "median": {"question": "median(age, range=[0, 120], step=1)"},
    "quantile": {"question": "quantile(age, 0.9, bins=[0, 18, 30, 60, 120])", "delta": "1e-6"},
    "quartiles": {"question": "quantiles(age, [0.25, 0.5, 0.75], range=[0, 120], step=1)"},
    "histogram": {"question": "histogram(vote, ['a', 'b', 'c', 'd'])"},
    "cross table": {"question": "histogram(vote: ['a', 'b'], smokes: ['yes'])"},
    "count": {"question": "count(age >= 65)"},
    "share": {"question": "share(smokes = 'yes')", "epsilon": "0.3"},
    "share among": {"question": "share(smokes = 'yes' among age >= 30)"},
    "sum": {"question": "sum(cost, range=[0, 9])"},
    "mean": {"question": "mean(cost, range=[0, 9])"},
    "ratio": {"question": "ratio(cost, days, ranges=[[0, 9], [0, 2]], grid=[0, 9, 1])"},
    "difference": {"question": "count(age > 60) - count(age < 30)"},
    "keys": {"question": "keys(vote)", "delta": "1e-6"},
    "by group": {"question": "count(*) >= 11", "by": "ward", "groups": ["north", "south"]},
    "counts by group": {"question": "count(smokes = 'yes')", "by": "ward", "groups": ["north", "south"]},
    "means by group": {"question": "mean(cost, range=[0, 9])", "by": "ward", "groups": ["north", "south"]},
    "generous mean": {"question": "mean(cost, range=[0, 100000])"},
    "count under a prior": {"question": "count(age >= 65, prior=uniform)"},
    "cross table with levels": {"question": "histogram(vote: ['a', 'b'], smokes: ['yes'])", "levels": "level"},
    "levels": {"question": "share(smokes = 'yes') >= 0.3", "levels": "level"},
    "levels, every table": {"question": "share(smokes = 'yes') >= 0.3", "levels": "level", "aim": "every table"},
    "winner with levels": {"question": "winner(vote, ['a', 'b', 'c'])", "levels": "level"},
    "median with levels": {"question": "median(age, bins=[0, 18, 30, 60, 120])", "levels": "level"},
    "histogram with levels": {"question": "histogram(vote, ['a', 'b'])", "levels": "level"},
}
FORGED = {
    "threshold": ("epsilon", "0.1"),
    "winner": ("answer", "nobody"),
    "histogram": ("answer", {"a": 1}),
    "count": ("interval", [0, 1]),
    "levels": ("epsilon", "0.5"),
    "median": ("answer", "300"),
    "cross table": ("neighbours", "add-remove"),
    "sanitised": ("epsilon", "0.3"),
}
COLUMNS = {"smokes": ["yes", "no"], "ward": ["north", "south"], "vote": ["a", "b", "c", "d"]}
HIDING = """
import importlib.abc, json, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(name, name=name)

NAMES = {"flint", "numpy", "scipy", "numba", "sqlglot", "duckdb", "pyarrow", "pandas", "typer", "rich", "sqlite3", "ssl"}
sys.meta_path.insert(0, Hidden())
import examine
assert json.loads(examine.about())["arithmetic"] == "balls in plain Python"
json.dump([json.loads(examine.examine(text)) for text in json.load(sys.stdin)], sys.stdout)
"""


def released(*names: str) -> dict[str, str]:
    """Releases as their files say them."""
    made = {name: odp.release(TABLE, **({"epsilon": 1} | ASKED[name])) for name in names}
    return {name: release.to_json() for name, release in made.items()}


def sanitised() -> dict[str, str]:
    """The statement beside sanitised rows."""
    return {"sanitised": json.dumps(odp.sanitise(TABLE, COLUMNS, epsilon=1).to_document())}


@pytest.fixture(scope="module")
def documents() -> dict[str, str]:
    """A release of each kind."""
    return released(*ASKED) | sanitised()


@pytest.fixture(scope="module")
def some() -> dict[str, str]:
    return released("threshold", "count", "winner", "histogram", "by group", "levels") | sanitised()


@pytest.fixture(scope="module")
def forged(documents: dict[str, str]) -> dict[str, str]:
    return {name: json.dumps(json.loads(documents[name]) | {key: value}) for name, (key, value) in FORGED.items()}


def alone(texts: list[str]) -> list[Any]:
    """What the page's own program says, in a process that has no library."""
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'docs' / 'verify'}"}
    ran = subprocess.run(
        [sys.executable, "-c", HIDING], input=json.dumps(texts), capture_output=True, text=True, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    return list(json.loads(ran.stdout))


@pytest.mark.long
def test_releases_are_verified_without_any_library(some: dict[str, str]) -> None:
    wrong = json.dumps(json.loads(some["levels"]) | {"epsilon": "0.5"})
    spent = json.dumps(json.loads(some["sanitised"]) | {"epsilon": "0.3"})
    design = odp.design(odp.graphs.votes(3), odp.graphs.majority, epsilon="ln(2)").to_json()
    *right, forged, statement, other, nothing = alone([*some.values(), wrong, spent, design, "{"])
    assert [release["holds"] for found in right for release in found["releases"]] == [True] * len(some)
    assert forged["releases"][0]["failure"].startswith("the document's mechanism differs")
    assert statement["releases"][0]["failure"] == "the tables and choices spend epsilon 1, and 0.3 is stated"
    assert other["releases"][0]["examined"] is False
    assert "optimaldp verify" in other["releases"][0]["failure"]
    assert "problem" in nothing


@pytest.mark.slow
def test_every_kind_is_verified_without_any_library(documents: dict[str, str], forged: dict[str, str]) -> None:
    told = alone([*documents.values(), *forged.values()])
    right, wrong = told[: len(documents)], told[len(documents) :]
    for name, found in zip(documents, right):
        (release,) = found["releases"]
        assert release["holds"], (name, release["failure"])
        here = odp.verify(json.loads(documents[name]))
        assert release["checked"] == list(here.checked)
        assert here.not_recomputed == () or name == "sanitised"
    left = {name for name, found in zip(documents, right) if "not_recomputed" in found["releases"][0]}
    assert left == {"median", "quantile", "quartiles", "median with levels", "levels", "sanitised"}
    for name, found in zip(forged, wrong):
        assert not found["releases"][0]["holds"], name
        assert "means" not in found["releases"][0]


@pytest.mark.long
def test_a_report_carries_its_documents(some: dict[str, str]) -> None:
    names = ("threshold", "count")
    page = documents_html([json.loads(some[name]) for name in names])
    nasty = json.loads(some["threshold"]) | {"dataset": "</script><b>x"}
    both, risky, none = alone([page, documents_html([nasty]), "<p>no report</p>"])
    assert [release["holds"] for release in both["releases"]] == [True, True]
    assert [release["holds"] for release in risky["releases"]] == [True]
    assert "holds no documents" in none["problem"]


# In a real browser, from a site that serves everything itself.


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    from tools.verify_page import build

    folder = tmp_path_factory.mktemp("site")
    build(folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm, which brings Pyodide, is not installed")
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize("query", ["", "?arithmetic=plain"])
def test_the_page_verifies_every_kind(site: str, documents: dict[str, str], forged: dict[str, str], query: str) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright drives the browser")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(180_000)
        asked: list[str] = []
        problems: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: problems.append(error.message))
        page.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
        page.goto(f"{site}index.html{query}")
        page.locator("#state", has_text="Ready").wait_for()
        used = page.inner_text("#state")
        assert "plain Python" in used if query else "python-flint" in used or "plain Python" in used
        page.locator("#preview svg").wait_for()
        page.locator("#epsilon").press("ArrowRight")
        page.locator("#shown", has_text="0.55").wait_for()
        page.fill("#text", f"[{','.join(documents.values())}]")
        page.click("#examine")
        page.locator("#verdict article").first.wait_for()
        assert page.locator("#verdict article.holds").count() == len(documents), page.inner_text("#verdict")
        for text in forged.values():
            page.fill("#text", text)
            page.click("#examine")
            page.locator("#verdict article.fails").wait_for()
        report = documents_html([json.loads(documents["count"])]).encode()
        page.set_input_files("#file", {"name": "report.html", "mimeType": "text/html", "buffer": report})
        page.locator("#verdict article.holds").wait_for()
        assert all(url.startswith((site, f"blob:{site}", "data:")) for url in asked), asked
        assert problems == []
        browser.close()
