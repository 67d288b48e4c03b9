"""What a release tells, in bits (paper 004): the channel of the mechanism that was drawn, and its leakage beside the theorems'
bounds.

Everything is computed from public numbers; no table is read. The channel has one input for each table on a line: so many people
are in the first of two opposite places (yes and no, two options, two neighbouring bins), everybody else is in the second. From
each input to the next one record changes. Where people have levels of their own, those who go first are spread evenly over the
levels. Of a number the two places are the lowest and the highest value that one person can add.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from optimaldp.asking.published import request_of
from optimaldp.asking.verifying import settings_of
from optimaldp.channels import Channel, database_bound, individual_bound
from optimaldp.errors import InputError, NoMarginError
from optimaldp.laws.law import Setting, Table, read_aim
from optimaldp.laws.number_noise import NoiseLaw
from optimaldp.privacy import Epsilon, Neighbours
from optimaldp.privacy.balls import ball, precision
from optimaldp.privacy.numbers import first_where
from optimaldp.questions.base import as_question
from optimaldp.questions.mechanism import QuestionMechanism
from optimaldp.questions.number_mechanisms import NoisyNumber, plain_number
from optimaldp.results import Result

_MOST_INPUTS = 401  # tables of the line: beyond so many those nearest to where the answer changes
_MOST_EXACT = 64  # people up to which rationals stay short
_UNKNOWN_SIZE = 1000  # people where their number is not public or not given
_MOST_NUMBERS, _MOST_ENTRIES = 50_000, 4 * 10**6  # of a number's channel: its outputs, and all of it
_LEFT_OUT = Fraction(1, 2**60)  # of the law of a number: it goes to the two ends of what is listed
_BITS = 160
_REMEDY = "ask for the leakage of a yes or no, a comparison, a winner, a quantile, a count or a sum"


@dataclass(frozen=True, repr=False)
class Leakage(Result):
    """How useful an answer is and how much it tells, in bits, with what no private mechanism exceeds beside it."""

    channel: Channel
    utility: float
    """U(Y, Z): the chance that the answer is the true one, every table of the channel being equally likely."""
    min_entropy_leakage: float
    """About which of these tables it is, in bits."""
    individual_bits: float
    """About one person's record, in bits, when everybody else's is known: at the worst table of the channel."""
    database_bound: float | None
    """Theorem 1: the most about all records together; ``None`` where delta is used, of which the theorem says nothing."""
    individual_bound: float | None
    """The tight form of Theorem 2 for one person with two possible records."""
    individual_bound_of_any: float | None
    """Theorem 2 as printed, log2(e^epsilon): for one person with any number of possible records."""
    words: str

    def summary(self) -> str:
        one = f"{self.individual_bits:.3g} bits about one person"
        return f"Leakage(utility {self.utility:.4g}, {self.min_entropy_leakage:.3g} bits in all, {one})"

    def details(self) -> list[tuple[str, str]]:
        bounds = [("at most about one person", self.individual_bound), ("at most about all", self.database_bound)]
        return [("tables", self.words), *((name, f"{bits:.4g} bits") for name, bits in bounds if bits is not None)]

    def to_document(self) -> dict[str, Any]:
        return {
            "utility": self.utility,
            "min_entropy_leakage": self.min_entropy_leakage,
            "individual_bits": self.individual_bits,
            "bounds": {
                "theorem_1": self.database_bound,
                "theorem_2": self.individual_bound_of_any,
                "theorem_2_tight": self.individual_bound,
            },
            "tables": self.words,
            "channel": self.channel.to_document(),
        }


def mechanism_of_document(document: Mapping[str, Any], group: str | None = None) -> QuestionMechanism:
    """The mechanism that a release was drawn from, by its document alone; of several groups the one that is named."""
    request, published = request_of(document), document.get("mechanism")
    if not isinstance(published, Mapping):
        raise InputError("mechanism", published, "is missing, so its law cannot be computed again", "release it anew")
    settings = settings_of(request, published)
    names: list[str | None] = [None] if request.groups is None else [*request.groups.names]
    wanted = names[0] if group is None else group
    if wanted not in names:
        raise InputError("group", group, "is not a group of this release", f"name one of {', '.join(map(str, names))}")
    return request.question.published_mechanism(settings[names.index(wanted)], published)


def mechanism_of_preview(shown: Any) -> QuestionMechanism:
    """The mechanism that a preview is about."""
    question = as_question(shown.question)
    sizes = shown.more.get("level_sizes") or {}
    levels = tuple(sorted((Epsilon.read(own), people) for own, people in sizes.items()))
    people = shown.persons if shown.neighbours is Neighbours.SUBSTITUTION else None
    aim = read_aim(shown.more.get("aim", "typical"))
    return question.mechanism(Setting(shown.level, shown.neighbours, people, levels, aim))


def channel_of(mechanism: QuestionMechanism) -> Channel:
    """The channel from tables on a line to the mechanism's own answers."""
    return _line(mechanism).channel()


