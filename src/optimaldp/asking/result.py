"""A release: the private answer, who is protected and how well, how reliable it is, and the proof behind it."""

from __future__ import annotations

import csv
import datetime
import html
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from optimaldp import __version__
from optimaldp.errors import InputError
from optimaldp.extras import requiring
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import precision
from optimaldp.privacy.numbers import fraction_text
from optimaldp.privacy.units import unit_columns
from optimaldp.questions.words import for_each
from optimaldp.results import Given, Result, html_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optimaldp.asking.leakage import Leakage
    from optimaldp.channels import Channel
    from optimaldp.histograms.margins import CrossTable
    from optimaldp.histograms.release import HistogramRelease
    from optimaldp.ledger import Remaining
    from optimaldp.privacy.units import Limited
    from optimaldp.questions.base import Question
    from optimaldp.tables.tally import Edge

Statement = dict[str, Any]


class About:
    """What a release says of itself: its statement, everything that was asked, and warnings. All of it is public."""

    def __init__(self, statement: Statement, meaning: dict[str, Any], warnings: tuple[str, ...]) -> None:
        self.statement, self.meaning, self.warnings = statement, meaning, warnings

    def __reduce__(self) -> tuple[type[About], tuple[Any, ...]]:
        """What is kept of it elsewhere: what it says, not what makes it."""
        return About, (self.statement, self.meaning, self.warnings)


Value = TypeVar("Value")


class OfNumber(Generic[Value]):
    """What a release of a number says beside its answer: one value, or one for each group."""

    def __init__(self, read: Callable[[Mapping[str, Any]], Any]) -> None:
        self._read = read

    @overload
    def __get__(self, release: None, owner: type[Release]) -> OfNumber[Value]: ...

    @overload
    def __get__(self, release: Release[float], owner: type[Release]) -> Value: ...

    @overload
    def __get__(self, release: Release[Mapping[str, float]], owner: type[Release]) -> dict[str, Value]: ...

    @overload
    def __get__(self, release: Release, owner: type[Release]) -> Value | dict[str, Value]: ...

    def __get__(self, release: Release | None, owner: type[Release]) -> OfNumber[Value] | Value | dict[str, Value]:
        if release is None:
            return self
        known = release.statement.get("number")
        if known is None:
            raise InputError("question", release.question, "does not have a number as its answer", "use .answer")
        if "groups" in known:
            return {name: self._read(one) for name, one in known["groups"].items()}
        value: Value = self._read(known)
        return value


