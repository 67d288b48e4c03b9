"""The recursion behind both versions of the flip envelope: options that are flattened together by moving votes.

To make an option k win, votes are moved one by one from a top option to k. After enough moves k is level with the
tops, and the options that were overtaken on the way down are level with them too. A state is therefore a set of
options that are level, the others as they were; its tops share what the others leave. Options with equal counts are
alike, so a set is kept as *how many* of each distinct count it holds: never more than ``2**(options - 1)`` states,
far fewer with ties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, Protocol

from optimaldp.certify.winner import continuum_proof, lattice_proof
from optimaldp.errors import QuestionError
from optimaldp.laws.log_number import exact_or_decimals, listed_counts
from optimaldp.privacy import Epsilon, Level, level
from optimaldp.privacy.balls import Ball, BallPolynomial, ball, context, integer_above, integer_below, precision
from optimaldp.privacy.levels import Bound, single_level
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.trajectory import Number
from optimaldp.results import Result
from optimaldp.sampling import BitSource, SystemBits, choose_enclosed, uniform_below

Height = int | Fraction
Taken = tuple[int, ...]
Plateau = tuple[Taken, int, int]  # how many of each count, their votes, their number


class Water(Protocol):
    """What distinguishes the versions: where the surface lies when votes are spread over some options."""

    def surface(self, total: int, members: int) -> Height:
        """The highest count among *members* options that share *total* votes as evenly as possible."""
        ...

    def floods(self, count: int, total: int, members: int) -> bool:
        """Whether an option with this count is level with *members* options that share *total* votes."""
        ...

    def shares(self, total: int, members: int) -> Number:
        """How many times the probability of a top the *members* options get together."""
        ...

    def decay(self, moves: Height) -> Number:
        """``e^(-epsilon moves)``."""
        ...


def flatten(counts: Sequence[int], water: Water) -> list[Number]:
    """The probability of each option, in the order of *counts*."""
    by_count = _Flattening(counts, water).probabilities()
    return [by_count[count] for count in counts]


class _Flattening:
    def __init__(self, counts: Sequence[int], water: Water) -> None:
        sizes = Counter(counts)
        self._heights = sorted(sizes, reverse=True)
        self._sizes = [sizes[height] for height in self._heights]
        self._water = water
        self._known: dict[Taken, Number] = {}
        self._decay = cache(water.decay)  # many sets need the same power, and an exponential is the costliest step

    def probabilities(self) -> dict[int, Number]:
        """Every distinct count with the probability of one option that has it."""
        start = self._close(((0,) * len(self._heights), 0, 0), 0)
        top = self._top(start)
        surface = self._heights[0]
        result: dict[int, Number] = {}
        for position, height in enumerate(self._heights):
            if start[0][position]:
                moves = surface - height  # 0 for a top; 1 for the lattice's "one below"
                result[height] = top if moves == 0 else self._decay(moves) * top
            else:
                result[height] = self._lifted(start, position)
        return result

    def _top(self, level: Plateau) -> Number:
        """The probability of a top once the options in *level* are level: what the others leave, shared."""
        taken, total, members = level
        if taken in self._known:
            return self._known[taken]
        rest = self._decay(0)  # one, as the kind of number in use: a bare 1 divided by an integer would be a float
        for position, size in enumerate(self._sizes):
            outside = size - taken[position]
            if outside:
                rest = rest - outside * self._lifted(level, position)
        value = rest / self._water.shares(total, members)
        self._known[taken] = value
        return value

    def _lifted(self, level: Plateau, position: int) -> Number:
        """The probability of an option outside: it wins after being lifted to the surface, one factor for each move."""
        lifted = self._close(level, position)
        moves = self._water.surface(lifted[1], lifted[2]) - self._heights[position]
        return self._decay(moves) * self._top(lifted)

    def _close(self, level: Plateau, position: int) -> Plateau:
        """Add one option at *position*, then in descending count every option that the sinking surface reaches."""
        taken, total, members = [*level[0]], level[1] + self._heights[position], level[2] + 1
        taken[position] += 1
        for index, height in enumerate(self._heights):
            while taken[index] < self._sizes[index]:
                if not self._water.floods(height, total, members):
                    return tuple(taken), total, members
                taken[index] += 1
                total, members = total + height, members + 1
        return tuple(taken), total, members


# The flip envelope on whole votes: every loser gets exactly the least that privacy allows.
#
# ``P(k | c) = x P(k | c - e_w + e_k)`` for any top w (R1), and the tops share the rest equally (R2), with ``x =
# e^-epsilon``. Votes are whole, so spread-out options end on two neighbouring heights; an option one below the top has
# x times the top's probability.


@dataclass(frozen=True)
class WholeVotes:
    """Integer water: r options at ``ceil(total / members)``, the others one below."""

    power: Callable[[Height], Number]

    def surface(self, total: int, members: int) -> int:
        return -(-total // members)

    def floods(self, count: int, total: int, members: int) -> bool:
        return count >= self.surface(total, members) - 1

    def shares(self, total: int, members: int) -> Number:
        full = total - (self.surface(total, members) - 1) * members
        return full + (members - full) * self.power(1)

    def decay(self, moves: Height) -> Number:
        return self.power(moves)


def lattice_probabilities(counts: Sequence[int], power: Callable[[Height], Number]) -> list[Number]:
    """The distribution of the lattice version; ``power(d)`` gives ``e^(-epsilon d)`` as a Fraction or a ball.

    **Guarantee.** (R1) and (R2) hold exactly. Whether that is private is for :mod:`optimaldp.certify.winner` to say.

    >>> from fractions import Fraction
    >>> [str(p) for p in lattice_probabilities([5, 4, 3, 3], lambda moves: Fraction(1, 2) ** moves)]
    ['10/21', '5/21', '1/7', '1/7']
    """
    return flatten(counts, WholeVotes(power))


# The flip envelope on divisible votes: private for every epsilon up to five options, a little less accurate than whole votes.


@dataclass(frozen=True)
class DivisibleVotes:
    """Real water: all members at ``total / members``."""

    power: Callable[[Height], Number]

    def surface(self, total: int, members: int) -> Fraction:
        return Fraction(total, members)

    def floods(self, count: int, total: int, members: int) -> bool:
        return count * members >= total

    def shares(self, total: int, members: int) -> Number:
        return members

    def decay(self, moves: Height) -> Number:
        return self.power(moves)


def continuum_probabilities(counts: Sequence[int], power: Callable[[Height], Number]) -> list[Number]:
    """The distribution of the continuum version; ``power(d)`` gives ``e^(-epsilon d)`` for rational d, as a ball.

    **Guarantee.** epsilon-DP for every epsilon and every n when there are at most five options; not beyond ten.
    """
    return flatten(counts, DivisibleVotes(power))


# Permute-and-flip: the mechanism that is private for any number of options and any epsilon.
#
# Walk through the options in random order; stop at option k with probability ``p_k = e^(-epsilon g_k / 2)`` for a gap
# ``g_k`` to the top under substitution, ``e^(-epsilon g_k)`` under add/remove (one vote more or less moves a gap by
# one, and always in the same direction for all gaps). The first success in a random order is a uniform choice among all
# successes, so one coin is flipped for every option, always, and then one of the heads is drawn: the number of coins
# does not depend on the counts.


Power = Callable[[Height], Ball]

_WORD = 64


def moves_of_gap(gap: int, neighbours: Neighbours) -> Fraction:
    """How many factors ``e^-epsilon`` a gap of *gap* votes is worth."""
    return Fraction(gap, 2) if neighbours is Neighbours.SUBSTITUTION else Fraction(gap)


def flip_probabilities(counts: Sequence[int], power: Power, neighbours: Neighbours) -> list[Ball]:
    """The probability that the coin of each option shows heads; exactly 1 for a top."""
    top = max(counts)
    known = {gap: power(moves_of_gap(gap, neighbours)) for gap in {top - count for count in counts}}
    return [known[top - count] for count in counts]


def permute_and_flip_probabilities(counts: Sequence[int], power: Power, neighbours: Neighbours) -> list[Ball]:
    """The distribution of permute-and-flip, enclosed.

    ``P(k) = p_k E[1 / (1 + number of heads among the others)]``: sums of positive terms, so nothing cancels.
    """
    coins = flip_probabilities(counts, power, neighbours)
    by_gap = {count: index for index, count in enumerate(counts)}
    known = {count: win_by_coins(coins, index) for count, index in by_gap.items()}
    return [known[count] for count in counts]


def win_probability(counts: Sequence[int], index: int, power: Power, neighbours: Neighbours) -> Ball:
    """The probability of one option alone: one product instead of one for every option."""
    return win_by_coins(flip_probabilities(counts, power, neighbours), index)


def win_by_coins(coins: Sequence[Ball], index: int) -> Ball:
    """The probability that option *index* is drawn when every option flips its coin and one of the heads is drawn."""
    others = [coin for position, coin in enumerate(coins) if position != index]
    # Twice the mean and a few more heads are as good as impossible, so longer polynomials are cut; what is cut is enclosed below.
    length = min(len(others), int(2 * sum(map(float, others))) + context.prec) + 1
    expected, covered = Ball(0), Ball(0)
    for number, chance in enumerate(_number_of_heads(others, length).coeffs()):
        expected, covered = expected + chance / (number + 1), covered + chance
    if length <= len(others):
        expected = expected + Ball(0).union((1 - covered).upper()).nonnegative_part() / (length + 1)
    return coins[index] * expected


def _number_of_heads(coins: Sequence[Ball], length: int) -> BallPolynomial:
    """The generating polynomial of the number of heads below *length*, by a product tree."""
    factors = [BallPolynomial([1 - coin, coin]) for coin in coins] or [BallPolynomial([1])]
    while len(factors) > 1:
        paired = [(a * b).truncate(length) for a, b in zip(factors[::2], factors[1::2])]
        factors = paired + factors[2 * len(paired) :]
    return factors[0]


def draw_by_flipping(counts: Sequence[int], power: Power, neighbours: Neighbours, source: BitSource) -> int:
    """Draw an option from permute-and-flip exactly, without computing its distribution."""
    top = max(counts)
    thresholds = {
        gap: _threshold(power, moves_of_gap(gap, neighbours)) for gap in {top - count for count in counts} if gap
    }
    heads = []
    for index, count in enumerate(counts):
        gap, word = top - count, source.take(_WORD)
        if gap == 0 or _shows_heads(word, thresholds[gap], gap, power, neighbours, source):
            heads.append(index)
    return heads[uniform_below(len(heads), source)]


def _threshold(power: Power, moves: Fraction) -> tuple[int, int]:
    """Words below the first number are heads for certain, words from the second on are tails for certain."""
    with precision(2 * _WORD):
        scaled = power(moves) * Ball(2) ** _WORD
        return integer_below(scaled), integer_above(scaled)


def _shows_heads(
    word: int, threshold: tuple[int, int], gap: int, power: Power, neighbours: Neighbours, source: BitSource
) -> bool:
    if word < threshold[0]:
        return True
    if word >= threshold[1]:
        return False
    return reveal_below(word, _WORD, lambda: power(moves_of_gap(gap, neighbours)), source)


def reveal_below(value: int, bits: int, number: Callable[[], Ball], source: BitSource) -> bool:
    """Whether the uniform real that begins with these *bits* lies below *number*, drawing more bits until it shows."""
    while True:
        with precision(2 * bits + 64):
            end, unit = number(), Ball(2) ** bits
            if Ball(value + 1) / unit <= end:
                return True
            if Ball(value) / unit >= end:
                return False
        value, bits = (value << _WORD) | source.take(_WORD), bits + _WORD


# Which mechanism answers "who wins?", chosen from public numbers alone: options, epsilon, delta and the neighbours.
#
# No argument selects a mode: a release can only get one that is proven private for its own numbers.


# The recursion visits up to 2**(options - 1) sets: ten options take a few milliseconds, twenty would take seconds.
MOST_FLATTENED = 10


class WinnerMode(StrEnum):
    """The mechanisms for the winner."""

    LATTICE = "flip envelope (lattice)"
    CONTINUUM = "flip envelope (continuum)"
    PERMUTE_AND_FLIP = "permute-and-flip"


@dataclass(frozen=True, repr=False)
class WinnerClaim(Result):
    """Which mechanism is used for a number of options at a level, and what is proven about it."""

    mode: WinnerMode
    options: int
    bound: Bound
    neighbours: Neighbours
    proof: str

    @property
    def epsilon(self) -> Epsilon:
        return self.bound.epsilon

    def summary(self) -> str:
        level = f"{self.bound}-DP" if self.bound.delta else f"{self.epsilon}-DP"
        return f"WinnerClaim({self.mode}, {self.options} options, {level}, {self.neighbours}, {self.proof})"

    def details(self) -> list[tuple[str, str]]:
        return [
            ("mechanism", str(self.mode)),
            ("proof", self.proof),
            ("neighbours", self.neighbours.words),
            ("accuracy", "no dataset is known where it is worse than permute-and-flip"),
        ]

    def to_document(self) -> dict[str, Any]:
        return {
            "mechanism": str(self.mode),
            "options": self.options,
            "epsilon": str(self.epsilon),
            "delta": str(self.bound.delta),
            "neighbours": str(self.neighbours),
            "proof": self.proof,
        }


def winner_claim(options: int, level: Level, neighbours: str | Neighbours = Neighbours.SUBSTITUTION) -> WinnerClaim:
    """The mechanism for *options* options at *level*, and why it is private.

    **Guarantee.** The claim depends on its arguments only. The mechanism is (epsilon, delta)-DP for every number of people,
    also when some of them chose none of the options.

    >>> from optimaldp.privacy import level
    >>> winner_claim(5, level(1))
    WinnerClaim(flip envelope (lattice), 5 options, 1-DP, substitution, proven for every n: finite certificate)
    """
    if options < 1:
        raise QuestionError("options", options, "leave nobody to win", "name at least one option")
    return _claim(options, single_level(level, "winner").forward[0], Neighbours(neighbours))


@lru_cache(maxsize=1024)
def _claim(options: int, bound: Bound, neighbours: Neighbours) -> WinnerClaim:
    mode, proof = WinnerMode.PERMUTE_AND_FLIP, "proven for every n, every epsilon, any number of options"
    if neighbours is Neighbours.SUBSTITUTION and options <= MOST_FLATTENED:
        if proven := lattice_proof(options, bound.epsilon):
            mode, proof = WinnerMode.LATTICE, proven
        elif proven := continuum_proof(options):
            mode, proof = WinnerMode.CONTINUUM, proven
    return WinnerClaim(mode, options, bound, neighbours, proof)


# The distribution that ``winner`` samples from, and the sampler.
#
# With delta > 0 every option that is not top loses ``tau = delta / (K e^epsilon)`` (or all it has), and the tops share
# the gain: far from a tie the answer is then always right. That is (epsilon, delta)-DP for any epsilon-DP mechanism
# underneath. Of two options both tails are cut instead, which errs less.


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
    return exact_or_decimals(lambda: enclosed_probabilities(checked, claim))


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
    listed = listed_counts(counts)
    if not listed:
        raise QuestionError("counts", [], "leave nobody to win", "give one count for each option")
    return listed
