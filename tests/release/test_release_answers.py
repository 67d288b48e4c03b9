"""Releases from real tables: the right counts reach the right mechanism, and only public things come out."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.certify.core import referee
from optimaldp.certify.core.examined import Certified, Finding
from optimaldp.certify.core.referee import draw
from optimaldp.cli import main
from optimaldp.errors import BudgetError, LevelError, NotCertifiedError, QuestionError, TableError
from optimaldp.laws.law import Setting, Table
from optimaldp.ledger import Budget, open_ledger
from optimaldp.privacy import Neighbours, approximate
from optimaldp.sampling import SystemBits

DATA = Path(__file__).parents[2] / "examples" / "data"
FIELDS = {
    "answer",
    "question",
    "epsilon",
    "delta",
    "neighbours",
    "certificate",
    "where",
    "among",
    "unit",
    "reduce",
    "by",
}
FIELDS |= {"dataset", "time", "version", "spent", "mechanism"}

PEOPLE = pyarrow.table(
    {
        "vote": ["a"] * 60 + ["b"] * 25 + ["c"] * 10 + [None] * 5,
        "smokes": [True] * 80 + [False] * 15 + [None] * 5,
        "age": [20] * 10 + [35] * 70 + [70] * 15 + [None] * 5,
        "level": ["0.5"] * 50 + ["2"] * 50,
        'it\'s "x"': list(range(100)),
        "select": ["a'b"] * 90 + ["c"] * 10,
    }
)


# With delta > 0 the answer is exactly the true one far from the boundary, so these can be compared without luck.
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("majority(vote = 'a')", "yes"),
        ("majority(vote = 'b')", "no"),
        ("count(age >= 30) >= 50", "yes"),
        ("count(age >= 30) < 50", "no"),
        ("share(age >= 30) > 0.5", "yes"),
        ("all(age < 60)", "no"),
        ("share(smokes) >= 0.4 and count(age = 35) >= 40", "yes"),
        ("share(smokes) >= 0.4 and count(age = 35) < 40", "no"),
        ("compare(vote, 'b', 'a')", "a"),
        ("winner(vote, ['c', 'b', 'a', 'never'])", "a"),
        ("winner(smokes)", "true"),
        ("winner(smokes, [false, true])", "true"),
        ("median(age, bins=[18, 30, 60, 100])", "[30, 60)"),
        ("quantile(age, 0.5, bins=[18, 30, 60, 100])", "[30, 60)"),
        ("majority(\"select\" = 'a''b')", "yes"),
        ("winner(select, ['a''b', 'c'])", "a'b"),
        ('majority("it\'s ""x""" >= 10)', "yes"),
        ('median("it\'s ""x""", bins=[0, 10, 90, 100])', "[10, 90)"),
    ],
)
def test_far_from_the_boundary_the_answer_is_the_true_one(question: str, answer: str, neighbours: str) -> None:
    made = odp.release(PEOPLE, question, epsilon=10, delta="0.01", neighbours=neighbours)
    assert made.answer == answer
    assert repr(made).startswith(f"Release({made.answer!r}, (10, 0.01)-DP, {neighbours}")
    assert set(json.loads(made.to_json())) >= FIELDS
    assert made.certificate["checked"]


def test_no_boundary_is_answered_exactly_and_explained() -> None:
    for _ in range(20):
        made = odp.release(PEOPLE, "count(vote = 'a') >= 101", epsilon="1e-9")
        assert made.answer == "no"
    empty = PEOPLE.slice(0, 0)
    assert {odp.release(empty, "all(vote = 'a')", epsilon=0).answer for _ in range(20)} == {"yes"}
    assert {odp.release(PEOPLE, "winner(vote, ['a'])", epsilon=0).answer for _ in range(5)} == {"a"}


def test_epsilon_zero_is_a_coin() -> None:
    answers = {odp.release(PEOPLE, "majority(vote = 'a')", epsilon=0).answer for _ in range(60)}
    assert answers == {"yes", "no"}


def test_a_histogram_keeps_the_total_and_protects_everybody_else() -> None:
    made = odp.release(PEOPLE, "histogram(vote, ['a', 'b'])", epsilon=5)
    assert list(made.answer) == ["a", "b", "(everyone else)"]
    assert sum(made.answer.values()) == 100


def test_unit_is_stated_and_used() -> None:
    question = "winner(mode, ['air', 'train', 'bus', 'car'])"
    made = odp.release(
        DATA / "mode_choice.csv", question, epsilon=1, unit="traveller", where="chosen = 'yes'", reduce="most-frequent"
    )
    assert made.statement["protected"] == "each value of traveller is one person"
    rows = odp.release(PEOPLE, "majority(vote = 'a')", epsilon=1)
    assert rows.certificate["protected"] == "each row counts as one person"
    assert any("protected like everybody else" in note for note in made.certificate["notes"])


