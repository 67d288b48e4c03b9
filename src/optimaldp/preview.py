"""How often will the answer be right? By margin, next to other mechanisms, before any data is read and without spending.

The margin is public because it is hypothetical: "if 13 or more persons would have to answer differently, it says the truth with
95 percent". The margin of the actual table is private, and nothing here looks at a table.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from optimaldp.errors import InputError, QuestionError
from optimaldp.laws.chain import Chain
from optimaldp.privacy import ApproximateDP, Neighbours, read_neighbours, read_probability
from optimaldp.privacy.balls import Ball, ball, precision
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.base import Question, as_question
from optimaldp.questions.choices import Histogram, Winner
from optimaldp.questions.quantiles import Quantile
from optimaldp.questions.rivals import Rival, rivals, winner_counts, winner_rivals
from optimaldp.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = 25  # margins in a table: 1, 2, 3, ... then growing
_MOST = 10**12  # no table has more persons

_BITS = 192

Series = tuple[str, tuple[float, ...]]
Error = Callable[[int], Ball]


@dataclass(frozen=True, repr=False)
class Preview(Result):
    """The probability of a wrong answer by margin, for ours and for the usual mechanisms at the same level."""

    question: str
    level: ApproximateDP
    neighbours: Neighbours
    persons: int | None
    margins: tuple[int, ...]
    series: tuple[Series, ...]
    """(name, error at each margin); ours first."""
    reliable: tuple[tuple[str, int | None], ...]
    """From which margin on the error of ours is at most 5 %, 1 % and 0; ``None`` where no margin is enough."""
    notes: tuple[str, ...] = field(default=())

    def summary(self) -> str:
        near = next(
            (f"{name} from margin {margin}" for name, margin in self.reliable if margin is not None), "never sure"
        )
        return f"Preview({self.question}, {self.level}, {self.neighbours}, error {near})"

    def to_document(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "epsilon": str(self.level.epsilon),
            "delta": fraction_text(self.level.delta),
            "neighbours": str(self.neighbours),
            "persons": self.persons,
            "margin": list(self.margins),
            "error": {name: list(errors) for name, errors in self.series},
            "reliable_from": dict(self.reliable),
            "notes": list(self.notes),
        }

    def error(self, margin: int) -> float:
        """The probability of a wrong answer of ours at one of the listed margins."""
        return self.series[0][1][self.margins.index(margin)]

    def sentences(self) -> list[str]:
        """What the numbers mean, in words."""
        said = [f"{_RIGHT[name]} {self._margin_words(m)}" for name, m in self.reliable if m is not None]
        return said or ["at this level the answer is not reliable at any margin"]

    def _margin_words(self, margin: int) -> str:
        if not self.persons:
            return f"from a margin of {margin}"
        share = 100 * margin / self.persons
        return f"from a margin of {margin} ({share:.{2 if share < 99.5 else 3}g} % of {self.persons})"

    def rows(self) -> list[list[str]]:
        """The table as text: margin, then one error for each mechanism."""
        return [
            [str(margin), *(f"{errors[i]:.3g}" for _, errors in self.series)] for i, margin in enumerate(self.margins)
        ]

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("margin", *(name for name, _ in self.series)))
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in self.rows())
        said = "".join(f"<li>{html.escape(text)}</li>" for text in (*self.sentences(), *self.notes))
        title = f"<strong>{html.escape(self.question)}, {html.escape(str(self.level))}, {self.neighbours}</strong>"
        return f"<div>{title}<ul>{said}</ul><table><tr>{head}</tr>{body}</table></div>"

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=f"{self.question}, {self.level}", caption="; ".join(self.sentences()))
        table.add_column("margin", justify="right")
        for name, _ in self.series:
            table.add_column(name, justify="right")
        for row in self.rows():
            table.add_row(*row)
        return table

    def plot(self) -> Figure:
        """The same as a picture: error by margin, on a logarithmic scale."""
        from optimaldp.plots.preview import draw_preview

        return draw_preview(self)


def preview(
    question: Question | str,
    *,
    epsilon: Any,
    delta: Any = 0,
    n: int | None = None,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
    margins: Sequence[int] | None = None,
) -> Preview:
    """How often the private answer will be wrong, by margin. Spends nothing and reads nothing but public numbers.

    The margin is the number of flips: the least number of persons who would have to be replaced (or appear, or disappear) to
    change the true answer. *n*, the number of persons, is only used to write margins as shares.

    >>> shown = preview("majority(smokes = 'yes')", epsilon=1, n=1000)
    >>> shown.reliable
    (('at most 5 %', 3), ('at most 1 %', 5), ('0', None))
    """
    from optimaldp.release import read_level

    asked, bound, relation = as_question(question), read_level(epsilon, delta), read_neighbours(neighbours)
    persons = None if n is None else _read_persons(n)
    ours = _ours(asked, bound, relation)
    reliable = tuple((name, least_margin(ours, limit)) for name, limit in _LIMITS)
    shown = _read_margins(margins) if margins is not None else _margins(reliable, persons)
    compared = [Rival("optimaldp", "", lambda margin: seen(ours(margin))), *_others(asked, bound, relation)]
    series = tuple((rival.name, tuple(rival.error(margin) for margin in shown)) for rival in compared)
    return Preview(str(asked), bound, relation, persons, shown, series, reliable, _notes(asked))


_RIGHT = {"at most 5 %": "right in 95 % of cases", "at most 1 %": "in 99 %", "0": "always"}
_LIMITS = (("at most 5 %", Fraction(5, 100)), ("at most 1 %", Fraction(1, 100)), ("0", Fraction(0)))


def _read_persons(n: Any) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or not 0 < n <= _MOST:
        raise InputError("n", n, "is not a number of persons", "give a positive whole number")
    return n


def _read_margins(margins: Sequence[int]) -> tuple[int, ...]:
    given = tuple(margins)
    if not given or any(isinstance(m, bool) or not isinstance(m, int) or not 0 < m <= _MOST for m in given):
        raise InputError("margins", list(given), "is not a list of positive whole numbers")
    return given


def _ours(question: Question, level: ApproximateDP, neighbours: Neighbours) -> Error:
    """Our error by margin, enclosed."""
    answers = _answers(question)
    if isinstance(question, Winner):
        return _winner_error(level, neighbours, answers)
    chain = Chain(level, answers)

    def error(margin: int) -> Ball:
        with precision(_BITS):
            return chain.error(margin - 1)

    return error


def _answers(question: Question) -> int:
    if isinstance(question, Histogram):
        raise QuestionError("question", str(question), "has no margin", "its expected error: optimaldp.histograms")
    if question.answers is None:
        remedy = "a preview reads no table: write the options out"
        raise QuestionError("options", None, f"is needed by {question}", remedy)
    return len(question.answers)


def _others(question: Question, level: ApproximateDP, neighbours: Neighbours) -> list[Rival]:
    answers = _answers(question)
    if isinstance(question, Winner):
        return winner_rivals(level, neighbours, answers) if answers > 1 else []
    return rivals(question, level, neighbours, answers)


def _notes(question: Question) -> tuple[str, ...]:
    if isinstance(question, Winner):
        return ("for the winner: two options lead, nobody else has a vote",)
    if isinstance(question, Quantile):
        return ("ours falls like e^(-epsilon margin), the exponential mechanism like e^(-epsilon margin / 2)",)
    return ()


def _winner_error(level: ApproximateDP, neighbours: Neighbours, options: int) -> Error:
    from optimaldp.laws.winner import winner_claim
    from optimaldp.laws.winner.distribution import enclosed_probabilities

    claim = winner_claim(options, level, neighbours)

    def error(margin: int) -> Ball:
        if options == 1:
            return Ball(0)
        with precision(_BITS):
            row = enclosed_probabilities(winner_counts(options, margin, neighbours), claim)
            return sum(row[1:], start=Ball(0))

    return error


def seen(error: Ball) -> float:
    """A float to look at."""
    return max(0.0, float(error.mid()))


def least_margin(error: Error, limit: Fraction) -> int | None:
    """The least margin from which on the error is at most *limit*, or ``None``: errors never rise with the margin."""

    def enough(margin: int) -> bool:
        return bool(error(margin) <= ball(limit))

    high = 1
    while not enough(high):
        high *= 2
        if high > _MOST:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _margins(reliable: Sequence[tuple[str, int | None]], persons: int | None) -> tuple[int, ...]:
    """Margins worth showing: up to where the last limit is met, a little beyond, never beyond half of all persons."""
    known = [margin for _, margin in reliable if margin is not None]
    last = max(known, default=_ROWS) + 2
    last = min(last, persons) if persons else last
    if last <= _ROWS:
        return tuple(range(1, last + 1))
    growing = (round(last ** (i / (_ROWS - 1))) for i in range(_ROWS))
    return tuple(sorted(set(growing)))


def epsilon_for(
    question: Question | str,
    *,
    accuracy: Any = Fraction(95, 100),
    n: int,
    margin: Any = Fraction(1, 100),
    delta: Any = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> float:
    """The least epsilon that makes the answer right with probability *accuracy* when the margin is at least that share of *n*.

    Rounded up to three digits. "Which epsilon makes me 95 % sure when the margin is at least 1 % of n?"

    >>> epsilon_for("majority(smokes = 'yes')", n=1000)
    0.242
    """
    from optimaldp.release import read_level

    asked, relation, persons = as_question(question), read_neighbours(neighbours), _read_persons(n)
    wanted = 1 - read_probability(accuracy, name="accuracy")
    flips = max(1, math.floor(read_probability(margin, name="margin") * persons))

    def good(epsilon: Fraction) -> bool:
        return bool(_ours(asked, read_level(epsilon, delta), relation)(flips) <= ball(wanted))

    low, high = Fraction(0), Fraction(1, 1000)
    while not good(high):
        low, high = high, 2 * high
        if high > 200:
            raise InputError("accuracy", accuracy, "cannot be reached at this margin", "ask for less, or allow a delta")
    while high - low > high / 2000:
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return _up_to_three_digits(high)


def _up_to_three_digits(number: Fraction) -> float:
    places = 2 - math.floor(math.log10(float(number)))
    scale = Fraction(10) ** places
    return float(math.ceil(number * scale) / scale)
