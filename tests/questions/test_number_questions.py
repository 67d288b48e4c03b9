"""Numbers as answers: exact privacy of every kind on all small tables, text, refusals, releases, documents."""

from __future__ import annotations

import datetime
import html
import json
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from statistics import NormalDist
from typing import Any

import pyarrow
import pytest

import optimaldp as odp
from optimaldp.errors import LevelError, QuestionError
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours, level
from optimaldp.questions import noise_law, number_probabilities, parse
from optimaldp.questions.number_mechanisms import mechanism_of
from optimaldp.sampling import SystemBits

ROOT = Fraction(13, 12)
LEVEL = f"ln({ROOT**24})"  # e^(epsilon/24) is rational: heights in twelfths of a person have exact powers
RATIO = ROOT**24

# a question, and how many cells its counts have
KINDS = [
    ("count(a = 1)", 3),
    ("count(a = 1 among b = 1)", 3),
    ("share(a = 1, grid=0.5 among b = 1)", 3),
    ("sum(v, range=[0, 2])", 4),
    ("sum(v, range=[1, 2])", 3),
    ("sum(v, range=[-1, 1])", 4),
    ("sum(v, range=[-2, -1], loss='squared')", 3),
    ("sum(v, range=[0, 2], loss='exact')", 4),
    ("sum(v, range=[1, 2], complete=true)", 3),
    ("mean(v, range=[0, 2])", 4),
    ("mean(v, range=[1, 2], grid=0.5)", 3),
    ("mean(v, range=[0, 1], complete=true)", 3),
    ("ratio(v, w, ranges=[[0, 1], [0, 1]], grid=[0, 2, 1])", 5),
    ("count(a = 1 among g = 1) - count(a = 1 among g = 2)", 5),
]


def tables(cells: int, most: int) -> Iterator[tuple[int, ...]]:
    for people in range(most + 1):
        for placed in combinations_with_replacement(range(cells), people):
            yield tuple(placed.count(cell) for cell in range(cells))


def neighbours(table: tuple[int, ...], relation: str) -> Iterator[tuple[int, ...]]:
    for cell, people in enumerate(table):
        if people:
            rest = (*table[:cell], people - 1, *table[cell + 1 :])
            if relation == "add-remove":
                yield rest
            else:
                for other in range(len(table)):
                    yield (*rest[:other], rest[other] + 1, *rest[other + 1 :])


@pytest.mark.long
@pytest.mark.parametrize("delta", ["0", "1/30"])
@pytest.mark.parametrize("relation", ["substitution", "add-remove"])
@pytest.mark.parametrize(("text", "cells"), KINDS)
def test_every_kind_is_private_at_every_small_table(text: str, cells: int, relation: str, delta: str) -> None:
    """All tables of up to three people, missing values and outsiders included, all events, in exact rationals."""
    most = Fraction(delta)
    # The heights of a ratio are parts of thirds and fifths of a person: their powers need a finer root to be rational.
    ratio = Fraction(61, 60) ** 120 if text.startswith("ratio") else RATIO
    laws = {}
    for table in tables(cells, 3):
        listed = number_probabilities(text, table, epsilon=f"ln({ratio})", delta=delta, neighbours=relation)
        assert [answer for answer, _ in listed] == sorted(answer for answer, _ in listed)
        laws[table] = dict(listed)
        left_out = 1 - sum(laws[table].values())
        assert 0 <= left_out <= Fraction(1, 2**58)
    for table, law in laws.items():
        for other in set(neighbours(table, relation)):
            for here, there in ((law, laws[other]), (laws[other], law)):
                # What one list leaves out of a law without ends is next to nothing in the other too.
                over = sum(max(Fraction(0), p - ratio * there.get(answer, Fraction(0))) for answer, p in here.items())
                assert over <= most + Fraction(1, 2**50) * (not most)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("a missing value is forgotten", "sum(v, range=[2, 3], complete=true)"),
        ("the law for people who come and go is promised for replaced ones", "mean(v, range=[0, 2])"),
    ],
)
def test_the_check_above_can_fail(wrong: str, text: str) -> None:
    """A schema that does not hold, or the other relation, is caught by it: sums of [2, 3] need 3 steps, not 1."""
    if "complete" in text:
        honest = noise_law("sum(v, range=[2, 3])", epsilon=LEVEL)
        assert honest.sensitivity == 3
        assert noise_law(text, epsilon=LEVEL).sensitivity == 1
        return
    here, there = (
        dict(number_probabilities(text, table, epsilon=LEVEL, neighbours="add-remove"))
        for table in ((2, 0, 0), (1, 0, 1))
    )
    assert max(here[a] / there[a] for a in here) > RATIO


