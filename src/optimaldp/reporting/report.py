"""A report on one ledger: questions, answers, what they mean, what remains, and the proofs; one page that needs no network."""

from __future__ import annotations

import datetime
import html
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optimaldp import __version__
from optimaldp.asking.result import epsilon_means
from optimaldp.errors import InputError
from optimaldp.ledger import Ledger, open_ledger
from optimaldp.ledger.history import Record
from optimaldp.privacy import approximate
from optimaldp.privacy.numbers import fraction_text
from optimaldp.reporting.pictures import answer_bars, budget_gauge, reliability_curve
from optimaldp.reporting.reliability import reliability_of

if TYPE_CHECKING:
    import os

_STYLE = """
body { font: 16px/1.5 system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; color: #1b1f24; max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.2rem; margin-top: 2.2rem; border-bottom: 2px solid #0072B2; }
h3 { font-size: 1rem; overflow-wrap: anywhere; margin: 1.6rem 0 .3rem; } .soft { color: #55606d; font-size: .9rem; }
.big { font-size: 1.7rem; font-weight: 700; margin: .2rem 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid #d5dae0;
  overflow-wrap: anywhere; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } table.answers { width: auto; }
.asked th { white-space: nowrap; }
.picture { display: block; width: 100%; height: auto; margin: .6rem 0 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .2rem 0; padding: 0; font-size: .85rem; }
dl { display: grid; grid-template-columns: minmax(7rem, 10rem) minmax(0, 1fr); gap: .15rem 1rem; font-size: .9rem; }
dt { color: #55606d; } dd { margin: 0; overflow-wrap: anywhere; } code { overflow-wrap: anywhere; }
@media (max-width: 34rem) { dl { grid-template-columns: minmax(0, 1fr); } }
@media print { body { margin: 0; max-width: none; } section { break-inside: avoid; } h2.appendix { break-before: page; } }
"""
_FIRST = ("protected", "epsilon_means", "reliable")
_NOT_PROOF = (*_FIRST, "mechanism_document")


def write_report(ledger: Ledger | str | os.PathLike[str], output: str | os.PathLike[str]) -> Path:
    """Write the report on *ledger* as one HTML file. Reads nothing but the ledger, and spends nothing."""
    target = Path(output)
    if target.suffix.lower() not in (".html", ".htm"):
        remedy = "end it in .html; a browser prints it as PDF"
        raise InputError("output", str(output), "is not a name for an HTML file", remedy)
    text = report_html(ledger)
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise InputError("output", str(output), f"cannot be written ({error.strerror})", "check the folder") from None
    return target


def report_html(ledger: Ledger | str | os.PathLike[str]) -> str:
    """The report on *ledger* as a page that stands alone."""
    if not isinstance(ledger, Ledger):
        with open_ledger(ledger, readonly=True) as book:
            return report_html(book)
    records = list(ledger.history())
    parts = [
        _head(ledger, records),
        _overview(records),
        _budget(ledger),
        *(["<h2>The answers, one by one</h2>", *map(_answer, records)] if records else []),
        _appendix(ledger, records),
    ]
    title = f"Private answers about {html.escape(ledger.opening.dataset)}"
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{_STYLE}</style></head>'
        f"<body><h1>{title}</h1>{''.join(parts)}</body></html>\n"
    )


def _head(ledger: Ledger, records: list[Record]) -> str:
    opening = ledger.opening
    person = "Each row counts as one person" if opening.unit is None else f"Each value of {opening.unit} is one person"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    number = f"{len(records)} question{'' if len(records) == 1 else 's'}"
    return (
        f'<p class="soft">{number}; written on {today} by optimaldp {__version__} from the ledger alone. '
        "Everything in it may be published.</p>"
        f"<p>{html.escape(person)}; neighbours: {html.escape(opening.neighbours.words)}.</p>"
    )


