"""The aim with a prior, from a file to a verified document: exact in small tables, refused in large ones."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import optimaldp as odp
from optimaldp.cli import main
from optimaldp.errors import LevelError, QuestionError
from optimaldp.questions import yes_probability

PEOPLE = [("yes", "ln(2)")] * 2 + [("no", "ln(2)"), ("", "ln(2)")] + [("yes", "ln(4)")] * 3 + [("no", "ln(4)")] * 4
ASKED = "majority(smokes = 'yes')"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "survey.csv"
    file.write_text("smokes,level\n" + "".join(f"{vote},{own}\n" for vote, own in PEOPLE), "utf-8")
    return file


class Shell:
    """The command line as a user types it: the exit code, and what was printed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> tuple[int, str]:
        self._monkeypatch.setattr(sys, "argv", ["optimaldp", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0), self._capsys.readouterr().out


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.mark.parametrize("delta", ["0", "0.001"])
@pytest.mark.parametrize("aim", [{"prior": 0.5}, "prior: 0.3", {"prior": ["1/12"] * 12}])
def test_a_release_names_its_average_and_is_verified_from_its_document(table: Path, aim: Any, delta: str) -> None:
    made = odp.release(table, ASKED, epsilon="ln(4)", delta=delta, levels="level", aim=aim)
    document = json.loads(made.to_json())
    assert made.answer in ("yes", "no")
    assert document["mechanism"]["name"] == "prior optimum"
    assert document["aim"] == document["mechanism"]["aim"] == made.statement["aim"]
    assert len(document["mechanism"]["yes"]) == 5 * 8  # four strict people, seven others
    wrong = float(Fraction(document["mechanism"]["average_error"]))
    assert 0 < wrong < 0.5
    assert made.statement["reliable"].startswith(f"Wrong in {100 * wrong:.3g} % of cases on average")
    assert "the least that is possible" in made.statement["reliable"]
    again = odp.verify(document)
    assert again.holds, again.failure
    assert any("no private law has a smaller average" in words for words in again.checked)


def test_an_answer_is_as_likely_as_the_published_table_says(table: Path) -> None:
    made = odp.release(table, ASKED, epsilon="ln(4)", levels="level", aim={"prior": 0.5})
    counts = [("ln(2)", 2, 2), ("ln(4)", 3, 4)]
    chance = yes_probability(ASKED, counts, aim={"prior": 0.5})
    assert isinstance(chance, Fraction)
    assert Fraction(made.to_document()["mechanism"]["yes"]["2,3"]) == chance
    assert chance != yes_probability(ASKED, counts)


def test_a_forged_document_is_refused(table: Path) -> None:
    document = odp.release(table, ASKED, epsilon="ln(4)", levels="level", aim={"prior": 0.5}).to_document()
    law = document["mechanism"]
    forged: list[dict[str, Any]] = [
        law | {"yes": dict(law["yes"], **{"0,0": "0"})},
        law | {"average_error": "0.001"},
        law | {"multipliers": law["multipliers"][:-1]},
        law | {"levels": [["ln(3/2)", 4], ["ln(4)", 7]]},
        law | {"levels": [["ln(2)", 5], ["ln(4)", 6]]},
        law | {"aim": "prior: 0.6"},
        law | {"yes": "no"},
        law | {"name": "weighted votes"},
        {name: value for name, value in law.items() if name != "multipliers"},
    ]
    for mechanism in forged:
        assert not odp.verify(document | {"mechanism": mechanism}).holds
    assert not odp.verify(document | {"aim": "prior: 0.6"}).holds
    assert not odp.verify(document | {"aim": "typical"}).holds
    assert odp.verify(document).holds


def test_on_the_command_line_and_in_a_plan(table: Path, tmp_path: Path, command: Shell) -> None:
    options = ["--question", ASKED, "--epsilon", "ln(4)", "--levels", "level"]
    code, printed = command("release", "--data", str(table), *options, "--aim", "prior: 0.5", "--json")
    assert code == 0
    file = tmp_path / "release.json"
    file.write_text(printed, "utf-8")
    code, printed = command("verify", str(file))
    assert code == 0
    assert json.loads(printed)["holds"] is True
    plan = tmp_path / "plan.toml"
    plan.write_text(
        f'source = "survey.csv"\n[[question]]\ntext = "{ASKED}"\nepsilon = "ln(4)"\nlevels = "level"\naim = {{ prior = 0.5 }}\n'
        'level_sizes = { "ln(2)" = 4, "ln(4)" = 7 }\n',
        "utf-8",
    )
    code, printed = command("release", "--plan", str(plan), "--json")
    assert code == 0
    assert json.loads(printed)[0]["aim"] == "prior: 0.5"
    code, printed = command("preview", "--plan", str(plan))
    assert json.loads(printed)["questions"][0]["average_error"]["least average"] > 0


def test_a_ledger_charges_each_level_and_knows_the_answer_again(table: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "survey.ledger"
    options: dict[str, Any] = {"epsilon": "ln(4)", "delta": "0.001", "levels": "level"}
    with odp.open(table, budget=odp.Budget(epsilon=5, delta="0.01"), ledger=ledger) as opened:
        first = opened.ask(ASKED, **options, aim={"prior": 0.5})
        again = opened.ask(ASKED, **options, aim="prior: 1/2")
        other = opened.ask(ASKED, **options, aim={"prior": 0.3})
        assert (first.recorded, again.recorded, other.recorded) == (False, True, False)
        assert str(opened.remaining_of(group=("level", "ln(2)")).spent.epsilon) == "ln(4)"  # twice ln(2)
        assert opened.remaining_of(group=("level", "ln(2)")).spent.delta == Fraction(2, 1000)
        assert odp.verify(again).holds


def test_whoever_has_used_up_their_own_budget_weighs_nothing(table: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "survey.ledger"
    groups = {"level": {"ln(2)": odp.Budget(epsilon=0.1)}}
    with odp.open(table, budget=odp.Budget(epsilon=5), ledger=ledger, groups=groups) as opened:
        made = opened.ask(ASKED, epsilon="ln(4)", levels="level", aim={"prior": 0.5})
        assert made.to_document()["mechanism"]["levels"] == [["0", 4], ["ln(4)", 7]]
        assert opened.remaining_of(group=("level", "ln(2)")).spent.epsilon.is_zero
        assert odp.verify(made).holds


@pytest.mark.parametrize(
    "question",
    [
        "majority(smokes = 'yes' among level = '1')",
        "winner(smokes, ['yes', 'no'])",
        "compare(smokes, 'yes', 'no')",
        "mean(level, range=[0, 1]) >= 0.5",
        "median(level, bins=[0, 1, 2])",
        "histogram(smokes, ['yes'])",
    ],
)
def test_other_kinds_are_refused(table: Path, question: str) -> None:
    options: dict[str, Any] = {"epsilon": 1, "aim": {"prior": 0.5}}
    with pytest.raises(QuestionError, match=r"an aim for yes and no about everybody, which .* is not; ask a count"):
        odp.release(table, question, levels="level", **options)
    with pytest.raises(QuestionError, match="an aim for yes and no about everybody"):
        odp.preview(question, level_sizes={1: 3}, **options)


def test_a_large_table_is_refused_with_its_public_sizes_and_nothing_is_spent(tmp_path: Path, command: Shell) -> None:
    file = tmp_path / "large.csv"
    file.write_text("smokes,level\n" + "yes,0.1\n" * 20 + "no,1\n" * 20, "utf-8")
    with odp.open(file, budget=odp.Budget(epsilon=1), ledger=tmp_path / "large.ledger") as opened:
        with pytest.raises(QuestionError, match="needs a small table: 20 and 20 people by level make 441 tables"):
            opened.ask(ASKED, epsilon=1, levels="level", aim={"prior": 0.5})
        assert opened.remaining.spent.epsilon.is_zero
    options = ["--question", ASKED, "--epsilon", "1", "--levels", "level", "--aim", "prior: 0.5"]
    assert command("release", "--data", str(file), *options) == (2, "")
    with pytest.raises(LevelError, match="lists 2 probabilities"):
        odp.preview(ASKED, epsilon=1, level_sizes={0.1: 2, 1: 3}, aim={"prior": [0, 1]})


def test_an_aim_needs_levels(table: Path) -> None:
    with pytest.raises(QuestionError, match="goes with levels"):
        odp.release(table, ASKED, epsilon=1, aim={"prior": 0.5})