@dataclass(frozen=True, repr=False)
class Release(Result, Generic[Given]):
    """A private answer that may be published, with what is proven about it. Nothing else in it was computed from the data.

    >>> import pyarrow
    >>> from optimaldp import release
    >>> table = pyarrow.table({"smokes": ["yes"] * 10 + ["no"] * 990})
    >>> release(table, "share(smokes = 'yes') >= 0.3", epsilon=1, delta=1e-6).answer
    'no'
    """

    answer: Given
    """What was drawn, of the type that the question says: ``str``, ``int``, ``float``, a list; by group a ``dict`` of these."""
    asked: Question
    level: ApproximateDP
    neighbours: Neighbours
    about: About = field(compare=False)
    """What it says of itself, written when somebody looks at it: a pipe that takes the answer alone never asks for it."""
    spent: ApproximateDP | None = None
    """What was really charged: without a delta that was not used; nothing for a recorded answer."""
    recorded: bool = False
    """Whether the answer was already in the ledger, so that asking again cost nothing."""
    time: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    """When it was made, to the second: when a question was asked is public."""
    left: Remaining | None = field(default=None, compare=False)
    """What is left of the budget after this answer; ``None`` without a ledger. It is not part of a document."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a careful colleague would say: by names, types and public numbers alone."""
        return self.about.warnings

    @cached_property
    def question(self) -> str:
        """The question as it is written."""
        return str(self.asked)

    @property
    def meaning(self) -> dict[str, Any]:
        """Everything that was asked beside the question, by the keys of a document, and the dataset's name."""
        return self.about.meaning

    @property
    def statement(self) -> Statement:
        """What is promised and proven, in plain words and numbers: all of it public."""
        return self.about.statement

    @property
    def certificate(self) -> Statement:
        """The statement under the name that it has in files."""
        return self.statement

    @property
    def _structure(self) -> Any:
        """The answer where it is more than a text: a bin, counts, one answer for each group."""
        return self.answer

    @property
    def low(self) -> Edge:
        """The lower edge of the bin that was answered."""
        edge: Edge = self._structure.low
        return edge

    @property
    def high(self) -> Edge:
        """The upper edge of the bin that was answered."""
        edge: Edge = self._structure.high
        return edge

    def summary(self) -> str:
        many = isinstance(self.answer, dict) and len(self.answer) > _MOST_SHOWN
        shown = f"{len(self._structure):,} answers" if many else repr(self.answer)
        return f"Release({shown}, {self.level}, {self.neighbours}, certified)"

    def to_document(self) -> dict[str, Any]:
        spent = self.spent or self.level
        return {
            "format": "optimaldp release 2",
            "answer": self.answer,
            "question": self.question,
            "epsilon": str(self.level.epsilon),
            "delta": fraction_text(self.level.delta),
            "neighbours": str(self.neighbours),
            "certificate": {name: value for name, value in self.statement.items() if name not in _APART},
            **{name: value for name, value in self.meaning.items() if name not in _SAID_FIRST},
            "time": self.time,
            "version": __version__,
            "spent": {"epsilon": str(spent.epsilon), "delta": fraction_text(spent.delta)},
            "mechanism": self.statement.get("mechanism_document"),
            **{name: self.statement[name] for name in ("histogram",) if name in self.statement},
            **self._beside_a_number(),
        }

    def _beside_a_number(self) -> dict[str, Any]:
        """Of a number: its interval and the like, beside the answer; of one for each group an object of such objects."""
        known = self.statement.get("number", {})
        if "groups" not in known:
            return dict(known)
        return {"answers": {name: {"answer": self._structure[name], **one} for name, one in known["groups"].items()}}

    interval = OfNumber[tuple[float, float] | None](
        lambda one: None if one["interval"] is None else tuple(one["interval"])
    )
    """Of a number: (low, high), or ``None`` where there is no interval; of several groups one for each."""
    unbiased = OfNumber[float](lambda one: one["unbiased"])
    """Of a number: the recorded one, before it was moved into what is possible: for totals and further arithmetic."""
    exact = OfNumber[Fraction](lambda one: Fraction(one["exact"]))
    """Of a number: the exact answer, a ``Fraction``."""

    def channel(self, *, group: str | None = None) -> Channel:
        """The channel of the mechanism that was drawn, from tables on a line to its own answers (paper 004); reads no data.

        Of a release by group, *group* names whose mechanism is meant; the first one where none is named.
        """
        from optimaldp.asking.leakage import channel_of, mechanism_of_document

        return channel_of(mechanism_of_document(self.to_document(), group))

    def leakage(self, *, group: str | None = None) -> Leakage:
        """How useful the answer is and how much it tells in bits, beside the bounds of 004; reads no data."""
        from optimaldp.asking.leakage import leakage_of, mechanism_of_document

        return leakage_of(mechanism_of_document(self.to_document(), group))

    def words(self) -> str:
        """The question in words, with its groups."""
        said, by = self.asked.words(), self.meaning.get("by")
        return said if by is None else for_each(unit_columns(by), said)

    def said(self) -> str:
        """The answer in words."""
        return self.asked.answer_words(self.answer, self.statement) or _answer_sentence(self.answer)

    def sentences(self) -> list[str]:
        """What to know: the answer, who is protected, what epsilon means, what is left, how far to trust it, who was counted."""
        return [text for _, text in self._told()]

    def _told(self) -> list[tuple[str, str]]:
        budget = [] if self.left is None else [("budget", self.left.words())]
        neighbours = self.statement.get("neighbours") or self.neighbours.words
        protected, means, *others = facts(self.asked, {**self.statement, "neighbours": neighbours})
        return [("answer", self.said()), protected, means, *budget, *others]

    def proof(self) -> list[tuple[str, str]]:
        """What was checked exactly, and what rests on which theorem."""
        skip = ("protected", "epsilon_means", "reliable", "notes", *_APART)
        return [(name, _in_words(value)) for name, value in self.statement.items() if name not in skip]

    def details(self) -> list[tuple[str, str]]:
        known = self._told()
        return [("question", self.question), *(known[1:] if self.crossed else known), *self.proof()]

    def plot(self, path: str | Path | None = None) -> Figure:
        """How reliable the answer is, by margin; of counts, the counts themselves. Also written to *path* if one is given."""
        from optimaldp.plots.releases import draw_release
        from optimaldp.plots.style import drawn

        return drawn(draw_release(self), path)

    def histogram(self, group: str | None = None) -> HistogramRelease:
        """The counts of a histogram with all that is private already: noisy table, intervals, expected error, sums of bins.

        What :func:`optimaldp.histograms.private_histogram` gives, for a table, a ledger and a unit. *group* names one of several.
        """
        from optimaldp.questions.noisy_counts import restored_histogram

        details = self.statement.get("histogram")
        if group is None:
            return restored_histogram(self._structure, details)
        return restored_histogram(self._structure[group], (details or {}).get("groups", {}).get(group))

    def crosstab(self) -> CrossTable:
        """The counts of a cross table with margins, intervals and notes: to be printed, saved or drawn."""
        return self.asked.cross_table(self._structure, self.statement.get("histogram") or {})

    def answers(self) -> dict[str, Any]:
        """The answers by name: one for each group, option or rank; of a list by place; a single answer is called "answer"."""
        if isinstance(self.answer, list):
            return {str(place): value for place, value in enumerate(self.answer, start=1)}
        return dict(self.answer) if isinstance(self.answer, dict) else {"answer": self.answer}

    def intervals(self) -> dict[str, tuple[Any, Any] | None]:
        """The interval of each of :meth:`answers`, for numbers and counts; ``None`` where an answer has none."""
        if "number" in self.statement:
            known = self.interval
            return known if isinstance(known, dict) else {"answer": known}
        if isinstance(self.answer, dict) and "noisy" in (self.statement.get("histogram") or {}):
            return dict(zip(self.answer, self.histogram().intervals()))
        return dict.fromkeys(self.answers())

    @property
    def crossed(self) -> bool:
        """Whether the answer is a cross table."""
        return isinstance(self.answer, list) and "noisy" in (self.statement.get("histogram") or {})

    def to_frame(self) -> Any:
        """One row for each answer, as a pandas table: numbers and counts with the ends of their intervals."""
        if self.crossed:
            return self.crosstab().to_frame()
        with requiring("pandas"):
            import pandas

        frame = pandas.DataFrame({"name": list(self.answers()), "value": list(self.answers().values())})
        columns = unit_columns(self.meaning.get("by"))
        if len(columns) > 1:  # a group of several columns is one value of each
            for place, values in enumerate(zip(*product(*self.meaning["groups"]))):
                frame.insert(place, columns[place], values)
        intervals = self.intervals()
        if "number" in self.statement or any(ends is not None for ends in intervals.values()):
            frame["low"], frame["high"] = (
                [None if ends is None else ends[side] for ends in intervals.values()] for side in (0, 1)
            )
        return frame

    def to_csv(self) -> str:
        """One line for each answer: its name, the value. Of a cross table, one for each cell and each margin."""
        if self.crossed:
            return self.crosstab().to_csv()
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([("name", "value"), *self.answers().items()])
        return written.getvalue()

    def _writers(self) -> dict[str, Callable[[], str]]:
        return super()._writers() | {".csv": self.to_csv}

    def _repr_html_(self) -> str:
        told = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
        cautions = f"<ul style='{_CAUTION}'>{told}</ul>" if told else ""
        return f"<div>{cautions}{self._shown()}{super()._repr_html_()}</div>"

    def _shown(self) -> str:
        """The answer for a notebook: a number with its interval, counts and numbers by group as bars, a cross table."""
        if self.crossed:
            return self.crosstab()._repr_html_()
        if not isinstance(self.answer, dict):
            return f"<p style='font-size:1.4em;margin:.2em 0'>{html.escape(self.said())}</p>"
        values = list(self.answer.values())
        if values and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            if words := self.asked.group_words(self.statement):
                return html_bars(list(self.answer), values, texts=list(words.values()))
            notes = ["" if ends is None else f"{ends[0]:g} to {ends[1]:g}" for ends in self.intervals().values()]
            return html_bars(list(self.answer), values, notes)
        return _answer_html(self.answer)


