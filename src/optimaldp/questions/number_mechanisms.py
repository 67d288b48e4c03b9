"""How a number is answered, and what the answer carries: noise on a whole number, a smoothed crossing, or two steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from statistics import NormalDist
from typing import Any, NamedTuple

from optimaldp.certify.numbers import confirm_crossing, confirm_ladder, confirm_noise
from optimaldp.errors import InputError, LevelError, QuestionError
from optimaldp.laws.crossing import CrossingLaw, Family, LadderLaw, Sums, ladder
from optimaldp.laws.law import Aim, Cells, Law, Loss, Setting, Table
from optimaldp.laws.log_number import exact_or_decimals
from optimaldp.laws.number_noise import NoiseLaw, bayes_step, noise_law_for, posterior_ends
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, approximate, level
from optimaldp.privacy.balls import ball, precision, upper
from optimaldp.privacy.levels import level_of_each_group
from optimaldp.privacy.numbers import first_where, fraction_text, narrowed
from optimaldp.questions.base import Detailed, NumberPreview, Question, as_question
from optimaldp.questions.mechanism import Answer, QuestionMechanism
from optimaldp.questions.numbers import (
    Chance,
    CountBelief,
    Crossed,
    Linear,
    Paired,
    Quantity,
    Summed,
    charged_delta,
    strictest,
    with_people,
)
from optimaldp.sampling import BitSource

Fold = Callable[[Cells], Any]

ALL = Fraction(1)
EDGE_SHARE, CLIPPED_SHARE = Fraction(3, 10), Fraction(7, 10)
"""Of a generous range: what finding the clipping edge costs, and what the clipped number costs."""
COUNT_SHARE, CROSSING_SHARE = Fraction(1, 10), Fraction(9, 10)
"""Of an interval that is not free: what the number of people with a value costs, and what is left for the number itself."""
_BITS = 192
_DIGITS = 30
_EXACT_BITS = 1 << 22  # of all exact rationals of a list together
_LEFT_OUT = "It leaves out what the few largest values have above the clipping edge"
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


@dataclass(frozen=True)
class NumberMechanism(QuestionMechanism):
    """What all ways to answer with a number have in common."""

    share: Fraction = ALL
    """The part of epsilon that it spends."""

    listed = False

    def __post_init__(self) -> None:
        if strictest(self.setting).epsilon.is_zero and not self._may_be_zero():
            rule = "needs noise without bound for a number"
            raise LevelError("epsilon", "0", rule, "name a positive epsilon; nobody's own level may be 0")
        if self.setting.people == 0 and isinstance(self, (CrossedNumber, TwoCrossings)):
            raise QuestionError("n", 0, "is the public number of people: there is no mean of nobody", "ask for a count")
        for name, value in self._asked.said.said().items():
            if name in self._idle():
                more = ", or add interval=true" if name == "confidence" else ""
                raise QuestionError(name, value.strip("'"), _IDLE[name], f"leave {name} out{more}")
        self.uses_delta  # noqa: B018  (refuses an end of the error that nothing pays for)

    @abstractmethod
    def _idle(self) -> tuple[str, ...]:
        """The options that would change nothing here: whoever names one of them expects something else."""

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

    def draw(self, table: Table, source: BitSource) -> Answer:
        return self.answered(*self.recorded(table, self._asked.fold, source))

    @abstractmethod
    def recorded(self, table: Table, fold: Fold, source: BitSource) -> tuple[Fraction, dict[str, Any]]:
        """The number that is recorded, and what else is private already.

        *fold* makes the question's counts of a table: that of the question itself, or of the one whose range was clipped.
        """

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
            if name not in written or _comparable(written[name]) != _comparable(value):
                return f"its number is not what was recorded: {name}"
        if _comparable(answer) != _comparable(plain_number(_read(again["exact"]))):
            return "its answer is not the exact number beside it"
        return ""

    @abstractmethod
    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        """All that follows from the recorded number by public arithmetic; *written* holds what else is private already."""

    def answered(self, recorded: Fraction, more: Mapping[str, Any] | None = None) -> Answer:
        """The answer as it is released, from the recorded number."""
        details = self.details_of(recorded, more or {}) | dict(more or {})
        exact = _read(details["exact"])
        made: Any = WholeNumber(int(exact)) if self._asked.whole else RealNumber(float(exact))
        made.details = details
        return made

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


_IDLE = {
    "grid": "has no effect here: the answers are multiples of the step, or end at an edge that a first step chooses",
    "interval": "is not known for this number",
    "loss": "has no effect here: a smoothed crossing is not made for one loss",
    "confidence": "has no effect here: the number has no interval",
    "largest_error": "is not possible here: only noise on a count or sum that is not clipped a second time ends",
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

    @property
    def _asked(self) -> Summed[Any]:
        assert isinstance(self.question, Summed)
        return self.question

    def _idle(self) -> tuple[str, ...]:
        return ("grid",)

    def linear(self, sizes: tuple[int, ...] = ()) -> Linear:
        """The number as a sum over people."""
        made = self._asked.linear(self.setting, sizes or self._example_sizes)
        assert made is not None
        return made

    @property
    def _example_sizes(self) -> tuple[int, ...]:
        return (1, 1) if self.setting.public_groups else ()

    @property
    def sizes_decide(self) -> bool:
        """Whether the noise depends on the sizes of public groups, which are known when the table is counted."""
        return self.setting.public_groups and self._asked.linear(self.setting) is None

    def _may_be_zero(self) -> bool:
        # Whose own level is 0 loses no delta either.
        return self.linear().sensitivity == 1 and bool(self.setting.level.delta) and not self.setting.levels

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

    def require_public_sizes(self, table: Table) -> None:
        if self.sizes_decide:
            self.linear(self._asked.sizes(self._asked.fold(table.cells)))

    def recorded(self, table: Table, fold: Fold, source: BitSource) -> tuple[Fraction, dict[str, Any]]:
        counts = fold(table.cells)
        sizes = self._asked.sizes(counts) if self.setting.public_groups else ()
        z = self._asked.total(counts) + _drawn_noise(self.noise(sizes), source)
        return self.linear(sizes).value(z), {"group_sizes": list(sizes)} if sizes else {}

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

    def peers(self) -> tuple[float, int]:
        """The epsilon and the sensitivity at which others would add noise to the same number: for previews."""
        noise = self.noise()
        return float(noise.epsilon) * float(noise.share), noise.sensitivity

    def width_of_all(self, groups: int) -> Fraction:
        """What none of so many independent groups exceeds with the question's confidence: each keeps a root of it."""
        confidence = self._asked.said.confidence
        with precision(_BITS):
            each = min(Fraction(upper((ball(confidence).log() / groups).exp())), 1 - (1 - confidence) / groups)
        return self.linear().unit * self.noise().half_width(each)

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
        if self.setting.personal:  # everybody has the strictest level, where others would allow more
            return None
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
        if self.sizes_decide:
            return "How far off it is depends on the sizes of the two groups, which are public."
        if options.prior is not None:
            sure = percent(options.confidence)
            return f"The true number is in this range {sure} of the time if the prior {options.prior}, which you named, is right."
        width = noise.half_width(options.confidence) * linear.unit
        within = error_with_unit(self._asked, width)
        sentence = f"Within {within} of the truth {percent(options.confidence)} of the time."
        if noise.largest is not None:
            sentence += f" Never off by more than {error_with_unit(self._asked, noise.largest * linear.unit)}."
        return sentence


