"""Draws: exactly the stated probabilities, from injected bits; then one statistical test with a control."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from elections import permute_and_flip
from enumerated import measured

from optimaldp.errors import QuestionError
from optimaldp.laws import winner as flipping
from optimaldp.laws.winner import ball_power, draw_winner, winner_probabilities
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.privacy.balls import ball
from optimaldp.sampling import SystemBits

TOP = 2**64


class Script:
    """The given words first, then only zeros or only ones."""

    def __init__(self, *words: int, after: int) -> None:
        self._words = list(words)
        self._after = after

    def take(self, count: int) -> int:
        return self._words.pop(0) if self._words else (2**count - 1) * self._after


@pytest.mark.parametrize("counts", [[5, 4, 3, 3], [9, 2], [3, 3, 3], [7, 1, 6, 6]])
@pytest.mark.parametrize("delta", ["0", "1/50"])
def test_words_fall_on_the_right_side_of_every_threshold(counts: list[int], delta: str) -> None:
    """Losers first; a word on a threshold waits for further bits, which decide it either way."""
    exact = winner_probabilities(counts, epsilon="ln(2)", delta=delta)
    order = sorted(range(len(counts)), key=lambda i: counts[i])
    end = Fraction(0)
    for place, index in enumerate(order[:-1]):
        start, end = end, end + Fraction(exact[index])
        if start == end:
            continue
        rounded = int(end * TOP)
        after_it = next(i for i in order[place + 1 :] if exact[i])
        cases = [(rounded - 2, 1, index), (rounded + 1, 0, after_it), (rounded, 1, after_it)]
        if rounded < end * TOP:  # balls never tell a real from a threshold that equals it: probability 0
            cases += [(rounded - 1, 1, index), (rounded, 0, index)]
        for word, after, wanted in cases:
            assert draw_winner(counts, level("ln(2)", delta), "substitution", Script(word, after=after)) == wanted


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_flipping_has_exactly_its_probabilities(neighbours: Neighbours, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two-bit words, so that the whole bit tree can be walked; coins that one word decides, and coins that it does not."""
    monkeypatch.setattr(flipping, "_WORD", 2)
    for counts, ratio in (((2, 1), "16"), ((2, 2, 1), "16"), ((2, 0), "9/4")):
        power = ball_power(Epsilon.read(f"ln({ratio})"))
        coin = 1 / Fraction(ratio)

        def chance(gap: int, coin: Fraction = coin) -> Fraction:
            moves = flipping.moves_of_gap(gap, neighbours)
            root = {Fraction(1, 16): Fraction(1, 4), Fraction(4, 9): Fraction(2, 3)}[coin]
            return root ** int(2 * moves)

        wanted = permute_and_flip(counts, chance)
        weights, undecided = measured(
            lambda source, c=counts, p=power: flipping.draw_by_flipping(c, p, neighbours, source), 14
        )
        assert undecided < Fraction(1, 20)
        assert all(weights[i] <= p <= weights[i] + undecided for i, p in enumerate(wanted))


def test_an_undecided_coin_draws_more_bits() -> None:
    third = TOP // 3
    assert flipping.reveal_below(third, 64, lambda: ball(Fraction(1, 3)), Script(after=0))
    assert not flipping.reveal_below(third, 64, lambda: ball(Fraction(1, 3)), Script(after=1))


@pytest.mark.long
@pytest.mark.parametrize(
    ("counts", "epsilon", "delta", "neighbours"),
    [
        ([6, 5, 3], "ln(2)", "0", "substitution"),
        ([7, 7, 5, 4], "0.06", "0.05", "substitution"),
        ([5, 4, 3, 3, 2, 1], "0.1", "0.2", "substitution"),
        ([4, 3, 1], "0.5", "0.3", "add-remove"),
    ],
)
def test_statistics_with_a_control(counts: list[int], epsilon: str, delta: str, neighbours: str) -> None:
    """Chi-square of 4,000 draws against the stated probabilities; the control shifts a tenth and must fail."""
    draws, source = 4000, SystemBits()
    seen = Counter(draw_winner(counts, level(epsilon, delta), neighbours, source) for _ in range(draws))
    stated = [float(p) for p in winner_probabilities(counts, epsilon=epsilon, delta=delta, neighbours=neighbours)]

    def distance(claimed: list[float]) -> float:
        return sum((seen[i] - draws * p) ** 2 / (draws * p) for i, p in enumerate(claimed) if p)

    # At most five degrees of freedom: P(> 40) = 1.5e-7.
    assert distance(stated) < 40
    assert distance([stated[0] - 0.1, *stated[1:-1], stated[-1] + 0.1]) > 40


@pytest.mark.long
def test_many_options_and_large_counts() -> None:
    votes = [10**9 if i == 4321 else i for i in range(10_000)]
    assert draw_winner(votes, level(1), "substitution") == 4321
    assert draw_winner(votes, level(1, "1e-9"), "add-remove") == 4321
    assert draw_winner([5 * 10**8, 499_990_000, 100, 5, 3], level("0.1"), "substitution") == 0
    assert draw_winner([3], level(1), "substitution") == 0


def test_a_certain_winner_is_certain_whatever_the_bits() -> None:
    for after in (0, 1):
        assert draw_winner([2, 60, 2], level(1, "1e-6"), "substitution", Script(after=after)) == 1


def test_errors_show_no_count() -> None:
    with pytest.raises(QuestionError) as caught:
        draw_winner([31337, -4242], level(1), "substitution")
    assert "31337" not in str(caught.value)
    assert "4242" not in str(caught.value)
    assert "31337" not in repr(caught.value.value)
