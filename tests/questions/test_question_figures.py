"""The public figures around a question, worked out a second way: errors from laws, sums by level, twins, opposite places."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import pytest

from optimaldp.errors import QuestionError
from optimaldp.histograms.error import many_bins_error
from optimaldp.histograms.noise.sums import QueryError
from optimaldp.histograms.public_error import expected_error
from optimaldp.laws.law import Aim, Setting, Table, read_aim
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.questions import parse
from optimaldp.questions.kinds.quantile import _off, _spread, _true_bin

SUBSTITUTION, ADD_REMOVE = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE


@pytest.mark.parametrize("bins", [2, 3, 4, 9])
@pytest.mark.parametrize("rank", ["0.1", "0.5", "0.7", "1"])
def test_the_previewed_error_of_a_quantile_is_that_of_its_law(bins: int, rank: str) -> None:
    """What the mechanism itself gives to all bins but the true one, at the table that the note describes."""
    question: Any = parse(f"quantile(a, {rank}, range=[0, {bins}], step=1)")
    setting = Setting(level(1), SUBSTITUTION)
    accuracy, mechanism = question.accuracy(setting), question.mechanism(setting)
    middle = _true_bin(bins, Fraction(rank))
    for margin in (1, 3):
        people = _spread(bins, middle, margin, Fraction(rank))
        assert question.truth(question.fold(people)) == middle
        row = [float(p) for p in mechanism.law(Table(people)).probabilities()]
        wrong = sum(chance for place, chance in enumerate(row) if place != middle)
        assert float(accuracy.error(margin)) == pytest.approx(wrong, rel=1e-9)


def test_the_previewed_error_with_levels_is_that_of_the_law() -> None:
    """In the made-up table everybody has the strictest level."""
    levels = ((Epsilon.read("0.5"), 3), (Epsilon.read("1"), 4))
    question: Any = parse("median(a, range=[0, 5], step=1)")
    setting = Setting(level(1), SUBSTITUTION, people=7, levels=levels)
    accuracy, mechanism = question.accuracy(setting), question.mechanism(setting)
    people = _spread(5, 2, 2, Fraction(1, 2))
    row = mechanism.law(Table(people, ((levels[0][0], people), (levels[1][0], {})))).probabilities()
    assert float(accuracy.error(2)) == pytest.approx(1 - float(row[2]), rel=1e-9)
    assert accuracy.distance() == ((), {})


def test_the_true_bin_is_in_the_middle() -> None:
    half, low, high = Fraction(1, 2), Fraction(1, 4), Fraction(3, 4)
    assert [_true_bin(bins, rank) for bins in (1, 2, 3, 4, 5) for rank in (low, half, high)] == [
        *(0, 0, 0),
        *(0, 1, 1),
        *(1, 1, 1),
        *(2, 2, 2),
        *(2, 2, 2),
    ]


def test_who_is_short_of_people_gets_no_even_spread() -> None:
    question = parse("median(x, range=[0, 10], step=1)")
    for people, known in ((9, False), (10, True), (11, True), (None, False)):
        assert bool(question.accuracy(Setting(level(1), SUBSTITUTION, people=people)).distance()[0]) is known
    for epsilon, known in ((20, True), (21, False)):
        assert bool(question.accuracy(Setting(level(epsilon), SUBSTITUTION, people=50)).off) is known
    [said] = question.accuracy(Setting(level(20), SUBSTITUTION, people=20)).off
    assert "the wrong bin less than once in a million times" in said


class Figure(NamedTuple):
    mechanism: str
    rank_bound: int
    bins_bound: int
    rank_error: float
    wrong: float = 0.01


def test_one_person_and_one_bin_are_said_as_one() -> None:
    others = (Figure("a", 3, 3, 0.5), Figure("b", 3, 3, 0.25))
    assert _off((Figure("ours", 1, 2, 0.125), *others)) == [
        "If values are spread evenly, it is within 1 person (2 bins) 95 % of the time, "
        "and off by 0.125 people on average (a 0.5, b 0.25)."
    ]
    [said] = _off((Figure("ours", 2, 1, 0.125), *others))
    assert "within 2 people (1 bin) 95 %" in said
    assert _off(()) == []


LEVELS = ((Epsilon.read("0"), 2), (Epsilon.read("0.5"), 3), (Epsilon.read("1"), 95))


def test_counts_of_people_with_levels_of_their_own() -> None:
    """Whoever is not kept is missing in one bin and too many in another: two for each of them, and the noise."""
    question = parse("histogram(v, ['a', 'b'])")
    setting = Setting(level(1), SUBSTITUTION, people=100, levels=LEVELS)
    noise = expected_error(3, epsilon=Epsilon.read("1"), people=100)
    keep = math.expm1(0.5) / math.expm1(1)
    errors = question.expected_errors(setting)
    assert errors == pytest.approx(
        {
            "each kept by their level": noise + 2 * (2 + 3 * (1 - keep)),
            "strictest for all": 200,  # without any epsilon nothing is known: at most everybody is in a wrong bin
            "strict left out": noise + 2 * 5,
        },
        rel=1e-9,
    )
    assert errors is not None
    # Never more than every person in a wrong bin.
    few = Setting(level(1), SUBSTITUTION, people=3, levels=((Epsilon.read("0.01"), 2), (Epsilon.read("1"), 1)))
    assert parse("histogram(v, ['a', 'b'])").expected_errors(few)["strict left out"] <= 6  # type: ignore[index]


def test_counts_at_one_level_beside_independent_noise() -> None:
    question = parse("histogram(v, ['a', 'b', 'c'])")
    one = Epsilon.read("1")
    assert question.expected_errors(Setting(level(1), SUBSTITUTION, people=50)) == {
        "optimaldp": expected_error(4, epsilon=one, people=50),
        "independent Laplace noise": many_bins_error(4, epsilon=one),
    }
    assert question.expected_errors(Setting(level(1), ADD_REMOVE)) == {
        "optimaldp": expected_error(4, epsilon=one, neighbours=ADD_REMOVE)
    }


@pytest.mark.parametrize("options", [1, 2, 3, 4, 5])
def test_sums_of_counts_are_told_where_there_are_enough(options: int) -> None:
    listed = ", ".join(repr("abcde"[i]) for i in range(options))
    bins = options + 1  # everybody else too
    [said] = parse(f"histogram(v, [{listed}])").query_sentences(Setting(level(1), SUBSTITUTION))
    one = QueryError(bins, 1, Epsilon.read("1"), SUBSTITUTION).quantile()
    assert said.startswith(f"with 95 % a noisy count is off by at most {one} people")
    half = QueryError(bins, bins // 2, Epsilon.read("1"), SUBSTITUTION).quantile()
    expected = f"; the sum of {bins // 2} of the {bins} noisy counts by at most {half}" if bins >= 4 else ""
    assert said.endswith(expected)
    assert ("the sum" in said) is (bins >= 4)
    assert parse(f"histogram(v, [{listed}], optimum=true)").query_sentences(Setting(level(1), SUBSTITUTION)) == ()


@pytest.mark.parametrize(
    ("text", "twin"),
    [
        ("median(x, bins=[0, 1, 2, 3, 4])", "median(x, bins=[0, 1, 2, 3, 4])"),
        ("median(x, bins=[0, 1, 2, 3, 4, 9])", "median(x, bins=[0, 1, 2, 3, 4])"),
        ("median(x, range=[0, 100], step=3)", "median(x, range=[0, 12], step=3)"),
        (
            "quantile(x, 0.9, bins=[0, 1, 2, 3, 4, 9], weights=[1, 2, 3, 4, 5])",
            "quantile(x, 0.9, bins=[0, 1, 2, 3, 4], weights=[1, 2, 3, 4])",
        ),
        ("histogram(v, ['a', 'b'])", "histogram(v, ['a', 'b'], remap='none')"),
        ("histogram(v, ['a', 'b', 'c'])", "histogram(v, ['a', 'b'], remap='none')"),
        ("histogram(v, bins=[0, 1, 2])", "histogram(v, bins=[0, 1, 2], remap='none')"),
        ("histogram(v, bins=[0, 1, 2, 3])", "histogram(v, bins=[0, 1, 2], remap='none')"),
        (
            "histogram(v, ['a', 'b', 'c'], prior=[0.1, 0.2, 0.3, 0.4], keep_total=true)",
            "histogram(v, ['a', 'b'], remap='none')",
        ),
        ("histogram(v, ['a', 'b'], optimum=true)", "histogram(v, ['a', 'b'], remap='none')"),
        ("majority(x)", "majority(x)"),
        ("winner(v, ['a', 'b', 'c', 'd'])", "winner(v, ['a', 'b', 'c', 'd'])"),
        ("winner(v, ['a', 'b', 'c', 'd', 'e'])", "winner(v, ['a', 'b', 'c', 'd'])"),
    ],
)
def test_the_twin_that_is_tried_on_all_small_tables(text: str, twin: str) -> None:
    assert str(parse(text).small_twin or parse(text)) == twin


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("majority(x)", 4),
        ("compare(v, 'a', 'b')", 4),
        ("winner(v, ['a', 'b', 'c'])", 4),
        ("mean(x, range=[1, 4]) >= 2", 5),
        ("median(x, bins=[0, 1, 2, 3, 4, 5])", 5),
        ("median(x, bins=[0, 1, 2])", 5),
        ("median(x, bins=[0, 1, 2, 3])", 5),
    ],
)
def test_people_who_go_from_one_place_to_the_other_change_the_truth(text: str, people: int) -> None:
    question = parse(text)
    places = question.opposite_places()
    assert places is not None
    first, second, words = places
    answers = [question.truth(question.fold({first: people - k, second: k})) for k in range(people + 1)]
    assert answers[0] != answers[-1]
    assert len(set(answers)) == 2
    assert answers in (sorted(answers), sorted(answers, reverse=True)), "it changes once"
    assert bool(words) is (text != "majority(x)")


def test_one_option_has_no_opposite() -> None:
    assert parse("winner(v, ['a'])").opposite_places() is None


@pytest.mark.parametrize(
    ("text", "aim", "name"),
    [
        ("majority(x)", Aim.TYPICAL, "hedged votes"),
        ("count(x) >= 1", Aim.TYPICAL, "fair levels"),
        ("majority(x)", Aim.EVERY_TABLE, "fair levels"),
        ("majority(x among y)", Aim.TYPICAL, "weighted votes"),
        ("majority(x among y)", Aim.EVERY_TABLE, "balanced levels"),
        ("compare(v, 'a', 'b')", Aim.TYPICAL, "weighted votes"),
        ("compare(v, 'a', 'b')", Aim.EVERY_TABLE, "balanced levels"),
        ("mean(x, range=[1, 4]) >= 2", Aim.TYPICAL, "weighted votes"),
        ("mean(x, range=[1, 4]) >= 2", Aim.EVERY_TABLE, "balanced levels"),
        ("winner(v, ['a', 'b'])", Aim.TYPICAL, "weighted winner"),
        ("histogram(v, ['a', 'b'])", Aim.TYPICAL, "kept counts"),
    ],
)
def test_which_mechanism_honours_levels(text: str, aim: Aim, name: str) -> None:
    question = parse(text)
    levels = ((Epsilon.read("0.5"), 3), (Epsilon.read("1"), 4))
    assert question.mechanism(Setting(level(1), SUBSTITUTION, people=7, levels=levels, aim=aim)).name == name
    everybody = ((Epsilon.read("1"), 7),)
    assert question.mechanism(Setting(level(1), SUBSTITUTION, people=7, levels=everybody, aim=aim)).name != name


def test_a_mean_of_two_values_is_a_share() -> None:
    setting = Setting(level(1), SUBSTITUTION)
    assert parse("mean(x, range=[0, 1]) >= 0.5").mechanism(setting).name == "balanced chain"
    assert parse("mean(x, range=[0, 2]) >= 0.5").mechanism(setting).name == "signed distance"


def test_how_far_from_the_bound_a_mean_is_reliable() -> None:
    """95 % from margin m on: m people who cross the whole range of 4 move the mean of 200 by 4 m / 200."""
    accuracy = parse("mean(x, range=[1, 5]) >= 3").accuracy(Setting(level("ln(3)"), SUBSTITUTION, people=200))
    # e^(-eps (m - 1/2)) / 2 <= 1/20 at 3^(m - 1/2) >= 10: m = 3.
    assert accuracy.reliable()[0] == ("at most 5 %", 3)
    [said], figures = accuracy.distance()
    assert figures == {"mean_away": pytest.approx(4 * 3 / 200)}
    assert "With 200 people" in said
    assert parse("mean(x, range=[1, 5]) >= 3").accuracy(Setting(level(1), SUBSTITUTION)).distance() == ((), {})
    assert float(accuracy.error(2)) == pytest.approx(3**-1.5 / 2, rel=1e-12)


@pytest.mark.parametrize("neighbours", [SUBSTITUTION, ADD_REMOVE])
def test_by_how_many_votes_an_announced_winner_trails(neighbours: Neighbours) -> None:
    accuracy = parse("winner(v, ['a', 'b', 'c'])").accuracy(Setting(level(1), neighbours))
    margin = accuracy.reliable()[0][1]
    assert margin is not None
    votes = 2 * margin if neighbours is SUBSTITUTION else margin
    assert accuracy.off == (f"95 % of the time the announced option is fewer than {votes} votes behind the leader.",)
    assert parse("winner(v, ['a', 'b'])").accuracy(Setting(level(0), neighbours)).off == ()
    alone = parse("winner(v, ['a'])").accuracy(Setting(level(1), neighbours))
    assert (alone.off, alone.rivals()) == ((), ())


ARGUMENTS = {
    "keys": ("keys(x)", ["keys()", "keys(x, y)", "keys(x, bins=[0, 1])", "keys(x among y)"]),
    "mean": (
        "mean(x, range=[1, 2]) > 1",
        [
            "mean(range=[1, 2]) > 1",
            "mean(x, y, range=[1, 2]) > 1",
            "mean(x) > 1",
            "mean(x, range=[1, 2], bins=[0]) > 1",
        ],
    ),
    "top": ("top(x, 1, ['a', 'b'])", ["top(x)", "top(x, 1, ['a', 'b'], 3)", "top(x, ['a', 'b'])", "top(x, 0, ['a'])"]),
    "compare": ("compare(x, 'a', 'b')", ["compare(x, 'a')", "compare(x, 'a', 'b', 'c')", "compare(x)", "compare()"]),
    "winner": ("winner(x, ['a', 'b'])", ["winner()", "winner(x, ['a', 'b'], 3)", "winner(x, bins=[0, 1, 2])"]),
    "histogram": (
        "histogram(x, ['a', 'b'])",
        [
            "histogram()",
            "histogram(x, ['a'], 3)",
            "histogram(x, ['a'], colour=1)",
            "histogram(x, ['a'], bins=[0, 1, 2])",
        ],
    ),
    "median": (
        "median(x, bins=[0, 1, 2])",
        ["median(bins=[0, 1, 2])", "median(x, [0, 1, 2], 3)", "median(x)", "median(x, bins=[0, 1])"],
    ),
    "quantile": (
        "quantile(x, 0.3, bins=[0, 1, 2])",
        ["quantile(x, bins=[0, 1, 2])", "quantile(x, 0.3, [0, 1, 2], 3)", "quantile(x, 0, bins=[0, 1, 2])"],
    ),
    "quantiles": (
        "quantiles(x, [0.3, 0.5], bins=[0, 1, 2])",
        [
            "quantiles(x, bins=[0, 1, 2])",
            "quantiles(x, [0.3], [0, 1, 2], 3)",
            "quantiles(x, [0.3], bins=[0, 1, 2], weights=[1, 2])",
            "quantiles(x, [0, 0.5], bins=[0, 1, 2])",
            "quantiles(x, [0.5, 0.5], bins=[0, 1, 2])",
            "quantiles(x, [0.3, 0.5], bins=[0, 1])",
        ],
    ),
}


@pytest.mark.parametrize("word", ARGUMENTS)
def test_how_many_arguments_a_question_has(word: str) -> None:
    right, wrong = ARGUMENTS[word]
    assert str(parse(right)) == right
    for text in wrong:
        with pytest.raises(QuestionError):
            parse(text)


def test_lists_may_stand_without_their_names() -> None:
    for short, long in (
        ("median(x, [0, 1, 2])", "median(x, bins=[0, 1, 2])"),
        ("quantile(x, 0.3, [0, 1, 2])", "quantile(x, 0.3, bins=[0, 1, 2])"),
        ("quantiles(x, [0.3, 0.5], [0, 1, 2])", "quantiles(x, [0.3, 0.5], bins=[0, 1, 2])"),
    ):
        assert str(parse(short)) == long
    for text in ("winner(x)", "histogram(x)", "top(x, 2)"):  # the column's type may list the options
        assert parse(text).answers is None


def test_what_the_referee_is_told_of_a_histogram() -> None:
    assert parse("histogram(x, ['a', 'b'])").spec() == {"kind": "histogram", "bins": 3, "among": False}
    assert parse("histogram(x, bins=[0, 1, 2] among y)").spec() == {"kind": "histogram", "bins": 3, "among": True}


def test_the_halves_that_the_referee_examines() -> None:
    """Of quartiles drawn jointly: the median's law, and both halves for a median in the first, a middle and the last bin."""
    question = parse("quantiles(x, [0.25, 0.5, 0.75], range=[0, 60], step=1)")
    mechanism: Any = question.mechanism(Setting(level("0.5"), SUBSTITUTION))
    assert mechanism.name == "quartiles jointly"
    assert sorted(law.bins for law in mechanism.laws()) == [30, 31, 60, 60, 60]
    assert mechanism.laws()[0].rank == Fraction(1, 2)
    separate: Any = question.mechanism(Setting(level("0.5"), ADD_REMOVE))
    assert [law.rank for law in separate.laws()] == [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]


