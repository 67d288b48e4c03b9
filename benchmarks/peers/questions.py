"""Who has the majority, who won: the probability of a wrong answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import optimaldp as odp
from benchmarks.peers import libraries
from benchmarks.peers.noise import laplace_tail, two_for_one
from benchmarks.peers.record import Comparison, Estimate, checked
from optimaldp.laws.winner import ball_power, enclosed_probabilities, permute_and_flip_probabilities, winner_claim
from optimaldp.privacy import Neighbours, level
from optimaldp.privacy.balls import precision


@dataclass(frozen=True)
class Sizes:
    """Draws of a peer's own code."""

    draws: int


FULL = Sizes(draws=2000)
SAMPLE = Sizes(draws=50)
_PERSONS = 1001
_NEEDED = 501  # of 1001 persons: the majority
_TWO_HORSES, _MANY_RIVALS = (303, 298, 134, 133, 133), (201, 200, 200, 200, 200)

PURE = "Majority by margin, pure ε"
APPROXIMATE = "Majority by margin, ε and δ"
WINNER = "Winner of 5 options"


def comparisons(sizes: Sizes = FULL) -> Iterator[Comparison]:
    for margin in (1, 2, 4, 8):
        yield from _pure_majority(margin, 1.0, sizes.draws)
    for margin in (1, 3, 5):
        yield from _approximate_majority(margin, 1.0, 0.01, sizes.draws)
    for votes in (_TWO_HORSES, _MANY_RIVALS):
        for epsilon in (0.5, 1.0, 2.0):
            yield from _winner(votes, epsilon, sizes.draws)


def _our_error(margin: int, epsilon: float, delta: float) -> Estimate:
    return Estimate(odp.preview("majority(x)", epsilon=epsilon, delta=delta, margins=[margin]).error(margin))


def _frequency(wrong: Callable[[], bool], draws: int) -> list[float]:
    return [float(wrong()) for _ in range(draws)]


def _pure_majority(margin: int, epsilon: float, draws: int) -> Iterator[Comparison]:
    """Yes has 501 + margin - 1 of 1001: *margin* people would have to change."""
    task, yes, ours = f"margin {margin}, ε = {epsilon:g}", _NEEDED + margin - 1, _our_error(margin, epsilon, 0)
    value = laplace_tail(1 / epsilon, margin)
    noisy, geometric = libraries.opendp_count(1 / epsilon), libraries.diffprivlib_count(epsilon, 1)
    choose, votes = libraries.opendp_noisy_max(epsilon), [yes, _PERSONS - yes]
    for peer, wrong in (
        ("OpenDP integer Laplace on the count", lambda: noisy(yes) < _NEEDED),
        ("diffprivlib Geometric on the count", lambda: geometric(yes) < _NEEDED),
    ):
        yield Comparison(PURE, task, peer, ours, checked(value, _frequency(wrong, draws), peer))
    peer = "OpenDP noisy max of the two counts"
    flip = two_for_one(votes[0] - votes[1], epsilon)
    yield Comparison(PURE, task, peer, ours, checked(flip, _frequency(lambda: choose(votes) != 0, draws), peer))


def _approximate_majority(margin: int, epsilon: float, delta: float, draws: int) -> Iterator[Comparison]:
    task, yes = f"margin {margin}, ε = {epsilon:g}, δ = {delta:g}", _NEEDED + margin - 1
    ours = _our_error(margin, epsilon, delta)
    canonical, noisy = libraries.opendp_canonical(epsilon, delta), libraries.opendp_count(1 / epsilon)
    peer = "OpenDP canonical noise, threshold midway"
    # One unit of canonical noise is one step of the trade-off function, and midway is the balanced boundary: the same error.
    theirs = checked(ours.value, _frequency(lambda: canonical(float(yes)) < _NEEDED - 0.5, draws), peer)
    yield Comparison(APPROXIMATE, task, peer, ours, theirs)
    peer = "OpenDP integer Laplace (cannot use δ)"
    theirs = checked(laplace_tail(1 / epsilon, margin), _frequency(lambda: noisy(yes) < _NEEDED, draws), peer)
    yield Comparison(APPROXIMATE, task, peer, ours, theirs)


def _winner(votes: tuple[int, ...], epsilon: float, draws: int) -> Iterator[Comparison]:
    task, listed = f"{votes}, ε = {epsilon:g}", list(votes)
    claim = winner_claim(len(votes), level(epsilon))
    with precision(128):
        ours = sum(float(p) for p in enclosed_probabilities(votes, claim)[1:])
        row = permute_and_flip_probabilities(votes, ball_power(claim.epsilon), Neighbours.SUBSTITUTION)
        flip = sum(float(p) for p in row[1:])
    choose, again = libraries.opendp_noisy_max(epsilon), libraries.diffprivlib_flip(epsilon, listed)
    for peer, wrong in (
        ("OpenDP noisy max (permute-and-flip)", lambda: choose(listed) != 0),
        ("diffprivlib PermuteAndFlip", lambda: again() != 0),
    ):
        yield Comparison(
            WINNER, task, peer, Estimate(ours), checked(flip, _frequency(wrong, draws), peer), str(claim.mode)
        )
