"""One door: the options of a private histogram on the question, through table, ledger, unit, groups, text and document."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.certify.histogram_draws import examine_rows
from optimaldp.errors import HistogramError, OptimalDPError, QuestionError
from optimaldp.histograms import finite_optimum
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.questions.text import parse

TABLE = pa.table({"who": [i // 2 for i in range(400)], "vote": ["a", "a", "b", "b", "c", "c", "a", "a"] * 50})
FEW = pa.table({"vote": ["a", "a", "b"]})


@pytest.mark.parametrize(
    "text",
    [
        "histogram(vote, ['a', 'b'], prior='flat')",
        "histogram(vote, ['a', 'b'], prior=[0.5, 0.25, 0.25], remap='bayes' among age > 3)",
        "histogram(vote, ['a', 'b'], prior=dirichlet([1, 1/3, 2]), keep_total=true)",
        "histogram(vote, ['a'], prior=poisson([3, 0.5]))",
        "histogram(vote, ['a'], prior=independent([[0.5, 0.5], [1.0, 2.0, 1.0]]))",
        "histogram(age, bins=[0, 10, 20], remap='projection')",
        "histogram(age, range=[0, 10], step=1, remap='none', keep_total=false)",
        "histogram(vote, ['a', 'b'], optimum=true)",
        "histogram(vote, prior='uniform')",
    ],
)
def test_text_and_question_are_one(text):
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_python_and_text_are_one():
    made = odp.histogram("vote", ["a", "b"], prior=[0.5, 0.25, 0.25], remap="bayes", keep_total=True)
    assert made == parse("histogram(vote, ['a', 'b'], prior=[0.5, 0.25, 0.25], remap='bayes', keep_total=true)")
    assert odp.histogram("v", ["a"], prior=odp.histograms.poisson([3, 1])) == parse(
        "histogram(v, ['a'], prior=poisson([3, 1]))"
    )


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_everything_beside_the_counts(unit, neighbours):
    made = odp.release(
        TABLE, odp.histogram("vote", ["a", "b"], remap="none"), epsilon=8, unit=unit, neighbours=neighbours
    )
    shown = made.histogram()
    assert shown.noisy == shown.counts == tuple(made.answer.values())
    assert shown.labels == ("a", "b", "(everyone else)")
    assert shown.remap == "none"
    truth = (200, 100, 100) if unit is None else (100, 50, 50)
    assert all(low <= count <= high for (low, high), count in zip(shown.intervals("0.9999999"), truth))
    assert shown.expected_error() > 0
    assert "epsilon 8" in shown.statement()
    assert shown.query_error(2).standard_deviation > 0
    document = json.loads(made.to_json())
    assert document["histogram"]["noisy"] == list(shown.noisy)
    assert "histogram" not in document["certificate"]
    assert odp.verify(document).holds


def test_a_ledger_gives_all_of_it_again(tmp_path):
    with odp.open(TABLE, ledger=tmp_path / "b.ledger", budget=odp.Budget(epsilon=1)) as opened:
        asked = "histogram(vote, ['a', 'b'], prior='flat')"
        first, again = opened.ask(asked, epsilon=1), opened.ask(asked, epsilon=1)
        assert again.recorded
        assert again.histogram() == first.histogram()
        assert first.histogram().remap == "bayes"


def test_groups_have_a_histogram_each():
    made = odp.release(
        TABLE, odp.histogram("vote", ["a", "b"]), epsilon=5, by="who", groups=[0, 1], neighbours="add-remove"
    )
    assert made.histogram("0").labels == ("a", "b", "(everyone else)")
    with pytest.raises(OptimalDPError):
        made.histogram()


@pytest.mark.long
def test_the_prior_decides_at_a_tiny_epsilon():
    sure = odp.histogram("vote", ["a", "b"], prior=["0.998", "0.001", "0.001"])
    assert odp.release(FEW, sure, epsilon="0.001").answer == {"a": 3, "b": 0, "(everyone else)": 0}


def test_the_finite_optimum_is_released(tmp_path):
    asked = odp.histogram("vote", ["a", "b"], optimum=True)
    made = odp.release(FEW, asked, epsilon="ln(2)", delta="0.1")
    assert sum(made.answer.values()) == 3
    assert made.spent.delta == 0
    assert made.statement["mechanism"] == "finite optimum"
    best = finite_optimum(3, 3, epsilon="ln(2)")
    assert made.statement["histogram"]["expected_error"] == pytest.approx(float(best))
    assert odp.verify(made).holds
    with odp.open(FEW, ledger=tmp_path / "b.ledger", budget=odp.Budget(epsilon=1)) as opened:
        assert opened.ask(asked, epsilon=1).answer == opened.ask(asked, epsilon=1).answer


@pytest.mark.parametrize("flaw", ["a row is missing", "a row is too private to be true", "a vertex twice"])
def test_the_referee_rejects_wrong_rows(flaw):
    mechanism = odp.histogram("vote", ["a", "b"], optimum=True).mechanism(
        Setting(level("ln(2)"), Neighbours.SUBSTITUTION, 2)
    )
    assert examine_rows(mechanism).private
    vertices, values, places = mechanism.rows()
    if flaw == "a row is missing":
        rows = vertices[1:], values, places[1:]
    elif flaw == "a vertex twice":
        rows = (vertices[0], *vertices[:-1]), values, places
    else:
        import numpy as np

        size = len(vertices)
        rows = vertices, (0, 1), np.eye(size, dtype=int)
    broken = type(
        "Broken", (), {"rows": lambda _: rows, "question": mechanism.question, "setting": mechanism.setting}
    )()
    assert not examine_rows(broken).private


@pytest.mark.parametrize(
    ("question", "options", "words"),
    [
        ("histogram(vote, ['a', 'b'], prior=[0.5, 0.5])", {}, "does not match"),
        ("histogram(vote, ['a', 'b'], remap='bayes')", {}, "needs a prior"),
        ("histogram(vote, ['a', 'b'], prior='flat')", {"neighbours": "add-remove"}, "needs a public total"),
        ("histogram(vote, ['a', 'b'], remap='top-fill')", {"neighbours": "add-remove"}, "needs a public total"),
        ("histogram(vote, ['a', 'b'], optimum=true)", {"neighbours": "add-remove"}, "public number of people"),
        ("histogram(vote, ['a', 'b'], optimum=true, remap='none')", {}, "nothing to map back"),
        ("histogram(vote, ['a', 'b'], optimum=true)", {}, "variables"),
    ],
)
def test_what_does_not_fit_is_refused_and_costs_nothing(question, options, words, tmp_path):
    with odp.ledger.open_ledger(
        tmp_path / "b.ledger",
        dataset="d",
        budget=odp.Budget(epsilon=9),
        neighbours=options.get("neighbours", "substitution"),
    ) as book:
        with pytest.raises(OptimalDPError, match=words):
            odp.release(TABLE, question, epsilon=1, ledger=book, **options)
        assert not len(book.history())


@pytest.mark.parametrize("text", ["remap='magic'", "prior=nonsense", "optimum=perhaps", "colour='red'"])
def test_unknown_words_are_refused(text):
    with pytest.raises((QuestionError, HistogramError)):
        parse(f"histogram(vote, ['a', 'b'], {text})")


@pytest.mark.parametrize("neighbours", ["substitution", "add-remove"])
def test_a_preview_says_by_how_much_the_counts_are_off(neighbours):
    asked = "histogram(vote, ['a', 'b', 'c'])"
    shown = odp.preview(asked, epsilon=1, n=1000, neighbours=neighbours)
    document = shown.to_document()
    noise = odp.histograms.expected_error(4, epsilon=1, neighbours=neighbours, people=1000)
    assert document["expected_error"]["optimaldp"] == pytest.approx(noise)
    reach = odp.histograms.query_error(4, 1, epsilon=1, neighbours=neighbours).quantile()
    assert any(f"off by at most {reach} people" in sentence for sentence in shown.sentences())
    assert "error" in repr(shown)
    assert shown._repr_html_()


def test_a_preview_of_the_finite_optimum():
    shown = odp.preview("histogram(vote, ['a', 'b'], optimum=true)", epsilon="ln(2)", n=3)
    assert shown.to_document()["expected_error"]["optimaldp"] == pytest.approx(
        float(finite_optimum(3, 3, epsilon="ln(2)"))
    )
