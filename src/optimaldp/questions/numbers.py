"""Questions whose answer is a number: how many, how much, what average. And what such an answer carries with it.

A :class:`Quantity` is a question by itself, and comparing it with a bound makes another one. It is answered in one of three ways,
chosen by public things alone: as a sum over people that one of them moves by a known number of steps (:class:`Linear`: noise on a
whole number), as a smoothed crossing (means of some people, ratios: nothing is split between a sum and a count), or, where its
range is generous, by a clipping edge first and then one of the two.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

from optimaldp.errors import QuestionError
from optimaldp.laws.law import Aim, Loss, Setting
from optimaldp.laws.votes import Moves
from optimaldp.privacy import ApproximateDP, Neighbours, approximate, read_number, read_probability
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Draft, NumberPreview, Question, Spec, joined_text
from optimaldp.questions.forms import Call
from optimaldp.questions.literals import read_list, top_level_words
from optimaldp.results import Given

if TYPE_CHECKING:
    from optimaldp.laws.crossing import Family
    from optimaldp.questions.mechanism import QuestionMechanism

_HALF = Fraction(1, 2)
_MOST_ANSWERS = 10**6
_LEAST_STEPS_UNKNOWN = 10**4  # of a mean's answers where the number of people is private
_STEPS_PER_ERROR = 20  # of a mean's answers: so many steps lie in one expected error
_NO_GAIN = Fraction(1, 1000)  # a delta below this part of epsilon makes a count at most 1.2 % better: not charged


# What is said with a number.


@dataclass(frozen=True)
class NumberOptions:
    """What can be said about a number beside the question: all of it public and settled before data is read."""

    grid: tuple[Fraction, ...] | None = None
    """The step of a mean's answers; of a ratio (low, high, step)."""
    interval: bool = False
    """Whether a tenth of epsilon is spent on an interval where there is none for free (means of some people)."""
    prior: str | None = None
    """A public prior on a count, as its text: ``uniform``, ``binomial(0.3)``, or one weight for each count."""
    loss: Loss = Loss.ABSOLUTE
    output: str = "in range"
    confidence: Fraction = Fraction(19, 20)
    largest_error: bool = False
    """Whether delta is spent so that the error never exceeds a known number."""

    NAMES: ClassVar[tuple[str, ...]] = ("grid", "interval", "prior", "loss", "output", "confidence", "largest_error")

    @staticmethod
    def read(**said: Any) -> NumberOptions:
        """Check what somebody said; what is ``None`` was not said."""
        known = {name: value for name, value in said.items() if value is not None}
        unknown = set(known) - set(NumberOptions.NAMES)
        assert not unknown, unknown
        if "grid" in known:
            known["grid"] = _read_grid(known["grid"])
        for name in ("interval", "largest_error"):
            if name in known:
                known[name] = read_switch(known[name], name)
        if "prior" in known:
            known["prior"] = CountBelief.read(known["prior"]).text
        if "loss" in known:
            known["loss"] = Loss(str(_unquoted(known["loss"])))
        if "output" in known:
            known["output"] = _unquoted(known["output"])
            if known["output"] not in ("in range", "unbiased"):
                raise QuestionError("output", known["output"], "is not an output", "write 'in range' or 'unbiased'")
        if "confidence" in known:
            known["confidence"] = read_probability(known["confidence"], name="confidence", error=QuestionError)
            if not _HALF <= known["confidence"] < 1:
                rule = "does not lie between 0.5 and 1"
                raise QuestionError("confidence", fraction_text(known["confidence"]), rule, "write confidence=0.95")
        return NumberOptions(**known)

    def texts(self) -> list[str]:
        """What differs from nothing said, as it stands in the text of a question."""
        return [f"{name}={text}" for name, text in self.said().items()]

    def said(self) -> dict[str, str]:
        """The text of each option that differs from nothing said."""
        plain = NumberOptions()
        differ = [one.name for one in fields(self) if getattr(self, one.name) != getattr(plain, one.name)]
        return {name: self._text(name) for name in differ}

    def _text(self, name: str) -> str:
        value = getattr(self, name)
        if name == "grid":
            return fraction_text(value[0]) if len(value) == 1 else f"[{', '.join(map(fraction_text, value))}]"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, Fraction):
            return fraction_text(value)
        return str(value) if name == "prior" else f"'{value}'"


