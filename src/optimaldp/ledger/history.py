"""The history of a ledger as a table: in a terminal, in a notebook, as JSON."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from optimaldp.ledger.budget import readable
from optimaldp.ledger.entry import Answer, Opening, Spend, bound_document, canonical
from optimaldp.privacy.numbers import fraction_text
from optimaldp.results import Result

_COLUMNS = ("#", "time (UTC)", "question", "part", "epsilon", "delta", "answer", "proof")


@dataclass(frozen=True, repr=False)
class Line(Result):
    """One question: what was spent on it, and the answer if one was recorded."""

    spend: Spend
    recorded: Answer | None

    @property
    def question(self) -> str:
        return self.spend.question

    @property
    def answer(self) -> Any:
        """The released answer; ``None`` if the process ended before it was recorded (the spend counts all the same)."""
        return self.recorded.answer if self.recorded else None

    @property
    def certificate(self) -> Any:
        return self.recorded.certificate if self.recorded else None

    @property
    def time(self) -> str:
        return self.spend.time

    def summary(self) -> str:
        answer = canonical(self.answer) if self.recorded else "no answer recorded"
        return f"Line(#{self.spend.sequence}, {self.question!r}, {self.spend.bound}, {answer})"

    def to_document(self) -> dict[str, Any]:
        return {
            "sequence": self.spend.sequence,
            "time": self.time,
            "question": self.question,
            **bound_document(self.spend.bound),
            "part": self.spend.part,
            "personal": {group: bound_document(bound) for group, bound in self.spend.personal},
            "recorded": self.recorded is not None,
            "answer": self.answer,
            "certificate": self.certificate,
        }

    def cells(self) -> tuple[str, ...]:
        """The line as texts, one for each column of the table."""
        bound = self.spend.bound
        answer = canonical(self.answer).strip('"') if self.recorded else "(spent, not recorded)"
        level = (readable(bound.epsilon), fraction_text(bound.delta))
        proof = "yes" if self.certificate is not None else ""
        minute = self.time[:16].replace("T", " ")
        return (str(self.spend.sequence), minute, self.question, self.spend.part or "", *level, answer, proof)


@dataclass(frozen=True, repr=False)
class History(Result):
    """Every question that was asked of one data set."""

    opening: Opening
    lines: tuple[Line, ...]

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __getitem__(self, index: int) -> Line:
        return self.lines[index]

    def summary(self) -> str:
        return f"History({self.opening.dataset!r}, {len(self.lines)} questions, {self.opening.neighbours})"

    def to_document(self) -> dict[str, Any]:
        opening = {
            "dataset": self.opening.dataset,
            "neighbours": self.opening.neighbours.value,
            "unit": self.opening.unit,
        }
        return {**opening, "history": [line.to_document() for line in self.lines]}

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=160, no_color=True)
        with console.capture() as capture:
            console.print(self)
        return capture.get().rstrip("\n")

    def __rich__(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        # Texts, not markup: a question may hold square brackets.
        table = Table(title=Text(f"{self.opening.dataset}: {self.opening.neighbours.words}"), title_justify="left")
        shown = self._columns()
        for position in shown:
            table.add_column(
                _COLUMNS[position], overflow="fold", no_wrap=_COLUMNS[position] not in ("question", "part", "answer")
            )
        for line in self.lines:
            table.add_row(*(Text(line.cells()[position]) for position in shown))
        return table

    def _columns(self) -> list[int]:
        """The columns that say something: no parts and no deltas are not shown as a column of nothing."""
        cells = [line.cells() for line in self.lines]
        nothing = {"part": "", "delta": "0"}
        return [
            n for n, name in enumerate(_COLUMNS) if name not in nothing or any(c[n] != nothing[name] for c in cells)
        ]

    def _repr_html_(self) -> str:
        shown = self._columns()
        head = "".join(f"<th>{html.escape(_COLUMNS[n])}</th>" for n in shown)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(line.cells()[n])}</td>" for n in shown) + "</tr>" for line in self.lines
        )
        return f"<div><strong>{html.escape(self.summary())}</strong><table><tr>{head}</tr>{body}</table></div>"
