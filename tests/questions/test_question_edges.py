"""Where a question's text ends, what a word takes in its brackets, and the bounds that stand in for long laws."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import Any

import pytest

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Epsilon, Neighbours, approximate
from optimaldp.questions import electing, parse
from optimaldp.questions.kinds import threshold
from optimaldp.questions.kinds.histogram import Histogram
from optimaldp.questions.kinds.quantile import _around
from optimaldp.questions.literals import read_edge, read_option

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE


def test_forty_letters_behind_the_end_are_shown() -> None:
    rest = "".join(chr(ord("a") + place % 26) for place in range(60))
    with pytest.raises(QuestionError) as caught:
        parse(f"majority(x) {rest}")
    assert f"goes on after its end with {rest[:40]!r}" in str(caught.value)


@pytest.mark.parametrize("mark", ["'", '"'])
def test_a_lone_quote_is_no_option(mark: str) -> None:
    with pytest.raises(QuestionError, match="is not an option"):
        read_option(mark)
    assert read_option(mark * 2) == ""


@pytest.mark.parametrize("mark", ["'", '"'])
def test_a_lone_quote_is_no_edge_and_is_shown(mark: str) -> None:
    with pytest.raises(QuestionError) as caught:
        read_edge(mark, "bins")
    assert repr(mark) in str(caught.value)
    assert read_edge(f"{mark}2020-02-29{mark}", "bins") == date(2020, 2, 29)


@pytest.mark.parametrize("form", threshold.FORMS, ids=lambda form: form.word)
def test_a_threshold_takes_a_condition_and_no_arguments(form: Any) -> None:
    """A condition may hold commas and signs of equality; nothing in it is taken for an argument."""
    again = threshold._form(form.word, form.example, getattr(threshold, form.word, None))
    assert form.condition
    assert again.condition


def test_a_histogram_draws_from_the_finite_optimum_only_if_it_is_asked_to() -> None:
    assert str(Histogram("c", ("a", "b"))) == "histogram(c, ['a', 'b'])"
    assert Histogram("c", ("a", "b")) == parse("histogram(c, ['a', 'b'])")


@pytest.mark.parametrize(
    ("text", "neighbours", "on"),
    [
        ("share(x = 1) >= 0.3", ADD_REMOVE, "on the excess over the bound"),
        ("share(x = 1) >= 0.3", SUBSTITUTION, "on the count"),
        ("count(x = 1) >= 3", ADD_REMOVE, "on the count"),
        ("count(x = 1) >= 3", SUBSTITUTION, "on the count"),
    ],
)
def test_noise_is_put_on_what_one_person_changes_by_one(text: str, neighbours: Neighbours, on: str) -> None:
    question: Any = parse(text)
    assert on in question.noise_rival(Setting(approximate(Epsilon.read("1")), neighbours)).setting


@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_the_bound_for_very_many_options_lies_above_the_error_of_the_law(
    neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An option that trails wins with at most half of its coin: by at most as much as all coins together, and never below."""
    options = 5
    question: Any = parse(f"winner(v, {[f'o{place}' for place in range(options)]})")
    setting = Setting(approximate(Epsilon.read("0.5")), neighbours)
    exact = question.accuracy(setting)
    laws = [float(exact.error(margin)) for margin in (1, 3, 9, 30)]
    monkeypatch.setattr(electing, "MOST_LISTED", options - 1)
    bounds = [float(exact.error(margin)) for margin in (1, 3, 9, 30)]
    assert all(law <= bound <= 1 for law, bound in zip(laws, bounds))
    assert bounds[-1] < 2 * laws[-1]  # far ahead, two heads are rare
    assert float(exact.error(300)) > 0


@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_up_to_sixty_options_a_preview_shows_the_error_itself(neighbours: Neighbours) -> None:
    """So many are drawn by permute-and-flip, whose error stands beside ours; of more than sixty ours is a bound above it."""
    setting = Setting(approximate(Epsilon.read("0.5")), neighbours)
    for options in (60, 61):
        question: Any = parse(f"winner(v, {[f'o{place}' for place in range(options)]})")
        ours = question.accuracy(setting)
        flipping = next(rival for rival in ours.rivals() if rival.name == "permute-and-flip").error(3)
        assert (float(ours.error(3)) == pytest.approx(flipping, rel=1e-9)) is (options == 60)
        assert float(ours.error(3)) >= flipping * (1 - 1e-9)


def test_bins_that_are_missing_and_bins_that_are_half_named() -> None:
    with pytest.raises(QuestionError, match="does not name the public range"):
        parse("median(x)")
    for half in ("bins=[0, 1, 2], step=1", "range=[0, 2]", "bins=[0, 1, 2], range=[0, 2], step=1"):
        with pytest.raises(QuestionError, match=r"is not one whole way to name the bins|is a range without a step"):
            parse(f"median(x, {half})")