@pytest.mark.parametrize(
    ("text", "relation", "steps"),
    [
        ("sum(age, range=[18, 100])", "substitution", 100),  # from no value to 100
        ("sum(age, range=[18, 100])", "add-remove", 100),
        ("sum(age, range=[18, 100], complete=true)", "substitution", 82),
        ("sum(age, range=[18, 100], complete=true)", "add-remove", 100),
        ("sum(x, range=[-30, 50], step=10)", "substitution", 8),
        ("sum(x, range=[-30, 50], step=10)", "add-remove", 5),
        ("sum(x, range=[-50, -10], step=10)", "substitution", 5),
        ("count(a) - count(b)", "substitution", 2),
        ("count(a) - count(b)", "add-remove", 1),
        ("count(a among b)", "substitution", 1),
    ],
)
def test_what_one_person_can_move(text: str, relation: str, steps: int) -> None:
    assert noise_law(text, epsilon=1, neighbours=relation).sensitivity == steps


@pytest.mark.parametrize(
    "text",
    [
        *(text for text, _ in KINDS),
        "count(*)",
        "count(x IN (1, 2), prior=binomial(0.25), loss='squared', output='unbiased', confidence=0.9, largest_error=true)",
        "count(a = 1, prior=[1, 2, 1/3])",
        "mean(cost, range='generous', top=50000, step=10 among b)",
        "sum(cost, range='generous', top=1000)",
        "mean(x, range=[0, 5] among g = 1) - mean(x, range=[0, 5] among g = 2)",
        "share(a = 1 among g = 1) - share(a = 1 among g = 2)",
        'ratio(a, "b c", ranges=[[0, 1], [0, 0.5]], steps=[1, 0.5], grid=[0, 4, 0.25] among d)',
    ],
)
def test_the_text_of_a_number_reads_back(text: str) -> None:
    question = parse(text)
    assert parse(str(question)) == question


def test_python_and_text_are_the_same_question() -> None:
    assert parse("count(smokes = 'yes')") == odp.count("smokes = 'yes'")
    assert parse("share(a, interval=true among b)") == odp.share("a", among="b", interval=True)
    assert parse("mean(x, range=[0, 5], grid=0.1)") == odp.mean("x", range=[0, 5], grid=0.1)
    assert str(odp.count("a") - odp.count("b")) == "count(a) - count(b)"
    assert parse("count(a, loss='squared') - count(b)") == odp.count("a", loss="squared") - odp.count("b")


@pytest.mark.parametrize(
    ("text", "epsilon", "delta", "relation"),
    [
        ("sum(x, range=[0.5, 2.5], step=1)", 1, 0, "add-remove"),  # the parity of n would be in clear
        ("sum(x, range=[0.5, 2.5], step=1)", 1, 0, "substitution"),
        ("mean(x, range=[0, 2])", 0, "0.1", "substitution"),
        ("sum(x, range=[0, 2])", 0, "0.1", "substitution"),
        ("count(a)", 0, 0, "substitution"),
    ],
)
def test_refused_by_public_things_alone(text: str, epsilon: object, delta: object, relation: str) -> None:
    with pytest.raises((QuestionError, LevelError)):
        number_probabilities(
            text, [1, 1, 1, 1][: 3 if "count" in text else 4], epsilon=epsilon, delta=delta, neighbours=relation
        )


def test_what_is_subtracted_is_named() -> None:
    with pytest.raises(QuestionError, match="subtracts something that is no question for a number"):
        parse("count(a = 'yes') - 3")


