"""What a potential proves: as it is defined, and in floats never less."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from small_bounds import (
    LINE,
    MIXED,
    ONE,
    PARTS,
    RING,
    SEVEN,
    STAR,
    TWO,
    WEIGHTS,
    ZERO,
    edges_of,
    masses_of,
    random_numbers,
)

from optimaldp.certify.channels import potentials, weighing
from optimaldp.certify.channels.potentials import by_potential
from optimaldp.certify.channels.reading import AnswerPair, Factors, UtilityBound
from optimaldp.errors import CertificateError
from optimaldp.privacy.epsilon import Epsilon


def _kernel(size: int, edges: list[AnswerPair], factors: Factors) -> list[list[Fraction]]:
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


CLIQUE = edges_of(combinations(range(4), 2))
KITE = edges_of([(0, 1), (0, 2), (1, 2), (2, 3)])  # answer 2 is met twice before answer 3 is met at all
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
        potential = [p if generator.random() < 0.8 else ZERO for p in random_numbers(generator, 4)]
        if not any(potential):
            potential[0] = ONE
        masses = masses_of(*(int(n) for n in generator.integers(trial % 2, 9, 4) + np.array([1, 0, 0, 0])))
        told = by_potential(list(map(str, potential)), edges, factors, masses)
        exact = _potential_bound(potential, phi, masses)
        assert exact <= told.value <= exact * (1 + Fraction(1, 10**12))
        assert (way != "exact" and name != "clique") or told.value == exact
        assert told.value <= 1


def test_a_potential_that_reaches_nobody_proves_one() -> None:
    nothing = by_potential([1, 1, 0, 0], PARTS, TWO, WEIGHTS)
    assert nothing == UtilityBound(ONE, "the potential does not reach every answer")
    assert by_potential([0, 0, 0, 0], PARTS, TWO, WEIGHTS).value == 1
    fine = by_potential([1, 1, 0, 0], PARTS, TWO, masses_of(1, 1, 0, 0))
    assert fine == UtilityBound(Fraction(2, 3), "a potential that covers the prior")
    huge = by_potential([1, 1, "1/1000", 1], LINE, TWO, masses_of(1, 1, 1, 1))
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
def test_float_kernels_are_never_above(edges: list[AnswerPair]) -> None:
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
    edges = edges_of(pairwise(range(size)))
    for epsilon in ("0.7", "ln(3)", "1/30", "0.011"):
        factors = Factors(Epsilon.read(epsilon))
        t = 1 / factors.between(ONE)[1]
        for kernel in (potentials._by_steps(size, edges, float(t)), potentials._by_relaxation(size, edges, factors)):
            assert all(Fraction(cell) <= t**k for k, cell in enumerate(kernel[0].tolist()))
            assert float(kernel[0, -1]) == pytest.approx(float(t ** (size - 1)), rel=1e-11)


def test_sums_over_a_kernel_are_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where every answer reaches every other without loss the bound is the largest mass: floats must not say less."""
    size, generator = 200, np.random.default_rng(23)
    ring = edges_of([*pairwise(range(size)), (size - 1, 0)])
    monkeypatch.setattr(potentials, "_float_kernel", lambda *_: np.ones((size, size)))
    for _ in range(8):
        told = by_potential(generator.random(size).tolist(), ring, TWO, masses_of(*([1] * size)))
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


def test_weighed_potentials_leave_out_guesses_that_nobody_needs() -> None:
    pair = edges_of([(0, 1)])
    for prior, guesses in (
        ([0.8, 0.2], [0]),
        ([0.2, 0.8], [1]),
        ([0.6, 0.4], [0, 1]),
        ([0.5, 0.5, 0.0], [0, 1]),
        ([0.0, 1.0, 0.0], [1]),
    ):
        assert weighing._useful(pair, 2.0, np.array(prior)).tolist() == guesses
    for epsilon in ("inf", "0"):
        with pytest.raises(CertificateError, match="edges of one length"):
            by_potential([1, 1, 1, 1], RING, Factors(Epsilon.read(epsilon)), WEIGHTS, flows=[])
    with pytest.raises(CertificateError, match="edges of one length"):
        by_potential([1, 1, 1, 1], MIXED, TWO, WEIGHTS, flows=[])
