"""Wrong ways to answer with a number, by name: each looks plausible, each costs more than is promised, each is refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pyarrow
import pytest
from number_referee import examine_number

import optimaldp as odp
from optimaldp.laws.crossing import CrossingEnds, CrossingLaw, Family, LadderLaw, Sums
from optimaldp.laws.law import Aim, Setting
from optimaldp.laws.number_noise import NoiseLaw
from optimaldp.privacy import Epsilon, Neighbours, approximate, level
from optimaldp.questions import parse
from optimaldp.questions.number_mechanisms import CrossedNumber, NoisyNumber, TwoCrossings, TwoSteps
from optimaldp.questions.numbers import Linear

F = Fraction
REPLACED = Setting(level("0.7", "1/50"), Neighbours.SUBSTITUTION, 50)
COMES = Setting(level("0.7", "1/50"), Neighbours.ADD_REMOVE, None)
PUBLIC = replace(REPLACED, public_groups=True)
OWN = ((Epsilon.read("0.5"), 20), (Epsilon.read(1), 30))
PERSONAL = Setting(level("1"), Neighbours.SUBSTITUTION, 50, levels=OWN, aim=Aim.EVERY_TABLE)
TYPICAL = replace(PERSONAL, aim=Aim.TYPICAL)
SUM, MEAN = "sum(v, range=[0, 9])", "mean(v, range=[0, 9], grid=1)"
RATIO = "ratio(v, w, ranges=[[0, 2], [0, 3]], grid=[0, 4, 0.5])"
SHARES = "share(a among b) - share(a among c)"
GENEROUS = "sum(v, range='generous', top=100)"


@dataclass(frozen=True, repr=False)
class Noisy(NoisyNumber):
    """A number whose law, grid, draw or details may be changed."""

    law: Callable[[NoiseLaw], NoiseLaw] = lambda right: right
    lined: Callable[[Linear], Linear] = lambda right: right
    redrawn: Callable[[Any, Any, Any], Any] | None = None
    shown: Callable[[dict[str, Any]], dict[str, Any]] = lambda right: right

    def noise(self, sizes: tuple[int, ...] = ()) -> NoiseLaw:
        return self.law(super().noise(sizes))

    def linear(self, sizes: tuple[int, ...] = ()) -> Linear:
        return self.lined(super().linear(sizes))

    def draw(self, table: Any, source: Any) -> Any:
        return super().draw(table, source) if self.redrawn is None else self.redrawn(self, table, source)

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        return self.shown(super().details_of(recorded, written))


@dataclass(frozen=True)
class Crossed(CrossedNumber):
    """The same for a crossing."""

    law: Callable[[CrossingLaw], CrossingLaw] = lambda right: right
    counted: Callable[[NoiseLaw], NoiseLaw] = lambda right: right
    shown: Callable[[dict[str, Any]], dict[str, Any]] = lambda right: right
    moved: int = 0

    def crossing(self) -> CrossingLaw:
        return self.law(super().crossing())

    def counting(self) -> NoiseLaw:
        return self.counted(super().counting())

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        return self.shown(super().details_of(recorded, written))

    def answered(self, recorded: Fraction, more: Mapping[str, Any] | None = None) -> Any:
        return super().answered(recorded + self.moved * self.family().gap, more)


def noisy(text: str, setting: Setting = REPLACED, **changed: Any) -> NoisyNumber:
    assert examine_number(Noisy(parse(text), setting)).private, "the right one passes"
    return Noisy(parse(text), setting, **changed)


def crossed(text: str, setting: Setting = REPLACED, **changed: Any) -> CrossedNumber:
    assert examine_number(Crossed(parse(text), setting)).private, "the right one passes"
    return Crossed(parse(text), setting, **changed)


def with_family(change: Callable[[Family], Family]) -> Callable[[CrossingLaw], CrossingLaw]:
    return lambda right: replace(right, family=change(right.family))


def with_ends(
    change: Callable[[CrossingLaw, CrossingEnds, Sums], CrossingEnds],
) -> Callable[[CrossingLaw], CrossingLaw]:
    """A law whose ends are changed after they were computed."""

    @dataclass(frozen=True)
    class Changed(CrossingLaw):
        def ends(self, sums: Sums, **more: Any) -> CrossingEnds:
            return change(self, super().ends(sums, **more), sums)

    return lambda right: Changed(right.family, right.level, right.share, right.levels)


# What the twins do.


def not_smoothed(law: CrossingLaw, right: CrossingEnds, sums: Sums) -> CrossingEnds:
    """Noise of two answers at every cut: rho_t = e^(eps A_t) alone."""

    def tails(place: int) -> tuple[Any, Any]:
        cut = law.family.cut(place)
        heights = tuple((cut * x - y) / law.family.most(cut) for x, y in zip(sums.below, sums.above))
        one = right.scale.number(1)
        below, above = right.scale.power(tuple(-h for h in heights)), right.scale.power(heights)
        return right.scale.smaller(below, one), right.scale.smaller(above, one)

    return replace(right, tails=tails)


def twice_as_sharp(law: CrossingLaw, right: CrossingEnds, sums: Sums) -> CrossingEnds:
    double = Sums(tuple(2 * x for x in sums.below), tuple(2 * y for y in sums.above))
    exact = not hasattr(right.beta, "rad")
    return replace(right, tails=CrossingLaw.ends(law, double, exact=exact).tails)


def lowest_for_nobody(law: CrossingLaw, right: CrossingEnds, sums: Sums) -> CrossingEnds:
    one, zero = right.scale.number(1), right.scale.number(0)
    return right if any(sums.below) else replace(right, tails=lambda place: (one, zero))


def whole_beta(law: CrossingLaw, right: CrossingEnds, sums: Sums) -> CrossingEnds:
    return replace(right, beta=right.scale.number(law.level.delta))


def as_if_everybody_had_a_value() -> CrossedNumber:
    question: Any = parse(MEAN)

    class AsIfPublic(type(question)):  # type: ignore[misc]
        def sums(self, counts: Any) -> tuple[Fraction, Fraction]:
            people, total = super().sums(counts)
            return (F(1), total / people) if people else (F(0), F(0))

    return CrossedNumber(AsIfPublic("v", F(0), F(9), F(1), None, question.said), REPLACED)


def again_until_in_range(self: Noisy, table: Any, source: Any) -> Any:
    linear, total = self.linear(), self._asked.total(self._asked.fold(table.cells))
    for _ in range(20):
        value = linear.value(total + self.noise().draw(source))
        if linear.clamped(value) == value:
            break
    return self.answered(value)


def on_half_a_grid(self: Noisy, table: Any, source: Any) -> Any:
    """Values of 0.5, 1.5, ... and whole noise: whether the number of people is odd is in clear."""
    counts = self._asked.fold(table.cells)
    value = self.linear().value(self._asked.total(counts) + self.noise().draw(source))
    return super(Noisy, self).answered(value + sum(counts.values.values()) * self.linear().unit / 2)


class HalfGrid(Noisy):
    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        whole = recorded // 1
        return super().details_of(whole, written) | {"recorded": str(recorded)}


def best_of_two(self: Noisy, table: Any, source: Any) -> Any:
    """The middle of two draws is nearer to the number; each of them costs epsilon."""
    linear, total = self.linear(), self._asked.total(self._asked.fold(table.cells))
    first, second = (self.noise().draw(source) for _ in range(2))
    return self.answered(linear.value(total + (first + second) // 2))


def zero_twice(right: NoiseLaw) -> NoiseLaw:
    class DoubleZero(NoiseLaw):
        def probability(self, value: int) -> Any:
            zero = F(super().probability(0))
            return F(super().probability(value)) * (2 if value == 0 else 1) / (1 + zero)

    return DoubleZero(right.epsilon, right.delta, right.sensitivity, right.width, right.share)


def beta_is_delta(right: NoiseLaw) -> NoiseLaw:
    class WideCut(NoiseLaw):
        def tail(self, value: int) -> Any:
            plain = F(replace(right, epsilon=self.epsilon, share=self.share, delta=F(0)).tail(value))
            return max(F(0), (plain - self.delta) / (1 - 2 * self.delta))

        def probability(self, value: int) -> Any:
            return self.tail(abs(value) - 1) - self.tail(abs(value)) if value else 1 - 2 * self.tail(0)

    return WideCut(right.epsilon, right.delta, right.sensitivity, right.width, right.share)


def tails_again(right: NoiseLaw) -> NoiseLaw:
    class Redrawn(NoiseLaw):
        def place(self, value: int, bits: int) -> int | None:
            drawn = super().place(value, bits)
            return drawn if drawn is None or abs(drawn) <= 2 * self.sensitivity else 0

    return Redrawn(right.epsilon, right.delta, right.sensitivity, right.width, right.share)


def steps(**changed: Any) -> TwoSteps:
    """Two steps at other shares, or with another ladder."""

    @dataclass(frozen=True)
    class Changed(TwoSteps):
        def first_step(self) -> LadderLaw:
            return replace(super().first_step(), **{k: v for k, v in changed.items() if k in ("share", "edges")})

        def second_step(self, edge: Fraction) -> Any:
            right = super().second_step(changed.get("clip", lambda at: at)(edge))
            return replace(right, share=changed["second"]) if "second" in changed else right

    assert examine_number(TwoSteps(parse(GENEROUS), REPLACED)).private
    return Changed(parse(GENEROUS), REPLACED)


def two_crossings(setting: Setting) -> TwoCrossings:
    @dataclass(frozen=True)
    class WholeLevelEach(TwoCrossings):
        def sides(self) -> Any:
            first, second = super().sides()
            return tuple(replace(one, setting=replace(one.setting, level=setting.level)) for one in (first, second))

    assert examine_number(TwoCrossings(parse(SHARES), setting)).private
    return WholeLevelEach(parse(SHARES), setting)


def larger_group(right: Linear) -> Linear:
    """Two groups of 2 and 3 in units of 1/6: one person of the smaller one moves 3 units, one of the larger one 2."""
    return replace(right, sensitivity=max(1, right.sensitivity - 1))


PAGE: dict[str, Callable[[], Any]] = {
    "crossing without smoothing": lambda: crossed(MEAN, law=with_ends(not_smoothed)),
    "add/remove law promised for replacement": lambda: crossed(
        MEAN, law=with_family(lambda f: replace(f, reach=((F(9), F(-1)), (F(0), F(1)))))
    ),
    "half range": lambda: crossed(MEAN, law=with_family(lambda f: replace(f, reach=((f.reach[0][0] / 2, F(0)),)))),
    "nobody has a value: lo": lambda: crossed(MEAN, law=with_ends(lowest_for_nobody)),
    "n_valid as if public": as_if_everybody_had_a_value,
    "drawn again until in range": lambda: noisy("count(a)", redrawn=again_until_in_range),
    "staircase for one step less": lambda: noisy(SUM, law=lambda n: replace(n, sensitivity=n.sensitivity - 1)),
    "hi - lo with missing values": lambda: noisy(
        "sum(age, range=[18, 100])", law=lambda n: replace(n, sensitivity=82, width=34)
    ),
    "half-grid sums": lambda: HalfGrid(parse(SUM), COMES, redrawn=on_half_a_grid),
    "differences in units of the larger group": lambda: noisy(SHARES, PUBLIC, lined=larger_group),
    "minus zero kept": lambda: noisy(SUM, law=zero_twice),
    "beta = delta": lambda: noisy(SUM, law=beta_is_delta),
    "beta = delta, crossing": lambda: crossed(MEAN, law=with_ends(whole_beta)),
    "single beta for a ratio": lambda: crossed(RATIO, COMES, law=with_family(lambda f: replace(f, both_tails=False))),
    "tails drawn again": lambda: noisy(SUM, law=tails_again),
    "two steps each at epsilon": lambda: steps(share=F(1), second=F(1)),
    "ladder from the data": lambda: steps(edges=(F(1), F(7), F(100))),
    "r from the data": lambda: noisy(SUM, law=lambda n: replace(n, width=1 + n.width % n.sensitivity)),
    "smoothing with e^-epsilon": lambda: crossed(MEAN, law=with_ends(twice_as_sharp)),
    "a cut beyond hi": lambda: crossed(MEAN, COMES, law=with_family(lambda f: replace(f, gap=2 * f.gap))),
}
MORE: dict[str, Callable[[], Any]] = {
    "the difference of two counts as one count": lambda: noisy(
        "count(a) - count(b)", lined=lambda one: replace(one, sensitivity=1)
    ),
    "the middle of two draws": lambda: noisy("count(a)", redrawn=best_of_two),
    "an interval on top of the whole level": lambda: crossed(
        "mean(v, range=[0, 9], grid=1, interval=true)", law=lambda right: replace(right, share=F(1))
    ),
    "the number of people at the whole level": lambda: crossed(
        "mean(v, range=[0, 9], grid=1, interval=true)", counted=lambda noise: replace(noise, share=F(1))
    ),
    "an interval without half a step": lambda: crossed(
        "mean(v, range=[0, 9], grid=1, interval=true)",
        shown=lambda right: right | {"interval": [right["interval"][0] + 0.5, right["interval"][1] - 0.5]},
    ),
    "two groups at the whole level each": lambda: two_crossings(REPLACED),
    "everybody at the loosest level": lambda: crossed(
        MEAN, PERSONAL, law=lambda right: replace(right, level=approximate(PERSONAL.level.epsilon))
    ),
    "somebody weighed by another's level": lambda: crossed(
        MEAN, TYPICAL, law=lambda right: replace(right, levels=(right.levels or ())[::-1])
    ),
    "a ratio of replaced people as if they came and went": lambda: crossed(
        RATIO, law=with_family(lambda f: replace(f, reach=((F(2), F(0)), (F(0), F(3)))))
    ),
    "half of the range on both sides of the middle": lambda: crossed(
        MEAN, COMES, law=with_family(lambda f: replace(f, reach=((F(9, 2), F(0)),)))
    ),
    "clipped at one edge, noise for the edge before": lambda: steps(clip=lambda edge: max(F(1), edge // 2)),
    "the answer beside the drawn one": lambda: crossed(MEAN, moved=1),
    "delta for the count that delta does not pay": lambda: noisy(
        "count(a)", law=lambda noise: replace(noise, delta=noise.delta * 3)
    ),
}


@pytest.mark.parametrize("name", [*PAGE, *MORE])
def test_a_twin_is_refused(name: str) -> None:
    twin = (PAGE | MORE)[name]()
    finding = examine_number(twin)
    assert not finding.private, name
    assert finding.failure
    assert "cannot be examined" not in finding.failure, "refused for what is wrong with it, not by accident"


def test_the_table_has_the_names_of_the_page_and_ten_more() -> None:
    assert len(PAGE) >= 18
    assert len(MORE) >= 10


FORGED: dict[str, tuple[str, str, Any]] = {
    "noise for one step less": (SUM, "sensitivity", 8),
    "another width": (SUM, "width", 1),
    "half of the level": (SUM, "share", "1/2"),
    "another unit": (SUM, "unit", "2"),
    "fewer answers": (MEAN, "answers", 9),
    "half of the reach": (MEAN, "reach", [["9/2", "0"]]),
    "another ladder": (GENEROUS, "ladder", ["1", "100"]),
    "other shares": (GENEROUS, "shares", ["1/2", "1/2"]),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_document_that_says_otherwise_does_not_hold(name: str) -> None:
    text, field, value = FORGED[name]
    table = pyarrow.table({"v": [i % 10 for i in range(40)]})
    document = json.loads(odp.release(table, text, epsilon=1).to_json())
    assert odp.verify(document).holds
    assert document["mechanism"][field] != value, "something is forged"
    document["mechanism"][field] = value
    assert not odp.verify(document).holds
