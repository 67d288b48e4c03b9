"""What a certificate of a channel proves, each kind against its definition: exactly, and in floats never below that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

from optimaldp.certify.channels import flows, forests, optimality, potentials, theorems
from optimaldp.certify.channels.bound import UNIT, UtilityBound, as_floats, certificate_number
from optimaldp.certify.channels.factors import Factors
from optimaldp.certify.channels.flows import by_flows
from optimaldp.certify.channels.forests import by_signed_potential, is_forest
from optimaldp.certify.channels.optimality import proven_bound, utility
from optimaldp.certify.channels.potentials import by_potential
from optimaldp.certify.channels.reading import Matrix, Neighbours
from optimaldp.certify.channels.theorems import by_theorem
from optimaldp.certify.channels.verdict import verify_channel
from optimaldp.channels import AnswerGraph, Channel
from optimaldp.errors import CertificateError
from optimaldp.privacy.epsilon import Epsilon

ZERO, ONE, HALF, THIRD = Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3)
TWO, SEVEN = Factors(Epsilon.read("ln(2)")), Factors(Epsilon.read("0.7"))


def _edges(pairs: Any, length: Fraction = ONE) -> list[Neighbours]:
    return [Neighbours(one, other, length) for one, other in pairs]


def _masses(*weights: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(w, sum(weights)) for w in weights)


def _random(generator: np.random.Generator, size: int, *, signed: bool = False) -> list[Fraction]:
    low = -40 if signed else 1
    return [Fraction(int(n), 97) for n in generator.integers(low, 100, size)]


LINE = _edges([(0, 1), (1, 2), (2, 3)])
STAR = _edges([(0, 1), (0, 2), (0, 3)])
RING = _edges([(0, 1), (1, 2), (2, 3), (3, 0)])
MIXED = [Neighbours(0, 1, ONE), Neighbours(1, 2, HALF), Neighbours(2, 3, Fraction(2)), Neighbours(3, 0, Fraction(3, 2))]
WEIGHTS = _masses(5, 1, 2, 4)


# --- numbers ---------------------------------------------------------------------------------------------------------


def test_numbers_of_a_certificate() -> None:
    assert certificate_number(0.1, "flow") == Fraction(0.1) != Fraction(1, 10)
    assert certificate_number("1/3", "flow") == THIRD
    assert certificate_number(0, "flow") == certificate_number(0.0, "flow") == 0
    assert certificate_number("-1/3", "flow", signed=True) == -THIRD
    for number in (-1, "-1/1000000000", -0.25):
        with pytest.raises(CertificateError, match="is negative"):
            certificate_number(number, "flow")
    for number in (math.nan, math.inf, -math.inf):
        with pytest.raises(CertificateError, match=r"flow.*is not a number"):
            certificate_number(number, "flow", signed=True)
    assert as_floats([THIRD, HALF]).tolist() == [1 / 3, 0.5]
    assert np.finfo(float).eps / 2 == UNIT


# --- flows -----------------------------------------------------------------------------------------------------------


def _flow_bound(rows: list[Any], edges: list[Neighbours], worth: Sequence[Sequence[Fraction]]) -> Fraction:
    """The definition: what each cell is worth after the weights, the best of each row."""
    left = [list(row) for row in worth]
    factor = {frozenset((e.one, e.other)): TWO.between(e.length)[1] for e in edges}
    for y, other, guess, weight in rows:
        left[y][guess] -= weight
        left[other][guess] += factor[frozenset((y, other))] * weight
    return sum((max(row) for row in left), ZERO)


@pytest.mark.parametrize("in_floats", [False, True])
@pytest.mark.parametrize("edges", [LINE, RING, MIXED], ids=["line", "ring", "mixed"])
def test_flows_are_added_up_as_they_are_defined(
    in_floats: bool, edges: list[Neighbours], monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_floats:
        monkeypatch.setattr(flows, "EXACT_ANSWERS", 3)
    generator = np.random.default_rng(5)
    diagonal = [[WEIGHTS[y] if y == z else ZERO for z in range(4)] for y in range(4)]
    for _ in range(20):
        ends = [(e.one, e.other) if generator.random() < 0.5 else (e.other, e.one) for e in edges]
        rows = [
            [*ends[k], int(generator.integers(3)), weight] for k, weight in zip([0, 1, 2, 2], _random(generator, 4))
        ]
        worth = [_random(generator, 3, signed=True) for _ in range(4)]
        told = by_flows(rows, edges, TWO, WEIGHTS, worth)
        exact = _flow_bound(rows, edges, worth)
        assert "weights" in told.reason
        assert exact <= told.value <= exact + abs(exact) * Fraction(1, 10**12) + Fraction(1, 10**12)
        assert in_floats or told.value == exact
        # Without a gain fewer guesses count, those that a best channel needs.
        assert by_flows(rows, edges, TWO, WEIGHTS, None).value <= by_flows(rows, edges, TWO, WEIGHTS, diagonal).value


@pytest.mark.parametrize("in_floats", [False, True])
def test_flows_on_ranges_of_guesses(in_floats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if in_floats:
        monkeypatch.setattr(flows, "EXACT_ANSWERS", 3)
    worth = [[ZERO] * 5 for _ in range(4)]
    many = by_flows([[0, 1, [[0, 2], [3, 5]], "1/8"]], LINE, TWO, WEIGHTS, worth).value
    single = by_flows([[0, 1, z, "1/8"] for z in (0, 1, 3, 4)], LINE, TWO, WEIGHTS, worth).value
    assert float(many) == pytest.approx(float(single), abs=1e-14)
    assert float(many) == pytest.approx(0.25)  # row 0 keeps guess 2, row 1 has twice the weight
    whole = by_flows([[0, 1, [[0, 5]], "1/8"]], LINE, TWO, WEIGHTS, worth).value
    assert float(whole) == pytest.approx(0.125)


@pytest.mark.parametrize("in_floats", [False, True])
def test_without_a_gain_only_useful_guesses_count(in_floats: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer 1 has half the mass of its neighbour at a factor of 2: guessing it is never needed."""
    if in_floats:
        monkeypatch.setattr(flows, "EXACT_ANSWERS", 1)
    pair = _edges([(0, 1)])
    assert float(by_flows([], pair, TWO, _masses(2, 1), None).value) == pytest.approx(2 / 3)
    assert float(by_flows([], pair, TWO, _masses(3, 2), None).value) == pytest.approx(1)
    # Its weight on a guess that is not needed changes nothing; on the other one it does: -1/3 and +2/3.
    assert float(by_flows([[1, 0, 1, "1/3"]], pair, TWO, _masses(2, 1), None).value) == pytest.approx(2 / 3)
    assert float(by_flows([[1, 0, 0, "1/3"]], pair, TWO, _masses(2, 1), None).value) == pytest.approx(1)
    assert float(by_flows([[0, 1, 0, "1/3"]], pair, TWO, _masses(2, 1), None).value) == pytest.approx(1)


