"""How often will the answer be right? By margin, next to other mechanisms, before any data is read and without spending.

The margin is public because it is hypothetical: "if 13 or more people would have to answer differently, it says the truth with
95 percent". The margin of the actual table is private, and nothing here looks at a table.
"""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.asking.draft import Draft
from optimaldp.asking.inside_groups import setting_inside
from optimaldp.asking.request import Request, read_request
from optimaldp.asking.result import epsilon_means
from optimaldp.errors import InputError, NoMarginError
from optimaldp.laws.setting import AimLike, Setting
from optimaldp.privacy import ApproximateDP, Epsilon, Neighbours, read_probability
from optimaldp.privacy.balls import Ball, ball
from optimaldp.privacy.numbers import fraction_text
from optimaldp.questions.accuracy import MOST_PEOPLE, Accuracy, refuse_options
from optimaldp.questions.base import Question
from optimaldp.results import Result
from optimaldp.tables.tally import Keys, Option

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = 25  # margins in a table: 1, 2, 3, ... then growing

Series = tuple[str, tuple[float, ...]]


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
    off: tuple[str, ...] = field(default=())
    """How far off a wrong answer is, in sentences."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further public numbers: curves by level, errors of queries."""

    def summary(self) -> str:
        sure = "never sure" if self.margins else f"of all counts together {next(iter(self.rows()), ['', ''])[1]}"
        near = next((f"{name} from margin {margin}" for name, margin in self.reliable if margin is not None), sure)
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
            "off": list(self.off),
            "notes": list(self.notes),
            **self.more,
        }

    def error(self, margin: int) -> float:
        """The probability of a wrong answer of ours at one of the listed margins."""
        return self.series[0][1][self.margins.index(margin)]

    def sentences(self) -> list[str]:
        """What the numbers mean, in words."""
        said = [f"{_RIGHT[name]} {self._margin_words(m)}" for name, m in self.reliable if m is not None]
        if not said and self.margins:
            said = ["at this level the answer is not reliable at any margin"]
        return [*said, *self.off]

    def _margin_words(self, margin: int) -> str:
        if not self.persons:
            return f"from a margin of {margin}"
        share = 100 * margin / self.persons
        return f"from a margin of {margin} ({share:.{2 if share < 99.5 else 3}g} % of {self.persons})"

    def rows(self) -> list[list[str]]:
        """The table as text: margin, then one error for each mechanism."""
        if not self.margins:
            return [[name, f"{off:.3g}"] for name, off in self._expected_errors.items()]
        return [
            [str(margin), *(f"{errors[i]:.3g}" for _, errors in self.series)] for i, margin in enumerate(self.margins)
        ]

    @property
    def _head(self) -> tuple[str, ...]:
        return ("margin", *(name for name, _ in self.series)) if self.margins else ("mechanism", "expected error")

    @property
    def _expected_errors(self) -> Mapping[str, float]:
        """Of counts, which have no margin: by how much all of them together are expected to be off."""
        return dict(self.more.get("expected_error", {}))

    def to_frame(self) -> Any:
        """The table for pandas: one row for each margin."""
        from optimaldp.extras import requiring

        with requiring("pandas"):
            import pandas

        if not self.margins:
            return pandas.DataFrame(self._expected_errors.items(), columns=list(self._head))
        return pandas.DataFrame({"margin": self.margins, **dict(self.series)})

    def to_csv(self) -> str:
        """One line for each margin: the margin, then the error of each mechanism."""
        written = io.StringIO()
        sheet = csv.writer(written, lineterminator="\n")
        sheet.writerow(self._head)
        columns = (self.margins, *(errors for _, errors in self.series))
        sheet.writerows(zip(*columns) if self.margins else self._expected_errors.items())
        return written.getvalue()

    def _writers(self) -> dict[str, Callable[[], str]]:
        return super()._writers() | {".csv": self.to_csv}

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self._head)
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in self.rows())
        said = "".join(f"<li>{html.escape(text)}</li>" for text in (*self.sentences(), *self.notes))
        title = f"<strong>{html.escape(self.question)}, {html.escape(str(self.level))}, {self.neighbours}</strong>"
        return f"<div>{title}<ul>{said}</ul><table><tr>{head}</tr>{body}</table></div>"

    def __rich__(self) -> Any:
        from rich.table import Table

        table = Table(title=f"{self.question}, {self.level}", caption="; ".join([*self.sentences(), *self.notes]))
        for name in self._head:
            table.add_column(name, justify="right")
        for row in self.rows():
            table.add_row(*row)
        return table

    def plot(self, path: str | Path | None = None) -> Figure:
        """The same as a picture: error by margin, on a logarithmic scale. Also written to *path* if one is given."""
        from optimaldp.plots.preview import draw_preview
        from optimaldp.plots.style import drawn

        return drawn(draw_preview(self), path)


