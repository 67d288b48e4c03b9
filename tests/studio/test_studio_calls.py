"""Every call of the studio against the library that it stands on."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest

import optimaldp as odp
from optimaldp.asking.request import read_release_level
from optimaldp.certify import verify
from optimaldp.mechanisms.documents import read_mechanism, read_problem
from optimaldp.questions.sheets import sheets
from optimaldp.studio.api_calls import CALLS
from optimaldp.studio.calls import Calls
from optimaldp.studio.exploring import attacker
from optimaldp.studio.settings import TABLE_CALLS

PROBLEM = next(call.example for call in CALLS if call.name == "design")


def run(call: str, body: Any) -> dict[str, Any]:
    status, text = Calls({}).run(call, json.dumps(body))
    document: dict[str, Any] = json.loads(text)
    assert status == 200, document
    return document


def refused(call: str, body: Any) -> dict[str, Any]:
    status, text = Calls({}).run(call, body if isinstance(body, str) else json.dumps(body))
    document: dict[str, Any] = json.loads(text)
    assert status != 200
    assert set(document) == {"error"}
    assert set(document["error"]) == {"kind", "message", "field", "remedy"}
    return document["error"] | {"status": status}


@pytest.mark.parametrize("call", [call for call in CALLS if call.name not in (*TABLE_CALLS, "upload")])
def test_every_example_of_the_api_runs(call: Any) -> None:
    assert run(call.name, call.example or {})


def test_a_preview_is_the_library_s() -> None:
    shown = run("preview", {"question": "majority(x)", "epsilon": "ln(2)", "delta": "1e-3", "n": 500})
    expected = odp.preview("majority(x)", epsilon="ln(2)", delta="1e-3", n=500)
    assert {name: shown[name] for name in expected.to_document()} == expected.to_document()
    assert shown["sentences"] == expected.sentences()
    assert "one person's record is replaced" in shown["neighbours_words"]


def test_found_epsilon_is_the_least_to_three_digits() -> None:
    wanted = {"question": "majority(x)", "accuracy": "0.95", "margin": "0.01", "n": 1000}
    found = float(run("epsilon", wanted)["epsilon"])

    def error(epsilon: float) -> float:
        return odp.preview("majority(x)", epsilon=epsilon, margins=[10]).error(10)

    assert error(found) <= 0.05 < error(found - 0.002)


def test_an_attacker_gains_what_the_worst_pair_of_neighbours_gives() -> None:
    """With uniform priors the best guess between two rows is right with half of one plus their distance."""
    for epsilon, delta in (("ln(3)", "0"), ("ln(2)", "1/10"), ("ln(5)", "1/100")):
        level = read_release_level(epsilon, delta)
        head = odp.design(odp.graphs.line(2), {"0": "yes", "1": "no"}, epsilon=epsilon, delta=delta).mechanism
        assert head is not None
        expected = sum(max(head[dataset][answer] for dataset in "01") for answer in ("yes", "no")) / 2
        assert attacker(level)["after"] == pytest.approx(float(expected), abs=1e-12)


def test_at_most_is_rounded_up_and_never_to_certainty() -> None:
    assert "at most 62.3 %" in attacker(read_release_level("0.5"))["words"]  # 62.25 %
    assert "at most 99.996 %" in attacker(read_release_level("10"))["words"]  # 99.99546 %


def test_people_s_own_levels_are_the_library_s_curves() -> None:
    sizes = {"0.1": 2, "5": 98}
    shown = run("preview", {"question": "majority(x)", "epsilon": "1", "n": 100, "level_sizes": sizes})
    expected = odp.preview("majority(x)", epsilon=1, n=100, level_sizes=sizes)
    assert shown["error"] == {name: list(errors) for name, errors in expected.series}
    assert "typical, average" in shown["error"]
    every = shown["error"]["every table, worst"]
    # Nobody is above epsilon 1: two steps of 0.1 come first, then steps of 1; the least level of all is 0.1.
    assert every[shown["margin"].index(3)] == pytest.approx(math.exp(-1.2) / (1 + math.exp(-0.1)))


def test_people_s_own_levels_of_other_questions_are_shown_too() -> None:
    sizes = {"0.1": 3, "1": 8}
    shown = run("preview", {"question": "winner(x, ['a', 'b'])", "epsilon": 1, "level_sizes": sizes})
    assert {"either aim, average", "either aim, worst", "strictest for all"} <= set(shown["error"])


@pytest.mark.parametrize(
    "question",
    [
        "share(smokes among age >= 18) >= 0.2",
        "mean(score, range=[1, 5]) >= 3.5",
        "share(x among a) > share(x among b) + 0.02",
        "count(x) >= 3 or count(y) >= 4",
        "median(age, range=[0, 120], step=1)",
        "median(age, bins=[0, 10, 20, 30, 40])",
        "top(drug, 2, ['a', 'b', 'c'])",
    ],
)
def test_every_kind_of_question_has_a_preview_or_says_that_it_has_none(question: str) -> None:
    status, text = Calls({}).run("preview", json.dumps({"question": question, "epsilon": "0.5", "n": 1000}))
    document = json.loads(text)
    assert status == 200 or document["error"]["kind"] == "NoMarginError", document


def test_a_small_universe_shows_what_would_be_sampled() -> None:
    view = run("universe", {"question": "majority(x)", "epsilon": "ln(2)", "delta": "0.1", "n": 3})
    assert view["kind"] == "datasets"
    assert len(view["vertices"]) == 8
    assert len(view["edges"]) == 12
    design = odp.design(odp.graphs.votes(3), odp.graphs.majority, epsilon="ln(2)", delta="0.1").mechanism
    assert design is not None
    for name, vertex in view["vertices"].items():
        row = design[name.replace("y", "1").replace("n", "2")]
        assert {answer: float(p) for answer, p in row.items()} == pytest.approx(vertex["row"])


def test_paths_of_a_universe_lead_to_the_boundary() -> None:
    view = run("universe", {"question": "winner(x, ['p', 'q', 'r'])", "epsilon": 1, "n": 4})
    assert view["towards"] == {}  # the winner's bounds are not paths
    view = run("universe", {"question": "count(x) >= 4", "epsilon": 1, "n": 6})
    for name, vertex in view["vertices"].items():
        steps = 0
        while name in view["towards"]:
            name, steps = view["towards"][name], steps + 1
        assert steps == vertex["distance"]
        assert view["vertices"][name]["distance"] == 0


def test_a_universe_of_personal_levels_is_the_fair_design() -> None:
    sizes = {"ln(3)": 2, "ln(2)": 1}
    view = run("universe", {"question": "majority(x)", "epsilon": "ln(3)", "level_sizes": sizes})
    found = odp.design(odp.graphs.votes(3, levels=["ln(2)", "ln(3)", "ln(3)"]), odp.graphs.majority).mechanism
    assert found is not None
    row = view["vertices"]["yyy"]["row"]
    assert row["yes"] == pytest.approx(float(found["111"]["yes"]))


@pytest.mark.parametrize(("n", "neighbours"), [(1000, "substitution"), (None, "substitution"), (3, "add-remove")])
def test_a_large_universe_is_shown_by_its_boundary_graph(n: int | None, neighbours: str) -> None:
    body = {"question": "median(x, bins=[0, 1, 2, 3])", "epsilon": "0.5", "n": n, "neighbours": neighbours}
    view = run("universe", body)
    assert view["kind"] == "boundary"
    chain = view["chains"]["[0, 1)"]
    assert chain == sorted(chain)


def test_a_design_can_be_verified_and_reproduced(capsys: pytest.CaptureFixture[str]) -> None:
    found = run("design", PROBLEM)
    view = found.pop("studio")
    mechanism, certificate = read_mechanism(found)
    assert verify(mechanism, certificate, boundary="balanced").optimal
    assert view["verdict"]["private"] is True
    exec(view["python"], {})
    assert "Design(greatest for the balanced boundary, 4 datasets × 2 answers" in capsys.readouterr().out


def test_a_snippet_survives_names_that_would_end_its_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    evil = '"""); raise SystemExit("gotcha") #\\'
    found = run("design", PROBLEM | {"prefers": {evil: "yes", "b": "no"}, "edges": [[evil, "b"]]})
    exec(found["studio"]["python"], {})
    assert "2 datasets" in capsys.readouterr().out
    assert read_problem(PROBLEM) is not None


