"""How a number is answered, and what the answer carries: noise on a whole number, a smoothed crossing, or two steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

from optimaldp.certify.numbers import confirm_crossing, confirm_ladder, confirm_noise
from optimaldp.errors import InputError, LevelError, QuestionError
from optimaldp.laws.crossing import CrossingLaw, Family, LadderLaw, Sums, ladder, mean_family
from optimaldp.laws.law import Aim, Law, Setting, Table
from optimaldp.laws.number_noise import Loss, NoiseLaw, bayes_step, noise_law_for, posterior_ends
from optimaldp.laws.options import level_of_each_group
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate
from optimaldp.privacy.balls import Ball, ball, precision, upper
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import NumberPreview
from optimaldp.questions.columns import Detailed
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.questions.numbers import (
    Chance,
    CountBelief,
    Linear,
    Quantity,
    charged_delta,
    default_gap,
    listed_noise,
    strictest,
    with_people,
)
from optimaldp.sampling import BitSource

ALL = Fraction(1)
EDGE_SHARE, CLIPPED_SHARE = Fraction(3, 10), Fraction(7, 10)
"""Of a generous range: what finding the clipping edge costs, and what the clipped number costs."""
COUNT_SHARE, CROSSING_SHARE = Fraction(1, 10), Fraction(9, 10)
"""Of an interval that is not free: what the number of people with a value costs, and what is left for the number itself."""
_BITS = 192
_DIGITS = 30
_EXACT_BITS = 1 << 22  # of all exact rationals of a list together
_LEFT_OUT = (
    "It leaves out what the few largest values have above the clipping edge; the interval is for the clipped number."
)
_WEIGHTED = (
    "It answers the mean weighted by people's own levels: unbiased only if levels have nothing to do with values."
)


# What an answer carries.


class WholeNumber(Detailed, int):
    """A released whole number: an ``int``, with its interval and all that is private already beside it."""

    section = "number"


class RealNumber(Detailed, float):
    """A released number: the ``float`` that is nearest to the exact value, with the same beside it."""

    section = "number"


def plain_number(value: Fraction) -> int | float:
    """A number as JSON and Python write it."""
    return int(value) if value.denominator == 1 else float(value)


def _released(value: Fraction, *, whole: bool, details: dict[str, Any]) -> Answer:
    made: Any = WholeNumber(int(value)) if whole else RealNumber(float(value))
    made.details = details
    return made


@dataclass(frozen=True)
class NumberMechanism(QuestionMechanism):
    """What all ways to answer with a number have in common."""

    listed = False

    def __post_init__(self) -> None:
        if strictest(self.setting).epsilon.is_zero and not self._may_be_zero():
            rule = "needs noise without bound for a number"
            raise LevelError("epsilon", "0", rule, "name a positive epsilon; nobody's own level may be 0")
        if self.setting.people == 0 and not self._asked.whole:
            raise QuestionError("n", 0, "is the public number of people: there is no mean of nobody", "ask for a count")
        self.uses_delta  # noqa: B018  (refuses an end of the error that nothing pays for)

    def _may_be_zero(self) -> bool:
        return False

    @property
    def _asked(self) -> Quantity:
        assert isinstance(self.question, Quantity)
        return self.question

    @cached_property
    def uses_delta(self) -> bool:  # type: ignore[override]
        return self.delta > 0

    @property
    def delta(self) -> Fraction:
        """The delta that is really spent."""
        return charged_delta(self._asked.said, strictest(self.setting), None)

    def law(self, table: Table) -> Law:
        raise QuestionError("question", str(self.question), "has no short list of answers", "use number_probabilities")

    def possible(self, answer: object) -> bool:
        """Any number of the right kind: what belongs to it is compared by :meth:`contradiction`."""
        kinds = int if self._asked.whole else (int, float, Decimal, Fraction)
        return isinstance(answer, kinds) and not isinstance(answer, bool)

    def contradiction(self, answer: Any, written: Mapping[str, Any]) -> str:
        try:
            again = self.details_of(_read(written["recorded"]), written)
        except (KeyError, TypeError, ValueError, ArithmeticError, QuestionError):
            return "what belongs to its number is not readable"
        again = {name: value for name, value in again.items() if name in written or name in _ALWAYS}
        for name, value in again.items():
            if _comparable(written.get(name)) != _comparable(value):
                return f"its number is not what was recorded: {name}"
        if _comparable(answer) != _comparable(plain_number(_read(again["exact"]))):
            return "its answer is not the exact number beside it"
        return ""

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        """All that follows from the recorded number by public arithmetic; *written* holds what else is private already."""
        raise NotImplementedError

    def answered(self, recorded: Fraction, more: Mapping[str, Any] | None = None) -> Answer:
        """The answer as it is released, from the recorded number."""
        details = self.details_of(recorded, more or {}) | dict(more or {})
        return _released(_read(details["exact"]), whole=self._asked.whole, details=details)

    def _details(
        self,
        shown: Fraction,
        recorded: Fraction,
        interval: tuple[Fraction, Fraction] | None,
        largest: Fraction | None = None,
    ) -> dict[str, Any]:
        options = self._asked.said
        return {
            "exact": fraction_text(recorded if options.output == "unbiased" else shown),
            "unbiased": plain_number(recorded),
            "recorded": fraction_text(recorded),
            "interval": None if interval is None else [*map(plain_number, interval)],
            "confidence": None if interval is None else plain_number(options.confidence),
            "largest_error": None if largest is None else plain_number(largest),
        }


_ALWAYS = ("exact", "unbiased", "interval", "confidence", "largest_error")


def _read(text: object) -> Fraction:
    return Fraction(str(text))


def _comparable(value: object) -> Any:
    """Numbers by the double that JSON writes, lists by their parts."""
    if isinstance(value, (list, tuple)):
        return [_comparable(part) for part in value]
    return float(_read(value)) if value is not None else None


@dataclass(frozen=True)
class NoisyNumber(NumberMechanism):
    """Noise on a number that adds up over people: geometric for counts, the discrete staircase for sums, cut with delta."""

    share: Fraction = ALL

    def linear(self, sizes: tuple[int, ...] = ()) -> Linear:
        """The number as a sum over people."""
        made = self._asked.linear(self.setting, sizes or self._example_sizes)
        assert made is not None
        return made

    @property
    def _example_sizes(self) -> tuple[int, ...]:
        return (1, 1) if self.setting.public_groups else ()

    def _may_be_zero(self) -> bool:
        return self.linear().sensitivity == 1 and bool(self.setting.level.delta)

    @property
    def delta(self) -> Fraction:
        return charged_delta(self._asked.said, strictest(self.setting), self.linear())

    def noise(self, sizes: tuple[int, ...] = ()) -> NoiseLaw:
        """The law of the noise, in steps: public."""
        loss = self._asked.said.loss
        at = strictest(self.setting)
        return noise_law_for(at.epsilon, self.delta, self.linear(sizes).sensitivity, loss=loss, share=self.share)

    @property
    def name(self) -> str:
        return self.noise().name

    def draw(self, table: Table, source: BitSource) -> Answer:
        counts = self._asked.fold(table.cells)
        sizes = self._asked.sizes(counts) if self.setting.public_groups else ()
        noise, linear = self.noise(sizes), self.linear(sizes)
        away = noise.draw(source, reread=confirm_noise(**_noise_numbers(noise)))
        more = {"group_sizes": list(sizes)} if sizes else {}
        return self.answered(linear.value(self._asked.total(counts) + away), more)

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        sizes = tuple(int(size) for size in written.get("group_sizes", ()))
        noise, linear, options = self.noise(sizes), self.linear(sizes), self._asked.said
        steps = (recorded - linear.offset) / linear.unit
        if steps.denominator != 1:
            raise QuestionError("recorded", fraction_text(recorded), "does not lie on the grid of its question")
        largest = None if noise.largest is None else noise.largest * linear.unit
        if options.prior is not None:
            return self._after_prior(int(steps), recorded, largest)
        width = noise.half_width(options.confidence) * linear.unit
        # What is impossible is left out of the interval: that never costs coverage.
        interval = linear.clamped(recorded - width), linear.clamped(recorded + width)
        return self._details(linear.clamped(recorded), recorded, interval, largest)

    def _after_prior(self, noisy: int, recorded: Fraction, largest: Fraction | None) -> dict[str, Any]:
        options, people = self._asked.said, self.setting.people
        assert options.prior is not None
        assert people is not None
        weights, linear, noise = CountBelief(options.prior).weights(people), self.linear(), self.noise()
        best = bayes_step(noisy, weights, noise, options.loss)
        ends = posterior_ends(noisy, weights, noise, options.confidence)
        interval = linear.value(ends[0]), linear.value(ends[1])
        return self._details(linear.value(best), recorded, interval, largest)

    def parameters(self) -> dict[str, Any]:
        noise, linear = self.noise(), self.linear()
        return {
            "sensitivity": noise.sensitivity,
            "width": noise.width,
            "share": fraction_text(noise.share),
            "delta_used": fraction_text(noise.delta),
            "unit": fraction_text(linear.unit),
            "offset": fraction_text(linear.offset),
            "loss": str(self._asked.said.loss),
        }

    @property
    def proof(self) -> str:
        cut = (
            "; cutting beta = delta/(e^epsilon - 1 + 2 delta) off both tails spends delta exactly" if self.delta else ""
        )
        if self.noise().sensitivity == 1:
            return f"one person moves the count by at most 1, and the noise changes by a factor e^epsilon at most{cut}"
        return (
            f"one person moves the sum by at most {self.noise().sensitivity} steps, and such a shift crosses one jump of the "
            f"staircase on each side{cut}"
        )

    @property
    def best(self) -> str | None:  # type: ignore[override]
        linear, options = self.linear(), self._asked.said
        if options.prior is not None:
            return "prior with delta" if self.delta else f"count under a prior, {options.loss}"
        if linear.sensitivity == 1:
            return "count"
        if self.delta:
            return "cut staircase"
        if linear.every_shift and options.loss is not Loss.SQUARED:
            return f"sum, {options.loss}"
        return None

    def reliability(self) -> str:
        noise, linear, options = self.noise(), self.linear(), self._asked.said
        if options.prior is not None:
            return f"The interval is a credible set under the prior {options.prior}, which you named."
        width = noise.half_width(options.confidence) * linear.unit
        words = f" {self._asked.unit_words}" if self._asked.unit_words else ""
        sentence = f"Within {number_text(width)}{words} {percent(options.confidence)} of the time."
        if noise.largest is not None:
            sentence += f" Never off by more than {number_text(noise.largest * linear.unit)}{words}."
        return sentence


def _noise_numbers(noise: NoiseLaw) -> dict[str, Any]:
    names = ("epsilon", "delta", "sensitivity", "width", "share")
    return {name: getattr(noise, name) for name in names}


def number_text(value: Fraction, like: Fraction | None = None) -> str:
    """A number for people: with thousands, and two digits more than *like* matters."""
    if value.denominator == 1:
        return f"{int(value):,}"
    if not like:
        return f"{float(value):,.6g}"
    size = abs(like)
    digits = 2
    while size and size < 1 and digits < 12:
        size, digits = size * 10, digits + 1
    shown = f"{float(value):,.{digits}f}"
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def percent(share: Fraction) -> str:
    return f"{fraction_text(100 * share)} %"


@dataclass(frozen=True)
class CrossedNumber(NumberMechanism):
    """A smoothed crossing at the full epsilon: nothing is split between a sum and a count."""

    name = "smoothed crossing"
    share: Fraction = ALL
    clipped: Fraction | None = None
    """The upper end that a first step chose, where the range is generous."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._asked.said.interval:
            if self.family().both_tails:
                raise QuestionError("interval", str(self.question), "is not known for a ratio", "leave interval out")
            if self._weighted:
                raise QuestionError("interval", str(self.question), "is not known with levels", "leave interval out")

    @property
    def _weighted(self) -> bool:
        return self.setting.personal and self.setting.aim is Aim.TYPICAL

    def family(self) -> Family:
        """Answers, cuts and what one person can move: public."""
        if self.clipped is None:
            return self._asked.family(self.setting)
        replaced = self.setting.neighbours is Neighbours.SUBSTITUTION
        return mean_family(
            Fraction(0), self.clipped, default_gap(Fraction(0), self.clipped, self.setting), replaced=replaced
        )

    def crossing(self) -> CrossingLaw:
        """The law of the answer, made from public numbers."""
        share = self.share * (CROSSING_SHARE if self._asked.said.interval else 1)
        if self._weighted:
            levels = tuple(own for own, _ in self.setting.levels if not own.is_zero)
            return CrossingLaw(self.family(), approximate(max(levels), self.delta), share, levels)
        at = strictest(self.setting)
        return CrossingLaw(self.family(), approximate(at.epsilon, self.delta), share)

    def _sums(self, table: Table) -> Sums:
        if not self._weighted:
            below, above = self._asked.sums(self._asked.fold(table.cells))
            return Sums((below,), (above,))
        pairs = [self._asked.sums(self._asked.fold(cells)) for own, cells in table.by_level if not own.is_zero]
        return Sums(tuple(below for below, _ in pairs), tuple(above for _, above in pairs))

    def draw(self, table: Table, source: BitSource) -> Answer:
        return self.drawn(self._sums(table), source)

    def drawn(self, sums: Sums, source: BitSource, more: Mapping[str, Any] | None = None) -> Answer:
        law = self.crossing()
        place = law.draw(sums, source, reread=confirm_crossing(law, sums))
        extra = dict(more or {})
        if self._asked.said.interval:
            noise = self.counting()
            extra["people"] = int(sums.below[0]) + noise.draw(source, reread=confirm_noise(**_noise_numbers(noise)))
        return self.answered(law.family.answer(place), extra)

    def counting(self) -> NoiseLaw:
        """The noise on the number of people with a value, where an interval is asked for."""
        return noise_law_for(strictest(self.setting).epsilon, share=self.share * COUNT_SHARE)

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        family = self.family()
        place = (recorded - family.first) / family.gap
        if place.denominator != 1 or not 0 <= place < family.answers:
            raise QuestionError("recorded", fraction_text(recorded), "is not one of the answers of its question")
        return self._details(recorded, recorded, self._interval(recorded, written) if "people" in written else None)

    def _interval(self, recorded: Fraction, written: Mapping[str, Any]) -> tuple[Fraction, Fraction]:
        """From the noisy number of people with a value: half of the risk for it, half for the crossing."""
        family, options = self.family(), self._asked.said
        low, high = family.answer(0), family.answer(family.answers - 1)
        risk = (1 - options.confidence) / 2
        people = int(written["people"]) - self.counting().half_width(1 - risk)
        if people <= 0:
            return low, high
        with precision(_BITS):
            spent = strictest(self.setting).epsilon.ball() * ball(self.share * CROSSING_SHARE)
            width = upper(ball(high - low) * (1 / ball(risk)).log() / (spent * people)) + family.gap / 2
        width = Fraction(-(-width * 10**12 // 1), 10**12)  # rounded up: nobody reads more digits
        return max(low, recorded - width), min(high, recorded + width)

    def at(self, level: ApproximateDP) -> Self:
        return super().at(level)

    def parameters(self) -> dict[str, Any]:
        law = self.crossing()
        return law.family.to_document() | {
            "share": fraction_text(law.share),
            "delta_used": fraction_text(self.delta),
            **({"weighted": True} if self._weighted else {}),
        }

    @property
    def proof(self) -> str:
        return (
            "a replaced, added or removed record, with a value or without, moves every cut by at most one person, and the moves "
            "are monotone along the cuts; the crossing theorem bounds what that does to every answer"
        )

    best = "crossing"

    def reliability(self) -> str:
        if self._weighted:
            return _WEIGHTED
        if self.family().both_tails:
            return "How far off it is depends on the table; there is no interval for a ratio."
        low, high = self._asked.value_range
        per = float(high - low) / (float(strictest(self.setting).epsilon) * float(self.crossing().share))
        how = (
            "an interval was bought with a tenth of epsilon"
            if self._asked.said.interval
            else ("their number is private, so there is no interval unless interval=true buys one")
        )
        return f"Off by about {per:.3g} divided by the number of people with a value; {how}."


@dataclass(frozen=True)
class TwoCrossings(NumberMechanism):
    """The difference of two shares or means, each by a crossing of its own: no sum over people exists."""

    name = "two crossings"
    best = None

    def sides(self) -> tuple[CrossedNumber, CrossedNumber]:
        """The two numbers, each at its own level."""
        level, relation = self.setting.level, self.setting.neighbours
        each = level_of_each_group(level.epsilon, level.delta, relation, public_groups=self.setting.public_groups)
        setting = Setting(approximate(each.epsilon, each.delta), each.neighbours, None)
        first, second = (CrossedNumber(one, setting) for one in self._asked.two_sides())  # type: ignore[attr-defined]
        return first, second

    def draw(self, table: Table, source: BitSource) -> Answer:
        counts = self._asked.fold(table.cells)
        values = []
        for side, own in zip(self.sides(), counts):
            below, above = side._asked.sums(own)
            law = side.crossing()
            sums = Sums((below,), (above,))
            values.append(law.family.answer(law.draw(sums, source, reread=confirm_crossing(law, sums))))
        return self.answered(values[0] - values[1])

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        family = self.sides()[0].family()
        if (recorded / family.gap).denominator != 1 or abs(recorded) > family.gap * (family.answers - 1):
            raise QuestionError("recorded", fraction_text(recorded), "is no difference of two answers")
        return self._details(recorded, recorded, None)

    def parameters(self) -> dict[str, Any]:
        first, _ = self.sides()
        return first.parameters() | {"epsilon_each": str(first.setting.level.epsilon)}

    @property
    def proof(self) -> str:
        if self.setting.public_groups or self.setting.neighbours is Neighbours.ADD_REMOVE:
            return "one person is in one of the two groups, and each group is answered by a crossing at the whole level"
        return "a replaced person leaves one group and enters another, and each is answered by a crossing at half of epsilon"

    def reliability(self) -> str:
        return "Two numbers of groups are subtracted, each with its own error: there is no interval."


@dataclass(frozen=True)
class TwoSteps(NumberMechanism):
    """A generous range: a clipping edge from a public ladder first, then the clipped sum or mean."""

    name = "two steps"
    best = "two steps"

    def first_step(self) -> LadderLaw:
        """The law of the clipping edge."""
        question: Any = self._asked
        return LadderLaw(ladder(question.high, question.step), strictest(self.setting).epsilon, EDGE_SHARE)

    def second_step(self, edge: Fraction) -> NoisyNumber | CrossedNumber:
        """What answers the number clipped at *edge*."""
        question: Any = self._asked
        clipped = question.clipped_at(edge)
        if clipped.linear(self.setting) is None:
            return CrossedNumber(clipped, self.setting, CLIPPED_SHARE, edge)
        return NoisyNumber(clipped, self.setting, CLIPPED_SHARE)

    def draw(self, table: Table, source: BitSource) -> Answer:
        question: Any = self._asked
        values = question.fold(table.cells).values
        law = self.first_step()
        above = [
            sum(number for place, number in values.items() if place * question.step > edge) for edge in law.edges[:-1]
        ]
        edge = law.edges[law.draw(above, source, reread=confirm_ladder(law, above))]
        second = self.second_step(edge)
        more = {"clipped_at": fraction_text(edge)}
        if isinstance(second, CrossedNumber):
            people, total = second._asked.sums(question.fold(table.cells))
            drawn = second.drawn(Sums((people,), (total,)), source, more)
        else:
            noise = second.noise()
            away = noise.draw(source, reread=confirm_noise(**_noise_numbers(noise)))
            drawn = second.answered(second.linear().value(second._asked.total(question.fold(table.cells)) + away), more)
        return drawn

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        edge = _read(written["clipped_at"])
        if edge not in self.first_step().edges:
            raise QuestionError("clipped_at", fraction_text(edge), "is not an edge of the public ladder")
        return self.second_step(edge).details_of(recorded, written)

    def parameters(self) -> dict[str, Any]:
        law = self.first_step()
        return {
            "ladder": [fraction_text(edge) for edge in law.edges],
            "shares": [fraction_text(EDGE_SHARE), fraction_text(CLIPPED_SHARE)],
            "delta_used": fraction_text(self.delta),
        }

    @property
    def proof(self) -> str:
        return (
            "the clipping edge costs 0.3 of epsilon (every move is a block of one sign, the crossing theorem), the clipped "
            "number 0.7 of it, and the two add up"
        )

    def reliability(self) -> str:
        return _LEFT_OUT


def mechanism_of(question: Quantity, setting: Setting) -> QuestionMechanism:
    """How a number is answered at a setting: chosen by public things alone."""
    _refuse_what_does_not_fit(question, setting)
    if getattr(question, "generous", False):
        return TwoSteps(question, setting)
    if hasattr(question, "two_sides") and question.linear(setting, (1, 1)) is None:
        return TwoCrossings(question, setting)
    if question.linear(setting, (1, 1)) is not None:
        return NoisyNumber(question, setting)
    return CrossedNumber(question, setting)


def _refuse_what_does_not_fit(question: Quantity, setting: Setting) -> None:
    options = question.said
    if options.prior is not None and (not question.counts_people or setting.people is None):
        remedy = "leave prior out, or ask for a count or share under substitution"
        raise QuestionError("prior", str(question), "is a belief about a count among a public number of people", remedy)
    if setting.levels and setting.aim is Aim.TYPICAL and not question.takes_levels:
        rule = "has no law for the typical table: a count or sum is answered at the strictest level for all"
        raise QuestionError("aim", "typical", rule, "leave aim out, or ask for a mean or share among some people")


def distribution(question: Quantity, counts: Any, setting: Setting) -> list[tuple[Fraction, Chance]]:
    """The law of the recorded answer for counts that are made up."""
    if getattr(question, "generous", False) or question.said.interval:
        raise QuestionError("question", str(question), "is answered in two steps", "leave out generous and interval")
    nobody = setting.people == 0 and not question.whole
    linear = None if nobody else question.linear(setting, question.sizes(counts))
    if linear is not None:
        at = setting.level
        law = noise_law_for(at.epsilon, at.delta, linear.sensitivity, loss=question.said.loss)
        return listed_noise(linear, law, question.total(counts))
    if setting.level.epsilon.is_zero:
        raise LevelError("epsilon", "0", "needs noise without bound", "name a positive epsilon")
    below, above = question.sums(counts)
    return _listed_crossing(CrossingLaw(question.family(setting), setting.level), Sums((below,), (above,)))


def _listed_crossing(law: CrossingLaw, sums: Sums) -> list[tuple[Fraction, Chance]]:
    answers = [law.family.answer(place) for place in range(law.family.answers)]
    epsilon: Epsilon = law.level.epsilon
    ratio = epsilon.exact_ratio
    if (
        ratio is not None
        and law.family.answers * max(1, int(sums.below[0])) * ratio.numerator.bit_length() <= _EXACT_BITS
    ):
        try:
            return list(zip(answers, law.probabilities(sums, exact=True)))
        except LevelError:
            pass  # some power is not rational at this level: balls
    bits = 5 * _DIGITS + 3 * epsilon.leading_zeros
    while True:
        with precision(bits):
            enclosed = [ball(chance) for chance in law.probabilities(sums)]
            if bits > 1 << 14 or all(p == 0 or p.rel_accuracy_bits() > 3.4 * _DIGITS for p in enclosed):
                return [(a, _decimal(p)) for a, p in zip(answers, enclosed)]
        bits *= 2


def _decimal(enclosed: Ball) -> Decimal:
    return Decimal(0) if enclosed.contains(0) else Decimal(enclosed.str(_DIGITS, radius=False))


# Before anything is spent.

_CONFIDENCES = (Fraction(9, 10), Fraction(19, 20), Fraction(99, 100))
_PEERS_DELTA = 1e-6  # of the discrete Gaussian, which has no law without one


def half_width_of(mechanism: QuestionMechanism, confidence: Fraction, people: int | None) -> Fraction:
    """The distance that the answer keeps with this probability, if so many people have a value: public arithmetic."""
    if isinstance(mechanism, NoisyNumber):
        return mechanism.noise().half_width(confidence) * mechanism.linear().unit
    if not isinstance(mechanism, CrossedNumber) or mechanism.family().both_tails:
        raise QuestionError(
            "question", str(mechanism.question), "has no interval that is known before", "ask for a mean"
        )
    if people is None:
        raise InputError("n", None, "is needed: the error of a mean depends on how many people have a value", "give n")
    low, high = mechanism.family().answer(0), mechanism.family().answer(mechanism.family().answers - 1)
    with precision(_BITS):
        spent = strictest(mechanism.setting).epsilon.ball() * ball(mechanism.crossing().share)
        width = upper(ball(high - low) * (1 / ball(1 - confidence)).log() / (spent * people))
    return Fraction(-(-width * 10**9 // 1), 10**9) + mechanism.family().gap / 2


def previewed(question: Quantity, setting: Setting, people: int | None) -> NumberPreview:
    """How far off a number will be: its half widths, expected error and largest error, next to others at the same level."""
    mechanism = question.mechanism(with_people(setting, people))
    if isinstance(mechanism, NoisyNumber):
        return _noise_previewed(mechanism)
    if isinstance(mechanism, CrossedNumber) and not mechanism.family().both_tails:
        return _crossing_previewed(mechanism, people)
    return NumberPreview({}, (mechanism.reliability(),), {"half_width": None, "largest_error": None})


def _noise_previewed(mechanism: NoisyNumber) -> NumberPreview:
    noise, linear = mechanism.noise(), mechanism.linear()
    epsilon, steps, unit = float(noise.epsilon) * float(noise.share), noise.sensitivity, float(linear.unit)
    decay = math.exp(-epsilon / steps)
    errors = {"optimaldp": float(noise.mean_error) * unit}
    if epsilon:
        errors["discrete Laplace"] = 2 * decay / (1 - decay * decay) * unit
    delta = float(mechanism.setting.level.delta)
    spread = gaussian_spread(epsilon, delta or _PEERS_DELTA) * steps
    errors["discrete Gaussian" if delta else "discrete Gaussian (delta 1e-6)"] = spread * math.sqrt(2 / math.pi) * unit
    widths = {fraction_text(c): plain_number(noise.half_width(c) * linear.unit) for c in _CONFIDENCES}
    largest = None if noise.largest is None else plain_number(noise.largest * linear.unit)
    sentences = (mechanism.reliability(), f"Its expected error is {errors['optimaldp']:.3g}.")
    return NumberPreview(errors, sentences, {"half_width": widths, "largest_error": largest})


def _crossing_previewed(mechanism: CrossedNumber, people: int | None) -> NumberPreview:
    if people is None:
        return NumberPreview({}, (mechanism.reliability(),), {"half_width": None, "largest_error": None})
    low, high = mechanism.family().answer(0), mechanism.family().answer(mechanism.family().answers - 1)
    spent = float(strictest(mechanism.setting).epsilon) * float(mechanism.crossing().share)
    # A mean in the middle of the range: there replaced records move a cut by twice what one person more does.
    reach = float(mechanism.family().most((low + high) / 2))
    ours = min(reach / (spent * people), float(high - low) / 4)
    widths = {fraction_text(c): plain_number(half_width_of(mechanism, c, people)) for c in _CONFIDENCES}
    within = number_text(half_width_of(mechanism, _CONFIDENCES[1], people))
    sentences = (
        f"If {people:,} people have a value, it is within {within} 95 % of the time.",
        f"Its expected error is about {ours:.3g} for a mean in the middle of the range.",
        mechanism.reliability(),
    )
    errors = {"optimaldp": ours, "sum and count, half of epsilon each": min(2 * ours, float(high - low) / 2)}
    return NumberPreview(errors, sentences, {"half_width": widths, "largest_error": None})


def gaussian_spread(epsilon: float, delta: float) -> float:
    """The standard deviation of Gaussian noise for a shift by 1, by its exact condition: floats, for a comparison in a preview.

    >>> round(gaussian_spread(1, 1e-6), 2)
    4.22
    """

    def spent(spread: float) -> float:
        a, b = 1 / (2 * spread) - epsilon * spread, -1 / (2 * spread) - epsilon * spread
        return _normal(a) - math.exp(epsilon) * _normal(b)

    low, high = 1e-3, 1.0
    while spent(high) > delta:
        low, high = high, 2 * high
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2
