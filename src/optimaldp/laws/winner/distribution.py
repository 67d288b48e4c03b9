"""The distribution that ``winner`` samples from, and the sampler.

With delta > 0 every option that is not top loses ``tau = delta / (K e^epsilon)`` (or all it has), and the tops share
the gain: far from a tie the answer is then always right. That is (epsilon, delta)-DP for any epsilon-DP mechanism
underneath. Of two options both tails are cut instead, which errs less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral

from optimaldp.errors import QuestionError
from optimaldp.laws.winner.continuum import continuum_probabilities
from optimaldp.laws.winner.flattening import Height
from optimaldp.laws.winner.lattice import lattice_probabilities
from optimaldp.laws.winner.modes import WinnerClaim, WinnerMode, winner_claim
from optimaldp.laws.winner.permute_and_flip import (
    draw_by_flipping,
    permute_and_flip_probabilities,
    reveal_below,
    win_probability,
)
from optimaldp.privacy import Epsilon, Level, Neighbours, level
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.trajectory import Number
from optimaldp.sampling import BitSource, SystemBits, choose_enclosed, uniform_below

_DIGITS = 45  # of a Decimal result, all of them right
_MOST_BITS = 1 << 13  # a probability that is 0 to this many bits is reported as 0
_EXACT_BITS = 1 << 19  # of all exact rationals together; beyond that nobody reads them and they take long: decimals
_MOST_LISTED = 400  # options for which permute-and-flip's whole distribution is computed; it is sampled for any number


def winner_probabilities(
    counts: Sequence[int],
    *,
    epsilon: object,
    delta: object = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> list[Fraction] | list[Decimal]:
    """The probability that each option is announced as the winner, for counts that the caller makes up.

    **Guarantee.** The distribution that a release with these public numbers samples from: exact ``Fraction`` values
    where epsilon is ``ln(p/q)`` and the mode is the lattice one, else ``Decimal`` values with at least 40 correct
    digits. Of private counts the result is private too: publish it only for counts that are not.

    >>> winner_probabilities([5, 4], epsilon="ln(2)")
    [Fraction(2, 3), Fraction(1, 3)]
    """
    checked = _checked(counts)
    claim = winner_claim(len(checked), level(epsilon, delta), neighbours)
    if _has_exact_form(checked, claim):
        return exact_probabilities(checked, claim)
    if claim.mode is WinnerMode.PERMUTE_AND_FLIP and claim.options > _MOST_LISTED:
        raise QuestionError(
            "options", claim.options, f"are too many to list every probability (at most {_MOST_LISTED})", "draw instead"
        )
    return _decimals(lambda: enclosed_probabilities(checked, claim))


def draw_winner(
    counts: Sequence[int], level: Level, neighbours: str | Neighbours, source: BitSource | None = None
) -> int:
    """Draw the index of the announced winner.

    **Guarantee.** Each index has exactly the probability of :func:`winner_probabilities`; nothing else about the
    counts is returned, raised or kept. The flip envelope where it is proven, permute-and-flip elsewhere (see
    :func:`winner_claim`).
    """
    checked = _checked(counts)
    claim = winner_claim(len(checked), level, neighbours)
    bits = source if source is not None else SystemBits()
    if claim.options == 1:
        return 0
    if claim.mode is WinnerMode.PERMUTE_AND_FLIP and claim.options > 2:
        return _draw_permute_and_flip(checked, claim, bits)
    # Losers first: the thresholds are then sums of small numbers, and the likeliest answer takes what is left.
    order = sorted(range(len(checked)), key=lambda index: checked[index])

    def probabilities() -> list[Ball]:
        enclosed = enclosed_probabilities(checked, claim)
        return [enclosed[index] for index in order]

    return order[choose_enclosed(probabilities, len(order), bits)]


def exact_probabilities(counts: Sequence[int], claim: WinnerClaim) -> list[Fraction]:
    """The lattice distribution at a rational ``e^epsilon``, exactly."""
    ratio = claim.bound.epsilon.exact_ratio
    if ratio is None:
        raise QuestionError("epsilon", str(claim.bound.epsilon), "has no exact distribution", "write ln(p/q)")
    x = 1 / ratio
    plain = lattice_probabilities(counts, lambda moves: x**moves)
    return _with_delta(counts, plain, claim.bound.delta, x)


def claimed_probabilities(counts: Sequence[int], claim: WinnerClaim) -> list[Number]:
    """The distribution that is drawn: fractions where the level and the mode have them, else balls at the current precision."""
    return (
        exact_probabilities(counts, claim) if _has_exact_form(counts, claim) else enclosed_probabilities(counts, claim)
    )


def enclosed_probabilities(counts: Sequence[int], claim: WinnerClaim) -> list[Ball]:
    """The distribution of any mode in balls at the current precision."""
    power = ball_power(claim.bound.epsilon)
    if claim.mode is WinnerMode.LATTICE:
        plain = lattice_probabilities(counts, power)
    elif claim.mode is WinnerMode.CONTINUUM:
        plain = continuum_probabilities(counts, power)
    else:
        plain = permute_and_flip_probabilities(counts, power, claim.neighbours)
    return _with_delta(counts, plain, ball(claim.bound.delta), power(1)) if claim.bound.delta else plain


def _with_delta(counts: Sequence[int], plain: Sequence[Number], delta: Number, decay: Number) -> list[Number]:
    """Use delta: for two options by cutting both tails, for more by taking a little from every loser."""
    if len(counts) == 2:
        return _cut_tails(counts, plain, delta, decay)
    return _truncate(counts, plain, delta * decay)


def _cut_tails(counts: Sequence[int], plain: Sequence[Number], delta: Number, decay: Number) -> list[Number]:
    """``(P - beta) / (1 - 2 beta)`` within 0 and 1, with ``beta = delta / (e^epsilon - 1 + 2 delta)``.

    With ``rho = delta / (E - 1)`` this is ``Q = (1 + 2 rho) P - rho``, so ``Q' <= E Q + (E - 1) rho``: (epsilon, delta)-DP for
    any epsilon-DP law of two answers. In a tie both have 1/2, and keep it.
    """
    if counts[0] == counts[1] or (isinstance(decay, Fraction) and decay == 1):
        return list(plain)
    loser = counts.index(min(counts))
    beta = delta * decay / (1 - decay + 2 * delta * decay)
    kept = _positive_part((plain[loser] - beta) / (1 - 2 * beta))
    return [kept, 1 - kept] if loser == 0 else [1 - kept, kept]


def ball_power(epsilon: Epsilon) -> Callable[[Height], Ball]:
    """``d -> e^(-epsilon d)`` for rational d, enclosed at the precision of the moment."""
    plain, ratio = epsilon.finite_parts
    logarithm = ball(ratio).log() if ratio != 1 else None

    def power(moves: Height) -> Ball:
        if moves == 0:
            return Ball(1)
        exponent = ball(-plain * moves)
        return (exponent if logarithm is None else exponent - logarithm * ball(moves)).exp()

    return power


def _truncate(counts: Sequence[int], plain: Sequence[Number], scaled_delta: Number) -> list[Number]:
    """Take ``tau = delta e^-epsilon / K`` from each loser, as far as it has that much, and give it to the tops."""
    if isinstance(scaled_delta, Fraction) and scaled_delta == 0:
        return list(plain)
    loss = scaled_delta / len(counts)
    top = max(counts)
    kept = [_positive_part(p - loss) if count < top else p for p, count in zip(plain, counts)]
    gained = sum((p - k for p, k in zip(plain, kept)), start=0 * loss)
    share = gained / sum(count == top for count in counts)
    return [p + share if count == top else p for p, count in zip(kept, counts)]


def _positive_part(number: Number) -> Number:
    return number.max(Ball(0)) if isinstance(number, Ball) else max(number, Fraction(0))


def _draw_permute_and_flip(counts: Sequence[int], claim: WinnerClaim, source: BitSource) -> int:
    power = _fresh_power(claim.bound.epsilon)
    drawn = draw_by_flipping(counts, power, claim.neighbours, source)
    if not claim.bound.delta:
        return drawn

    def keeps() -> Ball:
        """The part of a loser's probability that the truncation leaves: (P - tau) / P, or 0."""
        tau = ball(claim.bound.delta / claim.options) * power(1)
        return (1 - tau / win_probability(counts, drawn, power, claim.neighbours)).max(Ball(0))

    # Asked of a top as well, though it always keeps what it has: the costly product must not tell by its time who leads.
    kept = reveal_below(source.take(64), 64, keeps, source)
    top = max(counts)
    if kept or counts[drawn] == top:
        return drawn
    tops = [index for index, count in enumerate(counts) if count == top]
    return tops[uniform_below(len(tops), source)]


