"""Plans of noise against brute force: every mode and every width of small laws, at the edge where the referee turns over."""

from __future__ import annotations

from fractions import Fraction
from math import comb
from types import SimpleNamespace
from typing import Any

import pytest

from optimaldp.certify import noise as recipes
from optimaldp.certify import noise as sparse_recipes
from optimaldp.certify.noise import (
    certify_noise,
    certify_rows,
    check_noise,
    check_recipe,
    check_sparse_recipe,
    draw_row,
)
from optimaldp.errors import CertificateError, NotCertifiedError
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.sampling import SystemBits

READ = Epsilon.read


def weight(bins: int, copies: int, ratio: Fraction, total: int) -> Fraction:
    return comb(bins - 1 + total, total) ** copies / ratio**total


def plan(bins: int, epsilon: str, *, copies: int, mode: int, width: int) -> dict[str, Any]:
    shared = copies == 2
    return {
        "kind": "histogram-noise",
        "bins": bins,
        "epsilon": epsilon,
        "neighbours": "substitution" if shared else "add-remove",
        "shared_total": shared,
        "totals": {"ratio_epsilon": epsilon, "copies": copies, "mode": mode, "width": width},
    }


@pytest.mark.parametrize(
    ("bins", "copies", "ratio"), [(2, 2, 2), (4, 2, 2), (3, 1, 2), (5, 1, Fraction(3, 2)), (1, 1, 4)]
)
def test_every_mode_and_every_width(bins: int, copies: int, ratio: Fraction) -> None:
    ratio = Fraction(ratio)

    def f(total: int) -> Fraction:
        return weight(bins, copies, ratio, total)

    top = max(f(total) for total in range(60))
    for mode in range(24):
        for width in range(1, 16):
            objections = check_recipe(plan(bins, f"ln({ratio})", copies=copies, mode=mode, width=width)).objections
            assert any("not a mode" in one for one in objections) is (f(mode) < top), (mode, width)
            assert any("right" in one for one in objections) is (2 * f(mode + width) > f(mode)), (mode, width)
            left = mode >= width and 2 * f(mode - width) > f(mode)
            assert any("left" in one for one in objections) is left, (mode, width)


def test_the_level_is_the_first_objection_and_the_one_that_is_printed() -> None:
    recipe = plan(2, "ln(2)", copies=2, mode=9, width=1) | {"epsilon": "ln(3)"}
    verdict = check_recipe(recipe)
    assert ["already" in one for one in verdict.objections][:2] == [True, False]
    assert "already" in str(verdict)


def test_of_two_equal_modes_both_are_modes() -> None:
    """Two bins at ratio 2, one copy: the weights 1, 2/2, 3/4 ... are as large at 0 as at 1."""
    for mode, fine in ((0, True), (1, True), (2, False)):
        objections = check_recipe(plan(2, "ln(2)", copies=1, mode=mode, width=9)).objections
        assert any("mode" in one for one in objections) is not fine


@pytest.mark.parametrize("epsilon", ["0.37", "0.05", "ln(1.07)"])
@pytest.mark.parametrize("copies", [1, 2])
def test_modes_and_widths_at_other_levels(epsilon: str, copies: int) -> None:
    """By floats, away from equality; widths on both sides of the 64 steps that are multiplied out."""
    import math

    value, bins = float(READ(epsilon)), 4

    def f(total: int) -> float:
        return copies * (math.lgamma(bins + total) - math.lgamma(total + 1)) - value * total

    mode = max(range(400), key=f)
    for width in (1, 3, 8, 20, 40, 63, 64, 65, 66, 90, 150):
        objections = check_recipe(plan(bins, epsilon, copies=copies, mode=mode, width=width)).objections
        for side, total in (("right", mode + width), ("left", mode - width)):
            gap = f(mode) - f(total) - math.log(2) if total >= 0 else 1.0
            assert abs(gap) > 1e-9
            assert any(side in one for one in objections) is (gap < 0), (width, side)
    for off in (mode - 1, mode + 1):
        if off >= 0:
            assert not check_recipe(plan(bins, epsilon, copies=copies, mode=off, width=200)).accepted