PLAIN = NumberOptions()


def _unquoted(value: object) -> object:
    return value.strip().strip("'\"") if isinstance(value, str) else value


def read_switch(value: object, name: str) -> bool:
    word = value.strip().lower() if isinstance(value, str) else value
    if word not in (True, False, "true", "false"):
        raise QuestionError(name, value, "is neither true nor false", f"write {name}=true")
    return word in (True, "true")


def _read_grid(value: object) -> tuple[Fraction, ...]:
    listed: Sequence[Any]
    if isinstance(value, str):
        listed = read_list(value) if value.strip().startswith("[") else [value]
    else:
        listed = list(value) if isinstance(value, (list, tuple)) else [value]
    numbers = tuple(read_number(part, name="grid", error=QuestionError) for part in listed)
    if len(numbers) not in (1, 3) or numbers[-1] <= 0:
        raise QuestionError("grid", value, "is not a step of answers", "write grid=0.01, or grid=[low, high, step]")
    return numbers


def split_options(call: Call) -> tuple[str, dict[str, str]]:
    """A condition and the options behind it: ``smokes = 'yes', loss='squared'``. Commas in brackets belong to the condition."""
    first, *rest = top_level_words(call.inside, ",") or [call.inside]
    named: dict[str, str] = {}
    for part in rest:
        name, equals, value = part.partition("=")
        if not equals or name.strip().lower() not in NumberOptions.NAMES or name.strip().lower() in named:
            raise call.error(f"has {part!r} behind its condition, which is not an option")
        named[name.strip().lower()] = value.strip()
    return first, named


@dataclass(frozen=True)
class CountBelief:
    """A public prior on a count among n people, as its text: the weight of each count."""

    text: str

    @staticmethod
    def read(value: object) -> CountBelief:
        """Read ``uniform``, ``binomial(0.3)`` or a list of weights.

        >>> CountBelief.read("binomial(.25)").text, CountBelief.read([1, "1/2"]).weights(1)
        ('binomial(0.25)', [Fraction(1, 1), Fraction(1, 2)])
        """
        text = _unquoted(value)
        if text == "uniform":
            return CountBelief("uniform")
        if isinstance(text, str) and text.startswith("binomial(") and text.endswith(")"):
            chance = read_probability(text[len("binomial(") : -1], name="prior", error=QuestionError)
            if 0 < chance < 1:
                return CountBelief(f"binomial({fraction_text(chance)})")
        elif isinstance(text, (list, tuple)) or (isinstance(text, str) and text.startswith("[")):
            parts = read_list(text) if isinstance(text, str) else text
            weights = [read_number(part, name="prior", error=QuestionError) for part in parts]
            if weights and min(weights) >= 0 and any(weights):
                return CountBelief(f"[{', '.join(map(fraction_text, weights))}]")
        remedy = "write 'uniform', 'binomial(0.3)', or one weight for each count from 0 to n"
        raise QuestionError("prior", str(value), "is not a prior on a count", remedy)

    def weights(self, people: int) -> list[int] | list[Fraction]:
        """The weight of each count from 0 to *people*; they need not add up to 1."""
        if self.text == "uniform":
            return [1] * (people + 1)
        if self.text.startswith("["):
            listed = [Fraction(part) for part in read_list(self.text)]
            if len(listed) != people + 1:
                rule = f"does not have one weight for each count from 0 to {people}"
                raise QuestionError("prior", f"{len(listed)} weights", rule, "name one for each, or write 'uniform'")
            return listed
        chance = Fraction(self.text[len("binomial(") : -1])
        yes, no = chance.numerator, chance.denominator - chance.numerator
        return [math.comb(people, k) * yes**k * no ** (people - k) for k in range(people + 1)]


# What a number is.