@pytest.mark.parametrize("outside", [0, 3])
def test_two_options_by_weighted_votes(outside: int) -> None:
    """The lead in levels: whoever changes sides moves it by twice their level, so half of the lead is the exponent."""
    levels = ((Epsilon.read("0.5"), 3 + outside), (Epsilon.read("1"), 4))
    setting = Setting(level(1), SUBSTITUTION, people=7 + outside, levels=levels)
    mechanism = parse("compare(v, 'a', 'b')").mechanism(setting)
    for first, second in (((3, 0), (0, 4)), ((1, 2), (3, 1)), ((0, 3), (4, 0))):
        rows = ({0: first[0], 1: first[1], 2: outside}, {0: second[0], 1: second[1]})
        table = Table(
            {cell: rows[0].get(cell, 0) + rows[1].get(cell, 0) for cell in range(3)},
            tuple(zip((e for e, _ in levels), rows)),
        )
        exponent = (0.5 * (first[0] - first[1]) + 1.0 * (second[0] - second[1])) / 2
        wrong = math.exp(-abs(exponent)) / 2
        row = [float(chance) for chance in mechanism.law(table).probabilities()]
        assert row == pytest.approx([1 - wrong, wrong] if exponent > 0 else [wrong, 1 - wrong], rel=1e-12)


@pytest.mark.parametrize("text", ["share(p) >= 1/2", "share(p) > 2/3", "count(p) >= 1", "all(p)"])
def test_the_least_average_error_names_the_truth_where_levels_are_loose(text: str) -> None:
    """At levels of 5 and 6 the best law over a prior is right with more than 95 % at every table of three people."""
    question: Any = parse(text)
    levels = ((Epsilon.read("5"), 1), (Epsilon.read("6"), 2))
    setting = Setting(level(6), SUBSTITUTION, people=3, levels=levels, aim=read_aim({"prior": "0.5"}))
    mechanism = question.mechanism(setting)
    assert mechanism.name == "prior optimum"
    for strict, loose in product(range(2), range(3)):
        rows = ({0: strict, 1: 1 - strict}, {0: loose, 1: 2 - loose})
        cells = {0: strict + loose, 1: 3 - strict - loose}
        law = mechanism.law(Table(cells, tuple(zip((e for e, _ in levels), rows))))
        assert law.probabilities()[question.truth(question.fold(cells))] > Fraction(95, 100)