def _drawn_noise(noise: NoiseLaw, source: BitSource) -> int:
    """A noise number that the referee has confirmed from its bits."""
    names = ("epsilon", "delta", "sensitivity", "width", "share")
    return noise.draw(source, reread=confirm_noise(**{name: getattr(noise, name) for name in names}))


def number_text(value: Fraction) -> str:
    """A number for people, with thousands: as it is where decimals can write it, else with six digits."""
    text = fraction_text(value)
    return f"{float(value):,.6g}" if "/" in text else f"{Decimal(text):,f}"


def figure(value: float, digits: int = 3) -> str:
    """A number that is known roughly, for people: 2,000 and not 2e+03."""
    return number_text(Fraction(f"{value:.{digits}g}"))


def rounding_place(question: Quantity, error: Fraction | None, influence: Fraction | None) -> Fraction | None:
    """The place to which a number is written: that of the second digit of its error; ``None`` where four digits must do.

    Without an error it is the first digit of what one person could change (*influence*), where that is public. A whole number
    has no place behind its point.
    """
    if error or influence:
        place = _second_digit(error) if error else 10 * _second_digit(influence or Fraction(1))
        return max(place, Fraction(1)) if question.whole else place
    return Fraction(1) if question.whole else None


def rounded(value: Fraction, place: Fraction | None) -> Fraction:
    return Fraction(f"{float(value):.4g}") if place is None else round(value / place) * place


