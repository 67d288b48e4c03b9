"""A preview: how often an answer will be wrong by margin, as numbers, sentences, rows and a picture. All of it is public."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.extras import requiring
from optimaldp.privacy import ApproximateDP, Neighbours, level
from optimaldp.privacy.levels import single_level
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from optimaldp.asking.leakage import Leakage

Series = tuple[str, tuple[float, ...]]


@dataclass(frozen=True, repr=False)
class Preview(Result):
    """The probability of a wrong answer by margin, for ours and for the usual mechanisms at the same level.

    >>> from optimaldp import preview
    >>> preview("majority(x)", epsilon=1, n=1000).reliable
    (('at most 5 %', 3), ('at most 1 %', 5), ('0', None))
    """

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
        if "half_width" in self.more:
            sure = next((f"about {row[1]}" for row in self.rows()), "by the table")
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

    @staticmethod
    def from_document(document: Mapping[str, Any]) -> Preview:
        """Read a preview back from :meth:`to_document`."""
        return Preview(
            document["question"],
            single_level(level(document["epsilon"], document["delta"]), "a preview"),
            Neighbours(document["neighbours"]),
            document["persons"],
            tuple(document["margin"]),
            tuple((name, tuple(errors)) for name, errors in document["error"].items()),
            tuple(document["reliable_from"].items()),
            tuple(document["notes"]),
            tuple(document["off"]),
            {name: value for name, value in document.items() if name not in _WRITTEN},
        )

    def leakage(self) -> Leakage:
        """How useful the answer would be and how much it would tell, in bits, beside the bounds of paper 004.

        >>> from optimaldp.asking.previewing import preview
        >>> preview("majority(smokes = 'yes')", epsilon="ln(2)", n=21).leakage()
        Leakage(utility 0.9394, 1 bits in all, 0.415 bits about one person)
        """
        from optimaldp.asking.leakage import leakage_of, mechanism_of_preview

        return leakage_of(mechanism_of_preview(self))

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
            return [[name, *(f"{off:.3g}" for off in errors)] for name, *errors in self._ways]
        return [
            [str(margin), *(f"{errors[i]:.3g}" for _, errors in self.series)] for i, margin in enumerate(self.margins)
        ]

    @property
    def _head(self) -> tuple[str, ...]:
        if self.margins:
            return ("margin", *(name for name, _ in self.series))
        widths = _SURE if "half_widths" in self.more else {}
        return ("mechanism", "expected error", *(f"within, {words}" for words in widths.values()))

    @property
    def _ways(self) -> list[tuple[Any, ...]]:
        """Of what has no margin: a mechanism, how far off it is expected to be, and of a number how far it is off at most."""
        widths = self.more.get("half_widths", {})
        errors = self.more.get("expected_error", {})
        return [(name, off, *(widths[name][sure] for sure in _SURE if widths)) for name, off in errors.items()]

    def to_frame(self) -> Any:
        """The table for pandas: one row for each margin."""
        with requiring("pandas"):
            import pandas

        if not self.margins:
            return pandas.DataFrame(self._ways, columns=list(self._head))
        return pandas.DataFrame({"margin": self.margins, **dict(self.series)})

    def to_csv(self) -> str:
        """One line for each margin: the margin, then the error of each mechanism."""
        written = io.StringIO()
        sheet = csv.writer(written, lineterminator="\n")
        sheet.writerow(self._head)
        columns = (self.margins, *(errors for _, errors in self.series))
        sheet.writerows(zip(*columns) if self.margins else self._ways)
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

        table = Table(title=f"{self.question}, {self.level}", caption=_joined([*self.sentences(), *self.notes]))
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


def _joined(sentences: Sequence[str]) -> str:
    """Sentences one after another, each with its capital and its stop."""
    return " ".join(f"{text[:1].upper()}{text[1:].removesuffix('.')}." for text in sentences)


_WRITTEN = frozenset(
    ["question", "epsilon", "delta", "neighbours", "persons", "margin", "error", "reliable_from", "off", "notes"]
)
_SURE = {"0.9": "90 %", "0.95": "95 %", "0.99": "99 %"}
_RIGHT = {"at most 5 %": "right in 95 % of cases", "at most 1 %": "right in 99 %", "0": "always right"}