def _fresh_power(epsilon: Epsilon) -> Callable[[Height], Ball]:
    """As :func:`ball_power`, evaluated anew at each call, so that it follows a precision that changes."""
    return lambda moves: ball_power(epsilon)(moves)


def _has_exact_form(counts: Sequence[int], claim: WinnerClaim) -> bool:
    ratio = claim.bound.epsilon.exact_ratio
    if claim.mode is not WinnerMode.LATTICE or ratio is None:
        return False
    size = max(ratio.numerator, ratio.denominator).bit_length() - 1
    return (size * (max(counts) - min(counts)) << claim.options) <= _EXACT_BITS


def _checked(counts: Sequence[int]) -> list[int]:
    """The counts as integers. No message quotes one: they may have been read from a table."""
    try:
        listed = list(counts)
    except TypeError:
        raise QuestionError("counts", "(not shown)", "are not a list of whole numbers") from None
    if not listed:
        raise QuestionError("counts", [], "leave nobody to win", "give one count for each option")
    if any(isinstance(count, bool) or not isinstance(count, Integral) or count < 0 for count in listed):
        raise QuestionError("counts", "(not shown)", "are not whole numbers of 0 or more") from None
    return [int(count) for count in listed]


def _decimals(probabilities: Callable[[], Sequence[Ball]]) -> list[Decimal]:
    bits = 4 * _DIGITS + 32
    while True:
        with precision(bits):
            enclosed = probabilities()
            if bits >= _MOST_BITS or all(p == 0 or p.rel_accuracy_bits() > 3.4 * _DIGITS for p in enclosed):
                return [_decimal(p) for p in enclosed]
        bits *= 2


def _decimal(enclosed: Ball) -> Decimal:
    if enclosed.contains(0):
        return Decimal(0)
    return Decimal(enclosed.str(_DIGITS, radius=False))
