"""The referee of numbers: what is right passes, and every wrong twin falls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from number_referee import examine_number

from optimaldp.certify.core.referee import examine_release
from optimaldp.certify.numbers import (
    RefusedError,
    check_family,
    check_noise_law,
    confirm_noise,
)
from optimaldp.certify.numbers.crossing import theorem_shape
from optimaldp.errors import NotCertifiedError
from optimaldp.laws.crossing import CrossingEnds, CrossingLaw, Family, LadderLaw, Sums
from optimaldp.laws.law import Setting
from optimaldp.laws.number_noise import NoiseLaw
from optimaldp.privacy import Epsilon, Neighbours, level
from optimaldp.questions import parse
from optimaldp.questions.number_mechanisms import CrossedNumber, NoisyNumber, TwoSteps
from optimaldp.questions.numbers import Linear

F = Fraction
REPLACED = Setting(level("0.7", "1/50"), Neighbours.SUBSTITUTION, 500)
COMES = Setting(level("0.7", "1/50"), Neighbours.ADD_REMOVE, None)
QUESTIONS = [
    "count(a)",
    "count(a, prior=uniform, loss='squared')",
    "share(a)",
    "share(a, grid=0.1 among b)",
    "sum(v, range=[0, 9])",
    "sum(v, range=[3, 70])",
    "sum(v, range=[-4, 9], loss='squared')",
    "sum(v, range='generous', top=1000)",
    "mean(v, range=[0, 9], grid=1)",
    "mean(v, range=[18, 100], complete=true)",
    "mean(v, range=[0, 9], grid=1, interval=true)",
    "ratio(v, w, ranges=[[0, 2], [0, 3]], grid=[0, 4, 0.5])",
    "count(a) - count(b)",
    "share(a among b) - share(a among c)",
]


@pytest.mark.parametrize("setting", [REPLACED, COMES], ids=["substitution", "add-remove"])
@pytest.mark.parametrize("text", QUESTIONS)
def test_what_is_right_passes(text: str, setting: Setting) -> None:
    if "prior" in text and setting is COMES:
        pytest.skip("a prior needs a public number of people")
    small = replace(setting, people=20) if "prior" in text else setting
    finding = examine_release(parse(text).mechanism(small))
    assert finding.private, finding.failure
    assert len(finding.checks) >= 3


# Twins of the noise.


@dataclass(frozen=True, repr=False)
class Twin(NoisyNumber):
    """A noisy number that is answered with another law, or read otherwise."""

    wrong: str = ""

    def noise(self, sizes: tuple[int, ...] = ()) -> NoiseLaw:
        right = super().noise(sizes)
        return {
            "staircase for one step less": lambda: replace(right, sensitivity=right.sensitivity - 1),
            "half of the range": lambda: replace(right, sensitivity=max(1, right.sensitivity // 2), width=1),
            "twice the level": lambda: replace(right, epsilon=right.epsilon * 2),
            "more delta than promised": lambda: replace(right, delta=right.delta * 2),
            "a share above one": lambda: replace(right, share=F(2)),
            "a width from the data": lambda: replace(right, width=1 + right.width % right.sensitivity),
            "no cut where delta is charged": lambda: Uncut(*_fields(right)),
            "beta = delta": lambda: WideCut(*_fields(right)),
            "minus zero kept": lambda: DoubleZero(*_fields(right)),
            "tails drawn again": lambda: Redrawn(*_fields(right)),
            "sign from the wrong bit": lambda: WrongSign(*_fields(right)),
            "off by one": lambda: OffByOne(*_fields(right)),
        }.get(self.wrong, lambda: right)()

    def linear(self, sizes: tuple[int, ...] = ()) -> Linear:
        right = super().linear(sizes)
        return {
            "not clamped": lambda: replace(right, low=None, high=None),
        }.get(self.wrong, lambda: right)()

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        right = super().details_of(recorded, written)
        if self.wrong == "interval too narrow" and right["interval"][0] < right["interval"][1]:
            return right | {"interval": [right["interval"][0] + 1, right["interval"][1]]}
        if self.wrong == "clamped to something else":
            return right | {"exact": str(abs(F(right["exact"])) + 1)}
        return right


def _fields(law: NoiseLaw) -> tuple[Any, ...]:
    return law.epsilon, law.delta, law.sensitivity, law.width, law.share


@dataclass(frozen=True, repr=False)
class Uncut(NoiseLaw):
    def tail(self, value: int) -> Any:
        return replace(NoiseLaw(*_fields(self)), delta=F(0)).tail(value)

    def probability(self, value: int) -> Any:
        return replace(NoiseLaw(*_fields(self)), delta=F(0)).probability(value)


@dataclass(frozen=True, repr=False)
class WideCut(NoiseLaw):
    def tail(self, value: int) -> Any:
        plain = F(replace(NoiseLaw(*_fields(self)), delta=F(0)).tail(value))
        return max(F(0), (plain - self.delta) / (1 - 2 * self.delta))

    def probability(self, value: int) -> Any:
        return self.tail(abs(value) - 1) - self.tail(abs(value)) if value else 1 - 2 * self.tail(0)


@dataclass(frozen=True, repr=False)
class DoubleZero(NoiseLaw):
    def probability(self, value: int) -> Any:
        zero = F(super().probability(0))
        return F(super().probability(value)) * (2 if value == 0 else 1) / (1 + zero)


@dataclass(frozen=True, repr=False)
class Redrawn(NoiseLaw):
    def place(self, value: int, bits: int) -> int | None:
        drawn = super().place(value, bits)
        return drawn if drawn is None or abs(drawn) <= 2 * self.sensitivity else 0


@dataclass(frozen=True, repr=False)
class WrongSign(NoiseLaw):
    def place(self, value: int, bits: int) -> int | None:
        drawn = super().place(value, bits)
        return None if drawn is None else -drawn


@dataclass(frozen=True, repr=False)
class OffByOne(NoiseLaw):
    def place(self, value: int, bits: int) -> int | None:
        drawn = super().place(value, bits)
        return None if drawn is None else drawn + 1


@pytest.mark.parametrize(
    "wrong",
    [
        "staircase for one step less",
        "half of the range",
        "twice the level",
        "more delta than promised",
        "a share above one",
        "a width from the data",
        "no cut where delta is charged",
        "beta = delta",
        "minus zero kept",
        "tails drawn again",
        "sign from the wrong bit",
        "off by one",
        "not clamped",
        "interval too narrow",
        "clamped to something else",
    ],
)
@pytest.mark.parametrize("text", ["sum(v, range=[0, 9])", "sum(v, range=[1, 6])"])
def test_a_wrong_twin_of_the_noise_falls(text: str, wrong: str) -> None:
    assert examine_number(Twin(parse(text), REPLACED)).private
    finding = examine_number(Twin(parse(text), REPLACED, wrong=wrong))
    assert not finding.private or wrong == "not clamped"  # showing the unclamped number is no breach; see below


def test_delta_that_buys_nothing_and_a_range_without_missing_values_fall() -> None:
    class MissingForgotten(NoisyNumber):
        def noise(self, sizes: tuple[int, ...] = ()) -> NoiseLaw:
            return replace(super().noise(sizes), sensitivity=82, width=1)  # hi - lo, where NULL -> 100 moves by 100

    finding = examine_number(MissingForgotten(parse("sum(age, range=[18, 100])"), REPLACED))
    assert finding.failure == "one person moves the number further than the noise covers"
    half_grid = parse("sum(v, range=[0.5, 2.5], step=1, complete=true)")
    assert examine_number(half_grid.mechanism(REPLACED)).private
    with pytest.raises(Exception, match="multiples"):
        half_grid.mechanism(COMES)


def test_a_sum_that_counts_somebody_twice_falls() -> None:
    question = parse("count(a)")

    class Twice(type(question)):  # type: ignore[misc]
        def total(self, counts: Any) -> int:
            return 2 * counts[0]

    twin = Twice(question.quantity, question.predicate)
    assert not examine_number(NoisyNumber(twin, REPLACED)).private

    class NotASum(type(question)):  # type: ignore[misc]
        def total(self, counts: Any) -> int:
            return int(counts[0] > 1)

    assert not examine_number(NoisyNumber(NotASum(question.quantity, question.predicate), REPLACED)).private


def test_the_second_routine_at_the_draw_notices_another_place() -> None:
    confirm = confirm_noise(epsilon=Epsilon.read(1), delta=F(0), sensitivity=5, width=2, share=F(1))
    law = NoiseLaw(Epsilon.read(1), F(0), 5, 2)
    for value in (2**40 + 7, 2**62, 2**63 + 12345, 2**64 - 2**41):
        place = law.place(value, 64)
        assert place is not None
        confirm(value, 64, place)
        for other in (place - 1, place + 1, -place - 1):
            with pytest.raises(NotCertifiedError):
                confirm(value, 64, other)


# Twins of the crossing.


@dataclass(frozen=True)
class NotSmoothed(CrossingLaw):
    """Plain noise on the crossing: an answer between two equal heights is never given."""

    def ends(self, sums: Sums, **more: Any) -> CrossingEnds:
        right = super().ends(sums, **more)
        flat = replace(self, family=replace(self.family, answers=2, gap=self.family.gap * (self.family.answers - 1)))
        return replace(right, tails=lambda place: CrossingLaw.ends(flat, sums, **more).tails(0))


@dataclass(frozen=True)
class HalfSmoothed(CrossingLaw):
    """Smoothed with e^-epsilon instead of e^(-epsilon/2)."""

    def ends(self, sums: Sums, **more: Any) -> CrossingEnds:
        right = super().ends(sums, **more)
        double = Sums(tuple(2 * x for x in sums.below), tuple(2 * y for y in sums.above))
        return replace(right, tails=super().ends(double, **more).tails)


@dataclass(frozen=True)
class LowestForNobody(CrossingLaw):
    """Nobody has a value: the lowest answer, in clear."""

    def ends(self, sums: Sums, **more: Any) -> CrossingEnds:
        right = super().ends(sums, **more)
        if any(sums.below):
            return right
        one, zero = right.scale.number(1), right.scale.number(0)
        return replace(right, tails=lambda place: (one, zero))


@dataclass(frozen=True)
class WholeBeta(CrossingLaw):
    """beta = delta."""

    def ends(self, sums: Sums, **more: Any) -> CrossingEnds:
        right = super().ends(sums, **more)
        return replace(right, beta=right.scale.number(self.level.delta))


@dataclass(frozen=True)
class CrossedTwin(CrossedNumber):
    made: type[CrossingLaw] = CrossingLaw
    changed: Callable[[Family], Family] | None = None

    def crossing(self) -> CrossingLaw:
        right = super().crossing()
        family = right.family if self.changed is None else self.changed(right.family)
        return self.made(family, right.level, right.share, right.levels)


@pytest.mark.parametrize("law", [NotSmoothed, HalfSmoothed, LowestForNobody, WholeBeta])
@pytest.mark.parametrize(
    "text", ["mean(v, range=[0, 9], grid=1)", "ratio(v, w, ranges=[[0, 2], [0, 3]], grid=[0, 4, 1])"]
)
def test_a_wrong_law_of_a_crossing_falls(text: str, law: type[CrossingLaw]) -> None:
    question = parse(text)
    assert examine_number(CrossedTwin(question, COMES)).private
    assert not examine_number(CrossedTwin(question, COMES, made=law)).private


WRONG_FAMILIES: dict[str, tuple[str, Setting, Callable[[Family], Family]]] = {
    "half of the range": ("mean", REPLACED, lambda f: replace(f, reach=((f.reach[0][0] / 2, F(0)),))),
    "the other relation": ("mean", REPLACED, lambda f: replace(f, reach=((F(9), F(-1)), (F(0), F(1))))),
    "a cut beyond the range": ("mean", COMES, lambda f: replace(f, gap=2 * f.gap)),
    "single beta for a ratio": ("ratio", COMES, lambda f: replace(f, both_tails=False)),
    "a ratio without its lower number": ("ratio", REPLACED, lambda f: replace(f, reach=((f.reach[0][0], F(0)),))),
    "cuts that fall": (
        "mean",
        REPLACED,
        lambda f: replace(f, cuts=tuple(f.cut(t) for t in range(f.answers - 1))[::-1]),
    ),
}
TEXTS = {"mean": "mean(v, range=[0, 9], grid=1)", "ratio": "ratio(v, w, ranges=[[0, 2], [0, 3]], grid=[0, 4, 0.5])"}


@pytest.mark.parametrize("name", WRONG_FAMILIES)
def test_a_wrong_family_of_cuts_falls(name: str) -> None:
    kind, setting, changed = WRONG_FAMILIES[name]
    twin = CrossedTwin(parse(TEXTS[kind]), setting, changed=changed)
    assert not examine_number(twin).private, name


def test_the_number_of_values_is_never_taken_as_public() -> None:
    """A mean as if everybody had a value: whoever has none moves it by nothing, and the cuts by more than a person."""
    question = parse("mean(v, range=[0, 9], grid=1)")

    class AsIfPublic(type(question)):  # type: ignore[misc]
        def sums(self, counts: Any) -> tuple[Fraction, Fraction]:
            people, total = super().sums(counts)
            return (F(1), total / people) if people else (F(0), F(0))

    twin = AsIfPublic("v", F(0), F(9), F(1), None, question.said)
    assert examine_number(CrossedNumber(twin, REPLACED)).failure == "the sums do not add up over people"


def four_inequalities(moves: list[F]) -> bool:
    """The shift lemma's own conditions on a move h along the cuts: what the two shapes imply."""
    last = len(moves) - 1
    for j in range(last + 2):  # answer j lies between cut j - 1 and cut j
        behind, before = moves[j:], moves[:j]
        if behind and moves[j] + max(behind) > 2:
            return False
        if before and behind and max(before) + max(behind) + max(moves[j - 1 :]) - moves[j - 1] > 2:
            return False
        if before and -moves[j - 1] - min(before) > 2:
            return False
        if before and behind and moves[j] - min(behind) - min(moves[: j + 1]) - min(before) > 2:
            return False
    return True