def test_why_there_is_no_design_comes_with_a_path() -> None:
    given = {"a": {"yes": "0.1", "no": "0.9"}, "c": {"yes": "0.9", "no": "0.1"}}
    body = {"answers": ["yes", "no"], "privacy": {"epsilon": "ln(2)"}, "edges": [["a", "b"], ["b", "c"]]}
    found = run("design", body | {"prefers": {"a": "yes", "b": "yes", "c": "no"}, "fixed": given})
    assert found["status"] == "infeasible"
    assert found["witness"]["path"] == ["a", "b", "c"]
    assert found["studio"]["rows"] is None


def test_leakage_and_the_best_channel_agree_with_the_library() -> None:
    found = run("optimal", {"graph": "path:3", "epsilon": "ln(2)", "prior": "1/4,1/2,1/4"})
    best = odp.channels.optimal_mechanism(odp.channels.AnswerGraph.path(3), "ln(2)", prior=["1/4", "1/2", "1/4"])
    assert Fraction(found["utility"]) == best.utility
    channel = {name: found[name] for name in ("inputs", "outputs", "rows", "prior")}
    report = run("leakage", channel)
    assert report["bayes_success_posterior"] == pytest.approx(float(best.utility))
    assert report["studio"]["matrix"] == best.channel.array.tolist()