@pytest.mark.parametrize("predicate", [5, None, ["x = 1"], ""])
@pytest.mark.parametrize("make", [threshold.count, threshold.share, threshold.majority, threshold.any_, threshold.all_])
def test_what_is_no_text_is_no_condition(make: Any, predicate: Any) -> None:
    with pytest.raises(QuestionError, match="is not an SQL condition"):
        make(predicate)


def test_everybody_is_written_as_a_star() -> None:
    assert threshold.count(" * ").predicate == "*"


def test_the_parameters_of_a_quantile_are_those_that_it_has() -> None:
    question: Any = parse("quantile(a, 0.25, range=[0, 5], step=1)")
    made = question.mechanism(Setting(approximate(Epsilon.read("1")), SUBSTITUTION))
    assert made.parameters() == {"bins": 5, "rank": "0.25", "share": "1", "law": 2}
    levels = ((Epsilon.read("0.5"), 3), (Epsilon.read("1"), 4))
    personal = question.mechanism(Setting(approximate(Epsilon.read("1")), SUBSTITUTION, people=7, levels=levels))
    assert personal.parameters() == {"bins": 5, "rank": "0.25", "share": "1", "levels": ["0.5", "1"], "law": 2}


@pytest.mark.parametrize(
    ("ranks", "epsilon", "name"),
    [
        (["0.5"], "1", "several ranks"),
        (["0.1", "0.9"], "1", "several ranks"),
        (["0.25", "0.5", "0.75"], "0.5", "quartiles jointly"),
    ],
)
def test_the_parameters_of_several_quantiles(ranks: list[str], epsilon: str, name: str) -> None:
    """A list of one rank has them too."""
    question: Any = parse(f"quantiles(a, [{', '.join(ranks)}], range=[0, 60], step=1)")
    made = question.mechanism(Setting(approximate(Epsilon.read(epsilon)), SUBSTITUTION))
    assert made.name == name
    drawn = {} if name == "quartiles jointly" else {"law": 2}
    assert made.parameters() == {"bins": 60, "ranks": ranks} | drawn


def test_whoever_is_not_asked_is_everybody_else_of_a_histogram() -> None:
    question = parse("histogram(v, ['a', 'b', 'c'] among q)")
    assert question.fold({0: 3, 1: 5, 4: 2, 7: 1}) == (3, 0, 2, 6)


def test_the_two_first_options_of_an_election_are_the_opposites() -> None:
    assert parse("winner(v, ['a', 'b', 'c'])").opposite_places() == (0, 1, "two options lead, nobody else has a vote")
    assert parse("winner(v, ['a'])").opposite_places() is None


@pytest.mark.parametrize(
    ("text", "rule", "example"),
    [
        ("sum(x, range=[1, 5], interval=true)", "takes no option interval", "sum(cost, range=[0, 50000], step=10)"),
        ("mean(range=[1, 5]) >= 3", "does not have the parts that it needs", "mean(score, range=[1, 5]) >= 3.5"),
        ("count(a) >", "does not compare its number with a bound", "count(age >= 65) >= 100"),
        ("mean(x, range=[1, 5]) >", "does not compare its number with a bound", "mean(score, range=[1, 5]) >= 3.5"),
    ],
)
def test_a_question_that_lacks_something_is_shown_one_of_its_kind(text: str, rule: str, example: str) -> None:
    with pytest.raises(QuestionError) as caught:
        parse(text)
    assert rule in str(caught.value)
    assert f"write for example {example}" in str(caught.value)


def test_a_last_bin_of_a_low_rank_needs_nobody_below_it() -> None:
    assert _around(3, 2, 4, Fraction(1, 4)) == (0, 0)
    assert _around(3, 2, 4, Fraction(3, 4)) == (8, 0)


def test_an_argument_that_is_named_twice_is_refused_by_its_name() -> None:
    with pytest.raises(QuestionError, match="names range twice"):
        parse("mean(x, range=[1, 5], range=[1, 9]) >= 3")


def test_an_election_of_nobody_is_won_by_the_first_option() -> None:
    """Their number is public, so nobody can come: the answer is the same in every table of nobody."""
    levels = ((Epsilon.read("0.1"), 0), (Epsilon.read(1), 0))
    setting = Setting(approximate(Epsilon.read(1)), Neighbours.SUBSTITUTION, 0, levels)
    assert parse("winner(v, ['a', 'b', 'c'])").mechanism(setting).law(Table({})).probabilities() == [1, 0, 0]