@pytest.mark.parametrize(
    ("moves", "fine"),
    [([1, 1, 0], True), ([0, 1, 0], True), ([-1, 0, 1], True), ([1, 0, 1], False), ([F(1, 2), -1, F(1, 2)], False)],
)
def test_the_four_inequalities_of_the_shift_lemma(moves: list[Any], fine: bool) -> None:
    numbers = [F(move) for move in moves]
    assert four_inequalities(numbers) is fine
    family = Family(F(0), F(1), 4, ((F(1), F(0)),), both_tails=True)
    assert family.answers == 4


@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(6, 9)), min_size=1, max_size=6))
def test_the_two_shapes_imply_the_four_inequalities(move: list[tuple[int, int]]) -> None:
    above, below = [n for n, _ in move], [d for _, d in move]
    moves = [F(n, d) for n, d in move]
    shape = theorem_shape(above, below)
    assert not shape or four_inequalities(moves)
    sizes = [abs(one) for one in moves]
    monotone = moves in (sorted(moves), sorted(moves)[::-1])
    peaks = any(sizes[:k] == sorted(sizes[:k]) and sizes[k:] == sorted(sizes[k:])[::-1] for k in range(len(sizes) + 1))
    assert shape == (monotone or (peaks and not min(moves) < 0 < max(moves)))


def test_two_steps_at_the_whole_level_each_fall() -> None:
    @dataclass(frozen=True)
    class Greedy(TwoSteps):
        def first_step(self) -> LadderLaw:
            return replace(super().first_step(), share=F(1))

    @dataclass(frozen=True)
    class FromData(TwoSteps):
        def first_step(self) -> LadderLaw:
            right = super().first_step()
            return replace(right, edges=right.edges[1:])

    question = parse("sum(v, range='generous', top=100)")
    assert examine_number(TwoSteps(question, REPLACED)).private
    assert not examine_number(Greedy(question, REPLACED)).private
    assert not examine_number(FromData(question, REPLACED)).private


def test_a_family_that_moves_too_far_is_refused() -> None:
    family = Family(F(0), F(1), 3, ((F(1), F(0)),))
    with pytest.raises(RefusedError):
        check_family(family, [(F(0), F(0)), (F(1), F(5))], replaced=True)
    check_noise_law(NoiseLaw(Epsilon.read(2), F(0), 6, 2))
