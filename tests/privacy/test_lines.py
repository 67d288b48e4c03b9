"""Rows along a line: 001 section 5 with the corrected transitions, and ordered answers without end."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from golden import vectors

from optimaldp.errors import LevelError
from optimaldp.mechanisms.certificate_documents import read_written_level
from optimaldp.privacy import ApproximateDP, GaussianDP, level
from optimaldp.privacy.lines import OrderedDistribution, phases, row_after, transitions


def promise(instance: dict[str, Any]) -> ApproximateDP:
    made = level(f"ln({instance['E']})", instance["delta"])
    assert isinstance(made, ApproximateDP)
    return made


@pytest.mark.parametrize("instance", vectors("graphs", "line"), ids=lambda x: x["id"])
def test_figures_3_to_5(instance: dict[str, Any]) -> None:
    row = [Fraction(p) for p in instance["m"]]
    assert (sum(row) == 1) is not instance["id"].endswith("printed_m")  # rounded to four places: 0.9999
    assert transitions(promise(instance), row) == instance["expect"]["tau"]
    for steps, expected in instance["expect"].get("M_t", {}).items():
        got = row_after(promise(instance), row, int(steps))
        assert sum(got) == 1
        assert [float(p) for p in got] == pytest.approx(expected, abs=1e-15)


def test_at_most_three_phases() -> None:
    row = [Fraction(p) for p in ("3/5500", "9/1100", "3/22", "3/11", "1601/2750")]
    found = phases(level("ln(6/5)"), row)
    assert [(p.turns, p.decays) for p in found] == [(37, math.inf), (22, 37), (7, 22), (1, 7), (0, 1)]
    assert [found[2].at(t) for t in (0, 6, 7, 21, 22, 99)] == [1, 1, 2, 2, 3, 3]


def test_the_tail_keeps_its_digits() -> None:
    last = row_after(level(1), [Fraction(1, 3), Fraction(2, 3)], 10**6)[-1]
    assert 0 < last < 1e-300


def test_an_ordered_set_moves_by_its_distribution_function() -> None:
    uniform = OrderedDistribution(lambda x: max(Fraction(0), min(Fraction(1), Fraction(x))), least=Fraction(0))
    moved = uniform.after(level("ln(2)", "1/10"), 1)
    assert moved(Fraction(0)) == Fraction(1, 10)  # the least answer receives an atom of delta
    assert moved(Fraction(-1)) == 0
    assert moved(Fraction(1, 4)) == Fraction(6, 10)
    assert moved(Fraction(1)) == 1


def test_without_a_least_answer_delta_leaves_no_optimum() -> None:
    open_interval = OrderedDistribution(lambda x: Fraction(x))
    assert open_interval.after(level("ln(2)"), 3)(Fraction(1, 10)) == Fraction(3, 5) + Fraction(1, 10)
    with pytest.raises(LevelError, match="no optimum exists"):
        open_interval.after(level("ln(2)", "1/10"), 1)


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"mu": "1e-99999"}, "mu"),
        ({"mu": "1e-1001"}, "mu"),
        ({"mu": "1e7"}, "mu"),
        ({"epsilon": 1, "delta": "1e-99999"}, "delta"),
    ],
)
def test_a_parameter_that_cannot_be_meant_is_refused_by_name_and_value(parameters: dict[str, Any], field: str) -> None:
    """A level of 100,000 digits used to be made, and to fail where it was shown."""
    with pytest.raises(LevelError, match=rf"^{field}: '{parameters[field]}' is too (small|large) to mean"):
        level(**parameters)
    with pytest.raises(LevelError, match=rf"^edges\[3\].{field}: '{parameters[field]}' is too"):
        read_written_level(parameters, name="edges[3]")


def test_no_level_below_what_can_be_shown_is_made() -> None:
    with pytest.raises(LevelError, match="too small"):
        GaussianDP(Fraction(1, 10**1001))


@pytest.mark.parametrize(
    ("row", "total"),
    [
        (["0.5", "0.6"], "1.1"),
        (["1/3", "1/3"], "2/3"),
        ([], "0"),
        (["0.33", "0.33", "0.33"], "0.99"),  # two places are too few to be taken as rounded
        (["0.3332", "0.3333", "0.3333"], "0.9998"),  # each of three numbers may miss half of the last place: 0.00015
        (["0.3333", "0.3333", "1/3"], "14999/15000"),  # no decimal was rounded to a third
    ],
)
def test_a_row_that_is_not_one_is_refused(row: list[str], total: str) -> None:
    for use in (lambda: row_after(level("ln(2)"), row, 1), lambda: transitions(level("ln(2)"), row)):
        with pytest.raises(LevelError) as refused:
            use()
        assert str(refused.value).startswith(f"row: '{total}' is what the probabilities sum to, and not one; ")


def test_what_rounding_took_goes_to_the_last_answer() -> None:
    rounded, meant = ["0.3333", "0.3333", "0.3333"], ["0.3333", "0.3333", "0.3334"]
    assert row_after(level("ln(2)"), rounded, 2) == row_after(level("ln(2)"), meant, 2)
    most = ["0.333", "0.333", "0.332", "0"]  # four numbers, each half of a thousandth short
    assert row_after(level("ln(2)"), most, 1) == row_after(level("ln(2)"), [*most[:3], "0.002"], 1)
    above = ["0.6667", "0.1667", "0.1667"]
    assert row_after(level("ln(2)"), above, 1) == row_after(level("ln(2)"), ["0.6667", "0.1667", "0.1666"], 1)
    with pytest.raises(LevelError, match="sum to"):
        row_after(level("ln(2)"), ["0.5001", "0.5", "0"], 1)  # nothing is left to take it from
    with pytest.raises(LevelError, match="is not a list of probabilities"):
        row_after(level("ln(2)"), "0.5", 1)
