"""A release: the private answer, who is protected and how well, how reliable it is, and the proof behind it."""

from __future__ import annotations

import csv
import datetime
import html
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp import __version__
from optimaldp.extras import requiring
from optimaldp.privacy import ApproximateDP, Neighbours
from optimaldp.privacy.balls import precision
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Result, html_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optimaldp.histograms.release import HistogramRelease
    from optimaldp.questions.base import Question

Statement = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Release(Result):
    """A private answer that may be published, with what is proven about it. Nothing else in it was computed from the data."""

    answer: Any
    asked: Question
    level: ApproximateDP
    neighbours: Neighbours
    stated: Callable[[], Statement] = field(compare=False)
    """What makes the statement: it takes longer than the answer, and a pipe that takes the answer alone never asks for it."""
    meant: Callable[[], dict[str, Any]] = field(default=dict, compare=False)
    """What makes the meaning, in the same way."""
    spent: ApproximateDP | None = None
    """What was really charged: without a delta that was not used; nothing for a recorded answer."""
    recorded: bool = False
    """Whether the answer was already in the ledger, so that asking again cost nothing."""
    time: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    """When it was made, to the second: when a question was asked is public."""
    cautioned: Callable[[], tuple[str, ...]] = field(default=tuple, compare=False)
    """What makes the warnings, in the same way."""

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a careful colleague would say: by names, types and public numbers alone."""
        return self.cautioned()

    @cached_property
    def question(self) -> str:
        """The question as it is written."""
        return str(self.asked)

    @cached_property
    def meaning(self) -> dict[str, Any]:
        """What else changes the meaning of the answer: where, among, unit, reduce, by, and the dataset's name."""
        return self.meant()

    @cached_property
    def statement(self) -> Statement:
        """What is promised and proven, in plain words and numbers: all of it public."""
        return self.stated()

    def __getstate__(self) -> dict[str, Any]:
        """What is kept of a release elsewhere: statement, meaning and warnings, not what makes them."""
        made = {"statement": self.statement, "meaning": self.meaning, "warnings": self.warnings}
        return vars(self) | made | {"stated": None, "meant": None, "cautioned": None}

    @property
    def certificate(self) -> Statement:
        """The statement under the name that it has in files."""
        return self.statement

    @property
    def low(self) -> Any:
        """The lower edge of the bin that was answered."""
        return self.answer.low

    @property
    def high(self) -> Any:
        """The upper edge of the bin that was answered."""
        return self.answer.high

    def summary(self) -> str:
        many = isinstance(self.answer, dict) and len(self.answer) > _MOST_SHOWN
        shown = f"{len(self.answer):,} answers" if many else repr(self.answer)
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
            **{name: self.meaning.get(name) for name in ("where", "among", "unit", "reduce", "by", "dataset")},
            **{name: value for name, value in self.meaning.items() if name in _MORE and value is not None},
            "time": self.time,
            "version": __version__,
            "spent": {"epsilon": str(spent.epsilon), "delta": fraction_text(spent.delta)},
            "mechanism": self.statement.get("mechanism_document"),
            **{name: self.statement[name] for name in ("histogram",) if name in self.statement},
        }

    def sentences(self) -> list[str]:
        """The four things to know: the answer, who is protected, what epsilon means for one of them, and how far to trust it."""
        return [
            _answer_sentence(self.answer),
            f"Protected: {self.statement['protected']}; {self.neighbours.words}.",
            self.statement["epsilon_means"],
            self.statement["reliable"],
        ]

    def proof(self) -> list[tuple[str, str]]:
        """What was checked exactly, and what rests on which theorem."""
        skip = ("protected", "epsilon_means", "reliable", *_APART)
        return [(name, _in_words(value)) for name, value in self.statement.items() if name not in skip]

    def details(self) -> list[tuple[str, str]]:
        return [("question", self.question), *zip(_HEADS, self.sentences()), *self.proof()]

    def plot(self, path: str | Path | None = None) -> Figure:
        """How reliable the answer is, by margin; of counts, the counts themselves. Also written to *path* if one is given."""
        from optimaldp.plots.releases import draw_release
        from optimaldp.plots.style import drawn

        return drawn(draw_release(self), path)

    def histogram(self, group: str | None = None) -> HistogramRelease:
        """The counts of a histogram with all that is private already: noisy table, intervals, expected error, sums of bins.

        What :func:`optimaldp.histograms.private_histogram` gives, for a table, a ledger and a unit. *group* names one of several.
        """
        from optimaldp.questions.histogram_details import restored_histogram

        details = self.statement.get("histogram")
        if group is None:
            return restored_histogram(self.answer, details)
        return restored_histogram(self.answer[group], (details or {}).get("groups", {}).get(group))

    def answers(self) -> dict[str, Any]:
        """The answers by name: one for each group, option or rank; of a list by place; a single answer is called "answer"."""
        if isinstance(self.answer, list):
            return {str(place): value for place, value in enumerate(self.answer, start=1)}
        return dict(self.answer) if isinstance(self.answer, dict) else {"answer": self.answer}

    def to_frame(self) -> Any:
        """One row for each answer, as a pandas table."""
        with requiring("pandas"):
            import pandas

        return pandas.DataFrame({"name": list(self.answers()), "value": list(self.answers().values())})

    def to_csv(self) -> str:
        """One line for each answer: its name, the value."""
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([("name", "value"), *self.answers().items()])
        return written.getvalue()

    def _writers(self) -> dict[str, Callable[[], str]]:
        return super()._writers() | {".csv": self.to_csv}

    def _repr_html_(self) -> str:
        return (_answer_html(self.answer) if isinstance(self.answer, dict) else "") + super()._repr_html_()


_MOST_SHOWN = 20  # answers in one line
_MOST_LISTED = 1000  # answers in one sentence
_APART = ("mechanism_document", "histogram")  # written beside the certificate
_MORE = ("order", "levels", "aim", "part", "groups", "public_groups", "types")
_HEADS = ("answer", "protected", "what epsilon means", "reliable")


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
    if isinstance(answer, dict):
        shown = [f"{name}: {value}" for name, value in islice(answer.items(), _MOST_LISTED)]
        more = len(answer) - len(shown)
        return "; ".join([*shown, f"… and {more:,} more"] if more else shown)
    return str(answer)


def _in_words(value: object) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def epsilon_means(level: ApproximateDP) -> str:
    """What a level means for one person, in one sentence with a number.

    >>> from optimaldp.privacy import level
    >>> print(epsilon_means(level("ln(3)")))
    Whoever knows everybody else and guesses one person's yes or no with 50 % before is right with at most 75 % after.
    """
    with precision(128):
        ratio = level.epsilon.exp()
        after = min(1.0, float(((ratio + float(level.delta)) / (ratio + 1)).mid()))
    return (
        "Whoever knows everybody else and guesses one person's yes or no with 50 % before "
        f"is right with at most {percent_up(after)} % after."
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