def test_which_guesses_are_needed() -> None:
    above = {(0, 1): Fraction(2), (1, 0): Fraction(2)}
    assert flows._useful(above, _masses(2, 1)) == [0]
    assert flows._useful(above, _masses(1, 2)) == [1]
    assert flows._useful(above, _masses(1999, 1000)) == [0, 1]
    assert flows._useful({(0, 1): ONE, (1, 0): ONE}, _masses(1, 1)) == [0, 1]
    assert flows._useful(above, _masses(0, 0, 1)) == [0, 1, 2]


def test_sums_of_floats_that_lose_all_they_add_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of weights, each just below half a unit of the cell: floats add none of them."""
    monkeypatch.setattr(flows, "EXACT_ANSWERS", 1)
    pair, times = _edges([(0, 1)]), 250
    for size in (ONE, Fraction(2) ** 20):
        weight = size * Fraction(99, 200) * Fraction(1, 2**53)
        rows = [[0, 1, 0, str(weight)]] * times
        worth = [[ZERO, ZERO], [size, ZERO]]
        exact = _flow_bound([[0, 1, 0, weight]] * times, pair, worth)
        assert exact > size
        told = by_flows(rows, pair, TWO, _masses(1, 1), worth).value
        assert exact <= told <= exact + 10 * (exact - size)
        # The other way round, floats take nothing away: that is above already, and stays near.
        taken = by_flows([[1, 0, 0, str(weight)]] * times, pair, TWO, _masses(1, 1), worth).value
        assert size <= taken <= size + 20 * (exact - size)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("none", "not a list of"),
        ([[0, 1, 0]], "is not \\[answer"),
        ([5], "is not \\[answer"),
        ([[0, 1.0, 0, 1]], "is not \\[answer"),
        ([[False, 1, 0, 1]], "is not \\[answer"),
        ([[0, 2, 0, 1]], "not between two neighbours"),
        ([[0, 1, 4, 1]], "not between two neighbours"),
        ([[0, 1, -1, 1]], "not between two neighbours"),
        ([[0, 1, [[1, 1]], 1]], "not between two neighbours"),
        ([[0, 1, [[0, 5]], 1]], "not between two neighbours"),
        ([[0, 1, [[0, 1, 2]], 1]], "neither a guess nor"),
        ([[0, 1, "01", 1]], "neither a guess nor"),
        ([[0, 1, [[0, 1.0]], 1]], "neither a guess nor"),
        ([[0, 1, [5], 1]], "neither a guess nor"),
        ([[0, 1, 0, -1]], "is negative"),
    ],
)
def test_flows_that_are_none(rows: Any, words: str) -> None:
    with pytest.raises(CertificateError, match=words):
        by_flows(rows, LINE, TWO, WEIGHTS, None)


# --- potentials of one sign ------------------------------------------------------------------------------------------


def _kernel(size: int, edges: list[Neighbours], factors: Factors) -> list[list[Fraction]]:
    """The largest product of inverse factors over all paths, by relaxing until nothing grows."""
    phi = [[Fraction(int(y == z)) for z in range(size)] for y in range(size)]
    for _ in range(size):
        for e, z in product(edges, range(size)):
            inverse = 1 / factors.between(e.length)[1]
            phi[e.one][z] = max(phi[e.one][z], inverse * phi[e.other][z])
            phi[e.other][z] = max(phi[e.other][z], inverse * phi[e.one][z])
    return phi


def _potential_bound(potential: list[Fraction], phi: list[list[Fraction]], masses: Sequence[Fraction]) -> Fraction:
    reached = [sum((p * value for p, value in zip(row, potential)), ZERO) for row in phi]
    if any(r == 0 and mass for r, mass in zip(reached, masses)):
        return ONE
    return min(ONE, max(mass / r for mass, r in zip(masses, reached) if mass) * sum(potential))


PARTS = _edges([(0, 1), (2, 3)])
CLIQUE = _edges(combinations(range(4), 2))
KITE = _edges([(0, 1), (0, 2), (1, 2), (2, 3)])  # answer 2 is met twice before answer 3 is met at all
GRAPHS = {"line": LINE, "kite": KITE, "star": STAR, "ring": RING, "mixed": MIXED, "parts": PARTS, "clique": CLIQUE}


@pytest.mark.parametrize("way", ["exact", "steps", "relaxation"])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("factors", [TWO, SEVEN], ids=["ln(2)", "0.7"])
def test_potentials_are_stretched_as_they_are_defined(
    way: str, name: str, factors: Factors, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way != "exact":
        monkeypatch.setattr(potentials, "EXACT_ANSWERS", 3)
        monkeypatch.setattr(potentials, "_MOST_STEPS", 0 if way == "relaxation" else 10**9)
    edges, generator = GRAPHS[name], np.random.default_rng(7)
    phi = _kernel(4, edges, factors)
    for trial in range(12):
        potential = [p if generator.random() < 0.8 else ZERO for p in _random(generator, 4)]
        if not any(potential):
            potential[0] = ONE
        masses = _masses(*(int(n) for n in generator.integers(trial % 2, 9, 4) + np.array([1, 0, 0, 0])))
        told = by_potential(list(map(str, potential)), edges, factors, masses)
        exact = _potential_bound(potential, phi, masses)
        assert exact <= told.value <= exact * (1 + Fraction(1, 10**12))
        assert (way != "exact" and name != "clique") or told.value == exact
        assert told.value <= 1


def test_a_potential_that_reaches_nobody_proves_one() -> None:
    nothing = by_potential([1, 1, 0, 0], PARTS, TWO, WEIGHTS)
    assert nothing == UtilityBound(ONE, "the potential does not reach every answer")
    assert by_potential([0, 0, 0, 0], PARTS, TWO, WEIGHTS).value == 1
    fine = by_potential([1, 1, 0, 0], PARTS, TWO, _masses(1, 1, 0, 0))
    assert fine == UtilityBound(Fraction(2, 3), "a potential that covers the prior")
    huge = by_potential([1, 1, "1/1000", 1], LINE, TWO, _masses(1, 1, 1, 1))
    assert huge.value <= 1


def test_which_kernel_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are counted where all edges have one length and that is not too much work."""
    for name in ("_by_steps", "_by_relaxation"):
        monkeypatch.setattr(potentials, name, lambda *_, name=name: name)
    monkeypatch.setattr(potentials, "_MOST_STEPS", 16)
    assert potentials._float_kernel(4, RING, TWO) == "_by_steps"  # type: ignore[comparison-overlap]
    assert potentials._float_kernel(5, RING, TWO) == "_by_relaxation"  # type: ignore[comparison-overlap]
    assert potentials._float_kernel(4, MIXED, TWO) == "_by_relaxation"  # type: ignore[comparison-overlap]
    monkeypatch.undo()
    assert potentials._float_kernel(4, MIXED, TWO) == pytest.approx(
        np.array([[float(cell) for cell in row] for row in _kernel(4, MIXED, TWO)]), rel=1e-12
    )