def test_what_noise_costs() -> None:
    """Noise with sum 0 betrays who comes and goes; independent noise costs twice where a record is replaced."""
    one = plan(3, "ln(2)", copies=2, mode=2, width=9)
    assert check_recipe(one).level == READ("ln(2)")
    assert check_recipe({**one, "neighbours": "add-remove"}).level.infinite
    two = plan(3, "ln(2)", copies=1, mode=1, width=9)
    assert check_recipe(two).level == READ("ln(2)")
    twice = check_recipe({**two, "neighbours": "substitution"})
    assert twice.level == READ("ln(4)")
    assert not twice.private
    for shared, copies in ((True, 1), (False, 2), (True, 3)):
        totals = {**one["totals"], "copies": copies}
        verdict = check_recipe({**one, "shared_total": shared, "totals": totals})
        assert verdict.level.infinite
        assert not verdict.private
        assert "no known noise" in verdict.objections[0]
    for level, private, words in (("ln(3)", True, "larger than"), ("ln(3/2)", False, "only")):
        verdict = check_recipe({**one, "epsilon": level})
        assert verdict.private is private
        assert words in verdict.objections[0]
    assert "no proper law" in check_recipe(plan(3, "0", copies=1, mode=1, width=1)).objections[-1]
    assert "no proper law" in check_recipe(plan(3, "inf", copies=1, mode=1, width=1)).objections[-1]


@pytest.mark.parametrize("field", ["bins", "copies", "mode", "width"])
def test_numbers_of_a_plan_are_whole_and_not_too_small(field: str) -> None:
    own = plan(3, "ln(2)", copies=1, mode=1, width=9)
    smallest = 0 if field == "mode" else 1
    for wrong in (smallest - 1, True, 1.0, "1"):
        broken = {**own, "totals": {**own["totals"], field: wrong}} if field != "bins" else {**own, "bins": wrong}
        with pytest.raises(CertificateError, match=f"from {smallest} on"):
            check_recipe(broken)
    assert check_recipe(plan(1, "ln(2)", copies=1, mode=0, width=1)).accepted


def test_exact_halves() -> None:
    """``quotient e^(-steps decay) <= 1/2``: equality counts, at a rational level; next to it at another."""
    for quotient, passes in ((Fraction(4), True), (Fraction(4) + Fraction(1, 10**30), False)):
        assert recipes._scaled_at_most(quotient, READ("ln(2)"), 3) is passes
    assert recipes._scaled_at_most(Fraction(1, 8), READ("ln(2)"), -2)
    assert not recipes._scaled_at_most(Fraction(1, 7), READ("ln(2)"), -2)
    assert recipes._scaled_at_most(Fraction(10), READ(1), 3)  # e^3 = 20.08
    assert not recipes._scaled_at_most(Fraction(1005, 100), READ(1), 3)
    assert recipes._scaled_at_most(Fraction(5), READ("1 + ln(2)"), 2) is (10 <= 4 * 2.718281828459045**2)


# --- sparse noise -------------------------------------------------------------------------------------------------------


def sparse(cells: int, epsilon: str, least: int, mode: int, width: int, **more: Any) -> dict[str, Any]:
    survivors = {"mode": mode, "width": width}
    return {
        "kind": "sparse-noise",
        "cells": cells,
        "epsilon": epsilon,
        "neighbours": "add-remove",
        "least": least,
        "survivors": survivors,
        **more,
    }


