"""What a released table is expected to be off: unbiased for every true table, with an interval that holds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow
import pytest

import optimaldp as odp
from optimaldp.histograms.remaps.choosing import _without_noise, choose_remap, estimated_risk

PEOPLE = 10_000


def noise(cells: int, ratio: float, random: Any) -> Any:
    return random.geometric(1 - ratio, cells) - random.geometric(1 - ratio, cells)


def errors_by_count(released: Any, ratio: float, last: int, reach: int = 120) -> Any:
    """``E|released(t + z) - t|`` for t = 0, ..., last, by summing over z."""
    z = np.arange(-reach, reach + 1)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(z)
    return np.array([chances @ np.abs(released(t + z) - t) for t in range(last + 1)])


MAPS = {
    "raised to 0": lambda y: np.maximum(y, 0),
    "threshold": lambda y: np.where(y >= 7, y, 0),
    "shrunk": lambda y: np.where(y > 2, np.minimum(y, 10) // 2 + np.maximum(y - 10, 0), 0),
    "nothing": lambda y: 0 * y,
}


@pytest.mark.parametrize("ratio", [0.3, math.exp(-1), 0.7])
@pytest.mark.parametrize("name", MAPS)
def test_the_guess_has_the_mean_of_the_error_whatever_the_true_count_is(name: str, ratio: float) -> None:
    off = errors_by_count(MAPS[name], ratio, 160)
    guess = _without_noise(off, ratio)
    z = np.arange(-120, 121)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(z)
    for true in range(20):
        seen = np.clip(true + z, -1, 160)
        assert chances @ guess[seen + 1] == pytest.approx(off[true], abs=1e-6)


def test_risk_of_a_known_map_is_its_mean_error() -> None:
    """Fed with the law of noisy values itself instead of a table, the estimate is exact."""
    ratio, true = math.exp(-1), {0: 900.0, 1: 60.0, 5: 30.0, 20: 10.0}
    values = np.arange(-40, 80)
    cells = sum(n * (1 - ratio) / (1 + ratio) * ratio ** np.abs(values - t) for t, n in true.items())
    released = MAPS["threshold"](values)
    risk = estimated_risk(values, cells, released, ratio=ratio)
    off = errors_by_count(MAPS["threshold"], ratio, 20)
    assert risk is not None
    assert risk.mean == pytest.approx(sum(n * off[t] for t, n in true.items()), rel=1e-6)


def zipf(cells: int, power: float, random: Any) -> Any:
    shares = 1 / np.arange(1, cells + 1) ** power
    return random.multinomial(PEOPLE, shares / shares.sum())


@pytest.mark.long
@pytest.mark.parametrize("power", [1.2, 2.2])
def test_the_interval_holds_for_most_tables(power: float) -> None:
    """Where few people are hidden (2.2) the most likely value alone was a tenth of the truth, or four times it."""
    random, ratio, inside, means, real = np.random.default_rng(7), math.exp(-1), 0, [], []
    for _ in range(12):
        truth = zipf(4000, power, random)
        made = choose_remap(truth + noise(4000, ratio, random), ratio=ratio, total=None)
        off = float(np.abs(made.counts - truth).sum())
        assert made.error_interval is not None
        assert made.expected_error is not None
        low, high = made.error_interval
        assert low <= made.expected_error <= high
        inside += low <= off <= high
        means.append(sum(made.error_interval) / 2)
        real.append(off)
    assert inside >= 10
    assert np.mean(means) == pytest.approx(np.mean(real), rel=0.25)


@pytest.mark.parametrize("people", [1, 3, 10, 40])
@pytest.mark.parametrize("epsilon", [0.5, 2, 6])
def test_tables_without_an_empty_cell_are_judged_too(people: int, epsilon: float) -> None:
    """The price on hidden people once sent Newton over a pole, and the release failed after it was spent."""
    random, ratio = np.random.default_rng(people), math.exp(-epsilon)
    for _ in range(5):
        truth = random.poisson(people, 1000)
        made = choose_remap(truth + noise(1000, ratio, random), ratio=ratio, total=None)
        off = float(np.abs(made.counts - truth).sum())
        assert made.expected_error == pytest.approx(off, rel=0.35, abs=12)


@pytest.mark.long
def test_it_is_part_of_every_release() -> None:
    truth = zipf(500, 1.2, np.random.default_rng(1))
    for neighbours in ("substitution", "add-remove"):
        made = odp.private_histogram(truth, epsilon=1, neighbours=neighbours)
        assert made.error_interval is not None
        low, high = made.error_interval
        assert low <= made.expected_error() <= high
        assert made.to_document()["expected_error_interval"] == [low, high]
    assert odp.private_histogram([5, 3], epsilon=1).error_interval is not None
    people = pyarrow.table({"cell": np.repeat(np.arange(500), truth)})
    release = odp.release(people, odp.histogram("cell", range(500)), epsilon=1)
    assert release.histogram().error_interval == tuple(release.statement["histogram"]["error_interval"])
    clean = odp.sanitise(people, {"cell": list(range(500))}, epsilon=1)
    assert clean.statement["expected_error"]["counts"]["interval"] == list(clean.error_interval)