@dataclass(frozen=True)
class Linear:
    """A number that adds up over people: ``offset + unit * z``, where one person moves the whole number z by *sensitivity*."""

    sensitivity: int
    unit: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)
    low: Fraction | None = None
    high: Fraction | None = None
    """What is possible, by public numbers."""
    every_shift: bool = True
    """Whether every shift up to the sensitivity occurs: then the noise is optimal among answers that see the sum alone."""

    def value(self, recorded: int) -> Fraction:
        return self.offset + self.unit * recorded

    def clamped(self, value: Fraction) -> Fraction:
        value = value if self.low is None else max(value, self.low)
        return value if self.high is None else min(value, self.high)


class Quantity(Question[Given]):
    """A private number. It is a question by itself; comparing it with a bound, or with another one, makes another question."""

    said: NumberOptions
    answers = None
    default_aim = Aim.EVERY_TABLE
    whole = False
    """Whether its answers are whole numbers."""

    @abstractmethod
    def compared(self, comparison: str, bound: object) -> Question[str]:
        """The question ``quantity <comparison> bound``; *bound* is a number, another quantity, or one plus a margin."""

    def linear(self, setting: Setting, sizes: tuple[int, ...] = ()) -> Linear | None:
        """The number as a sum over people, or ``None`` where it is not one. *sizes*: of groups that are declared public."""
        return None

    def between_groups(self, setting: Setting) -> Linear | None:
        """The same for the number of one private group, which a person can leave for another one."""
        return self.linear(replace(setting, people=None))

    def joins_groups(self, whole: Setting) -> bool:
        from optimaldp.questions.group_numbers import joins_groups

        return joins_groups(self, whole)

    @property
    def value_range(self) -> tuple[Fraction, Fraction]:
        """The ends of one person's value."""
        return Fraction(0), Fraction(1)

    generous = False
    """Whether a first step looks for the end of its range."""
    takes_levels = False
    """Whether people's own levels can weigh it, with its stated bias: means alone."""
    counts_people = False
    """Whether it is a count of people, of which a prior can be named."""
    unit_words = ""
    """What the number counts, in words: "people"."""
    in_percent: tuple[str, str] | None = None
    """Of a share: what is written behind the number and behind its error, both times 100."""

    def number_preview(self, setting: Setting, people: int | None) -> NumberPreview:
        from optimaldp.questions.number_mechanisms import previewed

        return previewed(self, setting, people)

    def groups_sentence(self, setting: Setting, groups: int) -> str:
        from optimaldp.questions.number_mechanisms import sentence_of_groups

        return sentence_of_groups(self, setting, groups)

    def half_width(self, setting: Setting, confidence: Fraction, people: int | None) -> Fraction:
        from optimaldp.questions.number_mechanisms import half_width_of

        return half_width_of(self.mechanism(with_people(setting, people)), confidence, people)

    def restored(self, answer: Any) -> Any:
        return int(answer) if self.whole else float(answer)

    def answer_words(self, answer: Any, statement: Mapping[str, Any]) -> str:
        if groups := self.group_words(statement):
            return "; ".join(f"{name}: {words}" for name, words in groups.items())
        return (
            self.number_words(statement["number"], _public_people(statement).get("n")) if "number" in statement else ""
        )

    def group_words(self, statement: Mapping[str, Any]) -> dict[str, str]:
        known, sizes = statement.get("number") or {}, _public_people(statement).get("groups") or {}
        return {name: self.number_words(one, sizes.get(name)) for name, one in known.get("groups", {}).items()}

    def number_words(self, details: Mapping[str, Any], people: int | None) -> str:
        """A number with its interval, and of how many people where that is public."""
        from optimaldp.questions import number_mechanisms as words

        exact, interval, largest = Fraction(details["exact"]), details["interval"], details["largest_error"]
        width = None
        if interval is not None:
            low, high = (Fraction(str(end)) for end in interval)
            width = max(high - exact, exact - low, Fraction(0))
        low_end, high_end = self.value_range
        influence = (Fraction(details.get("clipped_at", high_end)) - low_end) / people if people else None
        place = words.rounding_place(self, width, influence)
        shown = words.rounded(exact, place)
        counted = self.whole and self.counts_people
        if counted and people is not None:
            shown = min(shown, Fraction(people))
        moved, more = abs(shown - exact), []  # what rounding moves is part of the error that is written
        if width is not None:
            confidence = words.percent(Fraction(str(details["confidence"])))
            more.append(f"± {words.error_text(self, width + moved, place)}, {confidence}")
        if largest is not None:
            more.append(f"never off by more than {words.error_text(self, Fraction(str(largest)) + moved, place)}")
        if "clipped_at" in details:
            more.append(f"clipped at {words.number_text(Fraction(details['clipped_at']))}")
        scale, mark = (100, self.in_percent[0]) if self.in_percent else (1, "")
        text = words.number_text(shown * scale) if place is None else words.placed_text(shown * scale, place * scale)
        shown_text = f"{text} of {people:,}" if counted and people is not None else words.with_unit(self, text + mark)
        behind = f" ({'; '.join(more)})" if more else ""
        return f"About {shown_text}{behind}"

    def trust_words(self, statement: Mapping[str, Any]) -> str:
        known: Mapping[str, Any] = statement.get("number") or {"interval": None}
        parts = known.get("groups", {"": known}).values()
        # An interval under a prior or of a clipped number needs the mechanism's own sentence.
        if self.said.prior is not None or any(one["interval"] is None or "clipped_at" in one for one in parts):
            return str(statement["reliable"])
        whose = "Each group's true number is in its range" if "groups" in known else "The true number is in this range"
        # Where the range is free, nothing is recorded beside the answer to make it from.
        paid = "; a tenth of epsilon paid for the range" if any("people" in one for one in parts) else ""
        return f"{whose} {fraction_text(100 * self.said.confidence)} % of the time{paid}."

    def mechanism(self, setting: Setting) -> QuestionMechanism:
        from optimaldp.questions.number_mechanisms import mechanism_of

        return mechanism_of(self, setting)

    def truth(self, counts: Any) -> int:
        raise QuestionError("question", str(self), "has a number as its answer", "compare it with a bound")

    def flips(self, counts: Any, neighbours: Neighbours) -> Moves:
        raise QuestionError(
            "question", str(self), "has no flips", "compare it with a bound: a number changes with every person"
        )

    def __ge__(self, bound: object) -> Question[str]:
        return self._against(">=", bound)

    def __gt__(self, bound: object) -> Question[str]:
        return self._against(">", bound)

    def __le__(self, bound: object) -> Question[str]:
        return self._against("<=", bound)

    def __lt__(self, bound: object) -> Question[str]:
        return self._against("<", bound)

    def __add__(self, margin: object) -> Shifted:
        return Shifted(self, margin)

    def __sub__(self, other: object) -> Quantity[Given]:
        from optimaldp.questions.kinds.difference import difference

        return joined_text(self, "-", other) if isinstance(other, Draft) else difference(self, other)  # type: ignore[return-value]

    def __bool__(self) -> bool:
        raise QuestionError("question", str(self), "has no answer before it is released", "release it")

    def _against(self, comparison: str, bound: object) -> Question[str]:
        if said := self.said.texts():
            rule = "are options of a number, not of a comparison"
            raise QuestionError("question", ", ".join(said), rule, "leave them out, or ask for the number")
        if isinstance(bound, Draft):
            return joined_text(self, comparison, bound)  # type: ignore[return-value]
        return self.compared(comparison, bound)