@pytest.mark.parametrize("edges", [LINE, MIXED, PARTS], ids=["line", "mixed", "parts"])
def test_float_kernels_are_never_above(edges: list[Neighbours]) -> None:
    for epsilon in ("0.7", "ln(3)", "1/3", "ln(2)", "5"):
        factors = Factors(Epsilon.read(epsilon))
        exact = _kernel(4, edges, factors)
        rough = [potentials._by_relaxation(4, edges, factors)]
        if edges is not MIXED:
            rough.append(potentials._by_steps(4, edges, float(1 / factors.between(ONE)[1])))
        for kernel in rough:
            for cells, phis in zip(kernel.tolist(), exact):
                for cell, phi in zip(cells, phis):
                    assert Fraction(cell) <= phi
                    assert cell == 0 == phi or phi * (1 - Fraction(1, 10**13)) <= Fraction(cell)


def test_float_kernels_are_never_above_on_long_lines() -> None:
    size = 80
    edges = _edges(pairwise(range(size)))
    for epsilon in ("0.7", "ln(3)", "1/30", "0.011"):
        factors = Factors(Epsilon.read(epsilon))
        t = 1 / factors.between(ONE)[1]
        for kernel in (potentials._by_steps(size, edges, float(t)), potentials._by_relaxation(size, edges, factors)):
            assert all(Fraction(cell) <= t**k for k, cell in enumerate(kernel[0].tolist()))
            assert float(kernel[0, -1]) == pytest.approx(float(t ** (size - 1)), rel=1e-11)


