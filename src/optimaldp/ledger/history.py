"""The history of a ledger as a table: in a terminal, in a notebook, as a data frame, as a file, as a picture."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp.extras import requiring
from optimaldp.ledger.account import Account, remaining_words
from optimaldp.ledger.budget import Budget, difference, exact_text, readable, text_at_least
from optimaldp.ledger.entry import Answer, Opening, Spend, bound_document, canonical, read_bound
from optimaldp.ledger.people import Group, read_part
from optimaldp.plots.history import draw_history
from optimaldp.plots.style import drawn
from optimaldp.privacy.epsilon import ZERO, Epsilon
from optimaldp.privacy.levels import Bound
from optimaldp.privacy.neighbours import Neighbours
from optimaldp.privacy.numbers import fraction_text
from optimaldp.privacy.units import limited_unit
from optimaldp.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


# What is left of a budget.


@dataclass(frozen=True, repr=False)
class Remaining(Result):
    """What a budget still covers: what can be spent (basic rule), or the distance to the limit (the others)."""

    budget: Budget
    spent: Bound
    entries: int
    composition: str

    @property
    def epsilon(self) -> Epsilon:
        """What is left of epsilon: never more than the true difference, and that itself wherever it can be written exactly."""
        exact = difference(self.budget.epsilon, self.spent.epsilon)
        if exact is not None and exact_text(exact) is not None:
            return exact
        rest = float(self.budget.epsilon) - float(self.spent.epsilon)
        return ZERO if rest <= 1e-9 else Epsilon(Fraction(rest - 1e-9), Fraction(1))

    @property
    def delta(self) -> Fraction:
        return max(Fraction(0), self.budget.delta - self.spent.delta)

    def summary(self) -> str:
        if self.budget.unlimited:
            return f"Remaining(no limit, epsilon {readable(self.spent.epsilon)} spent in {self._entries()})"
        rest = remaining_words(self.budget.epsilon, self.spent.epsilon)
        delta = f", delta {fraction_text(self.delta)}" if self.budget.delta else ""
        spent = f"{readable(self.spent.epsilon)} of {readable(self.budget.epsilon)} spent in {self._entries()}"
        return f"Remaining(epsilon {rest}{delta}; {spent})"

    def words(self) -> str:
        """What is left in one sentence, for people: "2.5 of 3 left after 1 question."."""
        asked = f"{self.entries} {'question' if self.entries == 1 else 'questions'}"
        if self.budget.unlimited:
            return f"ε = {readable(self.spent.epsilon)} spent on {asked}; the budget has no limit."
        rest = remaining_words(self.budget.epsilon, self.spent.epsilon)
        delta = f" and δ = {fraction_text(self.delta)}" if self.budget.delta else ""
        return f"Budget: ε = {rest} of {readable(self.budget.epsilon)}{delta} left after {asked}."

    def to_document(self) -> dict[str, Any]:
        return {
            "epsilon": str(self.epsilon),
            "delta": fraction_text(self.delta),
            "spent": {"epsilon": text_at_least(self.spent.epsilon), "delta": fraction_text(self.spent.delta)},
            "budget": self.budget.to_document(),
            "entries": self.entries,
            "composition": self.composition,
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Remaining:
        """Read it back from :meth:`to_document`."""
        budget, spent = Budget.from_document(document["budget"]), read_bound(document["spent"])
        return Remaining(budget, spent, document["entries"], document["composition"])

    def details(self) -> list[tuple[str, str]]:
        return [
            ("spent", readable(self.spent.epsilon)),
            ("budget", str(self.budget)),
            ("composition", self.composition),
        ]

    def _entries(self) -> str:
        return f"{self.entries} {'entry' if self.entries == 1 else 'entries'}"


_COLUMNS = ("#", "time (UTC)", "question", "part", "epsilon", "delta", "answer", "proof")
_SHEET = (
    "sequence",
    "time",
    "question",
    "part",
    "levels",
    "epsilon",
    "delta",
    "asked",
    "together",
    "recorded",
    "answer",
)


@dataclass(frozen=True, repr=False)
class Record(Result):
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
    def statement(self) -> Any:
        """What is proven about the answer."""
        return self.recorded.statement if self.recorded else None

    @property
    def certificate(self) -> Any:
        """Another name of :attr:`statement`, and the one that files use."""
        return self.statement

    @property
    def time(self) -> str:
        return self.spend.time

    @property
    def part(self) -> str:
        """The condition of the part that was asked alone; empty if everybody was asked."""
        return "" if self.spend.part is None else str(self.spend.part)

    def summary(self) -> str:
        answer = canonical(self.answer) if self.recorded else "no answer recorded"
        return f"Record(#{self.spend.sequence}, {self.question!r}, {self.spend.bound}, {answer})"

    def to_document(self) -> dict[str, Any]:
        spend = self.spend
        return {
            "sequence": spend.sequence,
            "time": self.time,
            "question": self.question,
            **bound_document(spend.bound),
            "asked": bound_document(spend.asked_bound),
            "part": self.part or None,
            "levels": spend.levels,
            "personal": {level: bound_document(bound) for level, bound in spend.personal},
            "together": spend.together,
            **({} if spend.asker is None else spend.people_document()),
            "recorded": self.recorded is not None,
            "answer": self.answer,
            "certificate": self.statement,
        }

    @staticmethod
    def from_document(document: dict[str, Any]) -> Record:
        """Read a record back from :meth:`to_document`."""
        sequence, time, bound, asked = document["sequence"], document["time"], read_bound(document), document["asked"]
        spend = Spend(
            sequence,
            "",
            time,
            question=document["question"],
            bound=bound,
            part=None if document["part"] is None else read_part(document["part"]),
            personal=tuple((level, read_bound(own)) for level, own in document["personal"].items()),
            data=None,
            levels=document["levels"],
            asked=None if read_bound(asked) == bound else read_bound(asked),
            together=document["together"],
            asker=document.get("asker"),
            approver=document.get("approver"),
            request=document.get("request"),
        )
        answer = Answer(0, "", time, sequence, document["answer"], document["certificate"])
        return Record(spend, answer if document["recorded"] else None)

    def cells(self) -> tuple[str, ...]:
        """The record as texts, one for each column of the table."""
        bound = self.spend.bound
        answer = canonical(self.answer).strip('"') if self.recorded else "(spent, not recorded)"
        level = (readable(bound.epsilon), fraction_text(bound.delta))
        proof = "yes" if self.statement is not None else ""
        minute = self.time[:16].replace("T", " ")
        return (str(self.spend.sequence), minute, self.question, self.part, *level, answer, proof)


@dataclass(frozen=True, repr=False)
class History(Result):
    """Every question that was asked of one data set."""

    opening: Opening
    records: tuple[Record, ...]

    @property
    def neighbours_words(self) -> str:
        """For which neighbours all of it together holds: a record is replaced by another that agrees in all that is public."""
        public = dict.fromkeys(name for record in self.records for name in record.spend.treated_as_public())
        return self.opening.neighbours.within(list(public), limited_unit(self.opening.unit))

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __getitem__(self, index: int) -> Record:
        return self.records[index]

    def summary(self) -> str:
        return f"History({self.opening.dataset!r}, {len(self.records)} questions, {self.opening.neighbours})"

    def to_document(self) -> dict[str, Any]:
        opening = {
            "dataset": self.opening.dataset,
            "neighbours": self.opening.neighbours.value,
            "neighbours_in_words": self.neighbours_words,
            "unit": self.opening.unit,
        }
        return {**opening, "history": [record.to_document() for record in self.records]}

    @staticmethod
    def from_document(document: dict[str, Any], remaining: Remaining) -> History:
        """Read a history back from :meth:`to_document`; *remaining* has its budget. Its totals are plain sums."""
        records = tuple(Record.from_document(record) for record in document["history"])
        opening = Opening(
            0,
            "",
            "",
            dataset=document["dataset"],
            budget=remaining.budget,
            neighbours=Neighbours(document["neighbours"]),
            unit=document["unit"],
            composition={"rule": "basic"},
            parts=tuple(dict.fromkeys(one.spend.part for one in records if one.spend.part is not None)),
            groups=(),
        )
        return History(opening, records)

    def spent_so_far(self, group: Group | None = None) -> tuple[Bound, ...]:
        """What everybody, or one level group with a budget of its own, had lost after each question."""
        account, totals = Account(self.opening), []
        for record in self.records:
            account.enter(record.spend)
            totals.append(account.spent(group=group))
        return tuple(totals)

    def to_frame(self) -> DataFrame:
        """One row for each question, as a pandas data frame: exact numbers as texts, and their values beside them."""
        with requiring("pandas"):
            import pandas
        rows = []
        for record, total in zip(self.records, self.spent_so_far()):
            spent = {"epsilon_value": float(record.spend.bound.epsilon), "spent_so_far": float(total.epsilon)}
            rows.append(record.to_document() | spent)
        frame: DataFrame = pandas.DataFrame(rows, columns=[*_SHEET, "certificate", "epsilon_value", "spent_so_far"])
        frame["time"] = pandas.to_datetime(frame["time"], utc=True)
        return frame

    def to_csv(self) -> str:
        """One line for each question; an answer that is no text is written as JSON."""
        written = io.StringIO()
        sheet = csv.writer(written, lineterminator="\n")
        sheet.writerow(_SHEET)
        for record in self.records:
            document = record.to_document()
            sheet.writerow([_cell(document[name]) for name in _SHEET])
        return written.getvalue()

    def _writers(self) -> dict[str, Callable[[], str]]:
        """CSV has no proofs; JSON has them."""
        return super()._writers() | {".csv": self.to_csv}

    def plot(self, path: str | Path | None = None) -> Figure:
        """The budget used over time, as a picture; it is also written to *path* if one is given."""
        return drawn(draw_history(self), path)

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
        table = Table(title=Text(f"{self.opening.dataset}: {self.neighbours_words}"), title_justify="left")
        shown = self._columns()
        for position in shown:
            table.add_column(
                _COLUMNS[position], overflow="fold", no_wrap=_COLUMNS[position] not in ("question", "part", "answer")
            )
        for record in self.records:
            table.add_row(*(Text(record.cells()[position]) for position in shown))
        return table

    def _columns(self) -> list[int]:
        """The columns that say something: no parts and no deltas are not shown as a column of nothing."""
        cells = [record.cells() for record in self.records]
        nothing = {"part": "", "delta": "0"}
        return [
            n for n, name in enumerate(_COLUMNS) if name not in nothing or any(c[n] != nothing[name] for c in cells)
        ]

    def _repr_html_(self) -> str:
        shown = self._columns()
        head = "".join(f"<th>{html.escape(_COLUMNS[n])}</th>" for n in shown)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(record.cells()[n])}</td>" for n in shown) + "</tr>"
            for record in self.records
        )
        return f"<div><strong>{html.escape(self.summary())}</strong><table><tr>{head}</tr>{body}</table></div>"


def _cell(value: object) -> str:
    """A value for a sheet. A text that a spreadsheet would run as a formula is quoted."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else canonical(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