class Summed(Quantity[Given]):
    """A number that is a sum over people, at least where some public numbers are known."""

    @abstractmethod
    def total(self, counts: Any) -> int:
        """The whole number z of a table. Private."""

    def sizes(self, counts: Any) -> tuple[int, ...]:
        """The sizes of the groups that are declared public, of a table."""
        return ()


class Crossed(Quantity[Given]):
    """A number that a smoothed crossing answers where it is no sum over people."""

    @abstractmethod
    def family(self, setting: Setting) -> Family:
        """Its answers, its cuts, and what one person can move."""

    def on_value_grid(self) -> Crossed[Given]:
        """The same question with answers on the grid of its values, where nothing else was said: for study."""
        return self

    @abstractmethod
    def sums(self, counts: Any) -> tuple[Fraction, Fraction]:
        """The two sums that decide a crossing. Private."""


class Paired(Quantity[Given]):
    """The difference of two numbers, each answered by itself where it is no sum over people."""

    first: Any
    second: Any
    compared_instead: ClassVar[str]
    """How the two numbers are compared."""

    def two_sides(self) -> tuple[Crossed[Any], Crossed[Any]]:
        """The two numbers as questions of their own."""
        said = replace(PLAIN, grid=self.said.grid)
        return replace(self.first, said=said), replace(self.second, said=said)

    def compared(self, comparison: str, bound: object) -> Question[str]:
        remedy = f"compare the two: {self.compared_instead}"
        raise QuestionError("question", f"{self} {comparison} {bound}", "compares a difference", remedy)

    def spec(self) -> Spec:
        return {"kind": "number", "of": "difference"}

    def __str__(self) -> str:
        # What is said about the answer stands behind the first number.
        return f"{replace(self.first, said=self.said)} - {self.second}"