@pytest.mark.parametrize("least", [1, 2, 3])
@pytest.mark.parametrize(("epsilon", "ratio"), [("ln(2)", 2.0), ("0.5", 1.6487212707001282), ("ln(3)", 3.0)])
def test_every_mode_and_every_width_of_survivors(epsilon: str, ratio: float, least: int) -> None:
    """A binomial number with p = theta^least / (1 + theta), by brute force."""
    cells = 12
    chance = ratio**-least / (1 + 1 / ratio)

    def f(number: int) -> float:
        return comb(cells, number) * chance**number * (1 - chance) ** (cells - number)

    top = max(map(f, range(cells + 1)))
    for mode in range(cells + 3):
        for width in range(1, 9):
            objections = check_sparse_recipe(sparse(cells, epsilon, least, mode, width)).objections
            is_mode = mode <= cells and f(mode) > top * (1 - 1e-9)
            assert any("not a mode" in one for one in objections) is not is_mode, mode
            if mode > cells:
                continue
            for side, number in (("right", mode + width), ("left", mode - width)):
                if 0 <= number <= cells and abs(2 * f(number) / f(mode) - 1) < 1e-9:
                    continue
                bad = 0 <= number <= cells and 2 * f(number) > f(mode)
                assert any(side in one for one in objections) is bad, (mode, width, side)


def test_the_chance_to_survive() -> None:
    assert sparse_recipes._exact_chance(Fraction(2), 1) == Fraction(1, 3)
    assert sparse_recipes._exact_chance(Fraction(2), 3) == Fraction(1, 12)
    assert float(sparse_recipes._odds(READ("ln(2)"), 3)) == pytest.approx(1 / 11)
    assert float(sparse_recipes._odds(READ("ln(2)"), 1)) == pytest.approx(1 / 2)
    # Eleven cells at chance 1/12: zero is as likely as one.
    assert sparse_recipes._mode_gap(11, READ("ln(2)"), 3, 0) == 0
    assert sparse_recipes._mode_gap(10, READ("ln(2)"), 3, 0) == 1
    assert sparse_recipes._mode_gap(12, READ("ln(2)"), 3, 0) == -1
    assert sparse_recipes._mode_gap(11, READ("ln(2)"), 3, 1) == 1
    assert sparse_recipes._mode_gap(11, READ("0.7"), 3, 0) == 1
    assert sparse_recipes._mode_gap(11, READ("0.69"), 3, 0) == -1


def test_sparse_noise_of_no_proper_law_or_of_another_level() -> None:
    assert "no proper law" in check_sparse_recipe(sparse(12, "0", 1, 0, 1)).objections[0]
    assert "no proper law" in check_sparse_recipe(sparse(12, "inf", 1, 0, 1)).objections[0]
    replaced = check_sparse_recipe(sparse(12, "ln(2)", 3, 1, 3, neighbours="substitution"))
    assert replaced.level == READ("ln(4)")
    assert not replaced.private
    assert "only" in replaced.objections[0]
    for field, smallest in (("cells", 1), ("least", 1), ("mode", 0), ("width", 1)):
        for wrong in (smallest - 1, True, 1.5):
            own = sparse(12, "ln(2)", 3, 1, 3)
            broken = {**own, field: wrong} if field in own else {**own, "survivors": {**own["survivors"], field: wrong}}
            with pytest.raises(CertificateError, match=f"from {smallest} on"):
                check_sparse_recipe(broken)
    for broken in ({**sparse(12, "ln(2)", 3, 1, 3), "kind": "other"}, {**sparse(12, "ln(2)", 3, 1, 3), "more": 1}):
        with pytest.raises(CertificateError, match="fields"):
            check_sparse_recipe(broken)
    assert check_sparse_recipe(sparse(1, "ln(2)", 1, 0, 2)).accepted