def leakage_of(mechanism: QuestionMechanism) -> Leakage:
    """The leakage of a mechanism along a line of tables, beside the bounds of 004."""
    line = _line(mechanism)
    channel = line.channel()
    rows = channel.array
    truth = np.array([line.truth(count) for count in line.counts])
    steps = np.maximum(rows[1:], rows[:-1]).sum(axis=1)
    level = mechanism.setting.level
    private = not (mechanism.uses_delta and level.delta) and not level.epsilon.infinite
    return Leakage(
        channel,
        float(rows[np.arange(len(rows)), truth].mean()),
        channel.min_entropy_leakage(),
        math.log2(float(steps.max(initial=1.0))),
        database_bound(line.people, max(2, mechanism.question.cells), level.epsilon).bits if private else None,
        individual_bound(2, level.epsilon).bits if private else None,
        float(level.epsilon) * math.log2(math.e) if private else None,
        line.words,
    )


def _line(mechanism: QuestionMechanism) -> _Line:
    return _NumberLine(mechanism) if isinstance(mechanism, NoisyNumber) else _Line(mechanism)


class _Line:
    """Tables from everybody in the second place to everybody in the first one."""

    def __init__(self, mechanism: QuestionMechanism) -> None:
        self.mechanism, self.question = mechanism, mechanism.question
        places = self._ends()
        if places is None:
            raise NoMarginError("question", str(self.question), "has no line of tables to make a channel of", _REMEDY)
        step = 1 if self.question.among is None else 2  # a cell says whether a person is asked, too
        self.places = places[0] * step, places[1] * step
        self.people = mechanism.setting.people or _UNKNOWN_SIZE
        self._moves = self._order() if mechanism.setting.levels else None

    def _ends(self) -> tuple[int, int] | None:
        """The two places, by the cells of the first reading."""
        listed = self.mechanism.listed and self.question.answers is not None
        places = self.question.opposite_places() if listed else None
        return None if places is None else places[:2]

    def channel(self) -> Channel:
        counts = self.counts
        with precision(_BITS):
            rows = [self.mechanism.law(self.table(count)).probabilities() for count in counts]
            exact = self.people <= _MOST_EXACT and all(isinstance(p, (Fraction, int)) for row in rows for p in row)
            if exact:
                return Channel(rows, counts, outputs=list(self.mechanism.answers))
            floats = np.array([[max(0.0, float(ball(p).mid())) for p in row] for row in rows])
        return Channel(floats / floats.sum(axis=1, keepdims=True), counts, outputs=list(self.mechanism.answers))

    def truth(self, count: int) -> int:
        return self.question.truth(self.question.fold(self.table(count).cells))

    def table(self, count: int) -> Table:
        cells = self._cells(count, self.people - count)
        if self._moves is None:
            return Table(cells)
        gone = np.bincount(self._moves[:count], minlength=len(self.mechanism.setting.levels)).tolist()
        own = zip(self.mechanism.setting.levels, gone)
        return Table(cells, tuple((epsilon, self._cells(first, size - first)) for (epsilon, size), first in own))

    def _cells(self, first: int, second: int) -> dict[int, int]:
        return {cell: people for cell, people in zip(self.places, (first, second)) if people}

    def _order(self) -> Any:
        """Whose turn it is to move: of each level evenly, one person at a time."""
        sizes = [size for _, size in self.mechanism.setting.levels]
        turns = np.concatenate([(np.arange(size) + 0.5) / max(1, size) for size in sizes])
        return np.repeat(np.arange(len(sizes)), sizes)[np.argsort(turns, kind="stable")]

    @cached_property
    def counts(self) -> list[int]:
        """How many people are in the first place, for each input of the channel."""
        if self.people < _MOST_INPUTS:
            return list(range(self.people + 1))
        start = self.truth(0)
        changed = first_where(lambda moved: self.truth(moved) != start, 1, self.people)
        first = min(max(0, changed - _MOST_INPUTS // 2), self.people + 1 - _MOST_INPUTS)
        return list(range(first, first + _MOST_INPUTS))

    @property
    def words(self) -> str:
        some = "all" if self.people < _MOST_INPUTS else f"the {_MOST_INPUTS} nearest to where the answer changes"
        return f"tables of {self.people:,} people in two places, {some} of them equally likely"


class _NumberLine(_Line):
    """The same for a number with noise: the channel from the number itself to the number that is shown."""

    mechanism: NoisyNumber

    def _ends(self) -> tuple[int, int] | None:
        of = self.question.spec()["of"] if isinstance(self.mechanism.noise(), NoiseLaw) else None  # else of many groups
        if of in ("count", "share"):
            return 0, 1
        # The cells of a value are its grid in rising order, then a place for no value.
        return (self.question.readings[0].size - 2, 0) if of in ("sum", "mean") else None

    def channel(self) -> Channel:
        outputs = list(map(plain_number, self._outputs))
        if self.people <= _MOST_EXACT and all(isinstance(chance, (Fraction, int)) for chance in self._chances):
            return Channel(list(map(self._row, self.counts)), self.counts, outputs=outputs)
        chances, rows = np.array(list(map(float, self._chances))), []
        shown = np.array([self._places[self._shown(steps)] for steps in self._recorded])
        for count in self.counts:
            start = self._total(count) - self._reach - self._recorded.start
            rows.append(np.bincount(shown[start : start + len(chances)], chances, minlength=len(outputs)))
        made = np.array(rows)
        return Channel(made / made.sum(axis=1, keepdims=True), self.counts, outputs=outputs)

    def truth(self, count: int) -> int:
        """The place of the true number among the outputs."""
        value = self._linear.value(self._total(count))
        after = min(bisect_left(self._outputs, value), len(self._outputs) - 1)
        return min((max(0, after - 1), after), key=lambda place: abs(self._outputs[place] - value))

    def _total(self, count: int) -> int:
        question: Any = self.question
        return int(question.total(question.fold(self.table(count).cells)))

    def _row(self, count: int) -> list[Fraction]:
        """The probability of every number that can be shown, exactly."""
        row = [Fraction(0)] * len(self._outputs)
        for place, chance in enumerate(self._chances):
            row[self._places[self._shown(self._total(count) - self._reach + place)]] += chance
        return row

    def _shown(self, steps: int) -> Fraction:
        """The number that is shown where so many steps were recorded."""
        known = self._known.get(steps)
        if known is None:
            question: Any = self.question
            recorded, said = self._linear.value(steps), question.said
            known = recorded if said.output == "unbiased" else self._linear.clamped(recorded)
            if said.prior is not None:
                known = Fraction(self.mechanism.details_of(recorded, {})["exact"])
            self._known[steps] = known
        return known

    @cached_property
    def _known(self) -> dict[int, Fraction]:
        return {}

    @cached_property
    def _linear(self) -> Any:
        return self.mechanism.linear()

    @cached_property
    def _chances(self) -> list[Any]:
        """The law of the noise up to its reach, whose ends get the tails; all of a small table is within reach."""
        law = self.mechanism.noise()
        right = [*(law.probability(place) for place in range(self._reach)), law.tail(self._reach - 1)]
        return [*right[:0:-1], *right]

    @cached_property
    def _reach(self) -> int:
        law = self.mechanism.noise()
        far = law.half_width(1 - _LEFT_OUT) if law.largest is None else law.largest
        return max(1, far, law.sensitivity * self.people if self.people <= _MOST_EXACT else 0)

    @cached_property
    def _recorded(self) -> range:
        """The numbers that can be recorded, in steps."""
        totals = [self._total(count) for count in (self.counts[0], self.counts[-1])]
        return range(min(totals) - self._reach, max(totals) + self._reach + 1)

    @cached_property
    def _outputs(self) -> list[Fraction]:
        return sorted({self._shown(steps) for steps in self._recorded})

    @cached_property
    def _places(self) -> dict[Fraction, int]:
        return {value: place for place, value in enumerate(self._outputs)}

    @cached_property
    def counts(self) -> list[int]:
        """As many tables as keep the channel small, in the middle of the line."""
        sensitivity, wide, size = (
            self.mechanism.noise().sensitivity,
            2 * self._reach,
            min(self.people + 1, _MOST_INPUTS),
        )
        while (numbers := size * sensitivity + wide) > _MOST_NUMBERS or size * numbers > _MOST_ENTRIES:
            size //= 2
            if size < 2:
                rule = f"has some {wide:,} answers for each table, too many for a channel"
                raise NoMarginError("question", str(self.question), rule, "name a coarser step")
        first = (self.people + 1 - size) // 2
        return list(range(first, first + size))

    @property
    def words(self) -> str:
        some = "all" if len(self.counts) > self.people else f"the {len(self.counts)} in the middle"
        return f"tables of {self.people:,} people at the two ends of what one person can add, {some} of them equally likely"