def _second_digit(error: Fraction) -> Fraction:
    """The place of the second digit of a positive number: 1/10 for 3.17."""
    unit = Fraction(1)
    while 100 * unit <= error:
        unit *= 10
    while 10 * unit > error:
        unit /= 10
    return unit


def error_text(question: Quantity, error: Fraction, place: Fraction | None = None) -> str:
    """An error for people, rounded up to two digits or to a *place*: what is said to hold still holds."""
    scale, mark = (100, question.in_percent[1]) if question.in_percent else (1, "")
    place = place or rounding_place(question, error, None) or Fraction(1)
    return placed_text(-(-error // place) * place * scale, place * scale) + mark


def error_with_unit(question: Quantity, error: Fraction) -> str:
    return with_unit(question, error_text(question, error))


def with_unit(question: Quantity, text: str) -> str:
    """A number for people with what it counts: 1 person, 3 people."""
    unit = "person" if text.lstrip("-") == "1" and question.unit_words else question.unit_words
    return f"{text} {unit}" if unit else text


def placed_text(value: Fraction, place: Fraction) -> str:
    """A number for people with all digits up to this place, zeros too: 17.90 where the place is 0.01."""
    decimals = 0
    while place < 1:
        place, decimals = place * 10, decimals + 1
    return f"{Decimal(value.numerator) / Decimal(value.denominator):,.{decimals}f}"


def percent(share: Fraction) -> str:
    return f"{fraction_text(100 * share)} %"


@dataclass(frozen=True)
class CrossedNumber(NumberMechanism):
    """A smoothed crossing at the full epsilon: nothing is split between a sum and a count."""

    name = "smoothed crossing"

    @property
    def _asked(self) -> Crossed[Any]:
        assert isinstance(self.question, Crossed)
        return self.question

    def _idle(self) -> tuple[str, ...]:
        interval = ("interval",) if self._weighted else () if self._asked.said.interval else ("confidence",)
        return ("loss", "largest_error", *interval)

    @property
    def _weighted(self) -> bool:
        return self.setting.personal and self.setting.aim is Aim.TYPICAL

    def family(self) -> Family:
        """Answers, cuts and what one person can move: public."""
        return self._asked.family(self.setting)

    def crossing(self) -> CrossingLaw:
        """The law of the answer, made from public numbers."""
        share = self.share * (CROSSING_SHARE if self._asked.said.interval else 1)
        if self._weighted:
            levels = tuple(own for own, _ in self.setting.levels if not own.is_zero)
            return CrossingLaw(self.family(), approximate(max(levels), self.delta), share, levels)
        at = strictest(self.setting)
        return CrossingLaw(self.family(), approximate(at.epsilon, self.delta), share)

    def _sums(self, table: Table, fold: Fold) -> Sums:
        kept = [cells for own, cells in table.by_level if not own.is_zero] if self._weighted else [table.cells]
        pairs = [self._asked.sums(fold(cells)) for cells in kept]
        return Sums(tuple(below for below, _ in pairs), tuple(above for _, above in pairs))

    def recorded(self, table: Table, fold: Fold, source: BitSource) -> tuple[Fraction, dict[str, Any]]:
        law, sums = self.crossing(), self._sums(table, fold)
        answer = law.family.answer(law.draw(sums, source, reread=confirm_crossing(law, sums)))
        if not self._asked.said.interval:
            return answer, {}
        return answer, {"people": int(sums.below[0]) + _drawn_noise(self.counting(), source)}

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
            "A tenth of epsilon paid for the interval."
            if self._asked.said.interval
            else "That number is private; interval=true spends a tenth of epsilon on an interval."
        )
        people = self.setting.people
        of_all = f": by {figure(per / people, 2)} if all {people:,} have one" if people else ""
        return f"Off by about {figure(per)} divided by the number of people with a value{of_all}. {how}"


@dataclass(frozen=True)
class TwoCrossings(NumberMechanism):
    """The difference of two shares or means, each by a crossing of its own: no sum over people exists."""

    name = "two crossings"
    best = None

    def _idle(self) -> tuple[str, ...]:
        return ("loss", "confidence", "interval", "largest_error")

    def sides(self) -> tuple[CrossedNumber, CrossedNumber]:
        """The two numbers, each at its own level."""
        assert isinstance(self._asked, Paired)
        level, relation = self.setting.level, self.setting.neighbours
        each = level_of_each_group(level.epsilon, level.delta, relation, public_groups=self.setting.public_groups)
        setting = Setting(approximate(each.epsilon, each.delta), each.neighbours, None)
        first, second = (CrossedNumber(one, setting) for one in self._asked.two_sides())
        return first, second

    def recorded(self, table: Table, fold: Fold, source: BitSource) -> tuple[Fraction, dict[str, Any]]:
        values = []
        for side, own in zip(self.sides(), fold(table.cells)):
            law, (below, above) = side.crossing(), side._asked.sums(own)
            sums = Sums((below,), (above,))
            values.append(law.family.answer(law.draw(sums, source, reread=confirm_crossing(law, sums))))
        return values[0] - values[1], {}

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

    def __post_init__(self) -> None:
        super().__post_init__()
        self._last_step()  # refuses what does not fit the second step, before anything is read

    def _idle(self) -> tuple[str, ...]:
        return ("grid", "largest_error")

    def _last_step(self) -> NoisyNumber | CrossedNumber:
        """The second step where nothing is clipped."""
        return self.second_step(self.first_step().edges[-1])

    def first_step(self) -> LadderLaw:
        """The law of the clipping edge."""
        question: Any = self._asked
        return LadderLaw(ladder(question.high, question.step), strictest(self.setting).epsilon, EDGE_SHARE)

    def second_step(self, edge: Fraction) -> NoisyNumber | CrossedNumber:
        """What answers the number clipped at *edge*."""
        question: Any = self._asked
        clipped = question.clipped_at(edge)
        kind = NoisyNumber if clipped.linear(self.setting) is not None else CrossedNumber
        return kind(clipped, self.setting, CLIPPED_SHARE)

    def recorded(self, table: Table, fold: Fold, source: BitSource) -> tuple[Fraction, dict[str, Any]]:
        question: Any = self._asked
        values, law = fold(table.cells).values, self.first_step()
        above = [
            sum(number for place, number in values.items() if place * question.step > edge) for edge in law.edges[:-1]
        ]
        edge = law.edges[law.draw(above, source, reread=confirm_ladder(law, above))]
        recorded, more = self.second_step(edge).recorded(table, fold, source)
        return recorded, more | {"clipped_at": fraction_text(edge)}

    def details_of(self, recorded: Fraction, written: Mapping[str, Any]) -> dict[str, Any]:
        edge = _read(written["clipped_at"])
        if edge not in self.first_step().edges:
            raise QuestionError("clipped_at", fraction_text(edge), "is not an edge of the public ladder")
        # The end of the noise is none of the error: nobody knows what was clipped.
        return self.second_step(edge).details_of(recorded, written) | {"largest_error": None}

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
        has_interval = isinstance(self._last_step(), NoisyNumber) or self._asked.said.interval
        return f"{_LEFT_OUT}{'; the interval is for the clipped number' if has_interval else ''}."


def mechanism_of(question: Quantity, setting: Setting) -> QuestionMechanism:
    """How a number is answered at a setting: chosen by public things alone."""
    _refuse_what_does_not_fit(question, setting)
    if setting.groups:
        from optimaldp.questions.group_numbers import GroupedNumber

        return GroupedNumber(question, setting)
    if question.generous:
        return TwoSteps(question, setting)
    if question.linear(setting, (1, 1)) is not None:
        return NoisyNumber(question, setting)
    return (TwoCrossings if isinstance(question, Paired) else CrossedNumber)(question, setting)


def _refuse_what_does_not_fit(question: Quantity, setting: Setting) -> None:
    options = question.said
    if options.prior is not None and (not question.counts_people or setting.people is None):
        remedy = "leave prior out, or ask for a count or share under substitution"
        raise QuestionError("prior", str(question), "is a belief about a count among a public number of people", remedy)
    if setting.levels and setting.aim is Aim.TYPICAL and not question.takes_levels:
        rule = "has no law for the typical table: this number is answered at the strictest level for all"
        raise QuestionError("aim", "typical", rule, "leave aim out, or ask for a mean in a range that you name")


def distribution(question: Quantity, counts: Any, setting: Setting) -> list[tuple[Fraction, Chance]]:
    """The law of the recorded answer for counts that are made up."""
    if question.generous or question.said.interval:
        raise QuestionError("question", str(question), "is answered in two steps", "leave out generous and interval")
    if isinstance(question, Summed):
        linear = question.linear(setting, question.sizes(counts))
        if linear is not None:
            at = setting.level
            law = noise_law_for(at.epsilon, at.delta, linear.sensitivity, loss=question.said.loss)
            return listed_noise(linear, law, question.total(counts))
    if not isinstance(question, Crossed):
        rule = "is answered by two independent crossings, one for each number"
        raise QuestionError("question", str(question), rule, "ask for the law of each of the two numbers")
    if setting.level.epsilon.is_zero:
        raise LevelError("epsilon", "0", "needs noise without bound", "name a positive epsilon")
    below, above = question.sums(counts)
    family = question.on_value_grid().family(setting)
    return _listed_crossing(CrossingLaw(family, setting.level), Sums((below,), (above,)))


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
    more = 3 * epsilon.leading_zeros
    return list(zip(answers, exact_or_decimals(lambda: law.probabilities(sums), digits=_DIGITS, more_bits=more)))


# Before anything is spent.

_CONFIDENCES = (Fraction(4, 5), Fraction(9, 10), Fraction(19, 20), Fraction(99, 100), Fraction(999, 1000))
"""Of the picture of the noise; a document says 90, 95 and 99 % apart, as it always did."""
_SAID = ("0.9", "0.95", "0.99")
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


def sentence_of_groups(question: Quantity, setting: Setting, groups: int) -> str:
    """How far off all of so many groups are at once; nothing where one group's error depends on its people."""
    mechanism = question.mechanism(setting)
    if groups < 2 or not isinstance(mechanism, NoisyNumber) or question.said.prior is not None:
        return ""
    width = error_with_unit(question, mechanism.width_of_all(groups))
    return (
        f"All {groups:,} groups at once: within {width} of the truth {percent(question.said.confidence)} of the time."
    )


def previewed(question: Quantity, setting: Setting, people: int | None) -> NumberPreview:
    """How far off a number will be: its half widths, expected error and largest error, next to others at the same level."""
    mechanism = question.mechanism(with_people(setting, people))
    if isinstance(mechanism, NoisyNumber) and not mechanism.sizes_decide:
        return _noise_previewed(mechanism)
    if isinstance(mechanism, CrossedNumber) and not mechanism.family().both_tails:
        return _crossing_previewed(mechanism, people)
    if isinstance(mechanism, TwoSteps) and people:
        return _two_steps_previewed(mechanism, people)
    return NumberPreview({}, (mechanism.reliability(),), {"half_width": None, "largest_error": None})


class _Way(NamedTuple):
    """One way to answer, in the units of the number: its expected error, and how far off it is with a confidence."""

    error: float
    width: Callable[[Fraction], Fraction | float]


def _shown(ways: Mapping[str, _Way], sentences: tuple[str, ...], largest: Fraction | None = None) -> NumberPreview:
    widths = {
        name: {fraction_text(c): plain_number(Fraction(way.width(c))) for c in _CONFIDENCES}
        for name, way in ways.items()
    }
    ours = next(iter(widths.values()))
    figures = {
        "half_width": {c: ours[c] for c in _SAID},
        "half_widths": widths,
        "largest_error": None if largest is None else plain_number(largest),
    }
    return NumberPreview({name: way.error for name, way in ways.items()}, sentences, figures)


def _noise_previewed(mechanism: NoisyNumber) -> NumberPreview:
    noise, unit = mechanism.noise(), mechanism.linear().unit
    (epsilon, steps), delta = mechanism.peers(), float(mechanism.setting.level.delta)
    ways = {"optimaldp": _Way(_expected_error(mechanism, None), lambda c: noise.half_width(c) * unit)}
    if epsilon:
        ways["discrete Laplace"] = _laplace(epsilon / steps, unit)
    spread = gaussian_spread(epsilon, delta or _PEERS_DELTA) * steps * float(unit)
    name = "discrete Gaussian" if delta else "discrete Gaussian (delta 1e-6)"
    ways[name] = _Way(spread * math.sqrt(2 / math.pi), lambda c: NormalDist().inv_cdf(float(1 + c) / 2) * spread)
    sentences = (mechanism.reliability(), f"Its expected error is {figure(ways['optimaldp'].error)}.")
    return _shown(ways, sentences, None if noise.largest is None else noise.largest * unit)


def _laplace(rate: float, unit: Fraction) -> _Way:
    """Noise with ``P(z) ~ e^(-rate |z|)``: P(|z| > w) = 2 decay^(w + 1)/(1 + decay)."""
    decay = math.exp(-rate)

    def width(confidence: Fraction) -> Fraction:
        return max(0, math.ceil(-math.log(float(1 - confidence) * (1 + decay) / 2) / rate) - 1) * unit

    return _Way(2 * decay / (1 - decay * decay) * float(unit), width)


def _crossing_previewed(mechanism: CrossedNumber, people: int | None) -> NumberPreview:
    if people is None:
        return NumberPreview({}, (mechanism.reliability(),), {"half_width": None, "largest_error": None})
    family = mechanism.family()
    wide = float(family.gap * (family.answers - 1))
    ours = _Way(_expected_error(mechanism, people), lambda c: half_width_of(mechanism, c, people))
    split = _Way(min(2 * ours.error, wide / 2), lambda c: 2 * (ours.width(c) - family.gap / 2))
    within = error_text(mechanism._asked, Fraction(ours.width(Fraction(19, 20))))
    sentences = (
        f"If {people:,} people have a value, it is within {within} 95 % of the time.",
        f"Its expected error is about {figure(ours.error)} for a mean in the middle of the range.",
        mechanism.reliability(),
    )
    return _shown({"optimaldp": ours, "sum and count, half of epsilon each": split}, sentences)


def _expected_error(mechanism: NoisyNumber | CrossedNumber, people: int | None) -> float:
    """The expected error of noise; of a crossing about that of so many people whose mean is the middle of the range."""
    if isinstance(mechanism, NoisyNumber):
        return float(mechanism.noise().mean_error) * float(mechanism.linear().unit)
    assert people
    family = mechanism.family()
    low, high = family.answer(0), family.answer(family.answers - 1)
    spent = float(strictest(mechanism.setting).epsilon) * float(mechanism.crossing().share)
    # There replaced records move a cut by twice what one person more does.
    return min(float(family.most((low + high) / 2)) / (spent * people), float(high - low) / 4)


class _Shape(NamedTuple):
    """How values may be spread below a top of 1: which part lies above an edge, and by how much on average, 0 for the others."""

    above: Callable[[float], float]
    excess: Callable[[float], float]


_TYPICAL = 0.01  # the middle value of the lognormal shape; its logarithm has a standard deviation of 1
_SHAPES = {
    "uniform": _Shape(lambda edge: 1 - edge, lambda edge: (1 - edge) ** 2 / 2),
    "lognormal": _Shape(
        lambda edge: _normal(-math.log(edge / _TYPICAL)),
        lambda edge: (
            _TYPICAL * math.exp(0.5) * _normal(1 - math.log(edge / _TYPICAL))
            - edge * _normal(-math.log(edge / _TYPICAL))
        ),
    ),
}


def _two_steps_previewed(mechanism: TwoSteps, people: int) -> NumberPreview:
    """Values of two named shapes: the noise and what is left out together, beside an answer on the whole range at once."""
    question: Any = mechanism._asked
    plain = mechanism_of(replace(question, generous=False), mechanism.setting)
    assert isinstance(plain, (NoisyNumber, CrossedNumber))
    errors = {f"optimaldp, {name}": _two_steps_error(mechanism, people, shape) for name, shape in _SHAPES.items()}
    uniform, lognormal, whole = map(figure, (*errors.values(), _expected_error(plain, people)))
    top, middle = number_text(question.high), figure(float(question.high) * _TYPICAL)
    sentences = (
        f"If {people:,} values are spread evenly up to {top}, its expected error is about {uniform}; if they are lognormal, half "
        f"of them below {middle}, about {lognormal}. On the whole range at once it would be about {whole}.",
        mechanism.reliability(),
    )
    errors["the whole range at once"] = _expected_error(plain, people)
    return NumberPreview(errors, sentences, {"half_width": None, "largest_error": None})


def _two_steps_error(mechanism: TwoSteps, people: int, shape: _Shape) -> float:
    law, top = mechanism.first_step(), float(mechanism.first_step().edges[-1])
    parts = [float(edge) / top for edge in law.edges]
    with precision(_BITS):
        ends = law.ends([round(people * shape.above(part)) for part in parts[:-1]])
        reached = [0.0, *(float(upper(ends.end(place))) for place in range(len(parts) - 1)), 1.0]
    times = top if isinstance(mechanism._asked, Crossed) else top * people  # a mean, or a sum

    def off(edge: Fraction, part: float) -> float:
        """Of Laplace noise with the mean distance s, moved by what was left out: E|X - b| = b + s e^(-b/s)."""
        noise, left_out = _expected_error(mechanism.second_step(edge), people), times * shape.excess(part)
        return left_out + noise * math.exp(-left_out / noise)

    chances = [after - before for before, after in pairwise(reached)]
    return sum(chance * off(edge, part) for chance, edge, part in zip(chances, law.edges, parts))


def gaussian_spread(epsilon: float, delta: float) -> float:
    """The standard deviation of Gaussian noise for a shift by 1, by its exact condition: floats, for a comparison in a preview.

    >>> round(gaussian_spread(1, 1e-6), 2)
    4.22
    """

    def spent(spread: float) -> float:
        a, b = 1 / (2 * spread) - epsilon * spread, -1 / (2 * spread) - epsilon * spread
        return _normal(a) - math.exp(epsilon) * _normal(b)

    largest = 2.0 ** first_where(lambda power: spent(2.0**power) <= delta, 0)
    return narrowed(lambda spread: spent(spread) > delta, 1e-3, largest, 80)[1]


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2


# For study: laws of tables that the caller makes up.

_LISTED = Fraction(1, 2**60)  # how much of a law without ends is left out of a list
_MOST_LISTED = 2 * 10**6


def noise_law(
    question: Question | str,
    *,
    epsilon: object,
    delta: object = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> NoiseLaw:
    """The law of the noise on a count or sum: public, and known before anything is spent.

    **Guarantee.** What a release at this level adds to the exact number, in steps of its grid (people, for a count), if it spends
    this delta. ``.probability(k)``, ``.tail(k)`` = P(X > k), ``.largest``, ``.half_width(confidence)``, ``.mean_error``.

    >>> law = noise_law("count(smokes = 'yes')", epsilon=0.5)
    >>> law.half_width(0.95), noise_law("sum(age, range=[0, 100], step=1)", epsilon=0.5).sensitivity
    (6, 100)
    """
    asked, at, relation = _as_quantity(question), _studied_level(epsilon, delta), Neighbours(neighbours)
    if asked.generous:
        rule = "is clipped at an edge that a first step chooses, so its noise depends on the table"
        raise QuestionError("question", str(asked), rule, "name the range: range=[0, 100]")
    people = 1 if relation is Neighbours.SUBSTITUTION else None
    linear = asked.linear(Setting(at, relation, people))
    if linear is None:
        remedy = "use number_probabilities for a table that you make up"
        raise QuestionError("question", str(asked), "is no sum over people, so its error depends on the table", remedy)
    return noise_law_for(at.epsilon, at.delta, linear.sensitivity, loss=asked.said.loss)


def number_probabilities(
    question: Question | str,
    counts: Sequence[int],
    *,
    epsilon: object,
    delta: object = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> list[tuple[Fraction, Chance]]:
    """The law of the recorded answer for a table that the caller makes up: pairs (answer, probability) in rising order.

    **Guarantee.** The law that a release at this level draws from, if it spends this delta, before the answer is moved into what
    is possible: exact ``Fraction`` values where the law is rational, else ``Decimal`` values with 30 correct digits. A law
    without ends is listed within probability 1 - 2^-60. A mean's answers lie on the grid of its values unless ``grid=`` says
    otherwise. Of private counts the result is private too.

    *counts*: (yes, no, outside) for ``count`` and ``share``; people per grid value in rising order, then people without a value,
    for ``sum`` and ``mean``; people per pair of grid values, the first column slowest, then people without a value, for
    ``ratio``; (A yes, A no, B yes, B no, outside) for differences.

    >>> number_probabilities("mean(v, range=[0, 2], step=1)", [0, 0, 0, 3], epsilon="ln(4)")
    [(Fraction(0, 1), Fraction(1, 4)), (Fraction(1, 1), Fraction(1, 2)), (Fraction(2, 1), Fraction(1, 4))]
    """
    asked, at, relation = _as_quantity(question), _studied_level(epsilon, delta), Neighbours(neighbours)
    known = asked.read_counts(counts)
    people = sum(int(count) for count in counts) if relation is Neighbours.SUBSTITUTION else None
    return distribution(asked, known, Setting(at, relation, people, public_groups=True))


def _studied_level(epsilon: object, delta: object) -> ApproximateDP:
    at = level(epsilon, delta)
    if not isinstance(at, ApproximateDP) or at.epsilon.infinite:
        rule = "is not a finite epsilon, with a delta or without"
        raise LevelError("epsilon", str(at), rule, "write epsilon=1, delta=1e-6")
    return at


def _as_quantity(question: Question | str) -> Quantity:
    asked = as_question(question)
    if not isinstance(asked, Quantity):
        raise QuestionError(
            "question", str(asked), "does not have a number as its answer", "ask for a count, sum or mean"
        )
    return asked


def listed_noise(linear: Linear, law: NoiseLaw, total: int) -> list[tuple[Fraction, Chance]]:
    """Every answer of a noisy number with its probability, as far as it matters."""
    reach = law.half_width(1 - _LISTED) if law.largest is None else law.largest
    if reach > _MOST_LISTED:
        raise QuestionError("question", "its law", "has too many answers to list", "use noise_law")
    return [(linear.value(total + k), law.probability(k)) for k in range(-reach, reach + 1)]