@pytest.mark.parametrize(
    "text",
    [
        "mean(x, range=[0, 5], grid=0.3)",
        "mean(x, range='generous')",
        "mean(x, range=[0, 5], top=9)",
        "ratio(a, b, ranges=[[1, 2], [0, 1]], grid=[0, 1, 0.5])",
        "ratio(a, b, ranges=[[0, 2], [0, 1]], grid=[0, 1, 0.3])",
        "count(a, prior=wild)",
        "count(a, loss='odd')",
        "count(a, confidence=1)",
        "count(a, colour=red)",
        "count(a, loss='exact') >= 3",
        "count(a) - share(b)",
        "share(a) - share(b)",
        "count(a) - 3",
        "sum(x, range=[0, 5]) >= 3",
        "sum(x)",
    ],
)
def test_refused_when_it_is_read_or_answered(text: str) -> None:
    with pytest.raises(QuestionError):
        number_probabilities(text, [1] * 7, epsilon=1)


PEOPLE = 400
TABLE = pyarrow.table(
    {
        "smokes": [["yes", "no", None][i % 3] for i in range(PEOPLE)],
        "age": [None if i % 11 == 0 else 18 + i % 60 for i in range(PEOPLE)],
        "days": [i % 31 for i in range(PEOPLE)],
        "cost": [float(10 * (i % 40)) for i in range(PEOPLE)],
        "ward": ["abc"[i % 3] for i in range(PEOPLE)],
        "seen": [datetime.date(2024, 1, 1 + i % 28) for i in range(PEOPLE)],
        "level": [["0.5", "1"][i % 2] for i in range(PEOPLE)],
    }
)
BY_WARD = {"by": "ward", "groups": ["a", "b"]}
SMOKERS = sum(i % 3 == 0 for i in range(PEOPLE))
RELEASED = [
    ("count(smokes = 'yes')", {}, SMOKERS),
    ("count(smokes = 'yes', largest_error=true)", {"delta": "1e-6"}, SMOKERS),
    ("count(smokes = 'yes', prior=uniform)", {}, SMOKERS),
    ("share(smokes = 'yes')", {"delta": "0.01"}, SMOKERS / PEOPLE),
    ("share(smokes = 'yes')", {"neighbours": "add-remove"}, SMOKERS / PEOPLE),
    ("share(smokes = 'yes', interval=true among age >= 30)", {}, None),
    ("sum(days, range=[0, 30])", {}, sum(i % 31 for i in range(PEOPLE))),
    ("mean(days, range=[0, 30])", {"neighbours": "add-remove"}, None),
    ("mean(age, range=[18, 78], step=10, interval=true)", {}, None),
    ("mean(age, range=[18, 78], step=10)", {"levels": "level"}, None),
    ("mean(age, range=[18, 78], step=10)", {"levels": "level", "aim": "typical"}, None),
    ("count(smokes = 'yes')", {"levels": "level"}, SMOKERS),
    ("sum(cost, range='generous', top=100000, step=10)", {}, None),
    ("mean(cost, range='generous', top=100000, step=10)", {"delta": "1e-3"}, None),
    ("mean(cost, range='generous', top=100000, step=10, interval=true)", {}, None),
    ("ratio(cost, days, ranges=[[0, 500], [0, 30]], steps=[10, 1], grid=[0, 50, 0.5])", {}, None),
    ("count(smokes = 'yes') - count(smokes = 'no')", {}, None),
    ("share(smokes = 'yes' among ward = 'a') - share(smokes = 'yes' among ward = 'b')", {"public_groups": True}, None),
    ("mean(days, range=[0, 30] among ward = 'a') - mean(days, range=[0, 30] among ward = 'b')", {}, None),
    ("count(smokes = 'yes')", BY_WARD, None),
    ("mean(age, range=[18, 78], step=10)", {"by": "ward", "groups": ["a", "b"], "public_groups": True}, None),
]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "options", "truth"), RELEASED)
def test_a_released_number_is_typed_examined_and_verified(text: str, options: dict, truth: float | None) -> None:
    made = odp.release(TABLE, text, **({"epsilon": 4} | options))
    document = json.loads(made.to_json())
    assert odp.verify(document).holds
    answers = made.answer.values() if isinstance(made.answer, dict) else [made.answer]
    whole = text.startswith(("count", "sum"))
    assert all(isinstance(one, int if whole else float) for one in answers)
    if truth is not None:
        assert abs(made.answer - truth) <= (30 * 30 if "sum" in text else 60 if whole else 0.2)
    if isinstance(made.answer, dict):
        assert set(document["answers"]) == set(made.answer)
        a, b = (document["answers"][name] for name in "ab")
        for forged in (
            {"a": a | {"answer": a["answer"] + 1}, "b": b},
            {"a": a},
            {"a": a, "b": b, "c": b},
            {"a": 3, "b": b},
            [1],
            None,
        ):
            assert not odp.verify(document | {"answers": forged}).holds
        return
    assert {"interval", "confidence", "largest_error", "unbiased", "exact"} <= set(document)
    assert float(made.exact) == made.answer == document["answer"]
    assert made.said().startswith("About ")
    if made.interval is not None:
        assert made.interval[0] <= made.answer <= made.interval[1]
    for name, value in (("exact", "7"), ("unbiased", -1), ("interval", [0, 1]), ("recorded", "1/7"), ("answer", 12345)):
        assert not odp.verify(document | {name: value}).holds, name