@pytest.mark.parametrize(
    ("call", "body", "field"),
    [
        ("preview", {"question": "majority(x)"}, "epsilon"),
        ("preview", {"question": "majority(x)", "epsilon": "-1"}, "epsilon"),
        ("preview", {"question": "majority(x)", "epsilon": 1, "delta": 2}, "delta"),
        ("preview", {"question": "nonsense", "epsilon": 1}, "question"),
        ("preview", {"question": "majority(x)", "epsilon": 1, "epsilom": 1}, "request"),
        ("preview", {"question": "majority(x)", "epsilon": 1, "n": -3}, "n"),
        ("preview", {"question": "majority(x)", "epsilon": 1, "level_sizes": "all"}, "level_sizes"),
        ("preview", {"question": "majority(x)", "epsilon": 1, "level_sizes": {"1": 0}}, "level_sizes"),
        ("universe", {"question": "majority(x)", "epsilon": 1, "level_sizes": {"1": "many"}}, "level_sizes"),
        ("preview", {"question": "majority(x)", "epsilon": 1, "by": "ward"}, "by"),
        ("epsilon", {"question": "majority(x)", "accuracy": 2, "margin": "0.1", "n": 10}, "accuracy"),
        ("design", PROBLEM | {"prefers": {}}, "prefers"),
        ("design", PROBLEM | {"edges": [["111", "nobody"]]}, "edges[0]"),
        ("leakage", {"rows": [["1/2", "1/3"]]}, None),
        ("leakage", {}, "rows"),
        ("optimal", {"graph": "/etc/passwd", "epsilon": 1}, "graph"),
        ("optimal", {"graph": "path:3", "epsilon": 1, "prior": "/etc/passwd"}, "prior"),
        ("check", {"question": "majority(x)", "epsilon": 1}, "data"),
        ("release", {"question": "majority(x)", "epsilon": 1, "confirm": True}, "data"),
        ("preview", "[1]", "request"),
        ("preview", '{"epsilon": NaN}', "number"),
        ("preview", "{", "request"),
    ],
)
def test_bad_input_names_its_field_in_one_shape(call: str, body: Any, field: str | None) -> None:
    error = refused(call, body)
    assert error["status"] == 400
    if field is not None:
        assert error["field"] == field


def test_an_unforeseen_error_tells_its_kind_only(monkeypatch: pytest.MonkeyPatch) -> None:
    import optimaldp.studio.exploring as exploring

    def broken(_: Any) -> dict[str, Any]:
        raise KeyError("Zyzzyva-7431")

    monkeypatch.setattr(exploring, "preview", broken)
    error = refused("preview", {})
    assert error["status"] == 500
    assert "KeyError" in error["message"]
    assert "Zyzzyva" not in json.dumps(error)


@pytest.mark.parametrize("question", [sheet.sample() for sheet in sheets() if sheet.name != "everybody"])
@pytest.mark.parametrize("sizes", [None, {"0.1": 20, "1": 980}])
def test_every_kind_has_something_to_expect(question: str, sizes: dict[str, int] | None) -> None:
    """A curve, or sentences where the error does not depend on a margin; never a mistake of the studio."""
    body = {"question": question, "epsilon": "1", "delta": "1e-6", "n": 1000, "public_groups": "mean" in question}
    status, text = Calls({}).run("preview", json.dumps(body | ({} if sizes is None else {"level_sizes": sizes})))
    shown = json.loads(text)
    if status != 200:  # not every kind honours people's own levels; it says so
        assert (status, sizes is None, shown["error"]["field"] in ("levels", "question", "level_sizes")) == (
            400,
            False,
            True,
        )
        return
    assert shown["error"] is None or all(len(curve) == len(shown["margin"]) > 0 for curve in shown["error"].values())
    assert shown["sentences"] or shown["notes"]
    assert shown["attacker"]["words"]
