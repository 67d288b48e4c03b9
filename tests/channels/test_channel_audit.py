"""The audit finds the flaw in broken mechanisms and none in right ones."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate
from typing import Any

import pytest

from optimaldp.channels import AnswerGraph, audit, audit_mechanism, optimal_mechanism
from optimaldp.channels.optimal.closed_forms import truncated_geometric
from optimaldp.channels.report import clopper_pearson_lower
from optimaldp.errors import ChannelError
from optimaldp.sampling import choose, uniform_below

SIZE = 11


class WrittenBits:
    """The same bits for every test: of fresh ones an audit misses a flaw now and then, as it may."""

    def begin(self) -> None:
        self._generator = random.Random(11)

    def take(self, count: int) -> int:
        return self._generator.getrandbits(count)


_BITS = WrittenBits()


@pytest.fixture(autouse=True)
def bits_from_the_beginning() -> None:
    _BITS.begin()


def _geometric(ratio: int) -> Callable[[int], int]:
    """Exact draws of the truncated geometric mechanism by one uniform integer: quick enough for thousands."""
    rows = truncated_geometric(SIZE, Fraction(1, ratio))
    whole = math.lcm(*(cell.denominator for row in rows for cell in row))
    ends = [list(accumulate(int(cell * whole) for cell in row)) for row in rows]
    return lambda true_count: bisect_right(ends[true_count], uniform_below(whole, _BITS))


_half, _quarter = _geometric(2), _geometric(4)


def _too_little_noise(true_count: int) -> int:
    """Noise for sensitivity 1/2: the classic slip in the scale."""
    return _quarter(true_count)


def _leaks_the_end(true_count: int) -> int:
    """Right everywhere, but an empty table is answered without noise."""
    return 0 if true_count == 0 else _half(true_count)


def _two_for_one(true_count: int) -> tuple[int, int]:
    """Two answers at the price of one: the noise is right, the accounting is not."""
    return _half(true_count), _half(true_count)


def _right_geometric(true_count: int) -> int:
    return _half(true_count)


def _right_response(true_count: int) -> bool:
    return (uniform_below(3, _BITS) > 0) is (true_count % 2 == 0)


def _right_postprocessed(true_count: int) -> str:
    return "many" if _half(true_count) >= SIZE // 2 else "few"


# A right mechanism is accused with probability at most 1e-6; the broken ones miss their claim by far more than that costs.
CONFIDENCE = 1 - 1e-6


@pytest.mark.parametrize("broken", [_too_little_noise, _leaks_the_end, _two_for_one])
def test_broken_mechanisms_are_caught(broken: Callable[[int], Any]) -> None:
    found = audit_mechanism(broken, 0, 1, samples=30_000, epsilon="ln(2)", confidence=CONFIDENCE)
    assert found.violation
    assert "is false" in found.words


@pytest.mark.parametrize("right", [_right_geometric, _right_response, _right_postprocessed])
@pytest.mark.parametrize("pair", [(0, 1), (5, 4)])
def test_right_mechanisms_are_not_accused(right: Callable[[int], Any], pair: tuple[int, int]) -> None:
    found = audit_mechanism(right, *pair, samples=4000, epsilon="ln(2)", confidence=CONFIDENCE)
    assert not found.violation
    assert found.epsilon_lower <= math.log(2)
    assert "never prove" in found.words


def test_the_bound_comes_close_to_the_truth() -> None:
    """On samples that are written down: with fresh ones the event is chosen badly once in twenty times."""
    generator = random.Random(1)
    rows = {0: [2 / 3, 1 / 6, 1 / 12, 1 / 12], 1: [1 / 3, 1 / 3, 1 / 6, 1 / 6]}  # geometric on four counts, ratio 2
    first, second = (generator.choices(range(4), rows[count], k=20_000) for count in (0, 1))
    found = audit(first, second, confidence=0.99)
    assert 0.55 < found.epsilon_lower <= math.log(2) + 0.1
    assert found.claimed is None
    assert not found.violation


def test_delta_is_forgiven() -> None:
    """An answer that is given away with probability 0.2 is (0, 0.2)-private: no accusation at that delta, infinite at delta 0."""
    generator = random.Random(7)
    first = ["caught" if generator.random() < 0.2 else "quiet" for _ in range(4000)]
    second = ["quiet"] * 4000
    assert audit(first, second, epsilon=1).violation
    assert not audit(first, second, epsilon="0.1", delta="0.25").violation


def test_optimal_mechanisms_pass_their_own_audit() -> None:
    mechanism = optimal_mechanism(AnswerGraph.ring(5), "ln(3)").channel
    found = audit_mechanism(
        lambda y: choose(mechanism.exact_rows[y], _BITS), 0, 1, samples=2000, epsilon="ln(3)", confidence=CONFIDENCE
    )
    assert not found.violation


def test_continuous_outputs_are_binned() -> None:
    generator = random.Random(1)
    near = [generator.expovariate(1) * generator.choice((-1, 1)) for _ in range(4000)]
    far = [2 + generator.expovariate(1) * generator.choice((-1, 1)) for _ in range(4000)]
    found = audit(near, far, epsilon=1)
    assert found.violation
    assert found.epsilon_lower <= 2.05
    same = audit(near[:2000], near[2000:], epsilon=0.5)
    assert not same.violation


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (3, 10), (10, 10), (700, 1000)])
def test_clopper_pearson_is_exact(hits: int, trials: int) -> None:
    """At the bound, seeing this many hits or more has exactly the allowed probability."""
    low = clopper_pearson_lower(hits, trials, 0.01)
    tail = sum(math.comb(trials, k) * low**k * (1 - low) ** (trials - k) for k in range(hits, trials + 1))
    assert tail == pytest.approx(0.01 if hits else 1.0, rel=1e-6)


def test_bad_audits() -> None:
    with pytest.raises(ChannelError, match="too few"):
        audit([1, 2], [1, 2])
    with pytest.raises(ChannelError, match="confidence"):
        audit([1] * 50, [1] * 50, confidence=1)