_RIGHT = {"at most 5 %": "right in 95 % of cases", "at most 1 %": "in 99 %", "0": "always"}


def preview(
    question: Question | str,
    *,
    epsilon: Any,
    delta: Any = 0,
    n: int | None = None,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
    margins: Sequence[int] | None = None,
    unit: str | None = None,
    reduce: str | None = None,
    reduce_order: str | None = None,
    where: str | None = None,
    by: str | None = None,
    groups: Iterable[Option] | None = None,
    public_groups: bool = False,
    level_sizes: Mapping[Any, int] | None = None,
    aim: AimLike | None = None,
) -> Preview:
    """How often the private answer will be wrong, by margin. Spends nothing and reads nothing but public numbers.

    The margin is the number of flips: the least number of people who would have to be replaced (or appear, or disappear) to
    change the true answer. *n*, the number of people, writes margins as shares. *level_sizes* says how many people have
    each personal level, ``{0.1: 20, 1: 981}``: both aims are shown. *by* and *groups* preview the answer inside one group.

    >>> shown = preview("majority(smokes = 'yes')", epsilon=1, n=1000)
    >>> shown.reliable
    (('at most 5 %', 3), ('at most 1 %', 5), ('0', None))
    """
    draft = Draft(question, epsilon, delta, reduce, reduce_order, where, by, groups, public_groups, aim=aim, unit=unit)
    draft = replace(draft, neighbours=neighbours, levels=None if level_sizes is None else "level")
    request = draft.request()
    return preview_of(request, n=n, margins=margins, level_sizes=level_sizes)


def preview_of(
    request: Request,
    *,
    n: int | None = None,
    margins: Sequence[int] | None = None,
    level_sizes: Mapping[Any, int] | None = None,
) -> Preview:
    """As :func:`preview`, for a request that is read already."""
    request.people.rules(request.tally)  # a rule that does not fit is refused here as it would be by a release
    persons = None if n is None else _read_persons(n)
    setting = _setting(request, persons)
    if level_sizes is not None:
        from optimaldp.asking.level_previewing import of_counts, require_levels, with_levels

        sizes = read_level_sizes(level_sizes, request.level.epsilon)
        require_levels(request, sizes)
        if (counts := of_counts(request, sizes)) is not None:
            return counts
    if isinstance(request.tally, Keys):
        reliable = request.question.mechanism(setting).reliability()
        raise NoMarginError("question", str(request.question), "has no margin to show", reliable)
    refuse_options(request.question)
    if (counts_off := request.question.expected_errors(setting)) is not None:
        return _counts_shown(request, setting, counts_off, persons)

    def one_level() -> Preview:
        return _shown(request, request.question.accuracy(setting), setting, persons, margins)

    return one_level() if level_sizes is None else with_levels(one_level, request, sizes, margins)


def _setting(request: Request, persons: int | None) -> Setting:
    if request.groups is None:
        known = persons if request.neighbours is Neighbours.SUBSTITUTION else None
        return Setting(request.level, request.neighbours, known, public_groups=request.public_groups)
    return setting_inside(request)