@pytest.mark.parametrize(
    ("question", "options", "rule"),
    [
        ("majority(vote = 'a')", {}, "by: any"),
        ("winner(vote, ['a', 'b'])", {}, "by: most-frequent"),
        ("majority(vote = 'a')", {"reduce": "first", "reduce_order": "age"}, "by: first by age"),
    ],
)
def test_the_rule_that_reduces_rows_is_stated_also_when_it_was_left_out(
    question: str, options: dict[str, Any], rule: str
) -> None:
    made = odp.release(PEOPLE, question, epsilon=1, unit="level", **options)
    assert any(note.endswith(rule) for note in made.certificate["notes"])


@pytest.mark.parametrize(
    "question",
    ["majority(smokes)", "median(age, bins=[18, 30, 60, 100])", "winner(vote, ['a', 'b'])", "histogram(vote, ['a'])"],
)
@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [("1e-50", "1e-59"), ("5e-20", "0"), ("ln(1.0000000000001)", "1e-55"), ("1000", "1e-60"), ("ln(1e400)", "0")],
)
def test_extreme_levels_are_answered(question: str, epsilon: str, delta: str) -> None:
    assert odp.release(PEOPLE, question, epsilon=epsilon, delta=delta).certificate["checked"]


@pytest.mark.parametrize("aim", ["typical", "every table"])
@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize(
    "question",
    [
        "majority(vote = 'a')",
        "share(vote = 'a' among smokes) >= 0.3",
        "compare(vote, 'a', 'b')",
        "winner(vote, ['a', 'b', 'c'])",
        "mean(age, range=[0, 100]) >= 30",
        "median(age, bins=[18, 30, 60, 100])",
        "histogram(vote, ['a', 'b'])",
    ],
)
def test_personal_levels(question: str, aim: str, delta: object) -> None:
    made = odp.release(PEOPLE, question, epsilon=1, delta=delta, levels="level", aim=aim)
    assert made.certificate["levels"] == ["0.5", "2"]
    assert [own for own, _ in made.certificate["mechanism_document"]["levels"]] == ["0.5", "1"]  # nobody above epsilon
    assert odp.verify(made).holds


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("majority(vote = 'a')", {"neighbours": "add-remove"}),
        ("majority(vote = 'a') and majority(smokes)", {}),
        ("share(vote = 'a' among smokes) > share(vote = 'a' among age > 30)", {}),
    ],
)
def test_personal_levels_only_where_proven(question: str, options: dict[str, Any]) -> None:
    with pytest.raises((QuestionError, LevelError)):
        odp.release(PEOPLE, question, epsilon=1, levels="level", **options)


def test_a_level_that_is_none_is_refused_without_quoting_it() -> None:
    with pytest.raises(TableError) as caught:
        odp.release(PEOPLE, "majority(smokes)", epsilon=1, levels="select")
    assert "a'b" not in str(caught.value)


@pytest.mark.parametrize(
    "level",
    [
        {"epsilon": -1},
        {"epsilon": "inf"},
        {"epsilon": None},
        {"epsilon": "x"},
        {"epsilon": "1e-300"},
        {"epsilon": 1001},
        {"epsilon": "ln(1e500)"},
        {"epsilon": 1, "delta": "1e-300"},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": 2},
        {"epsilon": 1, "neighbours": "cousins"},
    ],
)
def test_levels_that_promise_nothing_are_refused(level: dict[str, Any]) -> None:
    with pytest.raises(LevelError):
        odp.release(PEOPLE, "majority(smokes)", **level)


def test_nothing_is_sampled_that_the_referee_rejects(monkeypatch: pytest.MonkeyPatch) -> None:
    referee.certify.cache_clear()
    monkeypatch.setattr(referee, "_small_tables", lambda mechanism: ("a test says so", []))
    drawn: list[int] = []
    monkeypatch.setattr("optimaldp.laws.law.choose_by_ends", lambda *_: drawn.append(1))
    with pytest.raises(NotCertifiedError, match="a test says so"):
        odp.release(PEOPLE, "majority(smokes)", epsilon=1)
    assert not drawn
    referee.certify.cache_clear()


def test_only_certified_things_reach_the_sampler() -> None:
    mechanism = odp.majority("smokes").mechanism(Setting(approximate(odp.Epsilon.read(1)), Neighbours.SUBSTITUTION, 3))
    with pytest.raises(NotCertifiedError):
        draw(mechanism, Table({0: 3}), SystemBits())  # type: ignore[arg-type]
    with pytest.raises(NotCertifiedError):
        Certified("anything", Finding(True, ()))