@pytest.mark.parametrize(
    ("text", "details", "people", "said"),
    [
        ("count(a)", ("1290", 6), 5000, "About 1,290 of 5,000 (± 6, 95 %)"),
        ("count(a)", ("1", 3), None, "About 1 person (± 3, 95 %)"),
        ("count(a) - count(b)", ("-1", 3), 50, "About -1 person (± 3, 95 %)"),
        ("count(a)", ("1294", 300), 5000, "About 1,290 of 5,000 (± 310, 95 %)"),
        ("count(a)", ("4997", 300), 4998, "About 4,998 of 4,998 (± 310, 95 %)"),
        ("count(a)", ("12", 0), None, "About 12 people (± 0, 95 %)"),
        ("share(a)", ("170/944", Fraction(3, 944)), 944, "About 18.01 % (± 0.32 points, 95 %)"),
        ("share(a)", ("169/944", Fraction(3, 944)), 944, "About 17.90 % (± 0.33 points, 95 %)"),
        ("share(a)", ("1/2", Fraction(3, 10)), 10, "About 50 % (± 30 points, 95 %)"),
        ("share(a among b)", ("0.190321", None), 944, "About 19.0 %"),
        ("mean(v, range=[0, 82])", ("47.0512", None), 944, "About 47.05"),
        ("mean(v, range=[0, 82])", ("47.0512", None), None, "About 47.05"),
        ("mean(v, range=[0, 82])", ("47.0512", Fraction(9, 2)), None, "About 47.1 (± 4.6, 95 %)"),
        ("sum(v, range=[0, 1])", ("44395", 299), None, "About 44,400 (± 310, 95 %)"),
    ],
)
def test_digits_follow_the_error(text: str, details: tuple[str, Any], people: int | None, said: str) -> None:
    """Two digits of the error, the answer to the same place; what rounding moves is part of the error."""
    exact, width = Fraction(details[0]), details[1]
    ends = None if width is None else (exact - width, exact + width)
    written = {"exact": details[0], "interval": ends, "confidence": "0.95", "largest_error": None}
    assert parse(text).number_words(written, people) == said


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ("count(smokes = 'yes')", {}, ['missing or NULL counts as "no"', "The true number is in this range 95 % of"]),
        ("sum(days, range=[1, 5])", {}, ["Values are clipped to [1, 5]", "People without a value add 0"]),
        ("mean(age, range=[18, 98])", {}, ["People without a value change nothing", "by 0.2 if all 400 have one"]),
        ("mean(age, range=[18, 98], interval=true)", {}, ["of the time; a tenth of epsilon paid for the range."]),
        ("sum(cost, range='generous', top=500)", {}, ["leaves out what the few largest", "chose are clipped to it."]),
        ("count(smokes = 'yes')", BY_WARD, ["All 2 groups at once: within 5 people of the truth 95 % of the time."]),
        ("count(smokes = 'yes', prior='uniform')", {}, ["if the prior uniform, which you named, is right."]),
    ],
)
def test_what_is_counted_is_said_wherever_an_answer_is_shown(text: str, options: dict, told: list[str]) -> None:
    from optimaldp.reporting.report import documents_html

    made = odp.release(TABLE, text, epsilon=1, **options)
    sentences = made.sentences()
    page = html.unescape(documents_html([made]))
    for words in told:
        assert any(words in sentence for sentence in sentences[3:]), sentences
        assert words in html.unescape(made._repr_html_())
        assert words in page
    for words in made.asked.group_words(made.statement).values() if options else [made.said()]:
        assert words.startswith("About ")
        assert words in page


