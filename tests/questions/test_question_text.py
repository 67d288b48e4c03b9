"""The text of a question parses back to it; what is not a question is refused in one sentence."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import optimaldp as odp
from optimaldp.errors import QuestionError
from optimaldp.questions import Question, parse

words = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=12)
literals = words.map(lambda text: "'" + text.replace("'", "''") + "'")
predicates = st.recursive(
    st.builds(lambda value: f"c = {value}", literals) | st.just('"a(b" > 3') | st.just("x in (1, 2)"),
    lambda inner: st.builds(lambda a, b: f"({a}) and not ({b})", inner, inner),
    max_leaves=3,
)
numbers = st.fractions(-1000, 1000, max_denominator=1000)
shares = st.fractions(0, 1, max_denominator=1000)
options = st.lists(words | st.integers(-(10**9), 10**9), min_size=1, max_size=5, unique_by=str)
edges = st.lists(numbers, min_size=3, max_size=6, unique=True).map(sorted)
ranks = st.fractions(Fraction(1, 1000), 1, max_denominator=1000)
among = st.none() | st.just("a > 1") | st.just("\"among\" = 'x among y'")
steps = st.integers(1, 50).map(lambda n: {"range": [0, 7 * n], "step": n}) | st.just(
    {"range": ["2020-01-01", "2024-12-31"], "step": "1 day"}
)


def compared(quantity: object, comparison: str, bound: Fraction) -> Question:
    operators = {">=": "__ge__", ">": "__gt__", "<=": "__le__", "<": "__lt__"}
    made = getattr(quantity, operators[comparison])(bound)
    assert isinstance(made, Question)
    return made


comparisons = st.sampled_from([">=", ">", "<=", "<"])
thresholds = (
    st.builds(lambda p, c, b: compared(odp.count(p), c, b), predicates, comparisons, numbers)
    | st.builds(lambda p, c, b: compared(odp.share(p), c, b), predicates, comparisons, shares)
    | st.builds(lambda p: odp.majority(p), predicates)
    | st.builds(lambda p: odp.any_(p), predicates)
    | st.builds(lambda p: odp.all_(p), predicates)
)
questions = (
    thresholds
    | st.builds(lambda a, b: a & b, thresholds, thresholds)
    | st.builds(lambda a, b, c: a | b | c, thresholds, thresholds, thresholds)
    | st.builds(lambda p, c, b, a: compared(odp.share(p, among=a), c, b), predicates, comparisons, shares, among)
    | st.builds(
        lambda c, o, b, a: compared(odp.mean(c, range=[0, 10], step="0.5", among=a), o, b),
        words,
        comparisons,
        st.fractions(0, 10, max_denominator=20),
        among,
    )
    | st.builds(lambda p, q, m: odp.share(p, among="a") > odp.share(q, among="b") + m, predicates, predicates, shares)
    | st.builds(lambda c, s, a: odp.median(c, **s, among=a), words, steps, among)
    | st.builds(lambda c, s: odp.quantiles(c, ["0.25", "0.5"], **s), words, steps)
    | st.builds(lambda c, e: odp.histogram(c, bins=e), words, edges)
    | st.builds(lambda c: odp.keys(c), words)
    | st.builds(lambda c, o, a: odp.winner(c, o, among=a), words, options, among)
    | st.builds(lambda c, o: odp.winner(c, o), words, options)
    | st.builds(lambda c, o: odp.histogram(c, o), words, options)
    | st.builds(lambda c: odp.compare(c, "it's", 'say "x", [y)'), words)
    | st.builds(lambda c, e: odp.median(c, bins=e), words, edges)
    | st.builds(lambda c, r, e: odp.quantile(c, r, bins=e), words, ranks, edges)
)


@given(questions)
def test_text_round_trip(question: Question) -> None:
    again = parse(str(question))
    assert again == question
    assert str(again) == str(question)
    assert hash(again) == hash(question)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("  SHARE( smokes = 'yes' )>=.3 ", "share(smokes = 'yes') >= 0.3"),
        ("count(a > 1)>=5 AND count(b in (1, 2)) < 3", "count(a > 1) >= 5 and count(b in (1, 2)) < 3"),
        ("winner(vote, [\"it's\", 'b'])", "winner(vote, ['it''s', 'b'])"),
        ("winner(married)", "winner(married)"),
        ("winner(married, [true, FALSE])", "winner(married, [true, false])"),
        ("Share(a Among b)>1/2 OR any(c)", "share(a among b) > 0.5 or any(c)"),
        ("mean( x , range=[1,5] , step=1 AMONG q) >= 3", "mean(x, range=[1, 5] among q) >= 3"),
        ("count( * ) >= 11", "count(*) >= 11"),
        ("median(age, [18, 30.50, 1e2])", "median(age, bins=[18, 30.5, 100])"),
        ('quantile("group", 9/10, bins=[0,1/3,1])', "quantile(group, 0.9, bins=[0, 1/3, 1])"),
    ],
)
def test_forms_that_people_type(text: str, same: str) -> None:
    assert str(parse(text)) == same


@pytest.mark.parametrize(
    "text",
    [
        "",
        "count(age > 3) >=",
        "count(age > 3) >= many",
        "count(age > 3 >= 2",
        "count(name = 'a) >= 2",
        "count() >= 2",
        "share(x = 1) >= 30",
        "share(x = 1) >= -0.1",
        "sum(age) >= 3",
        "drop table people",
        "majority(x) and",
        "majority(x) and winner(c, ['a'])",
        "majority(x) and majority(y) or majority(z)",
        "any(a) and any(b) and any(c) and any(d)",
        "majority(x) or mean(y, range=[0, 1]) >= 0",
        "share(x among y among z) >= 0.5",
        "share(x among) >= 0.5",
        "mean(x) >= 1",
        "mean(x, range=[0, 1]) >= 2",
        "mean(x, range=[5, 1]) >= 2",
        "mean(x, range=[0, 0.5]) >= 0",
        "mean(x, range=[0, 10], step=3) >= 2",
        "share(x among a) > share(x)",
        "share(x among a) > count(x among b)",
        "share(x among a) > share(x among b) + 2",
        "median(c, range=[0, 10])",
        "median(c, range=['2020-01-01', '2020-02-01'], step=1)",
        "quantile(c, 0, bins=[1, 2, 3])",
        "quantiles(c, [0.5, 0.25], bins=[1, 2, 3])",
        "compare(c, 'a')",
        "compare(c, 'a', 'a')",
        "compare(c, a, b)",
        "winner()",
        "winner(c, [])",
        "winner(c, ['a', 'a'])",
        "winner(c, [1, '1'])",
        "winner(c, [1.5])",
        "winner(my column, ['a'])",
        "median(c)",
        "median(c, bins=[1])",
        "median(c, bins=[3, 2])",
        "quantile(c, 2, bins=[1, 2])",
        "quantile(c, bins=[1, 2])",
        "histogram(c, ['(everyone else)'])",
        "count(x] >= 2",
        "winner(c, ['a') ]",
    ],
)
def test_refused_with_one_line(text: str) -> None:
    with pytest.raises(QuestionError) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_python_mistakes_are_explained() -> None:
    question = odp.count("a > 1") >= 3
    with pytest.raises(QuestionError, match="&"):
        bool(question)
    with pytest.raises(QuestionError, match="between 0 and 1"):
        _ = odp.share("x = 1") >= 30
    with pytest.raises(QuestionError):
        odp.winner("c", "Clinton")
    with pytest.raises(QuestionError):
        odp.count("a = (1")
    with pytest.raises(QuestionError):
        odp.count("a = 1) or (b = 2")
    assert repr(question) == "Question('count(a > 1) >= 3')"
    assert (Fraction(3, 10) <= odp.share("x")) == (odp.share("x") >= 0.3)


def test_answers_are_public_texts() -> None:
    assert odp.median("age", bins=[18, 30, "62.5"]).answers == ("[18, 30)", "[30, 62.5]")
    assert odp.winner("c", [True, False]).answers == ("true", "false")
    assert odp.winner("c").answers is None
    assert odp.winner("c").with_options(("x", "y")).answers == ("x", "y")
