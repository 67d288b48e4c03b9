"""The text of proofs/Computed.v: values of our own functions at rational levels, as statements that Coq evaluates again.

Each value comes from the function that a release uses. Coq computes it from the definitions that the theorems are about, so a
change of a formula on one side alone stops the build.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from optimaldp.distances.linear import LinearCondition
from optimaldp.laws.number_noise import noise_law_for
from optimaldp.laws.options import KeysLaw
from optimaldp.laws.personal import FAIR, everybody_sides
from optimaldp.laws.quantile_accuracy import quantile_probabilities
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, level
from optimaldp.questions import number_probabilities

_HEAD = """(** Values that our own functions computed, evaluated again by Coq from the definitions of the theorems.

    Written by `python -m tools.proofs compute`; do not edit. `make proofs-check` fails when the functions say something else. *)
Require Import Reals QArith Qreals List ZArith.
Require Import DP.StepFunction DP.OneLevel DP.Counts DP.Quantile DP.Staircase DP.Rational.
Import ListNotations.
Open Scope Q_scope.
"""

_RATIOS = [Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(7)]
_DELTAS = [Fraction(0), Fraction(1, 1000), Fraction(1, 50), Fraction(1, 3)]
_STARTS = [Fraction(0), Fraction(1, 20), Fraction(3, 10), Fraction(17, 20)]
_STEPS = [0, 1, 2, 5, 12]

# Counts, rank, e^(-epsilon/2), weights.
_QUANTILES: list[tuple[list[int], Fraction, Fraction, list[int] | None]] = [
    ([5, 5], Fraction(1, 2), Fraction(1, 2), None),
    ([5, 0, 5], Fraction(1, 2), Fraction(9, 10), None),
    ([0, 0, 0, 8], Fraction(1, 2), Fraction(1, 2), None),
    ([1, 0, 0, 0, 5], Fraction(1, 2), Fraction(9, 10), None),
    ([2, 3, 1, 4], Fraction(1, 2), Fraction(1, 2), None),
    ([1, 1, 1, 1, 1, 1, 1], Fraction(1, 2), Fraction(3, 4), None),
    ([9, 0, 1], Fraction(1), Fraction(3, 4), None),
    ([3, 3, 3, 3, 3], Fraction(9, 10), Fraction(3, 4), None),
    ([0, 2, 4, 5], Fraction(9, 10), Fraction(1, 5), [5, 2, 6, 1]),
    ([2, 0, 2, 0, 3, 0], Fraction(1, 10), Fraction(1, 5), [2, 4, 4, 6, 2, 2]),
    ([0, 0, 0], Fraction(1, 3), Fraction(2, 3), None),
]

# Values, range, gap of the answers, unit of the heights, e^(-epsilon/(2 unit)); None is a person without a value.
_MEANS: list[tuple[list[int | None], tuple[int, int], int, int, Fraction]] = [
    ([0, 1, 2, None, 2], (0, 2), 1, 2, Fraction(1, 2)),
    ([0, 1, 2, None, 2], (0, 2), 1, 2, Fraction(9, 10)),
    ([4, 4, 5, 7], (3, 7), 1, 8, Fraction(4, 5)),
    ([None, None], (0, 3), 1, 1, Fraction(1, 3)),
    ([-1, 1], (-1, 1), 2, 1, Fraction(2, 3)),
]
# The same for people who come and go; the unit differs because the denominators do.
_LONE_MEANS: list[tuple[list[int | None], tuple[int, int], int, int, Fraction]] = [
    ([0, 1, 2, None, 2], (0, 2), 1, 3, Fraction(1, 2)),
    ([0, 0, 1], (0, 1), 1, 1, Fraction(3, 4)),
    ([], (0, 2), 1, 1, Fraction(1, 2)),
]

# e^epsilon and the vote of each person, by rising level; at least so many yes.
_VOTES: list[tuple[list[tuple[Fraction, bool]], int]] = [
    ([(Fraction(2), False), *[(Fraction(3), True)] * 4, (Fraction(3), False)], 4),
    ([(Fraction(11, 10), True), (Fraction(3, 2), True), (Fraction(2), False), (Fraction(7), True)], 1),
    ([(Fraction(11, 10), True), (Fraction(3, 2), False), (Fraction(2), False), (Fraction(7), False)], 4),
    ([(Fraction(1), False), (Fraction(5, 4), True), (Fraction(5), False)], 2),
    ([(Fraction(3, 2), True)] * 5, 2),
]


def computed_file() -> str:
    """The whole file, the same at every call."""
    parts = [
        _powers(),
        _tails(),
        _stairs(),
        _keys(),
        _quantiles(),
        _means(_MEANS, True),
        _means(_LONE_MEANS, False),
        _votes(),
    ]
    return _HEAD + "\n".join(line for part in parts for line in part) + "\n"


def _level(ratio: Fraction, delta: Fraction) -> ApproximateDP:
    made = level(f"ln({ratio})", delta)
    assert isinstance(made, ApproximateDP)
    return made


def _powers() -> Iterator[str]:
    """F applied t times, by the closed form."""
    for number, (ratio, delta, start) in enumerate(product(_RATIOS, _DELTAS, _STARTS)):
        steps = _STEPS[number % len(_STEPS)]
        if ratio == 1 and not delta:
            continue
        value = _level(ratio, delta).power(start, steps)
        yield (
            f"Example power_{number} : iter (F {_real(ratio)} {_real(delta)}) {steps} {_real(start)} = {_real(value)}.\n"
            "Proof. apply check_steps. vm_compute. reflexivity. Qed."
        )


def _tails() -> Iterator[str]:
    """P(X > k) of the noise of a count: the (cut) geometric law."""
    for number, (ratio, delta, k) in enumerate(product(_RATIOS[1:], _DELTAS, range(0, 8, 2))):
        value = noise_law_for(Epsilon.read(f"ln({ratio})"), delta).tail(k)
        yield (
            f"Example tail_{number} : T {_real(ratio)} {_real(delta)} {k} = {_real(value)}.\n"
            "Proof. apply check_tail. vm_compute. reflexivity. Qed."
        )


def _stairs() -> Iterator[str]:
    """The noise of a sum: the staircase with the width that the law chose."""
    for number, (ratio, reach, place) in enumerate(product(_RATIOS[2:], [2, 5, 9], [0, 3, -7])):
        law = noise_law_for(Epsilon.read(f"ln({ratio})"), sensitivity=reach)
        shape, sign = f"{reach} {law.width}", f"({place})"
        yield (
            f"Example stair_{number} : (Q2R {_rational(1 / ratio)} ^ Z.to_nat (level {shape} {sign})"
            f" / stairs {shape} (Q2R {_rational(1 / ratio)}))%R = {_real(law.probability(place))}.\n"
            "Proof. apply check_stair. vm_compute. reflexivity. Qed."
        )


def _keys() -> Iterator[str]:
    """How often a category is kept, by the number of its people."""
    for number, (ratio, delta) in enumerate(product(_RATIOS[1:], _DELTAS[1:])):
        law = KeysLaw.at(Epsilon.read(f"ln({ratio})"), delta, Neighbours.ADD_REMOVE)
        yield (
            f"Example kept_{number} : iter (F {_real(ratio)} {_real(delta)}) {number} {_real(Fraction(0))}"
            f" = {_real(law.kept(number)[0])}.\n"
            "Proof. apply check_steps. vm_compute. reflexivity. Qed."
        )


def _quantiles() -> Iterator[str]:
    """Every probability of a smoothed rank."""
    for number, (counts, rank, root, weights) in enumerate(_QUANTILES):
        probabilities = quantile_probabilities(
            counts, rank, epsilon=f"ln({1 / root**2})", weights=weights, mechanism="smoothed rank"
        )
        law = (
            f"{rank.numerator} {rank.denominator} {_rational(root)} {_list(weights or [1] * len(counts))}"
            f" [{'; '.join(f'{count}%nat' for count in counts)}]"
        )
        yield (
            f"Example quantile_{number} : smoothed_rank_is {law}\n  {_list(probabilities)}.\n"
            "Proof. apply check_rank. vm_compute. reflexivity. Qed."
        )


def _means(
    means: Sequence[tuple[list[int | None], tuple[int, int], int, int, Fraction]], replaced: bool
) -> Iterator[str]:
    """Every probability of a mean by the smoothed crossing."""
    for number, (values, (low, high), gap, unit, root) in enumerate(means):
        grid = range(low, high + 1, gap)
        question = f"mean(v, range=[{low}, {high}], step={gap})"
        law = number_probabilities(
            question,
            [*(values.count(value) for value in grid), values.count(None)],
            epsilon=f"ln({root ** (-2 * unit)})",
            neighbours="substitution" if replaced else "add-remove",
        )
        cuts = [value + Fraction(gap, 2) for value in grid[:-1]]
        listed = "; ".join("None" if value is None else f"Some {_rational(value)}" for value in values)
        yield (
            f"Example mean_{'replaced' if replaced else 'added'}_{number} : mean_is {str(replaced).lower()} {_rational(low)}"
            f" {_rational(high)} {_list(cuts)} {_rational(unit)} {_rational(root)} [{listed}]\n"
            f"  {_list([chance for _, chance in law])}.\n"
            "Proof. apply check_mean. vm_compute. reflexivity. Qed."
        )


def _votes() -> Iterator[str]:
    """The probability of yes by the fair law, people with levels of their own."""
    for number, (people, least) in enumerate(_VOTES):
        rows = [(Epsilon.read(f"ln({ratio})"), int(vote), int(not vote), 0) for ratio, vote in people]
        value = everybody_sides(LinearCondition(1, 0, least), rows, FAIR)[0]
        listed = "; ".join(f"({_rational(ratio)}, {str(vote).lower()})" for ratio, vote in people)
        yield (
            f"Example fair_{number} : fair_is {least} [{listed}] {_rational(value)}.\n"
            "Proof. apply check_fair. vm_compute. reflexivity. Qed."
        )


def _rational(value: object) -> str:
    assert isinstance(value, (int, Fraction)), value
    exact = Fraction(value)
    return f"({exact.numerator}#{exact.denominator})"


def _real(value: object) -> str:
    return f"(Q2R {_rational(value)})"


def _list(values: Sequence[object]) -> str:
    return f"[{'; '.join(_rational(value) for value in values)}]"