def test_what_delta_costs() -> None:
    """A small delta makes a count hardly better: it is charged only where the largest error is asked for."""
    options = {"epsilon": 1, "delta": "1e-6"}
    assert odp.release(TABLE, "count(smokes = 'yes')", **options).spent.delta == 0
    asked = odp.release(TABLE, "count(smokes = 'yes', largest_error=true)", **options)
    assert asked.spent.delta == Fraction(1, 10**6)
    assert asked.to_document()["largest_error"] == 14
    assert odp.release(TABLE, "count(smokes = 'yes')", epsilon=1, delta="0.01").spent.delta > 0
    with pytest.raises(QuestionError, match="needs a delta"):
        odp.release(TABLE, "count(smokes = 'yes', largest_error=true)", epsilon=1)


@pytest.mark.parametrize("range_of_days", ["range=[0, 30]", "range='generous', top=100"])
def test_an_end_of_the_error_is_promised_only_where_there_is_one(range_of_days: str) -> None:
    """The noise of a clipped sum ends, and its error does not: what lies above the edge is lost."""
    for text in (f"mean(days, {range_of_days}, largest_error=true)", f"sum(days, {range_of_days}, largest_error=true)"):
        if text.startswith("mean") or "generous" in text:
            with pytest.raises(QuestionError, match="only noise on a count or sum"):
                mechanism_of(parse(text), _setting("1", "add-remove", PEOPLE, "1e-6"))  # type: ignore[arg-type]
        else:
            made = odp.release(TABLE, text, epsilon=1, delta="1e-6", neighbours="add-remove")
            assert made.to_document()["largest_error"] > 0
    clipped = odp.release(TABLE, "sum(days, range='generous', top=100)", epsilon=1, delta="1e-3")
    assert clipped.to_document()["largest_error"] is None
    assert odp.verify(clipped).holds


def test_days_are_not_added_up() -> None:
    for text in ("sum(seen, range=[0, 10])", "mean(seen, range=[0, 10])"):
        with pytest.raises(QuestionError, match="holds dates or times"):
            odp.release(TABLE, text, epsilon=1)


def test_a_typical_aim_is_for_means_alone() -> None:
    generous = "mean(days, range='generous', top=100)"
    for text in ("count(smokes = 'yes')", "share(smokes = 'yes')", "sum(days, range=[0, 30])", generous):
        with pytest.raises(QuestionError, match="strictest"):
            odp.release(TABLE, text, epsilon=1, levels="level", aim="typical")


def test_nobody_at_all() -> None:
    empty = TABLE.slice(0, 0)
    assert odp.release(empty, "count(smokes = 'yes')", epsilon=1).answer == 0
    for text in ("share(smokes = 'yes')", "mean(age, range=[18, 80])"):
        with pytest.raises(QuestionError, match="nobody"):
            odp.release(empty, text, epsilon=1)
    assert number_probabilities("mean(v, range=[0, 2])", [0, 0, 0, 0], epsilon=1)
    # A sum of nobody is 0 and its noise, whatever its step.
    assert odp.release(empty, "sum(days, range=[0, 30], step=0.5)", epsilon=1).answer == 0
    half = number_probabilities("sum(v, range=[0, 1], step=0.5)", [0, 0, 0, 0], epsilon=1)
    assert dict(half)[Fraction(1, 2)] == noise_law("sum(v, range=[0, 1], step=0.5)", epsilon=1).probability(1)


GROUPS = "among ward = 'a') - {0}(days, range=[0, 30] among ward = 'b')".format
SHARES = "among ward = 'a') - share(smokes = 'yes' among ward = 'b')"


