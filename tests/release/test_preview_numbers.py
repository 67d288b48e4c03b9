"""Previews: the numbers are those of the mechanisms, ours is never above the others where that is proven, no table is read."""

from __future__ import annotations

import json
import math
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import optimaldp as odp
from optimaldp.asking.previewing import epsilon_for, preview
from optimaldp.cli import main
from optimaldp.errors import InputError, LevelError, QuestionError
from optimaldp.laws.law import Setting
from optimaldp.privacy import Neighbours, level
from optimaldp.questions import parse


@pytest.mark.parametrize("text", ["share(x) >= 0.3", "share(x) > 3/7", "share(x) <= 0.9"])
def test_laplace_on_a_share_under_add_remove_by_summation(text: str) -> None:
    """The mean over the integer distances of a margin, by adding the noise's probabilities."""
    question = parse(text)
    rival = question.noise_rival(Setting(level("0.7"), Neighbours.ADD_REMOVE))
    assert rival is not None
    bound = question.bound  # type: ignore[attr-defined]
    step = max(bound.numerator, bound.denominator - bound.numerator)
    x = math.exp(-0.7 / step)
    for margin in (1, 2, 5):
        tails = [
            sum((1 - x) / (1 + x) * x**z for z in range(d, d + 20_000))
            for d in range((margin - 1) * step + 1, margin * step + 1)
        ]
        assert rival.error(margin) == pytest.approx(sum(tails) / len(tails), rel=1e-6)


CASES = ["majority(x)", "share(x) >= 0.3", "count(x) >= 7", "compare(v, 'a', 'b')", "winner(v, ['a', 'b', 'c'])"]


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("numbers", [("0.1", 0), ("1", 0), ("3", "1e-6"), ("0", "0.01")])
def test_ours_is_never_above_the_others(text: str, neighbours: Neighbours, numbers: tuple[str, object]) -> None:
    shown = preview(text, epsilon=numbers[0], delta=numbers[1], neighbours=neighbours)
    ours = shown.series[0][1]
    assert list(ours) == sorted(ours, reverse=True)
    for name, errors in shown.series[1:]:
        if text.startswith("winner") and name == "randomised response":
            continue  # at a tie it always names the earlier option more often: another objective
        for mine, theirs in zip(ours, errors):
            assert mine <= theirs * (1 + 1e-9) + 1e-12, (name, numbers)


def test_quantiles_fall_twice_as_fast_as_the_exponential_mechanism() -> None:
    shown = preview("median(a, bins=[0, 1, 2, 3, 4])", epsilon=1, margins=[10, 20])
    curves = dict(shown.series)
    ours, theirs = curves["optimaldp"], curves["exponential"]
    assert math.log(ours[0] / ours[1]) == pytest.approx(10, rel=1e-3)
    assert math.log(theirs[0] / theirs[1]) == pytest.approx(5, rel=0.02)


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_reliable_margins_are_the_least(delta: object) -> None:
    shown = preview("majority(x)", epsilon="0.3", delta=delta, n=1000)
    for (name, margin), limit in zip(shown.reliable, (0.05, 0.01, 0.0)):
        if margin is None:
            assert (limit, delta) == (0.0, 0), name
            continue
        around = preview("majority(x)", epsilon="0.3", delta=delta, margins=[margin - 1, margin])
        assert around.error(margin) <= limit < around.error(margin - 1)


def test_an_error_too_small_for_a_float_is_not_called_zero() -> None:
    assert preview("majority(x)", epsilon=10).reliable[2] == ("0", None)


@pytest.mark.parametrize("text", ["majority(x)", "median(a, bins=[0, 1, 2, 3])", "winner(v, ['a', 'b', 'c'])"])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_inverse_is_sharp(text: str, delta: float) -> None:
    epsilon = epsilon_for(text, n=1000, margin=0.01, accuracy=0.95, delta=delta)
    at = preview(text, epsilon=epsilon, delta=delta, margins=[10])
    assert at.error(10) <= 0.05
    below = preview(text, epsilon=epsilon * 0.98, delta=delta, margins=[10])
    assert below.error(10) > 0.05


def test_refusals() -> None:
    with pytest.raises(QuestionError):
        preview("winner(v)", epsilon=1)
    with pytest.raises(QuestionError):
        preview("histogram(v)", epsilon=1)
    with pytest.raises(LevelError):
        preview("majority(x)", epsilon=-1)
    with pytest.raises(InputError):
        preview("majority(x)", epsilon=1, n=0)
    with pytest.raises(InputError):
        preview("majority(x)", epsilon=1, margins=[0])
    with pytest.raises(InputError):
        epsilon_for("majority(x)", n=1000, accuracy=1)
    with pytest.raises(InputError):
        epsilon_for("majority(x)", n=1000, accuracy=2)


def test_a_table_has_at_most_a_million_million_people() -> None:
    most = 10**12
    assert preview("majority(x)", epsilon=1, n=most).persons == most
    assert preview("majority(x)", epsilon=1, margins=[most]).error(most) == 0
    for more in ({"n": most + 1}, {"margins": [most + 1]}, {"level_sizes": {1: most + 1}}):
        with pytest.raises(InputError, match=r"positive whole number|is not a number of people"):
            preview("majority(x)", epsilon=1, **more)


def test_views(tmp_path: Path) -> None:
    shown = odp.preview("compare(v, 'a<b', 'c')", epsilon=1, delta=Fraction(1, 10**6), n=500)
    assert "a&lt;b" in shown._repr_html_()
    assert "\n" not in repr(shown)
    assert json.loads(shown.to_json())["error"]["optimaldp"]
    from optimaldp.plots.style import save

    assert save(shown.plot(), tmp_path / "preview.png").stat().st_size > 5000


def test_command_line_reads_no_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    picture, table = tmp_path / "p.svg", tmp_path / "t.csv"
    table.write_text("x\n" + "yes\n" * 1000)
    monkeypatch.setattr("optimaldp.tables.counting.without_engine_message", lambda *_: pytest.fail("a row was read"))
    arguments = ["preview", "--data", str(table), "--question", "majority(x = 'yes')", "--epsilon", "1", "--json"]
    monkeypatch.setattr(sys, "argv", ["optimaldp", *arguments, "--plot", str(picture), "--n", "100"])
    try:
        main()
    except SystemExit as stop:
        assert not stop.code  # noqa: PT017
    assert json.loads(capsys.readouterr().out)["reliable_from"]["at most 5 %"] == 3
    assert picture.exists()


@pytest.mark.parametrize(
    "options",
    [
        ["--levels", "trust"],
        ["--where", "garbage((("],
        ["--part", "north"],
        ["--ledger", "/nonexistent"],
        ["--data", "no such file.csv"],
        ["--reduce", "any"],
        ["--by", "sex"],
        ["--aim", "typical"],
        ["--level-sizes", "some"],
    ],
)
def test_a_preview_honours_or_refuses_every_option(
    options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["preview", "--question", "count(x = 1) >= 5", "--epsilon", "1", *options]
    monkeypatch.setattr(sys, "argv", ["optimaldp", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