def test_a_ledger_pays_once_for_the_same_question(tmp_path: Path) -> None:
    path = tmp_path / "survey.ledger"
    open_ledger(path, dataset="survey", budget=Budget(epsilon=1)).close()
    data = DATA / "anes1996.csv"
    first = odp.release(data, "majority(age >= 45)", epsilon="0.7", ledger=path)
    again = [odp.release(data, "majority(age >= 45)", epsilon="0.7", ledger=path).answer for _ in range(5)]
    assert set(again) == {first.answer}
    with pytest.raises(BudgetError):
        odp.release(data, "majority(age >= 46)", epsilon="0.7", ledger=path)
    odp.release(data, "majority(age >= 46)", epsilon="0.3", ledger=str(path))


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["optimaldp", *arguments])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(DATA / "anes1996.csv"), "--question", "majority(expected_vote = 'Clinton')"]
    assert run(monkeypatch, "release", *data, "--epsilon", "ln(3)", "--delta", "1e-3") == 0
    assert capsys.readouterr().out == "yes\n"
    assert run(monkeypatch, "release", *data, "--epsilon", "1", "--json") == 0
    assert set(json.loads(capsys.readouterr().out)) >= FIELDS
    assert run(monkeypatch, "release", *data, "--epsilon", "-1") == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert len(shown.err.strip().splitlines()) == 1
    assert run(monkeypatch, "release", *data) == 2  # there is no default epsilon


@pytest.mark.parametrize(
    "arguments",
    [
        ("--data", "missing.csv", "--question", "majority(a = 1)"),
        ("--data", str(DATA / "anes1996.csv"), "--question", "majority(nothing = 1)"),
        ("--data", str(DATA / "anes1996.csv"), "--question", "majority(age >= (select 1))"),
        ("--data", str(DATA / "anes1996.csv"), "--question", "winner(party)"),
        ("--data", str(DATA / "anes1996.csv"), "--question", "median(party, bins=[2, 1])"),
        ("--data", str(DATA / "anes1996.csv"), "--question", "majority(age)"),
        ("--data", str(DATA / "anes1996.csv"), "--question", "majority(age > party)"),
        ("--data", str(DATA / "anes1996.csv"), "--question", "majority(age > 3)", "--unit", "nobody"),
    ],
)
def test_bad_input_is_one_line(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "release", *arguments, "--epsilon", "1") == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert len(shown.err.strip().splitlines()) == 1
    assert "Traceback" not in shown.err


def test_ten_thousand_options() -> None:
    options = [f"o{i}" for i in range(10_000)]
    table = pyarrow.table({"c": ["o77"] * 4000 + ["o3"] * 5})
    made = odp.release(table, odp.winner("c", options), epsilon=1)
    assert made.answer == "o77"  # the error is below 1e-400


def test_a_histogram_needs_noise_that_ends_and_nothing_is_spent_on_finding_out(tmp_path: Path) -> None:
    table = odp.open(PEOPLE, budget=odp.Budget(1), ledger=tmp_path / "l.ledger", dataset="people")
    with pytest.raises(LevelError, match="positive epsilon"):
        table.ask("histogram(vote, ['a'])", epsilon=0)
    assert not table.history().to_document()["history"]


def test_a_picture_that_cannot_be_written_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    picture = str(tmp_path / "no folder" / "p.png")
    assert run(monkeypatch, "preview", "--question", "majority(a)", "--epsilon", "1", "--plot", picture) == 2
    shown = capsys.readouterr()
    assert not shown.out
    assert len(shown.err.strip().splitlines()) == 1


def test_types_are_declared_instead_of_found_in_the_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """One person's odd cell is NULL for that person alone, whether the question or a declared type says how it is read."""
    table = tmp_path / "people.csv"
    table.write_text("age\n" + "40\n" * 200 + "unknown\n")
    asked = ["release", "--data", str(table), "--question", "majority(age >= 18)", "--epsilon", "1", "--delta", "0.01"]
    for declared in ([], ["--type", "age=int64"], ["--type", "age=number 1,234.5"]):
        assert run(monkeypatch, *asked, *declared) == 0
        assert capsys.readouterr().out == "yes\n"
    for wrong in ("age", "age=colour", "nobody=int64"):
        assert run(monkeypatch, *asked, "--type", wrong) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


@pytest.mark.parametrize(("neighbours", "promised"), [("substitution", True), ("add-remove", False)])
def test_a_winner_promises_replacement_only_where_it_holds(neighbours: str, promised: bool) -> None:
    made = odp.release(PEOPLE, "winner(vote, ['a', 'b', 'c'])", epsilon=1, neighbours=neighbours)
    assert ("replaced" in made.statement["theorem"]) is promised
    assert "whether or not it names one of the options" in made.statement["theorem"]


@pytest.mark.parametrize(("epsilon", "delta"), [(100, "1e-6"), (40, "1e-9"), ("1/1000000", "1e-12"), (10, "1/2")])
def test_categories_are_named_at_every_level(epsilon: object, delta: str) -> None:
    """Chances next to one are the same float: the referee refused large levels where the law was right."""
    people = pyarrow.table({"ward": ["a"] * 5000 + ["b"] * 6000})
    named = odp.release(people, "keys(ward)", epsilon=epsilon, delta=delta).answer  # type: ignore[arg-type]
    assert set(named) <= {"a", "b"}
