"""What a potential of either sign proves on a forest, against every choice of factors on its edges."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from small_bounds import (
    HALF,
    LINE,
    ONE,
    PARTS,
    RING,
    SEVEN,
    STAR,
    THIRD,
    TWO,
    WEIGHTS,
    ZERO,
    edges_of,
    masses_of,
    random_numbers,
)

from optimaldp.certify.channels import potentials as forests
from optimaldp.certify.channels.potentials import by_potential, by_signed_potential, is_forest
from optimaldp.certify.channels.reading import AnswerPair, Factors


def test_what_a_forest_is() -> None:
    assert is_forest(4, LINE)
    assert is_forest(4, STAR)
    assert is_forest(4, PARTS)
    assert is_forest(4, [])
    assert not is_forest(4, RING)
    assert not is_forest(4, edges_of([(0, 1), (0, 1)]))
    assert not is_forest(4, edges_of([(2, 2)]))
    assert not is_forest(5, edges_of([(3, 4), (0, 1), (1, 2), (2, 0)]))
    assert is_forest(7, edges_of([(6, 5), (5, 4), (4, 3), (0, 1), (1, 2), (2, 6)]))
    assert not is_forest(7, edges_of([(6, 5), (5, 4), (4, 3), (0, 1), (1, 2), (2, 6), (0, 3)]))


TREE = [AnswerPair(0, 1, ONE), AnswerPair(1, 2, ONE), AnswerPair(1, 3, Fraction(2)), AnswerPair(3, 4, ONE)]
FORESTS = {"line": (4, LINE), "star": (4, STAR), "tree": (5, TREE), "parts": (4, PARTS), "root": (4, STAR[::-1])}


def _least_sums(potential: list[Fraction], edges: list[AnswerPair], factors: Factors) -> list[Fraction]:
    """``v_z`` by trying the factor and its inverse on every edge; what z does not reach is left out."""
    size, sums = len(potential), []
    for z in range(size):
        best = None
        for signs in product((1, -1), repeat=len(edges)):
            phi: dict[int, Fraction] = {z: ONE}
            while True:
                grown = dict(phi)
                for e, sign in zip(edges, signs):
                    x = factors.between(e.length)[1]
                    if e.one in phi:
                        grown.setdefault(e.other, phi[e.one] * (x if sign > 0 else 1 / x))
                    if e.other in phi:
                        grown.setdefault(e.one, phi[e.other] / (x if sign > 0 else 1 / x))
                if len(grown) == len(phi):
                    break
                phi = grown
            value = sum((potential[y] * cell for y, cell in phi.items()), ZERO)
            best = value if best is None else min(best, value)
        assert best is not None
        sums.append(best)
    return sums


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("factors", [TWO, SEVEN], ids=["ln(2)", "0.7"])
def test_least_sums_on_forests(name: str, factors: Factors) -> None:
    (size, edges), generator = FORESTS[name], np.random.default_rng(11)
    for _ in range(4):
        potential = random_numbers(generator, size, signed=True)
        exact = _least_sums(potential, edges, factors)
        assert forests._least_sums(potential, edges, factors, forests._exactly()) == exact
        rough = forests._least_sums(potential, edges, factors, forests._rounded_down())
        for value, least in zip(rough, exact):
            assert Fraction(value) <= least
            assert float(value) == pytest.approx(float(least), rel=1e-12, abs=1e-13)


def test_roundings_go_down() -> None:
    exact, down = forests._exactly(), forests._rounded_down()
    for value, factor in product(
        (THIRD, -THIRD, Fraction(7), -Fraction(1, 7), ZERO), (Fraction(2), Fraction(5, 3), ONE)
    ):
        share = value / factor if value >= 0 else value * factor
        assert exact.passed(value, factor) == share
        read = Fraction(down.read(value))
        assert read < value
        assert Fraction(down.passed(float(value), factor)) <= (
            Fraction(float(value)) / factor if value >= 0 else Fraction(float(value)) * factor
        )
        assert float(down.passed(float(value), factor)) == pytest.approx(float(share), rel=1e-14, abs=1e-300)
    for values in ([0.1, 0.2, 0.3], [1e-30, 1.0, -1.0], [0.7, -0.1]):
        assert Fraction(down.total(values)) <= sum(map(Fraction, values)) == exact.total(values)
        assert down.total(values) == pytest.approx(float(sum(map(Fraction, values))), rel=1e-14)


@pytest.mark.parametrize("in_floats", [False, True])
def test_signed_potentials_are_raised_or_stretched(in_floats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if in_floats:
        monkeypatch.setattr(forests, "EXACT_ANSWERS", 3)
    generator, ways = np.random.default_rng(13), set()
    for trial in range(15):
        potential = random_numbers(generator, 4, signed=True)
        if trial % 3:
            potential = [abs(p) / 300 if k != trial % 4 else -abs(p) / 900 for k, p in enumerate(potential)]
        masses = masses_of(*(int(n) for n in generator.integers(0, 9, 4) + np.array([1, 0, 0, 0])))
        if not trial:  # short by little where little is needed: to raise it costs less than to stretch it
            potential, masses = [Fraction(n, 10) for n in (4, 3, 3, -1)], masses_of(57, 20, 5, 18)
        least, total = _least_sums(potential, LINE, TWO), sum(potential, ZERO)
        raised = total + 4 * max(ZERO, *(mass - v for mass, v in zip(masses, least)))
        expected = {"one": ONE, "raised": raised}
        if all(v > 0 or v == mass == 0 for v, mass in zip(least, masses)):
            expected["stretched"] = total * max(mass / v for mass, v in zip(masses, least) if v)
        told = by_signed_potential(potential, LINE, TWO, masses)
        best = min(expected.values())
        ways |= {way for way, value in expected.items() if value == best}
        assert best <= told.value <= best + Fraction(1, 10**12)
        assert in_floats or told.value == best
        assert "every branch" in told.reason
    assert ways == {"one", "raised", "stretched"}


@pytest.mark.parametrize("in_floats", [False, True])
@pytest.mark.parametrize(
    ("own", "weight", "stretched"),
    [(ZERO, 0, True), (ZERO, 1, False), (Fraction(-1, 100), 0, False), (Fraction(1, 100), 0, True)],
)
def test_what_is_not_reached_cannot_be_stretched(
    in_floats: bool, own: Fraction, weight: int, stretched: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer 2 stands alone: a sum of 0 there is enough for nobody, and nothing below 0 is enough at all."""
    if in_floats:
        monkeypatch.setattr(forests, "EXACT_ANSWERS", 2)
    potential, masses = [Fraction(1, 10), Fraction(-1, 100), own], masses_of(2, 1, weight)
    least, total = _least_sums(potential, LINE[:1], TWO), sum(potential, ZERO)
    told = by_signed_potential(potential, LINE[:1], TWO, masses).value
    by_raising = min(ONE, total + 3 * max(ZERO, *(mass - v for mass, v in zip(masses, least))))
    by_stretching = total * max(mass / v for mass, v in zip(masses, least) if v)
    assert by_stretching < by_raising
    exact = by_stretching if stretched else by_raising
    if in_floats and not own:  # a 0 that was rounded down is below 0: then only the weaker bound is safe
        exact = by_raising
    assert exact <= told <= exact + Fraction(1, 10**12)


def test_signs_are_for_forests_alone() -> None:
    signed = by_potential([1, "-1/10", "1/2", 1], LINE, TWO, WEIGHTS)
    assert "every branch" in signed.reason
    assert signed == by_signed_potential([ONE, Fraction(-1, 10), HALF, ONE], LINE, TWO, WEIGHTS)
    assert "covers the prior" in by_potential([1, 0, "1/2", 1], LINE, TWO, WEIGHTS).reason
    assert by_potential([1, 0, "1/2", 1], LINE, TWO, WEIGHTS).reason == "a potential that covers the prior"


def test_every_answer_comes_after_its_parent() -> None:
    neighbours: list[dict[int, Fraction]] = [{} for _ in range(6)]
    for one, other in ((5, 0), (5, 3), (1, 4)):
        neighbours[one][other] = neighbours[other][one] = ONE
    order, parent = forests._outwards(neighbours)
    assert sorted(order) == list(range(6))
    assert [parent[y] for y in range(6)] == [-1, -1, -1, 5, 1, 0]
    assert all(parent[y] < 0 or order.index(parent[y]) < order.index(y) for y in order)