def _overview(records: list[Record]) -> str:
    if not records:
        return "<h2>What was asked</h2><p>Nothing was asked yet.</p>"
    names = ("#", "time (UTC)", "question", "part", "epsilon", "delta", "answer")
    table = [(*one.cells()[:6], _short_answer(one)) for one in records]
    # A column that says nothing is left out.
    shown = [i for i, name in enumerate(names) if name != "part" or any(row[i] for row in table)]
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(row[i])}</td>' for i in shown)}</tr>" for row in table)
    head = "".join(f"<th>{names[i]}</th>" for i in shown)
    return f'<h2>What was asked</h2><div class="scroll"><table class="asked"><tr>{head}</tr>{rows}</table></div>'


def _short_answer(record: Record) -> str:
    if isinstance(record.answer, Mapping):
        return "; ".join(f"{name}: {value}" for name, value in record.answer.items())
    return record.cells()[6]


def _budget(ledger: Ledger) -> str:
    remaining = ledger.remaining()
    words = remaining.summary().removeprefix("Remaining(").removesuffix(")")
    shown = [f"<p>For everybody: {html.escape(words)}; composition: {html.escape(remaining.composition)}.</p>"]
    total = float(remaining.budget.epsilon) if not remaining.budget.unlimited else 0.0
    if total:
        shown.insert(0, budget_gauge(float(remaining.spent.epsilon) / total, f"remaining: {words}"))
    if not remaining.spent.epsilon.is_zero and not remaining.spent.epsilon.infinite:
        level = approximate(remaining.spent.epsilon, remaining.spent.delta)
        shown.append(f"<p>All answers together: {html.escape(epsilon_means(level))}</p>")
    for part in ledger.opening.parts:
        own = ledger.remaining(part=part).summary().removeprefix("Remaining(").removesuffix(")")
        shown.append(f"<p>For people with {html.escape(str(part))}: {html.escape(own)}.</p>")
    for group, rest in ledger.groups().items():
        if group.column is not None:
            own = rest.summary().removeprefix("Remaining(").removesuffix(")")
            shown.append(f"<p>For people with {html.escape(str(group))}: {html.escape(own)}.</p>")
    return f"<h2>The budget</h2>{''.join(shown)}"


def _answer(record: Record) -> str:
    statement = record.statement if isinstance(record.statement, Mapping) else {}
    level = record.spend.bound
    spent = f"It cost epsilon {level.epsilon}, delta {fraction_text(level.delta)}"
    said = [_sentence(name, statement[name]) for name in _FIRST if isinstance(statement.get(name), str)]
    facts = "".join(f"<p>{html.escape(text)}</p>" for text in (*said, f"{spent}, on {record.time[:10]}."))
    preview = reliability_of(record.question, statement)
    curve = "" if preview is None else reliability_curve(preview)
    title = f"{record.spend.sequence}. {record.question}"
    return f"<section><h3>{html.escape(title)}</h3>{_value(record)}{facts}{curve}</section>"


def _value(record: Record) -> str:
    if record.recorded is None:
        return "<p><em>Spent, but no answer was recorded: the process ended before it.</em></p>"
    if isinstance(record.answer, Mapping):
        return answer_bars(record.answer)
    return f'<p class="big">{html.escape(str(record.answer))}</p>'


def _sentence(name: str, text: str) -> str:
    return f"Protected: {text}." if name == "protected" else text


def _appendix(ledger: Ledger, records: list[Record]) -> str:
    proofs = "".join(_proof(record) for record in records)
    return (
        f'<h2 class="appendix">Appendix: the proofs</h2>{proofs}<h3>The ledger</h3>'
        f"<p>Every entry is chained to the one before; the last one is <code>{html.escape(ledger.head)}</code>. "
        "<code>optimaldp ledger verify</code> checks the chain.</p>"
    )


def _proof(record: Record) -> str:
    statement = record.statement
    if not isinstance(statement, Mapping):
        return ""
    rows = "".join(
        f"<dt>{html.escape(name.replace('_', ' '))}</dt><dd>{html.escape(_words(value))}</dd>"
        for name, value in statement.items()
        if name not in _NOT_PROOF and value not in (None, "", [])
    )
    title = f"{record.spend.sequence}. {record.question}"
    return f"<section><h3>{html.escape(title)}</h3><dl>{rows}</dl></section>"


def _words(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)