def test_sums_over_a_kernel_are_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every answer reaches every other without loss the bound is the largest mass: floats must not say less."""
    size, generator = 200, np.random.default_rng(23)
    ring = _edges([*pairwise(range(size)), (size - 1, 0)])
    monkeypatch.setattr(potentials, "_float_kernel", lambda *_: np.ones((size, size)))
    for _ in range(8):
        told = by_potential(generator.random(size).tolist(), ring, TWO, _masses(*([1] * size)))
        assert Fraction(1, size) <= told.value <= Fraction(1, size) * (1 + Fraction(1, 10**11))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (None, "not a list of 4 numbers"),
        ([1, 1, 1], "not a list of 4 numbers"),
        ("1111", "not a list of 4 numbers"),
        ([1, 1, 1, math.nan], "is not a number"),
        ([1, 1, 1, -1], "is negative"),
    ],
)
def test_potentials_that_are_none(values: Any, words: str) -> None:
    with pytest.raises(CertificateError, match=words):
        by_potential(values, RING, TWO, WEIGHTS)


# --- potentials of either sign, on forests ---------------------------------------------------------------------------


def test_what_a_forest_is() -> None:
    assert is_forest(4, LINE)
    assert is_forest(4, STAR)
    assert is_forest(4, PARTS)
    assert is_forest(4, [])
    assert not is_forest(4, RING)
    assert not is_forest(4, _edges([(0, 1), (0, 1)]))
    assert not is_forest(4, _edges([(2, 2)]))
    assert not is_forest(5, _edges([(3, 4), (0, 1), (1, 2), (2, 0)]))
    assert is_forest(7, _edges([(6, 5), (5, 4), (4, 3), (0, 1), (1, 2), (2, 6)]))
    assert not is_forest(7, _edges([(6, 5), (5, 4), (4, 3), (0, 1), (1, 2), (2, 6), (0, 3)]))


TREE = [Neighbours(0, 1, ONE), Neighbours(1, 2, ONE), Neighbours(1, 3, Fraction(2)), Neighbours(3, 4, ONE)]
FORESTS = {"line": (4, LINE), "star": (4, STAR), "tree": (5, TREE), "parts": (4, PARTS), "root": (4, STAR[::-1])}


def _least_sums(potential: list[Fraction], edges: list[Neighbours], factors: Factors) -> list[Fraction]:
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
        potential = _random(generator, size, signed=True)
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
        potential = _random(generator, 4, signed=True)
        if trial % 3:
            potential = [abs(p) / 300 if k != trial % 4 else -abs(p) / 900 for k, p in enumerate(potential)]
        masses = _masses(*(int(n) for n in generator.integers(0, 9, 4) + np.array([1, 0, 0, 0])))
        if not trial:  # short by little where little is needed: to raise it costs less than to stretch it
            potential, masses = [Fraction(n, 10) for n in (4, 3, 3, -1)], _masses(57, 20, 5, 18)
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
    potential, masses = [Fraction(1, 10), Fraction(-1, 100), own], _masses(2, 1, weight)
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


# --- theorems --------------------------------------------------------------------------------------------------------


def _geometric(masses: Sequence[Fraction], t: Fraction, worth: Sequence[Sequence[Fraction]] | None) -> Fraction:
    """The truncated geometric mechanism, read by the best guess at every output."""
    size, value = len(masses), ZERO
    for z in range(size):
        end = z in (0, size - 1)
        column = [t ** abs(y - z) / (1 + t) * (1 if end else 1 - t) for y in range(size)]
        gains = worth or [[masses[y] * (y == g) for g in range(size)] for y in range(size)]
        value += max(sum((gains[y][g] * column[y] for y in range(size)), ZERO) for g in range(len(gains[0])))
    return value


@pytest.mark.parametrize("in_floats", [False, True])
@pytest.mark.parametrize("factors", [TWO, SEVEN], ids=["ln(2)", "0.7"])
@pytest.mark.parametrize("gain", [None, "distance"])
def test_the_theorem_on_lines(
    in_floats: bool, factors: Factors, gain: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if in_floats:
        monkeypatch.setattr(theorems, "EXACT_ANSWERS", 3)
    order = [2, 0, 4, 1, 3]
    edges = _edges(pairwise(order), Fraction(2))
    masses = _masses(5, 1, 2, 4, 3)
    place = {y: k for k, y in enumerate(order)}
    worth = None
    if gain:
        worth = [[masses[y] * (3 - Fraction(abs(place[y] - place[z]), 3)) for z in range(5)] for y in range(5)]
    told = by_theorem(edges, factors, masses, worth)
    t = 1 / factors.between(Fraction(2))[1]
    table = None if worth is None else [[worth[y][z] for z in order] for y in order]
    exact = _geometric([masses[y] for y in order], t, table)
    assert exact <= told.value <= exact * (1 + Fraction(1, 10**11))
    assert in_floats or told.value == exact
    assert "Ghosh" in told.reason


def test_the_geometric_value_in_floats_is_never_below() -> None:
    generator = np.random.default_rng(17)
    for size in (2, 5, 11):
        for t in (Fraction(1, 2), Fraction(999, 1000), Fraction(1, 10**6)):
            weights = [Fraction(int(n)) for n in generator.integers(1, 10**6, size)]
            masses = [w / sum(weights) for w in weights]
            scaled = [[m * (1000 - abs(y - z)) for z in range(size)] for y, m in enumerate(masses)]
            for worth in (None, scaled):
                exact = theorems._geometric_value(masses, t, worth)
                rough = theorems._geometric_value_in_floats(masses, t, worth)
                scale = 1 if worth is None else 1000
                assert exact < rough <= exact + Fraction(scale, 10**11)
                # The rounding of so many sums is covered, and not only when it happens to go up.
                assert rough - exact >= size * Fraction(scale, 2**54)


def test_margins_grow_with_the_number_of_answers() -> None:
    """A sum of many terms may miss by as many units of its size: so much is added, or taken off, always."""
    size, unit = 300, Fraction(1, 2**53)
    masses = [Fraction(1, size)] * size
    one_guess = [[1000 * mass] + [ZERO] * (size - 1) for mass in masses]
    for worth, exact in ((None, 1), (one_guess, 1000)):  # without noise
        assert theorems._geometric_value_in_floats(masses, ZERO, worth) - exact >= size * unit * exact
        matrix = Matrix(tuple(range(size)), tuple(range(size)), np.eye(size))
        assert exact - utility(matrix, tuple(masses), worth) >= size * unit * exact


def test_a_line_of_two() -> None:
    assert by_theorem(_edges([(0, 1)]), TWO, _masses(1, 1), None).value == Fraction(2, 3)


@pytest.mark.parametrize(
    "pairs",
    [
        [(0, 1), (1, 2), (2, 3), (3, 0)],  # a ring
        [(0, 1), (0, 2), (0, 3)],  # a star
        [(0, 1), (2, 3)],  # two lines
        [(0, 1), (1, 2), (2, 0)],  # a ring, and one alone
        [(0, 1), (1, 0), (2, 3)],
        [(0, 1), (1, 2), (1, 2)],
    ],
    ids=str,
)
def test_what_is_no_line(pairs: Any) -> None:
    assert theorems._line(4, _edges(pairs)) is None
    with pytest.raises(CertificateError, match="speaks of a line"):
        by_theorem(_edges(pairs), TWO, WEIGHTS, None)


def test_what_is_a_line() -> None:
    assert theorems._line(4, LINE) in ([0, 1, 2, 3], [3, 2, 1, 0])
    assert theorems._line(2, _edges([(0, 1)])) in ([0, 1], [1, 0])
    assert theorems._line(4, _edges([(2, 0), (3, 2), (1, 3)])) in ([0, 2, 3, 1], [1, 3, 2, 0])
    assert theorems._line(4, [*LINE[:2], Neighbours(2, 3, HALF)]) is None
    assert theorems._line(5, _edges([(0, 1), (2, 3), (3, 4), (4, 2)])) is None  # a line and a ring
    assert theorems._line(6, _edges([(0, 1), (1, 2), (1, 3), (2, 3), (4, 5)])) is None


FALLS = [[WEIGHTS[y] * (5 - abs(y - z)) for z in range(4)] for y in range(4)]


def _changed(y: int, z: int, value: Fraction) -> list[list[Fraction]]:
    return [[value if (a, b) == (y, z) else cell for b, cell in enumerate(row)] for a, row in enumerate(FALLS)]


def test_gains_that_only_fall() -> None:
    order = [0, 1, 2, 3]
    assert theorems._only_falls(FALLS, WEIGHTS, order)
    assert theorems._only_falls([[WEIGHTS[y] for _ in range(4)] for y in range(4)], WEIGHTS, order)
    assert not theorems._only_falls([row[:3] for row in FALLS], WEIGHTS, order)
    assert not theorems._only_falls(
        _changed(1, 0, FALLS[1][0] - Fraction(1, 10**9)), WEIGHTS, order
    )  # another left than right
    assert not theorems._only_falls(_changed(0, 3, FALLS[0][2] + Fraction(1, 10**9)), WEIGHTS, order)
    assert theorems._only_falls(_changed(0, 3, FALLS[0][2]), WEIGHTS, order)
    assert not theorems._only_falls(_changed(3, 0, FALLS[3][1] + Fraction(1, 10**9)), WEIGHTS, order)
    assert not theorems._only_falls(_changed(0, 1, FALLS[0][0] + Fraction(1, 10**9)), WEIGHTS, order)
    silent = _masses(0, 1, 2, 4)
    assert theorems._only_falls(_changed(0, 3, Fraction(99)), silent, order)
    assert not theorems._only_falls(_changed(3, 0, Fraction(99)), silent, order)
    with pytest.raises(CertificateError, match="speaks of a line"):
        by_theorem(LINE, TWO, WEIGHTS, _changed(3, 0, Fraction(99)))


def test_one_guess_for_each_part() -> None:
    worth = [[WEIGHTS[y] * g for g in gains] for y, gains in enumerate(([1, 0], [0, 3], [5, 1], [1, 2]))]
    alike, endless = Factors(Epsilon.read("0")), Factors(Epsilon.read("inf"))
    for edges, parts in ((PARTS, [[0, 1], [2, 3]]), (LINE, [[0, 1, 2, 3]]), (RING[1:], [[0, 1, 2, 3]])):
        assert sorted(map(sorted, theorems._parts(4, edges))) == parts
        told = by_theorem(edges, alike, WEIGHTS, None)
        assert told == UtilityBound(
            sum((max(WEIGHTS[y] for y in part) for part in parts), ZERO), "one guess for each part of the graph"
        )
        told = by_theorem(edges, alike, WEIGHTS, worth)
        assert told.value == sum((max(sum(worth[y][g] for y in part) for g in range(2)) for part in parts), ZERO)
        assert by_theorem(edges, endless, WEIGHTS, None).value == 1
        assert by_theorem(edges, endless, WEIGHTS, worth).value == sum(map(max, worth), ZERO)
    assert by_theorem([], TWO, WEIGHTS, None).value == 1
    assert [sorted(part) for part in theorems._parts(5, _edges([(0, 4), (4, 2), (2, 0)]))] == [[0, 2, 4], [1], [3]]


def test_edges_may_be_cut() -> None:
    line = by_theorem(LINE, TWO, WEIGHTS, None)
    assert by_theorem(RING, TWO, WEIGHTS, None, cut=[[0, 3]]) == line
    assert by_theorem(RING, TWO, WEIGHTS, None, cut=[(3, 0), [0, 2]]) == line
    for cut in ("03", 5, [[0, 3, 1]], [5], {"0": 3}):
        with pytest.raises(CertificateError, match="is not a list of"):
            by_theorem(RING, TWO, WEIGHTS, None, cut=cut)
    for cut in ([], [[0, 2]], [[0.0, 3.0]]):
        with pytest.raises(CertificateError, match="speaks of a line"):
            by_theorem(RING, TWO, WEIGHTS, None, cut=cut)
    every = [[0, 1], [1, 2], [2, 3], [3, 0]]
    assert by_theorem(RING, TWO, WEIGHTS, None, cut=every).value == 1


# --- utility ---------------------------------------------------------------------------------------------------------


def test_the_utility_is_that_of_the_best_guesses() -> None:
    rows = ((HALF, Fraction(1, 4), Fraction(1, 4)), (Fraction(1, 8), Fraction(3, 4), Fraction(1, 8)))
    masses = _masses(1, 3)
    worth = [[masses[0] * 2, ZERO, -masses[0]], [ZERO, masses[1], -2 * masses[1]]]
    for floats in (False, True):
        cells: Any = np.array([[float(p) for p in row] for row in rows]) if floats else rows
        matrix = Matrix((0, 1), ("a", "b", "c"), cells)
        plain, gained = utility(matrix, masses, None), utility(matrix, masses, worth)
        exact = Fraction(1, 8) + Fraction(9, 16) + Fraction(3, 32)
        assert exact - Fraction(1, 10**12) < plain <= exact
        best = Fraction(1, 4) + Fraction(9, 16) + Fraction(1, 8)
        assert best - Fraction(1, 10**12) < gained <= best
        assert floats or (plain, gained) == (exact, best)
        if floats:
            assert exact - plain >= 3 * Fraction(1, 2**53)
            assert best - gained >= 3 * Fraction(1, 2**53)


def test_the_utility_in_floats_is_never_above() -> None:
    generator = np.random.default_rng(19)
    for _ in range(12):
        rows = generator.random((6, 5))
        rows /= rows.sum(axis=1)[:, None]
        rows[0] *= 1 + 3e-10
        weights = generator.random(6)
        masses = tuple(Fraction(w) / sum(map(Fraction, weights)) for w in weights.tolist())
        shares = [[Fraction(c) / sum(map(Fraction, row)) for c in row] for row in rows.tolist()]
        matrix = Matrix(tuple(range(6)), tuple(range(5)), rows)
        table = [
            [m * Fraction(g) for g in row] for m, row in zip(masses, (1e6 * generator.random((6, 4)) - 5e5).tolist())
        ]
        for worth in (None, table):
            gains = worth or [[m * (y == g) for g in range(6)] for y, m in enumerate(masses)]
            exact = sum(
                (
                    max(sum(gain * row[z] for gain, row in zip(guess, shares)) for guess in zip(*gains))
                    for z in range(5)
                ),
                ZERO,
            )
            scale = 1 if worth is None else 10**6
            assert exact - Fraction(scale, 10**12) <= utility(matrix, masses, worth) <= exact


def test_each_kind_of_certificate_has_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("by_potential", "by_flows", "by_theorem"):
        monkeypatch.setattr(optimality, name, lambda *_, name=name, **more: (name, more))
    worth = [[ONE]] * 4

    def told(kind: str, gain: Any = None) -> Any:
        return proven_bound({"kind": kind, "cut": [[0, 1]]}, RING, TWO, WEIGHTS, gain)

    assert told("potential")[0] == "by_potential"
    assert told("linear-program dual")[0] == told("linear-program dual", worth)[0] == "by_flows"
    assert told("theorem") == told("theorem", worth) == ("by_theorem", {"cut": [[0, 1]]})
    for kind, gain in (("potential", worth), ("faith", None), (None, None)):
        with pytest.raises(CertificateError, match="is no kind of proof"):
            told(kind, gain)  # type: ignore[arg-type]


# --- the verdict -----------------------------------------------------------------------------------------------------


def _response(right: Fraction) -> Channel:
    return Channel([[right, 1 - right], [1 - right, right]], ["no", "yes"], outputs=["n", "y"])


PROOF = {"kind": "potential", "potential": ["1/3", "1/3"]}
PAIR = AnswerGraph(["no", "yes"], [("no", "yes")])


@pytest.mark.parametrize(("short", "optimal"), [("0", True), ("1e-9", True), ("1.0001e-9", False), ("2e-9", False)])
def test_a_part_in_a_billion_is_rounding(short: str, optimal: bool) -> None:
    right = Fraction(2, 3) * (1 - Fraction(short))
    verdict = verify_channel(_response(right), PAIR, epsilon="ln(2)", certificate=PROOF)
    assert verdict.private
    assert verdict.optimal is optimal
    assert bool(verdict) is optimal
    assert (verdict.utility, verdict.bound) == (right, Fraction(2, 3))
    assert verdict.gap == Fraction(2, 3) - right
    assert ("leaves room" in verdict.reason) is not optimal
    assert ("not proven optimal" in repr(verdict)) is not optimal


def test_a_verdict_says_where_and_how_much() -> None:
    broken = verify_channel(_response(Fraction(3, 4)), PAIR, epsilon="ln(2)", certificate=PROOF)
    assert broken.worst_edge in (("no", "yes"), ("yes", "no"))
    assert broken.worst_output in ("n", "y")
    assert (broken.private, broken.optimal, broken.bound, broken.gap) == (False, False, None, None)
    assert not broken
    assert repr(broken).startswith("ChannelVerdict(not private, not proven optimal, least epsilon 1.09861")
    assert f"between {broken.worst_edge[0]} and {broken.worst_edge[1]} the output {broken.worst_output} breaks" in str(
        broken.details()
    )
    document = broken.to_document()
    assert document["worst_edge"] == list(broken.worst_edge)
    assert document["epsilon"] == pytest.approx(math.log(3))
    assert (document["bound"], document["optimal"], document["utility"]) == (None, False, "0.75")
    silent = verify_channel(_response(Fraction(3, 4)), PAIR, epsilon="ln(2)")
    assert silent.optimal is None
    assert not silent
    sure = verify_channel(_response(ONE), PAIR, epsilon="inf")
    assert sure.to_document()["epsilon"] == "inf"
    assert (sure.private, bool(sure), sure.optimal) == (True, True, None)
    alike = verify_channel(_response(HALF), PAIR, epsilon="ln(2)")
    assert (alike.worst_edge, alike.worst_output, alike.epsilon) == (None, None, 0.0)
    assert alike.to_document()["worst_edge"] == []
    weighed = verify_channel(
        _response(Fraction(2, 3)), PAIR, epsilon="ln(2)", prior=["1/4", "3/4"], gain=[[1, 0], [0, 2]]
    )
    assert weighed.utility == Fraction(1, 4) * 0 + Fraction(3, 4) * 2
