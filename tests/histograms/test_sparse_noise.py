"""Noise that is drawn sparsely: exact laws by enumerating bits, and the referee with its wrong twins."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product
from math import comb

import pytest
from enumerated import measured

from optimaldp.certify.noise import check_sparse_recipe
from optimaldp.errors import HistogramError, NotCertifiedError
from optimaldp.histograms import sparse_noise
from optimaldp.histograms.noise import sparse
from optimaldp.histograms.noise.geometric import geometric_numbers
from optimaldp.histograms.noise.log_concave import propose
from optimaldp.histograms.noise.sparse import SparseNoise
from optimaldp.privacy import Epsilon
from optimaldp.sampling import SystemBits, choose

LN2, LN3, LN4, LN8 = (Epsilon.read(f"ln({ratio})") for ratio in (2, 3, 4, 8))


@pytest.mark.parametrize("epsilon", ["ln(2)", "ln(3)", "1", "ln(5/4)"])
@pytest.mark.parametrize(("word_bits", "base"), [(3, 1024), (2, 4), (1, 2)])
def test_geometric_numbers_by_enumeration(epsilon, word_bits, base):
    level = Epsilon.read(epsilon)
    ratio = 1 / float(level.exp())

    def draw(bits):
        return int(geometric_numbers(1, level, bits, word_bits=word_bits, base=base)[0])

    found, undecided = measured(draw, 12)
    assert undecided < Fraction(1, 4)
    for number in range(30):
        exact = (1 - ratio) * ratio**number
        assert float(found[number]) <= exact + 1e-12
        assert exact <= float(found[number] + undecided) + 1e-12


@pytest.mark.parametrize("epsilon", ["1", "0.001", "0.0000001", "30"])
def test_geometric_numbers_have_their_mean(epsilon):
    level, size = Epsilon.read(epsilon), 20_000
    mean = 1 / (float(level.exp()) - 1)
    drawn = geometric_numbers(size, level, SystemBits())
    assert drawn.min() >= 0
    assert abs(float(drawn.mean()) - mean) < 6 * (mean * (1 + mean) / size) ** 0.5 + 1e-3


@pytest.mark.parametrize(("cells", "epsilon", "least"), [(2, LN2, 1), (7, LN2, 2), (20, LN3, 1), (30, LN2, 4)])
def test_survivors_by_enumeration(cells, epsilon, least):
    """Each number is accepted with a probability proportional to the binomial law."""
    noise = SparseNoise(cells, epsilon, least)
    plan, chance = noise.survivors, noise.survival()

    def attempt(bits):
        drawn = propose(plan.relative_weight, plan.mode, plan.width, bits, most=cells, first_bits=1)
        return -1 if drawn is None else drawn

    found, undecided = measured(attempt, 14)

    def weight(number):
        return comb(cells, number) * chance**number * (1 - chance) ** (cells - number)

    assert undecided < Fraction(1, 5)
    for number in range(cells + 1):
        exact = weight(number) / (4 * plan.width * weight(plan.mode))
        assert found[number] <= exact <= found[number] + undecided


def cell_law(count, epsilon, least):
    """The law of one kept cell: its values from *least* on, and ``None`` for what is dropped."""
    ratio = 1 / epsilon.exact_ratio
    law = {v: (1 - ratio) / (1 + ratio) * ratio ** abs(v - count) for v in range(least, least + 40)}
    law[None] = 1 - sum(law.values())
    return law


@pytest.fixture
def quick_survivors(monkeypatch):
    """The number of survivors by its exact probabilities: its own sampler needs many bits, and is tested above."""

    def draw(self, source, *, first_bits):
        cells, chance = self.noise.cells, self.noise.survival()
        law = [comb(cells, k) * chance**k * (1 - chance) ** (cells - k) for k in range(cells + 1)]
        return choose(law, source, first_bits=1)

    monkeypatch.setattr(sparse.Survivors, "draw", draw)


def assert_law(noise, occupied, draw):
    found, undecided = measured(draw, 12)
    laws = [cell_law(occupied.get(cell, 0), LN4, 1) for cell in range(2)]
    for values in product((None, 1, 2, 3), repeat=2):
        exact = laws[0][values[0]] * laws[1][values[1]]
        key = tuple((cell, value) for cell, value in enumerate(values) if value is not None)
        assert found[key] <= exact <= found[key] + undecided
    return undecided


@pytest.mark.long
@pytest.mark.parametrize("occupied", [{}, {0: 1}, {1: 2}])
def test_whole_table_by_enumeration(occupied, quick_survivors):
    """Two cells: the drawn table has the law of independent noise on both, cut below least."""
    noise = SparseNoise(2, LN4, 1)
    undecided = assert_law(noise, occupied, lambda bits: tuple(noise.sample(occupied, bits, word_bits=1).items()))
    assert undecided < Fraction(1, 3)


@pytest.mark.long
@pytest.mark.parametrize(
    "twin",
    [
        pytest.param(
            lambda noise, cells, bits: noise.sample({}, bits, word_bits=1) | cells, id="one cell without noise"
        ),
        pytest.param(lambda noise, cells, bits: cells, id="no noise"),
        pytest.param(
            lambda noise, cells, bits: SparseNoise(2, LN8, 1).sample(cells, bits, word_bits=1), id="too little"
        ),
        pytest.param(
            lambda noise, cells, bits: SparseNoise(2, LN2, 1).sample(cells, bits, word_bits=1),
            id="too much",
        ),
    ],
)
def test_the_enumeration_rejects_wrong_twins(twin, quick_survivors):
    noise, occupied = SparseNoise(2, LN4, 1), {0: 1}
    with pytest.raises(AssertionError):
        assert_law(noise, occupied, lambda bits: tuple(sorted(twin(noise, occupied, bits).items())))


def test_noise_on_a_trillion_cells():
    noise = sparse_noise(10**12, epsilon=1)
    occupied = {cell * 10**7: 100 for cell in range(1000)}
    kept = noise.sample(occupied)
    assert list(kept) == sorted(kept)
    assert min(kept.values()) >= noise.least
    empty = set(kept) - set(occupied)
    mean = float(10**12 * noise.survival())
    assert abs(len(empty) - mean) < 6 * mean**0.5
    off = [kept[cell] - 100 for cell in occupied if cell in kept]
    assert len(off) == 1000
    assert abs(sum(off)) / 1000 < 6 * 1.36 / 1000**0.5


def document(**changes):
    return SparseNoise(100, LN2, 3).to_document() | changes


def test_the_referee_accepts_what_is_planned():
    for cells, epsilon, least in (
        (100, LN2, 3),
        (10**12, Epsilon.read(1), 17),
        (1, LN3, 1),
        (10**15, Epsilon.read("0.01"), 2500),
    ):
        verdict = check_sparse_recipe(SparseNoise(cells, epsilon, least).to_document())
        assert verdict.accepted
        assert verdict.private


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"neighbours": "substitution"}, "epsilon 0\\+ln\\(4\\) only|epsilon ln\\(4\\) only"),
        ({"survivors": {"mode": 7, "width": 9}}, "not a mode"),
        ({"survivors": {"mode": 9, "width": 9}}, "not a mode"),
        ({"survivors": {"mode": 8, "width": 1}}, "do not halve"),
        ({"epsilon": "ln(3)"}, "not a mode"),
        ({"epsilon": "0"}, "no proper law"),
        ({"epsilon": "inf"}, "no proper law"),
        ({"cells": 200}, "not a mode"),
        ({"least": 2}, "not a mode"),
    ],
)
def test_the_referee_rejects_wrong_twins(changes, words):
    verdict = check_sparse_recipe(document(**changes))
    assert not verdict.accepted
    assert re.search(words, verdict.objections[0])


def test_nothing_is_drawn_without_the_referee(monkeypatch):
    class NoBits:
        def take(self, count):
            raise AssertionError("bits were drawn")

    noise = SparseNoise(100, LN2, 3)
    wrong = sparse.Survivors(noise, 8, 1)
    monkeypatch.setattr(sparse, "_survivors", lambda _: wrong)
    sparse._verdict.cache_clear()
    with pytest.raises(NotCertifiedError, match="do not halve"):
        SparseNoise(100, LN2, 3).sample({}, NoBits())
    sparse._verdict.cache_clear()


@pytest.mark.parametrize("cells", [0, -1, 2.5, True, 10**16])
def test_bad_numbers_of_cells(cells):
    with pytest.raises(HistogramError, match="number of cells"):
        sparse_noise(cells, epsilon=1)