def facts(asked: Question, statement: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a statement says to a reader: who is protected, what epsilon means, how far to trust the answer, who was counted."""
    neighbours = f"; {statement['neighbours']}" if "neighbours" in statement else ""
    told = [
        ("protected", f"Protected: {statement['protected']}{neighbours}."),
        ("what epsilon means", statement["epsilon_means"]),
        ("reliable", asked.trust_words(statement)),
    ]
    notes = " ".join(f"{note[:1].upper()}{note[1:].removesuffix('.')}." for note in statement.get("notes") or ())
    return [*told, *([("counted", notes)] if notes else [])]


_MOST_SHOWN = 20  # answers in one line
_MOST_LISTED = 1000  # answers in one sentence
_APART = ("mechanism_document", "histogram", "number")  # written beside the certificate
_SAID_FIRST = ("question", "epsilon", "delta", "neighbours")
_CAUTION = "list-style:none;margin:.2em 0;padding:.3em .8em;border-left:4px solid #E69F00"


def _answer_html(answer: dict[str, Any]) -> str:
    """Counts as bars, in each group if there are groups; any other answers as rows."""
    if answer and all(isinstance(value, int) for value in answer.values()):
        return html_bars(list(answer), list(answer.values()))
    inside = {
        name: _answer_html(value) if isinstance(value, dict) else html.escape(str(value))
        for name, value in answer.items()
    }
    rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{shown}</td></tr>" for name, shown in inside.items())
    return f"<table>{rows}</table>"


def _answer_sentence(answer: object) -> str:
    if isinstance(answer, list):
        return ", ".join(map(str, answer)) or "none"
    if isinstance(answer, dict):
        shown = [f"{name}: {value}" for name, value in islice(answer.items(), _MOST_LISTED)]
        more = len(answer) - len(shown)
        return "; ".join([*shown, f"… and {more:,} more"] if more else shown)
    return str(answer)


def _in_words(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def epsilon_means(level: ApproximateDP, limited: Limited | None = None) -> str:
    """What a level means for one person, or for one month of a person, in one sentence with a number.

    >>> from optimaldp.privacy import level
    >>> import textwrap
    >>> print(textwrap.fill(epsilon_means(level("ln(3)")), 100))
    Someone who knows everyone else's record, and would guess yours right 50 % of the time, can be right
    at most 75 % of the time after seeing this answer.
    """
    with precision(128):
        ratio = level.epsilon.exp()
        after = min(1.0, float(((ratio + float(level.delta)) / (ratio + 1)).mid()))
    known = "everyone else's record, and would guess yours"
    if limited is not None:
        known = f"all records but one {limited.noun} of yours, and would guess that one"
    return (
        f"Someone who knows {known} right 50 % of the time, can be right at most "
        f"{percent_up(after)} % of the time after seeing this answer."
    )


def percent_up(chance: float) -> str:
    """A chance in percent, rounded up, because it is said to be the most; but never to a certainty that it is not."""
    from decimal import ROUND_CEILING, Decimal

    for digits in range(12):
        step = Decimal(1).scaleb(-digits)
        shown = (Decimal(repr(chance)) * 100 - Decimal("1e-12")).quantize(step, rounding=ROUND_CEILING)
        if (digits and shown < 100) or chance == 1:
            return format(shown.normalize(), "f")
    return "100"
