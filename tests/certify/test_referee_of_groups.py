"""Numbers of private groups in one draw: exact laws of all neighbours, the gain over independent noise, and wrong twins."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

import optimaldp as odp
from optimaldp.asking import releasing
from optimaldp.certify.core import referee
from optimaldp.certify.core.referee import examine_release
from optimaldp.errors import NotCertifiedError
from optimaldp.histograms.noise.lattice_noise import HistogramNoise
from optimaldp.laws.law import Setting, Table
from optimaldp.privacy import Neighbours, level
from optimaldp.questions import noise_law, parse
from optimaldp.questions.group_numbers import GroupedNumber, GroupNoise
from optimaldp.questions.number_mechanisms import NoisyNumber
from optimaldp.sampling import SystemBits

F = Fraction
SUBSTITUTION = Neighbours.SUBSTITUTION
QUESTIONS = [
    "count(a)",
    "count(a among b)",
    "sum(v, range=[0, 2])",
    "sum(v, range=[-1, 1])",
    "sum(v, range=[1, 2] among b)",
    "sum(v, range=[-2, 0])",
]


def _grouped(question: str, groups: int = 2, each: int = 1, epsilon: object = "ln(16)") -> GroupedNumber:
    setting = Setting(level(epsilon), SUBSTITUTION, groups=groups, groups_per_person=each)
    made = parse(question).mechanism(setting)
    assert isinstance(made, GroupedNumber)
    return made


def _records(mechanism: GroupedNumber) -> set[tuple[int, ...]]:
    """What a person of up to so many groups adds to the number of each group: by every cell, or in no group."""
    asked, setting = mechanism.question, mechanism.setting
    adds = {asked.total(asked.fold({cell: 1})) for cell in range(asked.cells)}  # type: ignore[attr-defined]
    records = set()
    for places in itertools.combinations(range(setting.groups), setting.groups_per_person):
        for own in itertools.product(adds | {0}, repeat=setting.groups_per_person):
            inside = dict(zip(places, own))
            records.add(tuple(inside.get(group, 0) for group in range(setting.groups)))
    return records


def _least_ratio(mechanism: GroupedNumber) -> Fraction:
    """The largest ratio of the probabilities of any answers of neighbouring tables: noise does not depend on the others."""
    lattice, groups = mechanism.noise().lattice, mechanism.setting.groups
    answers = list(itertools.product(range(-5, 6), repeat=groups))
    law = {z: Fraction(lattice.probability([*z, -sum(z)])) for z in itertools.product(range(-13, 14), repeat=groups)}
    changes = {tuple(b - a for a, b in zip(r, s)) for r, s in itertools.product(_records(mechanism), repeat=2)}
    return max(law[z] / law[tuple(at + more for at, more in zip(z, change))] for z in answers for change in changes)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("each", [1, 2])
def test_every_neighbour_keeps_the_level_exactly(question: str, each: int) -> None:
    """At e^epsilon = 2^(steps of one person), so that every probability is rational: all answers, all records, all groups."""
    steps = _grouped(question, each=each).noise().sensitivity * each
    mechanism = _grouped(question, each=each, epsilon=f"ln({4**steps})")
    assert str(mechanism.noise().lattice.epsilon) == "ln(4)"
    assert _least_ratio(mechanism) == 4**steps


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(("groups", "each", "epsilon"), [(1, 1, "0.5"), (2, 2, "ln(3)"), (7, 3, "0.01")])
def test_what_is_right_passes(question: str, groups: int, each: int, epsilon: str) -> None:
    found = examine_release(_grouped(question, groups, each, epsilon))
    assert found.private, found.failure


def test_error_against_independent_noise() -> None:
    """Per group, of discrete Laplace noise at half of epsilon (numbers, section 8)."""
    alone = float(noise_law("count(a)", epsilon="0.01").mean_error)  # one step, half of the level
    gains = [float(_grouped("count(a)", k, epsilon="0.02").noise().mean_error) / alone for k in (2, 3, 5, 10)]
    assert gains == pytest.approx([0.67, 0.75, 0.83, 0.91], abs=0.01)


def test_one_draw_is_chosen_by_public_numbers() -> None:
    def name(question: str, epsilon: object, **more: Any) -> str:
        table = pa.table({"g": ["a", "b"] * 20, "v": [1.0, 2.0] * 20})
        made = odp.release(table, question, epsilon=epsilon, by="g", groups=["a", "b"], **more)
        return str(made.statement["mechanism"])

    assert name("sum(v, range=[0, 100])", 1) == "lattice noise by group"
    assert name("count(v >= 2)", 1) == "lattice noise by group"
    assert name("sum(v, range=[0, 100])", 20) == "discrete staircase", "a staircase is far better there"
    assert name("sum(v, range=[0, 100])", 1, neighbours="add-remove") == "discrete staircase"
    assert name("sum(v, range=[0, 100])", 1, public_groups=True) == "discrete staircase"
    assert name("sum(v, range=[0, 100], loss='squared')", 1) == "discrete staircase"
    assert name("count(v >= 2, largest_error=true)", 1, delta=0.01) == "cut geometric noise"


def test_intervals_of_all_groups_use_the_union_bound() -> None:
    mechanism = _grouped("count(a)", 10, epsilon=1)
    one, together = mechanism.noise().half_width(F(19, 20)), mechanism.width_of_all(10)
    assert together == mechanism.noise().half_width(F(199, 200)) > one
    table = pa.table({"g": ["a"] * 5, "a": [True] * 5})
    made = odp.release(table, "count(a)", epsilon=1, by="g", groups=list("abcdefghij"))
    assert f"All 10 groups at once: within {together} people of the truth 95 % of the time." in made.statement["notes"]
    shown = odp.preview("count(a)", epsilon=1, n=5, by="g", groups=list("abcdefghij"))
    assert any(f"All 10 groups at once: within {together}" in note for note in shown.notes)
    # Independent groups: (1 - 2 T(w))^K, the table of the page.
    widths = [NoisyNumber(parse("count(a)"), _alone()).width_of_all(k) for k in (1, 10, 100, 1000, 10000)]
    assert widths == [3, 5, 7, 10, 12]


def _alone() -> Setting:
    return Setting(level(1), Neighbours.ADD_REMOVE)


@pytest.mark.long
def test_draws_follow_the_law() -> None:
    mechanism = _grouped("count(a)", epsilon="ln(4)")
    bits, tables = SystemBits(), [Table({0: 3, 1: 2}), Table({0: 1})]
    drawn = Counter(tuple(int(one) for one in _recorded(mechanism, tables, bits)) for _ in range(4000))
    for answer, times in drawn.items():
        away = [answer[0] - 3, answer[1] - 1]
        chance = float(mechanism.noise().lattice.probability([*away, -sum(away)]))
        assert abs(times - 4000 * chance) <= 6 * (4000 * chance) ** 0.5 + 6


def _recorded(mechanism: GroupedNumber, tables: list[Table], bits: Any) -> Iterator[Fraction]:
    return (Fraction(one.details["recorded"]) for one in mechanism.draw_together(tables, bits))


def test_document_is_verified_and_forgeries_are_not() -> None:
    table = pa.table({"g": ["a", "b", "c"] * 30, "v": list(range(90))})
    made = odp.release(table, "sum(v, range=[0, 100])", epsilon="ln(3)", delta="1/100", by="g", groups=["a", "b"])
    document = made.to_document()
    assert odp.verify(document).holds
    assert document["spent"] == {"epsilon": "ln(3)", "delta": "0"}, "delta buys nothing here"
    assert "share one draw" in document["certificate"]["optimal"]
    for name, value in (("groups", 3), ("sensitivity", 50), ("groups_per_person", 2), ("cells", 2), ("name", "x")):
        assert not odp.verify({**document, "mechanism": {**document["mechanism"], name: value}}).holds, name
    answers = {name: {**one, "interval": [0, 1]} for name, one in document["answers"].items()}
    assert not odp.verify({**document, "answers": answers}).holds


# Wrong twins: what the referee, or the comparison with the promise, must refuse.


class _Noise(GroupNoise):
    bins_less = 0
    times = 1

    @property
    def lattice(self) -> HistogramNoise:  # type: ignore[override]
        true = GroupNoise(self.groups, self.per_person, self.epsilon, self.sensitivity).lattice
        return HistogramNoise(true.bins - self.bins_less, true.epsilon * self.times)


class _NoCellMore(_Noise):
    """The total of all groups would be told in clear."""

    bins_less = 1


class _Twice(_Noise):
    times = 2


class _Narrow(GroupNoise):
    def half_width(self, confidence: Fraction) -> int:
        return super().half_width(confidence) - 1


class _Halved(GroupNoise):
    """Half of the range: a person moves it further."""


def _with_noise(make: Callable[..., GroupNoise]) -> type[GroupedNumber]:
    class Twin(GroupedNumber):
        def noise(self, sizes: tuple[int, ...] = ()) -> Any:
            true = super().noise()
            return make(true.groups, true.per_person, true.epsilon, true.sensitivity)

    return Twin


class _OnePersonOneGroup(GroupedNumber):
    """Forgets that a person is in several groups."""

    def noise(self, sizes: tuple[int, ...] = ()) -> Any:
        return replace(super().noise(), per_person=1)


class _LeavesWithoutZero(GroupedNumber):
    """M = hi - lo, as if nobody could leave a group."""

    def noise(self, sizes: tuple[int, ...] = ()) -> Any:
        return replace(super().noise(), sensitivity=1)


class _SameNoise(GroupedNumber):
    """Every group gets the noise of the first: their differences would be exact."""

    def draw_together(self, tables: Any, source: Any) -> Any:
        linear, away = self.linear(), int(self.noise().lattice.sample(source)[0])
        asked: Any = self.question
        return [self.answered(linear.value(asked.total(asked.fold(one.cells)) + away)) for one in tables]


class _Swapped(GroupedNumber):
    def draw_together(self, tables: Any, source: Any) -> Any:
        return super().draw_together(tables, source)[::-1]


class _Clamped(GroupedNumber):
    """What is recorded is moved into what is possible before: adding such cells is biased."""

    def draw_together(self, tables: Any, source: Any) -> Any:
        drawn = super().draw_together(tables, source)
        return [self.answered(max(Fraction(0), Fraction(one.details["recorded"]))) for one in drawn]


@pytest.mark.parametrize(
    ("twin", "failure"),
    [
        (_with_noise(_NoCellMore), "one cell more"),
        (_with_noise(_Twice), "spend more than the level"),
        (_with_noise(_Narrow), "too narrow"),
        (_OnePersonOneGroup, "spend more than the level"),
        (_LeavesWithoutZero, "another number than the noise covers"),
        (_SameNoise, "its own noise"),
        (_Swapped, "its own noise"),
        (_Clamped, "its own noise"),
    ],
    ids=lambda one: getattr(one, "__name__", str(one)),
)
def test_twins_fall(twin: type[GroupedNumber], failure: str) -> None:
    setting = Setting(level("0.5"), SUBSTITUTION, groups=3, groups_per_person=2)
    found = examine_release(twin(parse("sum(v, range=[1, 2])"), setting))
    assert not found.private
    assert failure in found.failure


def test_a_draw_for_each_group_is_not_at_the_level_of_all() -> None:
    setting = Setting(level(1), SUBSTITUTION, groups=3)
    assert "level of all" in examine_release(NoisyNumber(parse("count(a)"), setting)).failure


def test_promise_is_compared_with_the_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"g": ["a", "b"], "v": [1, 2]})
    true = releasing.setting_inside
    for changed in ({"groups": 2}, {"level": level(2)}, {"groups_per_person": 0}):
        monkeypatch.setattr(releasing, "setting_inside", lambda *one, c=changed: replace(true(*one), **c))
        with pytest.raises(NotCertifiedError, match="groups together"):
            odp.release(table, "sum(v, range=[0, 9])", epsilon=1, by="g", groups=["a", "b", "c"])
        with monkeypatch.context() as patch:
            patch.setattr(releasing, "require_groups_together", lambda *_, **__: None)
            with pytest.raises(NotCertifiedError):
                odp.release(table, "sum(v, range=[0, 9])", epsilon=1, by="g", groups=["a", "b", "c"])


def test_a_draw_of_each_group_is_refused_at_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """The very function that makes a release: noise drawn anew for each group takes other bits."""

    def apart(certified: Any, tables: Any, source: Any) -> Any:
        return [certified.mechanism.draw(table, source) for table in tables]

    monkeypatch.setattr(releasing, "draw_together", apart)
    table = pa.table({"g": ["a", "b"], "v": [1, 2]})
    with pytest.raises(NotCertifiedError, match="not what the mechanism draws"):
        odp.release(table, "sum(v, range=[0, 9])", epsilon=1, by="g", groups=["a", "b"])
    with pytest.raises(NotCertifiedError):
        referee.draw_together(_grouped("count(a)"), [Table({})] * 2, SystemBits())  # type: ignore[arg-type]
