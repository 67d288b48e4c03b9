"""The numbers in the README's table of gains are computed here again."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from fractions import Fraction

import pytest
from fenced import ROOT

import optimaldp as odp
from optimaldp.histograms import optimal_error
from optimaldp.histograms.error import many_bins_error
from optimaldp.laws.level_accuracy import level_sizes
from optimaldp.laws.quantile import quantile_law
from optimaldp.laws.quantile_accuracy import accuracy_with_rivals
from optimaldp.laws.winner import ball_power, win_probability
from optimaldp.privacy import Epsilon, Neighbours, level

README = (ROOT / "README.md").read_text()


def _shows(*numbers: str) -> None:
    missing = [number for number in numbers if number not in README]
    assert not missing, f"the README no longer says {missing}"


def test_winner_near_a_multiway_tie() -> None:
    counts = [201, 200, 200, 200, 200]
    ours = 1 - float(odp.questions.winner_probabilities(counts, epsilon=2)[0])
    peer = 1 - float(win_probability(counts, 0, ball_power(Epsilon.read("2")), Neighbours.SUBSTITUTION))
    _shows(f"{ours:.3f}".lstrip("0"), f"{peer:.3f}".lstrip("0"))


def test_a_mean_with_a_private_number_of_people() -> None:
    question = "mean(x, range=[0, 100], step=50, grid=0.1)"
    law = odp.questions.number_probabilities(question, [0, 200, 0, 0], epsilon=1, neighbours="add-remove")
    ours = sum(float(p) * abs(float(answer) - 50) for answer, p in law)
    # The sum of v - 50 moves by at most 50: Laplace noise of scale 50/(1/2), divided by the 200 people.
    theirs = 50 / 0.5 / 200
    _shows(f"{ours:.3f}".lstrip("0"), f"{theirs:.2f}".lstrip("0"))


def test_histograms_with_few_bins() -> None:
    for bins in (2, 10):  # independent discrete Laplace noise of scale 2/epsilon errs by K / sinh(epsilon/2)
        ratio = optimal_error(bins, epsilon=1) / many_bins_error(bins, epsilon=1)
        assert many_bins_error(bins, epsilon=1) == pytest.approx(bins / math.sinh(0.5))
        _shows(f"{ratio:.2f}".lstrip("0"))


def test_majority_against_laplace_and_the_exponential_mechanism() -> None:
    shown = odp.preview("majority(x)", epsilon=1, margins=[1, 2, 3, 5, 12])
    series = dict(shown.series)
    laplace, exponential, flipping = (series[name] for name in ("discrete Laplace", "exponential", "permute-and-flip"))
    assert laplace == pytest.approx(series["optimaldp"]), "integer Laplace is already optimal"
    ratios = [theirs / ours for theirs, ours in zip(exponential, series["optimaldp"])]
    assert ratios[-1] == pytest.approx(2 * math.cosh(0.5), rel=0.001), "far out, and only there"
    _shows(", ".join(f"{ratio:.2f}" for ratio in ratios[:4]))
    assert flipping == pytest.approx([math.cosh(0.5) * ours for ours in series["optimaldp"]])
    _shows(f"{math.cosh(0.5):.2f}")


def test_means_against_laplace_noise_on_the_clipped_sum() -> None:
    from benchmarks import mean

    rows = mean.rows()
    scores, incomes = next(rows), next(rows)
    _shows(f"{scores.ours:.4f}".lstrip("0"), f"{incomes.ours:.4f}".lstrip("0"), f"{incomes.theirs:.3f}".lstrip("0"))
    assert f"{scores.ours:.4f}" == f"{scores.theirs:.4f}"


def test_people_with_levels_of_their_own() -> None:
    asked = level_sizes(501, [(0.1, 20), (1.0, 981)])
    averages = [asked.average(error, 0.5) for error in (asked.typical, asked.strictest_for_all, asked.strict_left_out)]
    worst = [asked.worst_at(error, 5) for error in (asked.every_table, asked.strictest_for_all)]
    assert worst[0] == pytest.approx(worst[1])
    _shows(*(f"{number:.3f}".lstrip("0") for number in (*averages, *worst)))


def test_with_delta_the_answer_is_right_from_a_finite_margin_on() -> None:
    always = dict(odp.preview("majority(x)", epsilon=1, delta="1e-6").reliable)["0"]
    assert always is not None
    assert odp.preview("majority(x)", epsilon=1, delta="1e-6", margins=[always]).error(always) == 0


def test_the_five_questions_are_answered_as_they_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = re.findall(r"^\| [\w ]+\?? \| `(.*?)` \| (.*?) \|$", README.partition("## Five questions")[2], re.MULTILINE)
    assert [question.partition("(")[0] for question, _ in rows] == ["count", "share", "mean", "winner", "histogram"]
    monkeypatch.chdir(ROOT)
    for question, printed in rows:
        said = odp.release("examples/data/anes1996.csv", question, epsilon=1).said()
        assert _words(said) == _words(printed), question
        assert _numbers(said) == pytest.approx(_numbers(printed), rel=0.1, abs=12), question


def _words(text: str) -> list[str]:
    return re.findall(r"[^\d.]+", text)


def _numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def test_the_two_commands_come_first() -> None:
    assert re.search(r"make demo .*\n.*make test", README)


def test_the_median_age_against_others() -> None:
    with (ROOT / "examples" / "data" / "anes1996.csv").open() as lines:
        cells = Counter(int(float(row["age"])) - 18 for row in csv.DictReader(lines))
    assert sum(cells.values()) == 944
    for row in accuracy_with_rivals(quantile_law(82, Fraction(1, 2), level("0.1")), cells):
        _shows(f"{row.wrong:.3f}".lstrip("0"), f"{row.rank_error:.1f}")