def _shown(
    request: Request, accuracy: Accuracy, setting: Setting, persons: int | None, margins: Sequence[int] | None
) -> Preview:
    reliable = accuracy.reliable()
    shown = _read_margins(margins) if margins is not None else _margins(reliable, persons)
    ours = ("optimaldp", tuple(display_float(accuracy.error(margin)) for margin in shown))
    series = (ours, *((rival.name, tuple(rival.error(margin) for margin in shown)) for rival in accuracy.rivals()))
    notes = [*accuracy.notes, *_group_note(request)]
    off, figures = accuracy.distance()
    more = {"epsilon_means": epsilon_means(request.level), **figures}
    return Preview(
        str(request.question),
        request.level,
        request.neighbours,
        persons,
        shown,
        series,
        reliable,
        tuple(notes),
        off,
        more,
    )


def _counts_shown(request: Request, setting: Setting, errors: Mapping[str, float], persons: int | None) -> Preview:
    """Counts have no margin: by how much all of them together, one of them and a sum of them are expected to be off."""
    together = f"all counts together are expected to be off by at most {next(iter(errors.values())):.3g} people"
    off = (together, *request.question.query_sentences(setting))
    more = {"epsilon_means": epsilon_means(request.level), "expected_error": dict(errors)}
    known = (str(request.question), request.level, request.neighbours, persons)
    return Preview(*known, (), (), (), tuple(_group_note(request)), off, more)


def _group_note(request: Request) -> list[str]:
    if request.groups is None:
        return []
    inside = "a record is replaced" if request.groups.public else "people come and go"
    return [f"shown for one group: inside a group {inside}, and all {len(request.groups.values)} are one spend"]


def _read_persons(n: object) -> int:
    if isinstance(n, bool) or not isinstance(n, int) or not 0 < n <= MOST_PEOPLE:
        raise InputError("n", n, "is not a number of people", "give a positive whole number")
    return n


def read_level_sizes(sizes: Mapping[Any, int], most: Epsilon) -> tuple[tuple[Epsilon, int], ...]:
    """How many people lose what, in rising order: nobody more than *most*."""
    merged: dict[Epsilon, int] = {}
    for own, people in sizes.items():
        if isinstance(people, bool) or not isinstance(people, int) or not 0 < people <= MOST_PEOPLE:
            raise InputError("level_sizes", people, "is not a number of people", "write {0.1: 20, 1: 981}")
        used = min(Epsilon.read(own, name="level_sizes"), most)
        merged[used] = merged.get(used, 0) + people
    if not merged:
        raise InputError("level_sizes", {}, "names no level", "write {0.1: 20, 1: 981}")
    return tuple(sorted(merged.items()))


def _read_margins(margins: Sequence[int]) -> tuple[int, ...]:
    chosen = tuple(margins)
    if not chosen or any(isinstance(m, bool) or not isinstance(m, int) or not 0 < m <= MOST_PEOPLE for m in chosen):
        raise InputError("margins", list(chosen), "is not a list of positive whole numbers")
    return chosen


def display_float(number: Ball) -> float:
    """A float to look at."""
    return max(0.0, float(number.mid()))


def _margins(reliable: Sequence[tuple[str, int | None]], persons: int | None) -> tuple[int, ...]:
    """Margins worth showing: up to where the last limit is met, a little beyond, never beyond all people."""
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
    accuracy: object = Fraction(95, 100),
    n: int,
    margin: object = Fraction(1, 100),
    delta: object = 0,
    neighbours: str | Neighbours = Neighbours.SUBSTITUTION,
) -> float:
    """The least epsilon that makes the answer right with probability *accuracy* when the margin is at least that share of *n*.

    Rounded up to three digits. "Which epsilon makes me 95 % sure when the margin is at least 1 % of n?"

    >>> epsilon_for("majority(smokes = 'yes')", n=1000)
    0.242
    """
    persons = _read_persons(n)
    wanted = 1 - read_probability(accuracy, name="accuracy")
    flips = max(1, math.floor(read_probability(margin, name="margin") * persons))

    def good(epsilon: Fraction) -> bool:
        request = read_request(question, epsilon=epsilon, delta=delta, neighbours=neighbours)
        refuse_options(request.question)
        return bool(request.question.accuracy(_setting(request, persons)).error(flips) <= ball(wanted))

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
