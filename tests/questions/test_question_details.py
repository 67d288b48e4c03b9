"""What questions say of themselves to the parts around them: readings, specifications, laws and errors by margin."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import optimaldp
from optimaldp.errors import QuestionError
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours, level
from optimaldp.questions import parse
from optimaldp.questions.accuracy import noise_on_excess
from optimaldp.questions.electing import of_winner, winner_counts
from optimaldp.questions.kinds.quantile import _rank_rivals as _rivals
from optimaldp.tables.tally import Bins, Steps

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE


def test_what_is_read() -> None:
    assert parse("median(x, range=[0, 7], step=2)").readings == (Steps("x", Fraction(0), Fraction(7), Fraction(2)),)
    assert parse("median(x, bins=[0, 1, 5])").readings == (Bins("x", (Fraction(0), Fraction(1), Fraction(5))),)
    assert [parse(text).where_is_among for text in ("share(p) >= 0.5", "count(p) >= 5", "majority(p)")] == [
        True,
        False,
        True,
    ]
    assert [parse(text).needs_a_filter for text in ("count(*) >= 5", "count(* among q) >= 5", "count(p) >= 5")] == [
        True,
        False,
        False,
    ]


def test_into_how_many_cells_a_record_can_fall() -> None:
    texts = ("majority(p)", "majority(p among q)", "median(x, bins=[0, 1, 5])", "keys(x)")
    assert [parse(text).cells for text in texts] == [2, 4, 3, 0]  # how many keys there are is not known beforehand


def test_what_the_referee_is_told() -> None:
    assert parse("quantiles(x, [0.25, 0.5], bins=[0, 1, 2])").spec()["among"] is False
    assert parse("quantiles(x, [0.25, 0.5], bins=[0, 1, 2] among q)").spec()["among"] is True
    joined = parse("share(p among q) >= 0.5 and any(q) and count(p) <= 3").spec()
    assert [(one["reads"], one["asks"]) for one in joined["thresholds"]] == [(0, 1), (1, None), (0, None)]


def test_a_joined_question_has_no_truth_before_it_is_released() -> None:
    with pytest.raises(QuestionError, match=r"any\(p\)"):
        bool(parse("any(p) and any(q)"))


def test_margins_between_means_lie_within_the_range() -> None:
    text = "mean(x, range=[1, 3] among a) > mean(x, range=[1, 3] among b)"
    for margin in ("0", "1/2", "2"):
        assert str(parse(f"{text} + {margin}")).startswith("mean(x, range=[1, 3] among a) >")
    for margin in ("2.1", "4"):
        with pytest.raises(QuestionError):
            parse(f"{text} + {margin}")


@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
@pytest.mark.parametrize("options", [1, 2, 3])
def test_a_winner_s_error_is_what_its_law_gives_to_the_others(neighbours: Neighbours, options: int) -> None:
    question = parse(f"winner(v, [{', '.join(map(repr, 'abc'[:options]))}])")
    setting = Setting(level(1), neighbours)
    accuracy, mechanism = of_winner(question, setting), question.mechanism(setting)
    for margin in (1, 3):
        if options == 1:
            assert float(accuracy.error(margin)) == 0
            assert mechanism.law(Table({0: 5})).probabilities() == [1]
            continue
        votes = winner_counts(options, margin, neighbours)
        row = mechanism.law(Table(dict(enumerate(votes)))).probabilities()
        assert len(row) == options
        assert float(accuracy.error(margin)) == pytest.approx(1 - float(row[0]), rel=1e-9)
        assert 0 < float(accuracy.error(margin)) < (0.6 if margin == 1 else 0.4)


@pytest.mark.parametrize("bins", [2, 3, 30])
def test_the_exponential_mechanism_on_the_same_spread(bins: int) -> None:
    """Up to six bins around the true one, missed by m, m, 3m, 3m, 5m, 5m people."""
    [rival] = _rivals(Setting(level("0.5"), SUBSTITUTION), bins)
    for margin in (1, 4):
        misses = [1, 1, 3, 3, 5, 5][: bins - 1]
        weights = [math.exp(-0.25 * margin * miss) for miss in misses]
        assert rival.error(margin) == pytest.approx(sum(weights) / (1 + sum(weights)), rel=1e-12)


def test_noise_on_the_excess_over_a_third() -> None:
    """Bound 1/3: one person moves the excess by at most 2; at margin 1 the noise must reach 1 or 2."""
    x = math.exp(-0.6 / 2)
    tails = [x**distance / (1 + x) for distance in (1, 2)]
    assert noise_on_excess(0.6, Fraction(1, 3)).error(1) == pytest.approx(sum(tails) / 2, rel=1e-12)
    assert noise_on_excess(0.6, Fraction(2, 3)).error(1) == pytest.approx(sum(tails) / 2, rel=1e-12)


def test_how_far_off_a_quantile_is_next_to_others() -> None:
    question = parse("median(x, range=[0, 10], step=1)")
    [said], figures = question.accuracy(Setting(level(1), SUBSTITUTION, people=1000)).distance()
    names = [one["mechanism"] for one in figures["even_spread"]]
    assert len(names) >= 2
    assert all(f"{name} " in said for name in names[1:])
    assert said.startswith("If values are spread evenly, it is within")
    assert question.accuracy(Setting(level(1), SUBSTITUTION)).distance() == ((), {})
    assert question.accuracy(Setting(level(1), SUBSTITUTION, people=9)).distance() == ((), {}), "fewer people than bins"
    assert question.accuracy(Setting(level(21), SUBSTITUTION, people=1000)).distance() == ((), {})
    assert (
        parse("median(x, range=[0, 90], step=1)").accuracy(Setting(level(1), SUBSTITUTION, people=1000)).distance()[0]
    )


def test_a_mean_of_few_people_promises_nothing_outside_of_its_range() -> None:
    asked = optimaldp.mean("v", range=[0, 10]) >= 2
    few, many = (optimaldp.preview(asked, epsilon=1, n=n).sentences() for n in (2, 200))
    assert any("it is not reliable: no mean in the range is 15 away" in sentence for sentence in few)
    assert any("far enough when it is at least 0.15 away" in sentence for sentence in many)


@pytest.mark.parametrize(
    ("bound", "people", "certain"),
    [("4.5", 3, False), ("4.5", 4, True), ("1.5", 3, False), ("1.5", 4, True), ("5", 2, False), ("5", 3, True)],
)
def test_a_mean_is_certain_somewhere_if_the_range_goes_that_far(bound: str, people: int, certain: bool) -> None:
    """Three people who cross the range of 4 move the mean by 12 / people: at most 3.5 from 4.5 or 1.5, just 4 from 5."""
    setting = Setting(level("ln(3)"), SUBSTITUTION, people=people)
    [said], figures = parse(f"mean(x, range=[1, 5]) >= {bound}").accuracy(setting).distance()
    assert figures == {"mean_away": 12 / people}
    assert ("far enough when it is" in said) is certain
    assert ("it is not reliable" in said) is not certain


def test_words_of_python_are_those_of_the_text() -> None:
    import optimaldp as odp

    assert str(odp.sum("visits", range=[0, 50])) == "sum(visits, range=[0, 50])"
    with pytest.raises(
        odp.errors.QuestionError, match=r"compare: 'ward' is not compared .* compare\('vote', 'a', 'b'\)"
    ):
        odp.compare("ward")
    with pytest.raises(odp.errors.QuestionError, match="a table of several columns is a crosstab"):
        odp.histogram("ward", "smokes")
    with pytest.raises(odp.errors.LevelError, match="a value of type int that is too long to print"):
        odp.level(10**5000)