def _public_people(statement: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is public of how many people there are: ``n``, or ``groups`` with the size of each."""
    known: Mapping[str, Any] = (statement.get("mechanism_document") or {}).get("people") or {}
    return known


@dataclass(frozen=True)
class Shifted:
    """A quantity plus a margin: only on the right side of a comparison."""

    quantity: Quantity
    margin: Any

    def __str__(self) -> str:
        return f"{self.quantity} + {fraction_text(read_number(self.margin, name='margin', error=QuestionError))}"


def default_gap(low: Fraction, high: Fraction, setting: Setting) -> Fraction:
    """The step of a mean's answers in a release: the least of 10, 20, 50, ... steps that is fine enough, at most a million."""
    wanted = Fraction(_LEAST_STEPS_UNKNOWN)
    if setting.people is not None:
        epsilon = Fraction(float(setting.level.epsilon)).limit_denominator(10**9)
        wanted = _STEPS_PER_ERROR * epsilon * setting.people
    steps, factors = 10, (2, Fraction(5, 2), 2)
    place = 0
    while steps < wanted and steps < _MOST_ANSWERS:
        steps = int(steps * factors[place % 3])
        place += 1
    return (high - low) / min(steps, _MOST_ANSWERS)


def chosen_gap(low: Fraction, high: Fraction, options: NumberOptions, setting: Setting) -> Fraction:
    """The step of a mean's answers: what was said, or what public numbers choose."""
    if options.grid is None:
        return default_gap(low, high, setting)
    if len(options.grid) == 3 and options.grid[:2] != (low, high):
        rule = f"does not go from {fraction_text(low)} to {fraction_text(high)}, the ends of the range"
        raise QuestionError("grid", [*map(fraction_text, options.grid)], rule, "write the step alone: grid=0.01")
    gap = options.grid[-1]
    if (high - low) % gap or (high - low) / gap > _MOST_ANSWERS:
        rule = "does not divide the range into at most a million steps"
        raise QuestionError("grid", fraction_text(gap), rule, "choose a step that does")
    return gap


def with_people(setting: Setting, people: int | None) -> Setting:
    """A setting with a supposed number of people, where it is public."""
    return replace(setting, people=people) if setting.neighbours is Neighbours.SUBSTITUTION else setting


def strictest(setting: Setting) -> ApproximateDP:
    """The level at which everybody is answered: the strictest one that somebody has."""
    own = setting.level
    return approximate(min(own.epsilon, setting.levels[0][0]), own.delta) if setting.levels else own


def charged_delta(options: NumberOptions, at: ApproximateDP, linear: Linear | None) -> Fraction:
    """The delta that is really used. For a count a small one buys next to nothing: it is not charged unless it is asked for."""
    if options.largest_error and not at.delta:
        remedy = "name a delta, for example delta=1e-6: only delta buys an end of the error"
        raise QuestionError("largest_error", "true", "needs a delta", remedy)
    small = linear is not None and linear.sensitivity == 1 and at.delta <= _NO_GAIN * _below(at)
    return Fraction(0) if small and not options.largest_error and not at.epsilon.is_zero else at.delta


def _below(at: ApproximateDP) -> Fraction:
    """A rational next to epsilon: on which side of it a delta lies is a rule of thumb, and the document says the result."""
    return Fraction(float(at.epsilon))


Chance = Fraction | Decimal
Document = Mapping[str, Any]