@pytest.mark.parametrize(
    ("text", "relation", "option"),
    [
        ("share(smokes = 'yes', grid=0.1)", "substitution", "grid"),
        ("mean(days, range='generous', top=100, grid=0.1)", "substitution", "grid"),
        ("mean(days, range='generous', top=100, loss='squared')", "add-remove", "loss"),
        ("mean(days, range=[0, 30], loss='exact')", "substitution", "loss"),
        ("share(smokes = 'yes', loss='squared')", "add-remove", "loss"),
        ("mean(days, range=[0, 30], confidence=0.9)", "substitution", "confidence"),
        (f"mean(days, range=[0, 30], interval=true {GROUPS('mean')}", "substitution", "interval"),
        (f"share(smokes = 'yes', interval=true {SHARES}", "add-remove", "interval"),
        (f"share(smokes = 'yes', confidence=0.8 {SHARES}", "substitution", "confidence"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(text: str, relation: str, option: str) -> None:
    """Before anything is read: whoever names it expects something else."""
    with pytest.raises(QuestionError) as refused:
        mechanism_of(parse(text), _setting("1", relation, PEOPLE, "0"))  # type: ignore[arg-type]
    assert refused.value.field == option
    assert f"leave {option} out" in str(refused.value)


def test_a_public_group_of_nobody_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    opened = odp.open(TABLE, budget=odp.Budget(epsilon=1), ledger=tmp_path / "ledger.db")
    empty = SHARES.replace("ward = 'b'", "ward = 'nobody'")
    with pytest.raises(QuestionError, match="a group of nobody"):
        opened.ask(f"share(smokes = 'yes' {empty}", epsilon=1, public_groups=True)
    assert opened.ask("count(smokes = 'yes')", epsilon=1).answer >= 0  # all of the budget is left
    opened.close()


def test_the_grid_of_two_shares_is_kept() -> None:
    made = odp.release(TABLE, f"share(smokes = 'yes', grid=0.1 {SHARES}", epsilon=1)
    assert (made.exact * 10).denominator == 1


def test_an_interval_that_is_free_was_not_paid() -> None:
    made = odp.release(TABLE, "share(smokes = 'yes', interval=true)", epsilon=1)
    assert made.interval is not None
    assert not any("paid" in sentence for sentence in made.sentences())


@pytest.mark.parametrize(
    ("text", "epsilon", "delta", "told"),
    [
        ("sum(days, range='generous', top=100)", 1, 0, "first step chooses"),
        ("count(a)", "inf", 0, "finite epsilon"),
        ("sum(days, range=[0, 30])", 1, 1, "promises nothing"),
    ],
)
def test_a_law_of_noise_that_there_is_not(text: str, epsilon: object, delta: object, told: str) -> None:
    with pytest.raises((QuestionError, LevelError), match=told):
        noise_law(text, epsilon=epsilon, delta=delta)


def test_at_delta_1_a_count_is_exact() -> None:
    law = noise_law("count(a)", epsilon=1, delta=1)
    assert (law.largest, law.probability(0), law.half_width(0.95), law.mean_error) == (0, 1, 0, 0)


def test_a_difference_of_crossings_has_no_list_and_no_option_is_invented() -> None:
    for text, cells, relation in (
        (f"share(a {SHARES.replace('smokes = ', 'a = ')}", 5, "add-remove"),
        (f"mean(days, range=[0, 30] {GROUPS('mean')}", 64, "substitution"),
    ):
        with pytest.raises(QuestionError, match="each of the two numbers"):
            number_probabilities(text, [1] * cells, epsilon=1, neighbours=relation)
    with pytest.raises(QuestionError, match=r"that mean\(v, range=\[0, 2\]\) needs"):
        number_probabilities("mean(v, range=[0, 2])", [1], epsilon=1)


def test_a_number_is_replayed_from_a_ledger(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("smokes\n" + "yes\nno\n" * 50)
    with odp.open(table, budget=odp.Budget(epsilon=3), ledger=tmp_path / "people.ledger") as opened:
        first = opened.ask("share(smokes = 'yes')", epsilon=1)
        again = opened.ask("share(smokes = 'yes')", epsilon=1)
    assert again.recorded
    assert (again.answer, again.interval, again.exact, again.said()) == (
        first.answer,
        first.interval,
        first.exact,
        first.said(),
    )
    assert odp.verify(json.loads(again.to_json())).holds


def test_a_preview_says_how_far_off_a_number_will_be() -> None:
    shown = odp.preview("count(a)", epsilon=1, delta="0.01")
    document = shown.to_document()
    assert document["half_width"] == {"0.9": 2, "0.95": 3, "0.99": 4}
    assert document["largest_error"] == 4
    assert [name for name, *_ in shown.rows()] == ["optimaldp", "discrete Laplace", "discrete Gaussian"]
    assert shown.rows()[0][2:] == ["2", "3", "4"]
    plain = odp.preview("count(a)", epsilon=1)
    assert plain.rows()[0][1:] == plain.rows()[1][1:]  # a count gains nothing over discrete Laplace noise
    split = odp.preview("mean(v, range=[0, 100])", epsilon=1, n=200, neighbours="add-remove").rows()
    assert [float(error) for _, error, *_ in split] == [0.25, 0.5]
    assert "strictest" not in str(odp.preview("count(a)", epsilon=1, level_sizes={0.5: 10, 1: 90}))
    assert odp.preview("mean(v, range=[0, 100])", epsilon=1).sentences()


@pytest.mark.parametrize("shape", ["uniform", "lognormal"])
@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_the_preview_of_a_generous_range_names_shapes(kind: str, shape: str) -> None:
    """Its expected error is that of draws from a table of the shape; evenly spread values want the whole range at once."""
    text, n, top = f"{kind}(v, range='generous', top=1000, step=10)", 2000, 1000
    errors = odp.preview(text, epsilon=0.5, n=n).to_document()["expected_error"]
    ordered = sorted(errors, key=errors.__getitem__)
    assert ordered == ["optimaldp, lognormal", "the whole range at once", "optimaldp, uniform"]
    inverse = {"uniform": lambda p: top * p, "lognormal": lambda p: 10 * math.exp(NormalDist().inv_cdf(p))}[shape]
    values = [min(100, round(inverse((i + 0.5) / n) / 10)) for i in range(n)]
    mechanism = mechanism_of(parse(text), _setting("1/2", "substitution", n, "0"))  # type: ignore[arg-type]
    truth = 10 * sum(values) / (n if kind == "mean" else 1)
    draws = [mechanism.draw(Table(dict(Counter(values))), SystemBits()) for _ in range(200)]
    assert sum(abs(one - truth) for one in draws) / 200 == pytest.approx(errors[f"optimaldp, {shape}"], rel=0.4)


@pytest.mark.parametrize(("within", "epsilon"), [(30, 0.1), (15, 0.2), (6, 0.5), (3, 1), (1, 2), (0, 4)])
def test_the_epsilon_for_a_half_width(within: int, epsilon: float) -> None:
    found = odp.epsilon_for("count(a)", within=within)
    assert found <= epsilon
    assert noise_law("count(a)", epsilon=found).half_width(0.95) <= within
    assert noise_law("count(a)", epsilon=found * 0.99).half_width(0.95) > within


def test_intervals_cover_what_they_say() -> None:
    """Exactly, by the law of a crossing: at least 95 % of it lies within the half width that a preview states."""
    for people, mean, relation in ((40, 3, "substitution"), (25, 1, "add-remove"), (200, 5, "substitution")):
        question = parse("mean(v, range=[0, 10], grid=0.05)")
        counts = [0] * 12
        counts[mean] = people
        law = number_probabilities(question, counts, epsilon="0.8", neighbours=relation)
        width = question.half_width(_setting("0.8", relation, people), Fraction(19, 20), people)
        assert sum(chance for answer, chance in law if abs(answer - mean) <= width) >= Fraction(19, 20)


def _setting(epsilon: str, relation: str, people: int, delta: str = "0") -> Setting:
    known = people if relation == "substitution" else None
    return Setting(level(epsilon, delta), Neighbours(relation), known)
