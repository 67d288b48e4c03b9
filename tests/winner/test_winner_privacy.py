"""Privacy by enumeration: every election with at most five options and fourteen persons, every neighbour, exact rationals."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import pytest
from elections import (
    Mechanism,
    cached,
    departures,
    elections,
    excess,
    moved,
    permute_and_flip,
    substitutions,
    worst_ratio,
)

from optimaldp.laws.winner import (
    WholeVotes,
    WinnerMode,
    _Flattening,
    ball_power,
    flatten,
    lattice_probabilities,
    permute_and_flip_probabilities,
    winner_claim,
)
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.privacy.balls import precision
from optimaldp.questions import winner_probabilities

# e^epsilon at which each number of options has a proven lattice version: hypotheses, certificate, and near their ends.
RATIOS = {
    2: ["100/99", "2", "10"],
    3: ["100/99", "10/9", "3/2", "2", "7"],
    4: ["12/11", "5/4", "2", "3", "7/2"],
    5: ["5/4", "3/2", "2", "4", "5"],
}
CASES = [(options, Fraction(ratio)) for options, ratios in RATIOS.items() for ratio in ratios]


def released(ratio: Fraction, delta: str = "0"):  # type: ignore[no-untyped-def]
    return lambda counts: winner_probabilities(counts, epsilon=f"ln({ratio})", delta=delta)


def is_defined_one(probabilities: Mechanism, counts: tuple[int, ...], ratio: Fraction) -> bool:
    """(R1) for every loser and every top, (R2) for the tops, at one election in descending order."""
    here = probabilities(counts)
    tops = [i for i, c in enumerate(counts) if c == counts[0]]
    return (
        sum(here) == 1
        and len({here[i] for i in tops}) == 1
        and all(
            here[loser] * ratio == probabilities(moved(counts, top, loser))[loser]
            for loser in range(len(tops), len(counts))
            for top in tops
        )
    )


@pytest.mark.parametrize(("options", "ratio"), CASES)
def test_the_released_distribution_is_the_defined_one(options: int, ratio: Fraction) -> None:
    """(R1) for every loser and every top, (R2) for the tops, on every election."""
    assert winner_claim(options, level(f"ln({ratio})")).mode is WinnerMode.LATTICE
    probabilities = cached(released(ratio))
    for persons in range(15):
        for counts in elections(options, persons):
            assert is_defined_one(probabilities, counts, ratio)


@pytest.mark.parametrize(("options", "ratio"), CASES)
def test_epsilon_holds_on_every_edge(options: int, ratio: Fraction) -> None:
    for persons in range(15):
        assert worst_ratio(released(ratio), options, persons, substitutions) <= ratio
    assert worst_ratio(released(ratio), options, 9, substitutions) == ratio  # nothing is given away either


@pytest.mark.parametrize(("options", "ratio"), CASES)
def test_epsilon_holds_when_a_vote_goes_to_none_of_the_options(options: int, ratio: Fraction) -> None:
    for persons in range(1, 15):
        # Easier than a substitution by a whole factor: (K - 1 + x) / K.
        assert worst_ratio(released(ratio), options, persons, departures) <= ratio * (options - 1 + 1 / ratio) / options


@pytest.mark.parametrize("options", [4, 5])
@pytest.mark.parametrize("epsilon", ["0.01", "0.07"])
def test_continuum_keeps_epsilon_on_every_edge(options: int, epsilon: str) -> None:
    assert winner_claim(options, level(epsilon)).mode is WinnerMode.CONTINUUM
    bound = Decimal(epsilon).exp() * (1 + Decimal("1e-25"))
    for persons in range(1, 12):
        for neighbours in (substitutions, departures):
            found = worst_ratio(lambda c: winner_probabilities(c, epsilon=epsilon), options, persons, neighbours)
            assert found <= bound


def test_a_true_violation_is_seen() -> None:
    """Seven options at x = 0.9: the lattice version is not private, the checker says so, and no release uses it."""
    x = Fraction(9, 10)
    here = lattice_probabilities((5, 2, 2, 2, 2, 2, 2), lambda d: x**d)
    there = lattice_probabilities((4, 3, 2, 2, 2, 2, 2), lambda d: x**d)
    assert max(max(p / q, q / p) for p, q in zip(here, there)) > 1 / x
    assert float(max(max(p / q, q / p) for p, q in zip(here, there)) * x) - 1 == pytest.approx(2.9e-4, rel=0.05)
    assert winner_claim(7, level("ln(10/9)")).mode is WinnerMode.PERMUTE_AND_FLIP


class TooEarly(WholeVotes):
    """A wrong twin: an option two below the surface is taken as level with it."""

    def floods(self, count, total, members):  # type: ignore[no-untyped-def]
        return count >= self.surface(total, members) - 2


class OneBelowAsTop(WholeVotes):
    """A wrong twin: options one below the top count as a full share."""

    def shares(self, total, members):  # type: ignore[no-untyped-def]
        return Fraction(members)


class Ascending(_Flattening):
    """A wrong twin: the closure adds the lowest options first and stops at the first that is too low."""

    def _close(self, level, position):  # type: ignore[no-untyped-def]
        taken, total, members = [*level[0]], level[1] + self._heights[position], level[2] + 1
        taken[position] += 1
        for index, height in reversed(list(enumerate(self._heights))):
            while taken[index] < self._sizes[index]:
                if not self._water.floods(height, total, members):
                    return tuple(taken), total, members
                taken[index] += 1
                total, members = total + height, members + 1
        return tuple(taken), total, members


def nudged(counts: Sequence[int]) -> list[Fraction]:
    """A wrong twin: the winner gets a millionth too much, where there is exactly one."""
    found = lattice_probabilities(counts, lambda d: Fraction(1, 2) ** d)
    if len(counts) > 1 and counts[0] > counts[1] + 1:
        found[0] += Fraction(1, 10**6)
        found[-1] -= Fraction(1, 10**6)
    return found


TWINS = [
    nudged,
    lambda counts: lattice_probabilities(counts, lambda d: Fraction(49, 100) ** d),
    lambda counts: permute_and_flip(counts, lambda gap: Fraction(1, 2) ** gap),  # add/remove's coins
    lambda counts: flatten(counts, TooEarly(lambda d: Fraction(1, 2) ** d)),
    lambda counts: flatten(counts, OneBelowAsTop(lambda d: Fraction(1, 2) ** d)),
    lambda counts: [Ascending(counts, WholeVotes(lambda d: Fraction(1, 2) ** d)).probabilities()[c] for c in counts],
]
NAMES = ["nudged", "wrong level", "wrong neighbours", "floods too early", "wrong shares", "ascending closure"]


@pytest.mark.parametrize("twin", TWINS, ids=NAMES)
def test_wrong_twins_are_rejected(twin) -> None:  # type: ignore[no-untyped-def]
    probabilities = cached(twin)
    assert not all(is_defined_one(probabilities, counts, Fraction(2)) for counts in elections(4, 12))


@pytest.mark.parametrize("twin", TWINS[:3], ids=NAMES[:3])
def test_twins_that_are_not_private_fail_on_an_edge(twin) -> None:  # type: ignore[no-untyped-def]
    probabilities = cached(twin)
    positive = all(min(probabilities(counts)) > 0 for counts in elections(4, 7))
    assert not positive or worst_ratio(twin, 4, 7, substitutions) > 2


@pytest.mark.parametrize("options", [2, 3, 4])
def test_add_remove_keeps_epsilon(options: int) -> None:
    x = Fraction(1, 2)
    for persons in range(1, 9):
        assert worst_ratio(lambda c: permute_and_flip(c, lambda g: x**g), options, persons, departures) <= 2
        for counts in elections(options, persons):
            found = winner_probabilities(counts, epsilon="ln(2)", neighbours="add-remove")
            exact = permute_and_flip(counts, lambda g: x**g)
            assert all(abs(Fraction(p) - q) < Fraction(1, 10**40) for p, q in zip(found, exact))


@pytest.mark.parametrize("delta", ["1/1000", "1/20", "1/2", "1"])
@pytest.mark.parametrize(("options", "ratio"), [(2, "3/2"), (3, "10/9"), (3, "3"), (4, "2"), (4, "7/2")])
def test_delta_is_never_exceeded(options: int, ratio: str, delta: str) -> None:
    bound, allowed = Fraction(ratio), Fraction(delta)
    probabilities = cached(released(bound, delta))
    for persons in range(1, 10):
        for counts in elections(options, persons):
            for other in [*substitutions(counts), *departures(counts)]:
                here, there = probabilities(counts), probabilities(other)
                assert excess(here, there, bound) <= allowed
                assert excess(there, here, bound) <= allowed


def test_delta_makes_clear_winners_certain() -> None:
    assert winner_probabilities([60, 20, 20], epsilon=1, delta="1e-6")[0] == 1
    assert winner_probabilities([60, 20, 20] * 3, epsilon=1, delta="1e-6", neighbours="add-remove")[0] < 1
    plain, helped = (winner_probabilities([9, 8, 8], epsilon=1, delta=d)[0] for d in ("0", "0.1"))
    assert helped > plain


def test_a_truncation_that_takes_too_much_is_seen() -> None:
    """The wrong twin of tau: delta / K without the factor e^epsilon."""
    ratio, delta = Fraction(2), Fraction(1, 10)

    def greedy(counts: tuple[int, ...]) -> list[Fraction]:
        row = lattice_probabilities(counts, lambda d: Fraction(1, 2) ** d)
        kept = [max(p - delta / 2, Fraction(0)) if c < max(counts) else p for p, c in zip(row, counts)]
        tops = [i for i, c in enumerate(counts) if c == max(counts)]
        return [p + (1 - sum(kept)) / len(tops) if i in tops else p for i, p in enumerate(kept)]

    edges = [(c, o) for c in elections(2, 7) for o in substitutions(c)]
    assert max(excess(greedy(c), greedy(o), ratio) for c, o in edges) > delta


@pytest.mark.parametrize("options", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("epsilon", ["0.05", "0.3", "1", "2"])
def test_never_worse_than_permute_and_flip(options: int, epsilon: str) -> None:
    for persons in (5, 8, 11):
        for counts in elections(options, persons):
            ours = winner_probabilities(counts, epsilon=epsilon)[0]
            with precision(128):
                power = ball_power(Epsilon.read(epsilon))
                theirs = permute_and_flip_probabilities(counts, power, Neighbours.SUBSTITUTION)[0]
            assert float(ours) >= float(theirs) * (1 - 1e-12)
