"""The referee of noise on a count or a sum: geometric noise, the discrete staircase, and both cut with delta.

What a person can move is found from outside: each cell of the tally is a possible record, so a table with one person in it tells
what that record adds. The law is compared with its definition, exactly at a level where all numbers are rational and in balls at
the real one; the sampler with words of bits next to its thresholds; what people see with the recorded number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from optimaldp.certify.core.examined import Finding
from optimaldp.certify.numbers.parts import (
    BITS,
    SOME_WORDS,
    WORD,
    MadeUp,
    added_by_record,
    changed,
    clamp,
    cut_off,
    drawn,
    need,
    need_confirmed,
    passed,
    watched,
)
from optimaldp.errors import NotCertifiedError
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.numbers import first_where

_FEW_STEPS = 12  # sensitivities whose shifts are all tried at all places
_TWO = Epsilon.read("ln(2)")


def confirm_noise(
    *, epsilon: Epsilon, delta: Fraction, sensitivity: int, width: int, share: Fraction
) -> Callable[[int, int, int], None]:
    """Whether the bits of a draw really belong to the noise that was drawn: by the distribution function, counted anew."""

    def confirm(value: int, bits: int, place: int) -> None:
        with precision(3 * bits + 8 * (epsilon.leading_zeros + sensitivity.bit_length()) + 4 * epsilon.ceiling + 128):
            decay, scale = _ball_decay(epsilon, share), Ball(2) ** bits
            beta = cut_off(1 / decay(1), ball(delta)) if not epsilon.is_zero else Ball(0)

            def up_to(k: int) -> Ball:
                if epsilon.is_zero:
                    plain = ball(Fraction(1, 2) + delta * (k + Fraction(1, 2)))
                else:
                    far = _tail_by_counting(abs(k + 1) if k < 0 else k + 1, decay, sensitivity, width)
                    # P(X <= k): for k >= 0 one minus the tail from k + 1 on, else the mirrored tail from -k on.
                    plain = 1 - far if k >= 0 else _tail_by_counting(-k, decay, sensitivity, width)
                return ((plain - beta) / (1 - 2 * beta)).max(Ball(0)).min(Ball(1))

            inside = up_to(place - 1) <= Ball(value) / scale and Ball(value + 1) / scale <= up_to(place)
        if not inside:
            raise NotCertifiedError("A second calculation does not confirm the noise. Nothing was released.")

    return confirm


def _ball_decay(epsilon: Epsilon, share: Fraction) -> Callable[[int], Ball]:
    size = epsilon.ball() * ball(share)
    return lambda power: (-size * power).exp()


def _tail_by_counting(first: int, decay: Callable[[int], Any], steps: int, width: int) -> Any:
    """P(X >= first), first >= 0: how many numbers of each level are left in the period of *first*, then whole periods."""
    period, rest = divmod(first, steps)
    upper = max(0, width - rest)  # numbers from first on that lie before the jump of their period
    lower = steps - rest - upper
    b = decay(1)
    whole = (width + b * (steps - width)) / (1 - b)  # the weight of all numbers from 0 on
    weight = decay(period) * upper + decay(period + 1) * lower + decay(period + 1) * whole
    return weight / (2 * whole - 1)


def examine_noise_number(mechanism: Any) -> Finding:
    """N1, N2, N3, N6, N7, N8: the sensitivity from outside, the law against its definition, the sampler, what people see."""
    return passed(lambda: _look_at_noise(mechanism))


def _look_at_noise(mechanism: Any) -> list[str]:
    setting = mechanism.setting
    sizes = (2, 3) if setting.public_groups else ()
    moved = _moved_by_one(mechanism, sizes)
    noise = mechanism.noise(sizes)
    need(moved <= noise.sensitivity, "one person moves the number further than the noise covers")
    need(moved == noise.sensitivity, "the noise covers more than one person can move: the claim would be false")
    need_level(noise, setting)
    own = mechanism.noise()
    check_noise_law(own, str(mechanism.question.said.loss))
    _look_at_shown(mechanism)
    _look_at_noisy_draws(mechanism)
    return [
        "what one person can move, from every cell of the table, a missing value and a person outside included",
        "the law of the noise against its definition, its tails, and every shift that one person can cause",
        "the sampler gives each noise on just the bits that belong to it, next to every threshold that was tried, and the "
        "recorded number is the sum of a table and one noise",
        "the answer and its interval follow from the recorded number by public arithmetic",
        f"for all tables, by theorem: {mechanism.proof}",
    ]


def _moved_by_one(mechanism: Any, sizes: tuple[int, ...]) -> int:
    """The furthest that one person moves the whole number, by trying every record."""
    if sizes:
        return _moved_in_public_groups(mechanism.question, sizes)
    adds = added_by_record(mechanism.question)
    if mechanism.setting.neighbours is Neighbours.ADD_REMOVE:
        return max(map(abs, adds))
    return max(adds) - min(adds)


def _moved_in_public_groups(question: Any, sizes: tuple[int, ...]) -> int:
    """Two shares of public groups: every table of these sizes, every person who changes inside their group."""
    first, second = sizes
    common = math.lcm(first, second)
    furthest = 0
    for a in range(first + 1):
        for b in range(second + 1):
            here = question.total(question.read_counts([a, first - a, b, second - b, 1]))
            need(Fraction(here, common) == Fraction(a, first) - Fraction(b, second), "the number is not the difference")
            for c, d in ((a + 1, b), (a, b + 1)):
                if c <= first and d <= second:
                    there = question.total(question.read_counts([c, first - c, d, second - d, 0]))
                    furthest = max(furthest, abs(here - there))
    # Nobody who is in one group alone is taken for a member of the other.
    for cell in watched(question.cells):
        need(sum(question.sizes(question.fold({cell: 1}))) <= 1, "somebody is counted in both groups")
    return furthest


def need_level(noise: Any, setting: Any, share: Fraction = Fraction(1)) -> None:
    strictest = min([setting.level.epsilon, *(own for own, _ in setting.levels)])
    need(noise.epsilon == strictest and 0 < noise.share <= share, "the noise is not at the level that is promised")
    need(0 <= noise.delta <= setting.level.delta, "the noise spends more delta than is promised")
    nobody = strictest.is_zero and bool(setting.levels)
    need(not (nobody and noise.delta), "somebody of level 0, who loses no delta, would lose one")


@lru_cache(maxsize=256)
def check_noise_law(noise: Any, loss: str = "absolute") -> None:
    """N1, N2 and N8 for a law of noise: raises :class:`RefusedError` where it is not what its numbers say."""
    steps, width = noise.sensitivity, noise.width
    need(1 <= width <= steps, "the staircase has no such width")
    if noise.epsilon.is_zero:
        _look_at_flat_noise(noise)
    else:
        _look_at_width(noise, loss)
        exact = changed(noise, epsilon=_TWO, share=Fraction(1), delta=min(noise.delta, Fraction(1, 5)))
        _look_at_exact_noise(exact)
        _look_at_exact_noise(changed(exact, delta=Fraction(1, 30)))
        _look_at_real_noise(noise)
    _look_at_words(noise)


def _look_at_flat_noise(noise: Any) -> None:
    need(noise.sensitivity == 1 and noise.delta > 0, "at epsilon = 0 delta alone hides one person")
    last = noise.largest
    for k in [0, 1, last // 2, last - 1, last, last + 1]:
        tail = max(Fraction(0), Fraction(1, 2) - noise.delta * (k + Fraction(1, 2)))
        need(k < 0 or noise.tail(k) == tail, "a tail of the noise is not what its definition says")


def _look_at_width(noise: Any, loss: str) -> None:
    """The width must come from public numbers by the rule that is claimed; any width is private."""
    steps, width = noise.sensitivity, noise.width
    if loss == "exact":
        need(width == 1, "the width is not the best for being exact")
    if loss != "absolute":
        return
    with precision(BITS + 4 * (noise.epsilon.leading_zeros + steps.bit_length())):
        growth = (noise.epsilon.ball() * ball(noise.share)).exp()
        # r is no worse than r + 1 exactly if E r^2 >= (D - r)^2.
        better_below = growth * (width - 1) ** 2 - (steps - width + 1) ** 2
        better_above = growth * width**2 - (steps - width) ** 2
        need(width == 1 or not better_below > 0, "a narrower staircase has a smaller expected error")
        need(not better_above < 0, "a wider staircase has a smaller expected error")


def _points(steps: int, width: int) -> list[int]:
    if steps <= _FEW_STEPS:
        return list(range(-3 * steps - 1, 3 * steps + 2))
    marks = {q * steps + u for q in range(4) for u in (0, 1, width - 1, width, width + 1, steps - 1)}
    return sorted({sign * mark for mark in marks for sign in (-1, 1)})


def _look_at_exact_noise(noise: Any) -> None:
    """At e^epsilon = 2: the law against its definition, and every shift of one person against 2 and delta."""
    steps, width, delta = noise.sensitivity, noise.width, noise.delta
    beta = cut_off(Fraction(2), delta)

    def level(i: int) -> int:
        return int(abs(i) // steps + (abs(i) % steps >= width))

    whole = 2 * (width + Fraction(steps - width, 2)) / Fraction(1, 2) - 1

    def tail(k: int) -> Fraction:
        plain = _tail_by_counting(k + 1, lambda q: Fraction(1, 2) ** q, steps, width)
        return max(Fraction(0), Fraction((plain - beta) / (1 - 2 * beta)))

    for i in _points(steps, width):
        known = tail(abs(i) - 1) - tail(abs(i)) if i else 1 - 2 * tail(0)
        if not delta:
            need(known == Fraction(1, 2) ** level(i) / whole, "the referee disagrees with itself")
        need(noise.probability(i) == known, "a probability of the noise is not what its definition says")
        need(i < 0 or noise.tail(i) == tail(i), "a tail of the noise is not what its definition says")
    _look_at_shifts(noise, tail)


def _look_at_shifts(noise: Any, tail: Callable[[int], Fraction]) -> None:
    steps, delta = noise.sensitivity, noise.delta
    if steps > _FEW_STEPS:  # the largest shift alone, by distribution functions: the worst event is a tail of it
        last = noise.largest if delta else 40 * steps
        for k in sorted({0, steps, noise.width, steps + noise.width, last - 1, last}):
            need(tail(k) <= 2 * tail(k + steps) + delta, "a shift by one person costs more than is promised")
        return
    reach = noise.largest + steps if delta else 4 * steps
    chances = {k: noise.probability(k) for k in range(-reach - steps, reach + steps + 1)}
    worst, largest = Fraction(0), Fraction(0)
    for shift in range(1, steps + 1):
        for sign in (1, -1):
            pairs = [(chances[k], chances[k + sign * shift]) for k in range(-reach, reach + 1)]
            worst = max(worst, sum((max(Fraction(0), p - 2 * q) for p, q in pairs), Fraction(0)))
            largest = max(largest, *(p / q for p, q in pairs if q), Fraction(0))
    need(worst <= delta, "a shift by one person costs more than is promised")
    need(bool(delta) or largest == 2, "the noise is larger than its level needs")
    need(not delta or noise.largest < steps or worst == delta, "delta is charged and not used")


def _look_at_real_noise(noise: Any) -> None:
    steps, width = noise.sensitivity, noise.width
    with precision(BITS + 4 * (noise.epsilon.leading_zeros + steps.bit_length())):
        decay = _ball_decay(noise.epsilon, noise.share)
        beta = cut_off(1 / decay(1), ball(noise.delta))
        for k in sorted({0, 1, width, steps - 1, steps, 2 * steps + width, 7 * steps}):
            known = ((_tail_by_counting(k + 1, decay, steps, width) - beta) / (1 - 2 * beta)).max(Ball(0))
            said = ball(Fraction(noise.tail(k)))
            need(
                abs(said - known) <= Ball(10) ** -28 * (1 + known), "a tail of the noise is not right at its own level"
            )


def _look_at_words(noise: Any) -> None:
    """Words of bits next to the thresholds: each must be given to the noise on whose side it lies."""
    confirm = confirm_noise(
        epsilon=noise.epsilon,
        delta=noise.delta,
        sensitivity=noise.sensitivity,
        width=noise.width,
        share=noise.share,
    )
    words = {0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1}
    for k in {0, 1, noise.width, noise.sensitivity, 2 * noise.sensitivity}:
        near = int(Fraction(noise.tail(k)) * 2**WORD)
        words |= {word for at in (near, 2**WORD - near) for word in (at - 1, at, at + 1) if 0 <= word < 2**WORD}
    for word in sorted(words):
        place = noise.place(word, WORD)
        if place is None:
            continue  # a threshold lies inside: more bits are drawn
        need_confirmed(confirm, word, place)


def _look_at_noisy_draws(mechanism: Any) -> None:
    """What is recorded is the number and one noise, also where that is no possible number: nothing is drawn again."""
    table, question = MadeUp(mechanism), mechanism.question
    counts = question.fold(table.cells)
    sizes = tuple(question.sizes(counts)) if mechanism.setting.public_groups else ()
    noise, linear = mechanism.noise(sizes), mechanism.linear(sizes)
    for word in SOME_WORDS:
        away = noise.place(word, WORD)
        if away is not None:
            known = linear.offset + linear.unit * (question.total(counts) + away)
            recorded = Fraction(drawn(mechanism, table, word)["recorded"])
            need(recorded == known, "what is recorded is not the number of the table and one noise")


def _look_at_shown(mechanism: Any) -> None:
    """N6 and N7: the clamp, the interval and the Bayes step, recomputed from a recorded number."""
    options, sizes = mechanism.question.said, (2, 3) if mechanism.setting.public_groups else ()
    linear, noise = mechanism.linear(sizes), mechanism.noise(sizes)
    written = {"group_sizes": list(sizes)} if sizes else {}
    width = half_width(noise, options.confidence)
    for recorded in (-7, 0, 3, mechanism.setting.people or 1000, 10**9):
        value = linear.offset + linear.unit * recorded
        shown = mechanism.details_of(value, written)
        if options.prior is not None:
            continue
        known = clamp(value, linear)
        wanted = value if options.output == "unbiased" else known
        need(Fraction(shown["exact"]) == wanted, "the answer is not the recorded number moved into what is possible")
        ends = [float(clamp(value + sign * width * linear.unit, linear)) for sign in (-1, 1)]
        need([*map(float, shown["interval"])] == ends, "the interval does not follow from the recorded number")
    if options.prior is not None:
        _look_at_remap(mechanism, noise)


def half_width(noise: Any, confidence: Fraction) -> int:
    """The least w with P(|X| > w) <= risk, from the tails as they were examined."""
    risk = (1 - confidence) / 2
    return first_where(lambda width: Fraction(noise.tail(width)) <= risk, 0)


def _look_at_remap(mechanism: Any, noise: Any) -> None:
    """The Bayes step on few people, by the expected loss of every count: no formula for medians or means."""
    options, unit = mechanism.question.said, mechanism.linear().unit
    costs: dict[str, Callable[[int], int]] = {
        "absolute": abs,
        "squared": lambda e: e * e,
        "exact": lambda e: int(e != 0),
    }
    if mechanism.setting.people > 40 or options.prior.startswith("["):
        return
    people = mechanism.setting.people
    weights = _prior_weights(options.prior, people)
    for noisy in range(-2, people + 3):
        chance = [weights[y] * Fraction(noise.probability(noisy - y)) for y in range(people + 1)]
        if not any(chance):
            continue
        expected = [sum(w * costs[str(options.loss)](c - y) for y, w in enumerate(chance)) for c in range(people + 1)]
        shown = Fraction(mechanism.details_of(noisy * unit, {})["exact"])
        least = min(expected)
        at = shown / unit if options.output != "unbiased" else None
        if at is not None:
            slack = least * Fraction(1, 10**20)
            need(expected[int(at)] <= least + slack, "the answer is not the best one under the named prior")


def _prior_weights(text: str, people: int) -> list[Fraction]:
    if text == "uniform":
        return [Fraction(1)] * (people + 1)
    chance = Fraction(text.removeprefix("binomial(").removesuffix(")"))
    return [math.comb(people, k) * chance**k * (1 - chance) ** (people - k) for k in range(people + 1)]