def test_millions_of_cells() -> None:
    """Far from where products could be written out: the plan of the sampler passes, a narrower one does not."""
    from optimaldp.histograms.noise.sparse import SparseNoise

    noise = SparseNoise(10**12, READ("1e-3"), 20_000)
    own = noise.recipe_document
    assert check_sparse_recipe(own).accepted
    assert not check_sparse_recipe(
        {**own, "survivors": {**own["survivors"], "width": own["survivors"]["width"] - 1}}
    ).accepted
    for off in (1, -1):
        assert not check_sparse_recipe(
            {**own, "survivors": {**own["survivors"], "mode": own["survivors"]["mode"] + off}}
        ).accepted


# --- rows ---------------------------------------------------------------------------------------------------------------


def rows(values: list[Fraction], places: list[list[int]], edges: list[tuple[int, int]], epsilon: str = "ln(2)") -> bool:
    try:
        certify_rows(values, places, edges, epsilon=READ(epsilon))
    except NotCertifiedError:
        return False
    return True


def test_rows_of_probabilities() -> None:
    third, two = Fraction(1, 3), Fraction(2, 3)
    assert rows([third, two], [[0, 1], [1, 0]], [(0, 1)])
    assert not rows([third, two], [[0, 1], [1, 0]], [(0, 1)], "ln(1.99)")
    assert rows([third, two], [[0, 1], [1, 0]], [], "0")
    assert not rows([third, two], [[0, 0], [1, 0]], [])
    assert not rows([-third, 1 + third], [[0, 1]], [])
    zero, one = Fraction(0), Fraction(1)
    assert not rows([zero, one], [[0, 1], [1, 0]], [(0, 1)], "inf")
    assert rows([zero, one], [[0, 1], [0, 1]], [(0, 1)], "0")
    half = Fraction(1, 2)
    for edge in ((0, 1), (1, 0)):
        assert not rows([zero, one, half], [[0, 1], [2, 2]], [edge], "5")
        assert rows([Fraction(1, 4), Fraction(3, 4), half], [[0, 1], [2, 2]], [edge])
        assert not rows([Fraction(1, 5), Fraction(4, 5), half], [[0, 1], [2, 2]], [edge])
    certified = certify_rows([zero, one], [[0, 1], [1, 0]], [], epsilon=READ(1))
    assert [draw_row(certified, row, SystemBits()) for row in (0, 1)] == [1, 0]
    assert "0 pairs" in certified.finding.checks[1]
    with pytest.raises(NotCertifiedError):
        draw_row([[zero, one]], 0, SystemBits())  # type: ignore[arg-type]


# --- the noise of one table ---------------------------------------------------------------------------------------------


def test_noise_is_the_one_that_its_table_needs() -> None:
    """As many cells, the same neighbours, the promised level: each by itself is refused, and named."""
    dense, few = plan(2, "ln(2)", copies=2, mode=2, width=4), sparse(12, "ln(2)", 3, 1, 3)
    substitution, add_remove = Neighbours.SUBSTITUTION, Neighbours.ADD_REMOVE
    for document, cells, own, other in ((dense, 2, substitution, add_remove), (few, 12, add_remove, substitution)):
        assert check_noise(document, cells=cells, epsilon=READ("ln(2)"), neighbours=own).accepted
        for wanted, words in (
            ({"cells": cells + 1}, f"covers {cells} of {cells + 1} cells"),
            ({"neighbours": other}, "was promised"),
            ({"epsilon": READ("ln(3)")}, "was promised"),
        ):
            promised = {"cells": cells, "epsilon": READ("ln(2)"), "neighbours": own, **wanted}
            verdict = check_noise(document, **promised)  # type: ignore[arg-type]
            assert not verdict.accepted
            assert words in verdict.objections[-1]
            assert verdict.claimed == promised["epsilon"]
            with pytest.raises(NotCertifiedError):
                certify_noise(SimpleNamespace(recipe_document=document), **promised)  # type: ignore[arg-type]
        noise = SimpleNamespace(recipe_document=document)
        assert certify_noise(noise, cells=cells, epsilon=READ("ln(2)"), neighbours=own).mechanism is noise  # type: ignore[type-var]
