"""Questions made in Python without a range: the description of the table says it, as it does for a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run_cli

import optimaldp as odp
from optimaldp.errors import QuestionError

FIELDS: list[dict[str, Any]] = [
    {"name": "ward", "type": "string", "constraints": {"enum": ["a", "b"]}},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 110}},
    {"name": "cost", "type": "number", "constraints": {"minimum": 0, "maximum": 100}},
    {"name": "visits", "type": "integer", "constraints": {"minimum": 0, "maximum": 10}},
]
GRID = [0, 100, 1]
DRAFTS: list[tuple[Any, str]] = [
    (odp.mean("cost"), "mean(cost, range=[0, 100], step=5)"),
    (odp.mean("cost", step=20, among="age >= 65"), "mean(cost, range=[0, 100], step=20 among age >= 65)"),
    (odp.mean("cost", grid=1) - odp.mean("cost"), ""),
    (odp.mean("cost") >= 50, "mean(cost, range=[0, 100], step=5) >= 50"),
    (odp.mean("cost") < 0.5, "mean(cost, range=[0, 100], step=5) < 0.5"),
    (odp.sum_("visits", loss="squared"), "sum(visits, range=[0, 10], loss='squared')"),
    (
        odp.mean("cost", among="ward = 'a'") - odp.mean("cost", among="ward = 'b'"),
        "mean(cost, range=[0, 100], step=5 among ward = 'a') - mean(cost, range=[0, 100], step=5 among ward = 'b')",
    ),
    (
        odp.mean("age", among="ward = 'a'") > odp.mean("age", among="ward = 'b'") + 2,
        "mean(age, range=[0, 110] among ward = 'a') > mean(age, range=[0, 110] among ward = 'b') + 2",
    ),
    (
        odp.mean("age", range=[0, 110], among="ward = 'a'") > odp.mean("age", among="ward = 'b'"),
        "mean(age, range=[0, 110] among ward = 'a') > mean(age, range=[0, 110] among ward = 'b')",
    ),
    (
        odp.mean("age", among="ward = 'a'") > odp.mean("age", range=[0, 110], among="ward = 'b'") + 2,
        "mean(age, range=[0, 110] among ward = 'a') > mean(age, range=[0, 110] among ward = 'b') + 2",
    ),
    (
        odp.mean("age", range=[0, 110], among="ward = 'a'") - odp.mean("age", among="ward = 'b'"),
        "mean(age, range=[0, 110] among ward = 'a') - mean(age, range=[0, 110] among ward = 'b')",
    ),
    (odp.median("age"), "median(age, range=[0, 110], step=1)"),
    (odp.histogram("visits"), "histogram(visits, range=[0, 10], step=1)"),
    (odp.quantile("age", 0.9, step=10), "quantile(age, 0.9, range=[0, 110], step=10)"),
    (odp.quantiles("age", [0.25, 0.5]), "quantiles(age, [0.25, 0.5], range=[0, 110], step=1)"),
    (
        odp.ratio("cost", "visits", grid=GRID),
        "ratio(cost, visits, ranges=[[0, 100], [0, 10]], steps=[5, 1], grid=[0, 100, 1])",
    ),
]


@pytest.fixture
def described(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text("ward,age,cost,visits\n" + "a,70,40,2\nb,30,60,3\n" * 20)
    document = {
        "resources": [{"path": "t.csv", "schema": {"fields": FIELDS}}],
        "optimaldp": {"person": None, "neighbours": "substitution", "reviewed": True, "step": {"cost": 5}},
    }
    path = tmp_path / "t.datapackage.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.long
@pytest.mark.parametrize(("draft", "asked"), DRAFTS, ids=[str(draft) for draft, _ in DRAFTS])
def test_the_description_says_the_range_of_an_object_as_of_its_text(described: Path, draft: Any, asked: str) -> None:
    if not asked:
        with pytest.raises(QuestionError, match="does not say among whom"):
            odp.release(described, draft, epsilon=1)
        return
    for question in (draft, str(draft)):
        release = odp.release(described, question, epsilon=1, public_groups="> mean" in asked)
        assert str(release.question) == asked


def test_without_a_description_the_sentence_says_both_ways_out(described: Path) -> None:
    for draft, _ in DRAFTS:
        if str(draft).startswith("histogram"):
            continue
        with pytest.raises(QuestionError, match=r"does not name the public range.*description of the table"):
            odp.release(described.with_name("t.csv"), draft, epsilon=1)


def test_a_draft_is_no_truth_value_and_takes_numbers_alone() -> None:
    with pytest.raises(QuestionError, match="no answer before"):
        bool(odp.mean("cost") >= 3)
    with pytest.raises(QuestionError, match="bound"):
        odp.mean("cost") - "much"
    with pytest.raises(QuestionError, match=r"grid.*missing"):
        odp.ratio("cost", "visits")
    assert repr(odp.mean("cost") >= 3) == "Question('mean(cost) >= 3')"


def test_previews_know_the_description_without_opening_the_table(described: Path) -> None:
    described.with_name("t.csv").unlink()
    for question in (odp.mean("cost"), "mean(cost)"):
        shown = odp.preview(question, epsilon=1, n=40, description=described)
        assert str(shown.question) == "mean(cost, range=[0, 100], step=5)"
        found = odp.epsilon_for(question, within=5, n=40, description=described)
        assert found == odp.epsilon_for("mean(cost, range=[0, 100], step=5)", within=5, n=40)
    unread = json.loads(described.read_text())
    unread["optimaldp"]["reviewed"] = False
    described.write_text(json.dumps(unread))
    with pytest.raises(odp.errors.OptimalDPError, match="review"):
        odp.preview("mean(cost)", epsilon=1, n=40, description=described)


def test_the_command_line_previews_a_described_table(described: Path) -> None:
    ran = run_cli("preview", "--data", str(described), "--question", "mean(cost)", "--epsilon", "1", "--n", "40")
    assert ran.code == 0, ran.stderr
    assert json.loads(ran.stdout)["question"] == "mean(cost, range=[0, 100], step=5)"


@pytest.mark.long
def test_columns_of_numbers_have_the_bins_of_the_description(described: Path) -> None:
    crossed = odp.release(described, "histogram(ward, visits)", epsilon=40).answer
    assert [row["count"] for row in crossed if row["visits"] in ("[2, 3)", "[3, 4)")][:4] == [20, 0, 0, 20]
    made = odp.sanitise(described, columns=["ward", "visits"], epsilon=40)
    assert [one.name for one in made.columns] == ["ward", "visits"]
    ends = odp.sanitise(described, columns=["ward", "visits"], epsilon=40, outside="ends")
    assert ends.columns[1].labels[0] == "below 1"


def test_a_range_without_a_step_says_where_steps_are_written(described: Path) -> None:
    described.write_text(described.read_text().replace('"step": {"cost": 5}', '"step": {}'))
    with pytest.raises(QuestionError, match=r"a range without a step; write step=5 .* description"):
        odp.release(described, "median(cost)", epsilon=1)
    with pytest.raises(QuestionError, match="or describe its least and greatest value and a step"):
        odp.release(described, "histogram(cost)", epsilon=1)
