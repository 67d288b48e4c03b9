"""The report on peers: the page says what its data say, and its sentences are borne out. No peer is needed to read it."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
# The second measures of two studies whose first ones have the sentence.
_PEOPLE_OFF = "Quantile, people between the answer and the truth"
_PEOPLE_MISSING = "Leading options, people missing at the worst place of the list"


def _page() -> Any:
    spec = importlib.util.spec_from_file_location("peer_page", ROOT / "benchmarks" / "peers" / "page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "docs" / "peers.json").read_text(encoding="utf-8"))
    return loaded


def test_page_is_made_from_the_data(report: dict[str, Any]) -> None:
    assert _page().render(report) == (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")


def test_a_changed_number_changes_the_page(report: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(report))
    changed["rows"][0]["ours"]["value"] *= 1.1
    assert _page().render(changed) != _page().render(report)


def test_a_sentence_that_does_not_hold_is_marked(report: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(report))
    changed["claims"][0]["holds"] = False
    assert "Not borne out" in _page().render(changed)
    changed["claims"][0]["holds"] = None  # a peer that does not run here bears out nothing and contradicts nothing
    assert "Not borne out" not in _page().render(changed)
    assert "Not measured" in _page().render(changed)
    assert all(claim["holds"] for claim in report["claims"])


def test_ratios_and_verdicts_follow_from_the_numbers(report: dict[str, Any]) -> None:
    for row in report["rows"]:
        if row["verdict"].startswith("not measured"):
            assert row["note"]
            continue
        if "ours" not in row:
            assert row["verdict"] == _by_time(row["ratio"])
            continue
        ours, theirs = row["ours"]["value"], row["theirs"]["value"]
        assert row["ratio"] == pytest.approx(ours / theirs if theirs else 1.0, rel=1e-3)
        if "one_draw" in row["theirs"]:
            assert row["verdict"] == "one draw of theirs"
            continue
        slack = row["ours"].get("plus_minus", 0) + row["theirs"].get("plus_minus", 0) + 0.005 * theirs
        if abs(abs(ours - theirs) - slack) > 1e-3 * theirs:  # otherwise rounding decides
            expected = "equal" if abs(ours - theirs) < slack else "better" if ours < theirs else "worse"
            assert row["verdict"] == expected


def _by_time(ratio: float) -> str:
    return "similar" if 0.5 <= ratio <= 2 else "better" if ratio < 1 else "worse"


def test_every_task_and_peer_is_there(report: dict[str, Any]) -> None:
    peers = " ".join(row["peer"] for row in report["rows"])
    assert all(name in peers for name in ("OpenDP", "diffprivlib", "Tumult", "qif", "dp-accounting"))
    experts = (
        "AboveThreshold",
        "joint exponential",
        "JointExp",
        "AQ",
        "SliceQuantiles",
        "threshold on budgets",
        "both distances",
    )
    assert all(name in peers for name in experts)
    tasks = " ".join(row["task"] for row in report["rows"])
    wanted = ("margin", "(303, 298, 134, 133, 133)", "(201, 200, 200, 200, 200)", "K = 2,", "K = 5,", "K = 20,")
    assert all(word in tasks for word in (*wanted, "strict", "expected cost", "leakage", "import"))
    tables = ("ages", "visits to a doctor", "lognormal", "Pareto", "20 of 10,000")
    assert all(any(name in row["task"] for row in report["rows"] if "generous" in row["study"]) for name in tables)
    assert {"opendp", "diffprivlib", "qif", "dp-accounting"} <= set(report["versions"])


def test_the_page_says_where_nothing_is_gained() -> None:
    text = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    assert "Where nothing is gained" in text
    assert "A threshold on a count at pure ε: nothing is gained." in text
    assert "A count as a number: nothing is gained." in text


def test_a_loss_is_told(report: dict[str, Any]) -> None:
    """A study in which some peer is better has a sentence that says so."""
    lost = {row["study"] for row in report["rows"] if row["verdict"] == "worse" and "ours" in row}
    assert lost <= {claim["study"] for claim in report["claims"] if not claim["gained"]} | {
        _PEOPLE_OFF,
        _PEOPLE_MISSING,
    }
