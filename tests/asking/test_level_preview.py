"""Previews for people with levels of their own: both aims, on average and at worst, from public numbers."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import pytest

import optimaldp as odp
from optimaldp.asking.ask import Ask
from optimaldp.asking.level_previewing import level_tables
from optimaldp.designing.level_prior import prior_optimum
from optimaldp.distances.linear import share_condition
from optimaldp.errors import QuestionError
from optimaldp.histograms.public_error import expected_error
from optimaldp.laws.law import Aim, Table
from optimaldp.laws.level_accuracy import level_sizes
from optimaldp.laws.personal import chosen_law, everybody_sides
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision

SIZES = {0.1: 20, 1: 981}


def test_both_aims_are_shown_and_the_chosen_one_comes_first() -> None:
    typical = odp.preview("majority(x)", epsilon=1, level_sizes=SIZES)
    every = odp.preview("majority(x)", epsilon=1, level_sizes=SIZES, aim="every table")
    assert typical.series[0][0] == "typical, average"
    assert every.series[0][0] == "every table, worst"
    names = {name for name, _ in typical.series}
    assert names == {name for name, _ in every.series} >= {"strictest for all", "strict left out, average"}
    assert typical.to_document()["aim"] == "typical"
    assert typical.persons == 1001


def test_the_numbers_are_those_of_the_closed_forms() -> None:
    made = dict(odp.preview("majority(x)", epsilon=1, level_sizes=SIZES, margins=[15]).to_document()["error"])
    margins = odp.preview("majority(x)", epsilon=1, level_sizes=SIZES, margins=[15]).margins
    place = margins.index(15)
    assert made["every table, worst"][place] == pytest.approx(math.exp(-1.5) / (1 + math.exp(-0.1)))
    assert made["strictest for all"][place] == pytest.approx(math.exp(-1.4) / (1 + math.exp(0.1)))
    # All twenty strict people say yes, 495 of the others: the worst table of the typical law.
    law = chosen_law(
        share_condition(">", Fraction(1, 2)), ((Epsilon.read("0.1"), 20), (Epsilon.read(1), 981)), Aim.TYPICAL
    )
    rows = [(Epsilon.read("0.1"), 20, 0, 0), (Epsilon.read(1), 495, 486, 0)]
    with precision(100):
        wrong = everybody_sides(share_condition(">", Fraction(1, 2)), rows, law)[1]
    assert made["typical, worst"][place] == pytest.approx(float(wrong))
    assert (
        made["typical, average"][place] < made["strict left out, average"][place] < made["every table, average"][place]
    )


def test_levels_are_cut_to_the_epsilon_of_the_release() -> None:
    made = odp.preview("majority(x)", epsilon=0.1, level_sizes=SIZES)
    assert [name for name, _ in made.series] == ["optimaldp"]


@pytest.mark.long
def test_the_choice_the_average_and_the_coin_are_shown() -> None:
    large = odp.preview("majority(x)", epsilon=1, level_sizes={0.1: 1000, 1: 999_000})
    assert float(large.more["mechanism"]["cap"]) < 0.5
    shown = odp.preview("majority(x)", epsilon=2, level_sizes={0.1: 10, 0.2: 20, 0.5: 50, 1: 200, 2: 721})
    averages = shown.more["average_error"]
    assert averages["typical"] == min(averages.values())
    assert averages["typical"] < 0.65 * averages["weighted votes"]
    law, coin = shown.more["mechanism"], shown.more["never_worse_than_a_coin_from"]
    assert law["name"] == "hedged votes"
    assert law["alpha"] == "0.1"
    # Both layers lie on one side of every count of yes that is half of the width away.
    assert 1 < coin <= float(law["M"]) / 2 + 1
    assert any(f"from a margin of {coin} the answer is never worse than a coin" in note for note in shown.notes)
    every = odp.preview("majority(x)", epsilon=2, level_sizes={0.1: 10, 2: 721}, aim="every table")
    assert every.more["never_worse_than_a_coin_from"] == 1
    assert every.more["mechanism"] == {"name": "fair levels", "law": 2, "alpha": "0.1"}
    assert any("disagree" in note for note in every.notes)


KINDS = {
    "share(x among y) >= 0.4": (0, 2),
    "share(x among y) < 0.4": (0, 2),
    "majority(x)": (0, 1),
    "compare(v, 'a', 'b')": (0, 1),
    "compare(v, 'a', 'b' among y)": (0, 2),
    "mean(s, range=[1, 5]) >= 3": (4, 0),
    "mean(s, range=[1, 5], step=2 among y) < 4": (4, 0),
    "winner(v, ['a', 'b', 'c'])": (0, 1),
    "winner(v, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])": (0, 1),
    "median(s, bins=[0, 1, 2, 3])": (0, 1),
    "quantile(s, 0.7, bins=[0, 1, 2, 3, 4] among y)": (2, 4),
}
FEW = ((Epsilon.read("0.3"), 2), (Epsilon.read("1"), 5))


def wrong(question: str, aim: str, delta: str, yes: tuple[int, ...]) -> tuple[int, bool, float]:
    """The margin, whether most are in the first place, and the error by the law of a release: one made-up table."""
    request = Ask(question, epsilon=1, delta=delta, levels="level", aim=aim).request()
    asked, cells = request.question, KINDS[question]
    by_level = tuple((e, {cells[0]: y, cells[1]: n - y}) for (e, n), y in zip(FEW, yes))
    table = Table({cells[0]: sum(yes), cells[1]: 7 - sum(yes)}, by_level)
    folded = asked.fold(table.cells)
    truth, first = asked.truth(folded), asked.truth(asked.fold({cells[0]: 7}))
    with precision(200):
        row = asked.mechanism(request.setting(7, FEW)).law(table).probabilities()
        error = sum((ball(p) for place, p in enumerate(row) if place != truth), Ball(0))
    return int(asked.flips(folded, Neighbours.SUBSTITUTION)), truth == first, float(error.mid())


@pytest.mark.parametrize("delta", ["0", "0.01"])
@pytest.mark.parametrize("question", KINDS)
def test_every_kind_shows_averages_and_worst_cases_of_its_own_law(question: str, delta: str) -> None:
    """Against all tables of seven people in two places, one by one."""
    shown = odp.preview(question, epsilon=1, delta=delta, level_sizes={0.3: 2, 1: 5})
    curves = dict(shown.series)
    same = "either aim, average" in curves
    for aim in ("typical", "every table"):
        name = "either aim" if same else aim
        for place, margin in enumerate(shown.margins):
            averages, worst = [], []
            for side in (True, False):
                tables = {}
                for yes in itertools.product(range(3), range(6)):
                    flips, truth, error = wrong(question, aim, delta, yes)
                    if flips == margin and truth is side:
                        tables[yes] = error
                if tables:
                    ways = {yes: math.comb(2, yes[0]) * math.comb(5, yes[1]) for yes in tables}
                    averages.append(sum(ways[yes] * tables[yes] for yes in tables) / sum(ways.values()))
                    worst.append(max(tables.values()))
            assert curves[f"{name}, average"][place] == pytest.approx(max(averages), rel=1e-9, abs=1e-15)
            assert curves[f"{name}, worst"][place] == pytest.approx(max(worst), rel=1e-9, abs=1e-15)
    assert {"strictest for all", "strict left out, average"} <= set(curves)


@pytest.mark.parametrize(("strict", "loose"), [(20, 981), (100, 901), (5000, 5001)])
def test_laws_at_some_tables_give_the_curves_of_the_closed_forms(strict: int, loose: int) -> None:
    request = Ask("majority(x)", epsilon=1, levels="level").request()
    tables = level_tables(request, ((Epsilon.read("0.1"), strict), (Epsilon.read("1"), loose)))
    assert tables is not None
    closed = level_sizes(tables.least, [(0.1, strict), (1.0, loose)])
    for name in ("typical", "every_table", "strict_left_out", "strictest_for_all"):
        own, known = getattr(tables, name), getattr(closed, name)
        for margin in (1, 15):
            assert tables.average_at(own, margin) == pytest.approx(closed.average_at(known, margin), rel=1e-3)
            assert tables.worst_at(own, margin) == pytest.approx(closed.worst_at(known, margin), rel=1e-9)


def test_three_levels_are_averaged_too() -> None:
    shown = odp.preview("compare(v, 'a', 'b')", epsilon=1, level_sizes={0.1: 3, 0.5: 4, 1: 8}, margins=[2])
    curves = dict(shown.series)
    place = shown.margins.index(2)
    assert 0 < curves["typical, average"][place] < curves["every table, average"][place] < 0.5


def test_with_delta_an_answer_is_certain_from_some_margin_on() -> None:
    shown = dict(odp.preview("majority(x)", epsilon=1, delta="0.001", level_sizes=SIZES).reliable)
    assert shown["0"] is not None
    assert dict(odp.preview("majority(x)", epsilon=1, level_sizes=SIZES).reliable)["0"] is None
    winner = odp.preview("winner(v, ['a', 'b', 'c'])", epsilon=1, delta="0.001", level_sizes=SIZES)
    assert dict(winner.reliable)["0"] is None  # weighted counts have no use for delta


def test_counts_have_no_margin_but_a_sum_of_errors(tmp_path: Path) -> None:
    shown = odp.preview("histogram(v, ['a', 'b'])", epsilon=1, level_sizes={0.1: 20, 1: 981})
    errors = shown.to_document()["expected_error"]
    noise = {e: expected_error(3, epsilon=e) for e in (0.1, 1)}
    keep = math.expm1(0.1) / math.expm1(1)
    assert errors["each kept by their level"] == pytest.approx(noise[1] + 40 * (1 - keep))
    assert errors["strictest for all"] == pytest.approx(noise[0.1])
    assert errors["strict left out"] == pytest.approx(noise[1] + 40)
    assert len(shown.sentences()) == 3
    assert "error of all counts together" in repr(shown)
    assert shown.to_csv().splitlines()[0] == "mechanism,expected error"
    assert list(shown.to_frame()["mechanism"]) == list(errors)
    assert "strict left out" in shown._repr_html_()
    assert shown.__rich__().row_count == 3
    shown.plot(tmp_path / "counts.png")
    assert (tmp_path / "counts.png").stat().st_size > 1000


@pytest.mark.parametrize(
    "question",
    [
        "top(v, 2, ['a', 'b', 'c'])",
        "keys(v)",
        "count(x) >= 3 and count(y) >= 5",
        "quantiles(s, [0.2, 0.5], bins=[0, 1, 2])",
        "share(x among a) > share(x among b)",
    ],
)
def test_kinds_without_personal_levels_say_so(question: str) -> None:
    with pytest.raises(QuestionError, match="cannot honour personal levels"):
        odp.preview(question, epsilon=1, delta=1e-6, level_sizes=SIZES)


@pytest.mark.parametrize("question", ["count(x) >= 2000", "winner(v, ['a'])"])
def test_where_one_answer_is_certain_levels_change_nothing(question: str) -> None:
    notes = odp.preview(question, epsilon=1, level_sizes=SIZES).notes
    assert any("levels" in note for note in notes)


def test_a_prior_compares_all_averages() -> None:
    shown = odp.preview("majority(x)", epsilon="ln(3)", level_sizes={"ln(2)": 4, "ln(3)": 5}, aim={"prior": 0.3})
    averages = shown.to_document()["average_error"]
    best = prior_optimum(5, ["ln(2)", "ln(3)"], [4, 5], chance="0.3").average_error
    assert averages["least average"] == pytest.approx(float(best))
    assert all(averages["least average"] <= value for value in averages.values())
    assert shown.series[0][0] == "least average, average"
    assert any("chance 0.3" in note and "typical" in note for note in shown.notes)
    with pytest.raises(QuestionError, match="needs a small table"):
        odp.preview("majority(x)", epsilon=1, level_sizes=SIZES, aim={"prior": 0.3})
    alone = odp.preview("majority(x)", epsilon="ln(3)", level_sizes={"ln(3)": 5}, aim={"prior": 0.3})
    assert alone.series[0][0] == "least average, average"
